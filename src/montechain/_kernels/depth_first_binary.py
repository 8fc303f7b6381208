"""Depth-first search for the most probable label vector of a chain of binary labels.

The greedy vectors of eight rows are found side by side, one row in each lane. For most rows that is all: nothing that
the greedy vector left behind is more probable. In the others, the search goes on from vector to vector, not from node
to node, eight labels at a time. A vector is described by what it changes in the greedy one: a list of a few labels,
whose effects on the log-odds of the next eight are added to those along the greedy vector. The exponentials of eight
labels are taken together, and so are the probabilities of the prefixes that end with each of them, and of the vectors
that leave there. Only vectors that may beat the best one found are handled one by one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from montechain._kernels import lanes
from montechain._kernels.compiling import inner, njit
from montechain._kernels.ties import TIE

N_LANES = lanes.N_BYTES // 8
LANES = np.uint64(N_LANES)
NOTHING, ONE = np.uint64(0), np.uint64(1)

SMALLEST = 1e-280
"""Below this probability, the search that works with logarithms takes over."""
CERTAIN = 1000.0
"""Log-odds of the labels that stand for the missing ones at the end of a line: their other class has no probability."""


def search_binary(base, effects, given, max_nodes):
    """Search all rows of a chain of binary labels, as `montechain._kernels.depth_first.search_depth_first` does.

    Rows whose probabilities would underflow are returned with zero nodes; their other results are not set.
    """
    n_rows, n_labels = base.shape
    labels = np.empty((n_rows, n_labels), dtype=np.int32)
    proba = np.empty((2, n_rows))
    nodes = np.empty(n_rows, dtype=np.int64)
    complete, tied = np.empty((2, n_rows), dtype=np.bool_)
    # A line may begin at any label, so rows go on for one more line after their last one.
    n_padded = -(-n_labels // N_LANES) * N_LANES
    width = n_padded + N_LANES
    forward = np.zeros((n_labels, width))  # what a label adds to the log-odds of those after it
    forward[:, :n_labels] = effects.T
    eight, rows = (table.copy() for table in _tables(n_labels, n_padded, width))
    # The changes that make up the vectors on the stack: label, the change before; sign, and probability while open.
    stack = np.empty((2, n_labels * (n_labels + 1) + 2), dtype=np.uint64)
    numbers = np.empty(stack.shape)
    _search_rows(
        base, given, max_nodes, labels, *proba, nodes, complete, tied,
        forward, eight, np.zeros((4, N_LANES)), rows, stack, numbers,
    )  # fmt: skip
    return labels, *np.log(proba), nodes, complete, tied


@lru_cache
def _tables(n_labels, n_padded, width):
    """Return scratch space for eight rows, in which labels that stand for missing ones are certain.

    Of eight greedy vectors side by side, each label's log-odds, class (0.0 or 1.0), and the probability of the vector
    that leaves here; then the same one by one, and 1.0 for known labels.
    """
    eight, rows = np.zeros((3, n_padded, N_LANES)), np.zeros((N_LANES, 4, width))
    for table in (eight.swapaxes(1, 2), rows.swapaxes(0, 1)):
        table[0, :, n_labels:], table[1, :, n_labels:] = CERTAIN, 1.0
    return eight, rows


@njit(error_model="numpy")
def _search_rows(
    base, given, max_nodes, labels, proba, bound, nodes, complete, tied,
    forward, eight, line_values, rows, stack, numbers,
):  # fmt: skip
    n_rows, n_labels = base.shape
    n_padded, width = eight.shape[1], forward.shape[1]
    for start in range(0, n_rows, N_LANES):
        n_lanes = min(N_LANES, n_rows - start)
        greedy_of_eight(base, given, start, n_lanes, forward, eight, line_values)
        # Nothing is better than most greedy vectors.
        limits = lanes.multiply_add(1.0 + TIE, lanes.load(line_values, 0), lanes.zeros_like(line_values))
        left, unsettled = lanes.zeros_like(line_values), NOTHING
        for k in range(n_labels):
            others = lanes.load(eight, 2 * n_padded + k)
            left = lanes.maximum(left, others)
            unsettled = unsettled | lanes.above(others, limits)
        lanes.store(line_values, 1, left)
        for table in range(3) if unsettled else range(1, 2):
            for k in range(0, n_labels, N_LANES):
                lanes.transpose(eight, (table * n_padded + k) * N_LANES, N_LANES, rows, table * width + k, 4 * width)
        for lane in range(n_lanes):
            i = start + lane
            best = line_values[0, lane]
            for k in range(n_labels):
                labels[i, k] = int(rows[lane, 1, k])
            if not best >= SMALLEST:
                proba[i] = bound[i] = 1.0
                nodes[i] = 0
            elif (unsettled >> np.uint64(lane)) & ONE:
                if given.shape[0] > 0:
                    for k in range(n_labels):
                        rows[lane, 3, k] = 1.0 if given[i, k] >= 0 else 0.0
                proba[i], nodes[i], complete[i], bound[i], tied[i] = improve(
                    i, labels, max_nodes, given.shape[0] > 0, forward, line_values, lane, rows, stack, numbers, best
                )
            else:
                proba[i] = bound[i] = best
                nodes[i], complete[i], tied[i] = n_labels, True, line_values[1, lane] >= best * (1.0 - TIE)


@inner(forceinline=True, error_model="numpy")
def greedy_of_eight(base, given, start, n_lanes, forward, eight, line_values):
    """Find the greedy vectors of up to eight rows, and write their probabilities to ``line_values[0]``."""
    n_labels = forward.shape[0]
    odds, classes, others = eight[0], eight[1], eight[2]
    for k in range(n_labels):
        for lane in range(n_lanes):
            odds[k, lane] = base[start + lane, k]
    line_values[0] = 1.0
    value = ones = lanes.load(line_values, 0)
    for k in range(n_labels):
        its_odds = lanes.load(odds, k)
        positive = lanes.above(its_odds, TIE)
        its_class = lanes.keep(ones, positive)
        its_ratio = lanes.ratios(its_odds)
        its_share = lanes.shares(its_ratio)
        if given.shape[0] > 0:
            lanes.store(classes, k, its_class)
            lanes.store(line_values, 1, its_ratio)
            lanes.store(line_values, 2, its_share)
            for lane in range(n_lanes):
                known = given[start + lane, k]
                if known >= 0:
                    if known != classes[k, lane]:
                        line_values[2, lane] *= line_values[1, lane]
                    classes[k, lane] = known
                    line_values[1, lane] = 0.0
            its_class = lanes.load(classes, k)
            its_ratio, its_share = lanes.load(line_values, 1), lanes.load(line_values, 2)
            positive = lanes.above(its_class, 0.5)
        lanes.store(classes, k, its_class)
        value = lanes.multiply(value, its_share)
        lanes.store(others, k, lanes.multiply(value, its_ratio))
        if positive:
            for j in range(k + 1, n_labels):
                lanes.store(odds, j, lanes.multiply_add(forward[k, j], its_class, lanes.load(odds, j)))
    lanes.store(line_values, 0, value)


@inner(forceinline=True, error_model="numpy")
def improve(i, found, max_nodes, has_knowledge, forward, line_values, lane, rows, stack, numbers, best):
    """Search row `i` for a vector that is more probable than the greedy one, and write it to `found`.

    ``rows[lane]`` describes the greedy vector, and `best` is its probability. Returns the probability of the best
    vector, the number of nodes expanded, whether the search is complete, an upper bound on the probability of every
    vector, and whether another vector may be as probable.
    """
    n_labels, width = np.uint64(forward.shape[0]), np.uint64(forward.shape[1])
    own = np.uint64(lane)
    odds_at = own * (width << (ONE + ONE))
    classes_at, others_at, known_at = odds_at + width, odds_at + width + width, odds_at + width + width + width
    nodes = forward.shape[0]
    limit = best * (1.0 + TIE)
    left, given_up = lanes.zeros_like(rows), 0.0
    size, numbers[1, 0] = ONE, 0.0  # the greedy vector is at the bottom
    place = NOTHING
    while place < n_labels:
        others = lanes.load_at(rows, others_at + place)
        better = lanes.above(others, limit)
        left = lanes.maximum(left, lanes.keep(others, ~better))
        while better != NOTHING:
            label = place + lanes.lowest_bit(better)
            better = better & (better - ONE)
            other, at = rows[own, 2, label], size
            if numbers[1, size - ONE] > other:  # the most probable one stays on top: it may shorten the rest
                at = size - ONE
                stack[0, size], numbers[0, size], numbers[1, size] = stack[0, at], numbers[0, at], numbers[1, at]
            stack[0, at], numbers[0, at], numbers[1, at] = label, 1.0 - 2.0 * rows[own, 1, label], other
            stack[1, size] = NOTHING
            size = size + ONE
        place = place + LANES
    while size > ONE:
        vector = size - ONE
        value = numbers[1, vector]
        if not value > limit:
            given_up = max(given_up, value)
            size = vector
            continue
        numbers[1, vector] = 0.0  # what is below it on the stack waits until all that follow from it are done
        place = stack[0, vector] + ONE
        while True:
            if place >= n_labels:
                best = value
                limit = best * (1.0 + TIE)
                for k in range(n_labels):
                    found[i, k] = int(rows[own, 1, k])
                while vector > NOTHING:
                    found[i, stack[0, vector]] += int(numbers[0, vector])
                    vector = stack[1, vector]
                break
            if nodes >= max_nodes:
                bound = max(best, value)
                for k in range(ONE, size):
                    bound = max(bound, numbers[1, k])
                return best, nodes, False, bound, True
            odds = lanes.load_at(rows, odds_at + place)
            at = vector
            while at > NOTHING:
                odds = lanes.multiply_add(numbers[0, at], lanes.load_at(forward, stack[0, at] * width + place), odds)
                at = stack[1, at]
            # Labels whose class is no longer that of the greedy vector are changes, too.
            classes = lanes.above(lanes.load_at(rows, classes_at + place), 0.5)
            known = lanes.above(lanes.load_at(rows, known_at + place), 0.5) if has_knowledge else NOTHING
            flips = lanes.above(odds, TIE) ^ classes
            ahead = flips & ~known
            while ahead != NOTHING:
                label = place + lanes.lowest_bit(ahead)
                sign = 1.0 - 2.0 * rows[own, 1, label]
                odds = lanes.multiply_add(sign, lanes.load_at(forward, label * width + place), odds)
                flips = lanes.above(odds, TIE) ^ classes
                ahead = flips & ~known & ~(ahead ^ (ahead - ONE))
            ratio = lanes.ratios(odds)
            n_passed = min(N_LANES, max_nodes - nodes)
            if n_passed < N_LANES:
                within = (ONE << np.uint64(n_passed)) - ONE
                ratio, flips = lanes.keep(ratio, within), flips & within
            share = lanes.shares(ratio)
            if known != NOTHING:
                share = lanes.add(
                    lanes.keep(share, ~(flips & known)), lanes.keep(lanes.multiply(share, ratio), flips & known)
                )
                ratio = lanes.keep(ratio, ~known)
                flips = flips & ~known
            values = lanes.running_products(value, share)
            others = lanes.multiply(values, ratio)
            better = lanes.above(others, limit)
            left = lanes.maximum(left, lanes.keep(others, ~better))
            lanes.store(line_values, 2, others)
            lanes.store(line_values, 3, values)
            value = line_values[3, N_LANES - 1]
            events = better | flips
            while events != NOTHING:
                bit = lanes.lowest_bit(events)
                events = events & (events - ONE)
                label = place + bit
                sign = 1.0 - 2.0 * rows[own, 1, label]
                is_flip = (flips >> bit) & ONE
                if (better >> bit) & ONE:
                    stack[0, size], stack[1, size] = label, vector
                    # At a flip, it is the other vector that has the greedy one's class.
                    numbers[0, size], numbers[1, size] = 0.0 if is_flip else sign, line_values[2, bit]
                    size = size + ONE
                if is_flip:
                    stack[0, size], stack[1, size] = label, vector
                    numbers[0, size], numbers[1, size] = sign, 0.0
                    vector = size
                    size = size + ONE
            if not value > limit:
                nodes += np.int64(lanes.lowest_bit(~lanes.above(values, limit))) + 1
                given_up = max(given_up, value)
                break
            n_passed = min(n_passed, np.int64(n_labels - place))
            nodes += n_passed
            place = place + np.uint64(n_passed)
    lanes.store(line_values, 2, left)
    for k in range(N_LANES):
        given_up = max(given_up, line_values[2, k])
    return best, nodes, True, best, given_up >= best * (1.0 - TIE)
