"""Tables before they are typed: CSV, TSV, Excel, Parquet and Feather files, and data frames of any library."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from montechain._frames import as_pandas, is_frame
from montechain.datasets.columns import NUMBER
from montechain.datasets.files import find_format, read_bytes, read_text, require_library
from montechain.errors import DataError

__all__ = ["RawTable", "open_table", "sniff_delimiter"]

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_ROWS = 20
SAMPLE_CHARACTERS = 1 << 16
CSV_ERRORS = {
    "unexpected end of data": 'a quoted cell begins here and never ends: a closing " is missing.',
    "field larger than": f'a cell has more than {csv.field_size_limit()} characters; perhaps a closing " is missing.',
    "expected after": 'a quoted cell goes on after its closing ". Write a quote inside a quoted cell twice: "".',
}
"""What Python's csv module says, and what we say."""
LARGEST_WORKBOOK = 1 << 30
"""Maximum size of an Excel file when unpacked, in bytes."""
EXACT_FLOATS: dict[str, Any] = {}
"""Makes `pandas.read_csv` read numbers exactly; from 3.1 on it always does."""
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    EXACT_FLOATS["float_precision"] = "round_trip"


@dataclass
class RawTable:
    """A table whose columns have names and no types yet.

    `read` returns some columns as a frame; those of a text file are numbers where pandas reads them so, except for the
    ones named by the second argument, which stay as they are written. `is_text` says that strings may be numbers.
    """

    names: list[str]
    read: Callable[[list[str], Collection[str]], pd.DataFrame]
    is_text: bool = False
    line_of: Callable[[int], int] | None = None
    notes: list[str] = field(default_factory=list)


def open_table(
    source: Any,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    missing_values: Collection[str] = (),
    decimal: str = ".",
    thousands: str | None = None,
) -> RawTable:
    """Return the table of a file or data frame; `read_dataset` describes the parameters."""
    if not isinstance(source, str | os.PathLike):
        if not is_frame(source, lazy=True):
            raise TypeError(
                f"`source` is a {type(source).__name__}; it must be the path of a file or a data frame "
                "(pandas, polars, pyarrow, ...)."
            )
        return _from_frame(source)
    path = Path(source)
    found = find_format(path, format)
    if header not in (None, True, False):
        raise ValueError(
            f"`header={header!r}` must be True, False or None (a header line that does not look like data)."
        )
    if found == "excel":
        return _read_excel(path, header, missing_values)
    if found in ("parquet", "feather"):
        return _from_frame(_read_arrow(path, found), path)
    if found in ("csv", "tsv"):
        text = _text(path, encoding)
        if delimiter is None:
            delimiter = "\t" if found == "tsv" else sniff_delimiter(text[:SAMPLE_CHARACTERS])
        return _read_delimited(path, text, delimiter, header, missing_values, decimal, thousands)
    raise DataError(f"a file of format {found!r} is not a table.", path=path)


def _from_frame(frame: Any, path: Path | None = None) -> RawTable:
    """Return the columns of a frame of any library; its index is left out."""
    is_pandas = isinstance(frame, pd.DataFrame)  # which may hold a name twice, or names that are not strings
    if not is_pandas:
        frame = nw.from_native(frame)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    names = [str(name) for name in frame.columns]
    if not names or not len(frame):
        raise DataError(f"the table has no {'rows' if names else 'columns'}.", path=path)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"the column {twice!r} occurs more than once; rename one of them.", path=path)

    def read(wanted: list[str], as_written: Collection[str]) -> pd.DataFrame:
        columns = {}
        for name in wanted:
            place = names.index(name)
            try:
                column = frame.iloc[:, place] if is_pandas else as_pandas(frame.to_native(), [frame.columns[place]])[0]
                columns[name] = column.reset_index(drop=True)
            except (OverflowError, ValueError, KeyError, TypeError) as error:  # lists, an unknown time zone, ...
                raise DataError(f"column {name!r} cannot be read: {error}", path=path) from error
        return pd.DataFrame(columns)

    return RawTable(names, read)


def _read_arrow(path: Path, format: str) -> pd.DataFrame:
    """Return the frame of a Parquet or Feather file."""
    read_bytes(path, 1)  # says what is wrong with a file that cannot be opened
    require_library(format)
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    try:
        table = pa.parquet.ParquetFile(path).read() if format == "parquet" else pa.feather.read_table(path)
        table.validate(full=True)  # otherwise Arrow trusts the offsets and lengths in the file
        return table.to_pandas()
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"this is not a readable {format.capitalize()} file: {error}", path=path) from error


def _read_excel(path: Path, header: bool | None, missing: Collection[str]) -> RawTable:
    """Return the first sheet of a workbook without its blank rows and columns."""
    read_bytes(path, 1)
    require_library("excel")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > LARGEST_WORKBOOK:
                raise DataError("is too large when unpacked; save the sheet as .csv.", path=path)
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(sheet) for sheet in book.sheet_names]
            cells = pd.read_excel(book, header=None, dtype=object, keep_default_na=False, na_values=[""])
    except DataError:
        raise
    except Exception as error:  # openpyxl raises whatever it stumbles over in a damaged workbook
        raise DataError(f"this is not a readable Excel file: {error}", path=path) from error
    cells = cells.loc[cells.notna().any(axis=1), cells.notna().any(axis=0)]
    if cells.empty:
        raise DataError("the first sheet is empty.", path=path)
    first = ["" if cell is None or pd.isna(cell) else str(cell) for cell in cells.iloc[0]]
    lines = cells.index + 1
    names = _column_names(first, header, missing, path, int(lines[0]))
    start = 0 if header is False else 1
    if len(cells) == start:
        raise DataError("the sheet has a header line and no rows.", path=path)
    frame = cells.iloc[start:].reset_index(drop=True).set_axis(names, axis=1)
    notes = [f"only the first of {len(sheets)} sheets is read, {sheets[0]!r}."] if len(sheets) > 1 else []
    return RawTable(names, lambda wanted, _: frame[wanted], True, lambda row: int(lines[start + row]), notes)


# -- text with one row per line and a delimiter between the cells -----------------------------


def _text(path: Path, encoding: str) -> str:
    text = read_text(path, encoding)
    if "\0" in text:
        message = 'there is a NUL byte: this is not a text file, or it has an encoding such as encoding="utf-16".'
        raise DataError(message, path=path, line=1 + text[: text.index("\0")].count("\n"))
    return text


def _read_delimited(
    path: Path,
    text: str,
    delimiter: str,
    header: bool | None,
    missing: Collection[str],
    decimal: str,
    thousands: str | None,
) -> RawTable:
    """Return the table of a text file, which pandas reads once it is known that every row has all its cells."""
    if not (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'):
        raise ValueError(f"`delimiter={delimiter!r}` must be one character, such as delimiter=';'.")
    line, first = next(_records(text, delimiter, path), (0, []))
    if not first:
        raise DataError("the file is empty.", path=path)
    names = _column_names(first, header, missing, path, line)
    start = 0 if header is False else 1
    content = f"\n{text}\n".encode(errors="surrogatepass")
    only_text = thousands is not None or any(map(NUMBER.fullmatch, missing))

    def read_with(dtype: Any) -> pd.DataFrame:
        return pd.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            header=0 if start else None,
            names=names,
            dtype=dtype,
            skipinitialspace=delimiter != " ",
            keep_default_na=False,
            na_values=["", *missing],
            decimal=decimal,
            low_memory=False,  # else a column could get another type in each piece of a large file
            **EXACT_FLOATS,
        )

    def lines() -> list[int]:
        """Return the line of each row; an error if one is too short or too long."""
        return [line for line, _ in islice(_records(text, delimiter, path, len(names)), start, None)]

    def read(wanted: list[str], as_written: Collection[str]) -> pd.DataFrame:
        frame, n_rows = pd.DataFrame(), -1
        with suppress(pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError, UnicodeError):
            frame = read_with(str if only_text else dict.fromkeys(as_written, str))
            # pandas refuses rows that are too long, but fills up those that are too short.
            if '"' not in text and text.count(delimiter) == (len(frame) + start) * (len(names) - 1):
                n_rows = len(frame)
        n_rows = len(lines()) if n_rows < 0 else n_rows
        if not n_rows:
            raise DataError("the file has a header line and no rows.", path=path)
        if len(frame) != n_rows or not isinstance(frame.index, pd.RangeIndex):
            raise DataError("the rows do not fit the header; check quotes, delimiter and encoding.", path=path)
        numbers = [name for name in wanted if frame[name].dtype.kind in "iuf"]
        if numbers and _may_have_codes(np.frombuffer(content, dtype=np.uint8), delimiter):
            frame = read_with(dict.fromkeys([*as_written, *numbers], str))
        return frame[wanted]

    return RawTable(names, read, True, lambda row: lines()[row])


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


def _column_names(first: list[str], header: bool | None, missing: Collection[str], path: Path, line: int) -> list[str]:
    """Return the names of the columns from the first row of a table, or refuse it if it looks like data."""
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
    """Yield the rows that are not blank, each with the line it begins in; an error unless all have `width` cells."""
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=delimiter != " ", strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = next((told for said, told in CSV_ERRORS.items() if said in str(error)), f"{error}.")
            raise DataError(problem, path=path, line=line) from None
        if not row or (len(row) == 1 and not row[0].strip() and width != 1):
            continue
        if width and len(row) != width:
            raise DataError(
                f"the row has {len(row)} cell{'s' * (len(row) != 1)} where there are {width} columns; quote cells that "
                "contain the delimiter, and check that no cell is missing.",
                path=path,
                line=line,
            )
        yield line, row


def _may_have_codes(content: np.ndarray, delimiter: str) -> bool:
    """Return whether some cell begins with 0 and another digit, as codes such as 007 do: pandas drops the zeros."""
    digits = (content - np.uint8(ord("0"))) < 10
    before = np.flatnonzero(~digits[:-2] & (content[1:-1] == ord("0")) & digits[2:])
    for _ in range(2):
        before = before - np.isin(content[before], [*b" +-"])
    return bool(np.isin(content[before], [ord(sign) for sign in f'{delimiter}\n"']).any())
