"""The loop of Algorithms 1 and 2: propose, evaluate, accept or reject."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

import numpy as np

from montechain.ordering.acceptance import Acceptance
from montechain.ordering.orders import Order
from montechain.ordering.proposals import Proposal

__all__ = ["OrderStep", "search"]


class OrderStep(NamedTuple):
    """One iteration: where the search stands after it, and the candidate that led there or not."""

    iteration: int
    order: Order
    payoff: float
    candidate: Order
    candidate_payoff: float
    accepted: bool


def search(
    payoff: Callable[[Order], float],
    start: Order,
    proposal: Proposal,
    acceptance: Acceptance,
    rng: np.random.Generator,
    *,
    tolerance: float = 0.0,
) -> Iterator[OrderStep]:
    """Walk through the orders, endlessly: the caller decides when it is enough and what to keep.

    Algorithm 1 of Read, Martino and Luengo (2014) with `Strict`, the loop of Algorithm 2 with `NotWorse`.

    Parameters
    ----------
    payoff : callable
        J(s).
    start : tuple of int
        s_0, the first item (iteration 0).
    proposal : Proposal
    acceptance : Acceptance
    rng : numpy.random.Generator
    tolerance : float, default=0.0
        Payoffs closer than this share are a tie; see `Acceptance`.

    Examples
    --------
    >>> import numpy as np
    >>> from itertools import islice
    >>> from montechain.ordering.acceptance import Strict
    >>> from montechain.ordering.proposals import Swap
    >>> steps = search(lambda order: order[0], (0, 1, 2), Swap(), Strict(), np.random.default_rng(0))
    >>> [(step.iteration, step.order, step.accepted) for step in islice(steps, 4)]
    [(0, (0, 1, 2), True), (1, (0, 1, 2), False), (2, (1, 0, 2), True), (3, (1, 0, 2), False)]
    """
    order, value = start, payoff(start)
    yield OrderStep(0, order, value, order, value, True)
    for t in count(1):
        candidate = proposal.propose(order, t, rng)
        candidate_value = payoff(candidate)
        accepted = acceptance.accept(candidate_value, value, rng, tolerance)
        if accepted:
            order, value = candidate, candidate_value
        yield OrderStep(t, order, value, candidate, candidate_value, accepted)
