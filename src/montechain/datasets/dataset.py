"""The shape of every data set, and how columns become labels with classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api import types

from montechain._messages import nearest
from montechain.datasets.columns import LARGEST_WHOLE
from montechain.errors import DataError

__all__ = ["Dataset", "Split", "label_table"]

MANY = 100
"""Undeclared whole numbers are measurements if more than this many occur, on average less than twice each."""
SHOWN = 12
"""Maximum number of names or values listed in an error."""

_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


class Split(NamedTuple):
    """A training part and a test part."""

    train: Dataset
    test: Dataset


@dataclass(frozen=True)
class Dataset:
    """A table of inputs and a table of labels, row by row.

    Attributes
    ----------
    X : data frame or CSR array of shape (n, d)
        The inputs. In a frame, the types say what a column is: numbers, datetime64, categoricals (with the declared
        categories, if the file declares them) or text; missing cells are NaN, NaT or NA. Sparse files give a CSR
        array. `TableEncoder` turns either into numbers.
    Y : data frame of shape (n, L)
        One column per label, in the file's order. Classes that are whole numbers are integers (nullable
        where a label has unknown cells); others are categoricals with the declared categories.
    feature_names : list of str
        Names of the inputs.
    classes : list of L lists
        The classes declared for each label or, if none are declared, those that occur.
    name : str
    description : str
        Where the data come from.
    notes : list of str
        What reading the data found, in plain sentences: stray cells, dates, likely identifiers, rows left out.
    date_formats : dict of str to str
        The format of each column of dates that was read from text.
    """

    X: pd.DataFrame | sp.csr_array
    Y: pd.DataFrame
    feature_names: list[str]
    classes: list[list[Any]]
    name: str = ""
    description: str = ""
    notes: list[str] = field(default_factory=list)
    date_formats: dict[str, str] = field(default_factory=dict)
    _load_split: Callable[[], Split] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Many classifiers of scikit-learn take no 64-bit indices.
        if sp.issparse(self.X) and self.X.indices.dtype != np.int32 and max(*self.X.shape, self.X.nnz) < 2**31:
            content = (self.X.data, self.X.indices.astype(np.int32), self.X.indptr.astype(np.int32))
            object.__setattr__(self, "X", sp.csr_array(content, shape=self.X.shape))

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self.Y.columns)

    @cached_property
    def split(self) -> Split | None:
        """The official training and test part; None if there is none."""
        return None if self._load_split is None else self._load_split()

    def take(self, rows: Sequence[int] | np.ndarray) -> Dataset:
        """Return some of the rows, by position."""
        rows = np.asarray(rows)
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return replace(self, X=X, Y=self.Y.iloc[rows], _load_split=None)

    def join(self, *others: Dataset) -> Dataset:
        """Return these rows, followed by those of other data sets with the same columns.

        >>> data = Dataset(pd.DataFrame({"x": [1.5, 2.5]}), pd.DataFrame({"y": [0, 1]}), ["x"], [[0, 1]])
        >>> data.take([1]).join(data).to_frame()
             x  y
        0  2.5  1
        1  1.5  0
        2  2.5  1
        """
        pieces = [self, *others]
        tables = [piece.X for piece in pieces]
        is_frame = isinstance(self.X, pd.DataFrame)
        X = pd.concat(tables, ignore_index=True) if is_frame else sp.csr_array(sp.vstack(tables))
        Y = pd.concat([piece.Y for piece in pieces], ignore_index=True)
        return replace(self, X=X, Y=Y, _load_split=None)

    def to_frame(self) -> pd.DataFrame:
        """Return inputs and labels as one table, labels last."""
        X = self.X
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X.toarray(), columns=self.feature_names, index=self.Y.index)
        return pd.concat([X, self.Y], axis=1)

    def with_inputs(self, names: Sequence[str]) -> Dataset:
        """Return the inputs of these names, in this order.

        Raises
        ------
        DataError
            If some of them are missing.
        """
        position = {name: column for column, name in enumerate(self.feature_names)}
        if missing := [name for name in names if name not in position]:
            listed = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            # A column that is needed itself is not a misspelling of another.
            close = nearest(missing[0], [name for name in position if name not in set(names)])
            what = "is no column" if len(missing) == 1 else "are no columns"
            raise DataError(f"there {what} {listed}, needed as input{close or '.'}", path=self.name or None)
        columns = [position[name] for name in names]
        X = self.X.iloc[:, columns] if isinstance(self.X, pd.DataFrame) else self.X[:, columns]
        return replace(self, X=X, feature_names=list(names), _load_split=None)


def label_table(columns: pd.DataFrame, *, path: str | Path | None = None) -> tuple[pd.DataFrame, list[list[Any]]]:
    """Turn columns into labels: whole numbers become integers, everything else categoricals.

    Returns
    -------
    Y : data frame of shape (n, L)
        Whole numbers, even if written as text, are int64, or Int64 in a column with unknown cells. Others are
        categoricals with the declared categories or, if none are declared, the sorted ones that occur.
    classes : list of L lists
        The declared classes, or those that occur; whole numbers are sorted.

    Raises
    ------
    DataError
        If a label is continuous, or entirely unknown, or mixes numbers and texts.

    Examples
    --------
    >>> Y, classes = label_table(pd.DataFrame({"loud": ["1", "0", None], "mood": ["sad", "glad", "sad"]}))
    >>> Y.dtypes.astype(str).tolist(), classes
    (['Int64', 'category'], [[0, 1], ['glad', 'sad']])
    """
    pairs = [_label(columns.iloc[:, j], name, path) for j, name in enumerate(columns.columns)]
    Y = pd.DataFrame(dict(enumerate(label for label, _ in pairs)), index=columns.index)
    Y.columns = columns.columns
    return Y, [classes for _, classes in pairs]


def _label(series: pd.Series, name: Any, path: str | Path | None) -> tuple[Any, list[Any]]:
    """Return one label and its classes."""
    unknown = series.isna().to_numpy()
    if unknown.all():
        raise DataError(f"the label {name!r} has no known value: leave it out of the targets.", path=path)
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        return _whole_numbers(_numbers(series, unknown), unknown, None, name, path)
    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, classes = series.cat.codes.to_numpy(), series.cat.categories.tolist()
        kinds = {_kind(value) for value in classes}
    else:
        codes, distinct = pd.factorize(series)
        classes = [value.item() if isinstance(value, np.generic) else value for value in distinct]
        kinds = {_kind(value) for value in classes}
        if len(kinds) > 1 or "other things" in kinds:
            raise DataError(
                f"the label {name!r} holds {' and '.join(sorted(kinds))}, such as {shown(classes)}: "
                "make them all text, or leave it out of the targets.",
                path=path,
            )
        order = sorted(range(len(classes)), key=classes.__getitem__)
        codes, classes = np.append(np.argsort(order), -1)[codes], [classes[place] for place in order]
    whole = _as_whole(classes)
    if whole is not None:
        return _whole_numbers(np.array([*whole, 0])[codes], unknown, sorted(whole), name, path)
    if kinds == {"numbers"}:
        return _whole_numbers(np.array([*classes, 0], dtype=np.float64)[codes], unknown, None, name, path)
    return pd.Categorical.from_codes(codes, categories=classes), classes


def _numbers(series: pd.Series, unknown: np.ndarray) -> np.ndarray:
    """Return numbers as int64 if they are whole by type and fit, else as float64."""
    if types.is_integer_dtype(series.dtype):
        values = (series.fillna(0) if unknown.any() else series).to_numpy()
        if values.dtype != np.uint64 or values.max() < 2**63:
            return values.astype(np.int64)
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _whole_numbers(
    numbers: np.ndarray, unknown: np.ndarray, declared: list[int] | None, name: Any, path: str | Path | None
) -> tuple[Any, list[int]]:
    """Return a label of whole numbers and its classes, or refuse measurements."""
    known = numbers[~unknown]
    broken = np.zeros(len(known), dtype=bool)
    if known.dtype != np.int64:
        broken = (known != np.floor(known)) | (np.abs(known) >= LARGEST_WHOLE)
    classes = np.unique(known)
    if broken.any() or (declared is None and len(classes) > max(MANY, len(known) / 2)):
        example = known[np.argmax(broken)].item()
        raise DataError(
            f"the label {name!r} is continuous (it holds {example:g}): a label has classes. Bin it first, for example "
            "with pandas.cut, or leave it out of the targets.",
            path=path,
        )
    found = classes.astype(np.int64).tolist() if declared is None else declared
    integers = np.where(unknown, 0, numbers).astype(np.int64)
    return pd.arrays.IntegerArray(integers, unknown) if unknown.any() else integers, found


def _as_whole(values: list[Any]) -> list[int] | None:
    """Return values that are whole numbers, or texts of such, as integers; None if one is not."""
    if all(isinstance(value, str) and _WHOLE.fullmatch(value) for value in values):
        return [int(value) for value in values]
    if all(_kind(value) == "numbers" and _is_whole(value) for value in values):
        return [int(value) for value in values]
    return None


def _is_whole(value: Any) -> bool:
    if isinstance(value, Integral):
        return -(2**63) <= int(value) < 2**63
    return bool(abs(value) < LARGEST_WHOLE and value == int(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, Real):
        return "numbers"
    return "texts" if isinstance(value, str) else "other things"


def shown(values: Sequence[Any]) -> str:
    """Return names or values for a message, the first dozen of them."""
    listed = ", ".join(repr(value) for value in list(values)[:SHOWN])
    return listed + (", …" if len(values) > SHOWN else "")
