"""Tables: CSV and TSV files, Parquet and Feather files, and data frames of any library."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from montechain._frames import is_frame
from montechain.datasets.columns import MISSING_VALUES, NumberFormat, missing_marks
from montechain.datasets.delimited import read_delimited
from montechain.datasets.formats import TABLE_FORMATS, find_format
from montechain.datasets.frames import read_arrow_file, typed_frame
from montechain.errors import DataError

__all__ = ["MISSING_VALUES", "read_table"]


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
    typed: Collection[str] | None = None,
) -> pd.DataFrame:
    r"""Read a table, and find out the type of each column.

    A column of whole numbers becomes int64, or nullable Int64 if cells are unknown; other numbers become
    float64; a column of ``true`` and ``false`` becomes bool or nullable boolean; any other becomes a categorical whose
    categories are those that occur, sorted. Nothing is converted that could not be written back: a column with
    codes such as ``007``, with whole numbers of more than 64 bits or with dates is a categorical of what is written.

    Parameters
    ----------
    source : str, Path or data frame
        A file ``.csv``, ``.tsv``, ``.tab`` or ``.data`` (with ``.gz`` or ``.bz2`` behind it or not), ``.parquet`` or
        ``.feather``; or a frame of pandas, polars, pyarrow or any other library that narwhals reads. The types of a
        frame and of Parquet and Feather files are kept, dates among them, except that times of day are nominal.
    format : {"csv", "tsv", "parquet", "feather"}, optional
        The format of a file whose name does not tell it.
    delimiter : str, optional
        What stands between the cells of a text file. By default a tab for TSV, and otherwise that one of comma,
        semicolon, tab and bar which cuts the first lines into equally many cells.
    header : bool, optional
        Whether the first line that is not blank names the columns. By default it does, and a line that looks like data
        is refused. Without a header the columns are ``column_0``, ``column_1`` and so on, and so is one without a name.
    missing_values : iterable of str
        Cells that mean "unknown". An empty cell always does. Where ``None`` or ``NA`` is a class of its own,
        give the list without it.
    encoding : str, default="utf-8"
        Of a text file. A byte-order mark is ignored.
    decimal, thousands : str
        How numbers are written: ``decimal=","`` for 1,5 and ``thousands=","`` for 1,234. Numbers with a comma are
        refused unless one of the two is given.
    text, nominal : collections of str
        Columns that are text, and columns that are nominal whatever they look like; both are kept as
        written. Names that the table does not have are ignored, so that the same lists serve for files with and
        without the targets.
    typed : collection of str, optional
        If given, only these columns of a text file are looked at; the others are kept as written, whatever they hold.

    Returns
    -------
    pandas.DataFrame
        With the rows numbered from 0.

    Raises
    ------
    DataError
        If the file cannot be read as a table: no such file, no rows, rows of different lengths, a name that occurs
        twice, a quote that is not closed, an infinite number, another encoding. It names the file, and the line where
        there is one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "songs.csv"
    ...     _ = path.write_text("id;tempo;plays;mood\n007;120.5;3;calm\n012;?;NA;happy\n", encoding="utf-8")
    ...     songs = read_table(path)
    >>> songs
        id  tempo  plays   mood
    0  007  120.5      3   calm
    1  012    NaN   <NA>  happy
    >>> songs.dtypes.astype(str).to_list()
    ['category', 'float64', 'Int64', 'category']
    """
    missing = missing_marks(missing_values)
    numbers = NumberFormat(decimal, thousands)
    for parameter, names in (("text", text), ("nominal", nominal)):
        check_names(parameter, names)
    if not isinstance(source, str | os.PathLike):
        if is_frame(source, lazy=True):
            return typed_frame(source, missing=missing, text_columns=text, nominal_columns=nominal)
        raise TypeError(
            f"`source` is a {type(source).__name__}; it must be the path of a file or a data frame "
            "(pandas, polars, pyarrow, ...)."
        )
    path = Path(source)
    found = find_format(path, format)
    if found not in TABLE_FORMATS:
        raise DataError(f"this is a file of format {found!r}, not a table: use read_dataset.", path=path)
    if found in ("parquet", "feather"):
        frame = read_arrow_file(path, found)
        return typed_frame(frame, missing=missing, text_columns=text, nominal_columns=nominal, path=path)
    return read_delimited(
        path,
        delimiter="\t" if delimiter is None and found == "tsv" else delimiter,
        header=header,
        missing=missing,
        encoding=encoding,
        numbers=numbers,
        text=text,
        nominal=nominal,
        typed=typed,
    )


def check_names(parameter: str, names: Any) -> None:
    """Refuse a single string where a list of names is wanted.

    >>> check_names("drop", "colour")
    Traceback (most recent call last):
        ...
    TypeError: `drop='colour'` is a string; give a list of names, as in drop=['colour'].
    """
    if isinstance(names, str):
        raise TypeError(f"`{parameter}={names!r}` is a string; give a list of names, as in {parameter}=[{names!r}].")
