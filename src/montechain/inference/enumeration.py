"""Label vectors from the most probable on: distributions, the k best, the probability of what is known.

These are properties of the chain, not of the way in which one vector is searched for, so all strategies share them.
Each has a compiled path for label-linear chains and one for chains of any kind, which works level by level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from montechain._kernels.depth_first import k_best
from montechain._kernels.enumeration import enumerate_vectors
from montechain._messages import check_positive_argument
from montechain._rows import join_rows
from montechain.distributions import LabelDistribution
from montechain.inference.decision import TIGHT, TopK
from montechain.inference.sweep import Prefixes, best_first, log_sum_by_row, sweep
from montechain.prefix_tree import PrefixTree, distinct
from montechain.targets import CODE

__all__ = ["Effort", "distribution", "evidence", "top_k"]

FALL = math.log(8.0)
"""By how much the threshold of the generic enumeration falls from sweep to sweep, in log-probability."""

FEW_VECTORS = 256
"""Up to this many label vectors, all are enumerated, whatever residual is allowed."""


@dataclass(frozen=True)
class Effort:
    """How far to enumerate.

    Parameters
    ----------
    residual : float
        Mass, relative to what agrees with the known labels, that may stay unexplored.
    max_nodes : int
        Maximum number of prefixes expanded per row.
    n_samples : int
        Vectors drawn to stand for the unexplored mass where the budget ends first.
    """

    residual: float = 0.01
    max_nodes: int = 20_000
    n_samples: int = 1000

    def residual_of(self, tree: PrefixTree) -> float:
        """Return the residual to work with: none if there are so few label vectors that all may as well be seen."""
        return 0.0 if math.prod(tree.chain.n_classes) <= FEW_VECTORS else self.residual


DEFAULT = Effort()
PRECISE = Effort(residual=1e-6)


def distribution(tree: PrefixTree, effort: Effort = DEFAULT, *, rng: np.random.Generator) -> LabelDistribution:
    """Enumerate label vectors until at most the residual of the mass that agrees with what is known is left.

    With E the mass of the vectors found and F that of the prefixes still open, weights are relative to E + F and the
    reported residual is F / (E + F). Known labels that follow an open prefix can only shrink F, so
    the true probability of any set with enumerated mass a lies between a / (E + F) and
    (a + F) / (E + F), and so does a / E. Where the budget ends first, vectors are drawn
    from the open prefixes in proportion to their mass, all rows sharing one table of uniforms.
    """
    n_rows, n_labels, residual = tree.n_rows, tree.chain.n_labels, effort.residual_of(tree)
    found = _enumerate(tree, np.full(n_rows, n_labels), residual, effort, rng)
    total = np.where(found.left > residual, found.log_mass(), np.logaddexp(found.complete, found.remaining))
    rows, labels, impossible = found.rows, found.labels, np.flatnonzero(np.isneginf(total))
    weights = np.exp(found.log_mass_of - np.where(np.isneginf(total), 0.0, total)[rows])
    if len(impossible):
        # Where the known classes are impossible, any vector that agrees with them stands for all.
        given = np.zeros((n_rows, n_labels)) if tree.given is None else tree.given
        rows, weights = np.concatenate([rows, impossible]), np.concatenate([weights, np.ones(len(impossible))])
        labels = np.concatenate([labels, np.maximum(given[impossible], 0).astype(CODE)])
        order = np.argsort(rows, kind="stable")
        rows, labels, weights = rows[order], labels[order], weights[order]
    return LabelDistribution.ragged(rows, labels, weights, found.left, found.left > residual)


def evidence(tree: PrefixTree, effort: Effort = PRECISE, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return log p(known labels | x), the other labels summed out, and its relative error, each of shape (n,).

    Chains in which every label has at most one parent are solved exactly. Otherwise only prefixes up to
    the last known label are enumerated: exact if all labels before it are known, else within the residual,
    relatively. What is left when the budget ends is estimated from draws. The evidence is
    proven to be between 1 - error and 1 + error times the value returned.
    """
    if is_forest(tree):
        return sum_product(tree)[1], np.zeros(tree.n_rows)
    positions = np.arange(1, tree.chain.n_labels + 1)
    known = np.zeros((tree.n_rows, 1), dtype=bool) if tree.given is None else tree.given >= 0
    found = _enumerate(tree, np.where(known, positions, 0).max(axis=1), effort.residual, effort, rng)
    return found.log_mass(), np.where(np.isneginf(found.remaining), 0.0, found.left)


def top_k(tree: PrefixTree, k: int, *, max_nodes: int = DEFAULT.max_nodes) -> TopK:
    """Return the `k` most probable label vectors of each row, of those that agree with what is known, best first.

    There are ``min(k, number of label vectors)`` places. Where fewer vectors than that are possible, the places left
    over hold labels of -1 and a log-probability of minus infinity.

    Cost: depth-first branch and bound against the k-th best vector, at most `max_nodes` prefixes once k vectors are
    found; links of any kind: two sweeps of L calls.
    """
    check_positive_argument("k", k, "k=5")
    n_labels = tree.chain.n_labels
    k = int(min(k, math.prod(tree.chain.n_classes)))
    if tree.scores is not None:
        labels, log_proba, _, _, complete, _ = k_best(*tree.arrays, k, max_nodes)
        return TopK(labels, log_proba, complete)
    beam = sweep(tree, width=max(k, 5)).vectors
    order, rank = best_first(beam.rows, beam.log_mass)
    last = beam.take(order[rank == k - 1])
    # A shade lower, so that the k-th vector itself is found again.
    threshold = np.full(tree.n_rows, -np.inf)
    threshold[last.rows] = last.log_mass - TIGHT
    swept = sweep(tree, above=threshold, width=max(k, max_nodes // max(1, n_labels)))
    found = join_rows([beam, swept.vectors])
    found = found.take(distinct(found.rows, found.labels, tree.chain.n_classes)[1])
    found = found.take(found.log_mass > -np.inf)
    order, rank = best_first(found.rows, found.log_mass)
    found, rank = found.take(order[rank < k]), rank[rank < k]
    labels, log_proba = np.full((tree.n_rows, k, n_labels), -1, dtype=CODE), np.full((tree.n_rows, k), -np.inf)
    labels[found.rows, rank], log_proba[found.rows, rank] = found.labels, found.log_mass
    return TopK(labels, log_proba, swept.dropped <= log_proba[:, -1] + TIGHT)


@dataclass(frozen=True)
class Enumerated:
    """Label vectors of several rows, sorted by row, and the logarithms of the mass of each row.

    A row has its complete vectors and, where the open mass exceeds the residual, draws that stand for it. `complete`
    and `remaining` are the logarithms of the complete and the open mass.
    """

    rows: np.ndarray
    labels: np.ndarray
    log_mass_of: np.ndarray
    complete: np.ndarray
    remaining: np.ndarray

    @property
    def left(self) -> np.ndarray:
        """Share of the mass of each row that is open."""
        return _share_open(self.complete, self.remaining)

    def log_mass(self) -> np.ndarray:
        """Return the logarithm of the mass of each row's vectors, drawn ones included."""
        return log_sum_by_row(self.rows, self.log_mass_of, len(self.complete))


def _enumerate(
    tree: PrefixTree, full_depth: np.ndarray, residual: float, effort: Effort, rng: np.random.Generator
) -> Enumerated:
    """Enumerate prefixes of the lengths `full_depth`, and draw from the open ones where more than `residual` is left.

    A label-linear chain expands the most probable prefixes first. With links of any kind, all prefixes above a
    threshold are expanded; it falls until little is left, as long as at most `effort.max_nodes` are above it.
    """
    # All rows share the offset and the table of uniforms; a longer table begins with the shorter.
    offset, uniforms = rng.random(), rng.random((effort.n_samples, tree.chain.n_labels))
    if tree.scores is not None:
        indptr, *found = enumerate_vectors(*tree.arrays, full_depth, residual, effort.max_nodes, offset, uniforms)
        return Enumerated(np.repeat(np.arange(tree.n_rows), np.diff(indptr)), *found)
    n_rows = tree.n_rows
    threshold, final, unfinished = np.zeros(n_rows), np.zeros(n_rows), np.ones(n_rows, dtype=bool)
    while unfinished.any():
        leaves, depth, nodes = _expand_above(tree, np.flatnonzero(unfinished), threshold, full_depth, effort.max_nodes)
        unfinished &= nodes <= effort.max_nodes
        final[unfinished] = threshold[unfinished]
        left = _share_open(*_masses(leaves, depth, full_depth))
        top = np.full(n_rows, -np.inf)
        is_open = depth < full_depth[leaves.rows]
        np.maximum.at(top, leaves.rows[is_open], leaves.log_mass[is_open])
        unfinished &= (top > -np.inf) & (left > residual)
        threshold = np.minimum(threshold, top) - FALL
    leaves, depth, _ = _expand_above(tree, np.arange(n_rows), final, full_depth, effort.max_nodes)
    complete, remaining = _masses(leaves, depth, full_depth)
    is_open = depth < full_depth[leaves.rows]
    wanted = _share_open(complete, remaining) > residual
    # Prefixes are drawn systematically from the offset on, in proportion to their mass, and continued link by link.
    chosen = [np.flatnonzero(~is_open)]
    for row in np.flatnonzero(wanted):
        entries = np.flatnonzero(is_open & (leaves.rows == row))
        reached = np.cumsum(np.exp(leaves.log_mass[entries] - remaining[row]))
        places = np.searchsorted(reached, (np.arange(len(uniforms)) + offset) / len(uniforms), side="right")
        chosen.append(entries[np.minimum(places, len(entries) - 1)] if len(entries) else entries)
    sample = np.concatenate([np.zeros(len(chosen[0]), dtype=np.intp), *(np.arange(len(own)) for own in chosen[1:])])
    index = np.concatenate(chosen)
    taken, depth = leaves.take(index), depth[index]
    full = full_depth[taken.rows]
    log_weight = tree.complete(taken.rows, taken.labels, uniforms, sample, depth, full)
    drawn_mass = remaining[taken.rows] - math.log(len(uniforms)) + log_weight
    log_mass = np.where(depth < full, drawn_mass, taken.log_mass)
    order = np.argsort(taken.rows, kind="stable")
    return Enumerated(taken.rows[order], taken.labels[order], log_mass[order], complete, remaining)


def _expand_above(
    tree: PrefixTree, rows: np.ndarray, threshold: np.ndarray, full_depth: np.ndarray, max_nodes: int
) -> tuple[Prefixes, np.ndarray, np.ndarray]:
    """Expand all prefixes of some rows above their threshold.

    Returns the prefixes that are complete or not above it, filled up with zeros, the length of each, and the number of
    prefixes expanded in each row. Rows that would need more than `max_nodes` are given up.
    """
    nodes = np.zeros(tree.n_rows, dtype=np.int64)
    leaves, prefixes = [Prefixes.empty(rows[full_depth[rows] == 0])], Prefixes.empty(rows[full_depth[rows] > 0])
    for k in range(1, tree.chain.n_labels + 1):
        nodes += np.bincount(prefixes.rows, minlength=tree.n_rows)
        children = prefixes.take(nodes[prefixes.rows] <= max_nodes).grow(tree)
        children = children.take(children.log_mass > -np.inf)
        is_leaf = (full_depth[children.rows] == k) | (children.log_mass <= threshold[children.rows])
        leaves.append(children.take(is_leaf))
        prefixes = children.take(~is_leaf)
    depth = np.repeat(np.arange(len(leaves)), [len(own.rows) for own in leaves])
    padded = [
        replace(own, labels=np.pad(own.labels, ((0, 0), (0, tree.chain.n_labels - k)))) for k, own in enumerate(leaves)
    ]
    return join_rows(padded), depth, nodes


def _masses(leaves: Prefixes, depth: np.ndarray, full_depth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the complete and of the open mass of each row."""
    complete, is_open = np.full((2, len(full_depth)), -np.inf), depth < full_depth[leaves.rows]
    for own, mask in zip(complete, (~is_open, is_open), strict=True):
        own[:] = log_sum_by_row(leaves.rows[mask], leaves.log_mass[mask], len(full_depth))
    return complete[0], complete[1]


def is_forest(tree: PrefixTree) -> bool:
    """Return whether every label has at most one parent."""
    return all(len(parents) <= 1 for parents in tree.chain.parents)


def sum_product(tree: PrefixTree) -> tuple[np.ndarray, np.ndarray]:
    """Return, for a forest, the probabilities of all classes in columns (NaN if impossible), and log p(known | x)."""
    chain, n_rows = tree.chain, tree.n_rows
    parent = np.array([parents[0] if parents else -1 for parents in chain.parents], dtype=np.int64)
    # Of each position: log p(class | class of the parent), of shape (n, K of the parent, K); minus infinity for classes
    # that are not the known one.
    conditional = []
    for k, above in enumerate(parent):
        tables = []
        for code in range(chain.n_classes[above] if above >= 0 else 1):
            prefix = np.zeros((n_rows, k), dtype=CODE)
            if above >= 0:
                prefix[:, above] = code
            tables.append(tree.expand(np.arange(n_rows), prefix))
        conditional.append(np.stack(tables, axis=1))
    # Up: the log-probability of what is known from each position on, and the same as its parent sees it.
    below = [np.zeros((n_rows, n)) for n in chain.n_classes]
    messages: list[np.ndarray] = [np.empty(0)] * chain.n_labels
    log_evidence = np.zeros(n_rows)
    for k in reversed(range(chain.n_labels)):
        messages[k] = np.logaddexp.reduce(conditional[k] + below[k][:, None], axis=2)
        if parent[k] >= 0:
            below[parent[k]] += messages[k]
        else:
            log_evidence += messages[k][:, 0]
    # Down: from each parent's probabilities to those of its children.
    proba: list[np.ndarray] = []
    for k, above in enumerate(parent):
        message = messages[k][:, :, None]
        share = np.exp(conditional[k] + below[k][:, None] - np.where(np.isneginf(message), 0.0, message))
        proba.append(np.einsum("na,nac->nc", proba[above] if above >= 0 else np.ones((n_rows, 1)), share))
    return np.where(np.isneginf(log_evidence)[:, None], np.nan, np.hstack(proba)), log_evidence


def _share_open(complete: np.ndarray, remaining: np.ndarray) -> np.ndarray:
    """Return open mass divided by all mass; one where there is neither."""
    total = np.logaddexp(complete, remaining)
    return np.where(np.isneginf(total), 1.0, np.exp(remaining - np.where(np.isneginf(total), 0.0, total)))
