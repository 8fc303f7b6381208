"""Probabilities of complete label vectors, and draws of them."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import activate, draw_class, expand, most_probable_class, new_path


def log_joint(base, links, Y):
    """Return log p(y | x) for each row; `Y` (int32, (n, L)) holds one complete label vector per row."""
    zeros, n_labels = np.zeros(len(Y), dtype=np.int64), Y.shape[1]
    rows, stop = np.arange(len(Y)), zeros + n_labels
    return complete(base, links, Y, rows, np.empty_like(Y), np.empty((0, n_labels)), zeros, zeros, stop)


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
        If it has no rows, the most probable classes are taken.
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
                elif len(uniforms):
                    c = draw_class(log_proba, links.n_classes[k], uniforms[sample[m], k])
                else:
                    c = most_probable_class(log_proba, links.n_classes[k], -1)
                labels[m, k] = c
            n_active = activate(links, k, labels[m, k], active, n_active)
    return log_weight
