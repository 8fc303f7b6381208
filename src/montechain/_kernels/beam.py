"""The most probable prefixes at every length, a fixed number of them."""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import activate, expand, new_path
from montechain._kernels.heap import rank


@njit
def beam(base, links, given, width, n_wanted):
    """Return the `n_wanted` best vectors that a beam search of this width ends with, best first.

    Parameters
    ----------
    base, links
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
    n_rows = len(base)
    n_classes = links.n_classes
    n_labels = len(n_classes)
    labels = np.zeros((n_rows, n_wanted, n_labels), dtype=np.int32)
    log_proba = np.full((n_rows, n_wanted), -np.inf)
    dropped_log = np.full(n_rows, -np.inf)
    dropped_mass = np.zeros(n_rows)

    active, scores, children = new_path(links)
    most_classes = len(children)
    prefixes = np.zeros((width, n_labels), dtype=np.int32)
    next_prefixes = np.zeros((width, n_labels), dtype=np.int32)
    partial = np.zeros(width)
    candidates, keys = np.empty(width * most_classes), np.empty(width * most_classes)
    items = np.empty(width * most_classes, dtype=np.int64)
    ranking, origin = np.empty_like(items), np.empty_like(items)
    for i in range(n_rows):
        base_row, size = base[i], 1
        partial[0] = 0.0
        for k in range(n_labels):
            known = given[i, k] if len(given) else -1
            n_candidates = 0
            for b in range(size):
                n_active = 0
                for d in range(k):
                    n_active = activate(links, d, prefixes[b, d], active, n_active)
                expand(base_row, links, k, active, n_active, scores, children)
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
                b, c = divmod(origin[ranking[r]], most_classes)
                partial[r] = candidates[ranking[r]]
                for d in range(k):
                    next_prefixes[r, d] = prefixes[b, d]
                next_prefixes[r, k] = c
            prefixes, next_prefixes = next_prefixes, prefixes
        for r in range(min(size, n_wanted)):
            log_proba[i, r] = partial[r]
            for k in range(n_labels):
                labels[i, r, k] = prefixes[r, k]
    return labels, log_proba, dropped_log, dropped_mass
