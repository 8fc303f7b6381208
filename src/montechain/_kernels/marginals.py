"""Marginals of a label-linear chain, with bounds.

Two kernels share the work: one that bounds what few prefixes leave open, for binary labels of which none is known, and
a general one that enumerates vectors and draws where its budget ends. They are compiled apart, since most data
never need the second.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.bounded_marginals import bounded_marginals
from montechain._kernels.depth_first import is_all_binary
from montechain._kernels.enumeration import marginals as enumerated_marginals

__all__ = ["marginals"]


def marginals(*arrays, residual, max_nodes, draw):
    """Return the probability of each class of each label, within `residual` where that is proven.

    Parameters
    ----------
    *arrays
        Those of `LinearScores`, then what is given.
    residual : float
    max_nodes : int
        Nodes expanded per row and kernel, at most.
    draw : callable
        Called, if anything is left to the second kernel, for the offset and the uniform numbers for rows in which its
        budget ends, see `montechain._kernels.enumeration.distribution`.

    Returns
    -------
    proba, lower : ndarrays of shape (n, sum of K)
    unresolved : ndarray of shape (n, L)
        The probabilities are at least `lower` and at most ``lower + unresolved``.
    estimated : bool ndarray of shape (n,)
        Whether draws stand for the unresolved mass.
    """
    base, effects, score_start, score_weight, response, n_classes, active_start, given = arrays
    if not is_all_binary(response, n_classes):
        return enumerated_marginals(*arrays, residual, max_nodes, *draw())[:4]
    proba, lower, unresolved, settled, _ = bounded_marginals(base, effects, given, residual, max_nodes)
    estimated = np.zeros(len(base), dtype=bool)
    rows = np.flatnonzero(~settled)
    if len(rows):
        known = given[rows] if len(given) else given
        rest = (base[rows], effects, score_start, score_weight, response, n_classes, active_start, known)
        proba[rows], lower[rows], unresolved[rows], estimated[rows], _ = enumerated_marginals(
            *rest, residual, max_nodes, *draw()
        )
    return proba, lower, unresolved, estimated
