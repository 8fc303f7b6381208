"""Probabilities of complete label vectors, draws of them, and the greedy one."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import activate, draw_class, expand, most_probable_class, new_path


@njit
def log_joint(base, links, Y):
    """Return log p(y | x) for each row; `Y` (int32, (n, L)) holds one complete label vector per row."""
    active, scores, log_proba = new_path(links)
    total = np.zeros(len(Y))
    for i in range(len(Y)):
        base_row = base[i]
        n_active = 0
        for k in range(Y.shape[1]):
            expand(base_row, links, k, active, n_active, scores, log_proba)
            total[i] += log_proba[Y[i, k]]
            n_active = activate(links, k, Y[i, k], active, n_active)
    return total


@njit
def complete(base, links, given, rows, labels, uniforms, sample, start, stop):
    """Draw the classes of some positions of label vectors: see `montechain.prefix_tree.PrefixTree.complete`.

    Parameters
    ----------
    base, links, given
        See `montechain.prefix_tree.PrefixTree.arrays`.
    rows, sample, start, stop : int64 ndarrays of shape (m,)
    labels : int32 ndarray of shape (m, L)
    uniforms : ndarray of shape (S, L)
    """
    active, scores, log_proba = new_path(links)
    log_weight = np.zeros(len(rows))
    for m in range(len(rows)):
        i = rows[m]
        base_row, n_active = base[i], 0
        for k in range(stop[m]):
            if k >= start[m]:
                expand(base_row, links, k, active, n_active, scores, log_proba)
                c = given[i, k] if len(given) else -1
                if c >= 0:
                    log_weight[m] += log_proba[c]
                else:
                    c = draw_class(log_proba, links.n_classes[k], uniforms[sample[m], k])
                labels[m, k] = c
            n_active = activate(links, k, labels[m, k], active, n_active)
    return log_weight


@njit
def greedy(base, links, given):
    """Return the label vectors, int32 of shape (n, L), that have the most probable class at every link."""
    labels = np.empty((len(base), len(links.n_classes)), dtype=np.int32)
    active, scores, log_proba = new_path(links)
    for i in range(len(base)):
        base_row, n_active = base[i], 0
        for k in range(labels.shape[1]):
            expand(base_row, links, k, active, n_active, scores, log_proba)
            known = given[i, k] if len(given) else -1
            labels[i, k] = most_probable_class(log_proba, links.n_classes[k], known)
            n_active = activate(links, k, labels[i, k], active, n_active)
    return labels
