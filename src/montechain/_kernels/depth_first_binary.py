"""Depth-first search for the most probable label vector of a chain of binary labels, a line of labels at a time.

The search goes from vector to vector, not from node to node. Each vector has a row with the log-odds of all labels,
each given the vector's own classes before it. Another vector, which differs from a label on, starts from a copy of
that row; the effects of a label are added or taken away where its class changes. So the exponentials of a whole line
of labels are taken together, and a node costs two multiplications and two comparisons.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from montechain._kernels.lanes import N_BYTES, load, multiply_add, store
from montechain._kernels.sigmoids import ratios, shares
from montechain._kernels.ties import TIE

LANES = np.uint64(N_BYTES // 8)
ONE = np.uint64(1)

SMALLEST = 1e-280
"""Probabilities below this are left to the search that works with logarithms."""


@njit(cache=True, nogil=True)
def new_lines(effects):
    """Return what a label adds to the log-odds of those after it, one row per label, and scratch space.

    Rows are padded to whole lines. Of each level of the search there are rows with the log-odds and the classes (0.0 or
    1.0); of the line at hand, the odds of the less probable classes and the probabilities of the more probable ones.
    Then come the level, label and probability of the vectors still to be followed.
    """
    n_labels = len(effects)
    n_lanes = N_BYTES // 8
    width = (n_labels + n_lanes - 1) // n_lanes * n_lanes
    forward = np.zeros((n_labels, width))
    for j in range(n_labels):
        for k in range(j + 1, n_labels):
            forward[j, k] = effects[k, j]
    most = n_labels * (n_labels + 1) // 2
    return (
        forward,
        np.zeros((n_labels, width)),
        np.zeros((n_labels, width)),
        np.zeros(n_lanes),
        np.zeros(n_lanes),
        np.empty(most, dtype=np.uint64),
        np.empty(most, dtype=np.uint64),
        np.empty(most),
    )


@njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def depth_first_binary(base_row, known, max_nodes, found, lines):
    """Search one row for its most probable vector, the most probable child first.

    `known` is the row of known classes, or empty. Writes the vector to `found` and returns its log-probability, the
    number of nodes expanded, whether the search is complete, an upper bound on the log-probability of every vector, and
    whether another vector may be as probable. The budget ends the search only once a vector is found. Where
    probabilities would underflow, it gives up with zero nodes.
    """
    forward, odds, classes, ratio, share, from_level, from_label, from_value = lines
    n_labels, width = np.uint64(forward.shape[0]), np.uint64(forward.shape[1])
    n_lines = width // LANES
    has_knowledge = len(known) > 0
    for k in range(n_labels):
        odds[0, k] = base_row[k]
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
                if has_knowledge and known[j] >= 0:
                    wanted = float(known[j])
                if wanted != classes[level, j]:
                    change = wanted - classes[level, j]
                    classes[level, j] = wanted
                    for other_line in range(line, n_lines):
                        row = level * n_lines + other_line
                        store(odds, row, multiply_add(change, load(forward, j * n_lines + other_line), load(odds, row)))
            its_ratio = ratios(load(odds, level * n_lines + line))
            store(ratio, np.uint64(0), its_ratio)
            store(share, np.uint64(0), shares(its_ratio))
            while k < end:
                if nodes >= max_nodes and best > 0.0:
                    bound = max(best, value)
                    for w in range(n_waiting):
                        bound = max(bound, from_value[w])
                    return math.log(best), nodes, False, math.log(bound), True
                nodes += 1
                lane = k - line * LANES
                value *= share[lane]
                other = value * ratio[lane]
                if has_knowledge and known[k] >= 0:
                    if (odds[level, k] > TIE) != (known[k] == 1):
                        value = other
                    other = 0.0
                if not value > limit:
                    left = max(left, value)
                    is_open = False
                    break
                if other > limit:
                    from_level[n_waiting] = level
                    from_label[n_waiting] = k
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
                found[j] = int(classes[level, j])
        # The vectors that wait longest belong to the lowest levels, so no row is overwritten that is still needed.
        while n_waiting > 0 and not from_value[n_waiting - ONE] > limit:
            n_waiting = n_waiting - ONE
            left = max(left, from_value[n_waiting])
        if n_waiting == 0:
            log_best = math.log(best)
            return log_best, nodes, True, log_best, left >= best * (1.0 - TIE)
        n_waiting = n_waiting - ONE
        above = from_level[n_waiting]
        label = from_label[n_waiting]
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
