"""Label vectors from the most probable on: distributions, the k best, the probability of what is known.

These are properties of the chain, not of the way in which one vector is searched for, so all strategies share them.
Each has a compiled path for label-linear chains and one for chains of any kind, which works level by level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from montechain._kernels.depth_first import k_best
from montechain._kernels.enumeration import distribution as distribution_kernel
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

    def uniforms(self, tree: PrefixTree, rng: np.random.Generator) -> tuple[float, np.ndarray]:
        """Return the offset and the table of uniforms that all rows share; a longer table begins with the shorter."""
        offset = rng.random()
        return offset, rng.random((self.n_samples, tree.chain.n_labels))


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
    offset, uniforms = effort.uniforms(tree, rng)
    residual = effort.residual_of(tree)
    full_depth = np.full(tree.n_rows, tree.chain.n_labels)
    if tree.scores is not None:
        return LabelDistribution(
            *distribution_kernel(*tree.arrays, full_depth, residual, effort.max_nodes, offset, uniforms)[:5]
        )
    found = enumerate_by_level(tree, full_depth, residual, effort.max_nodes)
    estimated = found.left > residual
    drawn = found.draw(tree, full_depth, estimated, offset, uniforms)
    total = np.where(estimated, np.logaddexp(found.complete, drawn.log_sum(tree.n_rows)), found.total)
    # Where the known classes are impossible, any vector that agrees with them stands for all.
    impossible = np.flatnonzero(np.isneginf(total))
    given = np.zeros((tree.n_rows, tree.chain.n_labels)) if tree.given is None else tree.given
    rows = np.concatenate([found.vectors.rows, drawn.rows, impossible])
    labels = np.concatenate([found.vectors.labels, drawn.labels, np.maximum(given[impossible], 0).astype(CODE)])
    log_weight = np.concatenate([found.vectors.log_mass, drawn.log_mass, np.zeros(len(impossible))])
    weights = np.exp(log_weight - np.where(np.isneginf(total), 0.0, total)[rows])
    # Draws of no weight, from prefixes that turned out to be impossible, say nothing.
    order = np.argsort(rows, kind="stable")
    order = order[weights[order] > 0.0]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[order], minlength=tree.n_rows))]).astype(np.int64)
    return LabelDistribution(indptr, labels[order], weights[order], found.left, estimated)


def evidence(tree: PrefixTree, effort: Effort = PRECISE, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return log p(known labels | x), the other labels summed out, and its relative error, each of shape (n,).

    Chains in which every label has at most one parent are solved exactly. Otherwise only prefixes up to
    the last known label are enumerated: exact if all labels before it are known, else within the residual,
    relatively. What is left when the budget ends is estimated from draws. The evidence is
    proven to be between 1 - error and 1 + error times the value returned.
    """
    offset, uniforms = effort.uniforms(tree, rng)
    if is_forest(tree):
        return sum_product(tree)[1], np.zeros(tree.n_rows)
    full_depth = last_known(tree) + 1
    if tree.scores is not None:
        *_, left, _, log_mass, _ = distribution_kernel(
            *tree.arrays, full_depth, effort.residual, effort.max_nodes, offset, uniforms
        )
        return log_mass, left
    found = enumerate_by_level(tree, full_depth, effort.residual, effort.max_nodes)
    drawn = found.draw(tree, full_depth, found.left > effort.residual, offset, uniforms)
    error = np.where(np.isneginf(found.remaining), 0.0, found.left)
    return np.logaddexp(found.complete, drawn.log_sum(tree.n_rows)), error


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
class Vectors:
    """Label vectors of several rows, of which only the first `depth` classes are fixed; -1 stands in the others.

    Of drawn vectors `depth` is the length of the prefix that each continues, and `log_mass` what it stands for.
    """

    rows: np.ndarray
    labels: np.ndarray
    log_mass: np.ndarray
    depth: np.ndarray

    @classmethod
    def padded(cls, parts: Sequence[Prefixes], n_labels: int) -> Vectors:
        """Return prefixes of several lengths."""
        labels = np.full((sum(len(part.rows) for part in parts), n_labels), -1, dtype=CODE)
        depth = np.repeat([part.labels.shape[1] for part in parts], [len(part.rows) for part in parts])
        start = 0
        for part in parts:
            labels[start : start + len(part.rows), : part.labels.shape[1]] = part.labels
            start += len(part.rows)
        rows, log_mass = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "log_mass"))
        return cls(rows, labels, log_mass, depth)

    def log_sum(self, n_rows: int) -> np.ndarray:
        """Return the logarithm of the mass of each row's vectors."""
        return log_sum_by_row(self.rows, self.log_mass, n_rows)


@dataclass(frozen=True)
class Enumerated:
    """Complete vectors and open prefixes of several rows, and the logarithms of their mass in each row."""

    vectors: Vectors
    open: Vectors
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
    ) -> Vectors:
        """Draw ``len(uniforms)`` completions of the open prefixes of each row that is `wanted`.

        Prefixes are drawn systematically from `offset` on, in proportion to their mass, and continued link by link.
        """
        n_samples = len(uniforms)
        by_row = np.argsort(self.open.rows, kind="stable")
        starts = np.searchsorted(self.open.rows[by_row], np.arange(tree.n_rows + 1))
        places = (np.arange(n_samples) + offset) / n_samples
        chosen = [np.empty(0, dtype=np.intp)]
        for row in np.flatnonzero(wanted & (starts[1:] > starts[:-1])):
            entries = by_row[starts[row] : starts[row + 1]]
            reached = np.cumsum(np.exp(self.open.log_mass[entries] - self.remaining[row]))
            chosen.append(entries[np.minimum(np.searchsorted(reached, places, side="right"), len(entries) - 1)])
        node = np.concatenate(chosen)
        rows, depth, labels = self.open.rows[node], self.open.depth[node], self.open.labels[node]
        sample = np.tile(np.arange(n_samples), len(chosen) - 1)
        log_weight = tree.complete(rows, labels, uniforms, sample, depth, full_depth[rows])
        return Vectors(rows, labels, self.remaining[rows] - math.log(n_samples) + log_weight, depth)


def enumerate_by_level(tree: PrefixTree, full_depth: np.ndarray, residual: float, max_nodes: int) -> Enumerated:
    """Enumerate by sweeps over the levels, each with a lower threshold, until little mass is open.

    A sweep expands, in every row that is not done, the open prefixes more probable than the row's
    threshold, and their children as far as those are. Prefixes of length ``full_depth[row]`` are complete.
    """
    n_rows, n_labels = tree.n_rows, tree.chain.n_labels
    unfinished = full_depth > 0
    nothing = Prefixes.empty(np.empty(0, dtype=np.intp))
    levels = [Prefixes.empty(np.flatnonzero(unfinished))] + [
        Prefixes(nothing.rows, np.empty((0, d + 1), dtype=CODE), nothing.free, nothing.known, nothing.origin)
        for d in range(n_labels)
    ]
    done = [nothing]
    threshold, nodes_left = np.full(n_rows, -FALL), np.full(n_rows, max_nodes)
    complete, remaining = np.where(unfinished, -np.inf, 0.0), np.where(unfinished, 0.0, -np.inf)
    while unfinished.any():
        for d in range(n_labels):
            here = levels[d]
            candidates = np.flatnonzero(unfinished[here.rows] & (here.log_mass > threshold[here.rows]))
            order, rank = best_first(here.rows[candidates], here.log_mass[candidates])
            candidates = candidates[order]
            taken = candidates[rank < nodes_left[here.rows[candidates]]]
            if len(taken) == 0:
                continue
            nodes_left -= np.bincount(here.rows[taken], minlength=n_rows)
            children = here.take(taken).grow(tree)
            children = children.take(children.log_mass > -np.inf)
            levels[d] = here.take(np.delete(np.arange(len(here.rows)), taken))
            is_full = full_depth[children.rows] == d + 1
            done.append(children.take(is_full))
            complete = np.logaddexp(complete, log_sum_by_row(done[-1].rows, done[-1].log_mass, n_rows))
            levels[d + 1] = join_rows([levels[d + 1], children.take(~is_full)])
        open_rows = np.concatenate([level.rows for level in levels])
        open_log = np.concatenate([level.log_mass for level in levels])
        remaining = log_sum_by_row(open_rows, open_log, n_rows)
        top = np.full(n_rows, -np.inf)
        np.maximum.at(top, open_rows, open_log)
        unfinished &= (top > -np.inf) & (nodes_left > 0) & (_share_open(complete, remaining) > residual)
        # Down to the most probable open prefix at least, so that no sweep is idle.
        threshold = np.where(unfinished, np.minimum(threshold, top) - FALL, threshold)
    return Enumerated(Vectors.padded(done, n_labels), Vectors.padded(levels, n_labels), complete, remaining)


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


def last_known(tree: PrefixTree) -> np.ndarray:
    """Return for each row the last position whose class is known, or -1."""
    if tree.given is None:
        return np.full(tree.n_rows, -1)
    return np.where(tree.given >= 0, np.arange(tree.chain.n_labels), -1).max(axis=1, initial=-1)


def _share_open(complete: np.ndarray, remaining: np.ndarray) -> np.ndarray:
    """Return open mass divided by all mass; one where there is none."""
    total = np.logaddexp(complete, remaining)
    return np.where(np.isneginf(total), 1.0, np.exp(remaining - np.where(np.isneginf(total), 0.0, total)))
