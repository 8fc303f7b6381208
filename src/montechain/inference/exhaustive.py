"""Exhaustive inference: probabilistic classifier chains as first published."""

from __future__ import annotations

import numpy as np

from montechain._messages import check_positive_integer
from montechain._rows import join_rows
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.base import Inference
from montechain.inference.decision import Decision
from montechain.inference.sweep import log_sum_by_row, sweep
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
        best = join_rows([sweep(block).best() for block in self.blocks(tree, rng)])
        return Decision.most_probable(best.labels, best.log_mass, best.log_mass, given=tree.given)

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:  # noqa: D102
        self.rows_at_once(tree)
        found = sweep(tree).vectors
        total = log_sum_by_row(found.rows, found.log_mass, tree.n_rows)
        # What is known may be impossible under the chain; then all completions count alike, and nothing is proven.
        impossible = np.isneginf(total)
        weights = np.exp(found.log_mass - np.where(impossible, 0.0, total)[found.rows])
        alike = impossible[found.rows]
        weights[alike] = 1.0 / np.bincount(found.rows)[found.rows[alike]]
        return LabelDistribution.ragged(found.rows, found.labels, weights, impossible.astype(float), impossible)

    def rows_at_once(self, tree: PrefixTree) -> int:
        """Return how many rows may have all their vectors in memory together; raise if some row has too many."""
        limit = check_positive_integer(self, "max_vectors", 65536)
        n_classes = np.array(tree.chain.n_classes, dtype=object)  # whole numbers of any size
        known = np.zeros((tree.n_rows, 1), dtype=bool) if tree.given is None else tree.given >= 0
        count = np.where(known, 1, n_classes).prod(axis=1).max(initial=1)
        if count > limit:
            raise ValueError(
                f"Exhaustive() would score {count} label vectors per row, more than `max_vectors={limit}`. "
                f"Try BranchAndBound(), Beam(width=...) or MonteCarlo(n_samples=...), or allow it with "
                f"Exhaustive(max_vectors={count})."
            )
        return max(1, BLOCK // count)

    def find_marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        """Return the exact marginals."""
        return join_rows([self._marginals(block, rng) for block in self.blocks(tree, rng)])

    def _marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        found = self.weigh(tree, rng)
        proba = found.marginals(tree.chain.n_classes)
        # Nothing is proven where the known classes are impossible.
        lower = [np.where(found.estimated[:, None], 0.0, own) for own in proba]
        return Marginals(proba, lower, np.repeat(found.residual[:, None], len(proba), axis=1), found.estimated)
