"""The most probable prefixes at every length, a fixed number of them."""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import expand
from montechain._kernels.heap import rank
from montechain._kernels.joint import largest, widest


@njit
def beam(base, effects, score_start, score_weight, response, n_classes, active_start, given, width, n_wanted):
    """Return the `n_wanted` best vectors that a beam search of this width ends with, best first.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    width : int
        Number of prefixes kept at each length. Of equals, those that come first in lexicographic
        order within the beam are kept.
    n_wanted : int
        Number of vectors returned for each row, at most `width`.

    Returns
    -------
    labels : int32 ndarray of shape (n, n_wanted, L)
    log_proba : ndarray of shape (n, n_wanted)
        Minus infinity where a row has fewer vectors.
    dropped_log : ndarray of shape (n,)
        Largest log-probability of a prefix that was dropped; minus infinity if none was.
    dropped_mass : ndarray of shape (n,)
        Sum of the probabilities of all prefixes dropped.
    """
    n_rows = base.shape[0]
    n_labels = n_classes.shape[0]
    labels = np.zeros((n_rows, n_wanted, n_labels), dtype=np.int32)
    log_proba = np.full((n_rows, n_wanted), -np.inf)
    dropped_log = np.full(n_rows, -np.inf)
    dropped_mass = np.zeros(n_rows)

    most_classes = largest(n_classes)
    active = np.empty((width, max(1, n_labels)), dtype=np.int64)
    next_active = np.empty_like(active)
    n_active = np.zeros(width, dtype=np.int64)
    next_n_active = np.zeros(width, dtype=np.int64)
    prefixes = np.zeros((width, n_labels), dtype=np.int32)
    next_prefixes = np.zeros((width, n_labels), dtype=np.int32)
    partial = np.zeros(width)
    candidates = np.empty(width * most_classes)
    keys = np.empty(width * most_classes)
    items = np.empty(width * most_classes, dtype=np.int64)
    ranking = np.empty(width * most_classes, dtype=np.int64)
    origin = np.empty(width * most_classes, dtype=np.int64)
    scores = np.empty(widest(score_start))
    children = np.empty(most_classes)
    for i in range(n_rows):
        base_row = base[i]
        size = 1
        partial[0] = 0.0
        n_active[0] = 0
        for k in range(n_labels):
            known = given[i, k] if given.shape[0] > 0 else -1
            n_candidates = 0
            for b in range(size):
                expand(
                    base_row, effects, score_start, score_weight, response, n_classes,
                    k, active[b], n_active[b], known, scores, children,
                )  # fmt: skip
                for c in range(n_classes[k]):
                    if known < 0 or c == known:
                        candidates[n_candidates] = partial[b] + children[c]
                        origin[n_candidates] = b * most_classes + c
                        n_candidates += 1
            rank(candidates, n_candidates, keys, items, ranking)
            for r in range(width, n_candidates):
                dropped = candidates[ranking[r]]
                dropped_log[i] = max(dropped_log[i], dropped)
                dropped_mass[i] += math.exp(dropped)
            size = min(width, n_candidates)
            for r in range(size):
                b = origin[ranking[r]] // most_classes
                c = origin[ranking[r]] - b * most_classes
                partial[r] = candidates[ranking[r]]
                for d in range(k):
                    next_prefixes[r, d] = prefixes[b, d]
                next_prefixes[r, k] = c
                n = n_active[b]
                for a in range(n):
                    next_active[r, a] = active[b, a]
                if c > 0:
                    next_active[r, n] = active_start[k] + c - 1
                    n += 1
                next_n_active[r] = n
            active, next_active = next_active, active
            n_active, next_n_active = next_n_active, n_active
            prefixes, next_prefixes = next_prefixes, prefixes
        for r in range(min(size, n_wanted)):
            log_proba[i, r] = partial[r]
            for k in range(n_labels):
                labels[i, r, k] = prefixes[r, k]
    return labels, log_proba, dropped_log, dropped_mass
