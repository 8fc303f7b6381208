"""Exact marginals of a label-linear chain in which every position has at most one parent.

The positions then form a forest, and sums over all label vectors split into messages along its edges.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import respond
from montechain._kernels.enumeration import log_add
from montechain._kernels.joint import largest, widest


@njit
def marginals(base, effects, score_start, score_weight, response, n_classes, active_start, given, parent):
    """Return the probability of each class of each label, given what is known, by sum-product.

    Parameters
    ----------
    parent : int64 ndarray of shape (L,)
        The parent of each position, -1 for a root.

    Returns
    -------
    proba : ndarray of shape (n, sum of K)
        Probabilities of the classes, position by position; NaN where the known classes are impossible.
    log_evidence : ndarray of shape (n,)
        log p(known classes | x).
    """
    n_rows = len(base)
    n_labels = len(n_classes)
    most = largest(n_classes)
    class_start = np.zeros(n_labels + 1, dtype=np.int64)
    for k in range(n_labels):
        class_start[k + 1] = class_start[k] + n_classes[k]
    proba = np.zeros((n_rows, class_start[n_labels]))
    log_evidence = np.zeros(n_rows)
    scores = np.empty(widest(score_start))
    # conditional[k, a, c]: log p(class c of position k | class a of its parent). below[k, c]: log-probability of
    # what is known below position k, its own class included. message[k, a]: the same seen from the parent.
    conditional = np.empty((n_labels, most, most))
    below = np.zeros((n_labels, most))
    message = np.zeros((n_labels, most))
    belief = np.empty((n_labels, most))
    for i in range(n_rows):
        for k in range(n_labels):
            first = score_start[k]
            last = score_start[k + 1]
            n_above = n_classes[parent[k]] if parent[k] >= 0 else 1
            for a in range(n_above):
                for w in range(first, last):
                    scores[w - first] = base[i, w]
                    if a > 0:
                        scores[w - first] += effects[w, active_start[parent[k]] + a - 1]
                respond(scores, score_weight[first:last], response[k], n_classes[k], conditional[k, a])
        if len(given):
            for k in range(n_labels):
                for c in range(n_classes[k]):
                    below[k, c] = 0.0 if given[i, k] < 0 or given[i, k] == c else -np.inf
            for k in range(n_labels - 1, -1, -1):
                n_above = n_classes[parent[k]] if parent[k] >= 0 else 1
                for a in range(n_above):
                    total = -np.inf
                    for c in range(n_classes[k]):
                        total = log_add(total, conditional[k, a, c] + below[k, c])
                    message[k, a] = total
                    if parent[k] >= 0:
                        below[parent[k], a] += total
                if parent[k] < 0:
                    log_evidence[i] += message[k, 0]
        for k in range(n_labels):
            for c in range(n_classes[k]):
                if parent[k] < 0:
                    belief[k, c] = math.exp(conditional[k, 0, c] + below[k, c] - message[k, 0])
                    continue
                belief[k, c] = 0.0
                for a in range(n_classes[parent[k]]):
                    above = belief[parent[k], a]
                    if above > 0.0:
                        belief[k, c] += above * math.exp(conditional[k, a, c] + below[k, c] - message[k, a])
            for c in range(n_classes[k]):
                proba[i, class_start[k] + c] = belief[k, c] if log_evidence[i] > -np.inf else np.nan
    return proba, log_evidence
