"""Gibbs sampling where every label is conditioned on x and on all other labels.

The scores of all links are held for the current label vector; they do not depend on the link's own label. Drawing a
binary label that keeps its class costs one comparison; a label that changes adds a column of effects to the scores.
Labels with a single class are left out, so that of binary labels the k-th has the k-th score and the k-th column of
effects.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import draw_class, respond


@njit
def gibbs(base, links, given, uniforms, n_collected):
    """Return the label vectors after each of the last sweeps: see `montechain.network.DependencyNetwork.gibbs`.

    `base` and `links` are those of `montechain.links.linear.LinearScores`, but any position may be a parent of any
    other. `given` has no rows if nothing is known.
    """
    n_rows, n_labels = len(base), len(links.n_classes)
    n_before = uniforms.shape[1] - n_collected
    by_class = np.ascontiguousarray(links.effects.T)
    varying = np.flatnonzero(links.n_classes > 1)
    n_varying = len(varying)
    sizes, first_active = links.n_classes[varying], links.active_start[varying]
    all_binary = bool((sizes == 2).all())
    labels = np.zeros((n_rows, n_collected, n_labels), dtype=np.int32)

    table = np.empty((uniforms.shape[1], n_varying))
    scores = np.empty(base.shape[1])
    state = np.empty(n_varying, dtype=np.int32)
    is_fixed, is_stale = np.zeros(n_varying, dtype=np.bool_), np.empty(n_varying, dtype=np.bool_)
    # The log-probabilities of each label's classes, given the others, and whether one of these has changed since.
    conditional = np.empty((n_varying, links.n_classes.max()))
    for i in range(n_rows):
        if i == 0 or uniforms.shape[0] > 1:
            table[:] = uniforms[i][:, varying]
            if all_binary:
                to_log_odds(table)
        scores[:] = base[i]
        state[:] = 0
        is_stale[:] = True
        for v in range(n_varying):
            known = given[i, varying[v]] if len(given) else -1
            is_fixed[v] = known >= 0
            if known >= 0:
                change_class(scores, by_class, first_active, state, v, known)
        for t in range(uniforms.shape[1]):
            for v in range(n_varying):
                if is_fixed[v]:
                    continue
                if all_binary:
                    chosen = 1 if scores[v] >= table[t, v] else 0
                else:
                    renew(scores, links, varying[v], is_stale, v, conditional)
                    chosen = draw_class(conditional[v], sizes[v], table[t, v])
                if chosen != state[v]:
                    change_class(scores, by_class, first_active, state, v, chosen)
                    is_stale[:] = True
            if t >= n_before:
                for v in range(n_varying):
                    labels[i, t - n_before, varying[v]] = state[v]
    return labels


@inner
def renew(scores, links, k, is_stale, v, conditional):
    """Recompute the conditional of position `k` if another label has changed since."""
    if is_stale[v]:
        first, last = links.score_start[k], links.score_start[k + 1]
        respond(scores[first:last], links.n_classes[k], conditional[v])
        is_stale[v] = False


@inner
def change_class(scores, by_class, active_start, state, v, chosen):
    """Set one label to the class `chosen`, and update the scores of all links."""
    for w in range(scores.shape[0]):
        if state[v] > 0:
            scores[w] -= by_class[active_start[v] + state[v] - 1, w]
        if chosen > 0:
            scores[w] += by_class[active_start[v] + chosen - 1, w]
    state[v] = chosen


@inner
def to_log_odds(uniforms):
    """Replace the uniform numbers by what the log-odds of the second class are compared with.

    `draw_class` takes the second class where the probability of the first one is at most the uniform
    number u, that is, where the log-odds are at least log((1 - u) / u).
    """
    for t in range(uniforms.shape[0]):
        for v in range(uniforms.shape[1]):
            u = uniforms[t, v]
            uniforms[t, v] = math.log1p(-u) - math.log(u) if u > 0.0 else np.inf
