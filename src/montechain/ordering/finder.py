"""What every way of finding label orders has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from montechain.links import LinkLearner
from montechain.ordering.evaluator import OrderEvaluator
from montechain.ordering.orders import Order, SearchResult

__all__ = ["Evaluator", "OrderFinder"]

EVALUATION = ("payoff", "on", "record", "validation", "warm_start", "max_cache_bytes")
"""Parameters of a finder that say how orders are judged, as far as it has them."""


class Evaluator(Protocol):
    """All that a finder sees of the data and the links: what an order is worth.

    An evaluator may also have ``prefetch(links)``, which is told the links, pairs of a label and the labels before
    it, whose payoffs will be asked for next, so that it can fit them together.
    """

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        ...

    @property
    def n_links_fitted(self) -> int:
        """How many links have been fitted so far."""
        ...

    @property
    def tolerance(self) -> float:
        """Share of a payoff that a candidate must gain to count as better: 0.0 if fits are exact."""
        ...

    def payoff(self, order: Order) -> float:
        """Return what an order is worth; more is better."""
        ...

    def link_payoff(self, label: int, earlier: frozenset[int]) -> float:
        """Return what one link adds to a payoff that is a sum over links: its held-out log-likelihood."""
        ...


class OrderFinder(BaseEstimator, ABC):
    """From an evaluator of orders to good orders. What `order` of an estimator may be."""

    def evaluator(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, n_classes: Sequence[int], **options: Any
    ) -> OrderEvaluator:
        """Return an `OrderEvaluator` with the payoff and the validation rows of this finder.

        Parameters
        ----------
        learner, X, codes, n_classes, **options
            As of `OrderEvaluator`.
        """
        own = {name: getattr(self, name) for name in EVALUATION if hasattr(self, name)}
        return OrderEvaluator(learner, X, codes, n_classes, **own, **options)

    @abstractmethod
    def find(self, evaluator: Evaluator, *, start: Order, rng: np.random.Generator) -> SearchResult:
        """Return the best orders found.

        Parameters
        ----------
        evaluator : Evaluator
        start : tuple of int
            An order to start from; finders that need none ignore it.
        rng : numpy.random.Generator
        """
