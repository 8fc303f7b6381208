"""From the scores of one link to log-probabilities: the one place where a prefix is expanded.

A link's scores are ``base + sum of effects`` over the *active* classes of the prefix, that is, over
the labels whose class is not their first one (the first class has no effect of its own: what it adds
is part of ``base``). Most label vectors are sparse, so this sum is short.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.coupling import couple, with_addresses

SOFTMAX = 0
"""Softmax over K scores; with K = 2 a single score, the log-odds of the second class."""
ONE_VERSUS_REST = 1
"""K logistic scores, normalised to sum to one."""


@njit(cache=False)
def log_sigmoid(score):
    """Logarithm of 1 / (1 + exp(-score)), without overflow."""
    if score >= 0.0:
        return -math.log1p(math.exp(-score))
    return score - math.log1p(math.exp(score))


@njit(cache=False)
def log_sigmoids(odds):
    """Return the log-probabilities of both classes from the log-odds of the second one.

    The two log-sigmoids, bit for bit, for the price of one.
    """
    rest = math.log1p(math.exp(-abs(odds)))
    if odds >= 0.0:
        return -odds - rest, -rest
    return -rest, odds - rest


@njit(cache=False)
def log_odds(base_row, effects, column, active, n_active):
    """Return the one score of a binary `SOFTMAX` link, as `expand` sums it.

    Small enough to be inlined, which `expand` is not: where speed counts, binary links go this way.
    """
    odds = base_row[column]
    for a in range(n_active):
        odds += effects[column, active[a]]
    return odds


@njit(cache=False)
def respond(scores, weights, response, n_classes, out):
    """Write to ``out[:n_classes]`` the log-probabilities of the classes, given a link's scores."""
    if n_classes == 1:
        out[0] = 0.0
    elif response == SOFTMAX and n_classes == 2:
        out[0], out[1] = log_sigmoids(scores[0])
    elif response == SOFTMAX:
        largest = scores[0]
        for c in range(1, n_classes):
            largest = max(largest, scores[c])
        total = 0.0
        for c in range(n_classes):
            total += math.exp(scores[c] - largest)
        shift = largest + math.log(total)
        for c in range(n_classes):
            out[c] = scores[c] - shift
    elif response == ONE_VERSUS_REST:
        largest = -np.inf
        for c in range(n_classes):
            out[c] = log_sigmoid(scores[c])
            largest = max(largest, out[c])
        total = 0.0
        for c in range(n_classes):
            total += math.exp(out[c] - largest)
        shift = largest + math.log(total)
        for c in range(n_classes):
            out[c] -= shift
    else:
        couple(response, scores, weights, n_classes, out)


def respond_rows(scores, weights, response, n_classes):
    """Return the log-probabilities, of shape (n, n_classes), of one link for n rows of scores."""
    out = np.empty((len(scores), n_classes))
    _respond_rows(scores, weights, int(with_addresses(response)), n_classes, out)
    return out


@njit
def _respond_rows(scores, weights, response, n_classes, out):
    for row in range(scores.shape[0]):
        respond(scores[row], weights, response, n_classes, out[row])


@njit(cache=False)
def expand(base_row, effects, score_start, score_weight, response, n_classes, k, active, n_active, known, scores, out):
    """Write to ``out[:n_classes[k]]`` the log-probabilities of the classes at position `k`.

    Parameters
    ----------
    base_row, effects, score_start, score_weight, response, n_classes : arrays
        One row's base scores and the chain's arrays, see `LinearScores`.
    k : int
        Position in the chain.
    active, n_active : array of int, int
        Columns of `effects` that the prefix of positions 0..k-1 switches on: ``active[:n_active]``.
    known : int
        The class of position `k` if it is known beforehand, else -1. A known class keeps its
        log-probability and every other one gets minus infinity.
    scores : array of float
        Scratch space for the scores of one link.
    out : array of float
        Where the log-probabilities go.
    """
    first = score_start[k]
    last = score_start[k + 1]
    for w in range(first, last):
        score = base_row[w]
        for a in range(n_active):
            score += effects[w, active[a]]
        scores[w - first] = score
    respond(scores, score_weight[first:last], response[k], n_classes[k], out)
    if known >= 0:
        for c in range(n_classes[k]):
            if c != known:
                out[c] = -np.inf
