"""The best of many draws: Algorithm 3 of the paper.

Draws of a binary chain are followed one after the other, and given up once they cannot be better than the best vector.
That vector is often the most probable one of all, which the depth-first search finds in less time than the draws take;
then no draw matters after it. Other chains are walked with all draws together, see `montechain._kernels.draws`.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.depth_first import is_all_binary
from montechain._kernels.depth_first_binary import search_binary
from montechain._kernels.draws import best_of_draws
from montechain._kernels.ties import TIE

PATIENCE = 512
"""Nodes after which the search for the most probable vector of a binary chain ends."""


def monte_carlo(base, effects, score_start, score_weight, response, n_classes, active_start, given, *draws):
    """Return the best of the start vector and the drawn ones, its log-probability and an upper bound.

    Takes and returns what `best_of_draws` does.
    """
    others = (effects, score_start, score_weight, response, n_classes, active_start)
    if not is_all_binary(response, n_classes):
        return best_of_draws(base, *others, given, *draws)
    uniforms, start_greedy = draws
    labels, log_proba, upper_bound, nodes, complete, tied = search_binary(base, effects, given, PATIENCE)
    odds = base + labels @ np.tril(effects, -1).T
    is_known = given >= 0 if len(given) else np.zeros(1, dtype=bool)
    is_greedy = start_greedy & (((odds > TIE) == (labels == 1)) | is_known).all(axis=1)
    rows = np.flatnonzero(~is_greedy & (nodes > 0))
    is_best = complete & ~tied
    draw_rows(base, effects, given, rows, is_best, uniforms, start_greedy, labels, log_proba, upper_bound)
    underflown = np.flatnonzero(nodes == 0)
    if len(underflown):
        known = given[underflown] if len(given) else given
        found = best_of_draws(base[underflown], *others, known, *draws)
        labels[underflown], log_proba[underflown], upper_bound[underflown] = found
    return labels, log_proba, upper_bound


@njit(error_model="numpy")
def draw_rows(base, effects, given, rows, is_best, uniforms, start_greedy, labels, log_proba, upper_bound):
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
    for index in range(rows.shape[0]):
        i = rows[index]
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
