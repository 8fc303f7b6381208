"""Read label tables of any accepted kind into numpy columns, sort and look up their values, describe their types."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import scipy.sparse as sp

from montechain._savable import savable

__all__ = [
    "CODE",
    "LIBRARIES",
    "UNKNOWN",
    "ColumnType",
    "TargetTable",
    "as_columns",
    "equals",
    "factorise",
    "native_type",
    "same",
    "show_classes",
]

UNKNOWN = -1
"""Code of an unknown cell."""
CODE = np.int32
"""Type of codes."""
LIBRARIES = ("pandas", "polars", "pyarrow")
"""Modules of data frame libraries. No others are imported, whatever a model file says."""
SMALL_RANGE = 65536
"""Integers that span less than this are counted in a table instead of sorted."""
SHOWN = 12
"""Maximum number of classes listed in an error message."""


@dataclass(frozen=True, eq=False)
class TargetTable:
    """A label table as numpy columns of n values each, in their natural type, and which cells are `known`.

    The value of a cell that is not known means nothing. A table of one dimension has one column here. `names`,
    `library` and `dtypes` (the library's own) are those of a data frame or series. Error messages call it `name`.
    """

    columns: list[np.ndarray]
    known: np.ndarray
    name: str
    is_1d: bool = False
    names: list[Any] | None = None
    library: str | None = None
    dtypes: list[Any] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return self.known.shape

    @property
    def is_frame(self) -> bool:
        """Whether the input was a two-dimensional data frame."""
        return self.library is not None and not self.is_1d

    def describe(self, column: int) -> str:
        """Return how an error message refers to a column: by position, and by name if it has one."""
        return _describe(self.names, column, self.name)


def as_columns(Y: Any, *, unknown: Any = None, name: str = "Y") -> TargetTable:
    """Read a label table of any accepted kind into columns. Refuse what cannot be classes, such as fractions.

    Parameters
    ----------
    Y : list, ndarray, sparse matrix or array, data frame or series
        Of shape (n, L) or (n,). Cells that are NaN, None, NaT, NA or masked are unknown. In a sparse matrix, cells
        that are not stored have class 0.
    unknown : scalar, optional
        A further value that means "unknown", such as -1 or "?".
    name : str
        What error messages call the table.

    Examples
    --------
    >>> table = as_columns([[1, "red"], [None, "blue"]])
    >>> [column.dtype.kind for column in table.columns], table.known.tolist()
    (['i', 'O'], [[True, True], [False, True]])
    """
    if isinstance(Y, TargetTable):
        return Y
    if not isinstance(Y, np.ndarray):
        native = nw.to_native(Y, pass_through=True)
        if nw.dependencies.is_into_dataframe(native) or nw.dependencies.is_into_series(native):
            return _from_frame(native, unknown, name)
    array, masked = _as_array(Y, name)
    is_1d = array.ndim == 1
    if is_1d:
        array, masked = array[:, None], None if masked is None else masked[:, None]
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns: its shape is {array.shape}.")
    known = np.ones(array.shape, dtype=bool) if masked is None else ~masked
    columns = list(array.T)
    if array.dtype.kind not in "biu" or unknown is not None:
        columns = [_clean(c, known[:, j], unknown, name, _describe(None, j, name)) for j, c in enumerate(columns)]
    return TargetTable(columns, known, name, is_1d)


def _describe(names: list[Any] | None, column: int, table: str) -> str:
    own = None if names is None else names[column]
    return f"column {column} of {table}" if own is None else f"column {column} ({own!r}) of {table}"


def _from_frame(native: Any, unknown: Any, name: str) -> TargetTable:
    """Read a data frame or a series of any library that narwhals knows."""
    is_1d = nw.dependencies.is_into_series(native)
    if is_1d:
        series = [nw.from_native(native, series_only=True)]
    elif nw.dependencies.is_pandas_like_dataframe(native):
        # By position: pandas allows two columns of the same name.
        series = [nw.from_native(native.iloc[:, j], series_only=True) for j in range(native.shape[1])]
    else:
        series = list(nw.from_native(native, eager_only=True).iter_columns())
    names = list(native.columns) if nw.dependencies.is_pandas_like_dataframe(native) else [one.name for one in series]
    if not names:
        raise ValueError(f"{name} has no columns: its shape is {tuple(native.shape)}.")
    known = np.empty((len(series[0]), len(names)), dtype=bool)
    columns, dtypes = [], []
    for j, one in enumerate(series):
        known[:, j] = ~np.asarray(one.is_null().to_numpy(), dtype=bool)
        # Without its nulls a column keeps its type: integers do not turn into floats.
        present = np.asarray((one if known[:, j].all() else one.drop_nulls()).to_numpy())
        column = np.zeros(len(known), dtype=present.dtype)
        column[known[:, j]] = present
        columns.append(_clean(column, known[:, j], unknown, name, _describe(names, j, name)))
        own = one.to_native()
        dtypes.append(own.dtype if hasattr(own, "dtype") else own.type)
    return TargetTable(columns, known, name, is_1d, names, nw.get_native_namespace(native).__name__, dtypes)


def _as_array(Y: Any, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return Y as an array of one or two dimensions, and which cells are masked, if any."""
    if Y is None:
        raise ValueError(f"{name} is None. Expected array-like (array or non-string sequence), got None.")
    if hasattr(Y, "collect") and hasattr(Y, "collect_schema"):
        raise ValueError(f"{name} is a lazy frame: pass {name}.collect().")
    masked = None
    if sp.issparse(Y):
        array = Y.toarray()
    elif isinstance(Y, np.ma.MaskedArray):
        array, masked = Y.data, np.ma.getmaskarray(Y)
    elif isinstance(Y, list | tuple):
        try:
            array = np.array(Y, dtype=object)  # np.asarray(Y) would turn [1, "red"] into two strings
        except ValueError as error:
            raise ValueError(f"the rows of {name} have different lengths.") from error
    else:
        array = np.asarray(Y)  # np.matrix becomes an ordinary array; a dict, a set or a str a scalar
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has type {array.dtype}.")
    if array.dtype.kind == "V":
        raise ValueError(f"{name} is a structured array: pass one column per label instead.")
    if array.ndim not in (1, 2):
        got = type(Y).__name__ if array.ndim == 0 else f"{array.ndim} dimensions: {array.shape}"
        raise ValueError(f"{name} must be an array of shape (n_rows, n_labels) or (n_rows,), got {got}.")
    return array, masked


def _clean(column: np.ndarray, known: np.ndarray, unknown: Any, table: str, where: str) -> np.ndarray:
    """Return one column in its natural type. Update `known` in place, and refuse what cannot be a class."""
    if column.dtype.kind == "f":
        known &= ~np.isnan(column)
    elif column.dtype.kind in "Mm":
        known &= ~np.isnat(column)
    elif column.dtype.kind == "O":
        cells = column.tolist()
        if not set(map(type, cells)) <= {str, int, bool}:
            known &= np.fromiter((not _is_unknown(cell, where) for cell in cells), dtype=bool, count=len(cells))
        column = _natural(column, known)
    if unknown is not None:
        known[known] = ~equals(column[known], unknown)
    numbers = column[known]
    if column.dtype.kind == "O":
        numbers = np.array([v for v in numbers.tolist() if isinstance(v, float | np.floating)], dtype=float)
    if numbers.dtype.kind == "f":
        if np.isinf(numbers).any():
            raise ValueError(f"Input {table} contains infinity: {where} must hold classes, or NaN for unknown ones.")
        if (broken := numbers != np.floor(numbers)).any():
            raise ValueError(
                f"Unknown label type: continuous. {where} holds {numbers[np.argmax(broken)].item()!r}, which is not "
                'a class. Bin the column first, for example with KBinsDiscretizer(encode="ordinal"), or convert it '
                "to strings if each of its values is a class."
            )
    return column


def _natural(column: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return an object column as booleans, integers or floats if all its known cells are such."""
    types = set(map(type, column[known].tolist()))
    for dtype, allowed in (
        (np.bool_, (bool, np.bool_)),
        (np.int64, (bool, np.bool_, int, np.integer)),  # as in numpy, a number among booleans makes all of them numbers
        (np.float64, (int, np.integer, float, np.floating)),
    ):
        if types and all(issubclass(kind, allowed) for kind in types):
            natural = np.zeros(len(column), dtype=dtype)
            try:
                natural[known] = column[known].astype(dtype)
            except OverflowError:  # integers beyond 64 bits stay objects
                break
            return natural
    return column


def _is_unknown(cell: Any, where: str) -> bool:
    if cell is None:
        return True
    if isinstance(cell, str):
        return False
    if isinstance(cell, list | set | frozenset | dict | np.ndarray | tuple):
        hint = "for sets of labels use sklearn.preprocessing.MultiLabelBinarizer first"
        hint = "a cell must hold one class" if isinstance(cell, dict | np.ndarray) else hint
        raise ValueError(f"{where} holds a {type(cell).__name__}, or rows differ in length: {hint}.")
    try:
        return bool(cell != cell)  # NaN and NaT differ from themselves
    except TypeError:  # pandas' NA raises
        return True


def factorise(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values, and the position of each value among them.

    Values that cannot be compared are sorted by the name of their type, then by their text.

    >>> classes, codes = factorise(np.array(["b", 3, "a", 10], dtype=object))
    >>> classes.tolist(), codes.tolist()
    ([10, 3, 'a', 'b'], [3, 1, 2, 0])
    """
    if values.dtype == object:
        cells = values.tolist()
        distinct = list(dict.fromkeys(cells))
        try:
            distinct.sort()
        except TypeError:
            distinct.sort(key=lambda value: (type(value).__name__, str(value)))
        classes = natural_array(distinct)
        place = {value: code for code, value in enumerate(classes.tolist())}
        return classes, np.fromiter(map(place.__getitem__, cells), dtype=CODE, count=len(cells))
    if values.dtype.kind in "biuf" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < SMALL_RANGE and abs(low) < 2**53 and abs(high) < 2**53:
            shifted = values.astype(np.int64) - low
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            code_of = (np.cumsum(present) - 1).astype(CODE)
            return (np.flatnonzero(present) + low).astype(values.dtype), code_of[shifted]
    classes, inverse = np.unique(values, return_inverse=True)
    return classes, inverse.astype(CODE).ravel()


def look_up(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each value among `classes`, -1 where it is not among them."""
    if len(values) == 0:
        return np.empty(0, dtype=CODE)
    numbers = values.dtype.kind in "biuf" and classes.dtype.kind in "biuf"
    if numbers or (values.dtype.kind == classes.dtype.kind and values.dtype.kind in "USMm"):
        order = np.argsort(classes)
        place = np.minimum(np.searchsorted(classes[order], values), len(classes) - 1)
        return np.where(classes[order][place] == values, order[place], UNKNOWN).astype(CODE)
    codes = {value: code for code, value in enumerate(classes.tolist())}
    return np.fromiter((codes.get(value, UNKNOWN) for value in values.tolist()), dtype=CODE, count=len(values))


def equals(values: np.ndarray, value: Any) -> np.ndarray:
    """Return where `values`, none of which is NaN, equal `value`. A number never equals a string."""
    classes, codes = factorise(values) if values.dtype == object else np.unique(values, return_inverse=True)
    return np.array([same(own, value) for own in classes], dtype=bool)[codes]


def same(cell: Any, value: Any) -> bool:
    """Return whether two scalars are equal. A number never equals a string."""
    if isinstance(cell, str) != isinstance(value, str):
        return False
    try:
        return bool(cell == value)
    except (TypeError, ValueError):
        return False


def natural_array(distinct: list[Any]) -> np.ndarray:
    """Return strings as a numpy string array, other values as objects."""
    # numpy's fixed-width strings drop zero characters at their end.
    if all(isinstance(value, str) and not value.endswith("\0") for value in distinct):
        return np.array(distinct, dtype=str)
    return as_objects(distinct)


def as_objects(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return plain Python values in an object array."""
    cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
    result = np.empty(len(cells), dtype=object)
    for i, value in enumerate(cells):
        result[i] = value
    return result


def plain(value: Any) -> Any:
    """Return a numpy scalar as a Python one, anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def show_classes(classes: np.ndarray) -> str:
    """Return the classes as the text of a list, shortened if there are many."""
    texts = [repr(value) for value in np.asarray(classes).tolist()]
    if len(texts) > SHOWN:
        texts = [*texts[:SHOWN], f"... ({len(texts)} in all)"]
    return "[" + ", ".join(texts) + "]"


@savable
@dataclass(frozen=True)
class ColumnType:
    """A data frame column's type in words, so that it can be saved.

    `name` is the library's, such as ``"Int64"``. "category" and "Enum" have declared categories in their order, which
    have a type themselves (`of`).
    """

    name: str
    categories: np.ndarray | None = None
    of: str = ""
    ordered: bool = False

    @classmethod
    def of_native(cls, library: str, dtype: Any) -> Any:
        """Return a library's type in words; the type itself where words would not give it back.

        >>> import pandas as pd
        >>> dtype = pd.CategoricalDtype(["low", "high"], ordered=True)
        >>> described = ColumnType.of_native("pandas", dtype)
        >>> described.name, described.categories.tolist(), native_type("pandas", described) == dtype
        ('category', ['low', 'high'], True)
        """
        if library == "polars":
            name = dtype.base_type().__name__
            words = cls(name, natural_array(dtype.categories.to_list()) if name == "Enum" else None)
        elif hasattr(dtype, "categories"):
            index = dtype.categories
            values = natural_array(index.tolist()) if index.dtype.kind == "O" else index.to_numpy()
            words = cls("category", values, _type_name(index.dtype), bool(dtype.ordered))
        else:
            words = cls(_type_name(dtype))
        try:
            return words if native_type(library, words) == dtype else dtype
        except (TypeError, ValueError, AttributeError, ImportError):
            return dtype


def native_type(library: str, dtype: Any) -> Any:
    """Return the library's own type for a `ColumnType`; anything else unchanged."""
    if not isinstance(dtype, ColumnType):
        return dtype
    module = import_library(library)
    if library == "polars":
        kind = getattr(module, dtype.name, None)
        if not (isinstance(kind, type) and issubclass(kind, module.DataType)):
            raise ValueError(f"{dtype.name!r} is not a type of polars.")
        return kind() if dtype.categories is None else kind(dtype.categories.tolist())
    if library == "pyarrow":
        return module.type_for_alias(dtype.name)
    if dtype.categories is not None:
        index = module.Index(dtype.categories, dtype=native_type(library, ColumnType(dtype.of)))
        return module.CategoricalDtype(index, ordered=dtype.ordered)
    kind, _, detail = dtype.name.partition(":")
    if detail and kind in ("str", "string"):
        return module.StringDtype(detail, na_value=module.NA if kind == "string" else np.nan)
    if detail and kind == "arrow":
        return module.ArrowDtype(importlib.import_module("pyarrow").type_for_alias(detail))
    return module.api.types.pandas_dtype(dtype.name)


def _type_name(dtype: Any) -> str:
    """Return a name that gives the type back: pandas calls several types of strings and of Arrow alike."""
    if hasattr(dtype, "pyarrow_dtype"):
        return f"arrow:{dtype.pyarrow_dtype}"
    return f"{dtype}:{dtype.storage}" if hasattr(dtype, "storage") else str(dtype)


def import_library(name: str) -> Any:
    if name not in LIBRARIES:
        raise ValueError(f"{name!r} is not a supported data frame library. Supported are {', '.join(LIBRARIES)}.")
    return importlib.import_module(name)
