"""Steps that the level-by-level searches over chains of any kind share."""

from __future__ import annotations

import numpy as np

from montechain._kernels.ties import level
from montechain.chain import PrefixTree


def allowed_children(
    tree: PrefixTree, rows: np.ndarray, prefix: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all classes that may follow each prefix: the prefix's index, the class, its log-probability.

    A known class is the only one that may follow. The order is that of the prefixes, then of the classes.
    """
    log_proba = tree.expand(rows, prefix)
    allowed = np.ones(log_proba.shape, dtype=bool)
    if tree.given is not None:
        known = tree.given[rows, prefix.shape[1]][:, None]
        allowed = (known < 0) | (known == np.arange(log_proba.shape[1]))
    origin, classes = np.nonzero(allowed)
    return origin, classes, log_proba[origin, classes]


def is_free(tree: PrefixTree, rows: np.ndarray, k: int) -> np.ndarray:
    """Return for each of `rows` whether its class at position `k` is not known."""
    return np.ones(len(rows), dtype=bool) if tree.given is None else tree.given[rows, k] < 0


def append(prefix: np.ndarray, origin: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the prefixes ``prefix[origin]``, each longer by one class."""
    return np.column_stack([prefix[origin], classes.astype(prefix.dtype)])


def best_first(rows: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order that sorts by row, then from the largest value down, and each entry's rank in its row.

    Equal values keep their order.
    """
    order = np.lexsort((-level(values), rows))
    sorted_rows = rows[order]
    starts = np.flatnonzero(np.r_[True, sorted_rows[1:] != sorted_rows[:-1]]) if len(rows) else np.empty(0, int)
    return order, np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
