"""Private names of scikit-learn that we cannot avoid, in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

__all__ = ["take_rows"]


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return the given rows of an array, a sparse container or a data frame of any library.

    >>> take_rows(np.arange(6).reshape(3, 2), np.array([2, 0])).tolist()
    [[4, 5], [0, 1]]
    """
    return _safe_indexing(X, rows)
