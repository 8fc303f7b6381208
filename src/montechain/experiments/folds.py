"""Which rows are for training and which for testing: label-stratified folds, random splits, official splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator, ShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from montechain.datasets.dataset import Dataset
from montechain.targets import TargetCodec, TargetTable, as_columns

__all__ = ["LabelStratifiedKFold", "OfficialSplit", "RandomSplits", "assign_folds"]

NOTHING = -1
"""Stands for an unknown cell: it is not balanced."""


class LabelStratifiedKFold(BaseCrossValidator):
    """Folds in which every class of every label is about equally frequent.

    Iterative stratification: while there are rows to place, take the pair (label, class) that the fewest of
    them have, and give each of these rows to the fold that has the fewest rows of that pair; among equals,
    to the smallest fold; among equals, by lot. Rare classes are thus dealt out first, while every fold
    still has room. Beyond the published algorithm, labels may have more than two classes, unknown cells are
    ignored, and a fold that is full takes no more rows: the sizes of the folds differ by at most one.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least two.
    shuffle : bool, default=True
        Whether rows are visited, and ties are broken, at random. Otherwise rows are visited as they stand and
        the first of equals is taken.
    random_state : int, RandomState or None, default=None
        With an integer, every call of `split` gives the same folds.

    References
    ----------
    K. Sechidis, G. Tsoumakas, I. Vlahavas. On the stratification of multi-label data. ECML PKDD 2011.

    Examples
    --------
    >>> Y = [[1, "red"], [0, "red"], [0, None], [1, "tan"], [0, "tan"], [0, "red"]]
    >>> folds = LabelStratifiedKFold(n_splits=2, shuffle=False)
    >>> [test.tolist() for _, test in folds.split(Y, Y)]
    [[0, 4, 5], [1, 2, 3]]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None):
        if not isinstance(n_splits, Integral) or isinstance(n_splits, bool) or n_splits < 2:
            raise ValueError(f"`n_splits={n_splits!r}` must be a whole number of at least 2, e.g. n_splits=5.")
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"`shuffle={shuffle!r}` must be True or False.")
        if not shuffle and random_state is not None:
            raise ValueError(
                f"`random_state={random_state!r}` has no effect without shuffling: leave it out, or pass shuffle=True."
            )
        self.n_splits: int = int(n_splits)
        self.shuffle: bool = bool(shuffle)
        self.random_state: Any = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the positions of the training and of the test rows, fold by fold.

        Parameters
        ----------
        X : array, sparse container, data frame or None
            Only its number of rows is looked at.
        y : array, sparse container or data frame of shape (n, L) or (n,)
            Classes of any kind; NaN, None and NA where a label is unknown.
        groups : None
            Ignored; here for scikit-learn.
        """
        fold = self.assign(y)
        if X is not None and _num_samples(X) != len(fold):
            raise ValueError(f"`X` has {_num_samples(X)} rows but `y` has {len(fold)}: they must be as many.")
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def assign(self, y: Any) -> np.ndarray:
        """Return the number of the fold in which each row is tested.

        Parameters
        ----------
        y : array, sparse container or data frame of shape (n, L) or (n,)

        Returns
        -------
        int64 ndarray of shape (n,)
        """
        things, n_things = _things(y)
        n_rows = len(things)
        if n_rows < self.n_splits:
            advice = f"Try LabelStratifiedKFold(n_splits={n_rows})." if n_rows >= 2 else "At least 2 rows are needed."
            raise ValueError(f"`n_splits={self.n_splits}` is more than the {n_rows} rows of `y`. {advice}")
        if not self.shuffle:
            return assign_folds(things, self.n_splits, np.arange(n_rows), np.arange(n_things), np.zeros(n_rows))
        rng = check_random_state(self.random_state)
        return assign_folds(
            things, self.n_splits, rng.permutation(n_rows), rng.permutation(n_things), rng.random_sample(n_rows)
        )


def assign_folds(
    things: np.ndarray, n_folds: int, order: np.ndarray, priority: np.ndarray, uniforms: np.ndarray
) -> np.ndarray:
    """Return the fold of each row by iterative stratification.

    Parameters
    ----------
    things : int ndarray of shape (n, L)
        What each row has, to be balanced: numbers that are different within a row; -1 for nothing.
    n_folds : int
    order : int ndarray of shape (n,)
        In which order the rows that have a thing are visited.
    priority : int ndarray of shape (number of things,)
        Among the rarest things, the one with the smallest priority is taken.
    uniforms : ndarray of shape (n,)
        Draws from [0, 1) that break a row's ties between folds.

    Returns
    -------
    int64 ndarray of shape (n,)

    Examples
    --------
    >>> things = np.array([[0, 1], [0, -1], [2, 1], [2, -1]])
    >>> assign_folds(things, 2, np.arange(4), np.arange(3), np.zeros(4)).tolist()
    [0, 1, 1, 0]
    """
    n_rows = len(things)
    # In the order of visiting, and by column, since a thing's rows are looked up in its label's column.
    visited = np.asfortranarray(things[order])
    label_of = np.zeros(len(priority), dtype=np.int64)
    for label in range(visited.shape[1]):
        column = visited[:, label]
        label_of[column[column >= 0]] = label
    by_row = np.ascontiguousarray(visited)
    remaining = np.bincount(visited[visited >= 0].ravel(), minlength=len(priority))
    by_priority = np.argsort(priority)
    # All folds want the same share of a thing, so the one that lacks most is the one that has least: whole
    # numbers, in which ties are exact, stand for the shares of the published algorithm.
    having = np.zeros((n_folds, len(priority)), dtype=np.int64)
    size = [0] * n_folds
    least, n_larger = divmod(n_rows, n_folds)
    fold = np.full(n_rows, NOTHING, dtype=np.int64)

    def place(position: int, has: list[int]) -> int:
        full = least if sum(s > least for s in size) >= n_larger else least + 1
        tied = [(has[j], size[j]) for j in range(n_folds) if size[j] < full]
        best = min(tied)
        equals = [j for j in range(n_folds) if size[j] < full and (has[j], size[j]) == best]
        chosen = equals[int(uniforms[order[position]] * len(equals))]
        own = by_row[position]
        own = own[own >= 0]
        having[chosen, own] += 1
        remaining[own] -= 1
        size[chosen] += 1
        fold[position] = chosen
        return chosen

    alive = by_priority[remaining[by_priority] > 0]
    while len(alive):
        thing = alive[np.argmin(remaining[alive])]
        has = having[:, thing].tolist()
        for position in np.flatnonzero((visited[:, label_of[thing]] == thing) & (fold == NOTHING)).tolist():
            has[place(position, has)] += 1
        alive = alive[remaining[alive] > 0]
    for position in np.flatnonzero(fold == NOTHING).tolist():
        place(position, size)
    result = np.empty(n_rows, dtype=np.int64)
    result[order] = fold
    return result


def _things(y: Any) -> tuple[np.ndarray, int]:
    """Return the number of each cell's pair (label, class), `NOTHING` where it is unknown, and how many there are."""
    if y is None:
        raise ValueError("`y` is None: stratification needs the labels. Pass split(X, Y).")
    table = as_columns(y, name="y")
    some = np.flatnonzero(table.known.any(axis=0)).tolist()
    if not some:
        return np.full((table.shape[0], 1), NOTHING), 0
    table = TargetTable([table.columns[j] for j in some], table.known[:, some], "y")
    codec, codes = TargetCodec.fit_encode(table)
    starts = np.concatenate([[0], np.cumsum(codec.n_classes)])
    return np.where(codes >= 0, codes + starts[:-1], NOTHING), int(starts[-1])


class RandomSplits(ShuffleSplit):
    """Repeated random splits, by default a hundred times two thirds for training and one third for testing.

    Parameters
    ----------
    n_splits : int, default=100
    test_size : float or int, default=1/3
        Share of the rows to test, or their number.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> train, test = next(RandomSplits(random_state=0).split(np.zeros((9, 2))))
    >>> len(train), len(test)
    (6, 3)
    """

    def __init__(self, n_splits: int = 100, *, test_size: float = 1 / 3, random_state: Any = None):
        super().__init__(n_splits=n_splits, test_size=test_size, random_state=random_state)


class OfficialSplit(BaseCrossValidator):
    """The training and the test part that a data set was published with.

    As a splitter it speaks of the rows of `dataset_`, in which the test part follows the training part.

    Parameters
    ----------
    dataset : Dataset

    Attributes
    ----------
    train, test : Dataset

    Examples
    --------
    >>> import pandas as pd
    >>> from montechain.datasets import Split
    >>> X, Y = pd.DataFrame({"x": [1.0, 2.0, 3.0]}), pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]})
    >>> whole = Dataset(X, Y, ["x"], [[0, 1], [0, 1]], name="small")
    >>> published = replace(whole, _load_split=lambda: Split(whole.take([2, 0]), whole.take([1])))
    >>> official = OfficialSplit(published)
    >>> [(train.tolist(), test.tolist()) for train, test in official.split()]
    [([0, 1], [2])]
    >>> official.dataset_.X["x"].tolist()
    [3.0, 1.0, 2.0]
    """

    def __init__(self, dataset: Dataset):
        parts = dataset.split
        if parts is None:
            raise ValueError(
                f"the data set {dataset.name!r} was published without a training and a test part. "
                "Try LabelStratifiedKFold(n_splits=5, random_state=0)."
            )
        self.dataset = dataset
        self.train, self.test = parts

    @property
    def dataset_(self) -> Dataset:
        """The two parts, one after the other."""
        joined = self.train.join(self.test)
        return replace(self.dataset, X=joined.X, Y=joined.Y, _load_split=None)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the positions of the training and of the test rows in `dataset_`."""
        n_train, n_test = len(self.train.Y), len(self.test.Y)
        if X is not None and _num_samples(X) != n_train + n_test:
            raise ValueError(
                f"`X` has {_num_samples(X)} rows, but the two parts have {n_train} and {n_test}: pass the rows of "
                "`dataset_`."
            )
        yield np.arange(n_train), np.arange(n_train, n_train + n_test)

    def __repr__(self) -> str:
        return "OfficialSplit()"
