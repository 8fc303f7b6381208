"""CSV and its kin: text with one row a line and a sign between the cells."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from montechain.datasets._text_blocks import text_blocks
from montechain.datasets.columns import (
    NUMBER,
    SEPARATOR,
    Kind,
    NumberFormat,
    RefusedCell,
    typed_cells,
)
from montechain.errors import DataError

__all__ = ["read_delimited", "sniff_delimiter"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_ROWS = 20
SAMPLE_CHARACTERS = 1 << 16
CELLS_AT_A_TIME = 1 << 18


def read_delimited(
    path: str | Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    missing: frozenset[str],
    encoding: str = "utf-8",
    numbers: NumberFormat,
    text: Collection[str] = (),
    nominal: Collection[str] = (),
    typed: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return the table of a delimited text file; `read_table` says what the parameters mean.

    The rows are streamed: what is held at any time is the text of the cells, at a byte a character, and the
    columns that are made of it.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise ValueError(f"`delimiter={delimiter!r}` must be one character, such as delimiter=';'.")
    lines = _lines(path, encoding)
    if delimiter is None:
        delimiter, lines = _find_delimiter(lines)
    names, rows = _names(_records(lines, delimiter, path), header, missing, path)
    chunks, line_numbers = _columns(rows, names, path)
    if not line_numbers:
        raise DataError("the file has a header line and no rows.", path=path)
    columns = {}
    for position, name in enumerate(names):
        as_written = name in nominal or (typed is not None and name not in typed)
        kind: Kind = "text" if name in text else "nominal" if as_written else "any"
        try:
            columns[name] = typed_cells(chunks[position], missing, kind=kind, numbers=numbers)
        except RefusedCell as error:
            raise DataError(error.about(name), path=path, line=line_numbers[error.row]) from None
        chunks[position] = []  # the text is not needed any more
    return pd.DataFrame(columns)


def sniff_delimiter(sample: str) -> str:
    r"""Return the delimiter among ``, ; tab |`` that cuts the most lines into equally many cells.

    The comma is returned where none cuts the first line, as in a table of one column.

    Examples
    --------
    >>> sniff_delimiter("height;width\n1,5;2,5\n")
    ';'
    """
    return max(DELIMITERS, key=lambda delimiter: _agreement(sample, delimiter))  # the first of equal ones


def _agreement(sample: str, delimiter: str) -> tuple[float, int]:
    widths: list[int] = []
    try:
        for row in _reader(io.StringIO(sample), delimiter):
            if not _is_blank(row):
                widths.append(len(row))
            if len(widths) == SAMPLE_ROWS:
                break
    except csv.Error:
        pass  # the sample may end inside a quoted cell
    if not widths or widths[0] == 1:
        return 0.0, 1
    return widths.count(widths[0]) / len(widths), widths[0]


def _reader(lines: Iterable[str], delimiter: str) -> Any:
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _find_delimiter(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the delimiter, and the lines again from the first: a pipe cannot be opened twice."""
    sample: list[str] = []
    size = 0
    for line in lines:
        sample.append(line)
        size += len(line)
        if size > SAMPLE_CHARACTERS:
            break
    return sniff_delimiter("".join(sample)), chain(sample, lines)


def _lines(path: str | Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a text file, line ends included."""
    for number, block in text_blocks(path, encoding):
        if SEPARATOR in block:
            raise DataError(
                'there is a NUL byte: this is no text file, or one in an encoding such as encoding="utf-16".',
                path=path,
                line=number + block[: block.index(SEPARATOR)].count("\n"),
            )
        # Not `splitlines`, which also cuts at characters that are part of a cell.
        yield from (f"{line}\n" for line in block[:-1].split("\n"))


def _records(lines: Iterator[str], delimiter: str, path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, each with the line that it begins in."""
    reader = _reader(lines, delimiter)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(_explained(str(error)), path=path, line=start) from None
        if row:
            yield start, row


def _explained(message: str) -> str:
    if "unexpected end of data" in message:
        return 'a quoted cell begins here and never ends: a closing " is missing.'
    if "field larger than field limit" in message:
        return f'a cell has more than {csv.field_size_limit()} characters; perhaps a closing " is missing.'
    if "expected after" in message:
        return 'a quoted cell goes on after its closing ". Write a quote inside a quoted cell twice: "".'
    return f"the line cannot be read: {message}."


def _names(
    records: Iterator[tuple[int, list[str]]], header: bool | None, missing: frozenset[str], path: str | Path
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the names of the columns, and the rows that follow."""
    if header not in (None, True, False):
        raise ValueError(
            f"`header={header!r}` must be True, False or None (a header line that does not look like data)."
        )
    line, first = next((record for record in records if not _is_blank(record[1])), (0, []))
    if not first:
        raise DataError("the file is empty.", path=path)
    if header is False:
        return [f"column_{position}" for position in range(len(first))], chain([(line, first)], records)
    names = [name.strip() or f"column_{position}" for position, name in enumerate(first)]
    without = "If the file has no header line, say header=False (on the command line: --no-header)."
    for name in names:
        if header is None and (name in missing or (NUMBER.match(name) and not name.isdigit())):
            raise DataError(
                f"the first line looks like data: {name!r} is an odd name for a column. {without} If it is one, "
                "say header=True (--header).",
                path=path,
                line=line,
            )
    if len(set(names)) < len(names):
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise DataError(f"the column {twice!r} occurs more than once. {without}", path=path, line=line)
    return names, records


def _columns(
    rows: Iterator[tuple[int, list[str]]], names: list[str], path: str | Path
) -> tuple[list[list[str]], array[int]]:
    """Return the joined cells of each column, in pieces, and the line of each row."""
    width = len(names)
    chunks: list[list[str]] = [[] for _ in names]
    line_numbers: array[int] = array("q")
    pending: list[list[str]] = []
    most = max(1, CELLS_AT_A_TIME // width)

    def flush() -> None:
        for column, cells in zip(chunks, zip(*pending, strict=True), strict=True):
            column.append(SEPARATOR.join(map(str.strip, cells)))
        pending.clear()

    for line, row in rows:
        if len(row) != width:
            if _is_blank(row):
                continue
            raise DataError(
                f"the row has {len(row)} cell{'s' * (len(row) != 1)} where there are {width} columns; "
                "quote cells that contain the delimiter, and check that a cell is not missing.",
                path=path,
                line=line,
            )
        pending.append(row)
        line_numbers.append(line)
        if len(pending) == most:
            flush()
    if pending:
        flush()
    return chunks, line_numbers
