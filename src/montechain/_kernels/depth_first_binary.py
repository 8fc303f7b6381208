"""Depth-first search for the most probable label vector of a chain of binary labels, a line of labels at a time.

The search goes from vector to vector, not from node to node. Each vector has a row with the log-odds of all labels,
each given the vector's own classes before it. Another vector, which differs from a label on, starts from a copy of
that row; the effects of a label are added or taken away where its class changes. So the exponentials of a whole line
of labels are taken together, and a node costs two multiplications and two comparisons.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.lanes import N_BYTES, load, multiply_add, ratios, shares, store
from montechain._kernels.ties import TIE

LANES = np.uint64(N_BYTES // 8)
ONE = np.uint64(1)

SMALLEST = 1e-280
"""Probabilities below this are left to the search that works with logarithms."""


def search_binary(base, effects, given, max_nodes):
    """Search all rows of a chain of binary labels, as `montechain._kernels.depth_first.search_depth_first` does.

    Rows whose probabilities would underflow come back with zero nodes, and nothing else of them is set.
    """
    n_rows, n_labels = base.shape
    labels = np.empty((n_rows, n_labels), dtype=np.int32)
    log_proba, upper_bound = np.empty((2, n_rows))
    nodes = np.empty(n_rows, dtype=np.int64)
    complete, tied = np.empty((2, n_rows), dtype=np.bool_)
    # Rows of scratch space are padded to whole lines. What a label adds to the log-odds of those after it; of each
    # level of the search, the log-odds and the classes (0.0 or 1.0); the level, label and probability of the vectors
    # still to be followed.
    n_lanes = N_BYTES // 8
    width = -(-n_labels // n_lanes) * n_lanes
    forward, odds, classes = np.zeros((3, n_labels, width))
    forward[:, :n_labels] = effects.T  # zero but for earlier labels
    waiting = np.empty((2, n_labels * (n_labels + 1) // 2), dtype=np.uint64)
    value = np.empty(waiting.shape[1])
    _search_rows(
        base, given, max_nodes, labels, log_proba, upper_bound, nodes, complete, tied,
        forward, odds, classes, np.zeros((2, n_lanes)), waiting, value,
    )  # fmt: skip
    return labels, log_proba, upper_bound, nodes, complete, tied


@njit(error_model="numpy")
def _search_rows(
    base, given, max_nodes, labels, log_proba, upper_bound, nodes, complete, tied,
    forward, odds, classes, line_values, waiting, from_value,
):  # fmt: skip
    for i in range(base.shape[0]):
        log_proba[i], nodes[i], complete[i], upper_bound[i], tied[i] = depth_first_binary(
            i, base, given, max_nodes, labels, forward, odds, classes, line_values, waiting, from_value
        )


@njit(cache=False, error_model="numpy")
def depth_first_binary(
    row, base, given, max_nodes, found, forward, odds, classes, line_values, waiting, from_value
):  # fmt: skip
    """Search one row for its most probable vector, the most probable child first, and write it to ``found[row]``.

    Returns its log-probability, the number of nodes expanded, whether the search is complete, an upper bound on the
    log-probability of every vector, and whether another vector may be as probable. The budget ends the search only once
    a vector is found. Where probabilities would underflow, it gives up with zero nodes.
    """
    n_labels, width = np.uint64(forward.shape[0]), np.uint64(forward.shape[1])
    n_lines = width // LANES
    has_knowledge = given.shape[0] > 0
    for k in range(n_labels):
        odds[0, k] = base[row, k]
        classes[0, k] = 0.0
    best = 0.0
    # A vector that is to replace the best one must exceed this; the most that was left because it does not.
    limit = 0.0
    left = 0.0
    nodes = 0
    n_waiting = np.uint64(0)
    level = np.uint64(0)
    k = np.uint64(0)
    value = 1.0
    while True:
        # Along the vector of this level, until it is complete or cannot be better than the best one.
        is_open = True
        while is_open and k < n_labels:
            line = k // LANES
            end = min((line + ONE) * LANES, n_labels)
            for j in range(k, end):
                wanted = 1.0 if odds[level, j] > TIE else 0.0
                if has_knowledge and given[row, j] >= 0:
                    wanted = float(given[row, j])
                if wanted != classes[level, j]:
                    change = wanted - classes[level, j]
                    classes[level, j] = wanted
                    for other_line in range(line, n_lines):
                        at = level * n_lines + other_line
                        store(odds, at, multiply_add(change, load(forward, j * n_lines + other_line), load(odds, at)))
            # Of this line, the odds of the less probable classes and the probabilities of the more probable ones.
            its_ratio = ratios(load(odds, level * n_lines + line))
            store(line_values, np.uint64(0), its_ratio)
            store(line_values, ONE, shares(its_ratio))
            while k < end:
                if nodes >= max_nodes and best > 0.0:
                    bound = max(best, value)
                    for w in range(n_waiting):
                        bound = max(bound, from_value[w])
                    return math.log(best), nodes, False, math.log(bound), True
                nodes += 1
                lane = k - line * LANES
                value *= line_values[1, lane]
                other = value * line_values[0, lane]
                if has_knowledge and given[row, k] >= 0:
                    if (odds[level, k] > TIE) != (given[row, k] == 1):
                        value = other
                    other = 0.0
                if not value > limit:
                    left = max(left, value)
                    is_open = False
                    break
                if other > limit:
                    waiting[0, n_waiting] = level
                    waiting[1, n_waiting] = k
                    from_value[n_waiting] = other
                    n_waiting = n_waiting + ONE
                else:
                    left = max(left, other)
                k = k + ONE
            if best == 0.0 and not value >= SMALLEST:
                return -np.inf, 0, False, 0.0, True
        if is_open:
            best = value
            limit = best * (1.0 + TIE)
            for j in range(n_labels):
                found[row, j] = int(classes[level, j])
        # The vectors that wait longest belong to the lowest levels, so no row is overwritten that is still needed.
        while n_waiting > 0 and not from_value[n_waiting - ONE] > limit:
            n_waiting = n_waiting - ONE
            left = max(left, from_value[n_waiting])
        if n_waiting == 0:
            log_best = math.log(best)
            return log_best, nodes, True, log_best, left >= best * (1.0 - TIE)
        n_waiting = n_waiting - ONE
        above = waiting[0, n_waiting]
        label = waiting[1, n_waiting]
        value = from_value[n_waiting]
        level = above + ONE
        change = 1.0 - 2.0 * classes[above, label]
        for line in range(n_lines):
            store(classes, level * n_lines + line, load(classes, above * n_lines + line))
        for line in range(label // LANES, n_lines):
            its_odds = multiply_add(change, load(forward, label * n_lines + line), load(odds, above * n_lines + line))
            store(odds, level * n_lines + line, its_odds)
        classes[level, label] += change
        k = label + ONE
