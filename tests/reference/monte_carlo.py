"""Algorithm 3 of the paper: draw, compare, keep the better one."""

import collections
import math

import numpy as np

from reference.greedy import greedy
from reference.joint import TIE, log_classes, log_joint, sample


def monte_carlo(chain, X, given, uniforms):
    """Return labels and log-probabilities from the draws that `uniforms`, of shape (S, L), gives each row."""
    drawn, _ = sample(chain, X, given, uniforms[None])
    start = greedy(chain, X, given)[0]
    labels, values = [], []
    for i in range(len(X)):
        y, value = start[i], log_joint(chain, X[i : i + 1], start[i : i + 1])[0]
        for candidate in drawn[i]:
            candidate_value = log_joint(chain, X[i : i + 1], candidate[None])[0]
            if candidate_value > value + TIE:
                y, value = candidate, candidate_value
        labels.append(y)
        values.append(value)
    return np.array(labels), np.array(values)


def unvisited_bound(chain, X, given, uniforms):
    """Return for each row the largest log-probability of a prefix that no draw entered, though one came close."""
    drawn, _ = sample(chain, X, given, uniforms[None])
    bounds = []
    for i in range(len(X)):
        prefixes = {tuple(y[:k]) for y in drawn[i].tolist() for k in range(len(y) + 1)}
        bound = -math.inf
        for prefix in prefixes:
            k = len(prefix)
            if k < len(chain.n_classes):
                before = sum(log_classes(chain, X, i, prefix[:j])[c] for j, c in enumerate(prefix))
                for c, value in enumerate(log_classes(chain, X, i, prefix)):
                    if (*prefix, c) not in prefixes and (given is None or given[i, k] in (-1, c)):
                        bound = max(bound, before + value)
        bounds.append(bound)
    return np.array(bounds)


def drawn_vectors(chain, X, given, uniforms):
    """Return for each row a sorted list of (vector, count, log-probability, log-weight)."""
    drawn, log_weight = sample(chain, X, given, uniforms[None])
    rows = []
    for i in range(len(X)):
        counts = collections.Counter(tuple(y) for y in drawn[i].tolist())
        weights = {tuple(y): value for y, value in zip(drawn[i].tolist(), log_weight[i], strict=True)}
        rows.append(
            [(y, counts[y], log_joint(chain, X[i : i + 1], np.array([y]))[0], weights[y]) for y in sorted(counts)]
        )
    return rows
