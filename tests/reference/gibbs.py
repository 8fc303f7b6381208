"""Gibbs sampling in a dependency network, one conditional at a time."""

import numpy as np


def gibbs(network, X, given, uniforms, n_collected):
    """Return the vectors after each of the last sweeps."""
    n_rows, n_sweeps, n_labels = len(X), uniforms.shape[1], len(network.n_classes)
    labels = np.zeros((n_rows, n_collected, n_labels), dtype=np.int32)
    for i in range(n_rows):
        table = uniforms[i if len(uniforms) > 1 else 0]
        known = [-1] * n_labels if given is None else given[i].tolist()
        vector = [max(0, c) for c in known]
        for t in range(n_sweeps):
            for k in range(n_labels):
                if known[k] < 0:
                    cumulative = np.cumsum(conditional(network, X, i, vector, k))
                    vector[k] = int(sum(cumulative[:-1] <= table[t, k]))
            s = t - (n_sweeps - n_collected)
            if s >= 0:
                labels[i, s] = vector
    return labels


def conditional(network, X, i, vector, k):
    """Return p(class of label k | x, the other labels of the vector) for row `i`."""
    others = np.array([[c for j, c in enumerate(vector) if j != k]], dtype=np.int32)
    return np.exp(network.links[k].log_proba(X[i : i + 1], others)[0])
