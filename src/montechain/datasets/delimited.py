"""CSV and similar files: text with one row per line and a delimiter between the cells.

pandas reads the file, fast. Its result is kept if the file is shown to be regular; otherwise Python's csv module, which
is strict and knows its lines, reads it again and either succeeds or says what is wrong, and where.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from montechain.datasets.columns import LARGEST_WHOLE, NUMBER, ColumnTyper
from montechain.datasets.files import read_text
from montechain.errors import DataError

__all__ = ["column_names", "read_delimited", "sniff_delimiter"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_ROWS = 20
SAMPLE_CHARACTERS = 1 << 16
EXACT_FLOATS: dict[str, Any] = {}
"""Makes `pandas.read_csv` read numbers exactly; from 3.1 on it always does."""
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    EXACT_FLOATS["float_precision"] = "round_trip"


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
    if "\0" in text:
        message = 'there is a NUL byte: this is not a text file, or it has an encoding such as encoding="utf-16".'
        raise DataError(message, path=path, line=1 + text[: text.index("\0")].count("\n"))
    delimiter = sniff_delimiter(text[:SAMPLE_CHARACTERS]) if delimiter is None else delimiter
    records = _records(text, delimiter, path)
    line, first = next(records, (0, []))
    if not first:
        raise DataError("the file is empty.", path=path)
    names = column_names(first, header, typer.missing, path, line)
    n_before = 0 if header is False else 1
    typer.start(names)
    typer.line_of = lambda row: next(islice(_records(text, delimiter, path, len(names)), n_before + row, None))[0]
    frame = _read_fast(text, delimiter, names, typer, has_header=header is not False)
    if frame is None:
        frame = _read_carefully(islice(_records(text, delimiter, path, len(names)), n_before, None), names, path)
    if not len(frame):
        raise DataError("the file has a header line and no rows.", path=path)
    return pd.DataFrame({name: _column(frame[name], name, typer) for name in names})


def sniff_delimiter(sample: str) -> str:
    r"""Return the delimiter among comma, semicolon, tab and bar that splits most lines into the same number of cells.

    The comma wins where none of them splits the first line, as in a table of one column.

    >>> sniff_delimiter("height;width\n1,5;2,5\n")
    ';'
    """

    def agreement(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        with suppress(DataError):  # the sample may end inside a quoted cell
            widths.extend(len(row) for _, row in islice(_records(sample, delimiter, ""), SAMPLE_ROWS))
        if not widths or widths[0] == 1:
            return 0.0, 1
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(DELIMITERS, key=agreement)  # the first of equal ones


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
    for position, name in enumerate(names):
        if header is None and (name in missing or (NUMBER.fullmatch(name) and not name.isdigit())):
            raise DataError(
                f"the first line looks like data: {name!r} is an odd name for a column. {without} If it is a header, "
                "say header=True (--header).",
                path=path,
                line=line,
            )
        if name in names[:position]:
            raise DataError(f"the column {name!r} occurs more than once. {without}", path=path, line=line)
    return names


def _records(text: str, delimiter: str, path: str | Path, width: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the line it begins in; a blank cell is a row of one column."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(_explained(str(error)), path=path, line=start) from None
        if row and (len(row) == width or len(row) > 1 or row[0].strip()):
            yield start, row


def _read_carefully(records: Iterator[tuple[int, list[str]]], names: list[str], path: str | Path) -> pd.DataFrame:
    """Return the cells as strings, or raise an error that names the line of the first faulty row."""
    cells = []
    for line, row in records:
        if len(row) != len(names):
            raise DataError(
                f"the row has {len(row)} cell{'s' * (len(row) != 1)} where there are {len(names)} columns; "
                "quote cells that contain the delimiter, and check that no cell is missing.",
                path=path,
                line=line,
            )
        cells.append(row)
    return pd.DataFrame(cells, columns=names, dtype=object)


def _read_fast(
    text: str, delimiter: str, names: list[str], typer: ColumnTyper, *, has_header: bool
) -> pd.DataFrame | None:
    """Return the columns as pandas reads them, numbers only where nothing is lost; None if the file is odd.

    A file is regular if quotes stand around whole cells only, and there are as many delimiters outside them as there
    must be. pandas refuses rows that are too long; if the sum is right, none is too short either.
    """
    marks_are_words = not any(map(NUMBER.fullmatch, typer.missing))
    if len(names) == 1 or not delimiter.isascii() or delimiter == " " or typer.thousands or not marks_are_words:
        return None
    signs = re.escape(delimiter) + r"\n"
    outside = text if '"' not in text else re.sub(rf'(?<![^{signs}])\ *+"(?:[^"]++|"")*+"(?=[{signs}]|\Z)', "", text)
    content = f"\n{text}\n".encode(errors="surrogatepass")
    characters = np.frombuffer(content, dtype=np.uint8)
    if '"' in outside or np.diff(np.flatnonzero(characters == ord("\n"))).max() > csv.field_size_limit():
        return None

    def read(**options: Any) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            header=0 if has_header else None,
            names=names,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=sorted(typer.missing),
            decimal=typer.decimal,
            low_memory=False,  # else a column could get another type in each piece of a large file
            **EXACT_FLOATS,
            **options,
        )

    try:
        frame = read(dtype={name: str for name in names if typer.kinds.get(name) in ("nominal", "text", "date")})
        is_complete = outside.count(delimiter) == (len(frame) + has_header) * (len(names) - 1)
        if not is_complete or not isinstance(frame.index, pd.RangeIndex):  # rows longer than the header
            return None
        may_have_codes = _may_have_codes(characters, delimiter)
        if lossy := [name for name in names if _is_lossy(frame[name], may_have_codes)]:
            frame[lossy] = read(dtype=str, usecols=lossy)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError, UnicodeError):
        return None
    return frame


def _may_have_codes(content: np.ndarray, delimiter: str) -> bool:
    """Return whether some cell begins with 0 and another digit, as codes such as 007 do."""
    digits = (content - np.uint8(ord("0"))) < 10
    before = np.flatnonzero(~digits[:-2] & (content[1:-1] == ord("0")) & digits[2:])
    for _ in range(2):
        before = before - np.isin(content[before], [*b" +-"])
    return bool(np.isin(content[before], [ord(sign) for sign in f'{delimiter}\n"']).any())


def _is_lossy(series: pd.Series, may_have_codes: bool) -> bool:
    """Return whether cells may have lost something: codes their zeros, large whole numbers their last digits."""
    kind = series.dtype.kind
    if kind == "O":
        return types.infer_dtype(series, skipna=True) not in ("string", "boolean", "empty")
    is_large = kind == "f" and series.abs().max() >= (LARGEST_WHOLE if series.hasnans else 2.0**62)
    return is_large or kind == "u" or (kind in "if" and may_have_codes)


def _column(series: pd.Series, name: str, typer: ColumnTyper) -> Any:
    if series.dtype == np.float64:
        return typer.whole_if_gaps(series.to_numpy())
    is_truth = types.is_object_dtype(series.dtype) and types.infer_dtype(series) == "boolean"  # with gaps
    if types.is_string_dtype(series.dtype) and not is_truth:
        return typer.from_strings(series, name)
    return typer.from_typed(series, name)


def _explained(message: str) -> str:
    if "unexpected end of data" in message:
        return 'a quoted cell begins here and never ends: a closing " is missing.'
    if "field larger than field limit" in message:
        return f'a cell has more than {csv.field_size_limit()} characters; perhaps a closing " is missing.'
    if "expected after" in message:
        return 'a quoted cell goes on after its closing ". Write a quote inside a quoted cell twice: "".'
    return f"the line cannot be read: {message}."
