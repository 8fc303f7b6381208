"""Targets in the user's own shape and classes, and back: one table of columns, codes, arrays and frames.

This module knows nothing of chains. A target may be a list of lists, an array of any type, a sparse
matrix, or a data frame of any library that narwhals reads; it may have unknown cells. Here it
becomes columns with a mask (`as_columns`), then codes 0..K-1 (`encode`), and codes become the
user's classes again (`decode`, `decode_frame`).
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import scipy.sparse as sp

__all__ = ["TargetFormat", "TargetTable", "as_columns", "decode", "decode_frame", "encode", "resolve_negative"]

UNKNOWN = -1
"""The code of an unknown cell."""
CODE = np.int32
"""The type of codes."""
SMALL_RANGE = 65536
"""Whole numbers that span less than this are counted in a table instead of sorted."""
SHOWN = 12
"""At most so many classes are listed in an error."""


@dataclass(frozen=True)
class TargetFormat:
    """The outer shape of a target: all that is needed to return predictions in it. Can be pickled.

    Attributes
    ----------
    names : list or None
        Names of the columns, if the target was a frame or a series.
    namespace : str or None
        Name of the data frame library's module, such as ``"pandas"``; None for arrays and lists.
    dtypes : list or None
        The library's own type of each column.
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


def encode(table: TargetTable, classes: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, list[np.ndarray]]:
    """Turn the columns of a table into codes.

    Parameters
    ----------
    table : TargetTable
    classes : sequence of L arrays, optional
        The classes of each column, which the codes refer to. Without it they are the sorted distinct
        known values of each column; values that cannot be compared are sorted by the name of their
        type, then by their text.

    Returns
    -------
    codes : int32 ndarray of shape (n, L)
        `UNKNOWN` (-1) where a cell is not known.
    classes : list of L ndarrays

    Raises
    ------
    ValueError
        If a value is not among `classes`, or, without `classes`, if a column has no known value.

    Examples
    --------
    >>> codes, classes = encode(as_columns([["no", 2], ["yes", 7], [None, 2]]))
    >>> codes.tolist()
    [[0, 0], [1, 1], [-1, 0]]
    >>> [c.tolist() for c in classes]
    [['no', 'yes'], [2, 7]]
    """
    n_rows, n_columns = table.shape
    if classes is not None and len(classes) != n_columns:
        raise ValueError(f"{table.name} has {n_columns} columns, but there are {len(classes)} labels.")
    codes = np.full((n_rows, n_columns), UNKNOWN, dtype=CODE)
    found = []
    for j, column in enumerate(table.columns):
        known = table.known[:, j]
        complete = bool(known.all())
        values = column if complete else column[known]
        if classes is None:
            if len(values) == 0:
                raise ValueError(f"{table.describe(j)} is all unknown: it has no value to learn from.")
            column_classes, column_codes = factorise(values)
        else:
            column_classes = np.asarray(classes[j])
            column_codes = _look_up(values, column_classes)
            if (column_codes < 0).any():
                unseen = values[np.argmax(column_codes < 0)]
                raise ValueError(
                    f"{table.describe(j)} holds {_plain(unseen)!r}, which is not one of its classes: "
                    f"{show_classes(column_classes)}."
                )
        if complete:
            codes[:, j] = column_codes
        else:
            codes[known, j] = column_codes
        found.append(column_classes)
    return codes, found


def decode(codes: np.ndarray, classes: Sequence[np.ndarray], like: TargetFormat | None = None) -> np.ndarray:
    """Turn codes into an array of the user's classes.

    Parameters
    ----------
    codes : int ndarray of shape (n, L)
    classes : sequence of L arrays
    like : TargetFormat or TargetTable, optional
        If its `is_1d` is true, the result has shape (n,).

    Returns
    -------
    ndarray of shape (n, L) or (n,)
        Of one common type if all columns are whole numbers, numbers, strings or booleans; an object
        array of plain Python values otherwise. Every value equals the class it stands for.

    Examples
    --------
    >>> decode(np.array([[0, 1], [1, 0]]), [np.array([3, 5]), np.array([0, 1])])
    array([[3, 1],
           [5, 0]])
    """
    codes = np.asarray(codes)
    _refuse_unknown(codes)
    first = classes[0]
    # The commonest case, binary labels alike in all columns, is one look-up.
    if first.dtype.kind != "O" and all(c is first or _are_equal(c, first) for c in classes):
        values = first[codes]
    else:
        dtype = common_dtype(classes)
        values = np.empty(codes.shape, dtype=dtype)
        for j, column_classes in enumerate(classes):
            values[:, j] = (_as_objects(column_classes) if dtype.kind == "O" else column_classes)[codes[:, j]]
    return values[:, 0] if like is not None and like.is_1d else values


def decode_frame(
    codes: np.ndarray,
    classes: Sequence[np.ndarray],
    names: Sequence[Any],
    namespace: Any,
    index: Any = None,
    dtypes: Sequence[Any] | None = None,
) -> Any:
    """Turn codes into a data frame of the user's classes.

    Parameters
    ----------
    codes : int ndarray of shape (n, L)
    classes : sequence of L arrays
    names : sequence of L column names
    namespace : str or module
        The data frame library, such as ``"pandas"``.
    index : pandas index, optional
        Ignored by libraries whose frames have none.
    dtypes : sequence of L native types, optional
        As in `TargetFormat`: the columns get these types back, pandas' categories among them.

    Returns
    -------
    native data frame
    """
    codes = np.asarray(codes)
    _refuse_unknown(codes)
    module_name = namespace if isinstance(namespace, str) else namespace.__name__
    module = importlib.import_module(module_name)
    types: Sequence[Any] = [None] * len(classes) if dtypes is None else dtypes
    # Only the K classes are converted to the column's type; the n rows are then picked from them.
    if module_name == "polars":
        columns = []
        for j, (column_classes, dtype) in enumerate(zip(classes, types, strict=True)):
            column = module.Series(str(names[j]), column_classes.tolist(), dtype=dtype)
            columns.append(column.gather(codes[:, j].astype(np.int64)))
        return module.DataFrame(columns)
    if module_name == "pyarrow":
        arrays = [
            module.array(c.tolist(), type=_plain_arrow_type(module, dtype)).take(module.array(codes[:, j]))
            for j, (c, dtype) in enumerate(zip(classes, types, strict=True))
        ]
        return module.table(arrays, names=list(names))
    # pandas, or a library that has its interface.
    frame = {}
    for j, (column_classes, dtype) in enumerate(zip(classes, types, strict=True)):
        column = module.Series(column_classes.tolist() if column_classes.dtype == object else column_classes)
        column = column if dtype is None else column.astype(dtype)
        column = column.take(codes[:, j])
        column.index = range(len(codes)) if index is None else index
        frame[j] = column
    result = module.DataFrame(frame)
    result.columns = list(names)
    return result


def resolve_negative(
    classes: Sequence[np.ndarray], negative: Any, *, hint: str = "negative={}", complete: bool = True
) -> list[int]:
    """Return, for each label, the code of the class that means "not relevant"; -1 where there is none.

    Parameters
    ----------
    classes : sequence of L arrays
        The classes of each label, sorted.
    negative : None, scalar or sequence of L scalars
        None: the first class of a label with two; of a label with one class, that class if it is
        negative by nature (a number not above zero, or one of the texts "0", "false", "no", "none"
        in any case); a label with more classes asks for it.
        A scalar: this class, wherever a label has it; a label with at most two classes that has it not
        takes the one that is negative by nature.
        A sequence: one class for each label; None in it stands for what None alone would mean.
    hint : str
        How to pass the argument, for errors; ``{}`` stands for its value.
    complete : bool
        Whether `classes` are all classes there are. If False (only those seen in some rows), a class
        that is not among them is no error: then all that were seen are relevant.

    Raises
    ------
    ValueError
        If a label has no negative class by these rules.

    Examples
    --------
    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], "none")
    [0, 0]
    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], None)
    Traceback (most recent call last):
        ...
    ValueError: label 1 has 3 classes, ['none', 'red', 'tan']: say which of them means "not relevant", ...
    """
    one_each = isinstance(negative, list | tuple | np.ndarray) and np.ndim(negative) == 1
    if one_each and len(negative) != len(classes):
        raise ValueError(f"{hint.format(negative)} names {len(negative)} classes, but there are {len(classes)} labels.")
    wanted = list(negative) if one_each else [negative] * len(classes)
    found = [
        next((code for code, value in enumerate(c.tolist()) if w is not None and _same(value, w)), -1)
        for c, w in zip(classes, wanted, strict=True)
    ]
    if complete and not one_each and negative is not None and max(found, default=-1) < 0:
        raise ValueError(f"{hint.format(repr(_plain(negative)))}: no label has this class.")
    for label, column_classes in enumerate(classes):
        if found[label] >= 0:
            continue
        wants, n_classes = wanted[label], len(column_classes)
        by_nature = [code for code, value in enumerate(column_classes.tolist()) if _is_negative_by_nature(value)]
        if wants is None and n_classes == 2:
            found[label] = 0
        elif wants is None and n_classes > 2:
            example = repr(_plain(column_classes[0]))
            raise ValueError(
                f"label {label} has {n_classes} classes, {show_classes(column_classes)}: say which of them means "
                f'"not relevant", for example {hint.format(example)}, or one class per label in a list.'
            )
        elif (wants is None or not one_each) and n_classes <= 2 and len(by_nature) == 1:
            found[label] = by_nature[0]
        elif wants is not None and n_classes > 1 and complete:
            raise ValueError(
                f"label {label} has no class {_plain(wants)!r}: its classes are {show_classes(column_classes)}. "
                f"Give one negative class per label: {hint.format('[...]')}."
            )
    return found


def factorise(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values and, for each value, its place among them."""
    if values.dtype == object:
        cells = values.tolist()
        classes = _object_classes(_sorted(list(dict.fromkeys(cells))))
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


def common_dtype(classes: Sequence[np.ndarray]) -> np.dtype:
    """Return the type that holds the classes of all columns without changing any; object if there is none."""
    kinds = {column_classes.dtype.kind for column_classes in classes}
    if kinds <= {"i", "u", "f"}:
        dtype = np.result_type(*(c.dtype for c in classes))
        exact = all((c.astype(dtype) == c).all() and (c.dtype.kind == dtype.kind or "f" in kinds) for c in classes)
        # int64 and uint64 have only floats in common.
        return dtype if exact and (dtype.kind != "f" or "f" in kinds) else np.dtype(object)
    if len(kinds) == 1 and kinds <= {"b", "U", "S", "M", "m"}:
        return np.result_type(*(c.dtype for c in classes))
    return np.dtype(object)


def show_classes(classes: np.ndarray) -> str:
    """Return the classes as the text of a list, shortened if there are many."""
    texts = [repr(value) for value in np.asarray(classes).tolist()]
    if len(texts) > SHOWN:
        texts = [*texts[:SHOWN], f"... ({len(texts)} in all)"]
    return "[" + ", ".join(texts) + "]"


def equals(values: np.ndarray, value: Any) -> np.ndarray:
    """Return where `values` equal `value`; values of another kind (a number and a text) never do."""
    kind = values.dtype.kind
    if kind == "O":
        return np.fromiter((_same(cell, value) for cell in values.tolist()), dtype=bool, count=len(values))
    is_number = isinstance(value, bool | int | float | np.number | np.bool_)
    if (kind in "biuf" and is_number) or (kind == "U" and isinstance(value, str)):
        return values == value
    if (kind == "S" and isinstance(value, bytes)) or (kind in "Mm" and not is_number and not isinstance(value, str)):
        return values == value
    return np.zeros(len(values), dtype=bool)


def _same(cell: Any, value: Any) -> bool:
    if isinstance(cell, str) != isinstance(value, str):
        return False
    try:
        return bool(cell == value)
    except (TypeError, ValueError):
        return False


def _is_negative_by_nature(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in ("0", "false", "no", "none")
    return isinstance(value, bool | int | float) and value <= 0


def _native(native: Any) -> tuple[str, list[Any], bool]:
    """Return namespace, types and dimension of a series, as `TargetFormat` takes them."""
    series = nw.from_native(native, series_only=True)
    return nw.get_native_namespace(series).__name__, [getattr(native, "dtype", getattr(native, "type", None))], True


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
    dtypes = [getattr(column, "dtype", getattr(column, "type", None)) for column in columns]
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


def _look_up(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each value among `classes`, -1 where it is not among them."""
    if len(values) == 0:
        return np.empty(0, dtype=CODE)
    numbers = values.dtype.kind in "biuf" and classes.dtype.kind in "biuf"
    if numbers or (values.dtype.kind == classes.dtype.kind and values.dtype.kind in "USMm"):
        order = np.argsort(classes)
        place = np.minimum(np.searchsorted(classes[order], values), len(classes) - 1)
        return np.where(classes[order][place] == values, order[place], UNKNOWN).astype(CODE)
    codes = {value: code for code, value in enumerate(classes.tolist())}
    return np.fromiter((codes.get(value, UNKNOWN) for value in values.tolist()), dtype=CODE, count=len(values))


def _sorted(distinct: list[Any]) -> list[Any]:
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda value: (type(value).__name__, str(value)))


def _object_classes(distinct: list[Any]) -> np.ndarray:
    # numpy's fixed-width texts drop zero characters at their end.
    if all(isinstance(value, str) and not value.endswith("\0") for value in distinct):
        return np.array(distinct, dtype=str)
    return _as_objects(distinct)


def _as_objects(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return plain Python values in an object array, whatever they are."""
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    result = np.empty(len(plain), dtype=object)
    for i, value in enumerate(plain):
        result[i] = value
    return result


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain_arrow_type(module: Any, dtype: Any) -> Any:
    return dtype.value_type if dtype is not None and module.types.is_dictionary(dtype) else dtype


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and len(one) == len(other) and bool((one == other).all())


def _refuse_unknown(codes: np.ndarray) -> None:
    if codes.size and codes.min() < 0:
        raise ValueError("an unknown code (-1) stands for no class and cannot be decoded.")
