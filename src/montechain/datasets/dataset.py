"""One shape for every data set: inputs, labels, and what is known about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import nearest
from montechain.errors import DataError

__all__ = ["Dataset", "Split"]


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
        The inputs as they are in the file. In a frame, numbers are numbers, dates of typed tables are datetime64,
        nominal inputs are categoricals with the declared categories, text is text, and what is missing is NaN.
        Sparse files give a CSR array of numbers. `TableEncoder` makes numbers of either.
    Y : data frame of shape (n, L)
        One column for each label, in the file's order. Classes that are whole numbers are integers (nullable
        ones where a label has unknown cells); others are categoricals with the declared categories.
    feature_names : list of str
        Names of the inputs.
    classes : list of L lists
        The classes that are declared for each label, or, where none are declared, those that occur.
    name : str
    description : str
        Where the data come from, and what was done to them.
    """

    X: pd.DataFrame | sp.csr_array
    Y: pd.DataFrame
    feature_names: list[str]
    classes: list[list[Any]]
    name: str = ""
    description: str = ""
    _load_split: Callable[[], Split] | None = field(default=None, repr=False, compare=False)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self.Y.columns)

    @cached_property
    def split(self) -> Split | None:
        """The training and the test part that the data set was published with; None if there are none."""
        return None if self._load_split is None else self._load_split()

    def take(self, rows: Sequence[int] | np.ndarray) -> Dataset:
        """Return some of the rows, by position."""
        rows = np.asarray(rows)
        X = self.X.iloc[rows] if isinstance(self.X, pd.DataFrame) else self.X[rows]
        return replace(self, X=X, Y=self.Y.iloc[rows], _load_split=None)

    def join(self, *others: Dataset) -> Dataset:
        """Return these rows and then those of other data sets that have the same columns.

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
        """Return inputs and labels as one table, the labels last."""
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
