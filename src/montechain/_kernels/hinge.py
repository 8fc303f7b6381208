"""The linear support vector machine by dual coordinate descent, with an unpenalised intercept."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _shuffle(order, n, state):
    """Shuffle ``order[:n]`` in place (Fisher and Yates) by a generator of its own; return its next state."""
    for i in range(n - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        j = np.int64(state % np.uint64(i + 1))
        order[i], order[j] = order[j], order[i]
    return state


@njit(cache=True, nogil=True)
def fit_hinge(indptr, indices, data, rows, signs, bounds, scale, proximity, tol, max_epochs, coef, dual):
    """Minimise ``1/2 ||w||² + sum_i bounds_i * max(0, 1 - signs_i * (z_i @ w + intercept))``, z = x * scale.

    Dual coordinate descent (Hsieh et al. 2008) with shrinking solves for w. The intercept has no penalty: it is held
    near its last value by a quadratic term, which is moved along after every sweep (the proximal point method),
    until it pulls no more.

    Parameters
    ----------
    indptr, indices, data : arrays
        The inputs x as CSR.
    rows, signs, bounds : arrays of shape (m,)
        The observations to learn from, their classes as -1.0 and 1.0, and C times their weights.
    scale : array of shape (F,)
        Factor of each column, 0 for one that is to be left out.
    proximity : float
        Square of the factor of the intercept's own column: large values let it move freely.
    tol : float
        Largest violation of the optimality conditions of any observation, and movement of the intercept.
    max_epochs : int
    coef : array of shape (F,)
        Written: ``w * scale``, the coefficients for x itself. Must be zero on entry, as must `dual`.
    dual : array of shape (m,)
        Written: the dual variables.

    Returns
    -------
    intercept : float
    violation : float
    n_epochs : int
    """
    n = rows.shape[0]
    diagonal = np.empty(n)
    for i in range(n):
        total = proximity
        for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
            value = data[k] * scale[indices[k]]
            total += value * value
        diagonal[i] = total
    order = np.arange(n)
    n_active = n
    state = np.uint64(88172645463325252)  # any number but zero: every problem is visited in the same order
    intercept = 0.0
    centre = 0.0
    lowest, highest = -np.inf, np.inf  # beyond these gradients a variable at its bound is left out for now
    violation = np.inf
    for epoch in range(max_epochs):
        state = _shuffle(order, n_active, state)
        largest, smallest = -np.inf, np.inf
        whole = n_active == n
        s = 0
        while s < n_active:
            i = order[s]
            sign = signs[i]
            score = intercept
            for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
                score += data[k] * coef[indices[k]]
            gradient = sign * score - 1.0
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
                dual[i] = min(max(before - gradient / diagonal[i], 0.0), bounds[i])
                move = (dual[i] - before) * sign
                if move != 0.0:
                    for k in range(indptr[rows[i]], indptr[rows[i] + 1]):
                        f = indices[k]
                        coef[f] += move * data[k] * scale[f] * scale[f]
                    intercept += proximity * move
            s += 1
        pull = intercept - centre
        centre = intercept
        intercept += pull  # the dual variables stay, so that their pull is felt again from the new centre
        violation = max(max(largest, -smallest), abs(pull)) if n_active > 0 else abs(pull)
        if violation <= tol:
            if whole:
                return centre, violation, epoch + 1
            n_active = n  # look at all of them once more
            lowest, highest = -np.inf, np.inf
        else:
            highest = largest if largest > 0.0 else np.inf
            lowest = smallest if smallest < 0.0 else -np.inf
            if n_active == 0 or (epoch + 1) % 50 == 0:
                n_active = n
                lowest, highest = -np.inf, np.inf
    return centre, violation, max_epochs
