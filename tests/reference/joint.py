"""Probabilities of complete label vectors, and draws of them, one conditional at a time."""

import numpy as np

TIE = 1e-10
"""Log-probabilities that differ by less are equal, and the first of equals counts."""


def log_classes(chain, X, i, prefix):
    """Return the log-probabilities of the classes that follow `prefix` in row `i`, as a list."""
    prefix = np.array(prefix, dtype=np.int32).reshape(1, -1)
    return chain.conditional(X[i : i + 1], prefix)[0].tolist()


def first_best(values):
    """Return the index of the largest of the values, the first of equals."""
    return next(i for i, value in enumerate(values) if value >= max(values) - TIE)


def log_joint(chain, X, Y):
    """Return log p(y | x) for each row."""
    return np.array(
        [sum(log_classes(chain, X, i, y[:k])[c] for k, c in enumerate(y)) for i, y in enumerate(np.asarray(Y).tolist())]
    )


def sample(chain, X, given, uniforms):
    """Draw the vectors one after the other."""
    n_rows, n_samples, n_labels = len(X), uniforms.shape[1], len(chain.n_classes)
    labels = np.zeros((n_rows, n_samples, n_labels), dtype=np.int32)
    log_weight = np.zeros((n_rows, n_samples))
    for i in range(n_rows):
        table = uniforms[i if len(uniforms) > 1 else 0]
        for s in range(n_samples):
            vector = []
            for k in range(n_labels):
                log_proba = log_classes(chain, X, i, vector)
                if given is not None and given[i, k] >= 0:
                    vector.append(int(given[i, k]))
                    log_weight[i, s] += log_proba[vector[-1]]
                else:
                    cumulative = np.cumsum(np.exp(log_proba))
                    vector.append(int(sum(cumulative[:-1] <= table[s, k])))
            labels[i, s] = vector
    return labels, log_weight


def enumerate_vectors(chain, X, i, given):
    """Return {vector: log p(y | x)} of row `i`, for all vectors that agree with `given`."""
    vectors = {(): 0.0}
    for k in range(len(chain.n_classes)):
        longer = {}
        for prefix, partial in vectors.items():
            for c, log_proba in enumerate(log_classes(chain, X, i, prefix)):
                if given is None or given[i, k] in (-1, c):
                    longer[(*prefix, c)] = partial + log_proba
        vectors = longer
    return vectors
