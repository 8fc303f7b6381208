"""Swaps of near positions, which cost few links."""

from __future__ import annotations

import numpy as np

from montechain._messages import check_positive_integer
from montechain.ordering.orders import Order
from montechain.ordering.proposals.base import Proposal, draw_near_pair, swapped

__all__ = ["LocalSwap"]


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
    >>> from montechain.ordering.proposals import LocalSwap
    >>> LocalSwap(reach=1).propose((0, 1, 2, 3), 1, np.random.default_rng(0))
    (0, 1, 3, 2)
    """

    def __init__(self, reach: int = 2):
        self.reach = reach

    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:  # noqa: D102
        reach, n_labels = check_positive_integer(self, "reach", 2), len(order)
        if n_labels < 2:
            return order
        return swapped(order, *draw_near_pair(n_labels, reach, rng))
