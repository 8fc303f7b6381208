"""What every way of finding label orders has in common."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from montechain._messages import check_positive_integer

__all__ = ["Evaluator", "Order", "OrderFinder", "SearchResult", "check_positive_integer", "comparable"]

Order = tuple[int, ...]
"""The label at each position."""


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


@dataclass(frozen=True)
class SearchResult:
    """The orders found, best first.

    Attributes
    ----------
    orders : list of tuples of int
        At most as many as `keep` of the finder says; all different.
    payoffs : list of float
        The payoff of each.
    trace : list of dict
        What happened on the way, one dict per step; ``pandas.DataFrame(trace)`` is a table. All have the keys
        ``iteration``, ``order``, ``payoff`` and ``n_links_fitted``.
    logarithmic : bool or None
        Whether `payoffs` are logarithms. None: they are what the evaluator's ``payoff`` returned.
    """

    orders: list[Order]
    payoffs: list[float]
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    logarithmic: bool | None = None

    @classmethod
    def best_of(
        cls,
        payoffs: Mapping[Order, float],
        keep: int,
        *,
        trace: Iterable[dict[str, Any]] = (),
        logarithmic: bool | None = None,
    ) -> SearchResult:
        """Return the `keep` orders of largest payoff; of equal ones, those that come first in `payoffs`.

        If there are fewer orders, fewer are kept, with a warning.

        Examples
        --------
        >>> SearchResult.best_of({(0, 1): 0.3, (1, 0): 0.5}, keep=1)
        SearchResult(orders=[(1, 0)], payoffs=[0.5], logarithmic=None)
        """
        orders = sorted(payoffs, key=lambda order: comparable(payoffs[order]), reverse=True)[:keep]
        if len(orders) < keep:
            found = "1 order was" if len(orders) == 1 else f"{len(orders)} different orders were"
            warnings.warn(
                f"`keep={keep}`, but only {found} found. For more, raise n_iterations or n_restarts, or admit rejected "
                'candidates with pool="evaluated".',
                stacklevel=3,
            )
        return cls(orders, [payoffs[order] for order in orders], list(trace), logarithmic)


class OrderFinder(BaseEstimator, ABC):
    """From an evaluator of orders to good orders. What `order` of an estimator may be."""

    def evaluator(self, learner: Any, X: Any, codes: np.ndarray, n_classes: Any, **options: Any) -> Any:
        """Return an `OrderEvaluator` with the payoff and the validation rows of this finder.

        Parameters
        ----------
        learner, X, codes, n_classes, **options
            As of `OrderEvaluator`.
        """
        from montechain.ordering.evaluation import OrderEvaluator

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


def comparable(payoff: float) -> float:
    """Return a payoff as it is compared: one that is not a number is worse than any other.

    >>> comparable(0.5), comparable(float("nan"))
    (0.5, -inf)
    """
    return -math.inf if math.isnan(payoff) else float(payoff)
