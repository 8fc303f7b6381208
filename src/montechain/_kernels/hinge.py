"""The linear support vector machine in the dual, with an unpenalised intercept.

Coordinate descent comes near the solution in a few sweeps, and then needs thousands more: the variables that end
strictly between their bounds have to agree with each other, and it moves one at a time. So once the sweeps have cost
as much as that will, an active set takes over. Its members are variables between their bounds whose conditions hold
exactly; whichever variable violates its own condition is moved while the members (and the intercept) move along, such
that theirs keep holding, until it is a member itself or some variable has come to a bound.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit

SWEEPS_BETWEEN_LOOKS = 10
"""After so many sweeps it is asked whether the active set shall take over."""
COST_OF_ENTRY = 0.2
"""Time that a variable takes to enter an active set of m members, divided by m², in terms of an entry of z in a
sweep."""
PATIENCE = 4.0
"""Factor by which the sweeps before an active set become more if the one before it did not do."""
LARGEST_SET = 2000
"""Members for which there is memory: the square of this many numbers."""
ENTRIES_PER_VARIABLE = 20
"""So many times the number of free variables (and a hundred more) are tried before the active set gives up."""
MAX_PASSES = 100
"""Passes over all variables after which it gives up."""
STRICTNESS = 0.1
"""Share of `tol` that an active set leaves of a violation, so that the sweep that judges it finds nothing to do."""
DEPENDENT = 1e-9
"""Curvature, relative to that of the variable alone, below which it depends linearly on the members."""


@njit(cache=False)
def _shuffle(order, n, state):
    """Shuffle ``order[:n]`` in place (Fisher and Yates) by a generator of its own; return its next state."""
    for i in range(n - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return state


# The sum may be taken in any order, so that several entries are added at a time.
@njit(cache=False, fastmath={"reassoc", "contract", "nsz"})
def _dense_product(row, w):
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] * w[k]
    return total


@njit(cache=False)
def _product(start, columns, values, i, w):
    if columns.shape[0] == 0:
        return _dense_product(values[start[i] : start[i + 1]], w)
    total = 0.0
    for k in range(start[i], start[i + 1]):
        total += values[k] * w[columns[k]]
    return total


@njit(cache=False)
def _add(start, columns, values, i, factor, w):
    if columns.shape[0] == 0:
        row = values[start[i] : start[i + 1]]
        for k in range(row.shape[0]):
            w[k] += factor * row[k]
        return
    for k in range(start[i], start[i + 1]):
        w[columns[k]] += factor * values[k]


@njit(cache=False)
def _move(start, columns, values, signs, bounds, dual, i, value, w):
    """Set a variable, as far as its bounds allow, and let `w` follow."""
    before = dual[i]
    dual[i] = min(max(value, 0.0), bounds[i])
    if dual[i] != before:
        _add(start, columns, values, i, (dual[i] - before) * signs[i], w)


@njit(cache=False)
def _balance(signs, dual):
    total = 0.0
    for i in range(dual.shape[0]):
        total += signs[i] * dual[i]
    return total


@njit(cache=False)
def _respond(inverse, m, column, response):
    """Write to `response` how intercept and members have to move: ``-inverse @ column``."""
    for a in range(m + 1):
        response[a] = 0.0
    for c in range(m + 1):
        factor = column[c]
        if factor != 0.0:
            row = inverse[c]
            for a in range(m + 1):
                response[a] -= factor * row[a]


@njit(cache=False)
def _include(inverse, m, response, curvature):
    """Add a row and a column to the inverse for a new member, given how the others respond to it."""
    for a in range(m + 1):
        factor = response[a] / curvature
        row = inverse[a]
        for c in range(m + 1):
            row[c] += factor * response[c]
        row[m + 1] = factor
        inverse[m + 1, a] = factor
    inverse[m + 1, m + 1] = 1.0 / curvature


@njit(cache=False)
def _exclude(inverse, m, members, inside, a):
    """Take out member `a` (the last one comes to its place); return how many are left.

    Should the pivot be lost to rounding, all of them are taken out: they will enter again.
    """
    k = a + 1
    pivot = inverse[k, k]
    if m == 1 or not pivot > 0.0:
        for c in range(m):
            inside[members[c]] = False
        return np.int64(0)  # a bare 0 would be another type, and compile the callers twice
    column = np.empty(m + 1)
    for c in range(m + 1):
        column[c] = inverse[k, c]
    for r in range(m + 1):
        if r != k:
            factor = column[r] / pivot
            row = inverse[r]
            for c in range(m + 1):
                row[c] -= factor * column[c]
    for c in range(m + 1):
        inverse[k, c] = inverse[m, c]
    for r in range(m + 1):
        inverse[r, k] = inverse[r, m]
    inverse[k, k] = inverse[m, m]
    inside[members[a]] = False
    members[a] = members[m - 1]
    return m - 1


@njit(cache=False)
def _first_bound(bounds, dual, members, m, response, way, step):
    """Return the length of the way until a member comes to a bound, if less than `step`, and which one (or -1)."""
    blocking = -1
    for a in range(m):
        i = members[a]
        move = way * response[a + 1]
        room = bounds[i] - dual[i] if move > 0.0 else dual[i]
        if abs(move) > 1e-13 and room < step * abs(move):
            step = room / abs(move)
            blocking = a
    return step, blocking


@njit(cache=False)
def _follow(start, columns, values, signs, bounds, dual, w, members, m, response, way, step, blocking):
    """Move all members; the blocking one exactly to its bound."""
    for a in range(m):
        i = members[a]
        target = dual[i] + way * step * response[a + 1]
        if a == blocking:
            target = bounds[i] if way * response[a + 1] > 0.0 else 0.0
        _move(start, columns, values, signs, bounds, dual, i, target, w)


@njit(cache=False)
def _correct(
    start, columns, values, signs, bounds, dual, w, intercept, inverse, members, inside, m, tol, column, response
):
    """Make the conditions of the members, and the balance of all variables, hold up to rounding.

    Returns the intercept, the number of members left, and what remains of the violations.
    """
    blocking = 0
    while m > 0:
        column[0] = _balance(signs, dual)
        largest = abs(column[0])
        for a in range(m):
            i = members[a]
            column[a + 1] = signs[i] * (_product(start, columns, values, i, w) + intercept) - 1.0
            largest = max(largest, abs(column[a + 1]))
        if largest <= 0.1 * tol:
            return intercept, m, largest
        if blocking < 0:  # the full step did not do: the inverse is spoilt
            if largest > tol:
                for a in range(m):
                    inside[members[a]] = False
                m = np.int64(0)
            return intercept, m, largest
        _respond(inverse, m, column, response)
        step, blocking = _first_bound(bounds, dual, members, m, response, 1.0, 1.0)
        _follow(start, columns, values, signs, bounds, dual, w, members, m, response, 1.0, step, blocking)
        intercept += step * response[0]
        if blocking >= 0:
            m = _exclude(inverse, m, members, inside, blocking)
    return intercept, m, 0.0


@njit(cache=False)
def _finish(start, columns, values, signs, bounds, diagonal, tol, capacity, max_entries, dual, w, intercept):
    """Move the dual variables by an active set until none violates its condition by more than `tol`; see above.

    Gives up after `max_entries`, or if the set outgrows `capacity`. `dual` and `w` are updated in place; returns the
    intercept.
    """
    n = signs.shape[0]
    # Inverse of [[0, s'], [s, Q]] for the members, s their signs and Q the products s_i s_j z_i @ z_j.
    inverse = np.empty((capacity + 1, capacity + 1))
    members = np.empty(capacity, np.int64)
    inside = np.zeros(n, np.bool_)
    m = np.int64(0)
    column = np.empty(capacity + 1)
    response = np.empty(capacity + 1)
    own = np.zeros(w.shape[0])
    n_entries = 0
    for _ in range(MAX_PASSES):
        intercept, m, worst = _correct(
            start, columns, values, signs, bounds, dual, w, intercept, inverse, members, inside, m, tol, column,
            response,
        )  # fmt: skip
        for s in range(2 * n):
            i = s % n
            if inside[i]:
                continue
            free = 0.0 < dual[i] < bounds[i]
            if s < n and not free:
                continue  # first those between their bounds, then all
            gradient = signs[i] * (_product(start, columns, values, i, w) + intercept) - 1.0
            if not free and (gradient >= 0.0) == (dual[i] <= 0.0):
                continue
            if abs(gradient) <= tol:
                continue
            worst = max(worst, abs(gradient))
            _add(start, columns, values, i, signs[i], own)
            while True:
                n_entries += 1
                if n_entries > max_entries or m == capacity:
                    return intercept
                gradient = signs[i] * (_product(start, columns, values, i, w) + intercept) - 1.0
                if m == 0:
                    # A lone member cannot move, for the balance: only the intercept can.
                    intercept -= signs[i] * gradient
                    inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = -diagonal[i], signs[i], signs[i], 0.0
                    members[0] = i
                    inside[i] = True
                    m = 1
                    break
                column[0] = signs[i]
                for a in range(m):
                    j = members[a]
                    column[a + 1] = signs[j] * _product(start, columns, values, j, own)
                _respond(inverse, m, column, response)
                curvature = diagonal[i]
                for a in range(m + 1):
                    curvature += column[a] * response[a]
                independent = curvature > DEPENDENT * (1.0 + diagonal[i])
                way = -1.0 if gradient > 0.0 else 1.0
                room = bounds[i] - dual[i] if way > 0.0 else dual[i]
                step = room
                arrives = False
                if independent and abs(gradient) < room * curvature:
                    step = abs(gradient) / curvature
                    arrives = True
                step, blocking = _first_bound(bounds, dual, members, m, response, way, step)
                _follow(start, columns, values, signs, bounds, dual, w, members, m, response, way, step, blocking)
                intercept += way * step * response[0]
                target = dual[i] + way * step
                if blocking < 0 and not arrives:
                    target = bounds[i] if way > 0.0 else 0.0
                _move(start, columns, values, signs, bounds, dual, i, target, w)
                if blocking >= 0:
                    m = _exclude(inverse, m, members, inside, blocking)
                    continue
                if arrives:
                    _include(inverse, m, response, curvature)
                    members[m] = i
                    inside[i] = True
                    m += 1
                break
            for k in range(own.shape[0]):
                own[k] = 0.0
        if worst <= tol:
            break
    return intercept


@njit(cache=False)
def _n_free(bounds, dual):
    count = 0
    for i in range(dual.shape[0]):
        if 0.0 < dual[i] < bounds[i]:
            count += 1
    return count


@njit
def fit_hinge(start, columns, values, signs, bounds, proximity, tol, max_epochs, capacity, w, dual):
    """Minimise ``1/2 ||w||² + sum_i bounds_i * max(0, 1 - signs_i * (z_i @ w + intercept))``.

    Dual coordinate descent (Hsieh et al. 2008) with shrinking solves for w. The intercept has no penalty: it is held
    near its last value by a quadratic term, which is moved along after every sweep (the proximal point method),
    until it pulls no more. An active set shortens the way; whatever it has done, a sweep over all observations says
    whether the solution is found.

    Parameters
    ----------
    start, columns, values : int64, int32 and float64 arrays
        The inputs z of m observations as CSR. If `columns` is empty, all entries are there, row by row.
    signs, bounds : arrays of shape (m,)
        The classes of the observations as -1.0 and 1.0, and C times their weights.
    proximity : float
        Square of the factor of the intercept's own column: large values let it move freely.
    tol : float
        Largest violation of the optimality conditions of any observation, and movement of the intercept.
    max_epochs : int
        Sweeps of the coordinate descent.
    capacity : int
        Most members of an active set; at most `LARGEST_SET` is sensible.
    w : array of shape (F,)
        Written: the coefficients. Must be zero on entry, as must `dual`.
    dual : array of shape (m,)
        Written: the dual variables.

    Returns
    -------
    intercept : float
    violation : float
    n_epochs : int
    """
    n = signs.shape[0]
    diagonal = np.zeros(n)
    for i in range(n):
        for k in range(start[i], start[i + 1]):
            diagonal[i] += values[k] * values[k]
    order = np.arange(n)
    n_active = n
    state = np.uint64(88172645463325252)  # any number but zero: every problem is visited in the same order
    intercept = 0.0
    centre = 0.0
    lowest, highest = -np.inf, np.inf  # beyond these gradients a variable at its bound is left out for now
    violation = np.inf
    work, patience = 0, COST_OF_ENTRY
    epoch = 0
    while epoch < max_epochs:
        epoch += 1
        state = _shuffle(order, n_active, state)
        largest, smallest = -np.inf, np.inf
        whole = n_active == n
        s = 0
        while s < n_active:
            i = order[s]
            sign = signs[i]
            work += start[i + 1] - start[i]
            gradient = sign * (intercept + _product(start, columns, values, i, w)) - 1.0
            projected = gradient
            if dual[i] <= 0.0:
                if gradient > highest:
                    n_active -= 1
                    order[s], order[n_active] = order[n_active], order[s]
                    continue
                projected = min(gradient, 0.0)
            elif dual[i] >= bounds[i]:
                if gradient < lowest:
                    n_active -= 1
                    order[s], order[n_active] = order[n_active], order[s]
                    continue
                projected = max(gradient, 0.0)
            largest = max(largest, projected)
            smallest = min(smallest, projected)
            if abs(projected) > 1e-14:
                before = dual[i]
                _move(
                    start, columns, values, signs, bounds, dual, i, before - gradient / (diagonal[i] + proximity), w
                )  # fmt: skip
                intercept += proximity * (dual[i] - before) * sign
            s += 1
        pull = intercept - centre
        centre = intercept
        intercept += pull  # the dual variables stay, so that their pull is felt again from the new centre
        violation = max(max(largest, -smallest), abs(pull)) if n_active > 0 else abs(pull)
        if violation <= tol and whole:
            break
        highest = largest if largest > 0.0 else np.inf
        lowest = smallest if smallest < 0.0 else -np.inf
        every = violation <= tol or n_active == 0 or epoch % 50 == 0
        if epoch % SWEEPS_BETWEEN_LOOKS == 0 and violation > tol:
            n_free = _n_free(bounds, dual)
            if n_free <= LARGEST_SET * 4 and work >= patience * n_free * min(n_free, capacity) ** 2:
                patience *= PATIENCE
                centre = _finish(
                    start, columns, values, signs, bounds, diagonal, STRICTNESS * tol, capacity,
                    ENTRIES_PER_VARIABLE * (n_free + 100), dual, w, centre,
                )  # fmt: skip
                for k in range(w.shape[0]):
                    w[k] = 0.0
                for i in range(n):
                    _add(start, columns, values, i, dual[i] * signs[i], w)
                intercept = centre + proximity * _balance(signs, dual)
                every = True
        if every:  # look at all of them once more
            n_active = n
            lowest, highest = -np.inf, np.inf
    return centre, violation, epoch
