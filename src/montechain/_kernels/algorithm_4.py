"""Algorithm 4 of the paper: one random search through the label vectors of several chains.

The chains are stacked, see `montechain.population.base.StackedScores`: ``score_start[j]``, ``response[j]``,
``n_classes[j]`` and ``active_start[j]`` belong to chain j, and their score columns lie side by side. What is known and
what is returned is in the order of the labels.

Among the draws under one order only the best counts, and only if it is better than the vector held. So the draws are
followed through the tree of prefixes together, as in `montechain._kernels.monte_carlo`, and given up once their
prefix is no more probable than the best vector.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from montechain._kernels.conditional import SOFTMAX, expand, log_odds, log_sigmoids
from montechain._kernels.greedy import most_probable_class
from montechain._kernels.joint import draw_class
from montechain._kernels.monte_carlo import interval, keep_within, next_class


@njit(cache=True, nogil=True)
def algorithm_4(
    base,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    given,
    orders,
    chosen_orders,
    uniforms,
    start_greedy,
):
    """Return the label vectors, int32 of shape (n, L), at which Algorithm 4 ends.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.population.base.StackedScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes by label, -1 elsewhere; no rows if nothing is known.
    orders : int64 ndarray of shape (M, L)
        The label at each position of each chain.
    chosen_orders : int64 ndarray of shape (T,)
        The chain that is used in each step.
    uniforms : ndarray of shape (T, S, L)
        Uniform numbers in [0, 1): draw s of step t chooses the class of position k by ``uniforms[t, s, k]``.
    start_greedy : bool
        Whether the greedy vector under the first chosen order is the start; otherwise the first draw is.
    """
    n_rows = base.shape[0]
    n_labels = orders.shape[1]
    n_steps, n_samples = uniforms.shape[:2]
    columns = np.ascontiguousarray(uniforms.transpose((0, 2, 1)))
    lowest = np.empty((n_steps, n_labels))
    highest = np.empty((n_steps, n_labels))
    for t in range(n_steps):
        for k in range(n_labels):
            lowest[t, k] = columns[t, k].min()
            highest[t, k] = columns[t, k].max()
    labels = np.empty((n_rows, n_labels), dtype=np.int32)
    draws = np.arange(n_samples)
    known = np.full(n_labels, -1, dtype=np.int32)
    z = np.zeros(n_labels, dtype=np.int32)
    scratch = new_walk(score_start, n_classes)
    children, active, scores = scratch[1], scratch[6], scratch[8]

    for i in range(n_rows):
        base_row = base[i]
        for t in range(n_steps):
            j = chosen_orders[t]
            start, kind, sizes, first_active = score_start[j], response[j], n_classes[j], active_start[j]
            # Set z to the vector held, or to the start, in the positions of this chain; its log-probability under it.
            value = 0.0
            n_active = 0
            for k in range(n_labels):
                if given.shape[0] > 0:
                    known[k] = given[i, orders[j, k]]
                expand(
                    base_row, effects, start, score_weight, kind, sizes,
                    k, active, n_active, -1, scores, children[k],
                )  # fmt: skip
                if t > 0:
                    z[k] = labels[i, orders[j, k]]
                elif start_greedy or known[k] >= 0:
                    z[k] = most_probable_class(children[k], sizes[k], known[k])
                else:
                    z[k] = draw_class(children[k], sizes[k], columns[0, k, 0])
                value += children[k, z[k]]
                if z[k] > 0:
                    active[n_active] = first_active[k] + z[k] - 1
                    n_active += 1
            best_of_draws(
                base_row, effects, start, score_weight, kind, sizes, first_active, known,
                columns[t], lowest[t], highest[t], draws, value, z, scratch,
            )  # fmt: skip
            for k in range(n_labels):
                labels[i, orders[j, k]] = z[k]
    return labels


@njit(cache=True, nogil=True)
def new_walk(score_start, n_classes):
    """Return the arrays in which `best_of_draws` keeps its path, for the largest of the stacked chains."""
    n_labels = n_classes.shape[1]
    width = 1
    for j in range(score_start.shape[0]):
        for k in range(n_labels):
            width = max(width, score_start[j, k + 1] - score_start[j, k])
    return (
        np.zeros(n_labels + 1),
        np.empty((n_labels, max(1, n_classes.max()))),
        np.zeros(n_labels, dtype=np.int64),
        np.empty(n_labels),
        np.zeros(n_labels, dtype=np.int64),
        np.zeros(n_labels, dtype=np.int64),
        np.empty(max(1, n_labels), dtype=np.int64),
        np.zeros(n_labels + 1, dtype=np.int64),
        np.empty(width),
        np.zeros(n_labels, dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def best_of_draws(
    base_row,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    known,
    columns,
    lowest,
    highest,
    draws,
    best,
    best_labels,
    scratch,
):
    """Replace `best_labels` by the most probable draw if that is more probable; return its log-probability.

    Parameters
    ----------
    known : int32 array of length L
        The class of each position if it is known, else -1.
    columns : ndarray of shape (L, S)
        Uniform numbers: draw s chooses the class of position k by ``columns[k, s]``.
    lowest, highest : ndarrays of shape (L,)
        Least and largest number of each row of `columns`.
    draws : int64 array
        The numbers 0..S-1 in any order; they are rearranged.
    best : float
        Log-probability of `best_labels`.
    """
    partial, children, other, other_log, left_from, left_to, active, n_active_at, scores, path = scratch
    n_labels = len(n_classes)
    partial[0] = 0.0
    n_active_at[0] = 0
    top = 0
    first, last = 0, len(draws)
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
                chosen = most_probable_class(children[k], n_classes[k], known[k])
                other[k] = next_class(children[k], n_classes[k], chosen)
                other_log[k] = partial[k] + children[k, other[k]] if other[k] >= 0 else -np.inf
            partial[k + 1] = partial[k] + children[k, chosen]
            if partial[k + 1] <= best:
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
        while deepest >= 0 and other_log[deepest] <= best:
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
            # Nobody drew the path up to position j - 1, so nothing below it counts.
            deepest = min(deepest, j - 1)
        elif complete:
            best = partial[n_labels]
            best_labels[:] = path

        # Across: to a class that somebody drew.
        while deepest >= 0:
            if other_log[deepest] <= best:
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
        if deepest < 0:
            return best
        top = deepest + 1
