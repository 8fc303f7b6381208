"""Every label vector, each prefix evaluated once."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import SOFTMAX, expand, log_odds, log_sigmoids
from montechain._kernels.joint import largest, widest
from montechain._kernels.ties import TIE


@njit
def exhaustive(base, effects, score_start, score_weight, response, n_classes, active_start, given):
    """Return the most probable vector (n, L) of each row and its log-probability (n,).

    `given` is an int32 ndarray of shape (n, L), or (0, L) if nothing is known. Of equally probable
    vectors the first in lexicographic order is returned.
    """
    n_rows = base.shape[0]
    n_labels = n_classes.shape[0]
    labels = np.zeros((n_rows, n_labels), dtype=np.int32)
    log_proba = np.full(n_rows, -np.inf)
    vectors = np.zeros((1, n_labels), dtype=np.int32)
    vector_log = np.zeros(1)
    scratch = workspace(score_start, n_classes)
    for i in range(n_rows):
        known = given[i] if given.shape[0] > 0 else given[:0].ravel()
        visit(
            base[i], effects, score_start, score_weight, response, n_classes, active_start,
            known, scratch, vectors, vector_log, True,
        )  # fmt: skip
        for k in range(n_labels):
            labels[i, k] = vectors[0, k]
        log_proba[i] = vector_log[0]
    return labels, log_proba


@njit
def all_vectors(base, effects, score_start, score_weight, response, n_classes, active_start, given, n_vectors):
    """Return all vectors (m, L) that agree with `given`, row after row, and their log-probabilities (m,).

    ``n_vectors[i]`` is the number of them in row i; within a row they stand in lexicographic order.
    """
    n_rows = base.shape[0]
    total = n_vectors.sum()
    labels = np.zeros((total, n_classes.shape[0]), dtype=np.int32)
    log_proba = np.zeros(total)
    scratch = workspace(score_start, n_classes)
    start = 0
    for i in range(n_rows):
        known = given[i] if given.shape[0] > 0 else given[:0].ravel()
        stop = start + n_vectors[i]
        visit(
            base[i], effects, score_start, score_weight, response, n_classes, active_start,
            known, scratch, labels[start:stop], log_proba[start:stop], False,
        )  # fmt: skip
        start = stop
    return labels, log_proba


@njit(cache=False)
def workspace(score_start, n_classes):
    """Return the scratch arrays of `visit`."""
    n_labels = n_classes.shape[0]
    return (
        np.zeros(n_labels, dtype=np.int32),  # path
        np.zeros(n_labels + 1),  # log-probability of each prefix of the path
        np.empty((n_labels, largest(n_classes))),  # log-probabilities of the classes at each position
        np.empty(max(1, n_labels), dtype=np.int64),  # active classes of the path
        np.zeros(n_labels + 1, dtype=np.int64),  # how many of them each prefix has
        np.empty(widest(score_start)),
    )


@njit(cache=False)
def visit(
    base_row, effects, score_start, score_weight, response, n_classes, active_start,
    known, scratch, labels, log_proba, only_best,
):  # fmt: skip
    """Walk through all vectors of one row that agree with `known` (empty: nothing is known), in lexicographic order.

    Writes them to `labels` and `log_proba`, or the best one to their first entries if `only_best`.
    """
    path, partial, children, active, n_active_at, scores = scratch
    n_labels = n_classes.shape[0]
    m = 0
    k = 0
    path[0] = -1
    while k >= 0:
        known_class = known[k] if len(known) > 0 else -1
        if path[k] < 0:
            if response[k] == SOFTMAX and n_classes[k] == 2:
                odds = log_odds(base_row, effects, score_start[k], active, n_active_at[k])
                children[k, 0], children[k, 1] = log_sigmoids(odds)
            else:
                expand(
                    base_row, effects, score_start, score_weight, response, n_classes,
                    k, active, n_active_at[k], known_class, scores, children[k],
                )  # fmt: skip
        if known_class < 0:
            path[k] += 1
        else:
            path[k] = known_class if path[k] < 0 else n_classes[k]
        c = path[k]
        if c == n_classes[k]:
            k -= 1
            continue
        partial[k + 1] = partial[k] + children[k, c]
        if k == n_labels - 1:
            if not only_best:
                for d in range(n_labels):
                    labels[m, d] = path[d]
                log_proba[m] = partial[n_labels]
            elif m == 0 or partial[n_labels] > log_proba[0] + TIE:
                for d in range(n_labels):
                    labels[0, d] = path[d]
                log_proba[0] = partial[n_labels]
            m += 1
            continue
        n_active_at[k + 1] = n_active_at[k]
        if c > 0:
            active[n_active_at[k]] = active_start[k] + c - 1
            n_active_at[k + 1] += 1
        k += 1
        path[k] = -1
