"""Decide when two numbers count as equal, in one place for all searches.

A matrix product rounds differently for one row than for many, and the log-probability of a label vector is a sum
whose rounding depends on the order of its terms. So scores are put on a fine grid where a product is made, and
log-probabilities that differ by less than `TIE` are equal. Of equals, the first wins: the lowest class, the vector
drawn first.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

TIE = 2.0**-33
"""Largest difference of log-probabilities, or of expected losses, that counts as rounding: about 1e-10."""

TO_GRID = 1.5 * 2.0**12
"""Adding this number to a score and subtracting it again rounds the score to a multiple of 2**-40."""
TO_TIE = 1.5 * 2.0**19
"""The same for multiples of `TIE`."""


def on_grid(scores: np.ndarray) -> np.ndarray:
    """Return scores rounded to multiples of 2**-40, or to their last digits if they are large."""
    rounded = scores + TO_GRID
    rounded -= TO_GRID
    return rounded


def first_largest(values: np.ndarray) -> np.ndarray:
    """Return the index of the largest value along the last axis, the first of equals.

    >>> first_largest(np.array([[0.1, 0.5, 0.5 + 1e-16], [0.3, 0.2, 0.1]]))
    array([1, 0])
    """
    return (values >= values.max(axis=-1, keepdims=True) - TIE).argmax(axis=-1)


@register_jitable
def level(value):
    """Round a log-probability, or an array of them, to multiples of `TIE`, so that sorting sees equal ones as equal."""
    return (value + TO_TIE) - TO_TIE
