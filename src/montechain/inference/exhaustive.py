"""Exhaustive inference: probabilistic classifier chains as first published."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from montechain._compat import take_rows
from montechain._kernels.exhaustive import all_vectors, exhaustive
from montechain._messages import check_positive_integer
from montechain.chain import CODE, ChainBase, PrefixTree, no_knowledge
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference._frontier import allowed_children, append, best_first
from montechain.inference.base import Decision, Inference, blocks, concatenated
from montechain.losses import Loss

__all__ = ["Exhaustive"]

BLOCK = 2**20
"""Number of label vectors held at a time."""


class Exhaustive(Inference):
    """Score every label vector.

    This is inference in PCC (Dembczyński et al. 2010; Section 2.2 of Read, Martino and Luengo 2014).

    Cost: one conditional per prefix and row, 2^L - 1 for L binary labels. Exact for every loss: exact
    match and Hamming by their definition, any other as far as the loss is minimised exactly over a
    known distribution. Every row is certified for exact match.

    Parameters
    ----------
    max_vectors : int, default=65536
        Refuse to score more label vectors per row than this. Labels known beforehand do not count.

    References
    ----------
    Dembczyński, Cheng and Hüllermeier (2010). Bayes optimal multilabel classification via probabilistic
    classifier chains. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference.exhaustive import Exhaustive
    >>> from montechain.links.linear import FittedLinearLink
    >>> link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    >>> chain = Chain(order=[0, 1], parents=[(), ()], links=[link, link])
    >>> distribution = Exhaustive().distribution(chain, np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> distribution.weights.round(2).tolist()
    [0.09, 0.21, 0.21, 0.49]
    """

    def __init__(self, max_vectors: int = 2**16):
        self.max_vectors = max_vectors

    def most_probable(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        n_vectors = self._count(chain, X, given)
        scores = chain.scores(X)
        if scores is not None:
            labels, log_proba = exhaustive(*scores.arrays, no_knowledge(chain.n_labels) if given is None else given)
        else:
            tree = PrefixTree(chain, X, given)
            labels, log_proba = np.zeros((tree.n_rows, chain.n_labels), dtype=CODE), np.zeros(tree.n_rows)
            for block in _blocks(n_vectors):
                rows, vectors, vector_log = _enumerate(tree, block)
                order, rank = best_first(rows, vector_log)
                labels[block], log_proba[block] = vectors[order[rank == 0]], vector_log[order[rank == 0]]
        return Decision.most_probable(labels, log_proba, log_proba, given=given)

    def distribution(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> LabelDistribution:
        n_vectors = self._count(chain, X, given)
        scores = chain.scores(X)
        if scores is not None:
            known = no_knowledge(chain.n_labels) if given is None else given
            labels, log_proba = all_vectors(*scores.arrays, known, n_vectors)
        else:
            _, labels, log_proba = _enumerate(PrefixTree(chain, X, given), np.arange(len(n_vectors)))
        starts = np.cumsum(n_vectors) - n_vectors
        best = np.maximum.reduceat(log_proba, starts) if len(starts) else np.empty(0)
        largest = np.repeat(best, n_vectors)
        # What is known may be impossible under the chain; then all completions count alike, and nothing is proven.
        impossible = np.isneginf(best)
        weights = np.where(largest > -np.inf, np.exp(log_proba - np.maximum(largest, -1e300)), 1.0)
        weights /= np.repeat(np.add.reduceat(weights, starts), n_vectors) if len(starts) else 1.0
        positive = weights > 0
        counts = np.add.reduceat(positive, starts, dtype=np.int64) if len(starts) else np.empty(0, dtype=np.int64)
        return LabelDistribution(
            indptr=np.r_[0, np.cumsum(counts)],
            labels=labels[positive],
            weights=weights[positive],
            residual=np.where(impossible, 1.0, 0.0),
            estimated=impossible,
        )

    def decide(  # noqa: D102
        self, chain: ChainBase, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        decide = super().decide
        if loss.is_exact_match:
            return decide(chain, X, loss=loss, given=given, rng=rng)
        # Only some rows at a time, since their distributions are large.
        parts = [
            decide(chain, take_rows(X, rows), loss=loss, given=None if given is None else given[rows], rng=rng)
            for rows in _blocks(self._count(chain, X, given))
        ]
        return concatenated(parts)

    def marginals(
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Marginals:
        """Return the probabilities of each label's classes, given what is known, exactly."""
        parts = []
        for rows in _blocks(self._count(chain, X, given)):
            known = None if given is None else given[rows]
            distribution = self.distribution(chain, take_rows(X, rows), given=known, rng=rng)
            parts.append(distribution.marginals(chain.n_classes))
        return Marginals.exact([np.concatenate(columns) for columns in zip(*parts, strict=True)])

    def _count(self, chain: ChainBase, X: Any, given: np.ndarray | None) -> np.ndarray:
        """Return the number of vectors to score in each row, or raise if some row has too many."""
        limit = check_positive_integer(self, "max_vectors", 65536)
        free = np.ones((X.shape[0], chain.n_labels), dtype=bool) if given is None else given < 0
        log_counts = free @ np.log(np.array(chain.n_classes, dtype=float))
        if len(free):
            worst = free[log_counts.argmax()]
            count = math.prod(k for k, is_free in zip(chain.n_classes, worst, strict=True) if is_free)
            if count > limit:
                raise ValueError(
                    f"Exhaustive() would score {count} label vectors per row, more than `max_vectors={limit}`. "
                    f"Try BranchAndBound(), Beam(width=...) or MonteCarlo(n_samples=...), or allow it with "
                    f"Exhaustive(max_vectors={count})."
                )
        return np.rint(np.exp(log_counts)).astype(np.int64)


def _blocks(n_vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Split the rows into runs of about `BLOCK` vectors each."""
    return blocks(len(n_vectors), max(1, BLOCK // int(n_vectors.max(initial=1))))


def _enumerate(tree: PrefixTree, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all vectors of `rows`, level by level, for a chain of any kind: their row, labels, log-probability."""
    prefix, partial = np.zeros((len(rows), 0), dtype=CODE), np.zeros(len(rows))
    for _ in range(tree.chain.n_labels):
        origin, classes, log_proba = allowed_children(tree, rows, prefix)
        rows, prefix, partial = rows[origin], append(prefix, origin, classes), partial[origin] + log_proba
    return rows, prefix, partial
