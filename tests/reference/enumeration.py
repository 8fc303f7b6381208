"""Distributions over all vectors, and draws from open prefixes."""

import math

import numpy as np

from reference.joint import enumerate_vectors


def distribution(chain, X, given):
    """Return for each row {vector: p(vector | x, what is known)}."""
    result = []
    for i in range(len(X)):
        joint = {vector: math.exp(value) for vector, value in enumerate_vectors(chain, X, i, given).items()}
        mass = sum(joint.values())
        result.append({vector: p / mass for vector, p in joint.items()})
    return result


def draw_completions(chain, x, known, prefixes, offset, uniforms):
    """Return (vector, log-weight) for each row of `uniforms`.

    ``prefixes`` is a list of (prefix, log-probability); draw s continues the one in which the share (s + offset) / S of
    their mass is reached.
    """
    total = sum(math.exp(value) for _, value in prefixes)
    result = []
    for s, table in enumerate(uniforms):
        reached = np.cumsum([math.exp(value) / total for _, value in prefixes])
        chosen = next((j for j, share in enumerate(reached) if share > (s + offset) / len(uniforms)), len(prefixes) - 1)
        vector, weight = list(prefixes[chosen][0]), math.log(total / len(uniforms))
        for k in range(len(vector), chain.n_labels):
            proba = np.exp(chain.conditional(x[None], np.array([vector], dtype=np.int32).reshape(1, k))[0])
            if known is not None and known[k] >= 0:
                vector.append(int(known[k]))
                weight += math.log(proba[known[k]])
            else:
                vector.append(next((c for c in range(len(proba)) if proba[: c + 1].sum() > table[k]), len(proba) - 1))
        result.append((tuple(vector), weight))
    return result
