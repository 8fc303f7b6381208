"""Label tables of any accepted kind as numpy columns, and the classes of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain import _frames
from montechain._tags import all_tags, tag_matrix, tag_rows

UNKNOWN = -1
"""Code of an unknown cell."""
CODE = np.int32
"""Type of codes."""
NESTED = (list, tuple, set, frozenset, dict, np.ndarray)
SHOWN = 12
"""Maximum number of classes listed in an error message."""


@dataclass(frozen=True, eq=False)
class TargetTable:
    """A label table as numpy columns in their natural type, and which cells are `known`; the others mean nothing.

    `names`, `library` and `dtypes` (the library's own) are those of a data frame or series. Of a table of tags
    (`is_tags`), the columns are zeros and ones, and `names` are the tags. Errors call it `name`.
    """

    columns: list[np.ndarray]
    known: np.ndarray
    name: str
    is_1d: bool = False
    names: list[Any] | None = None
    library: str | None = None
    dtypes: list[Any] | None = None
    is_tags: bool = False

    @property
    def is_frame(self) -> bool:
        """Whether the input was a two-dimensional data frame."""
        return self.library is not None and not self.is_1d

    def describe(self, column: int) -> str:
        """Return how an error message refers to a column: by position, and by name if it has one."""
        own = None if self.names is None else self.names[column]
        return f"column {column} of {self.name}" if own is None else f"column {column} ({own!r}) of {self.name}"

    def check_rows(self, n_rows: int | None) -> None:
        """Raise a ValueError unless it has as many rows as X, if that number is known."""
        if n_rows is not None and len(self.known) != n_rows:
            raise ValueError(f"`X` has {n_rows} rows but `{self.name}` has {len(self.known)}: they must have the same.")


def as_columns(Y: Any, *, unknown: Any = None, name: str = "Y", tags: Sequence[Any] | None = None) -> TargetTable:
    """Read a label table of any accepted kind into columns. Refuse what cannot be classes, such as fractions.

    `Y` is a list, array, sparse container, data frame or series of shape (n, L) or (n,), or a list of sets of tags (see
    `tag_rows`), which are those in `tags` if they are known. Cells that are NaN, None, NaT, NA, masked or `unknown`
    (such as -1 or "?") are not known; those that a sparse container does not store have class 0. Error messages call
    the table `name`.

    >>> table = as_columns([[1, "red"], [None, "blue"]])
    >>> [column.dtype.kind for column in table.columns], table.known.tolist()
    (['i', 'O'], [[True, True], [False, True]])
    """
    if isinstance(Y, TargetTable):
        return Y
    rows = tag_rows(Y, certain=tags is not None)
    if rows is not None:
        tags = all_tags(rows) if tags is None else list(tags)
        if not tags:
            raise ValueError(f"{name} has no tags: some row must have one.")
        known = np.array([row is not None for row in rows])
        columns = list(tag_matrix(rows, tags, name).T)
        return TargetTable(columns, np.repeat(known[:, None], len(tags), axis=1), name, names=tags, is_tags=True)
    framed = None if isinstance(Y, np.ndarray) else _frames.read(nw.to_native(Y, pass_through=True))
    if framed is not None:
        table = TargetTable(**framed, name=name)
    else:
        array, masked = _as_array(Y, name)
        table = TargetTable(list(np.atleast_2d(array.T)), ~np.atleast_2d(masked.T).T, name, array.ndim == 1)
    if not table.columns:
        raise ValueError(f"{name} has no columns: its shape is {table.known.shape}.")
    for j, column in enumerate(table.columns):
        if column.dtype.kind not in "biu" or unknown is not None:
            table.columns[j] = _clean(column, table.known[:, j], unknown, table.describe(j))
    return table


def _as_array(Y: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
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


def _clean(column: np.ndarray, known: np.ndarray, unknown: Any, where: str) -> np.ndarray:
    """Return a column in its natural type. Update `known` in place, and refuse what cannot be a class."""
    known &= ~pd.isna(column)
    if column.dtype == object:
        cells = column[known].tolist()
        if nested := [kind.__name__ for kind in set(map(type, cells)) if issubclass(kind, NESTED)]:
            raise ValueError(
                f"{where} holds a {nested[0]}, or rows differ in length: a cell must hold one class. If the rows are "
                "sets of tags, give sets: [{1, 2}, set(), {3}]."
            )
        if cells and pd.api.types.infer_dtype(cells) in ("boolean", "integer", "floating", "mixed-integer-float"):
            numbers = np.array(cells)  # integers beyond 64 bits stay objects
            column = np.zeros(len(column), dtype=numbers.dtype)
            column[known] = numbers
    if unknown is not None:
        known[known] = look_up(column[known], _natural_array([unknown])) == UNKNOWN
    numbers = column[known]
    if column.dtype == object:
        numbers = np.array([cell for cell in numbers.tolist() if isinstance(cell, float)], dtype=float)
    if numbers.dtype.kind == "f":
        if np.isinf(numbers).any():
            raise ValueError(f"Input contains infinity: {where} must hold classes, or NaN for unknown ones.")
        if (broken := numbers != np.floor(numbers)).any():
            raise ValueError(
                f"Unknown label type: continuous. {where} holds {numbers[np.argmax(broken)].item()!r}, which is not "
                'a class. Bin the column first, for example with KBinsDiscretizer(encode="ordinal"), or convert it '
                "to strings if each of its values is a class."
            )
    return column


def factorise(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values, and the position of each value among them.

    Values that cannot be compared are sorted by the name of their type, then by their text.

    >>> classes, codes = factorise(np.array(["b", 3, "a", 10], dtype=object))
    >>> classes.tolist(), codes.tolist()
    ([10, 3, 'a', 'b'], [3, 1, 2, 0])
    """
    if values.dtype.kind in "iu" and len(values):
        low, high = values.min(), values.max()
        if int(high) - int(low) == 1:  # as in most tables
            return np.array([low, high]), (values == high).astype(CODE)
    if values.dtype.kind in "biuf":
        codes, classes = pd.factorize(values, sort=True)  # quicker than np.unique
        return classes, codes.astype(CODE)
    if values.dtype != object:
        classes, codes = np.unique(values, return_inverse=True)
        return classes, codes.astype(CODE)
    cells = values.tolist()
    distinct = list(dict.fromkeys(cells))
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=lambda value: (type(value).__name__, str(value)))
    code_of = {value: code for code, value in enumerate(distinct)}
    return _natural_array(distinct), np.fromiter(map(code_of.__getitem__, cells), dtype=CODE, count=len(cells))


def look_up(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each value among `classes`, -1 where it is not among them."""
    if values.dtype.kind == classes.dtype.kind and values.dtype.kind in "Mm":  # days equal seconds only in one unit
        unit = np.promote_types(values.dtype, classes.dtype)
        values, classes = values.astype(unit), classes.astype(unit)
    code_of = {value: code for code, value in enumerate(classes.tolist())}
    distinct, codes = factorise(values)
    return np.array([code_of.get(value, UNKNOWN) for value in distinct.tolist()], dtype=CODE)[codes]


def _natural_array(distinct: list[Any]) -> np.ndarray:
    """Return strings as a numpy string array, other values as objects."""
    # numpy's fixed-width strings drop zero characters at their end.
    if all(isinstance(value, str) and not value.endswith("\0") for value in distinct):
        return np.array(distinct, dtype=str)
    array = np.empty(len(distinct), dtype=object)
    array[:] = distinct
    return array


def plain(value: Any) -> Any:
    """Return a numpy scalar as a Python one, anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def show_classes(classes: np.ndarray) -> str:
    """Return the classes as the text of a list, shortened if there are many."""
    texts = [repr(value) for value in classes.tolist()]
    if len(texts) > SHOWN:
        texts = [*texts[:SHOWN], f"... ({len(texts)} in all)"]
    return "[" + ", ".join(texts) + "]"


def joined(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return columns as one: of one type if that changes none of their values, else as plain Python objects."""
    kinds = {own.dtype.kind for own in columns}
    if len(kinds) == 1 or kinds <= {"i", "u", "f"}:
        together = np.concatenate(columns)
        # int64 and uint64 have only floats in common.
        if len({own.dtype for own in columns}) == 1 or (
            together.dtype.kind in kinds and together.tolist() == [value for own in columns for value in own.tolist()]
        ):
            return together
    objects = np.empty(sum(map(len, columns)), dtype=object)
    objects[:] = [value for own in columns for value in own.tolist()]
    return objects
