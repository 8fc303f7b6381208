"""The types of a data frame's columns in words, so that they outlive the process and the library's own objects."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from montechain._savable import savable
from montechain._targets.values import natural_array

__all__ = ["LIBRARIES", "ColumnType", "describe_type", "library", "native_type"]

LIBRARIES = ("pandas", "polars", "pyarrow", "modin.pandas", "cudf")
"""Modules of data frame libraries: no other name, wherever it comes from, is ever imported."""
PLAIN = (str, int, float, bool)


@savable
@dataclass(frozen=True)
class ColumnType:
    """A column's type in words.

    Parameters
    ----------
    name : str
        What the library calls it, such as ``"Int64"``; ``"category"`` and ``"Enum"`` have categories.
    categories : ndarray, optional
        Declared categories in their order.
    of : ColumnType, optional
        The type of the categories themselves.
    ordered : bool, default=False
    """

    name: str
    categories: np.ndarray | None = None
    of: ColumnType | None = None
    ordered: bool = False


def library(namespace: str) -> Any:
    """Return the module of a data frame library.

    >>> library("pandas").__name__
    'pandas'
    >>> library("os")
    Traceback (most recent call last):
        ...
    ValueError: 'os' is no data frame library: these are pandas, polars, pyarrow, modin.pandas, cudf.
    """
    if namespace not in LIBRARIES:
        raise ValueError(f"{namespace!r} is no data frame library: these are {', '.join(LIBRARIES)}.")
    return importlib.import_module(namespace)


def describe_type(namespace: str, dtype: Any) -> Any:
    """Return a column's type in words; where words do not give the same type back, the type itself.

    Parameters
    ----------
    namespace : str
        Module of the library that the column is from.
    dtype : native type
        None stays None.

    Examples
    --------
    >>> import pandas as pd
    >>> described = describe_type("pandas", pd.CategoricalDtype(["low", "high"], ordered=True))
    >>> described.name, described.categories.tolist(), described.of.name
    ('category', ['low', 'high'], 'str')
    >>> native_type("pandas", described) == pd.CategoricalDtype(["low", "high"], ordered=True)
    True
    """
    if namespace not in LIBRARIES or dtype is None:
        return dtype
    for candidate in _candidates(namespace, dtype):
        try:
            if _is_same(native_type(namespace, candidate), dtype):
                return candidate
        except (TypeError, ValueError, AttributeError, ImportError):
            continue
    return dtype


def native_type(namespace: str, dtype: Any) -> Any:
    """Return the library's own type for one that `describe_type` has described; others are returned as they are."""
    if not isinstance(dtype, ColumnType):
        return dtype
    module = library(namespace)
    if namespace == "polars":
        return _polars_type(module, dtype)
    if namespace == "pyarrow":
        return module.type_for_alias(dtype.name)
    return _pandas_type(dtype)


def _candidates(namespace: str, dtype: Any) -> list[ColumnType]:
    """Return descriptions that may fit, the plainest first."""
    if namespace == "polars":
        name = dtype.base_type().__name__
        return [ColumnType(name, natural_array(dtype.categories.to_list()) if name == "Enum" else None)]
    if namespace == "pyarrow":
        return [ColumnType(str(dtype))]
    if hasattr(dtype, "categories"):
        values = dtype.categories.tolist()
        if not all(type(value) in PLAIN for value in values):
            return []
        of = describe_type(namespace, dtype.categories.dtype)
        # Texts and mixtures; numbers keep the width they have.
        array = natural_array(values) if dtype.categories.dtype.kind == "O" else dtype.categories.to_numpy()
        return [ColumnType("category", array, of, bool(dtype.ordered))]
    words = [str(dtype)]
    if hasattr(dtype, "storage"):
        words.append(f"{dtype}:{dtype.storage}")
    if hasattr(dtype, "pyarrow_dtype"):
        words.append(f"arrow:{dtype.pyarrow_dtype}")
    return [ColumnType(word) for word in words]


def _pandas_type(dtype: ColumnType) -> Any:
    import pandas as pd

    if dtype.categories is not None:
        values = pd.Index(dtype.categories, dtype=native_type("pandas", dtype.of))
        return pd.CategoricalDtype(values, ordered=dtype.ordered)
    kind, _, detail = dtype.name.partition(":")
    if detail and kind in ("str", "string"):
        return pd.StringDtype(detail, na_value=pd.NA if kind == "string" else np.nan)
    if detail and kind == "arrow":
        return pd.ArrowDtype(library("pyarrow").type_for_alias(detail))
    return pd.api.types.pandas_dtype(dtype.name)


def _polars_type(module: Any, dtype: ColumnType) -> Any:
    kind = getattr(module, dtype.name, None)
    if not (isinstance(kind, type) and issubclass(kind, module.DataType)):
        raise ValueError(f"{dtype.name!r} is no type of polars.")
    return kind() if dtype.categories is None else kind(dtype.categories.tolist())


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two types are equal, those of their categories included."""
    if type(one) is not type(other) or one != other:
        return False
    of_one, of_other = (getattr(getattr(t, "categories", None), "dtype", None) for t in (one, other))
    return bool(of_one == of_other)
