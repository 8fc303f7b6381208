"""Label vectors from the most probable on: distributions, marginals, the k best, the probability of what is known.

These are properties of the chain, not of the way in which one vector is searched for, so all strategies share
them. Each function has a compiled path for label-linear chains and one for chains of any kind, which
works level by level on all rows together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from montechain._compat import take_rows
from montechain._kernels.branch_and_bound import k_best as k_best_kernel
from montechain._kernels.enumeration import distribution as distribution_kernel
from montechain._kernels.enumeration import log_evidence as log_evidence_kernel
from montechain._kernels.forest import marginals as forest_kernel
from montechain._kernels.marginals import marginals as marginals_kernel
from montechain._kernels.prefix_tree import UNDERFLOW
from montechain._messages import check_positive_argument
from montechain.chain import CODE, ChainBase, PrefixTree, draw_classes, no_knowledge
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference._frontier import allowed_children, append, best_first
from montechain.inference.decision import TopK, blocks

__all__ = ["Marginals", "distribution", "evidence", "log_evidence", "marginals", "top_k"]

MAX_NODES = 20_000
RESIDUAL = 0.01
N_SAMPLES = 1000

FALL = math.log(8.0)
"""By how much the threshold of the generic enumeration falls from sweep to sweep, in log-probability."""

FEW_VECTORS = 256
"""Up to so many label vectors, all of them are enumerated, whatever residual is allowed."""

ROWS_AT_ONCE = 256
"""Rows whose vectors the generic enumeration of marginals holds in memory together."""


def asked(chain: ChainBase, residual: float) -> float:
    """Return the residual to work with: none where there are so few label vectors that all may as well be seen."""
    return 0.0 if math.prod(chain.n_classes) <= FEW_VECTORS else residual


def distribution(
    chain: ChainBase,
    X: Any,
    *,
    given: np.ndarray | None = None,
    residual: float = RESIDUAL,
    max_nodes: int = MAX_NODES,
    n_samples: int = N_SAMPLES,
    rng: np.random.Generator,
) -> LabelDistribution:
    """Enumerate label vectors until at most `residual` of the mass that agrees with `given` is left.

    With E the mass of the vectors found and F that of the prefixes still open, weights are relative to E + F and the
    reported residual is F / (E + F). Known labels that follow an open prefix can only shrink F, so
    the true probability of any set with enumerated mass a lies between a / (E + F) and
    (a + F) / (E + F), and so does a / E. Where `max_nodes` ends the enumeration first, `n_samples` vectors are drawn
    from the open prefixes in proportion to their mass, all rows sharing one table of uniforms.
    """
    offset, uniforms = _uniforms(rng, n_samples, chain.n_labels)
    residual = asked(chain, residual)
    scores = chain.scores(X)
    if scores is not None:
        known = no_knowledge(chain.n_labels) if given is None else given
        return LabelDistribution(*distribution_kernel(*scores.arrays, known, residual, max_nodes, offset, uniforms)[:5])
    tree = PrefixTree(chain, X, given)
    full_depth = np.full(tree.n_rows, chain.n_labels)
    found = enumerate_by_level(tree, full_depth, residual, max_nodes)
    left = found.left
    estimated = left > residual
    drawn = found.draw(tree, full_depth, estimated, offset, uniforms)
    total = np.where(estimated, np.logaddexp(found.complete, drawn.log_sum(tree.n_rows)), found.total)
    impossible = np.flatnonzero(np.isneginf(total))
    rows = np.concatenate([found.rows, drawn.rows, impossible])
    labels = np.concatenate([found.labels, drawn.labels, _any_agreeing(chain, given, impossible)])
    log_weight = np.concatenate([found.log_mass, drawn.log_mass, np.zeros(len(impossible))])
    weights = np.exp(log_weight - np.where(np.isneginf(total), 0.0, total)[rows])
    # Draws of no weight, from prefixes that turned out to be impossible, say nothing.
    order = np.lexsort((rows,))
    order = order[weights[order] > 0.0]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=tree.n_rows))]).astype(np.int64)
    return LabelDistribution(indptr, labels[order], weights[order], left, estimated)


def marginals(
    chain: ChainBase,
    X: Any,
    *,
    given: np.ndarray | None = None,
    residual: float = RESIDUAL,
    max_nodes: int = MAX_NODES,
    n_samples: int = N_SAMPLES,
    rng: np.random.Generator,
) -> Marginals:
    """Return the probability of each class of each label, within `residual`.

    Chains in which every label has at most one parent are solved exactly, by sum-product. In label-linear chains of
    binary labels, of which none is known, bounds on what is left open are narrowed until the middle between them is
    within `residual`. Otherwise vectors are enumerated as in `distribution`, none of them stored; open prefixes count
    for the labels that they fix.
    """
    n_labels = chain.n_labels
    draw = partial(_uniforms, rng, n_samples, n_labels)
    if is_forest(chain):
        proba, _ = _sum_product(chain, X, given)
        lower, estimated = proba, np.isnan(proba).any(axis=1)
        unresolved = np.zeros((len(proba), n_labels))
        if estimated.any():
            # The known classes are impossible, and nothing can be said about the others.
            proba, lower = np.where(estimated[:, None], _uninformed(chain, given), proba), np.nan_to_num(proba)
            unresolved[estimated] = 1.0
        return Marginals(_by_position(chain, proba), _by_position(chain, lower), unresolved, estimated)
    residual = asked(chain, residual)
    scores = chain.scores(X)
    if scores is not None:
        known = no_knowledge(n_labels) if given is None else given
        proba, lower, unresolved, estimated = marginals_kernel(
            *scores.arrays, known, residual=residual, max_nodes=max_nodes, draw=draw
        )
        return Marginals(_by_position(chain, proba), _by_position(chain, lower), unresolved, estimated)
    parts = []
    offset, uniforms = draw()
    for rows in blocks(X.shape[0], ROWS_AT_ONCE):
        block_given = None if given is None else given[rows]
        block = X if len(rows) == X.shape[0] else take_rows(X, rows)
        parts.append(_marginals_by_level(PrefixTree(chain, block, block_given), residual, max_nodes, offset, uniforms))
    proba, lower, unresolved, estimated = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Marginals(_by_position(chain, proba), _by_position(chain, lower), unresolved, estimated)


def log_evidence(
    chain: ChainBase, X: Any, given: np.ndarray, *, rng: np.random.Generator, **settings: Any
) -> np.ndarray:
    """Return log p(known labels | x), the other labels summed out, of shape (n,); see `evidence`."""
    return evidence(chain, X, given, rng=rng, **settings)[0]


def evidence(
    chain: ChainBase,
    X: Any,
    given: np.ndarray,
    *,
    residual: float = 1e-6,
    max_nodes: int = MAX_NODES,
    n_samples: int = N_SAMPLES,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p(known labels | x), the other labels summed out, and its relative error, each of shape (n,).

    Chains in which every label has at most one parent are solved exactly, by sum-product. Otherwise only prefixes up to
    the last known label are enumerated: exact if all labels before it are known, else within
    `residual`, relatively. What is left when `max_nodes` is reached is estimated from `n_samples` draws. The
    evidence is proven to be between 1 - error and 1 + error times the value returned.
    """
    offset, uniforms = _uniforms(rng, n_samples, chain.n_labels)
    if is_forest(chain):
        return _sum_product(chain, X, given)[1], np.zeros(X.shape[0])
    scores = chain.scores(X)
    if scores is not None:
        return log_evidence_kernel(*scores.arrays, given, residual, max_nodes, offset, uniforms)
    tree = PrefixTree(chain, X, given)
    full_depth = _last_known(given) + 1
    found = enumerate_by_level(tree, full_depth, residual, max_nodes)
    drawn = found.draw(tree, full_depth, found.left > residual, offset, uniforms)
    left = np.where(np.isneginf(found.remaining), 0.0, found.left)
    return np.logaddexp(found.complete, drawn.log_sum(tree.n_rows)), left


def top_k(chain: ChainBase, X: Any, k: int, *, given: np.ndarray | None = None, max_nodes: int = MAX_NODES) -> TopK:
    """Return the `k` most probable label vectors of each row, of those that agree with `given`, best first.

    There are ``min(k, number of label vectors)`` places. Where fewer vectors than that agree with `given` and have
    a positive probability, the places left over hold labels of -1 and a log-probability of minus infinity.

    Cost: depth-first branch and bound against the k-th best vector, at most `max_nodes` prefixes once k vectors are
    found; links of any kind: two sweeps of L calls.
    """
    check_positive_argument("k", k, "k=5")
    k = int(min(k, math.prod(chain.n_classes)))
    scores = chain.scores(X)
    if scores is not None:
        known = no_knowledge(chain.n_labels) if given is None else given
        return TopK(*k_best_kernel(*scores.arrays, known, k, max_nodes))
    tree = PrefixTree(chain, X, given)
    n_rows = tree.n_rows
    beam = sweep(tree, None, max(k, 5))
    order, rank = best_first(beam.rows, beam.log_mass)
    threshold = np.full(n_rows, -np.inf)
    last = order[rank == k - 1]
    # A shade lower, so that the k-th vector itself is found again.
    threshold[beam.rows[last]] = beam.log_mass[last] - 1e-9
    swept = sweep(tree, threshold, max(k, max_nodes // max(1, chain.n_labels)))
    rows = np.concatenate([beam.rows, swept.rows])
    labels = np.concatenate([beam.labels, swept.labels])
    log_mass = np.concatenate([beam.log_mass, swept.log_mass])
    _, first = np.unique(np.column_stack([rows, labels]), axis=0, return_index=True)
    first = first[log_mass[first] > -np.inf]
    order, rank = best_first(rows[first], log_mass[first])
    order, rank = first[order[rank < k]], rank[rank < k]
    result = TopK(
        np.full((n_rows, k, chain.n_labels), -1, dtype=CODE), np.full((n_rows, k), -np.inf), np.ones(n_rows, dtype=bool)
    )
    result.labels[rows[order], rank] = labels[order]
    result.log_proba[rows[order], rank] = log_mass[order]
    result.certified[:] = swept.dropped <= result.log_proba[:, -1] + 1e-9
    return result


def sweep_for_best(
    chain: ChainBase, X: Any, given: np.ndarray | None, max_nodes: int, incumbent_width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the best labels found for each row, their log-probability, and an upper bound on that of all vectors.

    A beam gives a first vector. Then one sweep keeps, at each level, all prefixes more probable than that vector, at
    most ``max_nodes // L`` in a row. What is dropped bounds what is missed; since the first vector does not
    depend on `max_nodes`, the bound never rises with it.
    """
    tree = PrefixTree(chain, X, given)
    beam = sweep(tree, None, incumbent_width)
    order, rank = best_first(beam.rows, beam.log_mass)
    best = order[rank == 0]
    labels, log_proba = beam.labels[best], beam.log_mass[best]
    swept = sweep(tree, log_proba, max(1, max_nodes // max(1, chain.n_labels)))
    # All that the sweep returns is better than the first vector.
    order, rank = best_first(swept.rows, swept.log_mass)
    best = order[rank == 0]
    labels[swept.rows[best]] = swept.labels[best]
    log_proba[swept.rows[best]] = swept.log_mass[best]
    return labels, log_proba, np.maximum(log_proba, swept.dropped)


@dataclass(frozen=True)
class Vectors:
    """Complete vectors of several rows, in no particular order, and the most probable prefix that was dropped."""

    rows: np.ndarray
    labels: np.ndarray
    log_mass: np.ndarray
    dropped: np.ndarray

    def log_sum(self, n_rows: int) -> np.ndarray:
        """Return the logarithm of the mass of each row's vectors."""
        return _log_sum_by_row(self.rows, self.log_mass, n_rows)

    def log_largest(self, n_rows: int) -> np.ndarray:
        """Return the logarithm of the mass of each row's heaviest vector."""
        largest = np.full(n_rows, -np.inf)
        np.maximum.at(largest, self.rows, self.log_mass)
        return largest


def sweep(tree: PrefixTree, threshold: np.ndarray | None, width: int) -> Vectors:
    """Go through the levels once, keeping in each row the `width` most probable prefixes above its threshold.

    Without a threshold this is a beam search, in which even impossible vectors are kept.
    """
    rows = np.arange(tree.n_rows)
    prefix = np.empty((tree.n_rows, 0), dtype=CODE)
    log_mass = np.zeros(tree.n_rows)
    dropped = np.full(tree.n_rows, -np.inf)
    for k in range(tree.chain.n_labels):
        if len(rows) == 0:
            prefix = np.empty((0, k + 1), dtype=CODE)
            continue
        origin, classes, step = allowed_children(tree, rows, prefix)
        value = log_mass[origin] + step
        if threshold is not None:
            above = value > threshold[rows[origin]]
            origin, classes, value = origin[above], classes[above], value[above]
        order, rank = best_first(rows[origin], value)
        cut = order[rank == width]
        np.maximum.at(dropped, rows[origin[cut]], value[cut])
        kept = order[rank < width]
        prefix = append(prefix, origin[kept], classes[kept])
        rows, log_mass = rows[origin[kept]], value[kept]
    return Vectors(rows, prefix, log_mass, dropped)


@dataclass(frozen=True)
class Enumerated:
    """Complete vectors and open prefixes (padded with -1) of several rows."""

    rows: np.ndarray
    labels: np.ndarray
    log_mass: np.ndarray
    open_rows: np.ndarray
    open_labels: np.ndarray
    open_depth: np.ndarray
    open_log_mass: np.ndarray
    complete: np.ndarray
    remaining: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Logarithm of the mass of each row, open or complete."""
        return np.logaddexp(self.complete, self.remaining)

    @property
    def left(self) -> np.ndarray:
        """Share of the mass of each row that is open."""
        return _share_open(self.complete, self.remaining)

    def draw(
        self, tree: PrefixTree, full_depth: np.ndarray, wanted: np.ndarray, offset: float, uniforms: np.ndarray
    ) -> Drawn:
        """Draw ``len(uniforms)`` completions of the open prefixes of each row that is `wanted`.

        Prefixes are drawn systematically from `offset` on, in proportion to their mass, and continued link by link.
        """
        n_samples, n_labels = uniforms.shape
        open_order = np.argsort(self.open_rows, kind="stable")
        starts = np.searchsorted(self.open_rows[open_order], np.arange(tree.n_rows + 1))
        places = (np.arange(n_samples) + offset) / n_samples
        chosen = [np.empty(0, dtype=np.intp)]
        for row in np.flatnonzero(wanted & (starts[1:] > starts[:-1])):
            entries = open_order[starts[row] : starts[row + 1]]
            reached = np.cumsum(np.exp(self.open_log_mass[entries] - self.remaining[row]))
            chosen.append(entries[np.minimum(np.searchsorted(reached, places, side="right"), len(entries) - 1)])
        node = np.concatenate(chosen)
        rows, start = self.open_rows[node], self.open_depth[node]
        labels = self.open_labels[node].copy()
        log_mass = self.remaining[rows] - math.log(n_samples)
        sample = np.tile(np.arange(n_samples), len(chosen) - 1)
        for k in range(n_labels):
            here = np.flatnonzero((start <= k) & (k < full_depth[rows]))
            if len(here) == 0:
                continue
            log_proba = tree.expand(rows[here], labels[here, :k])
            classes = draw_classes(log_proba, uniforms[sample[here], k])
            if tree.given is not None:
                known = tree.given[rows[here], k]
                classes = np.where(known >= 0, known, classes)
                log_mass[here] += np.where(known >= 0, log_proba[np.arange(len(here)), classes], 0.0)
            labels[here, k] = classes
        return Drawn(rows, labels, log_mass, np.full(tree.n_rows, -np.inf), start)


@dataclass(frozen=True)
class Drawn(Vectors):
    """Drawn vectors, the mass that each stands for, and the length of the prefix that each continues."""

    start: np.ndarray


def enumerate_by_level(tree: PrefixTree, full_depth: np.ndarray, residual: float, max_nodes: int) -> Enumerated:
    """Enumerate by sweeps over the levels, each with a lower threshold, until little mass is open.

    A sweep expands, in every row that is not done, the open prefixes more probable than the row's
    threshold, and their children as far as those are. Prefixes of length ``full_depth[row]`` are complete.
    """
    n_rows, n_labels = tree.n_rows, tree.chain.n_labels
    everything = np.arange(n_rows)
    levels: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [
        (np.empty(0, dtype=np.intp), np.empty((0, d), dtype=CODE), np.empty(0)) for d in range(n_labels + 1)
    ]
    starting = everything[full_depth > 0]
    levels[0] = (starting, np.empty((len(starting), 0), dtype=CODE), np.zeros(len(starting)))
    done = [_padded(everything[full_depth == 0], np.empty((n_rows, 0), CODE)[full_depth == 0], n_labels)]
    done_log = [np.zeros(len(done[0][0]))]
    threshold = np.full(n_rows, -FALL)
    budget = np.full(n_rows, max_nodes)
    unfinished = full_depth > 0
    complete = np.where(unfinished, -np.inf, 0.0)
    remaining = np.where(unfinished, 0.0, -np.inf)
    while unfinished.any():
        for d in range(n_labels):
            rows, prefix, log_mass = levels[d]
            candidates = np.flatnonzero(unfinished[rows] & (log_mass > threshold[rows]))
            order, rank = best_first(rows[candidates], log_mass[candidates])
            taken = candidates[order[rank < budget[rows[candidates[order]]]]]
            if len(taken) == 0:
                continue
            budget -= np.bincount(rows[taken], minlength=n_rows)
            origin, classes, step = allowed_children(tree, rows[taken], prefix[taken])
            value = log_mass[taken][origin] + step
            possible = value > -np.inf
            origin, classes, value = origin[possible], classes[possible], value[possible]
            children = append(prefix[taken], origin, classes)
            child_rows = rows[taken][origin]
            stay = np.ones(len(rows), dtype=bool)
            stay[taken] = False
            levels[d] = (rows[stay], prefix[stay], log_mass[stay])
            full = full_depth[child_rows] == d + 1
            done.append(_padded(child_rows[full], children[full], n_labels))
            done_log.append(value[full])
            complete = np.logaddexp(complete, _log_sum_by_row(child_rows[full], value[full], n_rows))
            below = levels[d + 1]
            levels[d + 1] = (
                np.concatenate([below[0], child_rows[~full]]),
                np.concatenate([below[1], children[~full]]),
                np.concatenate([below[2], value[~full]]),
            )
        open_rows = np.concatenate([rows for rows, _, _ in levels])
        open_log = np.concatenate([log_mass for _, _, log_mass in levels])
        remaining = _log_sum_by_row(open_rows, open_log, n_rows)
        top = np.full(n_rows, -np.inf)
        np.maximum.at(top, open_rows, open_log)
        unfinished &= (top > -np.inf) & (budget > 0) & (_share_open(complete, remaining) > residual)
        # Down to the most probable open prefix at least, so that no sweep is idle.
        threshold = np.where(unfinished, np.minimum(threshold, top) - FALL, threshold)
    padded = [_padded(rows, prefix, n_labels) for rows, prefix, _ in levels]
    return Enumerated(
        rows=np.concatenate([rows for rows, _ in done]),
        labels=np.concatenate([labels for _, labels in done]),
        log_mass=np.concatenate(done_log),
        open_rows=np.concatenate([rows for rows, _ in padded]),
        open_labels=np.concatenate([labels for _, labels in padded]),
        open_depth=np.concatenate([np.full(len(rows), d) for d, (rows, _) in enumerate(padded)]),
        open_log_mass=np.concatenate([log_mass for _, _, log_mass in levels]),
        complete=complete,
        remaining=remaining,
    )


def _marginals_by_level(
    tree: PrefixTree, residual: float, max_nodes: int, offset: float, uniforms: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what the kernel for marginals returns, from the generic enumeration."""
    n_rows, n_classes = tree.n_rows, tree.chain.n_classes
    full_depth = np.full(n_rows, tree.chain.n_labels)
    found = enumerate_by_level(tree, full_depth, residual, max_nodes)
    estimated = found.left > residual
    drawn = found.draw(tree, full_depth, estimated, offset, uniforms)
    total = np.where(np.isneginf(found.total), 0.0, found.total)
    mass = np.exp(found.log_mass - total[found.rows])
    open_mass = np.exp(found.open_log_mass - total[found.open_rows])
    drawn_mass = np.exp(drawn.log_mass - total[drawn.rows])
    # Up to the last known position, the mass of an open prefix is only a bound on that of its agreeing vectors.
    ahead = np.full(n_rows, -1) if tree.given is None else _last_known(tree.given)
    sure = found.open_depth > ahead[found.open_rows]
    drawn_sure = drawn.start > ahead[drawn.rows]
    # What is known may be so improbable that nothing is left of it in units of the open mass: then in units of its own.
    unit = np.maximum(found.complete, drawn.log_largest(n_rows))
    lost = estimated & (unit > -np.inf) & (unit - total < UNDERFLOW)
    unit = np.where(lost, unit, total)
    own_mass, own_drawn_mass = np.exp(found.log_mass - unit[found.rows]), np.exp(drawn.log_mass - unit[drawn.rows])
    unresolved = np.empty((n_rows, len(n_classes)))
    lower, proba = [], []
    for k, n in enumerate(n_classes):

        def by_class(rows: np.ndarray, classes: np.ndarray, weights: np.ndarray, n: int = n) -> np.ndarray:
            sums = np.bincount(rows * n + classes, weights=weights, minlength=n_rows * n)
            return sums.astype(float).reshape(n_rows, n)  # of nothing, bincount returns integers

        fixed = sure & (found.open_depth > k)
        loose = ~sure & (found.open_depth > k) & ~estimated[found.open_rows]
        free = ~drawn_sure | (drawn.start <= k)
        lower_k = by_class(found.rows, found.labels[:, k], mass)
        lower_k += by_class(found.open_rows[fixed], found.open_labels[fixed, k], open_mass[fixed])
        proba_k = lower_k + by_class(found.open_rows[loose], found.open_labels[loose, k], open_mass[loose])
        drawn_k = by_class(drawn.rows[free], drawn.labels[free, k], drawn_mass[free])
        unresolved[:, k] = np.bincount(found.open_rows[~fixed], weights=open_mass[~fixed], minlength=n_rows)
        # The draws that fall to a label can stand for a little more or less than what is unresolved of it.
        sums = drawn_k.sum(axis=1)
        rescaled = (sums > unresolved[:, k]) | ((ahead < 0) & (sums > 0.0))
        drawn_k[rescaled] *= (unresolved[rescaled, k] / sums[rescaled])[:, None]
        proba_k += drawn_k
        if lost.any():
            own = by_class(found.rows, found.labels[:, k], own_mass)
            own += by_class(drawn.rows, drawn.labels[:, k], own_drawn_mass)
            proba_k[lost] = own[lost]
        lower.append(lower_k)
        proba.append(proba_k)
    impossible = np.isneginf(found.total)
    unresolved[impossible] = 1.0
    unresolved = np.minimum(unresolved, 1.0)
    uninformed = _uninformed(tree.chain, tree.given, n_rows)
    start = 0
    for proba_k in proba:
        width = proba_k.shape[1]
        sums = proba_k.sum(axis=1, keepdims=True)
        proba_k[:] = np.where(
            sums > 0.0, proba_k / np.where(sums > 0.0, sums, 1.0), uninformed[:, start : start + width]
        )
        start += width
    return np.hstack(proba), np.hstack(lower), unresolved, estimated | impossible


def is_forest(chain: ChainBase) -> bool:
    """Return whether every label has at most one parent."""
    return all(len(parents) <= 1 for parents in chain.parents)


def _sum_product(chain: ChainBase, X: Any, given: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return, for a forest, the probabilities of all classes in columns (NaN if impossible), and log p(known | x)."""
    parent = np.array([parents[0] if parents else -1 for parents in chain.parents], dtype=np.int64)
    scores = chain.scores(X)
    if scores is not None:
        return forest_kernel(*scores.arrays, no_knowledge(chain.n_labels) if given is None else given, parent)
    # Of each position: log p(class | class of the parent), of shape (n, K of the parent, K).
    n_rows, conditional = X.shape[0], []
    tree, rows = PrefixTree(chain, X), np.arange(X.shape[0])
    for k, above in enumerate(parent):
        prefix = np.zeros((n_rows, k), dtype=CODE)
        tables = []
        for code in range(chain.n_classes[above] if above >= 0 else 1):
            if above >= 0:
                prefix[:, above] = code
            tables.append(tree.expand(rows, prefix))
        conditional.append(np.stack(tables, axis=1))
    # Up: the log-probability of what is known from each position on, and the same as its parent sees it.
    below = [np.zeros((n_rows, n)) for n in chain.n_classes]
    if given is not None:
        below = [
            np.where((own[:, None] >= 0) & (own[:, None] != np.arange(n)), -np.inf, 0.0)
            for own, n in zip(given.T, chain.n_classes, strict=True)
        ]
    messages: list[np.ndarray] = [np.empty(0)] * chain.n_labels
    evidence = np.zeros(n_rows)
    for k in reversed(range(chain.n_labels)):
        messages[k] = np.logaddexp.reduce(conditional[k] + below[k][:, None], axis=2)
        if parent[k] >= 0:
            below[parent[k]] += messages[k]
        else:
            evidence += messages[k][:, 0]
    # Down: from each parent's probabilities to those of its children.
    proba: list[np.ndarray] = []
    for k, above in enumerate(parent):
        message = messages[k][:, :, None]
        share = np.exp(conditional[k] + below[k][:, None] - np.where(np.isneginf(message), 0.0, message))
        proba.append(np.einsum("na,nac->nc", proba[above] if above >= 0 else np.ones((n_rows, 1)), share))
    return np.where(np.isneginf(evidence)[:, None], np.nan, np.hstack(proba)), evidence


def _uniforms(rng: np.random.Generator, n_samples: int, n_labels: int) -> tuple[float, np.ndarray]:
    """Return the offset and the table of uniforms that all rows share; a longer table begins with the shorter."""
    offset = rng.random()
    return offset, rng.random((n_samples, n_labels))


def _by_position(chain: ChainBase, columns: np.ndarray) -> list[np.ndarray]:
    """Split columns that stand for the classes of all positions in turn."""
    ends = accumulate(chain.n_classes)
    return [columns[:, end - n : end] for n, end in zip(chain.n_classes, ends, strict=True)]


def _uninformed(chain: ChainBase, given: np.ndarray | None, n_rows: int | None = None) -> np.ndarray:
    """Return probabilities that say no more than what is known, in columns for the classes of all positions."""
    if given is None:
        given = np.full((n_rows or 1, chain.n_labels), -1)
    known = [given[:, [k]] for k in range(chain.n_labels)]
    return np.hstack(
        [np.where(c >= 0, c == np.arange(n), 1.0 / n) for c, n in zip(known, chain.n_classes, strict=True)]
    )


def _any_agreeing(chain: ChainBase, given: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
    """Return, for rows whose known classes are impossible, some vector that agrees with them."""
    if given is None:
        return np.zeros((len(rows), chain.n_labels), dtype=CODE)
    return np.maximum(given[rows], 0).astype(CODE)


def _last_known(given: np.ndarray) -> np.ndarray:
    """Return for each row the last position whose class is known, or -1."""
    positions = np.arange(given.shape[1])
    return np.where(given >= 0, positions, -1).max(axis=1, initial=-1)


def _log_sum_by_row(rows: np.ndarray, values: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the logarithm of the sum of exp(values) in each row."""
    largest = np.full(n_rows, -np.inf)
    np.maximum.at(largest, rows, values)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    sums = np.bincount(rows, weights=np.exp(values - shift[rows]), minlength=n_rows)
    with np.errstate(divide="ignore"):
        return np.log(sums) + shift


def _share_open(complete: np.ndarray, remaining: np.ndarray) -> np.ndarray:
    """Return open mass divided by all mass; one where there is none."""
    total = np.logaddexp(complete, remaining)
    return np.where(np.isneginf(total), 1.0, np.exp(remaining - np.where(np.isneginf(total), 0.0, total)))


def _padded(rows: np.ndarray, prefix: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and their prefixes, padded with -1 to `n_labels` columns."""
    padding = np.full((len(prefix), n_labels - prefix.shape[1]), -1, dtype=CODE)
    return rows, np.hstack([prefix, padding])
