"""Label vectors of a label-linear chain, down to a threshold below which little mass is left.

All prefixes above a threshold are expanded, depth-first. Every label vector that agrees with what is known is then
either complete or continues exactly one *open* prefix, so the mass of the open prefixes bounds what is unexplored. The
threshold falls until that is little. A known class does not branch; it only takes mass away. Hence the mass of an open
prefix is that of its agreeing vectors if no known position follows, and an upper bound on it otherwise.

Masses can be as small as the probability of many known labels, so sums of them are kept as logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import activate, draw_class, expand

LEAST_FALL, MOST_FALL = 0.7, 3.0
"""By how much the logarithm of the threshold falls at a time."""


def lower_thresholds(base, links, given, full_depth, residual, max_nodes):
    """Find for each row a threshold below which at most `residual` of its mass is left, if the budget allows it.

    Parameters
    ----------
    base, links, given : arrays
        See `montechain.links.linear.LinearScores`; known classes, -1 elsewhere, no rows if nothing is known.
    full_depth : int64 ndarray of shape (n,)
        Prefixes of this length count as complete: L, or less where only the mass is wanted.
    residual : float
        Open mass divided by open and complete mass at which to stop.
    max_nodes : int
        Prefixes expanded, at most, at the threshold returned. It is not lowered further where that would take more.

    Returns
    -------
    threshold, complete, remaining : ndarrays of shape (n,)
        Logarithms of the threshold, and of the mass of complete vectors and of open prefixes.
    n_vectors, n_open, nodes : int64 ndarrays of shape (n,)
    """
    threshold, complete, remaining = np.empty((3, len(base)))
    n_vectors, n_open, nodes = np.empty((3, len(base)), dtype=np.int64)
    found = (threshold, complete, remaining, n_vectors, n_open, nodes)
    _lower_rows(base, links, given, full_depth, residual, max_nodes, found, _new_scratch(links))
    return found


def vectors_above(base, links, given, full_depth, found, is_drawn, offset, uniforms):
    """Return the complete vectors of all rows, and draws from the open prefixes of some.

    Parameters
    ----------
    base, links, given, full_depth
        As `lower_thresholds` takes them.
    found : tuple of arrays
        What it returned.
    is_drawn : bool ndarray of shape (n,)
        The rows for which vectors are drawn.
    offset : float
        In [0, 1). Draw s continues the open prefix in which the share ``(s + offset) / S`` of their mass is reached, in
        lexicographic order. All rows share it, and the table of uniforms.
    uniforms : ndarray of shape (S, L)
        The class at position k of draw s is chosen by ``uniforms[s, k]``.

    Returns
    -------
    rows : int64 ndarray of shape (m,)
        Those of a row's complete vectors come before those of its draws.
    labels : int32 ndarray of shape (m, L)
        Zeros beyond `full_depth`.
    log_mass : ndarray of shape (m,)
        Logarithms of the mass that each vector stands for.
    """
    n_each = found[3] + np.where(is_drawn, len(uniforms), 0)
    labels, log_mass = np.zeros((n_each.sum(), uniforms.shape[1]), dtype=np.int32), np.zeros(n_each.sum())
    start = np.cumsum(n_each) - n_each
    _write_rows(
        base, links, given, full_depth, found, is_drawn, offset, uniforms, start, labels, log_mass, _new_scratch(links)
    )
    return np.repeat(np.arange(len(base)), n_each), labels, log_mass


def _new_scratch(links):
    """Return the arrays of a walk.

    Of the path to the present prefix: its classes, the class that comes next at each position, the log-probabilities of
    the children there, the active classes and how many each prefix has; depth and number of nodes; and space for the
    scores and log-probabilities of one link.
    """
    n_labels, n_classes = len(links.n_classes), links.n_classes.max(initial=1)
    return (
        np.zeros(n_labels, dtype=np.int32),
        np.zeros(n_labels, dtype=np.int64),
        np.empty((n_labels, n_classes)),
        np.empty(n_labels + 1, dtype=np.int64),
        np.zeros(n_labels + 1, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.empty(np.diff(links.score_start).max(initial=1)),
        np.empty(n_classes),
    )


@inner
def enter(base_row, links, known, k, value, scratch):
    """Expand the prefix of length `k` that the path holds, of log-probability `value`."""
    _, following, children, active, n_active_at, state, scores, _ = scratch
    expand(base_row, links, k, active, n_active_at[k], scores, children[k])
    for c in range(links.n_classes[k]):
        children[k, c] += value
        if len(known) and known[k] >= 0 and c != known[k]:
            children[k, c] = -np.inf
    following[k] = 0
    state[0] = k
    state[1] = state[1] + 1 if k > 0 else 1


@inner
def next_leaf(base_row, links, known, full_depth, threshold, scratch):
    """Go to the next prefix, in lexicographic order, that is complete or not above the threshold.

    Returns its length and log-probability; the length is zero after the last one.
    """
    path, following, children, active, n_active_at, state, _, _ = scratch
    k = state[0]
    while k >= 0:
        c = following[k]
        if c == links.n_classes[k]:
            k -= 1
            continue
        following[k] = c + 1
        value = children[k, c]
        if value == -np.inf:
            continue
        path[k] = c
        n_active_at[k + 1] = activate(links, k, c, active, n_active_at[k])
        if k + 1 == full_depth or value <= threshold:
            state[0] = k
            return k + 1, value
        k += 1
        enter(base_row, links, known, k, value, scratch)
    return 0, -np.inf


@inner
def log_add(a, b):
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@njit
def _lower_rows(base, links, given, full_depth, residual, max_nodes, found, scratch):
    nothing = np.empty(0, dtype=np.int32)
    for i in range(len(base)):
        base_row, known, depth = base[i], given[i] if len(given) else nothing, full_depth[i]
        # Where nothing may be left, all is tried first.
        threshold = 0.0 if residual > 0.0 else -np.inf
        is_open = depth > 0
        if not is_open:  # the empty prefix is all there is
            found[0][i], found[1][i], found[2][i], found[3][i], found[4][i], found[5][i] = 0.0, 0.0, -np.inf, 1, 0, 0
        while is_open:
            complete = remaining = top = -np.inf
            n_vectors = n_open = 0
            enter(base_row, links, known, 0, 0.0, scratch)
            while scratch[5][1] <= max_nodes:
                length, value = next_leaf(base_row, links, known, depth, threshold, scratch)
                if length == 0:
                    break
                if length == depth:
                    complete = log_add(complete, value)
                    n_vectors += 1
                else:
                    remaining = log_add(remaining, value)
                    top = max(top, value)
                    n_open += 1
            if scratch[5][1] > max_nodes:
                if threshold > -np.inf:
                    break
                threshold = 0.0
                continue
            found[0][i], found[1][i], found[2][i] = threshold, complete, remaining
            found[3][i], found[4][i], found[5][i] = n_vectors, n_open, scratch[5][1]
            left = remaining - log_add(complete, remaining)
            is_open = n_open > 0 and math.exp(left) > residual
            fall = MOST_FALL
            if residual > 0.0:  # the open mass shrinks about as the square root of the threshold
                fall = min(max(2.0 * (left - math.log(residual)), LEAST_FALL), MOST_FALL)
            threshold = min(threshold, top) - fall


@njit
def _write_rows(
    base, links, given, full_depth, found, is_drawn, offset, uniforms, start, labels, log_mass, scratch
):  # fmt: skip
    threshold, _, remaining, n_vectors, n_open, _ = found
    path, n_active_at = scratch[0], scratch[4]
    nothing = np.empty(0, dtype=np.int32)
    for i in range(len(base)):
        base_row, known, depth = base[i], given[i] if len(given) else nothing, full_depth[i]
        if depth == 0:
            continue
        at, drawn_from = start[i], start[i] + n_vectors[i]
        n_drawn = n_passed = 0
        reached = 0.0
        enter(base_row, links, known, 0, 0.0, scratch)
        while True:
            length, value = next_leaf(base_row, links, known, depth, threshold[i], scratch)
            if length == 0:
                break
            if length == depth:
                for d in range(depth):
                    labels[at, d] = path[d]
                log_mass[at] = value
                at += 1
            elif is_drawn[i]:
                n_passed += 1
                # The last one takes what rounding leaves.
                reached = reached + math.exp(value - remaining[i]) if n_passed < n_open[i] else np.inf
                while n_drawn < len(uniforms) and (n_drawn + offset) / len(uniforms) < reached:
                    own = drawn_from + n_drawn
                    for d in range(length):
                        labels[own, d] = path[d]
                    log_mass[own] = remaining[i] - math.log(len(uniforms)) + draw_rest(
                        base_row, links, known, length, depth, n_active_at[length], uniforms, n_drawn, labels, own,
                        scratch,
                    )  # fmt: skip
                    n_drawn += 1


@inner
def draw_rest(base_row, links, known, start, stop, n_active, uniforms, s, labels, own, scratch):
    """Draw the classes of positions `start` to `stop` of ``labels[own]``; return the log-probability of known ones."""
    _, _, _, active, _, _, scores, log_proba = scratch
    log_weight = 0.0
    for k in range(start, stop):
        expand(base_row, links, k, active, n_active, scores, log_proba)
        chosen = known[k] if len(known) else -1
        if chosen >= 0:
            log_weight += log_proba[chosen]
        else:
            chosen = draw_class(log_proba, links.n_classes[k], uniforms[s, k])
        labels[own, k] = chosen
        n_active = activate(links, k, chosen, active, n_active)
    return log_weight
