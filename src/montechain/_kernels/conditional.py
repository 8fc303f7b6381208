"""From the scores of one link to log-probabilities: the one place where a prefix is expanded.

A link's scores are ``base + sum of effects`` over the *active* classes of the prefix, that is, over
the labels whose class is not their first one (the first class has no effect of its own: what it adds
is part of ``base``). Most label vectors are sparse, so this sum is short.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from montechain._kernels.compiling import inner, njit
from montechain._kernels.ties import TIE

SOFTMAX = 0
"""Softmax over K scores; with K = 2 a single score, the log-odds of the second class."""
ONE_VERSUS_REST = 1
"""K logistic scores, normalised to sum to one."""


class Links(NamedTuple):
    """The links of a label-linear chain as kernels take them, in chain positions.

    Parameters
    ----------
    effects : float64 ndarray of shape (W, A)
        ``effects[w, a]`` is added to score column w when the active class a holds; zero where a does
        not belong to a parent.
    score_start : int64 ndarray of shape (L + 1,)
        The scores of position k are the columns ``score_start[k]:score_start[k + 1]``.
    response, n_classes : int64 ndarrays of shape (L,)
    active_start : int64 ndarray of shape (L + 1,)
        Class c >= 1 of position j is the active class ``active_start[j] + c - 1``.
    """

    effects: np.ndarray
    score_start: np.ndarray
    response: np.ndarray
    n_classes: np.ndarray
    active_start: np.ndarray

    @property
    def is_all_binary(self) -> bool:
        """Whether every link has one score, the log-odds of its second class."""
        return bool((self.n_classes == 2).all() and (self.response == SOFTMAX).all())


@register_jitable
def of_chain(links, j):
    """Return the links of chain `j` of several stacked ones, see `montechain.population.search.stacked_scores`."""
    return Links(links.effects, links.score_start[j], links.response[j], links.n_classes[j], links.active_start[j])


@inner
def log_sigmoid(score):
    """Logarithm of 1 / (1 + exp(-score)), without overflow."""
    if score >= 0.0:
        return -math.log1p(math.exp(-score))
    return score - math.log1p(math.exp(score))


@inner
def log_sigmoids(odds):
    """Return the log-probabilities of both classes from the log-odds of the second one.

    The two log-sigmoids, bit for bit, for the price of one.
    """
    rest = math.log1p(math.exp(-abs(odds)))
    if odds >= 0.0:
        return -odds - rest, -rest
    return -rest, odds - rest


@inner
def log_odds(base_row, effects, column, active, n_active):
    """Return the one score of a binary `SOFTMAX` link."""
    odds = base_row[column]
    for a in range(n_active):
        odds += effects[column, active[a]]
    return odds


@inner
def respond(scores, response, n_classes, out):
    """Write to ``out[:n_classes]`` the log-probabilities of the classes, given a link's scores."""
    if n_classes == 1:
        out[0] = 0.0
    elif response == SOFTMAX and n_classes == 2:
        out[0], out[1] = log_sigmoids(scores[0])
    else:
        largest = -np.inf
        for c in range(n_classes):
            out[c] = scores[c] if response == SOFTMAX else log_sigmoid(scores[c])
            largest = max(largest, out[c])
        total = 0.0
        for c in range(n_classes):
            total += math.exp(out[c] - largest)
        shift = largest + math.log(total)
        for c in range(n_classes):
            out[c] -= shift


def respond_rows(scores, response, n_classes):
    """Return the log-probabilities, of shape (n, n_classes), of one link for n rows of scores."""
    out = np.empty((len(scores), n_classes))
    _respond_rows(scores, int(response), int(n_classes), out)
    return out


@njit
def _respond_rows(scores, response, n_classes, out):
    for row in range(scores.shape[0]):
        respond(scores[row], response, n_classes, out[row])


@njit(cache=False, _nrt=False, forceinline=True)
def expand(base_row, links, k, active, n_active, scores, out):
    """Write to ``out[:n_classes[k]]`` the log-probabilities of the classes at position `k`.

    ``active[:n_active]`` are the columns of `effects` that the prefix of positions 0..k-1 switches on; `scores` is
    scratch space for the scores of one link.
    """
    # Small enough to be inlined, for binary links.
    if links.response[k] == SOFTMAX and links.n_classes[k] == 2:
        out[0], out[1] = log_sigmoids(log_odds(base_row, links.effects, links.score_start[k], active, n_active))
    else:
        _expand_any(base_row, links, k, active, n_active, scores, out)


@inner
def _expand_any(base_row, links, k, active, n_active, scores, out):
    first, last = links.score_start[k], links.score_start[k + 1]
    for w in range(first, last):
        scores[w - first] = log_odds(base_row, links.effects, w, active, n_active)
    respond(scores, links.response[k], links.n_classes[k], out)


@inner
def activate(links, k, chosen, active, n_active):
    """Add class `chosen` of position `k` to the active classes, and return how many there are."""
    if chosen > 0:
        active[n_active] = links.active_start[k] + chosen - 1
        n_active += 1
    return n_active


@njit(cache=False)
def new_path(links):
    """Return scratch space for one prefix: its active classes, scores and log-probabilities."""
    width = most = 1
    for k in range(len(links.n_classes)):
        width = max(width, links.score_start[k + 1] - links.score_start[k])
        most = max(most, links.n_classes[k])
    return np.empty(max(1, len(links.n_classes)), dtype=np.int64), np.empty(width), np.empty(most)


@inner
def most_probable_class(log_proba, n_classes, known):
    """Return the known class if there is one, else the first of the most probable ones."""
    if known >= 0:
        return known
    best = log_proba[0]
    for c in range(1, n_classes):
        best = max(best, log_proba[c])
    chosen = 0
    while log_proba[chosen] < best - TIE:
        chosen += 1
    return chosen


@inner
def draw_class(log_proba, n_classes, uniform):
    """Return the class at which the cumulative probability first exceeds `uniform`, else the last one."""
    cumulative = 0.0
    for c in range(n_classes - 1):
        cumulative += math.exp(log_proba[c])
        if cumulative > uniform:
            return c
    return n_classes - 1
