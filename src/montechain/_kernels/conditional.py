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

from montechain._kernels.compiling import ZERO, inner
from montechain._kernels.ties import TIE


class Links(NamedTuple):
    """The links of a label-linear chain as kernels take them, in chain positions.

    ``effects[w, a]`` is added to score column w when the active class a holds; it is zero where a does not belong to a
    parent. Class c >= 1 of position j is the active class ``active_start[j] + c - 1``. The scores of position k are
    the columns from ``score_start[k]`` to ``score_start[k + 1]``.
    """

    effects: np.ndarray
    score_start: np.ndarray
    n_classes: np.ndarray
    active_start: np.ndarray

    @property
    def is_all_binary(self) -> bool:
        """Whether every link has one score, the log-odds of its second class."""
        # Labels of one class have no column of effects, those of three or more have one score more than columns.
        return self.effects.shape == (len(self.n_classes), len(self.n_classes))


@register_jitable
def of_chain(links, j):
    """Return the links of chain `j` of several stacked ones, see `montechain.population.search.stacked_scores`."""
    return Links(links.effects, links.score_start[j], links.n_classes[j], links.active_start[j])


@inner
def log_sigmoids(odds):
    """Return the log-probabilities of both classes from the log-odds of the second one.

    These are the logarithms of 1 / (1 + exp(odds)) and 1 / (1 + exp(-odds)), without overflow.
    """
    rest = math.log1p(math.exp(-abs(odds)))
    if odds >= 0.0:
        return -odds - rest, -rest
    return -rest, odds - rest


@inner
def log_odds(base_row, effects, column, active, n_active):
    """Return the one score of a binary link."""
    odds = base_row[column]
    for a in range(n_active):
        odds += effects[column, active[a]]
    return odds


@inner
def respond(scores, n_classes, out):
    """Write to ``out[:n_classes]`` the log-probabilities of the classes, given a link's scores."""
    if n_classes == 1:
        out[0] = 0.0
    elif n_classes == 2:
        out[0], out[1] = log_sigmoids(scores[0])
    else:
        largest = -np.inf
        for c in range(n_classes):
            largest = max(largest, scores[c])
        total = 0.0
        for c in range(n_classes):
            total += math.exp(scores[c] - largest)
        shift = largest + math.log(total)
        for c in range(n_classes):
            out[c] = scores[c] - shift


@inner(forceinline=True)
def expand(base_row, links, k, active, n_active, scores, out):
    """Write to ``out[:n_classes[k]]`` the log-probabilities of the classes at position `k`.

    ``active[:n_active]`` are the columns of `effects` that the prefix of positions 0..k-1 switches on; `scores` is
    scratch space for the scores of one link.
    """
    # Small enough to be inlined, for binary links.
    if links.n_classes[k] == 2:
        out[0], out[1] = log_sigmoids(log_odds(base_row, links.effects, links.score_start[k], active, n_active))
    else:
        _expand_any(base_row, links, k, active, n_active, scores, out)


@inner
def _expand_any(base_row, links, k, active, n_active, scores, out):
    first, last = links.score_start[k], links.score_start[k + 1]
    for w in range(first, last):
        scores[w - first] = log_odds(base_row, links.effects, w, active, n_active)
    respond(scores, links.n_classes[k], out)


@inner
def activate(links, k, chosen, active, n_active):
    """Add class `chosen` of position `k` to the active classes, and return how many there are."""
    if chosen > 0:
        active[n_active] = links.active_start[k] + chosen - 1
        n_active += 1
    return n_active


def new_path(links):
    """Return scratch space for one prefix: its active classes, scores and log-probabilities."""
    n_labels, n_scores = links.n_classes.shape[-1], np.diff(links.score_start).max(initial=1)
    return np.empty(n_labels, dtype=np.int64), np.empty(n_scores), np.empty(links.n_classes.max(initial=1))


@inner
def walk_down(base_row, links, known, uniforms, limit, labels, start, stop, path):
    """Choose the classes of the positions from `start` to `stop`, link by link, after those that `labels` has before.

    A known class is taken; others are drawn by `uniforms`, or are the most probable ones if that is empty. `known` is
    empty if nothing is known. Once the log-probability is not above `limit`, if that is finite, the vector is given up.
    Returns the log-probability of the classes chosen, or minus infinity if the vector was given up; and the part of the
    known classes in it.
    """
    active, scores, log_proba = path
    value = of_known = 0.0
    n_active = ZERO
    for k in range(stop):
        if k >= start:
            expand(base_row, links, k, active, n_active, scores, log_proba)
            chosen = known[k] if len(known) else np.int32(-1)
            if chosen >= 0:
                of_known += log_proba[chosen]
            elif len(uniforms):
                chosen = draw_class(log_proba, links.n_classes[k], uniforms[k])
            else:
                chosen = most_probable_class(log_proba, links.n_classes[k])
            value += log_proba[chosen]
            if value <= limit and limit > -np.inf:
                return -np.inf, of_known
            labels[k] = chosen
        n_active = activate(links, k, np.int64(labels[k]), active, n_active)
    return value, of_known


@inner
def most_probable_class(log_proba, n_classes):
    """Return the most probable class, the first one if tied."""
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
