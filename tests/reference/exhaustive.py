"""Every label vector."""

from __future__ import annotations

from reference.joint import enumerate_vectors, first_best


def exhaustive(chain, X, given):
    """Return for each row the most probable vector and its log-probability."""
    found = [list(enumerate_vectors(chain, X, i, given).items()) for i in range(len(X))]
    return [vectors[first_best([value for _, value in vectors])] for vectors in found]


def all_vectors(chain, X, given):
    """Return for each row {vector: log-probability}."""
    return [enumerate_vectors(chain, X, i, given) for i in range(len(X))]
