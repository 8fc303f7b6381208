"""Gibbs sampling where every label is conditioned on x and on all other labels.

The scores of all links are held for the current label vector; they do not depend on the link's own label. Drawing a
binary label that keeps its class costs one comparison; a label that changes adds a column of effects to the scores.
Labels with a single class are left out, so that of binary labels the k-th has the k-th score and the k-th column of
effects.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import draw_class, respond


def gibbs(base, links, given, uniforms, n_collected):
    """Return the label vectors after each of the last sweeps: see `montechain.network.DependencyNetwork.gibbs`.

    `base` and `links` are those of `montechain.links.linear.LinearScores`, but any position may be a parent of any
    other. `given` has no rows if nothing is known.
    """
    varying = np.flatnonzero(links.n_classes > 1)
    sizes = links.n_classes[varying]
    all_binary = bool((sizes == 2).all())
    table = np.ascontiguousarray(uniforms[:, :, varying])
    if all_binary:
        # `draw_class` takes the second class where the probability of the first one is at most the uniform number u,
        # that is, where the log-odds are at least log((1 - u) / u).
        with np.errstate(divide="ignore"):
            table = np.log1p(-table) - np.log(table)
    labels = np.zeros((len(base), n_collected, len(links.n_classes)), dtype=np.int32)
    columns = np.ascontiguousarray(links.effects.T)
    conditional = np.empty((len(varying), sizes.max(initial=1)))
    _sweep_rows(base, links, given, table, all_binary, varying, sizes, columns, conditional, labels)
    return labels


@njit
def _sweep_rows(base, links, given, table, all_binary, varying, sizes, columns, conditional, labels):
    n_varying, first_active = len(varying), links.active_start
    n_before = table.shape[1] - labels.shape[1]
    scores = np.empty(base.shape[1])
    state = np.empty(n_varying, dtype=np.int32)
    # Whether each label is known, and whether another one has changed since the log-probabilities of its classes in
    # `conditional` were computed.
    is_fixed, is_stale = np.zeros(n_varying, dtype=np.bool_), np.empty(n_varying, dtype=np.bool_)
    for i in range(len(base)):
        own = table[i if len(table) > 1 else 0]
        for w in range(len(scores)):
            scores[w] = base[i, w]
        for v in range(n_varying):
            state[v], is_stale[v] = 0, True
        for v in range(n_varying):
            known = np.int64(given[i, varying[v]]) if len(given) else np.int64(-1)
            is_fixed[v] = known >= 0
            if known >= 0:
                change_class(scores, columns, first_active[varying[v]], state, v, known)
        for t in range(own.shape[0]):
            for v in range(n_varying):
                if is_fixed[v]:
                    continue
                if all_binary:
                    chosen = np.int64(1) if scores[v] >= own[t, v] else np.int64(0)
                else:
                    renew(scores, links, varying[v], is_stale, v, conditional)
                    chosen = draw_class(conditional[v], sizes[v], own[t, v])
                if chosen != state[v]:
                    change_class(scores, columns, first_active[varying[v]], state, v, chosen)
                    for other in range(n_varying):
                        is_stale[other] = True
            if t >= n_before:
                for v in range(n_varying):
                    labels[i, t - n_before, varying[v]] = state[v]


@inner
def renew(scores, links, k, is_stale, v, conditional):
    """Recompute the conditional of position `k` if another label has changed since."""
    if is_stale[v]:
        first, last = links.score_start[k], links.score_start[k + 1]
        respond(scores[first:last], links.n_classes[k], conditional[v])
        is_stale[v] = False


@inner
def change_class(scores, columns, first_active, state, v, chosen):
    """Set one label to the class `chosen`, and update the scores of all links."""
    for w in range(scores.shape[0]):
        if state[v] > 0:
            scores[w] -= columns[first_active + state[v] - 1, w]
        if chosen > 0:
            scores[w] += columns[first_active + chosen - 1, w]
    state[v] = chosen
