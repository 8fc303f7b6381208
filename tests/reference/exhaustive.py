"""Every label vector."""

from __future__ import annotations

from reference.joint import enumerate_vectors


def exhaustive(chain, X, given):
    """Return for each row the most probable vector and its log-probability."""
    return [
        max(enumerate_vectors(chain, X, i, given).items(), key=lambda vector_and_value: vector_and_value[1])
        for i in range(len(X))
    ]


def all_vectors(chain, X, given):
    """Return for each row {vector: log-probability}."""
    return [enumerate_vectors(chain, X, i, given) for i in range(len(X))]
