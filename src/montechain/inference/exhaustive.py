"""Exhaustive inference: probabilistic classifier chains as first published."""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.exhaustive import all_vectors
from montechain._messages import check_positive_integer
from montechain._rows import join_rows
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.base import Inference
from montechain.inference.decision import Decision
from montechain.inference.sweep import best_first, log_sum_by_row, sweep
from montechain.prefix_tree import PrefixTree

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
    >>> from montechain.chain import example_chain
    >>> distribution = Exhaustive().distribution(example_chain(), np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> distribution.weights.round(2).tolist()
    [0.09, 0.21, 0.21, 0.49]
    """

    def __init__(self, max_vectors: int = 2**16):
        self.max_vectors = max_vectors

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        labels, log_proba = [], []
        for block in self.blocks(tree, rng):
            rows, vectors, values = self._vectors(block)
            order, rank = best_first(rows, values)
            labels.append(vectors[order[rank == 0]])
            log_proba.append(values[order[rank == 0]])
        value = np.concatenate(log_proba)
        return Decision.most_probable(np.concatenate(labels), value, value, given=tree.given)

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:  # noqa: D102
        rows, labels, log_proba = self._vectors(tree)
        total = log_sum_by_row(rows, log_proba, tree.n_rows)
        # What is known may be impossible under the chain; then all completions count alike, and nothing is proven.
        impossible = np.isneginf(total)
        weights = np.exp(log_proba - np.where(impossible, 0.0, total)[rows])
        weights[impossible[rows]] = 1.0 / np.bincount(rows)[rows[impossible[rows]]]
        positive = weights > 0
        counts = np.bincount(rows[positive], minlength=tree.n_rows)
        return LabelDistribution(
            np.r_[0, np.cumsum(counts)], labels[positive], weights[positive], impossible.astype(float), impossible
        )

    def rows_at_once(self, tree: PrefixTree) -> int:  # noqa: D102
        return max(1, BLOCK // int(self._count(tree).max(initial=1)))

    def find_marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        """Return the exact marginals."""
        return join_rows([self._marginals(block, rng) for block in self.blocks(tree, rng)])

    def _marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        found = self.weigh(tree, rng)
        proba = found.marginals(tree.chain.n_classes)
        # Nothing is proven where the known classes are impossible.
        lower = [np.where(found.estimated[:, None], 0.0, own) for own in proba]
        return Marginals(proba, lower, np.repeat(found.residual[:, None], len(proba), axis=1), found.estimated)

    def _vectors(self, tree: PrefixTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return all vectors that agree with what is known, row after row: row, labels and log-probability of each."""
        n_vectors = self._count(tree)
        if tree.scores is not None:
            return np.repeat(np.arange(tree.n_rows), n_vectors), *all_vectors(*tree.arrays, n_vectors)
        vectors = sweep(tree).vectors
        return vectors.rows, vectors.labels, vectors.log_mass

    def _count(self, tree: PrefixTree) -> np.ndarray:
        """Return the number of vectors to score in each row, or raise if some row has too many."""
        limit = check_positive_integer(self, "max_vectors", 65536)
        n_classes = np.array(tree.chain.n_classes)
        free = np.ones((tree.n_rows, len(n_classes)), dtype=bool) if tree.given is None else tree.given < 0
        log_counts = free @ np.log(n_classes)
        if len(free):
            count = math.prod(
                k for k, is_free in zip(tree.chain.n_classes, free[log_counts.argmax()], strict=True) if is_free
            )
            if count > limit:
                raise ValueError(
                    f"Exhaustive() would score {count} label vectors per row, more than `max_vectors={limit}`. "
                    f"Try BranchAndBound(), Beam(width=...) or MonteCarlo(n_samples=...), or allow it with "
                    f"Exhaustive(max_vectors={count})."
                )
        return np.rint(np.exp(log_counts)).astype(np.int64)
