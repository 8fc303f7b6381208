"""Log-probabilities of given label vectors under a chain of logistic links."""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit

MAX_PRODUCT = 1e250
"""Product of probabilities' inverses from which on its logarithm is taken."""


@njit
def score_candidates(base, offsets, vectors, same_prefix, candidates, score_start, n_classes, log_proba):
    """Write log p(vector | x) of some vectors of each row; vectors that begin alike share the work for what they share.

    `base`, of shape (n, W), are the scores of the rows without the effects of parents; `offsets`, of shape (V, W), what
    the classes of each vector add to the scores of later positions. `vectors`, int32, and `same_prefix`, int64, are of
    shape (V, L) and by position: the latter has a vector with the same classes up to and at each position, the same one
    for all of these vectors. `candidates`, int64 of shape (n, S), are the numbers of the vectors to be scored;
    `score_start` and `n_classes` are int64. The result goes to `log_proba`, of shape (n, S).
    """
    row_of = np.full(vectors.shape, -1)
    totals, inverses = np.empty(vectors.shape), np.empty(vectors.shape)
    for i in range(base.shape[0]):
        for s in range(candidates.shape[1]):
            u = candidates[i, s]
            start = len(n_classes)
            while start > 0 and row_of[same_prefix[u, start - 1], start - 1] != i:
                start -= 1
            total, inverse = 0.0, 1.0
            if start > 0:
                first_vector = same_prefix[u, start - 1]
                total, inverse = totals[first_vector, start - 1], inverses[first_vector, start - 1]
            for k in range(start, len(n_classes)):
                first = score_start[k]
                if n_classes[k] == 2:
                    odds = base[i, first] + offsets[u, first]
                    odds = odds if vectors[u, k] > 0 else -odds
                    if odds < 0.0:
                        total += odds
                        odds = -odds
                    inverse *= 1.0 + math.exp(-odds)
                elif n_classes[k] > 2:
                    largest = base[i, first] + offsets[u, first]
                    for w in range(first + 1, score_start[k + 1]):
                        largest = max(largest, base[i, w] + offsets[u, w])
                    mass = 0.0
                    for w in range(first, score_start[k + 1]):
                        mass += math.exp(base[i, w] + offsets[u, w] - largest)
                    own = first + vectors[u, k]
                    total += base[i, own] + offsets[u, own] - largest
                    inverse *= mass
                if inverse > MAX_PRODUCT:
                    total -= math.log(inverse)
                    inverse = 1.0
                first_vector = same_prefix[u, k]
                row_of[first_vector, k], totals[first_vector, k], inverses[first_vector, k] = i, total, inverse
            log_proba[i, s] = total - math.log(inverse)
