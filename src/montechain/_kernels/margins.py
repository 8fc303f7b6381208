"""Loops of the solver of logistic problems: sparse products, and the search along a direction.

The arrays of many problems are stacked: problem q owns the rows ``score_start[q]:score_start[q + 1]``
of every array of margins, one row for a binary problem (the log-odds of class 1), K rows for one with
K classes. Each row runs over all n observations.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

NARROW = 12
"""Up to so many columns are multiplied four at a time."""


@njit(cache=True, nogil=True)
def sparse_product(indptr, indices, data, right, out):
    """Write ``(left @ right).T`` to `out` (W, n); the left matrix is CSR with n rows, `right` is (F, W)."""
    if right.shape[1] <= NARROW:
        for first in range(0, right.shape[1], 4):
            _narrow_product(indptr, indices, data, right, first, out)
    else:
        _wide_product(indptr, indices, data, right, out)


@njit(cache=True, nogil=True)
def _narrow_product(indptr, indices, data, right, first, out):
    """Write four columns of the product, with their sums in registers; the last column again if there are fewer."""
    last = right.shape[1] - 1
    # Unsigned, so that nothing is looked for from the end.
    a, b = np.uint64(first), np.uint64(min(first + 1, last))
    c, d = np.uint64(min(first + 2, last)), np.uint64(min(first + 3, last))
    for i in range(indptr.shape[0] - 1):
        total_a = total_b = total_c = total_d = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            value, j = data[k], np.uint64(indices[k])
            total_a += value * right[j, a]
            total_b += value * right[j, b]
            total_c += value * right[j, c]
            total_d += value * right[j, d]
        out[a, i], out[b, i], out[c, i], out[d, i] = total_a, total_b, total_c, total_d


@njit(cache=True, nogil=True)
def _wide_product(indptr, indices, data, right, out):
    """Write all columns of the product, four entries at a time: sums go through memory once for all four."""
    width = right.shape[1]
    total = np.empty(width)
    for i in range(indptr.shape[0] - 1):
        total[:] = 0.0
        k, last = indptr[i], indptr[i + 1]
        while k + 3 < last:
            a, b = np.uint64(indices[k]), np.uint64(indices[k + 1])
            c, d = np.uint64(indices[k + 2]), np.uint64(indices[k + 3])
            for w in range(width):
                total[w] += (data[k] * right[a, w] + data[k + 1] * right[b, w]) + (
                    data[k + 2] * right[c, w] + data[k + 3] * right[d, w]
                )
            k += 4
        while k < last:
            a = np.uint64(indices[k])
            for w in range(width):
                total[w] += data[k] * right[a, w]
            k += 1
        for w in range(width):
            out[w, i] = total[w]


@njit(cache=True, nogil=True)
def sparse_gram(indptr, indices, data, sample_weight, out):
    """Add ``Z.T @ diag(sample_weight) @ Z`` to `out` (F, F); only entries with row >= column are written.

    The column indices of each row of Z must be sorted.
    """
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            value = data[k] * sample_weight[i]
            row = out[indices[k]]
            for j in range(indptr[i], k + 1):
                row[indices[j]] += value * data[j]


@njit(cache=True, nogil=True)
def _slope_of_binary(margin, change, step, target, sample_weight, class_weight, residual):
    """Return slope, curvature and total weight p (1 - p) of the loss at ``margin + step * change``."""
    slope = 0.0
    curvature = 0.0
    information = 0.0
    for i in range(margin.shape[0]):
        y = target[i]
        if y < 0:
            residual[i] = 0.0
            continue
        weight = sample_weight[i] * class_weight[y]
        score = margin[i] + step * change[i]
        small = math.exp(-abs(score))
        larger = 1.0 / (1.0 + small)
        proba = larger if score >= 0.0 else small * larger
        gap = weight * (proba - y)
        spread = weight * small * larger * larger
        residual[i] = gap
        slope += gap * change[i]
        curvature += spread * change[i] * change[i]
        information += spread
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
):
    """Find for each problem the step along its direction at which its objective is least.

    The objective is convex along the direction, so its slope is all that is looked at: Newton's method
    on it, kept inside the bracket of slopes of different signs.

    Parameters
    ----------
    margin, change : arrays of shape (W, n)
        Margins, and what a unit step adds to them. `margin` is updated to the point found.
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
    residual, information, step : arrays of shape (W, n), (W,) and (Q,)
        Written: gradient of the loss with respect to the margins, total weight of p (1 - p), and the
        step; a step of 0 says that none was found.
    """
    for q in range(target_row.shape[0]):
        first = score_start[q]
        last = score_start[q + 1]
        target = targets[target_row[q]]
        binary = last - first == 1
        step[q] = 0.0
        goal = accuracy * abs(start_slope[q])
        low = 0.0
        high = np.inf
        trial = 1.0 if start_slope[q] < 0.0 else 0.0
        for evaluation in range(max_evaluations + 1):
            if evaluation == max_evaluations:
                trial = low  # the best point known to be downhill all the way
            if binary:
                slope, curvature, information[first] = _slope_of_binary(
                    margin[first], change[first], trial, target, sample_weight, class_weight[q], residual[first]
                )
            else:
                slope, curvature = _slope_of_softmax(
                    margin[first:last],
                    change[first:last],
                    trial,
                    target,
                    sample_weight,
                    class_weight[q],
                    residual[first:last],
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
        if trial != 0.0:
            for w in range(first, last):
                for i in range(margin.shape[1]):
                    margin[w, i] += trial * change[w, i]


@njit(cache=True, nogil=True)
def two_loop_down(score_start, n_pairs, newest, steps, changes, inverse, direction, shares):
    """First half of the two-loop recursion of L-BFGS, on `direction` (W, F), in place.

    Pair p of problem q is ``steps[p]`` and ``changes[p]``, both (W, F), with
    ``inverse[p, q] = 1 / (step @ change)``, zero for a pair to leave out. `newest` is the pair stored
    last; the pairs form a ring. `shares` (pairs, Q) is written, for the second half.
    """
    capacity = steps.shape[0]
    for q in range(score_start.shape[0] - 1):
        first = score_start[q]
        last = score_start[q + 1]
        for age in range(n_pairs):
            p = (newest - age) % capacity
            share = 0.0
            if inverse[p, q] != 0.0:
                for w in range(first, last):
                    for f in range(direction.shape[1]):
                        share += steps[p, w, f] * direction[w, f]
                share *= inverse[p, q]
                for w in range(first, last):
                    for f in range(direction.shape[1]):
                        direction[w, f] -= share * changes[p, w, f]
            shares[p, q] = share


@njit(cache=True, nogil=True)
def two_loop_up(score_start, n_pairs, newest, steps, changes, inverse, direction, shares):
    """Second half of the two-loop recursion of L-BFGS, on `direction` (W, F), in place."""
    capacity = steps.shape[0]
    for q in range(score_start.shape[0] - 1):
        first = score_start[q]
        last = score_start[q + 1]
        for age in range(n_pairs - 1, -1, -1):
            p = (newest - age) % capacity
            if inverse[p, q] != 0.0:
                share = 0.0
                for w in range(first, last):
                    for f in range(direction.shape[1]):
                        share += changes[p, w, f] * direction[w, f]
                share = shares[p, q] - share * inverse[p, q]
                for w in range(first, last):
                    for f in range(direction.shape[1]):
                        direction[w, f] += share * steps[p, w, f]
