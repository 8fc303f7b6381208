"""A mixture of chains by enumeration: every vector under every chain."""

import math

import numpy as np

from reference.joint import enumerate_vectors


def table(population, X, i, given=None):
    """Return {vector: mixture probability} of row `i`, for all vectors (by label) that agree with `given`."""
    mixed = {}
    for chain, weight in zip(population.chains, population.weights, strict=True):
        order = list(chain.order)
        known = None if given is None else given[:, order]
        for vector, log_proba in enumerate_vectors(chain, X, i, known).items():
            by_label = dict(zip(order, vector, strict=True))
            key = tuple(by_label[label] for label in range(len(order)))
            mixed[key] = mixed.get(key, 0.0) + weight * math.exp(log_proba)
    return mixed


def mixture(population, X, given, k):
    """Return for each row the k best (vector, log-probability), best first."""
    best = []
    for i in range(len(X)):
        ranked = sorted(table(population, X, i, given).items(), key=lambda item: -item[1])
        best.append([(vector, math.log(proba)) for vector, proba in ranked[:k]])
    return best


def marginals(population, X, given):
    """Return for each label the probabilities of its classes given what is known, of shape (n, K)."""
    result = [np.zeros((len(X), k)) for k in population.n_classes]
    for i in range(len(X)):
        mixed = table(population, X, i, given)
        total = sum(mixed.values())
        for vector, proba in mixed.items():
            for label, c in enumerate(vector):
                result[label][i, c] += proba / total
    return result
