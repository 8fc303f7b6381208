"""One sweep over the levels of the prefix tree, for links of any kind.

Greedy, beam and exhaustive search and branch and bound are settings of `sweep`. Searches with rules of their own
(epsilon-approximate, enumeration) grow `Prefixes` themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from montechain._kernels.ties import TIE, level
from montechain.prefix_tree import PrefixTree
from montechain.targets import CODE


@dataclass(frozen=True)
class Prefixes:
    """Label prefixes of the same length k, of several rows.

    `labels` is of shape (m, k). `free` and `known` are the sums of the log-probabilities of the classes that were free
    to choose, and of those known beforehand. `origin` is the index of the prefix that each was grown from.
    """

    rows: np.ndarray
    labels: np.ndarray
    free: np.ndarray
    known: np.ndarray
    origin: np.ndarray

    @classmethod
    def empty(cls, rows: np.ndarray) -> Prefixes:
        """Return the empty prefix of each of `rows`."""
        return cls(rows, np.empty((len(rows), 0), dtype=CODE), np.zeros(len(rows)), np.zeros(len(rows)), rows)

    @property
    def log_mass(self) -> np.ndarray:
        """Log-probabilities of the prefixes."""
        return self.free + self.known

    def take(self, index: np.ndarray) -> Prefixes:
        """Return the prefixes of an index or a mask, in this order."""
        return Prefixes(*(getattr(self, field.name)[index] for field in fields(self)))

    def grow(self, tree: PrefixTree) -> Prefixes:
        """Return all prefixes that are longer by one class: in the order of the prefixes, then of the classes.

        A known class is the only one that may follow.
        """
        log_proba = tree.expand(self.rows, self.labels)
        m, n_classes = log_proba.shape
        if tree.given is None:
            origin, classes = np.repeat(np.arange(m), n_classes), np.tile(np.arange(n_classes), m)
            free, known = self.free[origin] + log_proba.ravel(), self.known[origin]
        else:
            own = tree.given[self.rows, self.labels.shape[1]][:, None]
            origin, classes = np.nonzero((own < 0) | (own == np.arange(n_classes)))
            step, is_known = log_proba[origin, classes], own[origin, 0] >= 0
            free = self.free[origin] + np.where(is_known, 0.0, step)
            known = self.known[origin] + np.where(is_known, step, 0.0)
        labels = np.column_stack([self.labels[origin], classes.astype(CODE)])
        return Prefixes(self.rows[origin], labels, free, known, origin)


@dataclass(frozen=True)
class Swept:
    """The complete vectors that a sweep has kept, and what it has dropped.

    The vectors are sorted by row; with a `width`, best first within a row. For each row, `dropped` is the
    log-probability of the most probable prefix dropped for lack of width, and `dropped_mass` the mass of all of them.
    """

    vectors: Prefixes
    dropped: np.ndarray
    dropped_mass: np.ndarray

    def best(self) -> Prefixes:
        """Return the most probable vector of each row that has one."""
        rows, log_mass = self.vectors.rows, self.vectors.log_mass
        largest = np.full(len(self.dropped), -np.inf)
        np.maximum.at(largest, rows, log_mass)
        best = np.flatnonzero(log_mass >= largest[rows] - TIE)
        return self.vectors.take(best[np.diff(rows[best], prepend=-1) > 0])


def sweep(tree: PrefixTree, *, width: int | None = None, above: np.ndarray | None = None) -> Swept:
    """Grow prefixes level by level, all rows together, and keep some of each row at every level.

    Without a restriction this is exhaustive search. `width` is the number of prefixes kept, the most probable ones: 1
    is greedy search, more is a beam. With `above`, of shape (n,), only prefixes with a log-probability above that of
    their row are kept: branch and bound.
    """
    prefixes = Prefixes.empty(np.arange(tree.n_rows))
    dropped, dropped_mass = np.full(tree.n_rows, -np.inf), np.zeros(tree.n_rows)
    for _ in range(tree.chain.n_labels):
        prefixes = prefixes.grow(tree)
        if above is not None:
            prefixes = prefixes.take(prefixes.log_mass > above[prefixes.rows])
        if width is not None:
            rows, log_mass = prefixes.rows, prefixes.log_mass
            order, rank = best_first(rows, log_mass)
            cut = order[rank >= width]
            np.maximum.at(dropped, rows[cut], log_mass[cut])
            dropped_mass += np.bincount(rows[cut], np.exp(log_mass[cut]), minlength=tree.n_rows)
            prefixes = prefixes.take(order[rank < width])
    return Swept(prefixes, dropped, dropped_mass)


def best_first(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order that sorts by row, then from the largest value down, and each entry's rank in its row.

    Equal values keep their order.
    """
    order = np.lexsort((-level(values), rows))
    first = np.flatnonzero(np.diff(rows[order], prepend=-1))
    return order, np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))


def log_sum_by_row(rows: np.ndarray, values: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the logarithm of the sum of exp(values) in each row."""
    largest = np.full(n_rows, -np.inf)
    np.maximum.at(largest, rows, values)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    sums = np.bincount(rows, weights=np.exp(values - shift[rows]), minlength=n_rows)
    with np.errstate(divide="ignore"):
        return np.log(sums) + shift
