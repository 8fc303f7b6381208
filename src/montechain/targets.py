"""The codec between a user's label table and integer codes.

Everything below the estimators works on int32 codes of shape (n, L): 0..K-1 for the K sorted classes of a label, -1
where a label is unknown. `as_columns` reads label tables of any kind, and `TargetCodec` converts in both directions,
once each way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from montechain import _frames
from montechain._savable import require, savable
from montechain._tags import all_tags, as_tags, tag_matrix, tag_rows

UNKNOWN = -1
"""Code of an unknown cell."""
NEW = -2
"""Code of a value that is not one of the classes."""
CODE = np.int32
"""Type of codes."""
NESTED = (list, tuple, set, frozenset, dict, np.ndarray)
SHOWN = 12
"""Maximum number of classes listed in an error message."""


@dataclass(frozen=True, eq=False)
class TargetTable:
    """A label table as numpy columns in their natural type, and which cells are `known`; other cells are meaningless.

    `names`, `library` and `dtypes` (the library's own) are those of a data frame or series. For a table of tags
    (`is_tags`), the columns are zeros and ones, and `names` are the tags. Error messages call the table `name`.
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
            raise ValueError(f"`X` has {n_rows} rows but `{self.name}` has {len(self.known)}: they must be equal.")


def as_columns(Y: Any, *, name: str = "Y", tags: Sequence[Any] | None = None) -> TargetTable:
    """Read a label table of any accepted kind into columns. Refuse what cannot be classes, such as fractions.

    `Y` is a list, array, sparse container, data frame or series of shape (n, L) or (n,), or a list of sets of tags (see
    `tag_rows`), which are those in `tags` if they are known. Cells that are NaN, None, NaT, NA or masked are not known;
    those that a sparse container does not store have class 0. Error messages call the table `name`.

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
        array, masked = _frames.as_array(Y, name)
        table = TargetTable(list(np.atleast_2d(array.T)), ~np.atleast_2d(masked.T).T, name, array.ndim == 1)
    if not table.columns:
        raise ValueError(f"{name} has no columns: its shape is {table.known.shape}.")
    for j, column in enumerate(table.columns):
        if column.dtype.kind not in "biu":
            table.columns[j] = _clean(column, table.known[:, j], table.describe(j))
    return table


def _clean(column: np.ndarray, known: np.ndarray, where: str) -> np.ndarray:
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


def _natural_array(distinct: list[Any]) -> np.ndarray:
    """Return strings as a numpy string array, other values as objects."""
    # numpy's fixed-width strings drop zero characters at their end.
    if all(isinstance(value, str) and not value.endswith("\0") for value in distinct):
        return np.array(distinct, dtype=str)
    return np.fromiter(distinct, dtype=object, count=len(distinct))


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
    values = [value for own in columns for value in own.tolist()]
    kinds = {own.dtype.kind for own in columns}
    if len(kinds) == 1 or kinds <= {"i", "u", "f"}:
        together = np.concatenate(columns)
        if together.dtype.kind in kinds and together.tolist() == values:  # int64 and uint64 have only floats in common
            return together
    return _natural_array(values)


def named_labels(names: Sequence[Any] | None, n_labels: int) -> list[Any]:
    """Return a name for each label: its own, or ``label_0``, ``label_1``, ... if it has none.

    >>> named_labels(["wind", None], 2)
    ['wind', 'label_1']
    """
    return [f"label_{j}" if name is None else name for j, name in enumerate(names or [None] * n_labels)]


@savable
@dataclass(eq=False)
class TargetCodec:
    """Convert between a user's label table and int32 codes of shape (n, L).

    Use `fit_encode` to learn a codec from a table. `classes` has one array for each label. `names`, `library` and
    `dtypes` (one of the library's types for each column) are those of a data frame: None decodes to arrays. `is_1d`
    says whether the table had one dimension, and `is_tags` whether its rows were sets of tags: then `names` are the
    tags, each a label with the classes 0 and 1.

    >>> y = pd.DataFrame({"wind": ["low", "high", None], "rain": [0, 1, 1]})
    >>> codec, codes = TargetCodec.fit_encode(y)
    >>> codes.tolist(), codec.n_classes, codec.names
    ([[1, 0], [0, 1], [-1, 1]], [2, 2], ['wind', 'rain'])
    >>> codec.encode_given(pd.DataFrame({"rain": [1]}), n_rows=1).tolist()
    [[-1, 1]]
    >>> codec.decode(codes[:2])
       wind  rain
    0   low     0
    1  high     1
    """

    classes: list[np.ndarray]
    names: list[Any] | None = None
    library: str | None = None
    dtypes: list[Any] | None = None
    is_1d: bool = False
    is_tags: bool = False

    def __post_init__(self) -> None:
        are_arrays = all(isinstance(own, np.ndarray) and own.ndim == 1 and len(own) for own in self.classes)
        require(self.classes and are_arrays, "`classes` must be a list of arrays of shape (K,), K > 0, one per label.")
        for name, given in (("names", self.names), ("dtypes", self.dtypes)):
            fits = given is None or (isinstance(given, list) and len(given) == len(self.classes))
            require(fits, f"`{name}` must be a list with one entry for each of the {len(self.classes)} labels.")
        require(self.names is not None or not self.is_tags, "`names` must be a list of the tags.")
        if self.library is not None:
            _frames.import_library(self.library)
        # All classes in one array, those of label j from offset j on, so that one look-up decodes a whole table.
        self._values = joined(self.classes)
        self._offsets = np.cumsum([0, *self.n_classes[:-1]])
        own_codes = np.concatenate([np.arange(n) for n in self.n_classes])
        self._are_codes = self._values.dtype.kind in "iu" and np.array_equal(self._values, own_codes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters with types as plain values, for pickles and model files."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.dtypes is not None:
            state["dtypes"] = [_frames.in_words(str(self.library), dtype) for dtype in self.dtypes]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
        if self.library is not None and self.dtypes is not None:
            self.dtypes = [None if words is None else _frames.from_words(self.library, words) for words in self.dtypes]

    @property
    def n_classes(self) -> list[int]:
        """Number of classes of each label."""
        return [len(classes) for classes in self.classes]

    @property
    def is_frame(self) -> bool:
        """Whether the table was a two-dimensional data frame, so that decoding gives one."""
        return self.library is not None and not self.is_1d

    @classmethod
    def fit_encode(cls, y: Any, *, n_rows: int | None = None) -> tuple[Any, Any]:
        """Learn the classes of a label table, which must have `n_rows` rows. Return the codec and the table's codes."""
        table = as_columns(y, name="y")
        table.check_rows(n_rows)
        codes = np.full(table.known.shape, UNKNOWN, dtype=CODE)
        classes = []
        complete, informative = np.all(table.known, axis=0), np.any(table.known, axis=0)
        for j, column in enumerate(table.columns):
            rows = slice(None) if complete[j] else table.known[:, j]
            if not informative[j]:
                raise ValueError(f"{table.describe(j)} is all unknown: it has no value to learn from.")
            own, codes[rows, j] = factorise(np.ascontiguousarray(column[rows]))
            classes.append(own)
        library = table.library if table.library in _frames.LIBRARIES else None
        dtypes = table.dtypes if library else None
        return cls(classes, table.names, library, dtypes, table.is_1d, table.is_tags), codes

    def encode(
        self, y: Any, *, n_rows: int | None = None, name: str = "y", allow_new: bool = False, partial: bool = False
    ) -> np.ndarray:
        """Return the codes of a table with one column for each label; a ValueError says what is not one of the classes.

        The columns of a data frame are matched by name if the codec has names; some may be absent if `partial`. Cells
        may be unknown; so are tags that a row does not have, if `partial`. With `allow_new`, values that are not
        classes get the code `NEW`, and each tag that is not one of the labels gets a column of its own.
        """
        by_name = self.names is not None and _frames.is_frame(y)
        # First of all, because columns that are not labels may hold anything.
        labels = self._match(_frames.column_names(y), name) if by_name else range(len(self.classes))
        tags = self.names if self.is_tags else None
        if tags is not None and allow_new:
            tags = [*tags, *(tag for tag in all_tags(tag_rows(y, certain=True) or ()) if tag not in set(tags))]
        table = as_columns(y, name=name, tags=tags)
        table.check_rows(n_rows)
        n_labels, n_columns = len(self.classes), len(table.columns)
        if n_columns != n_labels and not (by_name and partial) and not (table.is_tags and allow_new):
            advice = "give one for each label, with NaN or None where it is not known."
            raise ValueError(f"`{name}` has {n_columns} columns for {n_labels} labels: {advice}")
        codes = np.full((len(table.known), n_labels), UNKNOWN, dtype=CODE)
        for j, (label, column) in enumerate(zip(labels, table.columns, strict=False)):
            known, classes = table.known[:, j], self.classes[label]
            if table.is_tags and partial:
                known = known & (column == 1)
            values = column[known]
            if values.dtype.kind == classes.dtype.kind and values.dtype.kind in "Mm":
                unit = np.promote_types(values.dtype, classes.dtype)  # days equal seconds only in one unit
                values, classes = values.astype(unit), classes.astype(unit)
            code_of = {value: code for code, value in enumerate(classes.tolist())}
            distinct, places = factorise(values)
            found = np.array([code_of.get(value, UNKNOWN) for value in distinct.tolist()], dtype=CODE)[places]
            if (found == UNKNOWN).any() and not allow_new:
                raise ValueError(
                    f"{table.describe(j)} holds {plain(values[np.argmin(found)])!r}, which is not one of its "
                    f"classes: {show_classes(classes)}."
                )
            codes[known, label] = np.where(found == UNKNOWN, NEW, found)
        if table.is_tags and n_columns > n_labels:
            new_tags = np.column_stack(table.columns[n_labels:])
            codes = np.hstack([codes, np.where(new_tags == 1, NEW, UNKNOWN).astype(CODE)])
        return codes

    def encode_given(self, given: Any, *, n_rows: int | None = None) -> np.ndarray | None:
        """Return the codes of labels that are known in advance, -1 elsewhere; None if none is known.

        A data frame may hold some of the labels only, in any order, if the codec has names. The tags of a row are
        known to be there, and nothing is known of the others.
        """
        if isinstance(given, dict):
            raise TypeError("`given` is a dictionary: use a data frame, given=pandas.DataFrame(...).")
        if (
            hasattr(given, "to_frame")
            and not hasattr(given, "columns")
            and self.names
            and not (self.is_1d or self.is_tags)
        ):
            given = given.to_frame()  # a series that is one of the labels
        codes = None if given is None else self.encode(given, n_rows=n_rows, name="given", partial=True)
        return codes if codes is not None and (codes != UNKNOWN).any() else None

    def _match(self, columns: list[Any], table: str) -> list[int]:
        """Return the label of each named column."""
        names: list[Any] = self.names or []
        if columns == names:
            return list(range(len(names)))
        for name in columns:
            if name not in names:
                raise ValueError(f"`{table}` has a column {name!r}, which is not a target: the targets are {names}.")
            if columns.count(name) > 1 or names.count(name) > 1:
                advice = "Give all targets in the order of the training data, or rename the columns."
                raise ValueError(f"`{table}` has a column {name!r}, but more than one column has this name. {advice}")
        return [names.index(name) for name in columns]

    def decode(self, codes: np.ndarray, *, index: Any = None) -> Any:
        """Return codes of shape (n, L) in the user's classes and container.

        That is what the table was: an array, of shape (n,) if it had one dimension, or a data frame of the same library
        with the same names and types, or an array of shape (n,) of lists of tags. A pandas data frame gets the row
        labels `index`. Each value equals the class it stands for.
        """
        codes = np.asarray(codes)
        if codes.size and codes.min() < 0:
            raise ValueError("an unknown code (-1) has no class and cannot be decoded.")
        if not self.is_frame:
            dtype = self._values.dtype
            values = codes.astype(dtype) if self._are_codes else self._values.take(codes + self._offsets)
            if self.is_tags:
                return as_tags(values, self.names or [])
            return values[:, 0] if self.is_1d else values
        names, dtypes = named_labels(self.names, len(self.classes)), self.dtypes or [None] * len(self.classes)
        return _frames.make_frame(str(self.library), names, self.classes, dtypes, codes.astype(np.int64).T, index)

    def decode_array(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of shape (..., L) as an array of classes of the same shape, None where a code is unknown."""
        values = self._values.take(np.maximum(codes, 0) + self._offsets)
        missing = codes == UNKNOWN
        if missing.any():
            values = values.astype(object)
            values[missing] = None
        return values
