"""Data frames of classes, and the types of their columns in words."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from montechain._savable import savable
from montechain.targets.columns import natural_array

__all__ = ["LIBRARIES", "ColumnType", "check_library", "describe_type", "make_frame", "native_type"]

LIBRARIES = ("pandas", "polars", "pyarrow", "modin.pandas", "cudf")
"""Modules of data frame libraries. No others are imported, whatever a model file says."""


@savable
@dataclass(frozen=True)
class ColumnType:
    """A data frame column's type in words, so that it can be saved.

    Parameters
    ----------
    name : str
        The library's name of the type, such as ``"Int64"``; "category" and "Enum" have categories.
    categories : ndarray, optional
        Declared categories in their order.
    of : str, optional
        Type of the categories themselves.
    ordered : bool, default=False
    """

    name: str
    categories: np.ndarray | None = None
    of: str = ""
    ordered: bool = False


def check_library(name: str) -> None:
    """Refuse modules that are not data frame libraries."""
    if name not in LIBRARIES:
        raise ValueError(f"{name!r} is not a supported data frame library. Supported are {', '.join(LIBRARIES)}.")


def describe_type(library: str, dtype: Any) -> Any:
    """Return a column's type as `ColumnType`; the type itself where words would not give it back.

    >>> import pandas as pd
    >>> dtype = pd.CategoricalDtype(["low", "high"], ordered=True)
    >>> described = describe_type("pandas", dtype)
    >>> described.name, described.categories.tolist(), native_type("pandas", described) == dtype
    ('category', ['low', 'high'], True)
    """
    if library == "polars":
        name = dtype.base_type().__name__
        words = ColumnType(name, natural_array(dtype.categories.to_list()) if name == "Enum" else None)
    elif hasattr(dtype, "categories"):
        index = dtype.categories
        values = natural_array(index.tolist()) if index.dtype.kind == "O" else index.to_numpy()
        words = ColumnType("category", values, _name(index.dtype), bool(dtype.ordered))
    else:
        words = ColumnType(_name(dtype))
    try:
        return words if native_type(library, words) == dtype else dtype
    except (TypeError, ValueError, AttributeError, ImportError):
        return dtype


def _name(dtype: Any) -> str:
    """Return a name that gives the type back: pandas calls several types of strings and of Arrow alike."""
    if hasattr(dtype, "pyarrow_dtype"):
        return f"arrow:{dtype.pyarrow_dtype}"
    return f"{dtype}:{dtype.storage}" if hasattr(dtype, "storage") else str(dtype)


def native_type(library: str, dtype: Any) -> Any:
    """Return the library's own type for a `ColumnType`; anything else unchanged."""
    if not isinstance(dtype, ColumnType):
        return dtype
    check_library(library)
    module = importlib.import_module(library)
    if library == "polars":
        kind = getattr(module, dtype.name, None)
        if not (isinstance(kind, type) and issubclass(kind, module.DataType)):
            raise ValueError(f"{dtype.name!r} is not a type of polars.")
        return kind() if dtype.categories is None else kind(dtype.categories.tolist())
    if library == "pyarrow":
        return module.type_for_alias(dtype.name)
    import pandas as pd

    if dtype.categories is not None:
        return pd.CategoricalDtype(pd.Index(dtype.categories, dtype=_pandas_type(dtype.of)), ordered=dtype.ordered)
    return _pandas_type(dtype.name)


def _pandas_type(name: str) -> Any:
    import pandas as pd

    kind, _, detail = name.partition(":")
    if detail and kind in ("str", "string"):
        return pd.StringDtype(detail, na_value=pd.NA if kind == "string" else np.nan)
    if detail and kind == "arrow":
        return pd.ArrowDtype(importlib.import_module("pyarrow").type_for_alias(detail))
    return pd.api.types.pandas_dtype(name)


def make_frame(
    library: str, dtypes: list[Any], classes: list[np.ndarray], codes: np.ndarray, names: list[Any], index: Any
) -> Any:
    """Return a data frame of classes. Only the classes are converted to a column's type; rows are picked from them."""
    check_library(library)
    module = importlib.import_module(library)
    columns = list(zip(classes, dtypes, np.asarray(codes, dtype=np.int64).T, strict=True))
    if library == "polars":
        series = [module.Series(own.tolist(), dtype=dtype).gather(rows) for own, dtype, rows in columns]
        return module.DataFrame([one.alias(str(name)) for one, name in zip(series, names, strict=True)])
    if library == "pyarrow":
        types = [d.value_type if d is not None and module.types.is_dictionary(d) else d for d in dtypes]
        arrays = [module.array(own.tolist(), type=t) for t, own in zip(types, classes, strict=True)]
        taken = [one.take(module.array(rows)) for one, (_, _, rows) in zip(arrays, columns, strict=True)]
        return module.table(taken, names=names)
    frame = {}
    for j, (own, dtype, rows) in enumerate(columns):
        column = module.Series(own.tolist() if own.dtype == object else own)
        column = (column if dtype is None else column.astype(dtype)).take(rows)
        column.index = range(len(rows)) if index is None else index
        frame[j] = column
    result = module.DataFrame(frame)
    result.columns = names
    return result
