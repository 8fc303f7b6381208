"""What every inference strategy has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain.chain import ChainBase
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import enumeration
from montechain.inference.decision import TIGHT, Decision, TopK, blocks, concatenated
from montechain.losses import Loss

__all__ = ["TIGHT", "Decision", "Inference", "TopK", "blocks", "concatenated"]


class Inference(BaseEstimator, ABC):
    """From a chain and x to a label vector. One strategy, one file.

    A member says how it finds a probable vector (`most_probable`) and, if it finds more than one,
    which weighted vectors a loss is minimised over (`distribution`). All arguments and results are
    in chain positions and codes. `rng` is a `numpy.random.Generator`.
    """

    is_sampling = False
    """Whether marginals are estimated from draws by choice, not because a budget has ended."""

    @abstractmethod
    def most_probable(
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        """Return the most probable label vectors that this strategy finds."""

    def distribution(
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> LabelDistribution:
        """Return the weighted label vectors over which a loss is minimised: here, the one found."""
        decision = self.most_probable(chain, X, given=given, rng=rng)
        n_rows = len(decision.labels)
        return LabelDistribution(
            indptr=np.arange(n_rows + 1),
            labels=decision.labels,
            weights=np.ones(n_rows),
            residual=np.ones(n_rows),
            estimated=np.ones(n_rows, dtype=bool),
        )

    def decide(
        self, chain: ChainBase, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        """Return the label vectors of least expected loss among those that this strategy considers."""
        if loss.is_exact_match:
            return self.most_probable(chain, X, given=given, rng=rng)
        distribution = self.distribution(chain, X, given=given, rng=rng)
        labels, expected_loss, regret = loss.decide(distribution, given=given)
        if type(self).distribution is Inference.distribution:
            # A single vector without its probability says nothing about the expected loss.
            expected_loss = np.full(len(labels), np.nan)
        return Decision.least_loss(labels, chain.log_joint(X, labels), expected_loss, regret)

    def marginals(
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Marginals:
        """Return the probabilities of each label's classes, given what is known, with bounds.

        They belong to the chain, not to the way in which one vector is searched for; so, unless a
        strategy says otherwise, they come from enumerating the most probable vectors.
        """
        return enumeration.marginals(chain, X, given=given, rng=rng)

    def top_k(self, chain: ChainBase, X: Any, k: int, *, given: np.ndarray | None = None) -> TopK:
        """Return the k most probable label vectors, best first; see `montechain.inference.enumeration.top_k`."""
        return enumeration.top_k(chain, X, k, given=given)
