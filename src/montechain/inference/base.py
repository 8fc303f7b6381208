"""What every inference strategy has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from montechain._rows import join_rows
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import enumeration
from montechain.inference.decision import Decision, TopK
from montechain.losses import Loss
from montechain.prefix_tree import PrefixTree


class Inference(BaseEstimator, ABC):
    """Base class of inference strategies, which find label vectors for a chain and x.

    A strategy says how it finds a probable vector (`search`) and, if it finds more than one, which weighted vectors a
    loss is minimised over (`weigh`). Both get a `PrefixTree`: the chain, some rows, and what is known about
    them. Everything is in chain positions and codes.
    """

    is_sampling = False
    """Whether marginals are estimated from draws by choice, not because a budget has ended."""

    @abstractmethod
    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:
        """Return the most probable label vectors that this strategy finds."""

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:
        """Return the weighted label vectors over which a loss is minimised: by default, the one found."""
        one = np.ones(tree.n_rows)
        return LabelDistribution(np.arange(tree.n_rows + 1), self.search(tree, rng).labels, one, one, one > 0.0)

    def minimise(self, tree: PrefixTree, loss: Loss, rng: np.random.Generator) -> Decision:
        """Return the label vectors of least expected loss, for losses other than exact match."""
        labels, expected_loss, regret = loss.decide(self.weigh(tree, rng), given=tree.given)
        if type(self).weigh is Inference.weigh:
            # A single vector without its probability says nothing about the expected loss.
            expected_loss = np.full(len(labels), np.nan)
        return Decision.least_loss(labels, tree.log_joint(labels), expected_loss, regret)

    def rows_at_once(self, tree: PrefixTree) -> int:
        """Return how many rows may have their weighted vectors in memory together; by default all."""
        return tree.n_rows

    def marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        """Return the probabilities of each label's classes, given what is known: by default by enumeration.

        They belong to the chain, not to the way in which one vector is searched for.
        """
        return enumeration.marginals(tree, rng=rng)

    def decide(self, tree: PrefixTree, loss: Loss, rng: np.random.Generator) -> Decision:
        """Return the label vectors of least expected loss among those that this strategy considers."""
        if loss.is_exact_match:
            return self.search(tree, rng)
        return join_rows([self.minimise(own, loss, rng) for own in tree.blocks(self.rows_at_once(tree), rng)])

    def top_k(self, tree: PrefixTree, k: int) -> TopK:
        """Return the k most probable label vectors, best first; see `montechain.inference.enumeration.top_k`."""
        return enumeration.top_k(tree, k)
