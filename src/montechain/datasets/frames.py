"""Data frames of any library, and the column files of Arrow, in the types that `Dataset` speaks of."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from montechain.datasets._arrow import require_pyarrow
from montechain.datasets._text_blocks import open_binary
from montechain.datasets.columns import booleans, categorical, integers, text
from montechain.errors import DataError

__all__ = ["read_arrow_file", "typed_frame"]

SCALARS = (str, bool, int, float, decimal.Decimal, datetime.date, datetime.time, np.generic)


def typed_frame(
    frame: Any,
    *,
    missing: frozenset[str] = frozenset(),
    text_columns: Collection[str] = (),
    nominal_columns: Collection[str] = (),
    path: str | Path | None = None,
) -> pd.DataFrame:
    """Return a pandas frame of numbers, booleans, dates, categoricals and text from a frame of any library.

    The frame's own types are kept, and it is not written to: strings are nominal values, even if they look like
    numbers, and so are times of day. The index is left out.

    Parameters
    ----------
    frame : data frame of pandas, polars, pyarrow or another library that narwhals reads
    missing : frozenset of str
        Strings that mean "unknown", besides what the frame itself says.
    text_columns, nominal_columns : collections of str
        Columns whose cells become text, or strings as nominal values.
    path : str or Path, optional
        The file that the frame was read from, for messages.

    Examples
    --------
    >>> import polars as pl
    >>> typed_frame(pl.DataFrame({"size": [1, None], "colour": ["red", "?"]}), missing=frozenset("?"))
       size colour
    0     1    red
    1  <NA>    NaN
    """
    names, series_of = _parts(frame)
    _check_names(names, path)
    columns = {}
    for position, name in enumerate(names):
        try:
            series = series_of(position)
        except (OverflowError, ValueError, KeyError) as error:  # a date after the year 9999, an unheard-of time zone
            raise DataError(f"column {name!r} holds what cannot be read: {error}.", path=path) from error
        if len(series) == 0:
            raise DataError("the table has no rows.", path=path)
        if name in text_columns:
            columns[name] = text(*_strings(series, missing))
        elif name in nominal_columns:
            columns[name] = categorical(*_strings(series, missing))
        else:
            columns[name] = _typed(series, name, missing, path)
    return pd.DataFrame(columns)


def read_arrow_file(path: str | Path, format: str) -> Any:
    """Return the pyarrow table of a Parquet or Feather file, without the index of the pandas frame it came from."""
    open_binary(path).close()  # says what is wrong with a file that cannot be opened
    read = _reader(format)
    import pyarrow as pa

    try:
        table = read(path)
        table.validate(full=True)  # Arrow believes what a file says of places and lengths, until it is asked not to
        # The metadata are whatever the writer put there.
        metadata = table.schema.pandas_metadata or {}
        index = metadata.get("index_columns", []) if isinstance(metadata, dict) else []
        return table.drop_columns([name for name in table.column_names if name in index])
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise DataError(f"this is no {format.capitalize()} file that can be read: {error}", path=path) from error


def _reader(format: str) -> Callable[[str | Path], Any]:
    require_pyarrow(format)
    if format == "parquet":
        import pyarrow.parquet

        return lambda path: pyarrow.parquet.ParquetFile(path).read()
    import pyarrow.feather

    return pyarrow.feather.read_table


def _parts(frame: Any) -> tuple[list[str], Callable[[int], pd.Series]]:
    """Return the names of the columns, and a function from a position to the column."""
    if isinstance(frame, pd.DataFrame):
        # It may hold the same name twice, and names that are no strings: narwhals refuses both.
        return [str(name) for name in frame.columns], lambda position: frame.iloc[:, position]
    table = nw.from_native(frame)
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    return list(table.columns), lambda position: _pandas_series(table[:, position])


def _check_names(names: list[str], path: str | Path | None) -> None:
    if not names:
        raise DataError("the table has no columns.", path=path)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"the column {name!r} occurs more than once; rename one of them.", path=path)
        seen.add(name)


def _pandas_series(series: Any) -> pd.Series:
    """Return a narwhals series as one of pandas, without help from pyarrow, which polars would ask for."""
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        unknown = series.is_null().to_numpy()
        values = series.fill_null(0).to_numpy() if unknown.any() else series.to_numpy()
        return pd.Series(integers(values, unknown))
    if dtype.is_numeric():
        return pd.Series(series.cast(nw.Float64).to_numpy().astype(np.float64))
    if dtype == nw.Boolean:
        unknown = series.is_null().to_numpy()
        return pd.Series(booleans([bool(value) for value in series.to_list()], unknown))
    values = pd.Series(series.to_list(), dtype=object)
    if dtype == nw.Enum or (dtype == nw.Categorical and series.implementation.is_pyarrow()):
        # Polars lists, for a Categorical that is no Enum, values of other columns too.
        return values.astype(pd.CategoricalDtype(_categories(series)))
    return values


def _categories(series: Any) -> list[Any]:
    declared = series.cat.get_categories().to_list()
    return [category for category in declared if category is not None]


def _typed(series: pd.Series, name: str, missing: frozenset[str], path: str | Path | None) -> Any:
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return _typed(pd.Series(np.asarray(series)), name, missing, path)
    if isinstance(dtype, pd.CategoricalDtype):
        return _without_marks(series.array, missing)
    if pd.api.types.is_bool_dtype(dtype):
        unknown = series.isna().to_numpy(dtype=bool)
        return booleans(series.fillna(False).astype(bool), unknown)
    if pd.api.types.is_integer_dtype(dtype):
        return _whole_numbers(series)
    if pd.api.types.is_float_dtype(dtype):
        return _finite(series.to_numpy(dtype=np.float64, na_value=np.nan), name, path)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return pd.to_datetime(series).array  # also of Arrow's types, which pandas wraps
    if pd.api.types.is_string_dtype(series):
        return categorical(*_strings(series, missing))
    if pd.api.types.is_object_dtype(dtype):
        return _typed_objects(series, name, missing, path)
    raise DataError(_not_understood(name, str(dtype)), path=path)


def _typed_objects(series: pd.Series, name: str, missing: frozenset[str], path: str | Path | None) -> Any:
    found = pd.api.types.infer_dtype(series, skipna=True)
    unknown = series.isna().to_numpy(dtype=bool)
    if found == "empty":
        return np.full(len(series), np.nan)
    if found == "boolean":
        return booleans([value is not None and value == True for value in series], unknown)  # noqa: E712
    if found in ("floating", "mixed-integer-float", "decimal"):
        numbers = [np.nan if lost else float(value) for value, lost in zip(series, unknown, strict=True)]
        return _finite(np.array(numbers), name, path)
    if found == "integer" and all(-(2**63) <= value < 2**63 for value in series[~unknown]):
        values = [0 if lost else int(value) for value, lost in zip(series, unknown, strict=True)]
        return integers(np.array(values, dtype=np.int64), unknown)
    if found in ("datetime", "datetime64", "date"):
        return _moments(series, unknown)
    for value in series[~unknown]:
        if not isinstance(value, SCALARS):
            raise DataError(_not_understood(name, type(value).__name__), path=path)
    return categorical(*_strings(series, missing))


def _moments(series: pd.Series, unknown: np.ndarray) -> Any:
    """Return dates as datetime64 of microseconds, in UTC if they have time zones."""
    is_zoned = any(getattr(value, "tzinfo", None) is not None for value in series[~unknown])
    moments = np.full(len(series), np.datetime64("NaT"), dtype="datetime64[us]")
    for row in np.flatnonzero(~unknown):
        value = series.iloc[row]
        if getattr(value, "tzinfo", None) is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        moments[row] = np.datetime64(value, "us")
    return pd.Series(moments).dt.tz_localize("UTC").array if is_zoned else moments


def _finite(numbers: np.ndarray, name: str, path: str | Path | None) -> np.ndarray:
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise DataError(
            f"column {name!r} is infinite in row {infinite[0] + 1}. Leave the cell out if its value is not known, or "
            f"leave the column out with drop=[{name!r}].",
            path=path,
        )
    return numbers


def _not_understood(name: str, kind: str) -> str:
    return (
        f"column {name!r} is of type {kind}, which is neither a number nor a class nor text. Leave it out "
        f"with drop=[{name!r}], or make numbers or text of it."
    )


def _whole_numbers(series: pd.Series) -> Any:
    unknown = series.isna().to_numpy(dtype=bool)
    values = series.fillna(0).to_numpy() if unknown.any() else series.to_numpy()
    if values.dtype == np.uint64 and values.max() >= 2**63:
        return integers(values, unknown)
    return integers(values.astype(np.int64), unknown)


def _without_marks(values: pd.Categorical, missing: frozenset[str]) -> pd.Categorical:
    kept = [category for category in values.categories if not (isinstance(category, str) and category in missing)]
    # Not `remove_categories`, which sorts what is left.
    return values if len(kept) == len(values.categories) else values.set_categories(kept)


def _strings(series: pd.Series, missing: frozenset[str]) -> tuple[list[str], list[bool]]:
    """Return the cells as strings, and which of them are unknown."""
    unknown = series.isna().to_numpy(dtype=bool)
    cells = ["" if lost else _string(value) for value, lost in zip(series, unknown, strict=True)]
    return cells, [bool(lost) or cell in missing for cell, lost in zip(cells, unknown, strict=True)]


def _string(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if is_day else value.isoformat()
    return str(value)
