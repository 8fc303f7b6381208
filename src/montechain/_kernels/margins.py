"""The search along a direction, for many logistic problems that are stacked.

Problem q owns the rows ``score_start[q]:score_start[q + 1]`` of every array of margins, one row for a binary problem
(the log-odds of class 1), K rows for one with K classes. Each row runs over all n observations. The arrays are float64
or float32; sums are float64, of pieces short enough for the arrays' own precision.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from montechain._kernels.elementary import exp_of_negative

PIECE = 1024
"""Observations whose terms are summed in the precision of the arrays."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _piece_of_binary(margin, change, step, target, sample_weight, class_weight, residual):
    """Return slope, curvature and total weight p (1 - p) of a piece, and write its residuals; without a branch."""
    one = margin.dtype.type(1.0)
    none = margin.dtype.type(0.0)
    of_negative, of_positive = class_weight[0], class_weight[1]
    slope = none
    curvature = none
    information = none
    for i in range(margin.shape[0]):
        positive = target[i] > 0
        weight = sample_weight[i] * (of_positive if positive else of_negative)
        weight = weight if target[i] >= 0 else none
        score = margin[i] + step * change[i]
        small = exp_of_negative(-abs(score))
        larger = one / (one + small)
        smaller = small * larger
        proba = larger if score >= none else smaller
        gap = weight * (proba - (one if positive else none))
        spread = weight * smaller * larger
        residual[i] = gap
        slope += gap * change[i]
        curvature += spread * change[i] * change[i]
        information += spread
    return slope, curvature, information


@njit(cache=True, nogil=True)
def _slope_of_binary(margin, change, step, target, sample_weight, class_weight, residual):
    """Return slope, curvature and total weight p (1 - p) of the loss at ``margin + step * change``."""
    slope = 0.0
    curvature = 0.0
    information = 0.0
    own_step = margin.dtype.type(step)
    for first in range(0, margin.shape[0], PIECE):
        piece = slice(first, min(first + PIECE, margin.shape[0]))
        own = _piece_of_binary(
            margin[piece], change[piece], own_step, target[piece], sample_weight[piece], class_weight, residual[piece]
        )
        slope += own[0]
        curvature += own[1]
        information += own[2]
    return slope, curvature, information


@njit(cache=True, nogil=True)
def _slope_of_softmax(margin, change, step, target, sample_weight, class_weight, residual, information):
    """Return slope and curvature of the loss; write to `information` the total weight p (1 - p) of each class."""
    n_classes = margin.shape[0]
    slope = 0.0
    curvature = 0.0
    information[:] = 0.0
    for i in range(margin.shape[1]):
        y = target[i]
        if y < 0:
            for c in range(n_classes):
                residual[c, i] = 0.0
            continue
        weight = sample_weight[i] * class_weight[y]
        largest = -np.inf
        for c in range(n_classes):
            score = margin[c, i] + step * change[c, i]
            residual[c, i] = score
            largest = max(largest, score)
        total = 0.0
        for c in range(n_classes):
            residual[c, i] = math.exp(residual[c, i] - largest)
            total += residual[c, i]
        first = 0.0
        second = 0.0
        for c in range(n_classes):
            proba = residual[c, i] / total
            first += proba * change[c, i]
            second += proba * change[c, i] * change[c, i]
            information[c] += weight * proba * (1.0 - proba)
            residual[c, i] = weight * proba
        residual[y, i] -= weight
        slope += weight * (first - change[y, i])
        curvature += weight * max(second - first * first, 0.0)
    return slope, curvature


@njit(cache=True, nogil=True)
def search_along(
    margin,
    change,
    score_start,
    targets,
    target_row,
    sample_weight,
    class_weight,
    start_slope,
    penalty_slope,
    penalty_curvature,
    accuracy,
    max_evaluations,
    residual,
    information,
    step,
    rows,
):
    """Find for each problem the step along its direction at which its objective is least.

    The objective is convex along the direction, so its slope is all that is looked at: Newton's method
    on it, kept inside the bracket of slopes of different signs.

    Parameters
    ----------
    margin : array of shape (all scores, n)
        Margins; updated to the point found.
    change : array of shape (W, n)
        What a unit step adds to the margins of the W scores at hand. Overwritten by the residuals: the gradient of the
        loss with respect to the margins.
    score_start : array of shape (Q + 1,)
    targets : int array of shape (L, n)
        Class of each observation; negative where the observation does not count.
    target_row : int array of shape (Q,)
        The row of `targets` that each problem is about.
    sample_weight, class_weight : arrays of shape (n,) and (Q, K)
    start_slope : array of shape (Q,)
        Slope of the whole objective at step 0. Problems where it is not negative do not move.
    penalty_slope, penalty_curvature : arrays of shape (Q,)
        The penalty adds ``penalty_slope + step * penalty_curvature`` to the slope.
    accuracy : float
        The slope accepted, as a share of `start_slope`.
    max_evaluations : int
    residual : array of shape (largest number of classes, n)
        Scratch space.
    information, step : arrays of shape (W,) and (Q,)
        Written: total weight of p (1 - p), and the step; a step of 0 says that none was found.
    rows : int array of shape (W,)
        The row of `margin` that belongs to each score; those of a problem are consecutive.
    """
    for q in range(target_row.shape[0]):
        first = score_start[q]
        last = score_start[q + 1]
        target = targets[target_row[q]]
        binary = last - first == 1
        step[q] = 0.0
        own = margin[rows[first] : rows[first] + last - first]
        goal = accuracy * abs(start_slope[q])
        low = 0.0
        high = np.inf
        trial = 1.0 if start_slope[q] < 0.0 else 0.0
        for evaluation in range(max_evaluations + 1):
            if evaluation == max_evaluations:
                trial = low  # the best point known to be downhill all the way
            if binary:
                slope, curvature, information[first] = _slope_of_binary(
                    own[0], change[first], trial, target, sample_weight, class_weight[q], residual[0]
                )
            else:
                slope, curvature = _slope_of_softmax(
                    own,
                    change[first:last],
                    trial,
                    target,
                    sample_weight,
                    class_weight[q],
                    residual[: last - first],
                    information[first:last],
                )
            if trial == 0.0 or evaluation == max_evaluations:
                break
            slope += penalty_slope[q] + trial * penalty_curvature[q]
            curvature += penalty_curvature[q]
            if -goal <= slope <= 0.0:
                break
            # A little beyond the minimum is as good, unless the slope had long been flat there: then the way
            # uphill may have been longer than the way down.
            if 0.0 < slope <= goal and curvature * trial >= 0.5 * abs(start_slope[q]):
                break
            if slope < 0.0:
                low = trial
            else:
                high = trial
            proposal = trial - slope / curvature if curvature > 0.0 else np.inf
            if high == np.inf:
                proposal = min(proposal, 10.0 * trial)
                trial = proposal if proposal > low else 10.0 * trial
            elif low < proposal < high:
                trial = proposal
            else:
                trial = 0.5 * (low + high)
        step[q] = trial
        own_step = margin.dtype.type(trial)
        for w in range(last - first):
            if trial != 0.0:
                for i in range(margin.shape[1]):
                    own[w, i] += own_step * change[first + w, i]
            for i in range(margin.shape[1]):
                change[first + w, i] = residual[w, i]
