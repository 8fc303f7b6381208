"""A log-linear pool: chains and forests together say how probable each label vector seen in training is.

Chains give every label vector a positive probability; most real label vectors have been seen before. The pool shares
all probability out among those: the log-probability of a vector u is, up to a constant,

    sum_m a_m log p_m(u | x) + sum_j b_j log(J_j(u | x) + 0.001) + c log(count of u),

with chains p_m, shares J_j of the vectors in the leaves of forests, and weights learned from held-out rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from montechain._kernels.candidates import score_candidates
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.population.search import log_sum
from montechain.seen_vectors import SeenVectors
from montechain.targets import CODE

__all__ = ["VectorPool", "candidate_log_proba", "log_shares", "pool_weights"]

FLOOR = 1e-3
"""Share that is added to the share of every vector in the leaves of a forest."""
SHORTLIST = 256
"""Number of vectors that are scored for a row; all of them where there are no more."""
RIDGE, PRIOR_RIDGE = 1e-3, 1.0
"""Penalties of the weights: of all of them for a mean log-likelihood, and of the counts' for one that is summed."""


@savable
class VectorPool(SeenVectors):
    """A log-linear pool of chains and forests over the label vectors seen in training.

    The rows are those of a matrix that holds the inputs of the chains and, in later columns, `log_shares` of forests.

    Parameters
    ----------
    vectors, counts, n_classes
        As in `montechain.seen_vectors.SeenVectors`.
    sources : sequence of sequences of Chain
        For each p_m, the chains of which it is the mean.
    share_columns : sequence of int
        The first column of each forest's shares.
    weights : ndarray
        Of the sources, of the forests, and of the logarithm of the counts.
    guide : Chain
        Where there are many vectors, those are scored that it finds most probable without the effects of parents.
    """

    def __init__(
        self,
        vectors: np.ndarray,
        counts: np.ndarray,
        n_classes: Sequence[int],
        sources: Sequence[Sequence[Chain]],
        share_columns: Sequence[int],
        weights: np.ndarray,
        guide: Chain,
    ):
        super().__init__(vectors, counts, n_classes)
        self.sources = [list(chains) for chains in sources]
        self.share_columns = [int(start) for start in share_columns]
        self.weights = weights
        self.guide = guide

    def _check_loaded(self) -> None:
        super()._check_loaded()
        chains = [self.guide, *(chain for own in self.sources for chain in own)]
        require(all(isinstance(chain, Chain) and chain.scorer is not None for chain in chains), "a chain is not linear")
        labels = sorted(range(self.n_labels))
        for chain in chains:
            require(sorted(chain.order) == labels, "a chain has other labels than the pool")
            own = tuple(chain.n_classes[k] for k in np.argsort(chain.order))
            require(own == self.n_classes, "a chain has other classes than the pool")
        require(all(self.sources), "a part of the pool has no chains")
        n_weights = len(self.sources) + len(self.share_columns) + 1
        require(self.weights.shape == (n_weights,) and np.isfinite(self.weights).all(), "the pool has other weights")
        require(all(start >= 0 for start in self.share_columns), "a forest has no columns")

    def log_proba(self, X):  # noqa: D102
        candidates = self.shortlist(X)
        parts = [log_mean([candidate_log_proba(chain, X, self.vectors, candidates) for chain in own])
                 for own in self.sources]  # fmt: skip
        parts += [_taken(self._shares(X, start), candidates) for start in self.share_columns]
        parts.append(np.log(self.counts)[candidates])
        scores = np.tensordot(self.weights, np.stack(parts), axes=1)
        scores -= log_sum(scores)[:, None]
        if candidates.shape[1] == len(self.vectors):
            return scores
        log_proba = np.full((X.shape[0], len(self.vectors)), -np.inf)
        np.put_along_axis(log_proba, candidates, scores, axis=1)
        return log_proba

    def shortlist(self, X: Any) -> np.ndarray:
        """Return the numbers of the vectors to score, ascending, of shape (n, S)."""
        of_chains, of_shares = self.weights[: len(self.sources)], self.weights[len(self.sources) : -1]
        prior = self.weights[-1] * np.log(self.counts) + sum(
            weight * self._shares(X, start) for weight, start in zip(of_shares, self.share_columns, strict=True)
        )
        return shortlist(self.guide, X, self.vectors, prior, scale=of_chains.sum())

    def _shares(self, X: Any, start: int) -> np.ndarray:
        own = X[:, start : start + len(self.vectors)]
        return own.toarray() if sp.issparse(own) else own


def shortlist(guide: Chain, X: Any, vectors: np.ndarray, prior: np.ndarray, *, scale: float = 1.0) -> np.ndarray:
    """Return the numbers of the most promising vectors of each row, ascending, of shape (n, S).

    Vectors count by `scale` times their score under the guide without the effects of parents, plus `prior`, of shape
    (n, V) or (V,).
    """
    n_rows, n_vectors = X.shape[0], len(vectors)
    if n_vectors <= SHORTLIST:
        return np.broadcast_to(np.arange(n_vectors), (n_rows, n_vectors))
    base, links = guide.scores(X).arrays  # type: ignore[union-attr]
    # The score of a vector is a sum of scores of classes, so that all vectors take one product.
    picks = np.zeros((base.shape[1], n_vectors))
    for k, label in enumerate(guide.order):
        first, n_classes = links.score_start[k], links.n_classes[k]
        if n_classes == 2:
            picks[first] = vectors[:, label]
        elif n_classes > 2:
            picks[first + vectors[:, label], np.arange(n_vectors)] = 1.0
    best = np.argpartition(-(scale * (base @ picks) + prior), SHORTLIST, axis=1)[:, :SHORTLIST]
    return np.sort(best, axis=1)


def candidate_log_proba(chain: Chain, X: Any, vectors: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return log p(vector | x) of the candidates of each row under a chain of logistic links, of shape (n, S)."""
    base, links = chain.scores(X).arrays  # type: ignore[union-attr]
    own = np.ascontiguousarray(vectors[:, list(chain.order)], dtype=CODE)
    is_active = np.zeros((len(own), links.effects.shape[1]))
    for k, n_classes in enumerate(links.n_classes):
        for c in range(1, n_classes):
            is_active[:, links.active_start[k] + c - 1] = own[:, k] == c
    log_proba = np.empty(candidates.shape)
    score_candidates(
        base, is_active @ links.effects.T, own, np.ascontiguousarray(candidates), links.score_start, links.n_classes,
        log_proba,
    )  # fmt: skip
    return log_proba


def log_shares(shares: sp.csr_array) -> sp.csr_array:
    """Return log((J + 0.001) / 0.001), which is zero where the share J is."""
    logs = shares.copy()
    logs.data = np.log1p(logs.data / FLOOR)
    return logs


def pool_weights(
    parts: np.ndarray, allowed: np.ndarray, target: np.ndarray, *, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the weights of a pool that make held-out rows most probable, those of the models not negative.

    Parameters
    ----------
    parts : ndarray of shape (M, n, S)
        For each row and candidate, the logarithms that are pooled. The last part is the logarithm of the counts.
    allowed : bool ndarray of shape (n, S)
        The candidates that were seen in other rows.
    target : int ndarray of shape (n,)
        The place of the true vector among the candidates.
    sample_weight : ndarray of shape (n,), optional
    """
    n_rows = len(target)
    share = np.full(n_rows, 1.0 / n_rows) if sample_weight is None else sample_weight / sample_weight.sum()
    penalty = np.full(len(parts), RIDGE)
    penalty[-1] += PRIOR_RIDGE / n_rows
    rows = np.arange(n_rows)
    of_target = parts[:, rows, target] @ share

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = np.where(allowed, np.tensordot(weights, parts, axes=1), -np.inf)
        log_total = log_sum(scores)
        proba = np.exp(scores - log_total[:, None]) * share[:, None]
        value = share @ log_total - weights @ of_target + 0.5 * penalty @ weights**2
        return value, np.tensordot(parts, proba, axes=2) - of_target + penalty * weights

    bounds = [(0.0, None)] * (len(parts) - 1) + [(None, None)]
    start = np.full(len(parts), 1.0 / len(parts))
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return found.x


def log_mean(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the logarithm of the mean of exp(parts)."""
    return parts[0] if len(parts) == 1 else log_sum(np.stack(parts, axis=-1)) - np.log(len(parts))


def _taken(values: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    return values if candidates.shape == values.shape else np.take_along_axis(values, candidates, axis=1)
