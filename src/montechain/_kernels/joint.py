"""Probabilities of complete label vectors, and draws of them."""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import SOFTMAX, expand, log_odds, log_sigmoids


@njit
def log_joint(base, effects, score_start, score_weight, response, n_classes, active_start, Y):
    """Return log p(y | x) for each row; `Y` (int32, (n, L)) holds one complete label vector per row."""
    n_rows, n_labels = Y.shape
    active = np.empty(max(1, n_labels), dtype=np.int64)
    scores = np.empty(widest(score_start))
    log_proba = np.empty(largest(n_classes))
    total = np.zeros(n_rows)
    for i in range(n_rows):
        base_row = base[i]
        n_active = 0
        for k in range(n_labels):
            if response[k] == SOFTMAX and n_classes[k] == 2:
                log_proba[0], log_proba[1] = log_sigmoids(log_odds(base_row, effects, score_start[k], active, n_active))
            else:
                expand(
                    base_row, effects, score_start, score_weight, response, n_classes,
                    k, active, n_active, -1, scores, log_proba,
                )  # fmt: skip
            c = Y[i, k]
            total[i] += log_proba[c]
            if c > 0:
                active[n_active] = active_start[k] + c - 1
                n_active += 1
    return total


@njit
def sample(base, effects, score_start, score_weight, response, n_classes, active_start, given, uniforms):
    """Draw label vectors, link by link; see `montechain.chain.ChainBase.sample`.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    uniforms : ndarray of shape (n, S, L) or (1, S, L)
        Uniform numbers in [0, 1).

    Returns
    -------
    labels : int32 ndarray of shape (n, S, L)
    log_weight : ndarray of shape (n, S)
        Sum of the log-probabilities of the known classes along each draw.
    """
    n_rows = base.shape[0]
    n_labels = n_classes.shape[0]
    n_samples = uniforms.shape[1]
    active = np.empty(max(1, n_labels), dtype=np.int64)
    scores = np.empty(widest(score_start))
    log_proba = np.empty(largest(n_classes))
    labels = np.empty((n_rows, n_samples, n_labels), dtype=np.int32)
    log_weight = np.zeros((n_rows, n_samples))
    for i in range(n_rows):
        base_row = base[i]
        table = i if uniforms.shape[0] > 1 else 0
        for s in range(n_samples):
            n_active = 0
            for k in range(n_labels):
                known = given[i, k] if given.shape[0] > 0 else -1
                if response[k] == SOFTMAX and n_classes[k] == 2:
                    log_proba[0], log_proba[1] = log_sigmoids(
                        log_odds(base_row, effects, score_start[k], active, n_active)
                    )
                else:
                    expand(
                        base_row, effects, score_start, score_weight, response, n_classes,
                        k, active, n_active, known, scores, log_proba,
                    )  # fmt: skip
                if known >= 0:
                    c = known
                    log_weight[i, s] += log_proba[c]
                else:
                    c = draw_class(log_proba, n_classes[k], uniforms[table, s, k])
                labels[i, s, k] = c
                if c > 0:
                    active[n_active] = active_start[k] + c - 1
                    n_active += 1
    return labels, log_weight


@njit
def conditionals(base, effects, score_start, score_weight, response, n_classes, active_start, rows, labels):
    """Return p(class at position k | x, the vector's own prefix) for each vector and position.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.links.linear.LinearScores`.
    rows : int64 ndarray of shape (m,)
        The row of each vector.
    labels : int32 ndarray of shape (m, L)

    Returns
    -------
    ndarray of shape (m, L, largest K)
    """
    n_labels = n_classes.shape[0]
    active = np.empty(max(1, n_labels), dtype=np.int64)
    scores = np.empty(widest(score_start))
    log_proba = np.empty(largest(n_classes))
    proba = np.zeros((labels.shape[0], n_labels, largest(n_classes)))
    for v in range(labels.shape[0]):
        n_active = 0
        for k in range(n_labels):
            expand(
                base[rows[v]], effects, score_start, score_weight, response, n_classes,
                k, active, n_active, -1, scores, log_proba,
            )  # fmt: skip
            for c in range(n_classes[k]):
                proba[v, k, c] = math.exp(log_proba[c])
            if labels[v, k] > 0:
                active[n_active] = active_start[k] + labels[v, k] - 1
                n_active += 1
    return proba


@njit(cache=False)
def draw_class(log_proba, n_classes, uniform):
    """Return the class at which the cumulative probability first exceeds `uniform`, else the last one."""
    cumulative = 0.0
    for c in range(n_classes - 1):
        cumulative += math.exp(log_proba[c])
        if cumulative > uniform:
            return c
    return n_classes - 1


@njit(cache=False)
def widest(score_start):
    """Return the largest number of scores that a link has (at least 1, to size scratch space)."""
    width = 1
    for k in range(score_start.shape[0] - 1):
        width = max(width, score_start[k + 1] - score_start[k])
    return width


@njit(cache=False)
def largest(n_classes):
    """Return the largest number of classes (at least 1, to size scratch space)."""
    most = 1
    for k in range(n_classes.shape[0]):
        most = max(most, n_classes[k])
    return most
