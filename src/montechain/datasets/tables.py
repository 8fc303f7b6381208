"""Tables: CSV, TSV, Excel, Parquet and Feather files, and data frames of any library."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
from pandas.api import types

from montechain._frames import is_frame
from montechain.datasets.columns import MISSING_VALUES, ColumnTyper, Kind
from montechain.datasets.delimited import column_names, read_delimited
from montechain.datasets.files import find_format, read_bytes, require_library
from montechain.datasets.selection import check_names
from montechain.errors import DataError

__all__ = ["MISSING_VALUES", "read_table"]

LARGEST_WORKBOOK = 1 << 30
"""Maximum size of an Excel file when unpacked, in bytes."""


def read_table(
    source: Any,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    missing_values: Iterable[str] = MISSING_VALUES,
    encoding: str = "utf-8",
    decimal: str = ".",
    thousands: str | None = None,
    text: Collection[str] = (),
    nominal: Collection[str] = (),
    numeric: Collection[str] = (),
    dates: Mapping[str, str] | Collection[str] = (),
    stray: str = "missing",
) -> pd.DataFrame:
    r"""Read a table, and find the type of each column.

    Whole numbers become int64, or nullable Int64 if cells are missing; other numbers float64; ``true`` and ``false``
    bool, or nullable boolean; dates datetime64; everything else a categorical whose categories are the sorted values.
    Codes such as ``007``, and whole numbers that need more than 64 bits, stay as they are written.

    Parameters
    ----------
    source : str, Path or data frame
        A file ``.csv``, ``.tsv``, ``.tab`` or ``.data`` (also with ``.gz`` or ``.bz2``), ``.xlsx``, ``.parquet`` or
        ``.feather``; or a frame of pandas, polars, pyarrow or any other library that narwhals supports. Frames, Parquet
        and Feather files keep their own types, except that times of day become categories.
    format : {"csv", "tsv", "excel", "parquet", "feather"}, optional
        The format of a file whose suffix does not tell it.
    delimiter : str, optional
        What separates the cells of a text file. Default: a tab for TSV, otherwise found from the first lines.
    header : bool, optional
        Whether the first non-blank line names the columns. By default it does, and a line that looks like data is
        refused. Columns without a name are called ``column_0``, ``column_1`` and so on.
    missing_values : iterable of str
        Cells that mean "unknown", besides empty ones. If ``None`` or ``NA`` is a class of its own, give the list
        without it.
    encoding : str, default="utf-8"
        Of a text file. A byte order mark is ignored.
    decimal, thousands : str
        How numbers are written: ``decimal=","`` for 1,5 and ``thousands=","`` for 1,234. Numbers with a comma are
        refused unless one of the two is given.
    text, nominal, numeric : collections of str
        Columns that are text, words or numbers whatever they look like. Names that the table does not have are ignored,
        so that the same lists serve for files with and without the targets.
    dates : mapping of str to str, or collection of str
        Columns that are dates, if possible with their formats, such as ``{"day": "%d/%m/%Y"}``.
    stray : {"missing", "error"}, default="missing"
        What to do with a cell such as ``heavy`` in a column of numbers or dates, if at most 5 % of the column are such,
        or the column is in `numeric` or `dates`: treat it as missing, with a note, or raise an error with its line.

    Returns
    -------
    pandas.DataFrame
        With rows numbered from 0. ``attrs["notes"]`` lists what was found, in plain sentences, and
        ``attrs["date_formats"]`` the formats of dates that were read from text.

    Raises
    ------
    DataError
        If the file cannot be read as a table. The message names the file and, where there is one, the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "songs.csv"
    ...     _ = path.write_text("id;tempo;plays;day\n007;120.5;3;2024-05-31\n012;?;NA;2024-06-01\n", encoding="utf-8")
    ...     songs = read_table(path)
    >>> songs
        id  tempo  plays        day
    0  007  120.5      3 2024-05-31
    1  012    NaN   <NA> 2024-06-01
    >>> songs.attrs["notes"]
    ["column 'day' holds dates, such as '2024-05-31' (%Y-%m-%d)."]
    """
    options = {"missing_values": missing_values, "decimal": decimal, "thousands": thousands, "stray": stray}
    typer = make_typer(text=text, nominal=nominal, numeric=numeric, dates=dates, **options)
    return typed_table(source, typer, format=format, delimiter=delimiter, header=header, encoding=encoding)


def make_typer(
    *,
    text: Collection[str],
    nominal: Collection[str],
    numeric: Collection[str],
    dates: Mapping[str, str] | Collection[str],
    **options: Any,
) -> ColumnTyper:
    """Return the typing pass that these parameters of `read_table` ask for."""
    kinds: dict[str, Kind] = {}
    given: list[tuple[str, Any, Kind]] = [("dates", dates, "date"), ("numeric", numeric, "number")]
    given += [("nominal", nominal, "nominal"), ("text", text, "text")]
    for parameter, names, kind in given:
        check_names(parameter, names)
        kinds |= dict.fromkeys(names, kind)
    return ColumnTyper(kinds=kinds, date_formats=dict(dates) if isinstance(dates, Mapping) else {}, **options)


def typed_table(
    source: Any,
    typer: ColumnTyper,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
) -> pd.DataFrame:
    """Read a table with a given typing pass, as `read_table` does."""
    if isinstance(source, str | os.PathLike):
        path = typer.path = Path(source)
        found = find_format(path, format)
        if found in ("csv", "tsv"):
            delimiter = "\t" if delimiter is None and found == "tsv" else delimiter
            table = read_delimited(path, typer, delimiter=delimiter, header=header, encoding=encoding)
        elif found == "excel":
            table = _read_excel(path, typer, header)
        elif found in ("parquet", "feather"):
            table = _typed_frame(_read_arrow(path, found), typer)
        else:
            raise DataError(f"this is a file of format {found!r}, not a table: use read_dataset.", path=path)
    elif is_frame(source, lazy=True):
        table = _typed_frame(source, typer)
    else:
        raise TypeError(
            f"`source` is a {type(source).__name__}; it must be the path of a file or a data frame "
            "(pandas, polars, pyarrow, ...)."
        )
    table.attrs = {"notes": typer.notes, "date_formats": typer.date_formats}
    return table


def _typed_frame(frame: Any, typer: ColumnTyper) -> pd.DataFrame:
    """Return the typed columns of a frame of any library, which is not modified; its index is left out."""
    if not isinstance(frame, pd.DataFrame):  # which may hold a name twice, or names that are not strings
        frame = nw.from_native(frame)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    names = [str(name) for name in frame.columns]
    typer.start(names)
    if not len(frame):
        raise DataError("the table has no rows.", path=typer.path)
    columns = {}
    for position, name in enumerate(names):
        try:
            is_pandas = isinstance(frame, pd.DataFrame)
            series = frame.iloc[:, position] if is_pandas else _pandas_series(frame[:, position])
        except (OverflowError, ValueError, KeyError) as error:  # a date after the year 9999, an unknown time zone
            raise DataError(f"column {name!r} holds what cannot be read: {error}.", path=typer.path) from error
        columns[name] = typer.from_typed(series, name)
    return pd.DataFrame(columns)


def _pandas_series(series: Any) -> pd.Series:
    """Convert a narwhals series to pandas without pyarrow, which polars would ask for."""
    dtype = series.dtype
    unknown = series.is_null().to_numpy()
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        values = series.fill_null(0).to_numpy() if unknown.any() else series.to_numpy()
        return pd.Series(pd.arrays.IntegerArray(np.array(values), np.array(unknown, dtype=bool)))
    if dtype.is_numeric():
        return pd.Series(series.cast(nw.Float64).to_numpy().astype(np.float64))
    values = pd.Series(series.to_list(), dtype=object)
    if dtype == nw.Enum or (dtype == nw.Categorical and series.implementation.is_pyarrow()):
        # Polars lists, for a Categorical that is not an Enum, values of other columns too.
        declared = series.cat.get_categories().to_list()
        return values.astype(pd.CategoricalDtype([category for category in declared if category is not None]))
    return values


def _read_arrow(path: Path, format: str) -> Any:
    """Return the pyarrow table of a Parquet or Feather file, without the index of the pandas frame it came from."""
    read_bytes(path, 1)  # says what is wrong with a file that cannot be opened
    require_library(format)
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    try:
        table = pa.parquet.ParquetFile(path).read() if format == "parquet" else pa.feather.read_table(path)
        table.validate(full=True)  # otherwise Arrow trusts the offsets and lengths in the file
        metadata = table.schema.pandas_metadata or {}
        index = metadata.get("index_columns", []) if isinstance(metadata, dict) else []
        return table.drop_columns([name for name in table.column_names if name in index])
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DataError(f"this is not a readable {format.capitalize()} file: {error}", path=path) from error


def _read_excel(path: Path, typer: ColumnTyper, header: bool | None) -> pd.DataFrame:
    """Return the typed table of the first sheet of a workbook; blank rows and columns are left out."""
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
    if len(sheets) > 1:
        typer.notes.append(f"only the first of {len(sheets)} sheets is read, {sheets[0]!r}.")
    cells = cells.loc[cells.notna().any(axis=1), cells.notna().any(axis=0)]
    if cells.empty:
        raise DataError("the first sheet is empty.", path=path)
    first = ["" if cell is None or pd.isna(cell) else str(cell) for cell in cells.iloc[0]]
    names = column_names(first, header, typer.missing, path, int(cells.index[0]) + 1)
    cells = cells if header is False else cells.iloc[1:]
    if cells.empty:
        raise DataError("the sheet has a header line and no rows.", path=path)
    typer.start(names)
    lines = cells.index.to_numpy() + 1
    typer.line_of = lambda row: int(lines[row])
    columns = {}
    for position, name in enumerate(names):
        series = cells.iloc[:, position].reset_index(drop=True)
        is_words = types.infer_dtype(series, skipna=True) == "string"
        columns[name] = typer.from_strings(series, name) if is_words else typer.from_typed(series, name)
    return pd.DataFrame(columns)
