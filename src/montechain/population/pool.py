"""Models weighted by rows that they were not fitted to: a mixture, and a log-linear pool over seen label vectors.

Chains give every label vector a positive probability; most real label vectors have been seen before. The pool
divides all probability among those: the log-probability of a vector u is, up to a constant,

    sum_m a_m log p_m(u | x) + sum_j b_j log(J_j(u | x) + 0.001) + c log(count of u),

with chains p_m, shares J_j of the vectors in the leaves of forests, and weights learned from held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

from montechain._kernels.candidates import score_candidates
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.links.design import parent_columns
from montechain.population.search import log_sum
from montechain.seen_vectors import SeenVectors
from montechain.targets import CODE

FLOOR = 1e-3
"""Smoothing: added to the share of every vector in the leaves of a forest."""
SHORTLIST = 256
"""Maximum number of vectors scored per row."""
RIDGE, PRIOR_RIDGE = 1e-3, 1.0
"""Penalties: on all weights, for a mean log-likelihood; and on the weight of the counts, for a summed one."""
MAX_STEPS, STEP_TOLERANCE = 50, 1e-8
MAX_ITERATIONS, EM_TOLERANCE = 2000, 1e-6
"""When Newton's method and expectation maximisation end: tolerances are in units of the mean log-likelihood."""


@savable
@dataclass(eq=False, repr=False)
class VectorPool(SeenVectors):
    """A log-linear pool of chains and forests over the label vectors seen in training.

    The rows are those of a matrix that holds the inputs of the chains and, in later columns, `log_shares` of forests:
    those of each forest begin at one of the `share_columns`. `sources` has, for each p_m, the chains of which it is the
    mean; `weights` are those of the sources, of the forests, and of the logarithm of the counts. Where there are many
    vectors, those are scored that the chain `guide` finds most probable without the effects of parents.
    """

    sources: list[list[Chain]]
    share_columns: list[int]
    weights: np.ndarray
    guide: Chain

    def _check_loaded(self) -> None:
        super()._check_loaded()
        chains = [self.guide, *(chain for own in self.sources for chain in own)]
        require(all(isinstance(chain, Chain) and chain.scorer is not None for chain in chains), "a chain is not linear")
        for chain in chains:
            require(sorted(chain.order) == list(range(self.n_labels)), "a chain and the pool have different labels")
            own = tuple(chain.n_classes[k] for k in np.argsort(chain.order))
            require(own == self.n_classes, "a chain and the pool have different classes")
        require(all(self.sources), "a part of the pool has no chains")
        n_weights = len(self.sources) + len(self.share_columns) + 1
        require(self.weights.shape == (n_weights,) and np.isfinite(self.weights).all(), "the pool has wrong weights")
        require(all(start >= 0 for start in self.share_columns), "a forest has no columns")

    def log_proba(self, X):  # noqa: D102
        columns = [X[:, start : start + len(self.vectors)] for start in self.share_columns]
        shares = [own.toarray() if sp.issparse(own) else own for own in columns]
        of_chains, of_shares = self.weights[: len(self.sources)], self.weights[len(self.sources) : -1]
        prior = self.weights[-1] * np.log(self.counts)
        prior = prior + sum(weight * own for weight, own in zip(of_shares, shares, strict=True))
        candidates = shortlist(self.guide, X, self.vectors, prior, scale=of_chains.sum())
        parts = [log_mean([candidate_log_proba(chain, X, self.vectors, candidates) for chain in own])
                 for own in self.sources]  # fmt: skip
        parts += [np.take_along_axis(own, candidates, axis=1) for own in shares]
        parts.append(np.log(self.counts)[candidates])
        scores = np.tensordot(self.weights, np.stack(parts), axes=1)
        scores -= log_sum(scores)[:, None]
        log_proba = np.full((X.shape[0], len(self.vectors)), -np.inf)
        np.put_along_axis(log_proba, candidates, scores, axis=1)
        return log_proba


def shortlist(guide: Chain, X: Any, vectors: np.ndarray, prior: np.ndarray, *, scale: float = 1.0) -> np.ndarray:
    """Return the numbers of the most promising vectors of each row, ascending, of shape (n, S).

    Vectors count by `scale` times their score under the guide without the effects of parents, plus `prior`.
    """
    n_rows, n_vectors = X.shape[0], len(vectors)
    if n_vectors <= SHORTLIST:
        return np.broadcast_to(np.arange(n_vectors), (n_rows, n_vectors))
    # The score of a vector is a sum of scores of classes, so that all vectors take one product. A label has a score for
    # each column that it has as a parent.
    picks = np.ascontiguousarray(parent_columns(vectors[:, list(guide.order)], guide.n_classes).T)
    scores = guide.scores(X).base @ picks  # type: ignore[union-attr]
    best = np.argpartition(-(scale * scores + prior), SHORTLIST, axis=1)[:, :SHORTLIST]
    return np.sort(best, axis=1)


def candidate_log_proba(chain: Chain, X: Any, vectors: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return log p(vector | x) of the candidates of each row under a chain of logistic links, of shape (n, S)."""
    base, links = chain.scores(X)  # type: ignore[misc]
    own = np.ascontiguousarray(vectors[:, list(chain.order)], dtype=CODE)
    position = np.repeat(np.arange(len(links.n_classes)), links.n_classes - 1)
    is_active = (own[:, position] == np.arange(len(position)) - links.active_start[position] + 1).astype(np.float64)
    log_proba = np.empty(candidates.shape)
    score_candidates(
        base, is_active @ links.effects.T, own, _same_prefix(own), np.ascontiguousarray(candidates), links.score_start,
        links.n_classes, log_proba,
    )  # fmt: skip
    return log_proba


def _same_prefix(vectors: np.ndarray) -> np.ndarray:
    """Return the number of the first vector, in sorted order, that begins like each one, for each length.

    >>> _same_prefix(np.array([[1, 1], [0, 1], [1, 0]]))
    array([[2, 0],
           [1, 1],
           [2, 2]])
    """
    order = np.lexsort(vectors.T[::-1])
    differs = np.ones(vectors.shape, dtype=bool)
    differs[1:] = np.logical_or.accumulate(vectors[order[1:]] != vectors[order[:-1]], axis=1)
    firsts = np.maximum.accumulate(np.where(differs, np.arange(len(vectors))[:, None], 0), axis=0)
    same = np.empty(vectors.shape, dtype=np.int64)
    same[order] = order[firsts]
    return same


def log_shares(shares: sp.csr_array) -> sp.csr_array:
    """Return log((J + 0.001) / 0.001), which is zero where the share J is."""
    logs = shares.copy()
    logs.data = np.log1p(logs.data / FLOOR)
    return logs


def pool_weights(
    parts: np.ndarray, allowed: np.ndarray, target: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the weights of a pool that make held-out rows most probable, those of the models not negative.

    `parts`, of shape (M, n, S), are the logarithms that are pooled for each row and candidate, the last that of the
    counts; `allowed`, of shape (n, S), says which of them were seen in other rows, `target` which is the true one.
    """
    n_models, n_rows, _ = parts.shape
    share = _shares_of_rows(n_rows, sample_weight)
    penalty = np.full(n_models, RIDGE)
    penalty[-1] += PRIOR_RIDGE / n_rows
    of_target = parts[:, np.arange(n_rows), target] @ share
    lowest = np.append(np.zeros(n_models - 1), -np.inf)
    flat = parts.reshape(n_models, -1)

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.where(allowed, (weights @ flat).reshape(allowed.shape), -np.inf)
        log_total = log_sum(scores)
        value = share @ log_total - weights @ of_target + 0.5 * penalty @ weights**2
        return value, scores - log_total[:, None]

    weights = np.full(n_models, 1.0 / n_models)
    value, log_proba = objective(weights)
    # Newton's method: the objective is convex and has few weights. The best step within the bounds is a problem of
    # least squares.
    for _ in range(MAX_STEPS):
        weighted = parts * np.exp(log_proba)
        of_row = weighted.sum(axis=2)
        weighted *= share[:, None]
        gradient = of_row @ share - of_target + penalty * weights
        curvature = weighted.reshape(n_models, -1) @ flat.T - (of_row * share) @ of_row.T + np.diag(penalty)
        root = np.linalg.cholesky(curvature).T
        wanted = root @ weights - solve_triangular(root, gradient, trans="T")
        best = lsq_linear(root, wanted, bounds=(lowest, np.inf), method="bvls").x
        gain = gradient @ (weights - best)
        if gain < STEP_TOLERANCE:
            break
        while (found := objective(best))[0] > value - 1e-4 * gain and gain > STEP_TOLERANCE:
            best, gain = (weights + best) / 2.0, gain / 2.0
        weights, (value, log_proba) = best, found
    return weights


def stacking_weights(log_proba: np.ndarray, *, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Return the weights under which a mixture gives held-out label vectors the highest likelihood, of shape (M,).

    `log_proba`, of shape (n, M), is log p(y | x) of each row under each model, learned without the row; minus infinity
    is allowed as long as some model gives the row a positive probability. The likelihood is concave in the weights, and
    expectation maximisation climbs it until it rises by less than `EM_TOLERANCE`.

    >>> stacking_weights(np.log([[0.9, 0.1], [0.8, 0.1], [0.1, 0.6]])).round(2)
    array([0.76, 0.24])
    """
    share = _shares_of_rows(len(log_proba), sample_weight)
    # Relative to the best model of each row, so that nothing underflows.
    likelihood = np.exp(log_proba - log_proba.max(axis=1, keepdims=True))
    weights = np.full(log_proba.shape[1], 1.0 / log_proba.shape[1])
    before = -np.inf
    for _ in range(MAX_ITERATIONS):
        mixed = likelihood @ weights
        weights = weights * ((share / mixed) @ likelihood)
        value = share @ np.log(mixed)
        if value - before < EM_TOLERANCE:
            break
        before = value
    return weights / weights.sum()


def mixture_log_proba(log_proba: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the log-probability of each row under the mixture, of shape (n,)."""
    with np.errstate(divide="ignore"):
        return log_sum(log_proba + np.log(weights))


def _shares_of_rows(n_rows: int, sample_weight: np.ndarray | None) -> np.ndarray:
    return np.full(n_rows, 1.0 / n_rows) if sample_weight is None else sample_weight / sample_weight.sum()


def log_mean(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the logarithm of the mean of exp(parts)."""
    if len(parts) == 1:
        return parts[0]
    # Array by array: several times as fast as a sum over a last axis that is short.
    largest = np.maximum.reduce(parts)
    return largest + np.log(sum(np.exp(part - largest) for part in parts) / len(parts))
