"""Many draws at once from chains of any kind, with the certificate that they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from montechain._kernels.ties import TIE
from montechain.prefix_tree import PrefixTree
from montechain.targets import CODE

__all__ = ["Draws", "draw"]


@dataclass(frozen=True)
class Draws:
    """The distinct vectors among the draws of n rows, sorted by row and then by class.

    Parameters
    ----------
    rows : int64 ndarray of shape (m,)
    labels : int32 ndarray of shape (m, L)
    counts : int64 ndarray of shape (m,)
        How many draws gave the vector.
    first : int64 ndarray of shape (m,)
        The number of the first draw that did.
    log_proba : ndarray of shape (m,)
        log p(y | x).
    log_weight : ndarray of shape (m,)
        The part of it that known classes contribute.
    unseen : ndarray of shape (n,)
        No vector, except those drawn or given up, has a higher log-probability than this.
    """

    rows: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    log_proba: np.ndarray
    log_weight: np.ndarray
    unseen: np.ndarray

    def sum_by_row(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of `values`, one per vector, over each row."""
        return np.bincount(self.rows, weights=values, minlength=len(self.unseen))

    def weights(self) -> np.ndarray:
        """Return the share of each vector among the draws, weighted for what is known; sums to one in each row."""
        largest = np.full(len(self.unseen), -np.inf)
        np.maximum.at(largest, self.rows, self.log_weight)
        # What is known may be impossible under the chain; then all draws count alike.
        impossible = np.isneginf(largest)
        relative = np.exp(self.log_weight - np.where(impossible, 0.0, largest)[self.rows])
        weights = self.counts * np.where(impossible[self.rows], 1.0, relative)
        return weights / self.sum_by_row(weights)[self.rows]

    def unseen_mass(self) -> np.ndarray:
        """Return for each row a bound on the probability of all vectors that agree with `given` and were not drawn.

        Exact where nothing is known; otherwise known classes count as certain in vectors that were not drawn.
        """
        certain = self.log_weight > -np.inf
        drawn = np.where(certain, np.exp(self.log_proba - np.where(certain, self.log_weight, 0.0)), 0.0)
        return np.maximum(1.0 - self.sum_by_row(drawn), 0.0)

    def best(self, floor: np.ndarray) -> np.ndarray:
        """Return the most probable vector of each row that has one above `floor`, the one drawn first of equals."""
        rows, largest = self.rows, floor + TIE
        np.maximum.at(largest, rows, self.log_proba)
        found = np.flatnonzero((self.log_proba >= largest[rows] - TIE) & (self.log_proba > floor[rows] + TIE))
        found = found[np.lexsort((self.first[found], rows[found]))]
        return found[np.diff(rows[found], prepend=-1) > 0]


def draw(tree: PrefixTree, uniforms: np.ndarray, floor: np.ndarray | None = None) -> Draws:
    """Draw ``len(uniforms)`` vectors for each row, all rows and draws together, position by position.

    Parameters
    ----------
    tree : PrefixTree
    uniforms : ndarray of shape (S, L)
        Uniform numbers in [0, 1), the same for all rows.
    floor : ndarray of shape (n,), optional
        Draws are given up once their log-probability is not above this.
    """
    n_rows, n_samples = tree.n_rows, len(uniforms)
    unseen, floor = np.full(n_rows, -np.inf), np.full(n_rows, -np.inf) if floor is None else floor
    # The distinct prefixes; and of each draw, its prefix and its number.
    rows, labels = np.arange(n_rows), np.zeros((n_rows, 0), dtype=CODE)
    log_proba, log_weight = np.zeros((2, n_rows))
    place, sample = np.repeat(rows, n_samples), np.tile(np.arange(n_samples), n_rows)
    for k in range(tree.chain.n_labels):
        conditional = tree.expand(rows, labels)
        known = np.full(len(rows), -1) if tree.given is None else tree.given[rows, k]
        # As in `draw_classes`, but many draws share a prefix.
        cumulative = np.cumsum(np.exp(conditional[:, :-1]), axis=1)
        drawn = (cumulative[place] <= uniforms[sample, k, None]).sum(axis=1)
        child = place * conditional.shape[1] + np.where(known[place] < 0, drawn, known[place])
        is_entered = np.zeros(conditional.size, dtype=bool)
        is_entered[child] = True
        left_out = np.where(is_entered.reshape(conditional.shape), -np.inf, conditional)
        np.maximum.at(unseen, rows, log_proba + left_out.max(axis=1, initial=-np.inf))
        entered = np.flatnonzero(is_entered)
        origin, gain = entered // conditional.shape[1], conditional.ravel()[entered]
        value = log_proba[origin] + gain
        limit = floor[rows[origin]]
        keep = (value > limit + TIE) | np.isneginf(limit)
        entered, origin, gain, log_proba = entered[keep], origin[keep], gain[keep], value[keep]
        log_weight = log_weight[origin] + np.where(known[origin] >= 0, gain, 0.0)
        rows = rows[origin]
        labels = np.column_stack([labels[origin], (entered % conditional.shape[1]).astype(CODE)])
        number = np.full(conditional.size, -1)
        number[entered] = np.arange(len(entered))
        place = number[child]
        place, sample = place[place >= 0], sample[place >= 0]
    first = np.empty(len(rows), dtype=np.int64)
    first[place[::-1]] = sample[::-1]  # draws stand in their order, so the first one is written last
    return Draws(rows, labels, np.bincount(place, minlength=len(rows)), first, log_proba, log_weight, unseen)
