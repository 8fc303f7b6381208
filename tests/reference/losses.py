"""Losses by the book: every decision is tried on every label vector.

A distribution is a list of (vector, probability) pairs; vectors are tuples of codes.
"""

from itertools import product


def exact_match(y, h):
    return float(tuple(y) != tuple(h))


def hamming(y, h):
    return sum(a != b for a, b in zip(y, h, strict=True)) / len(y)


def relevant(y, negative):
    return {(label, code) for label, code in enumerate(y) if code != negative[label]}


def f1(y, h, negative):
    truth, decision = relevant(y, negative), relevant(h, negative)
    if not truth and not decision:
        return 0.0
    return 1.0 - 2.0 * len(truth & decision) / (len(truth) + len(decision))


def jaccard(y, h, negative):
    truth, decision = relevant(y, negative), relevant(h, negative)
    if not truth and not decision:
        return 0.0
    return 1.0 - len(truth & decision) / len(truth | decision)


def all_vectors(n_classes, known=None):
    """Return all label vectors that agree with `known` (-1: free)."""
    vectors = product(*(range(k) for k in n_classes))
    return [y for y in vectors if known is None or all(g in (-1, c) for g, c in zip(known, y, strict=True))]


def expected_loss(loss, distribution, h):
    return sum(probability * loss(y, h) for y, probability in distribution)


def least_expected_loss(loss, distribution, candidates):
    return min(expected_loss(loss, distribution, h) for h in candidates)


def union(first, second, negative):
    return tuple(a if a != n else b for a, b, n in zip(first, second, negative, strict=True))


def jaccard_candidates(vectors, negative, n_heaviest):
    """Return the candidates among which the Jaccard loss is minimised; `vectors` come heaviest first."""
    candidates = set(vectors)
    so_far = vectors[0]
    for vector in vectors[1:]:
        so_far = union(so_far, vector, negative)
        candidates.add(so_far)
    for i, vector in enumerate(vectors[:n_heaviest]):
        for other in vectors[i + 1 : n_heaviest]:
            candidates.add(union(vector, other, negative))
    return candidates
