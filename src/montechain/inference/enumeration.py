"""Label vectors from the most probable down: distributions, marginals, the k best, the probability of known labels.

These are properties of the chain, not of the way in which one vector is searched for, so all strategies share them.
Each has a compiled path for label-linear chains and one for chains of any kind, which works level by level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from montechain._kernels.depth_first import k_best
from montechain._kernels.enumeration import enumerate_vectors
from montechain._kernels.marginals import bounded_marginals
from montechain._rows import distinct, join_rows
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.decision import LOG_TOLERANCE, TopK
from montechain.inference.sweep import Prefixes, best_first, log_sum_by_row, sweep
from montechain.prefix_tree import PrefixTree
from montechain.targets import CODE

THRESHOLD_FALL = math.log(8.0)
"""How far the log-probability threshold for expanding prefixes falls from pass to pass, for links of any kind."""

ROWS_AT_ONCE = 256
"""Rows whose vectors an enumeration holds in memory together."""

MAX_VECTORS_IN_FULL = 256
"""Number of label vectors up to which all are enumerated, even if a residual is allowed."""


@dataclass(frozen=True)
class Effort:
    """How far to enumerate.

    `residual` is the mass, relative to what agrees with the known labels, that may stay unexplored; `max_nodes` the
    maximum number of prefixes expanded per row; `n_samples` the number of vectors drawn to stand for the unexplored
    mass where the budget ends first.
    """

    residual: float = 0.01
    max_nodes: int = 20_000
    n_samples: int = 1000

    def residual_of(self, tree: PrefixTree) -> float:
        """Return the residual to use: zero if there are few enough label vectors to enumerate them all."""
        return 0.0 if math.prod(tree.chain.n_classes) <= MAX_VECTORS_IN_FULL else self.residual


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
    rows, labels, log_mass, complete, remaining = _enumerate(tree, np.full(n_rows, n_labels), residual, effort, rng)
    left = _share_open(complete, remaining)
    total = np.where(left > residual, log_sum_by_row(rows, log_mass, n_rows), np.logaddexp(complete, remaining))
    impossible = np.flatnonzero(np.isneginf(total))
    weights = np.exp(log_mass - np.where(np.isneginf(total), 0.0, total)[rows])
    if len(impossible):
        # Where the known classes are impossible, any vector that agrees with them stands for all.
        rows, weights = np.concatenate([rows, impossible]), np.concatenate([weights, np.ones(len(impossible))])
        labels = np.concatenate([labels, np.maximum(tree.known[impossible], 0)])
        order = np.argsort(rows, kind="stable")
        rows, labels, weights = rows[order], labels[order], weights[order]
    return LabelDistribution.ragged(rows, labels, weights, left, left > residual)


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
    full_depth = np.where(tree.known >= 0, positions, 0).max(axis=1)
    rows, _, log_mass, complete, remaining = _enumerate(tree, full_depth, effort.residual, effort, rng)
    error = np.where(np.isneginf(remaining), 0.0, _share_open(complete, remaining))
    return log_sum_by_row(rows, log_mass, tree.n_rows), error


def marginals(tree: PrefixTree, effort: Effort = DEFAULT, *, rng: np.random.Generator) -> Marginals:
    """Return the probability of each class of each label, within the residual.

    Chains in which every label has at most one parent are solved exactly, by sum-product. In label-linear chains of
    binary labels, rows without known labels narrow bounds on what is left open until the middle between them is within
    the residual. Otherwise, and where the budget ends first, label vectors are enumerated.
    """
    if is_forest(tree):
        lower, _ = sum_product(tree)
        estimated = np.isnan(lower).any(axis=1)
        # Where the known classes are impossible, nothing can be said about the others.
        pairs = zip(tree.known.T[:, :, None], tree.chain.n_classes, strict=True)
        uninformed = np.hstack([np.where(own >= 0, own == np.arange(n), 1.0 / n) for own, n in pairs])
        proba, lower = np.where(estimated[:, None], uninformed, lower), np.nan_to_num(lower)
        unresolved = np.repeat(estimated[:, None].astype(float), tree.chain.n_labels, axis=1)
    elif tree.scores is None or not (arrays := tree.arrays)[1].is_all_binary:
        return _enumerated(tree, effort, rng)
    else:
        base, links, given = arrays
        residual = effort.residual_of(tree)
        proba, lower, unresolved, settled, _ = bounded_marginals(base, links.effects, given, residual, effort.max_nodes)
        estimated, rows = np.zeros(tree.n_rows, dtype=bool), np.flatnonzero(~settled)
        if len(rows):
            rest = _enumerated(tree.take(rows), effort, rng)
            proba[rows], lower[rows] = np.hstack(rest.proba), np.hstack(rest.lower)
            unresolved[rows], estimated[rows] = rest.unresolved, rest.estimated
    own = [slice(*ends) for ends in pairwise(accumulate(tree.chain.n_classes, initial=0))]
    return Marginals([proba[:, k] for k in own], [lower[:, k] for k in own], unresolved, estimated)


def top_k(tree: PrefixTree, k: int, *, max_nodes: int = DEFAULT.max_nodes) -> TopK:
    """Return the `k` most probable label vectors of each row, of those that agree with what is known, best first.

    There are ``min(k, number of label vectors)`` places. Where fewer vectors than that are possible, the places left
    over hold labels of -1 and a log-probability of minus infinity.

    Cost: depth-first branch and bound against the k-th best vector, at most `max_nodes` prefixes once k vectors are
    found; links of any kind: two sweeps of L calls.
    """
    n_labels = tree.chain.n_labels
    k = int(min(k, math.prod(tree.chain.n_classes)))
    if tree.scores is not None:
        labels, log_proba, _, _, complete, _ = k_best(*tree.arrays, k, max_nodes)
        return TopK(labels, log_proba, complete)
    beam = sweep(tree, width=max(k, 5)).vectors
    order, rank = best_first(beam.rows, beam.log_mass)
    last = beam.take(order[rank == k - 1])
    # Slightly lower, so that the k-th vector itself is found again.
    threshold = np.full(tree.n_rows, -np.inf)
    threshold[last.rows] = last.log_mass - LOG_TOLERANCE
    swept = sweep(tree, above=threshold, width=max(k, max_nodes // max(1, n_labels)))
    found = join_rows([beam, swept.vectors])
    found = found.take(distinct(found.rows, found.labels, tree.chain.n_classes)[1])
    found = found.take(found.log_mass > -np.inf)
    order, rank = best_first(found.rows, found.log_mass)
    found, rank = found.take(order[rank < k]), rank[rank < k]
    labels, log_proba = np.full((tree.n_rows, k, n_labels), -1, dtype=CODE), np.full((tree.n_rows, k), -np.inf)
    labels[found.rows, rank], log_proba[found.rows, rank] = found.labels, found.log_mass
    return TopK(labels, log_proba, swept.dropped <= log_proba[:, -1] + LOG_TOLERANCE)


def _enumerate(
    tree: PrefixTree, full_depth: np.ndarray, residual: float, effort: Effort, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Enumerate prefixes of the lengths `full_depth`, and draw from the open ones where more than `residual` is left.

    Returns the row, the labels and the logarithm of the mass of each complete prefix and each draw, sorted by row; and
    the logarithms of the complete and of the open mass of each row.
    """
    # All rows share the offset and the table of uniforms; a longer table begins with the shorter.
    offset, uniforms = rng.random(), rng.random((effort.n_samples, tree.chain.n_labels))
    if tree.scores is not None:
        indptr, labels, depth, log_mass, complete, remaining = enumerate_vectors(
            *tree.arrays, full_depth, residual, effort.max_nodes, offset, len(uniforms)
        )
        rows = np.repeat(np.arange(tree.n_rows), np.diff(indptr))
    else:
        prefixes, depth, log_mass, complete, remaining = _split(tree, full_depth, residual, effort, offset)
        rows, labels = prefixes.rows, prefixes.labels
    drawn = np.flatnonzero(depth < full_depth[rows])
    if len(drawn):
        sample = np.arange(len(drawn)) % len(uniforms)  # a row has all draws or none
        of, vectors = rows[drawn], labels[drawn]
        log_mass[drawn] += tree.complete(of, vectors, uniforms, sample, depth[drawn], full_depth[of])
        labels[drawn] = vectors
    return rows, labels, log_mass, complete, remaining


def _split(
    tree: PrefixTree, full_depth: np.ndarray, residual: float, effort: Effort, offset: float
) -> tuple[Prefixes, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Do what `enumerate_vectors` does, for links of any kind: all rows together, and level by level in each pass.

    Returns the prefixes (filled up with zeros), their lengths and the logarithms of the mass that they stand for, all
    sorted by row, and the logarithms of the complete and of the open mass of each row.
    """
    n_rows, n_labels = tree.n_rows, tree.chain.n_labels
    by_length = [Prefixes.empty(np.arange(n_rows))]
    for _ in range(n_labels):
        by_length.append(by_length[-1].take(np.arange(0)).grow(tree))
    nodes, threshold, is_unfinished = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows), np.ones(n_rows, dtype=bool)
    while is_unfinished.any():
        for k in range(n_labels):
            own = by_length[k]
            is_above = (own.log_mass >= threshold[own.rows]) & (full_depth[own.rows] > k) & is_unfinished[own.rows]
            nodes += np.bincount(own.rows[is_above], minlength=n_rows)
            is_unfinished &= nodes <= effort.max_nodes
            is_above &= is_unfinished[own.rows]
            children = own.take(is_above).grow(tree)
            children = children.take(children.log_mass > -np.inf)
            by_length[k], by_length[k + 1] = own.take(~is_above), join_rows([by_length[k + 1], children])
        depth = np.repeat(np.arange(n_labels + 1), [len(own.rows) for own in by_length])
        rows, log_mass = (np.concatenate([getattr(p, name) for p in by_length]) for name in ("rows", "log_mass"))
        is_open = depth < full_depth[rows]
        complete, remaining = (log_sum_by_row(rows[own], log_mass[own], n_rows) for own in (~is_open, is_open))
        top = np.full(n_rows, -np.inf)
        np.maximum.at(top, rows[is_open], log_mass[is_open])
        is_unfinished &= (top > -np.inf) & (_share_open(complete, remaining) > residual)
        threshold = top - THRESHOLD_FALL
    n_samples, chosen = effort.n_samples, [np.flatnonzero(~is_open)]
    for row in np.flatnonzero((_share_open(complete, remaining) > residual) & (remaining > -np.inf)):
        entries = np.flatnonzero(is_open & (rows == row))
        reached = np.cumsum(np.exp(log_mass[entries] - remaining[row]))
        places = np.searchsorted(reached, (np.arange(n_samples) + offset) / n_samples, side="right")
        chosen.append(entries[np.minimum(places, len(entries) - 1)])
    index = np.concatenate(chosen)
    index = index[np.argsort(rows[index], kind="stable")]
    padded = [replace(p, labels=np.pad(p.labels, ((0, 0), (0, n_labels - k)))) for k, p in enumerate(by_length)]
    log_mass = np.where(is_open, remaining[rows] - math.log(n_samples), log_mass)
    return join_rows(padded).take(index), depth[index], log_mass[index], complete, remaining


def _enumerated(tree: PrefixTree, effort: Effort, rng: np.random.Generator) -> Marginals:
    """Return the marginals of an enumeration, some rows at a time."""
    blocks = tree.blocks(ROWS_AT_ONCE, rng)
    return join_rows([distribution(block, effort, rng=rng).with_bounds(tree.chain.n_classes) for block in blocks])


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
