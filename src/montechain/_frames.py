"""Data frames of any library: tell them from arrays, read their columns, build new ones, put their types in words."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

LIBRARIES = ("pandas", "polars")
"""Data frame libraries of predictions; no other may be imported, whatever a model file says."""


def import_library(name: str) -> Any:
    """Return the module of a data frame library."""
    if name not in LIBRARIES:
        raise ValueError(f"{name!r} is not a supported data frame library. Supported are {', '.join(LIBRARIES)}.")
    return importlib.import_module(name)


def is_frame(X: Any) -> bool:
    """Return whether `X` is a data frame that narwhals knows (pandas, polars, pyarrow, ...), and not a lazy one."""
    # Arrays come first: they are the common case, and narwhals takes longer.
    return not isinstance(X, np.ndarray) and nw.dependencies.is_into_dataframe(X)


def column_names(frame: Any) -> list[Any]:
    """Return the names of the columns of a data frame; in pandas they may be repeated, and need not be strings."""
    return list(frame.columns) if hasattr(frame, "iloc") else nw.from_native(frame, eager_only=True).columns


def read(native: Any) -> dict[str, Any] | None:
    """Return the columns of a data frame or series as numpy arrays, with everything needed to rebuild it.

    Return None for anything else. Cells that are not `known` have no meaningful value; integers stay integers even if
    some cells are unknown.

    >>> import polars as pl
    >>> found = read(pl.DataFrame({"a": [1, None]}))
    >>> found["columns"], found["known"].tolist(), found["library"], found["dtypes"]
    ([array([1, 0])], [[True], [False]], 'polars', [Int64])
    """
    if is_1d := nw.dependencies.is_into_series(native):
        series = [nw.from_native(native, series_only=True)]
        names = [series[0].name]
    elif is_frame(native):
        names = column_names(native)
        # By position: pandas allows two columns of the same name.
        cells = [native.iloc[:, j] if hasattr(native, "iloc") else native[name] for j, name in enumerate(names)]
        series = [nw.from_native(one, series_only=True) for one in cells]
    else:
        return None
    known = np.empty((len(native), len(series)), dtype=bool)
    columns, dtypes = [], []
    for j, one in enumerate(series):
        known[:, j] = ~np.asarray(one.is_null().to_numpy(), dtype=bool)
        present = np.asarray(one.drop_nulls().to_numpy())
        column = np.zeros(len(known), dtype=present.dtype)
        column[known[:, j]] = present
        columns.append(column)
        own = one.to_native()
        dtypes.append(own.dtype if hasattr(own, "dtype") else own.type)
    library = nw.get_native_namespace(native).__name__
    return {"columns": columns, "known": known, "is_1d": is_1d, "names": names, "library": library, "dtypes": dtypes}


def as_array(Y: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return Y as an array of one or two dimensions, and which cells are masked."""
    if Y is None:
        raise ValueError(f"{name} is None. Expected array-like (array or non-string sequence), got None.")
    if hasattr(Y, "collect_schema"):
        raise ValueError(f"{name} is a lazy frame: pass {name}.collect().")
    if sp.issparse(Y):
        array = Y.toarray()
    elif isinstance(Y, list | tuple):
        array = np.array(Y, dtype=object)  # np.asarray(Y) would turn [1, "red"] into two strings
    else:
        array = np.asarray(Y)  # np.matrix becomes an ordinary array; a dict, a set or a str a scalar
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has type {array.dtype}.")
    if array.ndim not in (1, 2):
        got = type(Y).__name__ if array.ndim == 0 else f"{array.ndim} dimensions: {array.shape}"
        raise ValueError(f"{name} must be an array of shape (n_rows, n_labels) or (n_rows,), got {got}.")
    return array, np.ma.getmaskarray(Y) if isinstance(Y, np.ma.MaskedArray) else np.zeros(array.shape, dtype=bool)


def as_pandas(frame: Any, names: list[Any]) -> list[pd.Series]:
    """Return columns of a data frame of any library as pandas series; enumerations declare categories."""
    if hasattr(frame, "iloc"):
        return [frame[name] for name in names]
    chosen = nw.from_native(frame, eager_only=True).select(names)
    for name, dtype in chosen.schema.items():
        if dtype.is_nested():
            raise TypeError(f"column {name!r} is of type {dtype}: encode it, or leave it out (drop=[{name!r}])")
    found = read(chosen.to_native()) or {}
    series = []
    for column, known, dtype in zip(found["columns"], found["known"].T, found["dtypes"], strict=True):
        # With NaN, pandas would make floats of whole numbers, and not all of them are floats.
        is_whole = column.dtype.kind in "iu" and not known.all()
        one = pd.Series(pd.arrays.IntegerArray(column, ~known)) if is_whole else pd.Series(column).where(known)
        is_enumeration = str(dtype).startswith("Enum(")
        series.append(one.astype(pd.CategoricalDtype(list(dtype.categories))) if is_enumeration else one)
    return series


def make_frame(
    library: str,
    names: Sequence[Any],
    values: Sequence[np.ndarray],
    dtypes: Sequence[Any],
    rows: np.ndarray,
    index: Any = None,
) -> Any:
    """Return a data frame. Its column j takes `values` j, converted to the library's type, at the places ``rows[j]``.

    >>> make_frame("pandas", ["size"], [np.array(["s", "l"])], [None], np.array([[1, 0, 1]]))
      size
    0    l
    1    s
    2    l
    """
    module = import_library(library)
    columns = []
    for own, dtype, places in zip(values, dtypes, rows, strict=True):
        if library == "polars":
            columns.append(module.Series(own.tolist(), dtype=dtype).gather(places))
        else:
            series = module.Series(own.tolist() if own.dtype == object else own)
            column = (series if dtype is None else series.astype(dtype)).take(places)
            columns.append(column.set_axis(range(len(places)) if index is None else index))
    if library == "polars":
        return module.DataFrame([column.alias(str(name)) for column, name in zip(columns, names, strict=True)])
    frame = module.DataFrame(dict(enumerate(columns)))
    frame.columns = names
    return frame


def in_words(library: str, dtype: Any) -> tuple[Any, ...] | None:
    """Return a column's type as a tuple of plain values, which can be saved; None if the library has no name for it.

    >>> import pandas as pd
    >>> in_words("pandas", pd.CategoricalDtype([3, 2], ordered=True))
    ('category', array([3, 2]), 'int64', True)
    """
    if library == "polars":
        name = dtype.base_type().__name__
        words: tuple[Any, ...] = (name, tuple(dtype.categories)) if name == "Enum" else (name,)
    elif hasattr(dtype, "categories"):
        index = dtype.categories
        values = tuple(index) if index.dtype.kind == "O" else index.to_numpy()
        words = ("category", values, str(index.dtype), dtype.ordered)
    else:
        words = (str(dtype),)
    try:
        from_words(library, words)
    except (TypeError, ValueError, ImportError, NotImplementedError):
        return None
    return words


def from_words(library: str, words: tuple[Any, ...]) -> Any:
    """Return the type that `in_words` has described."""
    module = import_library(library)
    name, *details = words
    if library == "polars":
        kind = getattr(module, name, None)
        if not (isinstance(kind, type) and issubclass(kind, module.DataType)):
            raise ValueError(f"{name!r} is not a type of polars.")
        return kind(*map(list, details))
    if details:
        values, of, ordered = details
        return module.CategoricalDtype(module.Index(values, dtype=of), ordered=ordered)
    return module.api.types.pandas_dtype(name)
