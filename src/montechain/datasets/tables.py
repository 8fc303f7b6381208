"""Tables before they are typed: the text of CSV and TSV files; the columns of other files and of data frames."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import pandas as pd

from montechain._frames import as_pandas, column_names, is_frame
from montechain.datasets.columns import NUMBER
from montechain.datasets.files import read_bytes, read_text, require_library
from montechain.errors import DataError

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_ROWS = 20
SAMPLE_CHARACTERS = 1 << 16
CSV_ERRORS = {
    "unexpected end of data": 'a quoted cell begins here and never ends: a closing " is missing.',
    "field larger than": f'a cell has more than {csv.field_size_limit()} characters; perhaps a closing " is missing.',
    "expected after": 'a quoted cell goes on after its closing ". Write a quote inside a quoted cell twice: "".',
}
"""What Python's csv module says, and what we say."""
EXACT_FLOATS: dict[str, Any] = {}
"""Makes `pandas.read_csv` read numbers exactly; from 3.1 on it always does."""
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    EXACT_FLOATS["float_precision"] = "round_trip"


@dataclass
class RawTable:
    """The text of a table whose columns have names and no types yet.

    `read` returns some columns: numbers where pandas found them, except for those that the second argument names.
    `line_of` returns the line of a row.
    """

    names: list[str]
    read: Callable[[list[str], Collection[str]], Any]
    line_of: Callable[[int], int]


def open_text(
    path: Path,
    format: str,
    delimiter: str | None,
    header: bool | None,
    encoding: str,
    missing: Collection[str],
    decimal: str,
) -> RawTable:
    """Return the table of a CSV or TSV file; `read_dataset` describes the parameters.

    Where nothing is odd, pandas reads it, which is quicker than Python's csv module.
    """
    text = read_text(path, encoding)
    if "\0" in text:
        message = 'there is a NUL byte: this is not a text file, or it has an encoding such as encoding="utf-16".'
        raise DataError(message, path=path, line=1 + text[: text.index("\0")].count("\n"))
    if delimiter is None:
        delimiter = "\t" if format == "tsv" else sniff_delimiter(text[:SAMPLE_CHARACTERS])
    if not (len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n\0'):
        raise ValueError(f"`delimiter={delimiter!r}` must be one character, such as delimiter=';'.")
    line, first = next(_records(text, delimiter, path), (None, []))
    names = _column_names(first, header, missing, path, line)
    start = 0 if header is False else 1

    @cache
    def records() -> list[tuple[int, list[str]]]:
        return list(islice(_records(text, delimiter, path, len(names)), start, None))

    def by_pandas(as_written: Collection[str]) -> pd.DataFrame | None:
        has_codes = re.search(rf"[{re.escape(delimiter)}\n][ +-]*0\d", f"\n{text}")  # such as 007
        if len(names) == 1 or '"' in text or has_codes or any(map(NUMBER.fullmatch, missing)):
            return None
        with suppress(pd.errors.ParserError, pd.errors.EmptyDataError, ValueError, OverflowError, UnicodeError):
            frame = pd.read_csv(
                io.BytesIO(text.encode()),
                sep=delimiter,
                header=0 if start else None,
                names=names,
                dtype=dict.fromkeys(as_written, str),
                skipinitialspace=delimiter != " ",
                keep_default_na=False,
                na_values=["", *missing],
                decimal=decimal,
                low_memory=False,  # else a column could get another type in each piece of a large file
                **EXACT_FLOATS,
            )
            # pandas refuses rows that are too long, but fills up those that are too short.
            is_complete = text.count(delimiter) == (len(frame) + start) * (len(names) - 1)
            return frame if is_complete and isinstance(frame.index, pd.RangeIndex) else None
        return None

    def read(wanted: list[str], as_written: Collection[str]) -> Any:
        frame = by_pandas(as_written)
        if frame is not None and len(frame):
            return frame
        if not records():
            raise DataError("the table has a header line and no rows.", path=path)
        columns = dict(zip(names, zip(*(cells for _, cells in records()), strict=True), strict=True))
        return {name: pd.Series(columns[name], dtype=object) for name in wanted}

    return RawTable(names, read, lambda row: records()[row][0])


def frame_columns(frame: Any, path: Path | None = None) -> dict[str, Callable[[], pd.Series]]:
    """Return functions that return the columns of a frame of any library, by name; its index is left out."""
    if not is_frame(frame, lazy=True):
        kind = type(frame).__name__
        raise TypeError(
            f"`source` is a {kind}; it must be the path of a file or a data frame (pandas, polars, pyarrow, ...)."
        )
    if not is_frame(frame):
        frame = nw.from_native(frame).collect().to_native()
    own = column_names(frame)
    names = [str(name) for name in own]
    if not names or not len(frame):
        raise DataError(f"the table has no {'rows' if names else 'columns'}.", path=path)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"the column {twice!r} occurs more than once; rename one of them.", path=path)

    def column(name: Any) -> pd.Series:
        try:
            return as_pandas(frame, [name])[0].reset_index(drop=True)
        except (OverflowError, ValueError, KeyError, TypeError) as error:  # lists, an unknown time zone, ...
            raise DataError(f"column {str(name)!r} cannot be read: {error}", path=path) from error

    return {str(name): partial(column, name) for name in own}


def read_frame(path: Path, format: str, header: bool | None, missing_values: Collection[str]) -> pd.DataFrame:
    """Return the frame of a Parquet or Feather file, or the first sheet of an Excel file."""
    read_bytes(path, 1)  # says what is wrong with a file that cannot be opened
    require_library(format)
    try:
        if format == "excel":
            options: dict[str, Any] = {"dtype": object, "keep_default_na": False, "na_values": ["", *missing_values]}
            frame = pd.read_excel(path, engine="openpyxl", header=None if header is False else 0, **options)
            frame = frame.infer_objects()  # and not what strings such as 007 look like
            return frame.add_prefix("column_") if header is False else frame
        from pyarrow import feather, parquet

        table = parquet.ParquetFile(path).read() if format == "parquet" else feather.read_table(path)
        table.validate(full=True)  # otherwise Arrow trusts the offsets and lengths in the file
        return table.to_pandas()
    except Exception as error:  # the libraries raise whatever they stumble over in a damaged file
        raise DataError(f"this is not a readable {format.capitalize()} file: {error}", path=path) from error


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


def _column_names(
    first: list[str], header: bool | None, missing: Collection[str], path: Path, line: int | None
) -> list[str]:
    """Return the names of the columns from the first row of a table, or refuse it if it looks like data."""
    if not first:
        raise DataError("the table is empty.", path=path)
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
