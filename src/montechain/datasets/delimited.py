"""CSV and similar files: text with one row per line and a delimiter between the cells.

pandas reads the file, fast. Its result is kept if the file is shown to be regular; otherwise Python's csv module, which
is strict and knows its lines, reads it again and either succeeds or says what is wrong, and where.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from montechain.datasets.columns import LARGEST_WHOLE, NUMBER, ColumnTyper
from montechain.datasets.files import EXACT_FLOATS, read_text
from montechain.errors import DataError

__all__ = ["column_names", "read_delimited", "sniff_delimiter"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_ROWS = 20
SAMPLE_CHARACTERS = 1 << 16
SCANNED = 1 << 16
LARGEST_EXACT = 2.0**62
"""Numbers above this size are looked at as text: whole ones may not fit into 64 bits."""


def read_delimited(
    path: str | Path,
    typer: ColumnTyper,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> pd.DataFrame:
    """Return the typed table of a delimited text file; `read_table` describes the parameters."""
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise ValueError(f"`delimiter={delimiter!r}` must be one character, such as delimiter=';'.")
    text = read_text(path, encoding)
    delimiter = sniff_delimiter(text[:SAMPLE_CHARACTERS]) if delimiter is None else delimiter
    source = _Source(text, delimiter, path)
    line, first = next(source.records(), (0, []))
    if not first:
        raise DataError("the file is empty.", path=path)
    names = column_names(first, header, typer.missing, path, line)
    source.width, source.has_header = len(names), header is not False
    typer.line_of = source.line_of
    typer.start(names)
    frame = None
    if len(names) > 1 and _pandas_agrees(delimiter, typer):
        as_written = [name for name in names if typer.kinds.get(name) in ("nominal", "text", "date")]
        frame = source.read_fast(names, typer, as_written)
    if frame is None:
        frame = source.read_carefully(names)
    if not len(frame):
        raise DataError("the file has a header line and no rows.", path=path)
    return pd.DataFrame({name: _column(frame[name], name, typer) for name in names})


def _pandas_agrees(delimiter: str, typer: ColumnTyper) -> bool:
    """Return whether pandas understands delimiter, marks and numbers as we do."""
    return (
        delimiter.isascii()
        and delimiter != " "
        and typer.numbers.thousands is None
        and not any(NUMBER.fullmatch(mark) for mark in typer.missing)
    )


def sniff_delimiter(sample: str) -> str:
    r"""Return the delimiter among comma, semicolon, tab and bar that splits most lines into the same number of cells.

    The comma wins where none of them splits the first line, as in a table of one column.

    >>> sniff_delimiter("height;width\n1,5;2,5\n")
    ';'
    """
    return max(DELIMITERS, key=lambda delimiter: _agreement(sample, delimiter))  # the first of equal ones


def column_names(
    first: list[str], header: bool | None, missing: frozenset[str], path: str | Path, line: int
) -> list[str]:
    """Return the names of the columns from the first row of a table, or refuse it if it looks like data."""
    if header not in (None, True, False):
        raise ValueError(
            f"`header={header!r}` must be True, False or None (a header line that does not look like data)."
        )
    if header is False:
        return [f"column_{position}" for position in range(len(first))]
    names = [name.strip() or f"column_{position}" for position, name in enumerate(first)]
    without = "If the file has no header line, say header=False (on the command line: --no-header)."
    for name in names:
        if header is None and (name in missing or (NUMBER.fullmatch(name) and not name.isdigit())):
            raise DataError(
                f"the first line looks like data: {name!r} is an odd name for a column. {without} If it is a header, "
                "say header=True (--header).",
                path=path,
                line=line,
            )
    if len(set(names)) < len(names):
        twice = next(name for position, name in enumerate(names) if name in names[:position])
        raise DataError(f"the column {twice!r} occurs more than once. {without}", path=path, line=line)
    return names


class _Source:
    """The text of a delimited file, of which every line ends in a line feed, read in two ways."""

    def __init__(self, text: str, delimiter: str, path: str | Path):
        self.text, self.delimiter, self.path = text, delimiter, path
        self.width = 0
        self._signs = [ord(sign) for sign in f'{delimiter}\n"']
        self.has_header = False

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not blank, each with the line it begins in."""
        reader = _reader(_lines(self.text), self.delimiter)
        while True:
            start = reader.line_num + 1
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise DataError(_explained(str(error)), path=self.path, line=start) from None
            if row and (len(row) == self.width or not _is_blank(row)):
                yield start, row

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows after the header, if there is one."""
        return islice(self.records(), int(self.has_header), None)

    def line_of(self, row: int) -> int:
        """Return the line that a row of the table begins in."""
        return next(islice(self.rows(), row, None))[0]

    def read_carefully(self, names: list[str]) -> pd.DataFrame:
        """Return the cells as strings, or raise an error that names the line of the first faulty row."""
        cells = []
        for line, row in self.rows():
            if len(row) != self.width:
                raise DataError(
                    f"the row has {len(row)} cell{'s' * (len(row) != 1)} where there are {self.width} columns; "
                    "quote cells that contain the delimiter, and check that no cell is missing.",
                    path=self.path,
                    line=line,
                )
            cells.append(row)
        return pd.DataFrame(cells, columns=names, dtype=object)

    def read_fast(self, names: list[str], typer: ColumnTyper, as_written: Collection[str]) -> pd.DataFrame | None:
        """Return the columns as pandas reads them, numbers only where nothing is lost; None if the file is odd."""
        data = self.text[self._data_start() :]
        header = self.delimiter.join("x" * self.width) + "\n"
        try:
            content = (header + data).encode()
        except UnicodeEncodeError:
            return None
        bytes_ = np.frombuffer(content, dtype=np.uint8)[len(header) :]
        if not data or not self._is_regular(bytes_):
            return None
        spaces = bytes_ == ord(" ")
        has_spaces = bool(spaces.any() and (spaces[0] or np.isin(bytes_[:-1][spaces[1:]], self._signs).any()))

        def read(**options: Any) -> pd.DataFrame:
            return pd.read_csv(
                io.BytesIO(content),
                sep=self.delimiter,
                header=0,  # pandas is slower without a header line
                names=names,
                skipinitialspace=has_spaces,
                keep_default_na=False,
                na_values=sorted(typer.missing),
                decimal=typer.numbers.decimal,
                **EXACT_FLOATS,
                **options,
            )

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # about columns that are read again below
                frame = read(dtype=dict.fromkeys(as_written, str))
            if not isinstance(frame.index, pd.RangeIndex):  # rows longer than the header
                return None
            n_delimiters = np.count_nonzero(bytes_ == ord(self.delimiter))
            if '"' in data:
                n_delimiters -= sum(_count(frame[name], self.delimiter) for name in names)
            # pandas refuses rows that are too long. If there is none and the sum is right, none is too short either.
            if n_delimiters != len(frame) * (self.width - 1):
                return None
            if lossy := self._lossy_columns(frame, bytes_):
                frame[lossy] = read(dtype=str, usecols=lossy)
        except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError):
            return None
        return frame

    def _data_start(self) -> int:
        """Return where the line after the header begins."""
        if not self.has_header:
            return 0
        reader = _reader(_lines(self.text), self.delimiter)
        next(row for row in reader if not _is_blank(row))
        place = 0
        for _ in range(reader.line_num):
            place = self.text.index("\n", place) + 1
        return place

    def _is_regular(self, content: np.ndarray) -> bool:
        """Return whether quotes open and close cells and nothing else, and no cell can be too long."""
        half = csv.field_size_limit() // 2
        if any((content[start : start + half] != ord("\n")).all() for start in range(0, len(content) - half, half)):
            return False  # a line may be longer than the limit
        if '"' not in self.text:
            return True
        quotes = np.flatnonzero(content == ord('"'))
        if len(quotes) % 2:
            return False
        before = content[quotes[::2][quotes[::2] > 0] - 1]
        after = content[quotes[1::2] + 1]
        return bool(np.isin(before, [*self._signs, ord(" ")]).all() and np.isin(after, self._signs).all())

    def _lossy_columns(self, frame: pd.DataFrame, content: np.ndarray) -> list[str]:
        """Return the columns of numbers whose cells could not be written back: codes such as 007, and large ones."""
        codes = self._columns_with_codes(content)
        lossy = []
        for position, name in enumerate(frame.columns):
            kind = frame[name].dtype.kind
            limit = LARGEST_WHOLE if kind == "f" and frame[name].isna().any() else LARGEST_EXACT
            is_large = kind == "u" or (kind == "f" and frame[name].abs().max() >= limit)
            is_mixed = kind == "O" and types.infer_dtype(frame[name], skipna=True) not in ("string", "boolean", "empty")
            if is_mixed or is_large or (kind in "iuf" and (codes is None or position in codes)):
                lossy.append(name)
        return lossy

    def _columns_with_codes(self, content: np.ndarray) -> set[int] | None:
        """Return the columns in which a cell begins with 0 and another digit; None if any column may have one."""
        found = []
        for start in range(0, len(content) - 2, SCANNED):  # small pieces stay in the processor's cache
            piece = content[start : start + SCANNED + 2]
            second = (piece[2:] - np.uint8(48)) < 10
            found.append(start + 1 + np.flatnonzero((piece[1:-1] == 48) & second & (piece[:-2] < 46)))
        places = np.concatenate([[0] if bytes(content[:1]) == b"0" and bytes(content[1:2]).isdigit() else [], *found])
        before = places.astype(np.int64) - 1
        while (inner := (before >= 0) & np.isin(content[before], [ord(" "), ord("+"), ord("-")])).any():
            before[inner] -= 1
        before = before[(before < 0) | np.isin(content[before], self._signs)]
        if not len(before):
            return set()
        if '"' in self.text:
            return None
        delimiters = np.flatnonzero(content == ord(self.delimiter))
        position = np.searchsorted(delimiters, before, side="right") % (self.width - 1)
        is_last = (position == 0) & (before >= 0) & (content[before] != ord("\n"))
        return set(np.where(is_last, self.width - 1, position).tolist())


def _column(series: pd.Series, name: str, typer: ColumnTyper) -> Any:
    is_object = types.is_object_dtype(series.dtype)  # pandas also gives truth values with gaps as objects
    if series.dtype == np.float64:
        return typer.whole_if_gaps(typer.finite(series.to_numpy(), name))
    if types.is_string_dtype(series.dtype) and not (is_object and types.infer_dtype(series) == "boolean"):
        return typer.from_strings(series, name)
    return typer.from_typed(series, name)


def _count(series: pd.Series, delimiter: str) -> int:
    """Return how often the delimiter occurs inside the cells of a column."""
    return int(series.str.count(re.escape(delimiter)).sum()) if types.is_string_dtype(series) else 0


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, without the copy that `io.StringIO` makes."""
    start = 0
    while (end := text.find("\n", start) + 1) > 0:
        yield text[start:end]
        start = end


def _agreement(sample: str, delimiter: str) -> tuple[float, int]:
    widths: list[int] = []
    with suppress(csv.Error):  # the sample may end inside a quoted cell
        rows = (row for row in _reader(_lines(sample), delimiter) if not _is_blank(row))
        widths.extend(len(row) for row in islice(rows, SAMPLE_ROWS))
    if not widths or widths[0] == 1:
        return 0.0, 1
    return widths.count(widths[0]) / len(widths), widths[0]


def _reader(lines: Iterable[str], delimiter: str) -> Any:
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _explained(message: str) -> str:
    if "unexpected end of data" in message:
        return 'a quoted cell begins here and never ends: a closing " is missing.'
    if "field larger than field limit" in message:
        return f'a cell has more than {csv.field_size_limit()} characters; perhaps a closing " is missing.'
    if "expected after" in message:
        return 'a quoted cell goes on after its closing ". Write a quote inside a quoted cell twice: "".'
    return f"the line cannot be read: {message}."
