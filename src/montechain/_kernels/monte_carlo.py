"""The best of many draws from a chain of binary labels: Algorithm 3 of the paper.

The most probable vector is searched for first. Where it is proven, and is the greedy one or among the draws, it is the
answer. Other rows compare the vectors drawn one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.depth_first import search_depth_first
from montechain._kernels.ties import TIE

PATIENCE = 512
"""Nodes after which the search for the most probable vector ends. Where it finds that vector, no draw matters after it;
this takes less time than the draws do."""


def monte_carlo(base, links, given, uniforms, start_greedy):
    """Return the best of the start vector and the drawn ones, its log-probability and an upper bound.

    Parameters
    ----------
    base, links
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    uniforms : ndarray of shape (S, L)
        Uniform numbers in [0, 1), the same for all rows.
    start_greedy : bool
        Whether the greedy vector is the start; otherwise the first draw is.

    Returns
    -------
    labels : int32 ndarray of shape (n, L)
    log_proba : ndarray of shape (n,)
    upper_bound : ndarray of shape (n,)
        No vector, drawn or not, has a higher log-probability.
    """
    labels, log_proba, upper_bound, _, complete, tied = search_depth_first(base, links, given, PATIENCE)
    # The most probable vector is often the greedy one, or else among the draws: then it is the answer.
    odds = base + labels @ np.tril(links.effects, -1).T
    is_known = given >= 0 if len(given) else np.zeros((1, 1), dtype=bool)
    is_greedy = start_greedy & complete & (((odds > TIE) == (labels == 1)) | is_known).all(axis=1)
    rows = np.flatnonzero(~is_greedy)
    _draw_binary_rows(
        base, links.effects, given, rows, complete & ~tied, uniforms, start_greedy, labels, log_proba, upper_bound
    )
    return labels, log_proba, upper_bound


@njit(error_model="numpy")
def _draw_binary_rows(base, effects, given, rows, is_best, uniforms, start_greedy, labels, log_proba, upper_bound):
    """Draw for some rows of a binary chain, one vector after the other, and keep the first of the most probable ones.

    Parameters
    ----------
    rows : int64 ndarray
    is_best : bool ndarray
        Whether each row of `labels` is more probable than any other vector: if it is drawn, it is the answer.
    labels, log_proba : ndarrays
        Where the vectors of these rows and their log-probabilities go.
    upper_bound : ndarray
        No vector has a higher log-probability: where one is drawn that has this one, the others do not matter.
    """
    n_labels = base.shape[1]
    path = np.empty(n_labels, dtype=np.int32)
    active = np.empty(n_labels, dtype=np.int64)
    first_class = np.empty(n_labels)
    for i in rows:
        best = -np.inf
        is_drawn = False
        if is_best[i]:
            n_active = 0
            for k in range(n_labels):
                odds = base[i, k]
                for a in range(n_active):
                    odds += effects[k, active[a]]
                first_class[k] = 1.0 / (1.0 + math.exp(min(odds, 700.0)))
                if given.shape[0] > 0 and given[i, k] >= 0:  # every draw has the known class
                    first_class[k] = -1.0 if labels[i, k] == 1 else 2.0
                if labels[i, k] == 1:
                    active[n_active] = k
                    n_active += 1
            for s in range(uniforms.shape[0]):
                k = 0
                while k < n_labels and (uniforms[s, k] < first_class[k]) == (labels[i, k] == 0):
                    k += 1
                if k == n_labels:
                    is_drawn = True
                    break
        if is_drawn:
            continue
        for s in range(-1 if start_greedy else 0, uniforms.shape[0]):
            partial = 0.0
            n_active = 0
            k = 0
            while k < n_labels and (partial > best + TIE or best == -np.inf):
                odds = base[i, k]
                for a in range(n_active):
                    odds += effects[k, active[a]]
                small = math.exp(-abs(odds))
                if given.shape[0] > 0 and given[i, k] >= 0:
                    chosen = given[i, k]
                elif s < 0:
                    chosen = 1 if odds > TIE else 0
                else:
                    chosen = 0 if (1.0 if odds < 0.0 else small) / (1.0 + small) > uniforms[s, k] else 1
                partial -= math.log1p(small)
                if (chosen == 1) != (odds > 0.0):
                    partial -= abs(odds)
                path[k] = chosen
                if chosen == 1:
                    active[n_active] = k
                    n_active += 1
                k += 1
            if k == n_labels and (partial > best + TIE or best == -np.inf):
                best = partial
                for k in range(n_labels):
                    labels[i, k] = path[k]
                if best >= upper_bound[i] - TIE:
                    break
        log_proba[i] = best
        upper_bound[i] = max(best, upper_bound[i])
