"""Reading a target of any accepted kind into columns with a mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import scipy.sparse as sp

from montechain._savable import require, savable
from montechain._targets.types import LIBRARIES, describe_type
from montechain._targets.values import equals

__all__ = ["TargetFormat", "TargetTable", "as_columns"]


@savable
@dataclass(frozen=True)
class TargetFormat:
    """The outer shape of a target: all that is needed to return predictions in it. Can be pickled.

    Attributes
    ----------
    names : list or None
        Names of the columns, if the target was a frame or a series.
    namespace : str or None
        Name of the data frame library's module, such as ``"pandas"``; None for arrays and lists.
    dtypes : list of ColumnType or None
        The type of each column in words; the library's own type where words do not give it back.
    is_1d : bool
        Whether the target had one dimension: then it has one column here.
    name : str
        What error messages call it.
    """

    names: list[Any] | None
    namespace: str | None
    dtypes: list[Any] | None
    is_1d: bool
    name: str

    @property
    def is_frame(self) -> bool:
        """Whether the target was a two-dimensional data frame."""
        return self.namespace is not None and not self.is_1d

    def _check_loaded(self) -> None:
        for name in ("names", "dtypes"):
            require(isinstance(getattr(self, name), list | None), f"the {name} of the targets are not a list")
        known = self.namespace is None or self.namespace in LIBRARIES
        require(known, f"{self.namespace!r} is not a library of data frames")

    def describe(self, column: int) -> str:
        """Return how an error names a column: by index, and by name if it has one."""
        if self.names is not None and self.names[column] is not None:
            return f"column {column} ({self.names[column]!r}) of {self.name}"
        return f"column {column} of {self.name}"


@dataclass(frozen=True)
class TargetTable(TargetFormat):
    """A target as columns.

    Attributes
    ----------
    columns : list of L ndarrays of shape (n,)
        Values in their natural type; what stands in an unknown cell means nothing.
    known : bool ndarray of shape (n, L)
    """

    columns: list[np.ndarray]
    known: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.known.shape[0], self.known.shape[1]

    @property
    def format(self) -> TargetFormat:
        """The format alone, without the values."""
        return TargetFormat(self.names, self.namespace, self.dtypes, self.is_1d, self.name)


def as_columns(Y: Any, *, unknown: Any = None, name: str = "Y") -> TargetTable:
    """Read a target of any accepted kind into columns.

    Parameters
    ----------
    Y : list, ndarray, sparse matrix or array, data frame or series
        Of shape (n, L) or (n,). Cells that are NaN, None, NaT, NA or masked are unknown. In a sparse
        matrix, what is not stored is the class 0.
    unknown : scalar, optional
        A further value that means "unknown", such as -1 or "?".
    name : str
        What error messages call the target.

    Returns
    -------
    TargetTable

    Raises
    ------
    ValueError
        If a column is continuous, complex or infinite, holds containers, or the shape is not (n, L) or (n,).

    Examples
    --------
    >>> table = as_columns([[1, "red"], [None, "blue"]])
    >>> [column.dtype.kind for column in table.columns], table.known.tolist()
    (['i', 'O'], [[True, True], [False, True]])
    """
    if Y is None:
        raise ValueError(f"{name} is None. Expected array-like (array or non-string sequence), got None.")
    if isinstance(Y, TargetTable):
        return Y
    native = nw.to_native(Y, pass_through=True)
    if nw.dependencies.is_into_dataframe(native) and not isinstance(native, np.ndarray):
        return _frame_table(native, unknown, name)
    if nw.dependencies.is_into_series(native) and not isinstance(native, np.ndarray):
        return _table(
            [native], TargetFormat([nw.from_native(native, series_only=True).name], *_native(native), name), unknown
        )
    if hasattr(native, "collect") and hasattr(native, "collect_schema"):
        raise ValueError(f"{name} is a lazy frame: pass {name}.collect().")

    array, masked = _as_array(native, name)
    is_1d = array.ndim == 1
    if is_1d:
        array = array[:, None]
        masked = None if masked is None else masked[:, None]
    if array.shape[1] == 0:
        raise ValueError(f"{name} has no columns: its shape is {array.shape}.")
    layout = TargetFormat(None, None, None, is_1d, name)
    return _table([array[:, j] for j in range(array.shape[1])], layout, unknown, masked, whole=array)


def _native(native: Any) -> tuple[str, list[Any], bool]:
    """Return namespace, types and dimension of a series, as `TargetFormat` takes them."""
    namespace = nw.get_native_namespace(nw.from_native(native, series_only=True)).__name__
    return namespace, [_type_of(namespace, native)], True


def _type_of(namespace: str, column: Any) -> Any:
    return describe_type(namespace, getattr(column, "dtype", getattr(column, "type", None)))


def _frame_table(native: Any, unknown: Any, name: str) -> TargetTable:
    namespace = nw.get_native_namespace(native).__name__
    if nw.dependencies.is_pandas_like_dataframe(native):
        # By position: pandas allows two columns of the same name.
        names = list(native.columns)
        columns = [native.iloc[:, j] for j in range(native.shape[1])]
    else:
        frame = nw.from_native(native, eager_only=True)
        names = frame.columns
        columns = [frame[column].to_native() for column in names]
    if not columns:
        raise ValueError(f"{name} has no columns: its shape is {tuple(native.shape)}.")
    dtypes = [_type_of(namespace, column) for column in columns]
    return _table(columns, TargetFormat(names, namespace, dtypes, False, name), unknown)


def _as_array(Y: Any, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Return Y as an array of one or two dimensions, and which cells are masked, if any."""
    masked = None
    if sp.issparse(Y):
        array = Y.toarray()
    elif isinstance(Y, np.ma.MaskedArray):
        array, masked = Y.data, np.ma.getmaskarray(Y)
    elif isinstance(Y, np.ndarray):
        array = np.asarray(Y)  # np.matrix becomes an ordinary array
    elif isinstance(Y, list | tuple):
        # Not np.asarray(Y): it would turn [1, "red"] into two texts.
        try:
            array = np.array(Y, dtype=object)
        except ValueError as error:
            raise ValueError(f"the rows of {name} have different lengths.") from error
    else:
        array = np.asarray(Y)  # a dictionary, a set or a text becomes a scalar
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has type {array.dtype}.")
    if array.dtype.kind == "V":
        raise ValueError(f"{name} is a structured array: pass one column per label instead.")
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array of shape (n_rows, n_labels) or (n_rows,), got {type(Y).__name__}.")
    if array.ndim not in (1, 2):
        raise ValueError(
            f"{name} must be of shape (n_rows, n_labels) or (n_rows,), "
            f"but it has {array.ndim} dimensions: {array.shape}."
        )
    return array, masked


def _table(
    columns: list[Any],
    layout: TargetFormat,
    unknown: Any,
    masked: np.ndarray | None = None,
    whole: np.ndarray | None = None,
) -> TargetTable:
    n_rows = len(columns[0])
    fields = (layout.names, layout.namespace, layout.dtypes, layout.is_1d, layout.name)
    if whole is not None and whole.dtype.kind in "biu" and unknown is None:
        known = np.ones((n_rows, len(columns)), dtype=bool) if masked is None else ~masked
        return TargetTable(*fields, columns, known)
    known = np.empty((n_rows, len(columns)), dtype=bool)
    values = []
    for j, column in enumerate(columns):
        if isinstance(column, np.ndarray):
            column_known = np.ones(n_rows, dtype=bool) if masked is None else ~masked[:, j]
        else:
            series = nw.from_native(column, series_only=True)
            column_known = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
            # Without its nulls the column keeps its type: whole numbers do not turn into floats.
            present = np.asarray((series if column_known.all() else series.drop_nulls()).to_numpy())
            column = np.zeros(n_rows, dtype=present.dtype)
            column[column_known] = present
        column, column_known = _clean(column, column_known, layout.describe(j))
        if unknown is not None:
            column_known = column_known & ~equals(column, unknown)
        _refuse_continuous(column, column_known, layout, j)
        values.append(column)
        known[:, j] = column_known
    return TargetTable(*fields, values, known)


def _clean(column: np.ndarray, known: np.ndarray, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Find the unknown cells of one column and give an object column its natural type."""
    if column.dtype.kind == "f":
        return column, known & ~np.isnan(column)
    if column.dtype.kind in "Mm":
        return column, known & ~np.isnat(column)
    if column.dtype.kind != "O":
        return column, known
    cells = column.tolist()
    types = set(map(type, cells))
    if not types <= {str, int, bool}:
        known = known & ~np.fromiter((_is_unknown(cell, where) for cell in cells), dtype=bool, count=len(cells))
        types = {type(cell) for cell, is_known in zip(cells, known, strict=True) if is_known}
    for family, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        # A number among booleans makes the column one of numbers, as in numpy.
        allowed = (
            {
                bool: (bool, np.bool_),
                int: (bool, np.bool_, int, np.integer),
                float: (int, np.integer, float, np.floating),
            }
        )[family]
        if types and all(issubclass(kind, allowed) for kind in types):
            natural = np.zeros(len(cells), dtype=dtype)
            try:
                natural[known] = column[known].astype(dtype)
            except OverflowError:  # whole numbers beyond 64 bits stay objects
                break
            return natural, known
    return column, known


def _is_unknown(cell: Any, where: str) -> bool:
    if cell is None:
        return True
    if isinstance(cell, str):
        return False
    if isinstance(cell, list | set | frozenset | dict | np.ndarray | tuple):
        hint = (
            "for sets of labels use sklearn.preprocessing.MultiLabelBinarizer first"
            if isinstance(cell, set | frozenset | list | tuple)
            else "a cell must be one class"
        )
        raise ValueError(f"{where} holds a {type(cell).__name__}, or rows differ in length: {hint}.")
    try:
        return bool(cell != cell)  # NaN, NaT and their kin differ from themselves
    except TypeError:  # pandas' NA refuses to say
        return True


def _refuse_continuous(column: np.ndarray, known: np.ndarray, layout: TargetFormat, j: int) -> None:
    if column.dtype.kind == "f":
        values = column[known]
        broken = values != np.floor(values)
        infinite = np.isinf(values)
    elif column.dtype.kind == "O":
        cells = column[known].tolist()
        if set(map(type, cells)) <= {str}:
            return
        values = np.array([v for v in cells if isinstance(v, float | np.floating)], dtype=float)
        broken = values != np.floor(values)
        infinite = np.isinf(values)
    else:
        return
    where = layout.describe(j)
    if infinite.any():
        raise ValueError(f"Input {layout.name} contains infinity: {where} must hold classes, or NaN for unknown ones.")
    if broken.any():
        example = values[np.argmax(broken)].item()
        raise ValueError(
            f"Unknown label type: continuous. {where} holds {example!r}, which is no class. Bin such a column "
            'first, for example by KBinsDiscretizer(encode="ordinal"), or, if each of its values is a class, '
            "turn it into strings."
        )
