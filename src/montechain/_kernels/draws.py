"""Many draws at once: the tree of prefixes is walked with the set of draws that pass through each node.

A prefix that several draws share is evaluated once. The set of draws is kept as a range of one index array. A draw's
class at position k follows from its own uniform number there, so the sets are split only where they are needed, and
the answer is that of drawing the vectors one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import SOFTMAX, expand, log_odds, log_sigmoids
from montechain._kernels.greedy import most_probable_class
from montechain._kernels.heap import doubled
from montechain._kernels.joint import draw_class, largest, widest
from montechain._kernels.ties import TIE


def best_of_draws(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, uniforms, start_greedy
):
    """Return the best of the start vector and the drawn ones, its log-probability and an upper bound.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    uniforms : ndarray of shape (S, L)
        Uniform numbers in [0, 1), the same for all rows.
    start_greedy : bool
        Whether the greedy vector is the start; otherwise the first draw is.

    Returns
    -------
    labels : int32 ndarray of shape (n, L)
    log_proba : ndarray of shape (n,)
    upper_bound : ndarray of shape (n,)
        No vector, drawn or not, has a higher log-probability.
    """
    n_rows, n_labels = len(base), len(n_classes)
    labels = np.empty((n_rows, n_labels), dtype=np.int32)
    log_proba, upper_bound = np.empty((2, n_rows))
    columns = np.ascontiguousarray(uniforms.T)
    known = np.full(n_labels, -1)
    _best_of_draws(
        base, effects, score_start, score_weight, response, n_classes, active_start, given, known,
        columns, columns.min(axis=1), columns.max(axis=1), np.arange(len(uniforms)), start_greedy,
        labels, log_proba, upper_bound, new_walk(score_start, n_classes),
    )  # fmt: skip
    return labels, log_proba, upper_bound


@njit
def _best_of_draws(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, known,
    columns, lowest, highest, draws, start_greedy, labels, log_proba, upper_bound, scratch,
):  # fmt: skip
    n_labels = n_classes.shape[0]
    children, active, scores = scratch[1], scratch[6], scratch[8]
    for i in range(base.shape[0]):
        start = 0.0
        n_active = 0
        for k in range(n_labels):
            if given.shape[0] > 0:
                known[k] = given[i, k]
            expand(
                base[i], effects, score_start, score_weight, response, n_classes,
                k, active, n_active, known[k], scores, children[k],
            )  # fmt: skip
            if start_greedy or known[k] >= 0:
                c = most_probable_class(children[k], n_classes[k], known[k])
            else:
                c = draw_class(children[k], n_classes[k], columns[k, 0])
            labels[i, k] = c
            start += children[k, c]
            if c > 0:
                active[n_active] = active_start[k] + c - 1
                n_active += 1
        log_proba[i], upper_bound[i] = walk_draws(
            base[i], effects, score_start, score_weight, response, n_classes, active_start, known,
            columns, lowest, highest, draws, start, -1 if start_greedy else 0, labels[i], scratch,
        )  # fmt: skip


def new_walk(score_start, n_classes):
    """Return the arrays in which `walk_draws` keeps its path.

    Of the current path, for each position: the log-probability before it, the classes' log-probabilities, the best
    class not tried yet and its log-probability, and the draws that left the path there; the active classes, and how
    many each prefix has; scores; and the classes.
    """
    n_labels = n_classes.shape[-1]
    return (
        np.zeros(n_labels + 1),
        np.empty((n_labels, n_classes.max(initial=1))),
        np.zeros(n_labels, dtype=np.int64),
        np.empty(n_labels),
        np.zeros(n_labels, dtype=np.int64),
        np.zeros(n_labels, dtype=np.int64),
        np.empty(n_labels, dtype=np.int64),
        np.zeros(n_labels + 1, dtype=np.int64),
        np.empty(np.diff(score_start).max(initial=1)),
        np.zeros(n_labels, dtype=np.int32),
    )


@njit(cache=False)
def walk_draws(
    base_row, effects, score_start, score_weight, response, n_classes, active_start, known,
    columns, lowest, highest, draws, best, best_draw, best_labels, scratch,
):  # fmt: skip
    """Replace `best_labels` by the most probable draw if that is more probable, by the first of equals.

    The draws are followed through the tree of prefixes together, and given up once their prefix is less probable than
    the best vector, or no more probable and drawn later.

    Parameters
    ----------
    known : int64 array of length L
        The class of each position if it is known, else -1.
    columns : ndarray of shape (L, S)
        Uniform numbers: draw s chooses the class of position k by ``columns[k, s]``.
    lowest, highest : ndarrays of shape (L,)
        Least and largest number of each row of `columns`.
    draws : int64 array
        The numbers 0..S-1 in any order; they are rearranged.
    best : float
        Log-probability of `best_labels`.
    best_draw : int
        Number of the draw that gave `best_labels`; -1 if it comes before all draws.

    Returns
    -------
    best, bound : float
        The log-probability of `best_labels`; no vector, drawn or not, has one above the bound.
    """
    partial, children, other, other_log, left_from, left_to, active, n_active_at, scores, path = scratch
    n_labels = len(n_classes)
    partial[0] = 0.0
    n_active_at[0] = 0
    top = 0
    first, last = 0, len(draws)
    bound = -np.inf
    # A prefix matters if it is more probable than this.
    limit = best - TIE if best_draw > 0 else best + TIE
    while True:
        # Down: the most probable class at each position, until a prefix cannot lead to a better vector.
        k = top
        while k < n_labels:
            n_active = n_active_at[k]
            if response[k] == SOFTMAX and n_classes[k] == 2:
                odds = log_odds(base_row, effects, score_start[k], active, n_active)
                children[k, 0], children[k, 1] = log_sigmoids(odds)
                chosen = 1 if odds > 0.0 else 0
                if known[k] >= 0:
                    chosen = known[k]
                    children[k, 1 - chosen] = -np.inf
                other[k] = 1 - chosen
                other_log[k] = partial[k] + children[k, 1 - chosen]
            else:
                expand(
                    base_row, effects, score_start, score_weight, response, n_classes,
                    k, active, n_active, known[k], scores, children[k],
                )  # fmt: skip
                chosen = known[k] if known[k] >= 0 else next_class(children[k], n_classes[k], -1)
                other[k] = next_class(children[k], n_classes[k], chosen)
                other_log[k] = partial[k] + children[k, other[k]] if other[k] >= 0 else -np.inf
            partial[k + 1] = partial[k] + children[k, chosen]
            if partial[k + 1] <= limit:
                break
            path[k] = chosen
            n_active_at[k + 1] = n_active
            if chosen > 0:
                active[n_active] = active_start[k] + chosen - 1
                n_active_at[k + 1] = n_active + 1
            k += 1
        complete = k == n_labels

        # Up: to the deepest class not tried yet that may lead to a better vector.
        deepest = k - 1
        while deepest >= 0 and other_log[deepest] <= limit:
            deepest -= 1
        # Split the draws only as far as needed: along the whole path if a complete vector asks who drew it.
        until = n_labels - 1 if complete else deepest
        j = top
        while j <= until and first < last:
            low, high = interval(children, j, n_classes[j], path[j])
            left_to[j] = last
            if not (low <= lowest[j] and highest[j] < high) and known[j] < 0:
                last = keep_within(draws, first, last, columns, j, low, high)
            left_from[j] = last
            j += 1
        if first == last:
            # Nobody drew the path up to position j - 1: all below it stays unseen.
            for d in range(j, until + 1):
                bound = max(bound, other_log[d])
            if complete:
                bound = max(bound, partial[n_labels])
            deepest = min(deepest, j - 1)
        elif complete:
            earliest = draws[first]
            for s in range(first + 1, last):
                earliest = min(earliest, draws[s])
            if partial[n_labels] > best + TIE or earliest < best_draw:
                best = partial[n_labels]
                best_draw = earliest
                limit = best - TIE if best_draw > 0 else best + TIE
                for d in range(n_labels):
                    best_labels[d] = path[d]

        # Across: to a class that somebody drew.
        while deepest >= 0:
            if other_log[deepest] <= limit:
                deepest -= 1
                continue
            chosen = other[deepest]
            value = other_log[deepest]
            first, last = left_from[deepest], left_to[deepest]
            if n_classes[deepest] == 2:
                other_log[deepest] = -np.inf
            else:
                low, high = interval(children, deepest, n_classes[deepest], chosen)
                last = keep_within(draws, first, last, columns, deepest, low, high)
                left_from[deepest] = last
                other[deepest] = next_class(children[deepest], n_classes[deepest], chosen)
                other_log[deepest] = -np.inf
                if other[deepest] >= 0:
                    other_log[deepest] = partial[deepest] + children[deepest, other[deepest]]
            if first < last:
                path[deepest] = chosen
                partial[deepest + 1] = value
                n_active = n_active_at[deepest]
                if chosen > 0:
                    active[n_active] = active_start[deepest] + chosen - 1
                    n_active += 1
                n_active_at[deepest + 1] = n_active
                break
            bound = max(bound, value)
        if deepest < 0:
            return best, max(bound, best)
        top = deepest + 1


@njit
def drawn_vectors(base, effects, score_start, score_weight, response, n_classes, active_start, given, uniforms):
    """Return the distinct vectors among the draws of each row, in lexicographic order.

    Takes what `best_of_draws` takes, without the start.

    Returns
    -------
    indptr : int64 ndarray of shape (n + 1,)
        The vectors of row i are ``labels[indptr[i]:indptr[i + 1]]``.
    labels : int32 ndarray of shape (m, L)
    counts : int64 ndarray of shape (m,)
        How many draws gave the vector.
    log_proba : ndarray of shape (m,)
        log p(y | x).
    log_weight : ndarray of shape (m,)
        The part of it that known classes contribute.
    """
    n_rows = base.shape[0]
    n_labels = n_classes.shape[0]
    columns = np.ascontiguousarray(uniforms.T)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    labels = np.empty(max(1, 4 * n_rows) * n_labels, dtype=np.int32)
    counts = np.empty(max(1, 4 * n_rows), dtype=np.int64)
    log_proba = np.empty(max(1, 4 * n_rows))
    log_weight = np.empty(max(1, 4 * n_rows))

    draws = np.arange(uniforms.shape[0])
    path = np.zeros(n_labels, dtype=np.int32)
    partial = np.zeros(n_labels + 1)
    weight = np.zeros(n_labels + 1)
    children = np.empty((n_labels, largest(n_classes)))
    left_from = np.zeros(n_labels, dtype=np.int64)
    left_to = np.zeros(n_labels, dtype=np.int64)
    active = np.empty(max(1, n_labels), dtype=np.int64)
    n_active_at = np.zeros(n_labels + 1, dtype=np.int64)
    scores = np.empty(widest(score_start))

    m = 0
    for i in range(n_rows):
        base_row = base[i]
        k = 0
        left_from[0] = 0
        left_to[0] = uniforms.shape[0]
        entered = True
        while k >= 0:
            known = given[i, k] if given.shape[0] > 0 else -1
            if entered:
                if response[k] == SOFTMAX and n_classes[k] == 2:
                    odds = log_odds(base_row, effects, score_start[k], active, n_active_at[k])
                    children[k, 0], children[k, 1] = log_sigmoids(odds)
                else:
                    expand(
                        base_row, effects, score_start, score_weight, response, n_classes,
                        k, active, n_active_at[k], known, scores, children[k],
                    )  # fmt: skip
                path[k] = -1
            # The next class that somebody drew, and its draws.
            first = left_from[k]
            last = first
            if known >= 0:
                path[k] = known
                last = left_to[k]
            while last == first:
                path[k] += 1
                if path[k] == n_classes[k] - 1:
                    last = left_to[k]
                else:
                    low, high = interval(children, k, n_classes[k], path[k])
                    last = keep_within(draws, first, left_to[k], columns, k, low, high)
            left_from[k] = last
            partial[k + 1] = partial[k] + children[k, path[k]]
            weight[k + 1] = weight[k] + (children[k, path[k]] if known >= 0 else 0.0)
            n_active_at[k + 1] = n_active_at[k]
            if path[k] > 0:
                active[n_active_at[k]] = active_start[k] + path[k] - 1
                n_active_at[k + 1] += 1
            if k < n_labels - 1:
                k += 1
                left_from[k] = first
                left_to[k] = last
                entered = True
                continue
            if m == len(counts):
                labels, counts, log_proba, log_weight = (
                    doubled(labels), doubled(counts), doubled(log_proba), doubled(log_weight),
                )  # fmt: skip
            labels[m * n_labels : (m + 1) * n_labels] = path
            counts[m] = last - first
            log_proba[m] = partial[n_labels]
            log_weight[m] = weight[n_labels]
            m += 1
            entered = False
            while k >= 0 and left_from[k] == left_to[k]:
                k -= 1
        indptr[i + 1] = m
    labels = labels[: m * n_labels].copy().reshape((m, n_labels))
    return indptr, labels, counts[:m].copy(), log_proba[:m].copy(), log_weight[:m].copy()


@njit(cache=False)
def interval(log_proba, k, n_classes, chosen):
    """Return the half-open interval of uniform numbers that draw class `chosen` at position `k`, as in `draw_class`."""
    low = 0.0
    for c in range(chosen):
        low += math.exp(log_proba[k, c])
    # The last class takes what rounding leaves.
    return low, low + math.exp(log_proba[k, chosen]) if chosen < n_classes - 1 else np.inf


@njit(cache=False)
def keep_within(draws, first, last, columns, k, low, high):
    """Move those of ``draws[first:last]`` whose number at position `k` is in [low, high) to the front.

    Returns where they end.
    """
    end = first
    for s in range(first, last):
        draw = draws[s]
        if low <= columns[k, draw] < high:
            draws[s] = draws[end]
            draws[end] = draw
            end += 1
    return end


@njit(cache=False)
def next_class(log_proba, n_classes, chosen):
    """Return the class that follows `chosen` from the most probable down, the first of equals first; -1 if none.

    After -1 comes the most probable class.
    """
    following = -1
    for c in range(n_classes):
        after = chosen < 0 or log_proba[c] < log_proba[chosen] or (log_proba[c] == log_proba[chosen] and c > chosen)
        if after and (following < 0 or log_proba[c] > log_proba[following]):
            following = c
    return following
