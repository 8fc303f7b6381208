"""Gibbs sampling where every label is conditioned on x and on all other labels.

The scores of all links are held for the current label vector; they do not depend on the link's own label. A binary
label that is drawn anew and keeps its class costs one comparison; a label that changes adds a column of effects to the
scores. Labels with a single class are left out, so that of binary labels the k-th has the k-th score and the k-th
column of effects.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import SOFTMAX, respond
from montechain._kernels.joint import draw_class, largest


@njit
def gibbs(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, uniforms, n_collected,
    average,
):  # fmt: skip
    """Return the label vectors after each of the last sweeps, and the marginals collected over these.

    Every sweep draws each label that is not known, in the order of the positions. The first one starts
    from the first class of each.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.links.linear.LinearScores`; any position may be a parent of any other.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    uniforms : ndarray of shape (n, T, L) or (1, T, L)
        Uniform numbers in [0, 1), one for each label of each of the T sweeps. With a first axis of
        length one, all rows share one table.
    n_collected : int
        How many sweeps, the last ones, are collected.
    average : bool
        Whether the marginals are the means of the conditionals, given the other labels of each vector
        collected; otherwise they are the shares of the classes in these vectors.

    Returns
    -------
    labels : int32 ndarray of shape (n, n_collected, L)
    marginals : ndarray of shape (n, L, largest K)
    """
    n_rows = base.shape[0]
    n_labels = n_classes.shape[0]
    n_before = uniforms.shape[1] - n_collected
    by_class = np.ascontiguousarray(effects.T)
    varying = np.flatnonzero(n_classes > 1)
    n_varying = len(varying)
    starts, kinds, sizes = score_start[varying], response[varying], n_classes[varying]
    first_active = active_start[varying]
    all_binary = bool(((kinds == SOFTMAX) & (sizes == 2)).all())
    labels = np.zeros((n_rows, n_collected, n_labels), dtype=np.int32)
    marginals = np.zeros((n_rows, n_labels, largest(n_classes)))

    table = np.empty((uniforms.shape[1], n_varying))
    scores = np.empty(base.shape[1])
    log_proba = np.empty(largest(n_classes))
    state = np.empty(n_varying, dtype=np.int32)
    is_fixed = np.zeros(n_varying, dtype=np.bool_)
    for i in range(n_rows):
        if i == 0 or uniforms.shape[0] > 1:
            table[:] = uniforms[i][:, varying]
            if all_binary:
                to_log_odds(table)
        scores[:] = base[i]
        state[:] = 0
        for v in range(n_varying):
            known = given[i, varying[v]] if given.shape[0] > 0 else -1
            is_fixed[v] = known >= 0
            if known >= 0:
                change_class(scores, by_class, first_active, state, v, known)
        for s in range(n_collected):
            first = n_before + s if s > 0 else 0
            if all_binary:
                binary_sweeps(scores, by_class, table, is_fixed, state, first, n_before + s + 1)
            else:
                sweeps(
                    scores, by_class, starts, score_weight, kinds, sizes, first_active,
                    table, is_fixed, state, log_proba, first, n_before + s + 1,
                )  # fmt: skip
            for v in range(n_varying):
                k = varying[v]
                labels[i, s, k] = state[v]
                if average and not is_fixed[v]:
                    full_conditional(scores, starts, score_weight, kinds, sizes, v, log_proba)
                    for c in range(sizes[v]):
                        marginals[i, k, c] += math.exp(log_proba[c])
                else:
                    marginals[i, k, state[v]] += 1.0
    marginals /= n_collected
    for k in range(n_labels):
        if n_classes[k] == 1:
            marginals[:, k, 0] = 1.0
    return labels, marginals


@njit(cache=False)
def binary_sweeps(scores, by_class, log_odds, is_fixed, state, first, last):
    """Do the sweeps `first` to ``last - 1`` over binary labels; `log_odds` as `to_log_odds` makes them."""
    for t in range(first, last):
        for v in range(state.shape[0]):
            chosen = 1 if scores[v] >= log_odds[t, v] else 0
            if chosen != state[v] and not is_fixed[v]:
                state[v] = chosen
                sign = 1.0 if chosen == 1 else -1.0
                for w in range(scores.shape[0]):
                    scores[w] += sign * by_class[v, w]


@njit(cache=False)
def sweeps(
    scores, by_class, score_start, score_weight, response, n_classes, active_start, uniforms, is_fixed, state,
    log_proba, first, last,
):  # fmt: skip
    """Do the sweeps `first` to ``last - 1`` over labels of any kind.

    A conditional is computed again only if another label has changed since: most sweeps change nothing.
    """
    n_varying = state.shape[0]
    known = np.empty((n_varying, log_proba.shape[0]))
    known_at = np.full(n_varying, -1)
    changed_at = np.full(n_varying, 0)
    time = 0
    for t in range(first, last):
        for v in range(n_varying):
            if is_fixed[v]:
                continue
            stale = known_at[v] < 0
            for other in range(n_varying):
                if other != v and changed_at[other] > known_at[v]:
                    stale = True
            if stale:
                full_conditional(scores, score_start, score_weight, response, n_classes, v, known[v])
                known_at[v] = time
            chosen = draw_class(known[v], n_classes[v], uniforms[t, v])
            if chosen != state[v]:
                change_class(scores, by_class, active_start, state, v, chosen)
                time += 1
                changed_at[v] = time


@njit(cache=False)
def full_conditional(scores, score_start, score_weight, response, n_classes, v, out):
    """Write to `out` the log-probabilities of the classes of one label, given x and all other labels."""
    # Labels with a single class, which are left out, have no scores: the next one's follow directly.
    first = score_start[v]
    last = score_start[v + 1] if v + 1 < score_start.shape[0] else scores.shape[0]
    respond(scores[first:last], score_weight[first:last], response[v], n_classes[v], out)


@njit(cache=False)
def change_class(scores, by_class, active_start, state, v, chosen):
    """Set one label to the class `chosen`, and the scores of all links to what this makes of them."""
    for w in range(scores.shape[0]):
        if state[v] > 0:
            scores[w] -= by_class[active_start[v] + state[v] - 1, w]
        if chosen > 0:
            scores[w] += by_class[active_start[v] + chosen - 1, w]
    state[v] = chosen


@njit(cache=False)
def to_log_odds(uniforms):
    """Replace the uniform numbers by what the log-odds of the second class are compared with.

    `draw_class` takes the second class where the probability of the first one is at most the uniform
    number u, that is, where the log-odds are at least log((1 - u) / u).
    """
    for t in range(uniforms.shape[0]):
        for v in range(uniforms.shape[1]):
            u = uniforms[t, v]
            uniforms[t, v] = math.log1p(-u) - math.log(u) if u > 0.0 else np.inf
