"""Label orders: as users give them, all of them scored, or one built link by link."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._messages import check_positive_integer, nearest
from montechain.links import LinkLearner
from montechain.ordering.evaluator import Order, OrderEvaluator
from montechain.parents import label_numbers

ALLOWED = (
    "None (as the labels stand in y), 'random', a permutation of the labels such as [2, 0, 1], or a search such as "
    "OrderSearch(n_iterations=50)"
)
MAX_LABELS_FOR_ALL_ORDERS = 8
"""Maximum number of labels whose orders are all scored."""


def check_order(
    order: Any, n_labels: int, *, names: Sequence[Any] | None = None, rng: np.random.Generator
) -> tuple[list[int], bool]:
    """Return the order as label numbers, and whether the user chose it.

    `order` is None (as the labels stand in y), "random", or a permutation of the labels, by number or by name.

    >>> check_order([2, 0, 1], 3, rng=np.random.default_rng(0))
    ([2, 0, 1], True)
    """
    if order is None:
        return list(range(n_labels)), False
    if isinstance(order, str):
        if order != "random":
            raise ValueError(
                f"`order={order!r}` is not known{nearest(order, ['random']) or '.'} Allowed are {ALLOWED}."
            )
        return [int(label) for label in rng.permutation(n_labels)], False
    if isinstance(order, type):
        raise TypeError(f"`order` is the class {order.__name__}: pass an instance, {order.__name__}().")
    if not isinstance(order, Sequence | np.ndarray):
        raise TypeError(f"`order={order!r}` is of type {type(order).__name__}. Allowed are {ALLOWED}.")
    labels, allowed = label_numbers(order, "order", n_labels, names), set(range(n_labels))
    faults = {
        "missing": allowed - set(labels),
        "repeated": {label for label in labels if labels.count(label) > 1},
        "out of range": set(labels) - allowed,
    }
    if any(faults.values()):
        listed = {fault: ", ".join(map(str, sorted(those))) for fault, those in faults.items() if those}
        what = ", ".join(f"{those} {'are' if ',' in those else 'is'} {fault}" for fault, those in listed.items())
        shown = [label.item() if isinstance(label, np.generic) else label for label in order]
        raise ValueError(f"`order={shown}` is not a permutation of {n_labels} labels: {what}.")
    return labels, True


@dataclass(frozen=True)
class SearchResult:
    """The orders found, best first: all different, and no more than the finder's `keep`.

    `logarithmic` says whether the `payoffs` are logarithms. `trace` is the course of the search, one dict per step,
    with at least the keys ``iteration``, ``order``, ``payoff`` and ``n_links_fitted``; ``pandas.DataFrame(trace)`` is a
    table.
    """

    orders: list[Order]
    payoffs: list[float]
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    logarithmic: bool = False

    @classmethod
    def best_of(
        cls, payoffs: Mapping[Order, float], keep: int, trace: list[dict[str, Any]], *, logarithmic: bool
    ) -> SearchResult:
        """Return the `keep` orders of largest payoff; of equal ones, those that come first; fewer with a warning."""
        orders = sorted(payoffs, key=lambda order: comparable(payoffs[order]), reverse=True)[:keep]
        if len(orders) < keep:
            found = "1 order was" if len(orders) == 1 else f"{len(orders)} different orders were"
            warnings.warn(
                f"`keep={keep}`, but only {found} found. For more, raise n_iterations or n_restarts, or admit rejected "
                'candidates with pool="evaluated".',
                stacklevel=3,
            )
        return cls(orders, [payoffs[order] for order in orders], trace, logarithmic)


def comparable(payoff: float) -> float:
    """Return a payoff as it is compared: one that is not a number is worse than any other."""
    return -math.inf if math.isnan(payoff) else float(payoff)


class OrderFinder(BaseEstimator, ABC):
    """Finds good orders with an evaluator: what `order` of an estimator may be."""

    def evaluator(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, n_classes: Sequence[int], **options: Any
    ) -> OrderEvaluator:
        """Return an `OrderEvaluator` with the payoff and the validation rows of this finder; parameters as there."""
        judged_by = ("payoff", "on", "record", "validation")  # a finder may have only some of them
        own = {name: getattr(self, name) for name in judged_by if hasattr(self, name)}
        return OrderEvaluator(learner, X, codes, n_classes, **own, **options)

    @abstractmethod
    def find(self, evaluator: Any, *, start: Order, rng: np.random.Generator, verbose: bool = False) -> SearchResult:
        """Return the best orders found by an `OrderEvaluator`; finders that need no `start` or progress ignore them."""


@dataclass(eq=False, repr=False)
class AllOrders(OrderFinder):
    """Score every order, which is sure to find the best; for up to 8 labels.

    Takes any payoff. There are L! orders, but only ``L * 2 ** (L - 1)`` different links: 720 and 192 for 6 labels,
    40,320 and 1,024 for 8. The trace has a row for every order, in lexicographic order.

    Parameters
    ----------
    keep, payoff, on, validation
        As in `OrderSearch`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import AllOrders, ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> len(ChainClassifier(order=AllOrders(), random_state=0).fit(X, Y).search_trace_)
    6
    """

    keep: int = 1
    _: KW_ONLY
    payoff: Any = "J_EM"
    on: str = "prediction"
    validation: Any = 1 / 3

    def find(self, evaluator, *, start, rng, verbose=False):  # noqa: D102
        keep, n_labels = check_positive_integer(self, "keep", 10), evaluator.n_labels
        if n_labels > MAX_LABELS_FOR_ALL_ORDERS:
            n_orders = math.factorial(n_labels)
            raise ValueError(f"AllOrders() would score {n_orders} orders of {n_labels} labels. Try OrderSearch().")
        orders = list(permutations(range(n_labels)))
        evaluator.prefetch(orders)
        payoffs = {order: evaluator.payoff(order) for order in orders}
        trace = [_row(t, order, payoffs[order], evaluator) for t, order in enumerate(orders)]
        return SearchResult.best_of(payoffs, keep, trace, logarithmic=evaluator.is_logarithmic)


@dataclass(eq=False, repr=False)
class BeamOrder(OrderFinder):
    """Build the order link by link, keeping the `width` best beginnings at every length.

    The method of Kumar, Vembu, Menon and Elkan (2012), see `Beam`. The payoff is the log-likelihood of the true labels,
    which adds up over the links. A beginning is a set of labels in its best order: prefixes of the same labels have the
    same future, so only the best of them can win. With ``width=1`` this is the greedy construction. Cost: at most
    ``width * L * (L + 1) / 2`` links.

    Parameters
    ----------
    width : int, default=1
        Number of beginnings kept.
    validation
        As in `OrderSearch`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import BeamOrder, ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> [row["order"] for row in ChainClassifier(order=BeamOrder(), random_state=0).fit(X, Y).search_trace_]
    [(1,), (1, 2), (1, 2, 0)]
    """

    width: int = 1
    _: KW_ONLY
    validation: Any = 1 / 3

    def find(self, evaluator, *, start, rng, verbose=False):  # noqa: D102
        width, labels = check_positive_integer(self, "width", 5), range(evaluator.n_labels)
        # The payoff of each set of labels in its best order, and that order.
        trace, beam = [], {frozenset(): (0.0, ())}
        for length in range(1, len(labels) + 1):
            links = [(label, earlier) for earlier in beam for label in labels if label not in earlier]
            grown = [
                (beam[earlier][0] + value, (*beam[earlier][1], label))
                for (label, earlier), value in zip(links, evaluator.link_payoffs(links), strict=True)
            ]
            grown.sort(key=lambda prefix: (-comparable(prefix[0]), prefix[1]))
            beam = {}
            for payoff, order in grown:
                if len(beam) < width:
                    beam.setdefault(frozenset(order), (payoff, order))
            trace.append(_row(length, grown[0][1], grown[0][0], evaluator))
        payoff, order = grown[0]
        return SearchResult([order], [payoff], trace, logarithmic=True)


def _row(iteration: int, order: Order, payoff: float, evaluator: Any) -> dict[str, Any]:
    return {"iteration": iteration, "order": order, "payoff": payoff, "n_links_fitted": evaluator.n_links_fitted}
