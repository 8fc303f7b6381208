"""The paper's second proposal: swaps that freeze the chain from its beginning."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np

from montechain.ordering.orders import Order
from montechain.ordering.proposals.base import Proposal, swapped

__all__ = ["TemperedSwap"]


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
    >>> from montechain.ordering.proposals import TemperedSwap
    >>> rng = np.random.default_rng(0)
    >>> [TemperedSwap().propose((0, 1, 2, 3, 4), t, rng) for t in (1, 1000)]
    [(0, 3, 2, 1, 4), (0, 1, 2, 4, 3)]
    """

    def __init__(self, beta: float = 0.03, warmup: int = 0):
        self.beta = beta
        self.warmup = warmup

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        self._check()
        n_labels = len(order)
        if n_labels < 2:
            return order
        # Bounded, as 0 times infinity is not a number.
        frost = 0.0 if t <= self.warmup else min(float(self.beta) * t, 1e100)
        positions = np.arange(1, n_labels + 1)
        first = _draw(positions, n_labels, frost, rng)
        second = _draw(positions[positions != first], n_labels - 1, frost, rng)
        return swapped(order, first - 1, second - 1)

    def _check(self) -> None:
        beta, warmup = self.beta, self.warmup
        if not isinstance(beta, Real) or isinstance(beta, bool) or not 0 < beta < math.inf:
            raise ValueError(
                f"`beta={beta!r}` of TemperedSwap must be a positive number, e.g. TemperedSwap(beta=0.03). "
                "Positions that stay uniform are those of Swap()."
            )
        if not isinstance(warmup, Integral) or isinstance(warmup, bool) or warmup < 0:
            raise ValueError(
                f"`warmup={warmup!r}` of TemperedSwap must be a number of iterations, e.g. TemperedSwap(warmup=10)."
            )


def _draw(positions: np.ndarray, base: int, frost: float, rng: np.random.Generator) -> int:
    """Return one of `positions`, ascending, drawn with weights (1 / base) ** (frost / position)."""
    # Relative to the last position, whose weight becomes 1: all of the weights themselves underflow in a long search.
    log_weights = (1.0 / positions[-1] - 1.0 / positions) * math.log(base) * frost
    cumulative = np.cumsum(np.exp(log_weights))
    chosen = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    # A uniform number next to 1 may be rounded up to the total.
    return int(positions[min(chosen, len(positions) - 1)])
