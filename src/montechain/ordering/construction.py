"""Orders found without a random walk: all of them scored, or the best built link by link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, permutations
from typing import Any

import numpy as np

from montechain._messages import check_positive_integer
from montechain.ordering.acceptance import gain
from montechain.ordering.evaluator import OrderFinder
from montechain.ordering.orders import Order, SearchResult, comparable
from montechain.ordering.proposals import swapped

__all__ = ["AllOrders", "BeamOrder", "SubsetOrder", "local_optima"]

BATCH = 128
"""How many links an evaluator is told of in advance. Fitted together they share their products with X, but all of
their working space is needed at once."""

Link = tuple[int, frozenset[int]]
Prefix = tuple[float, Order]


class AllOrders(OrderFinder):
    """Score every order: the certain way to the best, for few labels.

    Takes any payoff. There are L! orders, but only ``L * 2 ** (L - 1)`` different links: 720 and 192 for 6 labels,
    40,320 and 1,024 for 8. The trace of the result has a row for every order, in lexicographic order; `local_optima`
    tells from it where a search can get stuck.

    Parameters
    ----------
    max_labels : int, default=8
        Refuse more labels than this.
    keep : int, default=1
        How many orders to return.
    payoff, on, validation
        How an order is judged, as in `OrderSearch`.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> evaluator = SimpleNamespace(n_labels=3, n_links_fitted=0, payoff=lambda order: order[1] + order[2] / 2)
    >>> AllOrders(keep=2).find(evaluator, start=(0, 1, 2), rng=np.random.default_rng(0))
    SearchResult(orders=[(0, 2, 1), (0, 1, 2)], payoffs=[2.5, 2.0], logarithmic=None)
    """

    def __init__(
        self,
        max_labels: int = 8,
        keep: int = 1,
        *,
        payoff: Any = "J_EM",
        on: str = "prediction",
        validation: Any = 1 / 3,
    ):
        self.max_labels = max_labels
        self.keep = keep
        self.payoff = payoff
        self.on = on
        self.validation = validation

    def find(self, evaluator: Any, *, start: Order, rng: np.random.Generator) -> SearchResult:  # noqa: D102
        keep, n_labels = check_positive_integer(self, "keep", 10), evaluator.n_labels
        work = f"score {math.factorial(n_labels)} orders"
        _check_labels(self, n_labels, work, "OrderSearch(), BeamOrder(width=...), or SubsetOrder() for up to 15 labels")
        for _ in _prefetched(evaluator, _all_links(n_labels)):
            pass
        payoffs, trace = {}, []
        for iteration, order in enumerate(permutations(range(n_labels))):
            payoffs[order] = evaluator.payoff(order)
            trace.append(_row(iteration, order, payoffs[order], evaluator))
        return SearchResult.best_of(payoffs, keep, trace=trace)


class SubsetOrder(OrderFinder):
    """Find the order of largest log-likelihood by dynamic programming over sets of labels.

    The log-likelihood of the true labels adds up over the links, and a link depends on the set of labels before
    it. So the best order of a set ends with some label, after the best order of the others. Exact for this payoff, the
    sum of the evaluator's link payoffs, which is what the result reports, whatever the evaluator's own payoff may be.

    Cost: all ``L * 2 ** (L - 1)`` links: 5,120 for 10 labels, 245,760 for 15.

    Parameters
    ----------
    max_labels : int, default=15
        Refuse more labels than this.
    keep : int, default=1
        How many orders to return. They are the best ones, exactly.
    validation : default=1/3
        The rows that links are judged by, as in `OrderSearch`.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> likelihood = lambda label, earlier: -0.5 * abs(label - len(earlier))
    >>> evaluator = SimpleNamespace(n_labels=3, n_links_fitted=0, link_payoff=likelihood)
    >>> SubsetOrder().find(evaluator, start=(2, 1, 0), rng=np.random.default_rng(0))
    SearchResult(orders=[(0, 1, 2)], payoffs=[0.0], logarithmic=True)
    """

    def __init__(self, max_labels: int = 15, keep: int = 1, *, validation: Any = 1 / 3):
        self.max_labels = max_labels
        self.keep = keep
        self.validation = validation

    def find(self, evaluator: Any, *, start: Order, rng: np.random.Generator) -> SearchResult:  # noqa: D102
        keep, n_labels = check_positive_integer(self, "keep", 10), evaluator.n_labels
        work = f"fit {n_labels * 2 ** (n_labels - 1)} links"
        _check_labels(self, n_labels, work, "BeamOrder(width=...) or OrderSearch()")
        return _build(evaluator, None, keep)


class BeamOrder(OrderFinder):
    """Build the order link by link, keeping the `width` best beginnings at every length.

    After Kumar, Vembu, Menon and Elkan (2012). A beginning is a set of labels in its best order: prefixes of the same
    labels have the same future, so only the best of them can win, and the others would waste places in the beam.
    ``BeamOrder(width=1)`` is the greedy construction; a beam as wide as there are sets is `SubsetOrder`. As there, the
    payoff is the sum of the evaluator's link payoffs.

    Cost: at most ``width`` links for each label and length, ``width * L * (L + 1) / 2`` in all.

    Parameters
    ----------
    width : int, default=1
        Number of beginnings kept.
    keep : int, default=1
        How many orders to return; a narrow beam may hold fewer.
    validation : default=1/3
        The rows that links are judged by, as in `OrderSearch`.

    References
    ----------
    Kumar, Vembu, Menon and Elkan (2012). Learning and inference in probabilistic classifier chains with
    beam search. ECML PKDD.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> likelihood = lambda label, earlier: -0.5 * abs(label - len(earlier))
    >>> evaluator = SimpleNamespace(n_labels=3, n_links_fitted=0, link_payoff=likelihood)
    >>> BeamOrder(width=2).find(evaluator, start=(2, 1, 0), rng=np.random.default_rng(0))
    SearchResult(orders=[(0, 1, 2)], payoffs=[0.0], logarithmic=True)
    """

    def __init__(self, width: int = 1, keep: int = 1, *, validation: Any = 1 / 3):
        self.width = width
        self.keep = keep
        self.validation = validation

    def find(self, evaluator: Any, *, start: Order, rng: np.random.Generator) -> SearchResult:  # noqa: D102
        width, keep = check_positive_integer(self, "width", 5), check_positive_integer(self, "keep", 10)
        return _build(evaluator, width, keep)


def local_optima(payoffs: Mapping[Order, float], tolerance: float = 0.0) -> list[Order]:
    """Return the orders that no single swap improves, best first: where a strict search can end.

    `payoffs` holds the payoff of every order: ``{row["order"]: row["payoff"] for row in result.trace}`` if ``result =
    AllOrders().find(...)``. Payoffs closer than the share `tolerance` are a tie, not an improvement.

    Examples
    --------
    >>> local_optima({(0, 1): 0.3, (1, 0): 0.5})
    [(1, 0)]
    """
    found = []
    for order, payoff in payoffs.items():
        neighbours = [swapped(order, first, second) for first, second in combinations(range(len(order)), 2)]
        if missing := [neighbour for neighbour in neighbours if neighbour not in payoffs]:
            raise ValueError(f"the payoff of the order {missing[0]} is missing. AllOrders() computes all of them.")
        if all(gain(payoffs[neighbour], payoff, tolerance) <= 0.0 for neighbour in neighbours):
            found.append(order)
    return sorted(found, key=lambda order: comparable(payoffs[order]), reverse=True)


def _build(evaluator: Any, width: int | None, keep: int) -> SearchResult:
    """Return the `keep` best orders that pass through no set of labels but the `width` best of its size (None: all)."""
    trace: list[dict[str, Any]] = []
    # The `keep` best orders of each set of labels, best first. Sums are taken in the order of the chain.
    beam: dict[frozenset[int], list[Prefix]] = {frozenset(): [(0.0, ())]}
    for length in range(1, evaluator.n_labels + 1):
        grown: dict[frozenset[int], list[Prefix]] = {}
        links = ((label, earlier) for earlier in beam for label in range(evaluator.n_labels) if label not in earlier)
        for label, earlier in _prefetched(evaluator, links):
            value = evaluator.link_payoff(label, earlier)
            extended = [(payoff + value, (*prefix, label)) for payoff, prefix in beam[earlier]]
            together = grown.get(earlier | {label}, []) + extended
            grown[earlier | {label}] = sorted(together, key=_best_first)[:keep]
        by_payoff = sorted(grown.items(), key=lambda item: _best_first(item[1][0]))
        beam = dict(by_payoff[:width])
        payoff, prefix = by_payoff[0][1][0]
        trace.append(_row(length, prefix, payoff, evaluator))
    (complete,) = beam.values()
    return SearchResult.best_of({order: payoff for payoff, order in complete}, keep, trace=trace, logarithmic=True)


def _best_first(prefix: Prefix) -> tuple[float, Order]:
    """Return a key to sort by: the largest payoff first, then the lexicographic order, whatever was found first."""
    return -comparable(prefix[0]), prefix[1]


def _all_links(n_labels: int) -> Iterator[Link]:
    """Yield each label with each set of other labels, small sets first."""
    for length in range(n_labels):
        for earlier in map(frozenset, combinations(range(n_labels), length)):
            yield from ((label, earlier) for label in range(n_labels) if label not in earlier)


def _prefetched(evaluator: Any, links: Iterable[Link]) -> Iterator[Link]:
    """Yield the links; before each batch, let the evaluator fit its links together, if it can."""
    links = iter(links)
    while batch := list(islice(links, BATCH)):
        if hasattr(evaluator, "prefetch"):
            evaluator.prefetch(batch)
        yield from batch


def _check_labels(finder: Any, n_labels: int, work: str, instead: str) -> None:
    """Raise an error that says what to type if there are too many labels for `finder`."""
    kind, most = type(finder).__name__, check_positive_integer(finder, "max_labels", 8)
    if n_labels > most:
        raise ValueError(
            f"{kind}() would {work} of {n_labels} labels. Try {instead}, or allow it with a larger `max_labels` than "
            f"{most}."
        )


def _row(iteration: int, order: Order, payoff: float, evaluator: Any) -> dict[str, Any]:
    return {"iteration": iteration, "order": order, "payoff": payoff, "n_links_fitted": evaluator.n_links_fitted}
