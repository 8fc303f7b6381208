"""L-BFGS for many problems that are stacked: its memory of steps, and all that is linear in the number of inputs.

Problem q owns the rows ``score_start[q]:score_start[q + 1]`` of the arrays of the problems at hand (W, F), and the rows
`rows` of those of all problems. The first of the F columns is the intercept, the last ones belong to parents, of which
a problem has those that are `allowed`.
"""

from __future__ import annotations

from numba import njit

SUMS = {"reassoc", "contract"}
"""What loops that sum may do: take the terms in another order, and multiply and add at once."""


@njit(cache=True, nogil=True, fastmath=SUMS)
def _dot(left, right):
    total = left.dtype.type(0.0)
    for f in range(left.shape[0]):
        total += left[f] * right[f]
    return total


@njit(cache=True, nogil=True, fastmath=SUMS)
def _add_multiple(factor, addend, out):
    own_factor = out.dtype.type(factor)
    for f in range(out.shape[0]):
        out[f] += own_factor * addend[f]


@njit(cache=True, nogil=True)
def two_loop_down(score_start, rows, newest, steps, changes, inverse, direction, shares):
    """First half of the two-loop recursion of L-BFGS, on `direction` (W, F), in place.

    Pair p of problem q is ``steps[p, rows]`` and ``changes[p, rows]``, with ``inverse[p, q] = 1 / (step @ change)``,
    zero for a pair to leave out. `newest` is the pair stored last; the pairs form a ring. `shares` (pairs, Q) is
    written, for the second half.
    """
    capacity = steps.shape[0]
    for q in range(score_start.shape[0] - 1):
        first, last = score_start[q], score_start[q + 1]
        for age in range(capacity):
            p = (newest - age) % capacity
            share = 0.0
            if inverse[p, q] != 0.0:
                for w in range(first, last):
                    share += _dot(steps[p, rows[w]], direction[w])
                share *= inverse[p, q]
                for w in range(first, last):
                    _add_multiple(-share, changes[p, rows[w]], direction[w])
            shares[p, q] = share


@njit(cache=True, nogil=True)
def two_loop_up(score_start, rows, newest, steps, changes, inverse, direction, shares):
    """Second half of the two-loop recursion of L-BFGS, on `direction` (W, F), in place."""
    capacity = steps.shape[0]
    for q in range(score_start.shape[0] - 1):
        first, last = score_start[q], score_start[q + 1]
        for age in range(capacity - 1, -1, -1):
            p = (newest - age) % capacity
            if inverse[p, q] != 0.0:
                share = 0.0
                for w in range(first, last):
                    share += _dot(changes[p, rows[w]], direction[w])
                share = shares[p, q] - share * inverse[p, q]
                for w in range(first, last):
                    _add_multiple(share, steps[p, rows[w]], direction[w])


@njit(cache=True, nogil=True)
def centre(score_start, values):
    """Make the rows of each problem with more than two classes sum to zero, in place."""
    for q in range(score_start.shape[0] - 1):
        first, last = score_start[q], score_start[q + 1]
        if last - first > 1:
            for f in range(values.shape[1]):
                mean = values[first:last, f].mean()
                for w in range(first, last):
                    values[w, f] -= mean


@njit(cache=True, nogil=True)
def complete_direction(
    score_start, rows, newest, steps, changes, inverse, direction, shares, gradient, coefficients, penalty, ahead
):  # fmt: skip
    """Do what follows the preconditioner: centre, the second half of the recursion, and the look ahead."""
    # Gradients sum to zero over the classes; directions that do so too keep the coefficients as small as can be.
    centre(score_start, direction)
    two_loop_up(score_start, rows, newest, steps, changes, inverse, direction, shares)
    look_ahead(score_start, rows, direction, gradient, coefficients, penalty, ahead)


@njit(cache=True, nogil=True, fastmath=SUMS)
def look_ahead(score_start, rows, direction, gradient, coefficients, penalty, out):
    """Write to `out` (5, Q) what is known of the way along `direction` before any step.

    These are the slope, the largest entry of the gradient, slope and curvature of the penalty, and twice the penalty
    itself. `penalty` has one entry for each column.
    """
    out[:] = 0.0
    for q in range(score_start.shape[0] - 1):
        for w in range(score_start[q], score_start[q + 1]):
            row = rows[w]
            largest = gradient.dtype.type(0.0)
            slope, curvature, value = largest, largest, largest
            for f in range(direction.shape[1]):
                largest = max(largest, abs(gradient[row, f]))
                weighted = penalty[f] * direction[w, f]
                slope += weighted * coefficients[row, f]
                curvature += weighted * direction[w, f]
                value += penalty[f] * coefficients[row, f] * coefficients[row, f]
            out[0, q] += _dot(direction[w], gradient[row])
            out[1, q] = max(out[1, q], largest)
            out[2, q] += slope
            out[3, q] += curvature
            out[4, q] += value


@njit(cache=True, nogil=True)
def judge(ahead, loss, weight, stuck, n_iter, max_iter, tol, relative, rounding, stuck_at, solved, finished):
    """Write whether each problem is `solved`, and whether it is `finished`; return whether any is.

    `ahead` is that of `look_ahead`, and `loss` about the loss of each problem's rows, of total weight `weight`.
    """
    any_finished = False
    for q in range(weight.shape[0]):
        promised = -ahead[0, q] / weight[q]
        objective = (loss[q] + 0.5 * ahead[4, q]) / weight[q]
        # The promise keeps inputs of tiny scale, and classes that can be separated, from ending at once: all of their
        # gradients are small, but the objective can still become a fraction of what it is.
        close = max(ahead[1, q] / weight[q], promised) <= tol and promised <= relative * objective
        solved[q] = close or promised <= (stuck_at if stuck[q] else rounding)
        finished[q] = solved[q] or stuck[q] or n_iter[q] >= max_iter[q]
        any_finished = any_finished or finished[q]
    return any_finished


@njit(cache=True, nogil=True)
def penalise(rows, allowed, coefficients, penalty, gradient):
    """Add the penalty's part to the gradient (W, F) of the loss, and clear what belongs to parents not allowed."""
    n_columns = gradient.shape[1]
    n_parents = allowed.shape[1]
    for w in range(gradient.shape[0]):
        row = rows[w]
        for f in range(n_columns):
            gradient[w, f] += penalty[f] * coefficients[row, f]
        for j in range(n_parents):
            if not allowed[row, j]:
                gradient[w, n_columns - n_parents + j] = 0.0


@njit(cache=True, nogil=True)
def move(
    score_start, rows, step, direction, new_gradient, newest, coefficients, gradient, steps, changes, inverse, allowed,
    penalty,
):  # fmt: skip
    """Move each problem by its step along its direction, and remember the step and the change of the gradient.

    `new_gradient` (W, F) is that of the loss at the new point; the penalty's part is added here.
    """
    for q in range(score_start.shape[0] - 1):
        own_step = direction.dtype.type(step[q])
        for w in range(score_start[q], score_start[q + 1]):
            row = rows[w]
            for f in range(direction.shape[1]):
                moved = own_step * direction[w, f]
                coefficients[row, f] += moved
                steps[newest, row, f] = moved
    penalise(rows, allowed, coefficients, penalty, new_gradient)
    for q in range(score_start.shape[0] - 1):
        product = 0.0
        for w in range(score_start[q], score_start[q + 1]):
            row = rows[w]
            for f in range(direction.shape[1]):
                changes[newest, row, f] = new_gradient[w, f] - gradient[row, f]
                gradient[row, f] = new_gradient[w, f]
            product += _dot(steps[newest, row], changes[newest, row])
        inverse[newest, q] = 1.0 / product if product > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def divide_by_diagonal(direction, level, squares, penalty):
    """Divide `direction` (W, F) in place by the diagonal of ``level Z'Z + penalty``."""
    least = direction.dtype.type(1e-30)
    for w in range(direction.shape[0]):
        own = direction.dtype.type(level[w])
        for f in range(direction.shape[1]):
            direction[w, f] /= max(own * squares[f] + penalty[f], least)
