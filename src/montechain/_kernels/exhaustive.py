"""Every label vector, each prefix evaluated once."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import activate, expand, new_path


@njit
def all_vectors(base, links, given, n_vectors):
    """Return all vectors (m, L) that agree with `given`, row after row, and their log-probabilities (m,).

    ``n_vectors[i]`` is the number of them in row i; within a row they stand in lexicographic order. `given` is an int32
    ndarray of shape (n, L), or (0, L) if nothing is known.
    """
    total = n_vectors.sum()
    n_classes = links.n_classes
    n_labels = len(n_classes)
    labels = np.zeros((total, n_labels), dtype=np.int32)
    log_proba = np.zeros(total)
    active, scores, out = new_path(links)
    # Of the path to the vector: its classes, the log-probability of each of its prefixes and how many active classes
    # that has, and the log-probabilities of the classes at each position.
    path = np.zeros(n_labels, dtype=np.int32)
    partial = np.zeros(n_labels + 1)
    n_active_at = np.zeros(n_labels + 1, dtype=np.int64)
    children = np.empty((n_labels, len(out)))
    m = 0
    for i in range(len(base)):
        base_row, k = base[i], 0
        path[0] = -1
        while k >= 0:
            known = given[i, k] if len(given) else -1
            if path[k] < 0:
                expand(base_row, links, k, active, n_active_at[k], scores, children[k])
            if known < 0:
                path[k] += 1
            else:
                path[k] = known if path[k] < 0 else n_classes[k]
            if path[k] == n_classes[k]:
                k -= 1
                continue
            partial[k + 1] = partial[k] + children[k, path[k]]
            if k == n_labels - 1:
                for d in range(n_labels):
                    labels[m, d] = path[d]
                log_proba[m] = partial[n_labels]
                m += 1
                continue
            n_active_at[k + 1] = activate(links, k, path[k], active, n_active_at[k])
            k += 1
            path[k] = -1
    return labels, log_proba
