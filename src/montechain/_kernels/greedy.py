"""The most probable class at every link, given those chosen before."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import SOFTMAX, expand, log_odds, log_sigmoids
from montechain._kernels.joint import largest, widest
from montechain._kernels.ties import TIE


@njit
def greedy(base, effects, score_start, score_weight, response, n_classes, active_start, given):
    """Return labels (n, L), their log-probability (n,) and an upper bound (n,) on every log-probability.

    A vector that is not the greedy one leaves the path at some position, so that it lies below a class
    that was not taken there: the most probable of these prefixes bounds them all.
    """
    n_rows = base.shape[0]
    n_labels = n_classes.shape[0]
    labels = np.empty((n_rows, n_labels), dtype=np.int32)
    log_proba = np.zeros(n_rows)
    upper_bound = np.empty(n_rows)
    active = np.empty(max(1, n_labels), dtype=np.int64)
    scores = np.empty(widest(score_start))
    children = np.empty(largest(n_classes))
    for i in range(n_rows):
        base_row = base[i]
        n_active = 0
        bound = -np.inf
        partial = 0.0
        for k in range(n_labels):
            known = given[i, k] if given.shape[0] > 0 else -1
            if response[k] == SOFTMAX and n_classes[k] == 2:
                odds = log_odds(base_row, effects, score_start[k], active, n_active)
                children[0], children[1] = log_sigmoids(odds)
                chosen = 1 if odds > TIE else 0
                if known >= 0:
                    chosen = known
                else:
                    bound = max(bound, partial + children[1 - chosen])
            else:
                expand(
                    base_row, effects, score_start, score_weight, response, n_classes,
                    k, active, n_active, known, scores, children,
                )  # fmt: skip
                chosen = most_probable_class(children, n_classes[k], known)
                for c in range(n_classes[k]):
                    if c != chosen:
                        bound = max(bound, partial + children[c])
            partial += children[chosen]
            labels[i, k] = chosen
            if chosen > 0:
                active[n_active] = active_start[k] + chosen - 1
                n_active += 1
        log_proba[i] = partial
        upper_bound[i] = max(bound, partial)
    return labels, log_proba, upper_bound


@njit(cache=False)
def most_probable_class(log_proba, n_classes, known):
    """Return the known class if there is one, else the first of the most probable ones."""
    if known >= 0:
        return known
    best = log_proba[0]
    for c in range(1, n_classes):
        best = max(best, log_proba[c])
    chosen = 0
    while log_proba[chosen] < best - TIE:
        chosen += 1
    return chosen
