"""Probabilities of complete label vectors, and draws of them."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import new_path, walk_down


def log_joint(base, links, Y):
    """Return log p(y | x) for each row; `Y` (int32, (n, L)) holds one complete label vector per row."""
    zeros, n_labels = np.zeros(len(Y), dtype=np.int64), Y.shape[1]
    rows, stop = np.arange(len(Y)), zeros + n_labels
    return complete(base, links, Y, rows, np.empty_like(Y), np.empty((0, n_labels)), zeros, zeros, stop)


def complete(base, links, given, rows, labels, uniforms, sample, start, stop):
    """Draw the classes of some positions of label vectors: see `montechain.prefix_tree.PrefixTree.complete`.

    `rows`, `sample`, `start` and `stop` are int64 of shape (m,). If `uniforms`, of shape (S, L), has no rows, the most
    probable classes are taken.
    """
    log_weight = np.empty(len(rows))
    _complete(base, links, given, rows, labels, uniforms, sample, start, stop, log_weight, new_path(links))
    return log_weight


@njit
def _complete(base, links, given, rows, labels, uniforms, sample, start, stop, log_weight, path):
    nothing, no_uniforms = np.empty(0, dtype=np.int32), np.empty(0)
    for m in range(len(rows)):
        known = given[rows[m]] if len(given) else nothing
        own = uniforms[sample[m]] if len(uniforms) else no_uniforms
        base_row = base[rows[m]]
        _, log_weight[m] = walk_down(base_row, links, known, own, -np.inf, labels[m], start[m], stop[m], path)
