"""The search along a direction, for many logistic problems at once.

The objective is convex along the direction, so its slope is all that matters: Newton's method on it, kept inside the
bracket of slopes of different signs. Two kernels share this: one for problems with two classes, whose one row of
margins holds the log-odds of class 1, and one for problems with K classes and K rows. Margins are float64, or float32
for large problems with two classes; sums are float64, of pieces short enough for single precision.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.elementary import exp_of_negative

ACCURACY = 0.1
"""Slope at which a line search may stop, as a share of the initial slope."""
MAX_EVALUATIONS = 40
"""Number of evaluations after which a line search settles for the best point known to be downhill all the way."""

PIECE = 1024
"""Observations whose terms are summed in the precision of the margins."""


@inner(error_model="numpy")
def next_step(trial, low, high, slope, curvature, first_slope, accuracy):
    """Return the next step to try and the bracket; the same step again if it will do."""
    goal = accuracy * abs(first_slope)
    if -goal <= slope <= 0.0:
        return trial, low, high
    # A little beyond the minimum is as good, unless the slope had long been flat there: then the way uphill may have
    # been longer than the way down.
    if 0.0 < slope <= goal and curvature * trial >= 0.5 * abs(first_slope):
        return trial, low, high
    if slope < 0.0:
        low = trial
    else:
        high = trial
    proposal = trial - slope / curvature if curvature > 0.0 else np.inf
    if high == np.inf:
        proposal = min(proposal, 10.0 * trial)
        return (proposal if proposal > low else 10.0 * trial), low, high
    return (proposal if low < proposal < high else 0.5 * (low + high)), low, high


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def search_binary(
    problems, score_start, rows, targets, target_row, sample_weight, class_weight, ahead, accuracy, residual, margin,
    change, information, step,
):  # fmt: skip
    """Find for each of some problems with two classes the step along its direction at which its objective is least.

    `problems` are those of the Q problems under way to search. `rows` has the row of `margin` that belongs to each
    score; those of a problem are consecutive, and begin at `score_start`. `targets`, int32 of shape (T, n), has the
    class of each observation, negative where it does not count; each problem is about the row `target_row` of it.
    `sample_weight` and `class_weight` are of shape (n,) and (Q, K). `ahead`, of shape (5, Q), is that of `look_ahead`;
    problems whose slope is not negative do not move. `accuracy` is the slope accepted, as a share of the first slope.
    `residual`, of shape (largest K, n), is scratch space.

    `margin`, of shape (all scores, n), is updated to the point found. `change`, of shape (W, n), is what a unit step
    adds to the margins, and is overwritten by the gradient of the loss with respect to the margins. `information`, the
    total weight of p (1 - p), and `step` are written; a step of 0 says that none was found.
    """
    n_rows = margin.shape[1]
    zero, one = margin.dtype.type(0.0), margin.dtype.type(1.0)
    for q in problems:
        first, row, target = score_start[q], rows[score_start[q]], target_row[q]
        of_negative, of_positive = class_weight[q, 0], class_weight[q, 1]
        low, high = 0.0, np.inf
        trial = 1.0 if ahead[0, q] < 0.0 else 0.0
        for evaluation in range(MAX_EVALUATIONS + 1):
            trial = low if evaluation == MAX_EVALUATIONS else trial
            own_trial = margin.dtype.type(trial)
            slope = curvature = total = 0.0
            for top in range(0, n_rows, PIECE):
                part_slope = part_curvature = part_total = zero
                # Without a branch, not even one for negative indices, so that it is vectorised.
                for i in range(np.uint64(top), np.uint64(min(top + PIECE, n_rows))):
                    positive = targets[target, i] > 0
                    weight = sample_weight[i] * (of_positive if positive else of_negative)
                    weight = weight if targets[target, i] >= 0 else zero
                    score = margin[row, i] + own_trial * change[first, i]
                    small = exp_of_negative(-abs(score))
                    larger = one / (one + small)
                    smaller = small * larger
                    proba = larger if score >= zero else smaller
                    gap = weight * (proba - (one if positive else zero))
                    spread = weight * smaller * larger
                    residual[0, i] = gap
                    part_slope += gap * change[first, i]
                    part_curvature += spread * change[first, i] * change[first, i]
                    part_total += spread
                slope, curvature, total = slope + part_slope, curvature + part_curvature, total + part_total
            if trial == 0.0 or evaluation == MAX_EVALUATIONS:
                break
            slope, curvature = slope + ahead[2, q] + trial * ahead[3, q], curvature + ahead[3, q]
            before = trial
            trial, low, high = next_step(trial, low, high, slope, curvature, ahead[0, q], accuracy)
            if trial == before:
                break
        information[row], step[q] = total, trial
        own_trial = margin.dtype.type(trial)
        for i in range(n_rows):
            margin[row, i] += own_trial * change[first, i]
            change[first, i] = residual[0, i]


@njit(error_model="numpy")
def search_softmax(
    problems, score_start, rows, targets, target_row, sample_weight, class_weight, ahead, accuracy, residual, margin,
    change, information, step,
):  # fmt: skip
    """Do the same for problems with more than two classes; the parameters are those of `search_binary`."""
    for q in problems:
        first, n_classes = score_start[q], score_start[q + 1] - score_start[q]
        row, target = rows[first], target_row[q]
        low, high = 0.0, np.inf
        trial = 1.0 if ahead[0, q] < 0.0 else 0.0
        for evaluation in range(MAX_EVALUATIONS + 1):
            trial = low if evaluation == MAX_EVALUATIONS else trial
            slope = curvature = 0.0
            information[row : row + n_classes] = 0.0
            for i in range(margin.shape[1]):
                y = targets[target, i]
                largest = -np.inf
                for c in range(n_classes):
                    residual[c, i] = margin[row + c, i] + trial * change[first + c, i]
                    largest = max(largest, residual[c, i])
                total = 0.0
                for c in range(n_classes):
                    residual[c, i] = math.exp(residual[c, i] - largest)
                    total += residual[c, i]
                weight = sample_weight[i] * class_weight[q, y] if y >= 0 else 0.0
                mean = square = 0.0
                for c in range(n_classes):
                    proba = residual[c, i] / total
                    mean += proba * change[first + c, i]
                    square += proba * change[first + c, i] * change[first + c, i]
                    information[row + c] += weight * proba * (1.0 - proba)
                    residual[c, i] = weight * proba
                if y >= 0:
                    residual[y, i] -= weight
                    slope += weight * (mean - change[first + y, i])
                    curvature += weight * max(square - mean * mean, 0.0)
            if trial == 0.0 or evaluation == MAX_EVALUATIONS:
                break
            slope, curvature = slope + ahead[2, q] + trial * ahead[3, q], curvature + ahead[3, q]
            before = trial
            trial, low, high = next_step(trial, low, high, slope, curvature, ahead[0, q], accuracy)
            if trial == before:
                break
        step[q] = trial
        for c in range(n_classes):
            for i in range(margin.shape[1]):
                margin[row + c, i] += trial * change[first + c, i]
                change[first + c, i] = residual[c, i]
