"""The shape of every data set, and how columns become labels with classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api import types

from montechain._messages import nearest
from montechain.datasets.columns import DATES_AS_LABELS
from montechain.errors import DataError

MANY = 100
"""Undeclared whole numbers are measurements if more than this many occur, on average less than twice each."""
LARGEST_WHOLE = 2**53
"""From here on a float cannot tell neighbouring whole numbers apart."""

WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


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
        categories, if the file declares them), or strings for text and for dates written as such; missing cells are
        NaN, NaT or NA. Sparse files give a CSR array. `TableEncoder` turns either into numbers.
    Y : data frame of shape (n, L)
        One column per label, in the file's order. Classes that are whole numbers are integers (nullable
        where a label has unknown cells); others are categoricals with the declared categories.
    feature_names : list of str
        Names of the inputs.
    classes : list of L lists
        The classes declared for each label or, if none are declared, those that occur.
    name : str
    notes : list of str
        What reading the data found, in plain sentences: stray cells, dates, rows left out.
    split : Split or None
        The training and test part that the data were published with.
    """

    X: pd.DataFrame | sp.csr_array
    Y: pd.DataFrame
    feature_names: list[str]
    classes: list[list[Any]]
    name: str = ""
    notes: list[str] = field(default_factory=list)
    split: Split | None = field(default=None, repr=False)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self.Y.columns)

    def take(self, rows: Sequence[int] | np.ndarray) -> Dataset:
        """Return some of the rows, by position."""
        rows = np.asarray(rows)
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return replace(self, X=X, Y=self.Y.iloc[rows], split=None)

    def to_frame(self) -> pd.DataFrame:
        """Return inputs and labels as one table, labels last."""
        X = self.X
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X.toarray(), columns=self.feature_names, index=self.Y.index)
        return pd.concat([X, self.Y], axis=1)

    def with_inputs(self, names: Sequence[str]) -> Dataset:
        """Return the inputs of these names, in this order; a `DataError` if some of them are missing."""
        position = {name: column for column, name in enumerate(self.feature_names)}
        if missing := [name for name in names if name not in position]:
            listed = ", ".join(map(repr, missing[:5])) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            # A column that is needed itself is not a misspelling of another.
            close = nearest(missing[0], [name for name in position if name not in set(names)])
            raise DataError(f"these inputs are missing: {listed}{close or '.'}", path=self.name or None)
        columns = [position[name] for name in names]
        X = self.X.iloc[:, columns] if isinstance(self.X, pd.DataFrame) else self.X[:, columns]
        return replace(self, X=X, feature_names=list(names), split=None)


def label_table(columns: pd.DataFrame, *, path: str | Path | None = None) -> tuple[pd.DataFrame, list[list[Any]]]:
    """Return label columns in the types that `Dataset.Y` has, and the classes of each.

    Whole numbers, even if written as text, are int64, or Int64 in a column with unknown cells. Others are categoricals
    with the declared categories or, if none are declared, the sorted ones that occur. A label that is continuous or
    entirely unknown is a `DataError`.

    >>> Y, classes = label_table(pd.DataFrame({"loud": ["1", "0", None], "mood": ["sad", "glad", "sad"]}))
    >>> Y.dtypes.astype(str).tolist(), classes
    (['Int64', 'category'], [[0, 1], ['glad', 'sad']])
    """
    pairs = {name: _label(columns[name], name, path) for name in columns}
    Y = pd.DataFrame({name: label for name, (label, _) in pairs.items()}, index=columns.index)
    return Y, [classes for _, classes in pairs.values()]


def _label(series: pd.Series, name: Any, path: str | Path | None) -> tuple[Any, list[Any]]:
    """Return one label and its classes."""
    if series.isna().all():
        raise DataError(f"the label {name!r} has no known value: leave it out of the targets.", path=path)
    if types.is_datetime64_any_dtype(series.dtype):
        raise DataError(DATES_AS_LABELS.format(name=name, word=str(series.dropna().iloc[0])), path=path)
    unknown = series.isna().to_numpy(dtype=bool)
    declared = None
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        values = (series.fillna(0) if unknown.any() else series).to_numpy()
    else:
        try:
            words = series.array if isinstance(series.dtype, pd.CategoricalDtype) else pd.Categorical(series)
        except TypeError as error:
            raise DataError(f"the label {name!r} does not hold classes: {error}.", path=path) from error
        declared = words.categories.tolist()
        if all(isinstance(word, str) and WHOLE.fullmatch(word) for word in declared):
            declared = [int(word) for word in declared]
        elif types.is_bool_dtype(words.categories) or not types.is_numeric_dtype(words.categories):
            return words, declared
        values = np.array([*declared, 0])[words.codes]
    classes = np.unique(values[~unknown]) if declared is None else np.sort(declared)
    limit = LARGEST_WHOLE if classes.dtype.kind == "f" else 2**63
    broken = (classes != np.floor(classes)) | (np.abs(classes) >= limit)
    if broken.any() or (declared is None and len(classes) > max(MANY, np.sum(~unknown) / 2)):
        raise DataError(
            f"the label {name!r} is continuous (it holds {classes[np.argmax(broken)]:g}): a label has classes. Bin it "
            "first, for example with pandas.cut, or leave it out of the targets.",
            path=path,
        )
    integers = values.astype(np.int64)
    label = pd.arrays.IntegerArray(integers, unknown) if unknown.any() else integers
    return label, classes.astype(np.int64).tolist()
