"""What every inference strategy has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain.chain import ChainBase
from montechain.losses import LabelDistribution, Loss

__all__ = ["Decision", "Inference", "TopK", "blocks", "concatenated"]

TIGHT = 1e-9
"""Log-probabilities closer than this count as equal: they differ by rounding only."""


@dataclass(frozen=True)
class Decision:
    """Label vectors for n rows, and what is proven about them.

    Attributes
    ----------
    labels : ndarray of shape (n, L)
    log_proba : ndarray of shape (n,)
        log p(labels | x). With knowledge given, the joint probability, the known labels included.
    upper_bound : ndarray of shape (n,)
        No label vector (that agrees with what is known) has a higher log-probability than this.
    expected_loss : ndarray of shape (n,)
        Expected loss of `labels` under the chain, as far as it was computed; NaN where it was not.
    regret : ndarray of shape (n,)
        Proven bound on how much smaller the expected loss of any other decision can be.
    certified : bool ndarray of shape (n,)
        Whether `labels` is proven to be a best decision.
    """

    labels: np.ndarray
    log_proba: np.ndarray
    upper_bound: np.ndarray
    expected_loss: np.ndarray
    regret: np.ndarray
    certified: np.ndarray

    @property
    def proba(self) -> np.ndarray:
        """Probabilities of the labels, of shape (n,)."""
        return np.exp(self.log_proba)

    def with_labels(self, labels: Any) -> Decision:
        """Return the same with other labels, such as these in the user's classes."""
        return Decision(labels, self.log_proba, self.upper_bound, self.expected_loss, self.regret, self.certified)

    @classmethod
    def most_probable(
        cls, labels: np.ndarray, log_proba: np.ndarray, upper_bound: np.ndarray, *, given: np.ndarray | None = None
    ) -> Decision:
        """Return a decision for exact match.

        In rows in which labels were known beforehand, 1 - p(labels | x) is not the expected loss, whose
        normalising constant is not at hand.
        """
        proba = np.exp(log_proba)
        regret = np.maximum(np.exp(upper_bound) - proba, 0.0)
        expected_loss = 1.0 - proba
        if given is not None:
            expected_loss[(given >= 0).any(axis=1)] = np.nan
        return cls(labels, log_proba, upper_bound, expected_loss, regret, upper_bound <= log_proba + TIGHT)


@dataclass(frozen=True)
class TopK:
    """The k most probable label vectors of n rows, best first.

    Attributes
    ----------
    labels : ndarray of shape (n, k, L)
    log_proba : ndarray of shape (n, k)
    certified : bool ndarray of shape (n,)
        Whether these are proven to be the k best.
    """

    labels: np.ndarray
    log_proba: np.ndarray
    certified: np.ndarray

    @property
    def proba(self) -> np.ndarray:
        """Probabilities, of shape (n, k)."""
        return np.exp(self.log_proba)


class Inference(BaseEstimator, ABC):
    """From a chain and x to a label vector. One strategy, one file.

    A member says how it finds a probable vector (`most_probable`) and, if it finds more than one,
    which weighted vectors a loss is minimised over (`distribution`). All arguments and results are
    in chain positions and codes. `rng` is a `numpy.random.Generator`.
    """

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
        log_proba = chain.log_joint(X, labels)
        return Decision(labels, log_proba, np.zeros(len(labels)), expected_loss, regret, regret <= 0.0)

    def marginals(
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """Return the probabilities of each label's classes, given what is known: L arrays of shape (n, K).

        They belong to the chain, not to the way in which one vector is searched for; so, unless a
        strategy says otherwise, they come from enumerating the most probable vectors.
        """
        from montechain.inference import enumeration

        return enumeration.marginals(chain, X, given=given, rng=rng).proba

    def top_k(self, chain: ChainBase, X: Any, k: int, *, given: np.ndarray | None = None) -> TopK:
        """Return the k most probable label vectors, best first; see `montechain.inference.enumeration.top_k`."""
        from montechain.inference import enumeration

        return enumeration.top_k(chain, X, k, given=given)


def blocks(n_rows: int, size: int) -> Iterator[np.ndarray]:
    """Yield the row numbers of each block of at most `size` rows, at least one block.

    >>> [rows.tolist() for rows in blocks(5, 2)], [rows.tolist() for rows in blocks(0, 2)]
    ([[0, 1], [2, 3], [4]], [[]])
    """
    for start in range(0, max(n_rows, 1), size):
        yield np.arange(start, min(start + size, n_rows))


def concatenated(parts: Sequence[Decision]) -> Decision:
    """Return the decisions of consecutive blocks as one."""
    return Decision(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Decision)))
