"""Depth-first search for the most probable label vector of a chain of binary labels.

The greedy vectors of eight rows are found side by side, one row in each lane. For most rows that is all: nothing that
the greedy vector left behind is more probable. In the others, the search goes on from vector to vector, not from node
to node. Each vector has a row with the log-odds of all labels, each given the vector's own classes before it. Another
vector, which differs from a label on, starts from a copy of that row; the effects of a label are added or taken away
where its class changes. So the exponentials of a whole line of labels are taken together, and a node costs two
multiplications and two comparisons.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.lanes import N_BYTES, any_of, exceed, load, multiply, multiply_add, ratios, shares, store
from montechain._kernels.ties import TIE

N_LANES = N_BYTES // 8
LANES = np.uint64(N_LANES)
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
    width = -(-n_labels // N_LANES) * N_LANES
    forward, odds, classes = np.zeros((3, n_labels, width))
    forward[:, :n_labels] = effects.T  # zero but for earlier labels
    # Of eight rows side by side, each label's log-odds, class, and the probability of the vector that leaves here.
    eight = np.zeros((3, n_labels, N_LANES))
    waiting = np.empty((2, n_labels * (n_labels + 1) // 2), dtype=np.uint64)
    value = np.empty(waiting.shape[1])
    _search_rows(
        base, given, max_nodes, labels, log_proba, upper_bound, nodes, complete, tied,
        forward, odds, classes, eight, np.zeros((3, N_LANES)), waiting, value,
    )  # fmt: skip
    return labels, log_proba, upper_bound, nodes, complete, tied


@njit(error_model="numpy")
def _search_rows(
    base, given, max_nodes, labels, log_proba, upper_bound, nodes, complete, tied,
    forward, odds, classes, eight, line_values, waiting, from_value,
):  # fmt: skip
    n_rows, n_labels = base.shape
    for start in range(0, n_rows, N_LANES):
        n_lanes = min(N_LANES, n_rows - start)
        greedy_of_eight(base, given, start, n_lanes, forward, eight, line_values)
        for lane in range(n_lanes):
            i = start + lane
            best = line_values[0, lane]
            if not best >= SMALLEST:
                nodes[i] = 0
                continue
            # The vectors that leave the greedy one and may be better wait; of the others, the most probable.
            limit = best * (1.0 + TIE)
            left = 0.0
            n_waiting = np.uint64(0)
            for k in range(n_labels):
                odds[0, k] = eight[0, k, lane]
                classes[0, k] = eight[1, k, lane]
                labels[i, k] = int(eight[1, k, lane])
                other = eight[2, k, lane]
                if other > limit:
                    waiting[0, n_waiting] = 0
                    waiting[1, n_waiting] = k
                    from_value[n_waiting] = other
                    n_waiting = n_waiting + ONE
                else:
                    left = max(left, other)
            if n_waiting == 0:
                log_proba[i] = upper_bound[i] = math.log(best)
                nodes[i], complete[i], tied[i] = n_labels, True, left >= best * (1.0 - TIE)
            else:
                log_proba[i], nodes[i], complete[i], upper_bound[i], tied[i] = improve(
                    i, given, max_nodes, labels, forward, odds, classes, line_values, waiting, from_value,
                    best, left, n_waiting,
                )  # fmt: skip


@njit(cache=False, error_model="numpy")
def greedy_of_eight(base, given, start, n_lanes, forward, eight, line_values):
    """Find the greedy vectors of up to eight rows, and write their probabilities to ``line_values[0]``."""
    n_labels = forward.shape[0]
    odds, classes, others = eight[0], eight[1], eight[2]
    for k in range(n_labels):
        for lane in range(n_lanes):
            odds[k, lane] = base[start + lane, k]
    line_values[0] = 1.0
    value = load(line_values, 0)
    for k in range(n_labels):
        its_odds = load(odds, k)
        its_class = exceed(its_odds, TIE)
        its_ratio = ratios(its_odds)
        its_share = shares(its_ratio)
        if given.shape[0] > 0:
            store(classes, k, its_class)
            store(line_values, 1, its_ratio)
            store(line_values, 2, its_share)
            for lane in range(n_lanes):
                known = given[start + lane, k]
                if known >= 0:
                    if known != classes[k, lane]:
                        line_values[2, lane] *= line_values[1, lane]
                    classes[k, lane] = known
                    line_values[1, lane] = 0.0
            its_class, its_ratio, its_share = load(classes, k), load(line_values, 1), load(line_values, 2)
        store(classes, k, its_class)
        value = multiply(value, its_share)
        store(others, k, multiply(value, its_ratio))
        if any_of(its_class):
            for j in range(k + 1, n_labels):
                store(odds, j, multiply_add(forward[k, j], its_class, load(odds, j)))
    store(line_values, 0, value)


@njit(cache=False, error_model="numpy")
def improve(
    row, given, max_nodes, found, forward, odds, classes, line_values, waiting, from_value, best, left, n_waiting
):  # fmt: skip
    """Search one row for a vector that is more probable than the greedy one, and write it to ``found[row]``.

    Level 0 of `odds` and `classes` is the greedy vector, `best` its probability, `left` that of the most probable
    vector given up so far. Returns the log-probability of the best vector, the number of nodes expanded, whether the
    search is complete, an upper bound on the log-probability of every vector, and whether another vector may be as
    probable.
    """
    n_labels, width = np.uint64(forward.shape[0]), np.uint64(forward.shape[1])
    n_lines = width // LANES
    has_knowledge = given.shape[0] > 0
    limit = best * (1.0 + TIE)
    nodes = forward.shape[0]
    while True:
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
            store(line_values, ONE, its_ratio)
            store(line_values, ONE + ONE, shares(its_ratio))
            while k < end:
                if nodes >= max_nodes:
                    bound = max(best, value)
                    for w in range(n_waiting):
                        bound = max(bound, from_value[w])
                    return math.log(best), nodes, False, math.log(bound), True
                nodes += 1
                lane = k - line * LANES
                value *= line_values[2, lane]
                other = value * line_values[1, lane]
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
        if is_open:
            best = value
            limit = best * (1.0 + TIE)
            for j in range(n_labels):
                found[row, j] = int(classes[level, j])
