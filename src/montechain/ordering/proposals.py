"""From an order to the next candidate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._messages import check_positive_integer
from montechain.ordering.orders import Order, check_positive_number, named

__all__ = ["PROPOSALS", "Insertion", "LocalSwap", "Proposal", "Swap", "TemperedSwap", "check_proposal"]


class Proposal(BaseEstimator, ABC):
    """π(s | s_{t-1}): where a search goes next from an order.

    All members choose positions without a look at the labels there, and a step and its return are equally likely:
    what `Metropolis` asks of a proposal.
    """

    @abstractmethod
    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:
        """Return a candidate for iteration t = 1, 2, ...; with fewer than two labels, the order itself."""


class Swap(Proposal):
    """Swap the labels at two distinct positions, drawn uniformly.

    The first proposal of Read, Martino and Luengo (2014), Section 3.2. Every order can be reached from every other in
    at most L - 1 steps. A swap changes the links at its two positions and those between them: (L + 4) / 3 on
    average.

    Examples
    --------
    >>> import numpy as np
    >>> Swap().propose((0, 1, 2, 3), 1, np.random.default_rng(0))
    (0, 3, 2, 1)
    """

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        n_labels = len(order)
        if n_labels < 2:
            return order
        first, second = int(rng.integers(n_labels)), int(rng.integers(n_labels - 1))
        # The second is drawn among the others: those from `first` on move up by one.
        return swapped(order, first, second + (second >= first))


class TemperedSwap(Proposal):
    """Swap two positions that move towards the end of the chain as the search goes on.

    The second proposal of Read, Martino and Luengo (2014), Section 3.2. At iteration t > `warmup` the first position ℓ
    (1, ..., L) has the weight ``(1/L) ** (beta * t / ℓ)``; the second, m, is drawn from the others with the weight
    ``(1/(L-1)) ** (beta * t / m)``. (The paper prints N for L here.) Up to `warmup` both are uniform, as in `Swap`. As
    t or `beta` grows, the swap becomes that of the last two positions, which costs two links.

    It is the proposal that cools down, not the acceptance: not to be confused with simulated annealing, for which see
    `Metropolis`.

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
        beta = check_positive_number(self, "beta", 0.03, "Positions that stay uniform are those of Swap().")
        if not isinstance(self.warmup, Integral) or isinstance(self.warmup, bool) or self.warmup < 0:
            raise ValueError(
                f"`warmup={self.warmup!r}` of TemperedSwap must be a number of iterations, e.g. "
                "TemperedSwap(warmup=10)."
            )
        n_labels = len(order)
        if n_labels < 2:
            return order
        # Bounded, as 0 times infinity is not a number.
        frost = 0.0 if t <= self.warmup else min(beta * t, 1e100)
        positions = np.arange(1, n_labels + 1)
        first = _draw(positions, n_labels, frost, rng)
        second = _draw(positions[positions != first], n_labels - 1, frost, rng)
        return swapped(order, first - 1, second - 1)


class LocalSwap(Proposal):
    """Swap the labels at two positions that are at most `reach` apart, all such pairs being equally likely.

    A link depends on the set of labels before it, so a swap at distance d changes d + 1 links and no other: two or
    three with the default, however many labels there are. Every order can be reached, but a label needs more
    steps to travel far than with `Swap`.

    Parameters
    ----------
    reach : int, default=2
        Largest distance of the two positions. From L - 1 on, this is `Swap`.

    Examples
    --------
    >>> import numpy as np
    >>> LocalSwap(reach=1).propose((0, 1, 2, 3), 1, np.random.default_rng(0))
    (0, 1, 3, 2)
    """

    def __init__(self, reach: int = 2):
        self.reach = reach

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        reach = check_positive_integer(self, "reach", 2)
        return order if len(order) < 2 else swapped(order, *draw_near_pair(len(order), reach, rng))


class Insertion(Proposal):
    """Take the label at one position out and put it at another; those between move by one.

    All pairs of distinct positions are equally likely, or those at most `reach` apart. As with a swap, the links at the
    two positions and between them change, d + 1 at distance d; but all other labels keep their order among each other.
    Not in the paper.

    With the held-out log-likelihood as the payoff, strict acceptance and 200 proposals, this share of 100 random starts
    ended at the best order of all, after fitting so many links beyond the first chain on average:

    ================  ===========  ===========  ===========
    labels            `Swap`       `Insertion`  reversals
    ================  ===========  ===========  ===========
    Music (6)         0.20 (74)    1.00 (83)    0.12 (76)
    Scene (6)         0.23 (76)    0.54 (70)    0.37 (80)
    7 of Yeast's      0.21 (122)   0.97 (126)   0.19 (121)
    9 of Yeast's      0.04 (257)   0.09 (222)   0.03 (269)
    ================  ===========  ===========  ===========

    It is hardly better than `Swap` if a search may fit a few dozen links only, and no better on payoffs without
    structure, drawn at random for each link.

    Parameters
    ----------
    reach : int, optional
        Largest distance that a label moves; None, the default: any.

    Examples
    --------
    >>> import numpy as np
    >>> Insertion().propose((0, 1, 2, 3, 4), 1, np.random.default_rng(3))
    (0, 2, 3, 4, 1)
    """

    def __init__(self, reach: int | None = None):
        self.reach = reach

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        reach = len(order) if self.reach is None else check_positive_integer(self, "reach", 4)
        if len(order) < 2:
            return order
        first, second = draw_near_pair(len(order), reach, rng)
        origin, target = (first, second) if rng.random() < 0.5 else (second, first)
        labels = list(order)
        labels.insert(target, labels.pop(origin))
        return tuple(labels)


PROPOSALS: dict[str, type[Proposal]] = {
    "swap": Swap,
    "tempered_swap": TemperedSwap,
    "local_swap": LocalSwap,
    "insertion": Insertion,
}


def check_proposal(proposal: Any) -> Proposal:
    """Return a proposal: the given one, or the one of this name with its default parameters."""
    return named("proposal", proposal, Proposal, PROPOSALS, "a proposal such as TemperedSwap(beta=0.03)")


def swapped(order: Order, first: int, second: int) -> Order:
    """Return the order with the labels at two positions exchanged."""
    labels = list(order)
    labels[first], labels[second] = labels[second], labels[first]
    return tuple(labels)


def draw_near_pair(n_positions: int, reach: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return two positions that are at most `reach` apart, the smaller first; all such pairs are equally likely.

    >>> draw_near_pair(5, 1, np.random.default_rng(0))
    (3, 4)
    """
    # There are L - d pairs at distance d. They are numbered by distance, then by their first position.
    n_pairs = [n_positions - distance for distance in range(1, min(reach, n_positions - 1) + 1)]
    first, distance = int(rng.integers(sum(n_pairs))), 1
    while first >= n_pairs[distance - 1]:
        first -= n_pairs[distance - 1]
        distance += 1
    return first, first + distance


def _draw(positions: np.ndarray, base: int, frost: float, rng: np.random.Generator) -> int:
    """Return one of `positions`, ascending, drawn with weights (1 / base) ** (frost / position)."""
    # Relative to the last position, whose weight becomes 1: all of the weights themselves underflow in a long search.
    log_weights = (1.0 / positions[-1] - 1.0 / positions) * math.log(base) * frost
    cumulative = np.cumsum(np.exp(log_weights))
    chosen = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    # A uniform number next to 1 may be rounded up to the total.
    return int(positions[min(chosen, len(positions) - 1)])
