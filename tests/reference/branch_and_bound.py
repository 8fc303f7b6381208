"""The most probable vectors, by sorting all of them."""

from reference.joint import enumerate_vectors


def k_best(chain, X, k, given):
    """Return for each row the k most probable (vector, log-probability), best first."""
    return [
        sorted(enumerate_vectors(chain, X, i, given).items(), key=lambda entry: -entry[1])[:k] for i in range(len(X))
    ]


def most_probable(chain, X, given):
    """Return for each row the most probable vector and its log-probability."""
    return [best[0] for best in k_best(chain, X, 1, given)]
