"""Marginals of a chain of binary labels within a proven distance, from few prefixes.

Prefixes are walked depth-first. Two things keep the walk short. A prefix of little weight is *cut off*: the labels
after it are taken as if their parents after the cut had their reference classes. And where a label deviates from its
reference class with little weight, the deviation is *overlooked*: the prefix keeps all its mass, as if it had not
deviated. What this changes is bounded, not ignored.

Let the true label vector and that of the walk be drawn with the same uniform numbers. At label k their log-odds
differ by the effects of those earlier labels whose true class is not the one that the walk assumed. So the
probability that label k is drawn differently is at most the sum of p(j is taken wrongly) * step[j, k] over the earlier
labels j, and no step of a sigmoid by e is larger than tanh(|e| / 4). A label is taken wrongly if its deviation
was overlooked, if it deviates after a cut, or if it was drawn differently. All of this is linear in the masses, so
one recursion over the labels bounds a whole row, from above and below.

The reference classes are those of the greedy vector. Each row is rewritten in terms of deviations from it: a
prefix that does not deviate at a label then keeps its log-odds.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.lanes import N_BYTES, add, load, multiply, multiply_add, sigmoids, store, whole_lines

LANES = N_BYTES // 8
"""Numbers per line; rows of scratch space are padded to whole lines."""
# Loops over part of a row are vectorised only if their counter is unsigned: a negative index would wrap around.
ONE = np.uint64(1)
ALIGNED = np.uint64(2**64 - LANES)

HIDDEN = -1e4
"""Log-odds of labels that a prefix has settled: their line is computed as a whole, and they must not count."""

FIRST_THRESHOLD = 0.15
"""Threshold of the first walk over a row, in units of the residual over the weight of its root. Chosen on real data
such that one walk is enough for nine rows of ten."""


def bounded_marginals(base, effects, given, residual, max_nodes):
    """Bound the probabilities of both classes of each label from both sides.

    `base` and `effects`, of shape (L, L), are those of `montechain.links.linear.LinearScores`, all labels being binary
    and their links logistic. Rows in which something is known, by `given` of shape (n, L) or (0, L), are left out. At
    most `max_nodes` prefixes are expanded per row.

    Returns `proba` and `lower`, of shape (n, 2 L), and `unresolved`, of shape (n, L): the probabilities are at least
    `lower` and at most ``lower + unresolved``; `proba` is the midpoint. Then, for each row, whether the bounds have a
    half-width of at most `residual`, and the number of nodes. Where they are wider, because something is known or the
    budget was too small, nothing is written.
    """
    n_rows, n_labels = base.shape
    width = -(-n_labels // LANES) * LANES
    settled, nodes = np.zeros(n_rows, dtype=np.bool_), np.zeros(n_rows, dtype=np.int64)
    low, high, sign = np.zeros((3, n_rows, n_labels))
    rows = np.arange(n_rows) if len(given) == 0 else np.flatnonzero((given < 0).all(axis=1))
    # What a label adds to those after it, one row per label; and the largest step of a sigmoid by that.
    forward, largest_step, deviation, step, after, odds, probabilities = whole_lines(7, n_labels, width)
    forward[:, :n_labels] = effects.T
    np.tanh(0.25 * np.abs(forward), out=largest_step)
    after[:] = np.arange(width) >= np.arange(n_labels)[:, None]
    waiting = np.empty((2, n_labels * (n_labels + 1) // 2), dtype=np.uint64)
    _bound_rows(
        base, rows, residual, max_nodes, forward, largest_step, deviation, step, after, odds, probabilities,
        whole_lines(14, width), waiting, np.empty(waiting.shape[1]), low, high, sign, settled, nodes,
    )  # fmt: skip
    # What is bounded is the probability of the class that is not the greedy one: a deviation from the second class is
    # the first one.
    is_first, lower, unresolved = sign > 0.0, np.empty((n_rows, n_labels, 2)), high - low
    lower[:, :, 1], lower[:, :, 0] = np.where(is_first, low, 1.0 - high), np.where(is_first, 1.0 - high, low)
    proba = lower + 0.5 * unresolved[:, :, None]
    return proba.reshape(n_rows, -1), lower.reshape(n_rows, -1), unresolved, settled, nodes


@njit(error_model="numpy", fastmath={"contract"})
def _bound_rows(
    base, rows, residual, max_nodes, forward, largest_step, deviation, step, after, odds, probabilities,
    vectors, waiting, from_mass, low, high, signs, settled, nodes,
):  # fmt: skip
    n_labels, width = forward.shape
    sign, lowest, highest, slope = vectors[0], vectors[1], vectors[2], vectors[3]
    exact, overlooked, middle, cut = vectors[4], vectors[5], vectors[6], vectors[7]
    up, down, up_before, down_before = vectors[8], vectors[9], vectors[10], vectors[11]
    own, weight = vectors[12], vectors[13]
    for index in range(rows.shape[0]):
        i = rows[index]
        for k in range(width):
            odds[0, k] = base[i, k] if k < n_labels else 0.0
        deviate(odds[0], sign, forward, largest_step, deviation, step, lowest, highest, slope)
        for line in range(width // LANES):
            store(probabilities, line, sigmoids(load(odds, line)))
        weigh(probabilities[0], deviation, step, own, weight)
        threshold = FIRST_THRESHOLD * residual / max(weight[0], 1e-300)
        spread = np.inf
        while spread > 2.0 * residual:
            if spread < np.inf:
                # The spread shrinks about as the threshold to the power of 0.6.
                threshold *= min(0.6, 0.7 * math.exp(1.67 * math.log(2.0 * residual / spread)))
            nodes[i] += cut_walk(
                deviation, own, weight, threshold, max_nodes - nodes[i],
                after, odds, probabilities, waiting, from_mass, exact, overlooked, middle, cut,
            )  # fmt: skip
            if nodes[i] > max_nodes:
                break
            spread = bound(deviation, step, lowest, highest, overlooked, middle, cut, up, down, up_before, down_before)
        settled[i] = spread <= 2.0 * residual
        if settled[i]:
            for k in range(n_labels):
                low[i, k] = max(exact[k] + middle[k] - down[k], 0.0)
                high[i, k] = min(exact[k] + middle[k] + up[k], 1.0) if up[k] + down[k] > 0.0 else low[i, k]
                signs[i, k] = sign[k]


@inner(error_model="numpy", fastmath={"contract"})
def deviate(odds, sign, forward, largest_step, deviation, step, lowest, highest, slope):
    """Write a row in terms of deviations from its greedy vector.

    `odds`, in place, become the log-odds of deviation where no earlier label deviates; `sign` is -1 where the greedy
    class is the second one; `deviation` is `forward` in these terms, and hides what comes before. `lowest` and
    `highest` are the extreme probabilities of deviation, whatever the earlier labels are; `step` bounds how much each
    earlier label can change that probability.
    """
    n_labels, width = np.uint64(forward.shape[0]), np.uint64(forward.shape[1])
    for j in range(n_labels):
        sign[j] = 1.0
        if odds[j] > 0.0:
            sign[j] = -1.0
            for k in range(j & ALIGNED, width):
                odds[k] += forward[j, k]
    for k in range(width):
        odds[k] *= sign[k]
        lowest[k] = odds[k]
        highest[k] = odds[k]
    for j in range(n_labels):
        own = sign[j]
        for k in range(j & ALIGNED, width):
            effect = own * sign[k] * forward[j, k]
            deviation[j, k] = effect if k > j else HIDDEN
            lowest[k] += min(effect, 0.0)
            highest[k] += max(effect, 0.0)
    for line in range(width // np.uint64(LANES)):
        store(lowest, line, sigmoids(load(lowest, line)))
        store(highest, line, sigmoids(load(highest, line)))
    for k in range(width):
        # The sigmoid is steepest where it is one half.
        steepest = min(highest[k], max(lowest[k], 0.5))
        slope[k] = steepest * (1.0 - steepest)
    for j in range(n_labels):
        for k in range(j & ALIGNED, width):
            step[j, k] = min(largest_step[j, k], slope[k] * abs(forward[j, k]))


@inner(error_model="numpy", fastmath={"reassoc", "contract"})
def weigh(proba, deviation, step, own, weight):
    """Write how much the bounds widen, all labels together, per unit of mass.

    `own` is what an overlooked deviation of each label adds, and `weight` what a cut at each depth adds. The latter
    holds for a prefix that does not deviate, and is what other prefixes are judged by as well.
    """
    n_labels, width = np.uint64(deviation.shape[0]), np.uint64(deviation.shape[1])
    after = 0.0
    for back in range(n_labels):
        j = n_labels - ONE - back
        total = 0.0
        for k in range(j & ALIGNED, width):
            total += step[j, k] * (1.0 + (own[k] if deviation[j, k] > 0.0 else 0.0))
        own[j] = total
        after += total * proba[j]
        weight[j] = after


@inner(error_model="numpy", fastmath={"contract"})
def cut_walk(
    deviation, own, weight, threshold, max_nodes, after, odds, proba, waiting, from_mass, exact, overlooked, middle, cut
):
    """Walk over the prefixes of one row, cut off or overlook what weighs at most `threshold`, and sum what is found.

    `after` is one for the labels from each depth on, zero for those before. `odds` and `proba` are the log-odds and the
    probabilities of deviation: a prefix that deviates for the n-th time has row n, which is shared by all prefixes that
    continue it without further deviation; row 0 is there already. `waiting` and `from_mass` have the level and label,
    and the mass, of deviations still to be followed.

    Sums go to `exact` and `overlooked`, the probability of deviation of each label in expanded prefixes, and the part
    of it that is overlooked; to `middle`, that in cut prefixes; and to `cut`, the mass cut off before each label.
    Returns the number of prefixes expanded. The sums are incomplete where it exceeds `max_nodes`.
    """
    n_labels, width = np.uint64(deviation.shape[0]), np.uint64(deviation.shape[1])
    n_lines = width // np.uint64(LANES)
    for k in range(width):
        exact[k] = 0.0
        overlooked[k] = 0.0
        middle[k] = 0.0
        cut[k] = 0.0
    level = np.uint64(0)
    depth = np.uint64(0)
    mass = 1.0
    n_waiting = np.uint64(0)
    nodes = 0
    while True:
        # At the last label the weight is zero: nothing follows that could be uncertain.
        while mass * weight[depth] > threshold:
            nodes += 1
            deviating = mass * proba[level, depth]
            exact[depth] += deviating
            label = depth
            depth = depth + ONE
            if deviating * own[label] <= threshold:
                overlooked[label] += deviating
                continue
            mass -= deviating
            if deviating * weight[depth] > threshold:
                waiting[0, n_waiting] = level
                waiting[1, n_waiting] = label
                from_mass[n_waiting] = deviating
                n_waiting = n_waiting + ONE
            else:
                cut[depth] += deviating
                for line in range(depth // np.uint64(LANES), n_lines):
                    its_odds = add(load(odds, level * n_lines + line), load(deviation, label * n_lines + line))
                    store(middle, line, multiply_add(deviating, sigmoids(its_odds), load(middle, line)))
        cut[depth] += mass
        for line in range(depth // np.uint64(LANES), n_lines):
            its_proba = multiply(load(after, depth * n_lines + line), load(proba, level * n_lines + line))
            store(middle, line, multiply_add(mass, its_proba, load(middle, line)))
        if n_waiting == 0 or nodes > max_nodes:
            break
        # Those that wait longest belong to the lowest levels, so no row is overwritten that is still needed.
        n_waiting = n_waiting - ONE
        above = waiting[0, n_waiting]
        label = waiting[1, n_waiting]
        mass = from_mass[n_waiting]
        level = above + ONE
        depth = label + ONE
        for line in range(depth // np.uint64(LANES), n_lines):
            its_odds = add(load(odds, above * n_lines + line), load(deviation, label * n_lines + line))
            store(odds, level * n_lines + line, its_odds)
            store(proba, level * n_lines + line, sigmoids(its_odds))
    reached = 0.0
    for k in range(n_labels):
        reached += cut[k]
        cut[k] = reached
        if reached == 0.0:  # what is hidden leaves a trace
            middle[k] = 0.0
    return nodes


@inner(error_model="numpy", fastmath={"contract"})
def bound(deviation, step, lowest, highest, overlooked, middle, cut, up, down, up_before, down_before):
    """Bound what the walk has taken wrongly; return the largest distance between the bounds.

    Writes to `up` and `down` how much the probability of deviation of each label may lie above and below what the walk
    has found, and to `up_before` and `down_before` how much of that can come from prefixes that were not cut
    before the label.
    """
    n_labels, width = np.uint64(deviation.shape[0]), np.uint64(deviation.shape[1])
    for k in range(width):
        up[k] = 0.0
        down[k] = 0.0
        up_before[k] = 0.0
        down_before[k] = 0.0
    spread = 0.0
    for j in range(n_labels):
        up[j] = min(up[j], max(cut[j] * highest[j] - middle[j], 0.0) + up_before[j])
        down[j] = min(down[j], max(middle[j] - cut[j] * lowest[j], 0.0) + down_before[j])
        spread = max(spread, up[j] + down[j])
        # It deviates although the walk assumed it does not, or the other way round (impossible after a cut).
        missed = overlooked[j] + middle[j] + up[j]
        missed_before = overlooked[j] + up_before[j]
        assumed = down_before[j]
        for k in range((j + ONE) & ALIGNED, width):
            is_up = deviation[j, k] > 0.0
            up[k] += step[j, k] * (missed if is_up else assumed)
            down[k] += step[j, k] * (assumed if is_up else missed)
            up_before[k] += step[j, k] * (missed_before if is_up else assumed)
            down_before[k] += step[j, k] * (assumed if is_up else missed_before)
    return spread
