"""Label-stratified cross-validation folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from montechain.targets import UNKNOWN, TargetCodec, TargetTable, as_columns


class LabelStratifiedKFold(KFold):
    """Split rows into folds in which every class of every label is about equally frequent.

    Uses the iterative stratification of Sechidis, Tsoumakas and Vlahavas (On the stratification of multi-label data,
    ECML PKDD 2011): as long as rows are left, take the rarest pair (label, class) among them and give each of its rows
    to the fold with the fewest rows of that pair, then to the smallest fold, then at random. Rare classes are placed
    first, while every fold still has room. Beyond the published algorithm, labels may have more than two classes,
    unknown cells are ignored, and fold sizes differ by at most one. With an integer as `random_state`, every call of
    `split` gives the same folds.

    >>> Y = [[1, "red"], [0, "red"], [0, None], [1, "tan"], [0, "tan"], [0, "red"]]
    >>> folds = LabelStratifiedKFold(n_splits=2, random_state=0)
    >>> [len(test) for _, test in folds.split(Y, Y)]
    [3, 3]
    """

    def __init__(self, n_splits: int = 5, *, random_state: Any = None):
        super().__init__(n_splits, shuffle=True, random_state=random_state)

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[np.ndarray]:
        """Yield which rows each fold tests, for `split`."""
        fold = self.assign(y)
        yield from (fold == number for number in range(self.n_splits))

    def assign(self, y: Any) -> np.ndarray:
        """Return, for each row, the number of the fold that tests it.

        `y` is a label table of any kind, with NaN, None or NA where a label is unknown.
        """
        if y is None:
            raise ValueError("`y` is None: stratification needs the labels. Pass split(X, Y).")
        table = as_columns(y, name="y")
        n_rows, known = len(table.known), np.flatnonzero(table.known.any(axis=0)).tolist()
        # Of each cell, the number of its pair (label, class).
        pairs, n_pairs = np.full((n_rows, 1), UNKNOWN), 0
        if known:
            table = TargetTable([table.columns[j] for j in known], table.known[:, known], "y")
            codec, codes = TargetCodec.fit_encode(table)
            *starts, n_pairs = np.cumsum([0, *codec.n_classes]).tolist()
            pairs = np.where(codes >= 0, codes + starts, UNKNOWN)
        rng = check_random_state(self.random_state)
        order, priority = rng.permutation(n_rows), rng.permutation(n_pairs)
        return assign_folds(pairs, self.n_splits, order, priority, rng.random_sample(n_rows))


def assign_folds(
    pairs: np.ndarray, n_folds: int, order: np.ndarray, priority: np.ndarray, uniforms: np.ndarray
) -> np.ndarray:
    """Return the fold of each row by iterative stratification.

    `pairs` of shape (n, L) numbers the pairs (label, class) of each row, -1 for unknown. Rows are visited in `order`;
    among equally rare pairs the one with the smallest `priority` comes first; `uniforms` in [0, 1), one for each row,
    break ties between folds.
    """
    known = pairs >= 0
    label_of = np.zeros(len(priority), dtype=np.int64)
    label_of[pairs[known]] = np.nonzero(known)[1]
    remaining = np.bincount(pairs[known], minlength=len(priority))
    # All folds want the same share of a pair, so the fold that lacks most is the one that has least. Counting in
    # integers keeps ties exact.
    counts = np.zeros((n_folds, len(priority)), dtype=np.int64)
    sizes = [0] * n_folds
    smallest, n_larger = divmod(len(pairs), n_folds)
    fold = np.full(len(pairs), UNKNOWN, dtype=np.int64)

    def place(row: int, held: list[int]) -> int:
        capacity = smallest if sum(size > smallest for size in sizes) >= n_larger else smallest + 1
        best = min((held[j], sizes[j]) for j in range(n_folds) if sizes[j] < capacity)
        tied = [j for j in range(n_folds) if sizes[j] < capacity and (held[j], sizes[j]) == best]
        chosen = tied[int(uniforms[row] * len(tied))]
        own = pairs[row][known[row]]
        counts[chosen, own] += 1
        remaining[own] -= 1
        sizes[chosen] += 1
        fold[row] = chosen
        return chosen

    by_priority = np.argsort(priority)
    left = by_priority[remaining[by_priority] > 0]
    while len(left):
        pair = left[np.argmin(remaining[left])]
        held = counts[:, pair].tolist()
        for row in order[(pairs[order, label_of[pair]] == pair) & (fold[order] == UNKNOWN)].tolist():
            held[place(row, held)] += 1
        left = left[remaining[left] > 0]
    for row in order[fold[order] == UNKNOWN].tolist():
        place(row, sizes)
    return fold
