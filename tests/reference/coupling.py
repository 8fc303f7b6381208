"""Pairwise coupling by the updates of Hastie and Tibshirani (1998), one class at a time, until nothing moves."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit


def couple_pairs(scores, weights, n_classes, n_sweeps=20_000):
    """Return the log-probabilities."""
    wanted, weight = np.zeros((2, n_classes, n_classes))
    first, second = np.triu_indices(n_classes, 1)
    wanted[first, second], wanted[second, first] = expit(scores), expit(-scores)
    weight[first, second] = weight[second, first] = weights
    position = np.zeros(n_classes)
    for _ in range(n_sweeps):
        before = position.copy()
        for i in range(n_classes):
            implied = expit(position[i] - position)
            position[i] += np.log((weight[i] @ wanted[i]) / (weight[i] @ implied))
        position -= np.logaddexp.reduce(position)
        if np.abs(position - before).max() < 1e-13:
            break
    return position


def divergence(scores, weights, log_proba):
    """Return the weighted Kullback-Leibler divergence, but for what does not depend on the probabilities."""
    first, second = np.triu_indices(len(log_proba), 1)
    gap = log_proba[first] - log_proba[second]
    return -weights @ (expit(scores) * log_expit(gap) + expit(-scores) * log_expit(-gap))
