"""The codec between a user's label table and integer codes.

Everything below the estimators works on int32 codes of shape (n, L): 0..K-1 for the K sorted classes of a label, -1
where a label is unknown. `TargetCodec` converts in both directions, once each way:

>>> import pandas as pd
>>> from montechain.targets import TargetCodec
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

`as_columns` is the layer below: it reads a table of any accepted kind into numpy columns and a mask of known cells.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from montechain._frames import is_frame
from montechain._savable import savable
from montechain.targets.columns import (
    CODE,
    LIBRARIES,
    UNKNOWN,
    ColumnType,
    TargetTable,
    as_columns,
    as_objects,
    factorise,
    import_library,
    look_up,
    native_type,
    plain,
    same,
    show_classes,
)

__all__ = [
    "CODE",
    "NEW",
    "UNKNOWN",
    "TargetCodec",
    "TargetTable",
    "as_columns",
    "default_label_names",
    "factorise",
    "named_labels",
    "plain",
    "same",
    "show_classes",
]

NEW = -2
"""Code of a value that is not one of the classes."""
MANY_CLASSES = 20
"""A target with more classes than this may not be a target of classes."""
FEW_ROWS = 5
"""With fewer rows than this for each class, a target with many classes is hard to predict."""


@savable
@dataclass(eq=False)
class TargetCodec:
    """Convert between a user's label table and int32 codes of shape (n, L).

    Codes are 0..K-1 for the K sorted classes of a label and `UNKNOWN` (-1) where it is not known. Use `fit_encode`
    to learn a codec from a table. All its attributes are plain values and arrays, so it can be pickled and saved.

    Parameters
    ----------
    classes : list of L ndarrays
        The classes of each label.
    names : list, optional
        Names of the labels, if the table was a data frame or a series.
    library : str, optional
        Module of the data frame library to decode to, such as ``"pandas"``. None decodes to arrays.
    dtypes : list of L ColumnType, optional
        The type of each column of the data frame.
    is_1d : bool, default=False
        Whether the table had one dimension.
    unknown : scalar, optional
        A value that means "unknown", besides NaN, None, NaT and NA.

    Examples
    --------
    >>> codec, codes = TargetCodec.fit_encode([["no", 2], ["yes", 7], [None, 2]])
    >>> codes.tolist(), [c.tolist() for c in codec.classes]
    ([[0, 0], [1, 1], [-1, 0]], [['no', 'yes'], [2, 7]])
    >>> codec.decode(codes[:2]).tolist()
    [['no', 2], ['yes', 7]]
    """

    classes: list[np.ndarray]
    names: list[Any] | None = None
    library: str | None = None
    dtypes: list[Any] | None = None
    is_1d: bool = False
    unknown: Any = None

    def __post_init__(self) -> None:
        if not self.classes or not all(isinstance(c, np.ndarray) and c.ndim == 1 and len(c) for c in self.classes):
            raise ValueError("`classes` must be a list of one-dimensional arrays, one per label, none of them empty.")
        for name in ("names", "dtypes"):
            given = getattr(self, name)
            if given is not None and not (isinstance(given, list) and len(given) == len(self.classes)):
                raise ValueError(f"`{name}` must be a list with one entry for each of the {len(self.classes)} labels.")
        if self.library is not None:
            import_library(self.library)
        first = self.classes[0]
        # Labels with the same classes are decoded by one look-up, and by none if the classes are their own codes.
        self._alike = first.dtype.kind != "O" and all(
            c is first or (c.dtype == first.dtype and np.array_equal(c, first)) for c in self.classes
        )
        self._is_code = self._alike and first.dtype.kind in "iu" and bool((first == np.arange(len(first))).all())
        self._dtype = first.dtype if self._alike else common_dtype(self.classes)
        as_they_are = self._alike or self._dtype.kind != "O"
        self._tables = self.classes if as_they_are else [as_objects(own) for own in self.classes]

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters, for pickles and model files."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the parameters back and check them."""
        self.__init__(**state)  # type: ignore[misc]

    @property
    def n_classes(self) -> list[int]:
        """Number of classes of each label."""
        return [len(classes) for classes in self.classes]

    @property
    def is_frame(self) -> bool:
        """Whether the table was a two-dimensional data frame, so that decoding gives one."""
        return self.library is not None and not self.is_1d

    def notes(self, codes: np.ndarray) -> list[str]:
        """Return what you should know about targets that are hard or pointless to predict.

        A target that holds too many dates to be classes raises a ValueError.

        Examples
        --------
        >>> codec, codes = TargetCodec.fit_encode([["a", 1], ["a", 2]])
        >>> codec.notes(codes)
        ["target 'label_0' has only one class, 'a', which is predicted for every row."]
        """
        said = []
        for name, own, column in zip(named_labels(self.names, len(self.classes)), self.classes, codes.T, strict=True):
            n_known, n_classes = int((column != UNKNOWN).sum()), len(own)
            if n_classes > MANY_CLASSES and (own.dtype.kind == "M" or isinstance(own[0], datetime.date)):
                raise ValueError(
                    f"target {name!r} holds {n_classes} different dates, which are not classes. Predict the month or "
                    "the weekday instead, or convert it to strings if each date is a class."
                )
            if n_classes == 1:
                said.append(f"target {name!r} has only one class, {plain(own[0])!r}, which is predicted for every row.")
            elif n_classes > MANY_CLASSES and n_known < FEW_ROWS * n_classes:
                said.append(
                    f"target {name!r} has {n_classes} classes in {n_known} rows: with so few rows for each class, "
                    "expect poor predictions."
                )
        return said

    # -- to codes -----------------------------------------------------------------------------

    @classmethod
    def fit_encode(
        cls, y: Any, *, unknown: Any = None, n_rows: int | None = None, name: str = "y"
    ) -> tuple[TargetCodec, np.ndarray]:
        """Learn the classes of a label table. Return the codec and the codes of the table.

        Parameters
        ----------
        y : list, ndarray, sparse container, data frame, series or TargetTable of shape (n, L) or (n,)
        unknown : scalar, optional
            A value that means "unknown", besides NaN, None, NaT and NA.
        n_rows : int, optional
            Number of rows of X, which must be that of `y`.
        name : str
            What error messages call the table.
        """
        table = as_columns(y, unknown=unknown, name=name)
        _check_rows(table, n_rows)
        codes = np.full(table.shape, UNKNOWN, dtype=CODE)
        classes = []
        for j, column in enumerate(table.columns):
            known: Any = table.known[:, j]
            if not known.any():
                raise ValueError(f"{table.describe(j)} is all unknown: it has no value to learn from.")
            if known.all():
                known = slice(None)
            own, codes[known, j] = factorise(column[known])
            classes.append(own)
        library = table.library if table.library in LIBRARIES else None
        dtypes = None if library is None else [ColumnType.of_native(library, dtype) for dtype in table.dtypes or []]
        return cls(classes, table.names, library, dtypes, table.is_1d, unknown), codes

    def encode(self, y: Any, *, n_rows: int | None = None, name: str = "y", allow_new: bool = False) -> np.ndarray:
        """Return the codes of a table with one column for each label; a ValueError says what is not one of the classes.

        The columns of a data frame are matched by name if the codec has names. Cells may be unknown. With `allow_new`,
        values that are not classes get the code `NEW`.
        """
        table = as_columns(y, unknown=self.unknown, name=name)
        labels = self._match(table)
        if len(labels) != len(self.classes):
            raise ValueError(f"{name} has {len(labels)} columns, but there are {len(self.classes)} labels.")
        return self._codes(table, labels, n_rows, allow_new)

    def encode_given(self, given: Any, *, n_rows: int | None = None) -> np.ndarray | None:
        """Return the codes of labels that are known in advance, -1 elsewhere; None if none is known.

        A data frame may hold some of the labels only, in any order, if the codec has names.
        """
        if given is None:
            return None
        if self.names is not None and is_frame(given):
            # Check the names first: the other columns may hold anything.
            named = given if hasattr(given, "iloc") else nw.from_native(given, eager_only=True)
            self._refuse_other_names(list(named.columns), "given")
        table = as_columns(given, unknown=self.unknown, name="given")
        labels = self._match(table)
        if len(labels) != len(self.classes) and (self.names is None or not table.is_frame):
            raise ValueError(
                f"`given` has {len(labels)} columns for {len(self.classes)} labels: give one column per label, "
                "with NaN or None where nothing is known."
            )
        codes = self._codes(table, labels, n_rows)
        return codes if (codes != UNKNOWN).any() else None

    def _refuse_other_names(self, own: Sequence[Any], table: str) -> None:
        names = self.names or []
        if other := [name for name in own if name not in names]:
            raise ValueError(f"`{table}` has a column {other[0]!r}, which is not a target: the targets are {names}.")

    def _match(self, table: TargetTable) -> list[int]:
        """Return the label of each column: by name if both have names, else by position."""
        if self.names is None or not table.is_frame or table.names == self.names:
            return list(range(table.shape[1]))
        own = table.names or []
        self._refuse_other_names(own, table.name)
        repeated = [name for name in own if own.count(name) > 1 or self.names.count(name) > 1]
        if repeated:
            raise ValueError(
                f"`{table.name}` has a column {repeated[0]!r}, but more than one column has this name. Give all "
                "targets in the order of the training data, or rename the columns."
            )
        return [self.names.index(name) for name in own]

    def _codes(self, table: TargetTable, labels: list[int], n_rows: int | None, allow_new: bool = False) -> np.ndarray:
        _check_rows(table, n_rows)
        codes = np.full((table.shape[0], len(self.classes)), UNKNOWN, dtype=CODE)
        for j, (label, column) in enumerate(zip(labels, table.columns, strict=True)):
            known, classes = table.known[:, j], self.classes[label]
            values = column[known]
            found = look_up(values, classes)
            if allow_new:
                found = np.where(found < 0, NEW, found)
            elif (found < 0).any():
                raise ValueError(
                    f"{table.describe(j)} holds {plain(values[np.argmax(found < 0)])!r}, which is not one of its "
                    f"classes: {show_classes(classes)}."
                )
            codes[known, label] = found
        return codes

    # -- and back -----------------------------------------------------------------------------

    def decode(self, codes: np.ndarray, *, index: Any = None, container: str = "default") -> Any:
        """Return codes in the user's classes and container.

        Parameters
        ----------
        codes : int ndarray of shape (n, L)
        index : pandas index, optional
            Row labels for a pandas data frame.
        container : str, default="default"
            "default" returns what the table was: an array, of shape (n,) if it had one dimension, or a data frame
            of the same library with the same names and types. Otherwise a data frame of this library.

        Returns
        -------
        ndarray or data frame
            An array has one common type if all labels are numbers, strings or booleans. Otherwise it holds plain
            Python objects. Each value equals the class it stands for.
        """
        codes = np.asarray(codes)
        if codes.size and codes.min() < 0:
            raise ValueError("an unknown code (-1) has no class and cannot be decoded.")
        if container == "default" and not self.is_frame:
            values = self._look_up(codes)
            return values[:, 0] if self.is_1d else values
        library = str(self.library) if container == "default" else container
        # The types of one library mean nothing to another.
        dtypes = self.dtypes if library == self.library and self.dtypes else [None] * len(self.classes)
        return self._frame(library, [native_type(library, dtype) for dtype in dtypes], codes, index)

    def decode_array(self, codes: np.ndarray) -> np.ndarray:
        """Return codes of shape (..., L) as an array of classes of the same shape, None where a code is unknown."""
        values = self._look_up(np.maximum(codes, 0).reshape(-1, codes.shape[-1])).reshape(codes.shape)
        missing = codes == UNKNOWN
        if missing.any():
            values = values.astype(object)
            values[missing] = None
        return values

    def _look_up(self, codes: np.ndarray) -> np.ndarray:
        if self._is_code:
            return codes.astype(self._dtype)
        if self._alike:
            return self.classes[0][codes]
        values = np.empty(codes.shape, dtype=self._dtype)
        for j, classes in enumerate(self._tables):
            values[:, j] = classes[codes[:, j]]
        return values

    def _frame(self, library: str, dtypes: list[Any], codes: np.ndarray, index: Any) -> Any:
        """Return a data frame. Only the classes are converted to a column's type; rows are picked from them."""
        module = import_library(library)
        names = named_labels(self.names, len(self.classes))
        columns = list(zip(self.classes, dtypes, np.asarray(codes, dtype=np.int64).T, strict=True))
        if library == "polars":
            series = [module.Series(own.tolist(), dtype=dtype).gather(rows) for own, dtype, rows in columns]
            return module.DataFrame([one.alias(str(name)) for one, name in zip(series, names, strict=True)])
        if library == "pyarrow":
            types = [d.value_type if d is not None and module.types.is_dictionary(d) else d for d in dtypes]
            arrays = [module.array(own.tolist(), type=t) for t, own in zip(types, self.classes, strict=True)]
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


def default_label_names(n_labels: int) -> list[str]:
    """Return names for labels without names.

    >>> default_label_names(2)
    ['label_0', 'label_1']
    """
    return [f"label_{label}" for label in range(n_labels)]


def named_labels(names: Sequence[Any] | None, n_labels: int) -> list[Any]:
    """Return a name for each label: its own, or the default name if it has none.

    >>> named_labels(["wind", None], 2)
    ['wind', 'label_1']
    """
    default = default_label_names(n_labels)
    return default if names is None else [d if n is None else n for n, d in zip(names, default, strict=True)]


def common_dtype(classes: Sequence[np.ndarray]) -> np.dtype:
    """Return the type that holds the classes of all labels without changing any of them, or object."""
    kinds = {own.dtype.kind for own in classes}
    if kinds <= {"i", "u", "f"}:
        dtype = np.result_type(*(own.dtype for own in classes))
        exact = all(
            (own.astype(dtype) == own).all() and (own.dtype.kind == dtype.kind or "f" in kinds) for own in classes
        )
        # int64 and uint64 have only floats in common.
        return dtype if exact and (dtype.kind != "f" or "f" in kinds) else np.dtype(object)
    if len(kinds) == 1 and kinds <= {"b", "U", "S", "M", "m"}:
        return np.result_type(*(own.dtype for own in classes))
    return np.dtype(object)


def _check_rows(table: TargetTable, n_rows: int | None) -> None:
    if n_rows is not None and table.shape[0] != n_rows:
        raise ValueError(f"`X` has {n_rows} rows but `{table.name}` has {table.shape[0]}: they must have the same.")
