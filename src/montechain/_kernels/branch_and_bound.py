"""The most probable label vectors of a label-linear chain, with a proof or a bound.

Two searches share the work: a depth-first one whose nodes are cheap, and, for rows that it does not settle, a
best-first one that looks ahead. They are compiled apart, since most data never need the second.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.best_first import search_best_first
from montechain._kernels.depth_first import k_best, search_depth_first

__all__ = ["k_best", "most_probable"]


def most_probable(*arrays, max_nodes, patience):
    """Find the most probable label vector of each row.

    Parameters
    ----------
    *arrays
        Those of `LinearScores`, then what is given.
    max_nodes : int
        Nodes expanded per row, at most. The first vector is completed whatever this is.
    patience : int
        Nodes after which the depth-first search gives way to the best-first one.

    Returns
    -------
    labels : int32 ndarray of shape (n, L)
    log_proba, upper_bound : ndarrays of shape (n,)
        They are equal where the vector is proven best. The bound never rises with `max_nodes`.
    nodes : int64 ndarray of shape (n,)
        Nodes expanded.
    """
    *found, complete, _ = search_depth_first(*arrays, min(max_nodes, patience))
    unsettled = np.flatnonzero(~complete & (found[-1] < max_nodes))
    if len(unsettled):
        search_best_first(*arrays, max_nodes, unsettled, *found)
    return tuple(found)
