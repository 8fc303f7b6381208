"""What every proposal has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from montechain.ordering.orders import Order

__all__ = ["Proposal", "draw_near_pair", "swapped"]


class Proposal(BaseEstimator, ABC):
    """π(s | s_{t-1}): where a search goes next from an order. One proposal, one file.

    All members choose positions without a look at the labels there, and a step and its return are equally likely:
    what `Metropolis` asks of a proposal.
    """

    @abstractmethod
    def propose(self, order: Order, t: int, rng: np.random.Generator) -> Order:
        """Return a candidate; with fewer than two labels, the order itself.

        Parameters
        ----------
        order : tuple of int
            The current order.
        t : int
            The iteration: 1, 2, ...
        rng : numpy.random.Generator
        """


def swapped(order: Order, first: int, second: int) -> Order:
    """Return the order with the labels at two positions exchanged.

    >>> swapped((4, 5, 6), 0, 2)
    (6, 5, 4)
    """
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
