"""The next candidate of a search: the proposals π(s | s_{t-1}) of the paper."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._messages import by_name, check_number, check_positive_integer
from montechain.ordering.evaluator import Order


class Proposal(BaseEstimator, ABC):
    """Base class of proposals, which choose where a search goes next from an order.

    All members choose positions regardless of the labels there, and a step and its reverse are equally likely.
    """

    @abstractmethod
    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:
        """Return a candidate for iteration t = 1, 2, ...; with fewer than two labels, the order itself."""


class Swap(Proposal):
    """Swap the labels at two positions, drawn uniformly.

    The first proposal of Read, Martino and Luengo (2014), Section 3.2. A swap changes the links at its two positions
    and those between them: (L + 4) / 3 on average, and at most `reach` + 1.

    Parameters
    ----------
    reach : int, default=None
        Largest distance of the two positions; None, as in the paper, for any.

    Examples
    --------
    >>> import numpy as np
    >>> Swap().propose((0, 1, 2, 3), 1, np.random.default_rng(0))
    (0, 3, 2, 1)
    """

    def __init__(self, reach: int | None = None):
        self.reach = reach

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        n_labels = len(order)
        reach = n_labels if self.reach is None else check_positive_integer(self, "reach", 2)
        first = second = 0
        # Until they are within reach: all such pairs of distinct positions are equally likely.
        while n_labels > 1 and (first == second or abs(first - second) > reach):
            first, second = int(rng.integers(n_labels)), int(rng.integers(n_labels - 1))
            second += second >= first  # drawn among the others: those from `first` on move up by one
        return _swapped(order, first, second)


class TemperedSwap(Proposal):
    """Swap two positions that move towards the end of the chain as the search goes on.

    The second proposal of Read, Martino and Luengo (2014), Section 3.2. At iteration t > `warmup` the first position ℓ
    (1, ..., L) has the weight ``(1/L) ** (beta * t / ℓ)``; the second, m, is drawn from the others with the weight
    ``(1/(L-1)) ** (beta * t / m)``. (The paper prints N for L here.) Up to `warmup` both are uniform, as in `Swap`. As
    t or `beta` grows, the swap becomes that of the last two positions, which costs two links.

    Parameters
    ----------
    beta : float, default=0.03
        How fast the beginning freezes; positive.
    warmup : int, default=0
        T_p of the paper: iterations with uniform positions.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> [TemperedSwap().propose((0, 1, 2, 3, 4), t, rng) for t in (1, 1000)]
    [(0, 3, 2, 1, 4), (0, 1, 2, 4, 3)]
    """

    def __init__(self, beta: float = 0.03, warmup: int = 0):
        self.beta = beta
        self.warmup = warmup

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        beta, n_labels = check_number(self, "beta", 0.03), len(order)
        warmup = check_positive_integer(self, "warmup", 10, or_zero=True)
        if n_labels < 2:
            return order
        # Bounded, as 0 times infinity is not a number.
        frost = 0.0 if t <= warmup else min(beta * t, 1e100)
        positions = np.arange(1, n_labels + 1)
        first = _draw(positions, n_labels, frost, rng)
        second = _draw(positions[positions != first], n_labels - 1, frost, rng)
        return _swapped(order, first - 1, second - 1)


PROPOSALS: dict[str, type[Proposal]] = {"swap": Swap, "tempered_swap": TemperedSwap}


def check_proposal(proposal: Any) -> Proposal:
    """Return a proposal: the given one, or the one of this name with its default parameters."""
    return by_name("proposal", proposal, Proposal, PROPOSALS, "a proposal such as TemperedSwap(beta=0.03)")


def _swapped(order: Order, first: int, second: int) -> Order:
    labels = list(order)
    labels[first], labels[second] = order[second], order[first]
    return tuple(labels)


def _draw(positions: np.ndarray, base: int, frost: float, rng: np.random.Generator) -> int:
    """Return one of `positions`, ascending, drawn with weights (1 / base) ** (frost / position)."""
    # Relative to the last position, whose weight becomes 1: all of the weights themselves underflow in a long search.
    cumulative = np.cumsum(np.exp((1.0 / positions[-1] - 1.0 / positions) * math.log(base) * frost))
    # Ten times as fast as `rng.choice`. A uniform number next to 1 may be rounded up to the total.
    chosen = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    return int(positions[min(chosen, len(positions) - 1)])
