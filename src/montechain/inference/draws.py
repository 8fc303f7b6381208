"""Many draws at once from chains of any kind, with the certificate that they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from montechain._kernels.joint import log_joint, sample
from montechain._kernels.ties import TIE
from montechain.prefix_tree import PrefixTree, distinct, draw_classes
from montechain.targets import CODE

__all__ = ["Draws", "draw", "draw_by_level"]


@dataclass(frozen=True)
class Draws:
    """The distinct vectors among the draws of n rows, ragged.

    Parameters
    ----------
    indptr : int64 ndarray of shape (n + 1,)
    labels : int32 ndarray of shape (m, L)
    counts : int64 ndarray of shape (m,)
        How many draws gave the vector.
    log_proba : ndarray of shape (m,)
        log p(y | x).
    log_weight : ndarray of shape (m,)
        The part of it that known classes contribute.
    first : int64 ndarray of shape (m,), optional
        The number of the first draw that gave the vector.
    """

    indptr: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    log_proba: np.ndarray
    log_weight: np.ndarray
    first: np.ndarray | None = None

    @property
    def rows(self) -> np.ndarray:
        """The row of each vector."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def sum_by_row(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of `values`, one per vector, over each row."""
        return np.bincount(self.rows, weights=values, minlength=len(self.indptr) - 1)

    def weights(self) -> np.ndarray:
        """Return the share of each vector among the draws, weighted for what is known; sums to one in each row."""
        largest = np.full(len(self.indptr) - 1, -np.inf)
        np.maximum.at(largest, self.rows, self.log_weight)
        # What is known may be impossible under the chain; then all draws count alike.
        largest = np.where(largest > -np.inf, largest, 0.0)[self.rows]
        impossible = self.sum_by_row(np.exp(self.log_weight - largest)) == 0
        weights = self.counts * np.where(impossible[self.rows], 1.0, np.exp(self.log_weight - largest))
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
        assert self.first is not None
        rows, largest = self.rows, floor + TIE
        np.maximum.at(largest, rows, self.log_proba)
        found = np.flatnonzero((self.log_proba >= largest[rows] - TIE) & (self.log_proba > floor[rows] + TIE))
        found = found[np.lexsort((self.first[found], rows[found]))]
        return found[np.unique(rows[found], return_index=True)[1]]

    def mass_by_class(self, weights: np.ndarray, n_classes: tuple[int, ...]) -> np.ndarray:
        """Return the sum of `weights` over the vectors of each row that have each class: (n, L, largest K)."""
        n_rows, n_labels, most = len(self.indptr) - 1, len(n_classes), max(n_classes)
        cells = (self.rows[:, None] * n_labels + np.arange(n_labels)) * most + self.labels
        mass = np.bincount(cells.ravel(), np.repeat(weights, n_labels), minlength=n_rows * n_labels * most)
        return mass.reshape(n_rows, n_labels, most)


def draw(tree: PrefixTree, uniforms: np.ndarray) -> Draws:
    """Draw one vector of each row for each line of `uniforms`, of shape (S, L), which all rows share."""
    if tree.scores is None:
        return draw_by_level(tree, uniforms, np.full(tree.n_rows, -np.inf))[0]
    base, links, given = tree.arrays
    labels, log_weight = sample(base, links, given, uniforms[None])
    labels, rows = labels.reshape(-1, labels.shape[2]), np.repeat(np.arange(tree.n_rows), len(uniforms))
    _, first, place = distinct(rows, labels, tree.chain.n_classes)
    rows, labels = rows[first], labels[first]
    return Draws(
        indptr=np.searchsorted(rows, np.arange(tree.n_rows + 1)),
        labels=labels,
        counts=np.bincount(place, minlength=len(first)),
        log_proba=log_joint(base[rows], links, labels),
        log_weight=log_weight.ravel()[first],
    )


def draw_by_level(tree: PrefixTree, uniforms: np.ndarray, floor: np.ndarray) -> tuple[Draws, np.ndarray]:
    """Draw ``len(uniforms)`` vectors for each row, all rows and draws together, position by position.

    Parameters
    ----------
    tree : PrefixTree
    uniforms : ndarray of shape (S, L)
        Uniform numbers in [0, 1), the same for all rows.
    floor : ndarray of shape (n,)
        Draws are given up once their log-probability is not above this; minus infinity keeps all.

    Returns
    -------
    draws : Draws
    unseen : ndarray of shape (n,)
        No vector, except those drawn or given up, has a higher log-probability than this.
    """
    n_rows, n_samples = tree.n_rows, len(uniforms)
    unseen = np.full(n_rows, -np.inf)
    rows, prefix = np.arange(n_rows), np.zeros((n_rows, 0), dtype=CODE)
    partial, weight, counts = np.zeros(n_rows), np.zeros(n_rows), np.full(n_rows, n_samples)
    first = np.zeros(n_rows, dtype=np.int64)
    node, draw = np.repeat(rows, n_samples), np.tile(np.arange(n_samples), n_rows)
    for k in range(tree.chain.n_labels):
        log_proba = tree.expand(rows, prefix)
        known = np.full(len(rows), -1) if tree.given is None else tree.given[rows, k]
        classes = np.where(known[node] < 0, draw_classes(log_proba[node], uniforms[draw, k]), known[node])
        # Draws stand in their order, so the first of each set is the one drawn first.
        reached, at, node, counts = np.unique(
            node * log_proba.shape[1] + classes, return_index=True, return_inverse=True, return_counts=True
        )
        first = draw[at]
        origin, classes = np.divmod(reached, log_proba.shape[1])
        gain = log_proba[origin, classes]
        not_entered = log_proba.copy()
        not_entered[origin, classes] = -np.inf
        np.maximum.at(unseen, rows, partial + not_entered.max(axis=1))
        rows, prefix = rows[origin], np.column_stack([prefix[origin], classes.astype(CODE)])
        partial, weight = partial[origin] + gain, weight[origin] + np.where(known[origin] >= 0, gain, 0.0)
        keep = (partial > floor[rows] + TIE) | (floor[rows] == -np.inf)
        node, draw = (np.cumsum(keep) - 1)[node[keep[node]]], draw[keep[node]]
        rows, prefix, partial, weight, counts = rows[keep], prefix[keep], partial[keep], weight[keep], counts[keep]
        first = first[keep]
    indptr = np.searchsorted(rows, np.arange(n_rows + 1))
    return Draws(indptr, prefix, counts, partial, weight, first), unseen
