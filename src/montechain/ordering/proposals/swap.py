"""The paper's first proposal: swap any two positions."""

from __future__ import annotations

import numpy as np

from montechain.ordering.orders import Order
from montechain.ordering.proposals.base import Proposal, swapped

__all__ = ["Swap"]


class Swap(Proposal):
    """Swap the labels at two distinct positions, drawn uniformly.

    The first proposal of Read, Martino and Luengo (2014), Section 3.2. Every order can be reached from every other in
    at most L - 1 steps. A swap changes the links at its two positions and those between them: (L + 4) / 3 on
    average.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.ordering.proposals import Swap
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
