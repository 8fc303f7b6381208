"""L-BFGS for many problems at once: its memory of steps, and everything that is linear in the number of inputs.

Problem q owns the rows ``score_start[q]:score_start[q + 1]`` of the arrays (W, F) of the problems under way, and the
rows `rows` of the arrays of all problems; `inverse` has its entries at the first of them. The last columns belong to
parents, of which a problem has those `allowed`.
Steps and changes of the gradient are kept in single precision: they only shape the next direction.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit

SUMS = {"reassoc", "contract"}
"""Sums may be taken in any order, with fused multiplication and addition."""
RELATIVE = 1e-6
"""Predicted relative decrease of the objective at which a problem may count as solved."""


@njit(fastmath=SUMS)
def sweep(score_start, rows, n_iter, left, right, inverse, shares, upward, direction):
    """Apply one half of the two-loop recursion of L-BFGS to a float32 `direction` (W, F), in place.

    The first half takes the pairs from the newest to the oldest, with the steps on the `left` and the changes on the
    `right`, float32 of shape (pairs, all scores, F); the second half, `upward`, takes them in the opposite order with
    the two exchanged. `n_iter`, of shape (Q,), is the number of moves of each problem: its pairs form a ring, so that
    the last one says where the newest pair is. `inverse`, of shape (pairs, all scores), is ``1 / (step @ change)`` of
    each pair, zero for a pair to leave out. `shares`, of shape (pairs, Q), is written by the first half, for the
    second.
    """
    capacity, n_columns = left.shape[0], direction.shape[1]
    for q in range(score_start.shape[0] - 1):
        for place in range(capacity):
            age = capacity - 1 - place if upward else place
            p = (n_iter[q] - 1 - age) % capacity
            if inverse[p, rows[score_start[q]]] == 0.0:
                continue
            share = 0.0
            for w in range(score_start[q], score_start[q + 1]):
                row = rows[w]
                part = np.float32(0.0)
                for f in range(n_columns):
                    part += left[p, row, f] * direction[w, f]
                share += part
            share *= inverse[p, rows[score_start[q]]]
            factor = np.float32(shares[p, q] - share if upward else -share)
            shares[p, q] = share
            for w in range(score_start[q], score_start[q + 1]):
                row = rows[w]
                for f in range(n_columns):
                    direction[w, f] += factor * right[p, row, f]


@njit
def divide(direction, level, squares, penalty):
    """Divide the rows w of a float32 `direction` (W, F) by ``level[w] * squares + penalty``, in place."""
    for w in range(direction.shape[0]):
        for f in range(direction.shape[1]):
            direction[w, f] /= level[w] * squares[f] + penalty[f]


@njit(fastmath=SUMS, error_model="numpy")
def look_ahead(
    score_start, rows, direction, gradient, coefficients, penalty, information, weight, stuck, tol, rounding, stuck_at,
    out,
):  # fmt: skip
    """Write to `out` (5, Q) what is known along `direction` before any step; return whether a problem is solved.

    These are the slope, the largest entry of the gradient of the mean objective, slope and curvature of the penalty,
    and 1 if the problem is solved, else 0. Problem q has the total `weight[q]`; `penalty` (F,) has one entry for each
    column. Promised decreases of the mean objective up to `rounding`, or up to `stuck_at` where a problem is `stuck`,
    count as none.
    """
    any_solved = False
    for q in range(score_start.shape[0] - 1):
        slope = largest = penalty_slope = penalty_curvature = loss = 0.0
        for w in range(score_start[q], score_start[q + 1]):
            row = rows[w]
            # A row that is almost certain has about the loss p (1 - p); others have more.
            loss += information[row]
            for f in range(direction.shape[1]):
                change, place = direction[w, f], coefficients[row, f]
                slope += change * gradient[row, f]
                largest = max(largest, abs(gradient[row, f]))
                penalty_slope += penalty[f] * change * place
                penalty_curvature += penalty[f] * change * change
                loss += 0.5 * penalty[f] * place * place
        promised, norm = -slope / weight[q], largest / weight[q]
        # The promise keeps problems with inputs of tiny scale, or with separable classes, from ending at once: their
        # gradients are small, but the objective can still become a fraction of what it is.
        close = norm <= tol and promised <= min(tol, RELATIVE * loss / weight[q])
        solved = close or promised <= (stuck_at if stuck[q] else rounding)
        any_solved = any_solved or solved
        out[0, q], out[1, q], out[2, q], out[3, q], out[4, q] = slope, norm, penalty_slope, penalty_curvature, solved
    return any_solved


@njit(fastmath=SUMS, error_model="numpy")
def move(
    score_start, rows, n_iter, step, direction, new_gradient, penalty, allowed, coefficients, gradient, steps, changes,
    inverse,
):  # fmt: skip
    """Move each problem by its step along its direction; remember the step and the change of the gradient.

    `new_gradient` (W, F) is that of the loss at the new point. The penalty's part is added here, and what belongs to
    parents that are not allowed is cleared.
    """
    n_columns = direction.shape[1]
    first_parent = n_columns - allowed.shape[1]
    for q in range(score_start.shape[0] - 1):
        product, newest = 0.0, n_iter[q] % steps.shape[0]
        for w in range(score_start[q], score_start[q + 1]):
            row = rows[w]
            for j in range(first_parent, n_columns):
                new_gradient[w, j] *= allowed[row, j - first_parent]
            for f in range(n_columns):
                moved = step[q] * direction[w, f]
                coefficients[row, f] += moved
                new = new_gradient[w, f] + penalty[f] * coefficients[row, f]
                change = new - gradient[row, f]
                gradient[row, f] = new
                steps[newest, row, f] = moved
                changes[newest, row, f] = change
                product += moved * change
        inverse[newest, rows[score_start[q]]] = 1.0 / product if product > 0.0 else 0.0
