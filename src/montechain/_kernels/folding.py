"""The part of x in the scores of a label-linear chain: the product of many rows and a few columns of coefficients.

BLAS is made for large matrices: for 6 to 100 columns it takes 1.5 to 2 times as long. Here the sums for six rows and
one line of columns stay in registers. A row's scores do not depend on the rows beside it.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.lanes import N_BYTES, add, load, multiply_add, number_at, on_grid, store_at, zeros_like

N_LANES = N_BYTES // 8


def as_lines(coef, intercept):
    """Return coefficients of shape (D, W) and intercepts as lines of scores: D lines, then one of intercepts, each."""
    n_lines = -(-coef.shape[1] // N_LANES)
    padded = np.zeros((len(coef) + 1, n_lines * N_LANES))
    padded[:-1, : coef.shape[1]], padded[-1, : coef.shape[1]] = coef, intercept
    return np.ascontiguousarray(padded.reshape(-1, n_lines, N_LANES).swapaxes(0, 1))


def scores_of(X, lines, n_scores):
    """Return ``X @ coef``, on the grid of `montechain._kernels.ties`, plus the intercepts, of shape (n, W).

    `X` is an array of float64 of any strides, and `lines` is what `as_lines` returns.
    """
    n_rows, n_features = X.shape
    # A row's last line may reach into the next row, and that of the last row needs room, too.
    out = np.empty(n_rows * n_scores + N_LANES)
    # Addresses instead of the array, so that one compiled kernel is enough for all orders, and for read-only arrays.
    columns = X.ctypes.data + X.strides[1] * np.arange(n_features)
    _fill(columns, X.strides[0], n_rows, lines, n_scores, out)
    return out[:-N_LANES].reshape(n_rows, n_scores)


@njit
def _fill(columns, step, n_rows, lines, n_scores, out):
    n_lines, n_features = lines.shape[0], lines.shape[1] - 1
    last = n_rows - 1
    for a in range(0, n_rows, 6):
        b, c, d, e, f = min(a + 1, last), min(a + 2, last), min(a + 3, last), min(a + 4, last), min(a + 5, last)
        # Backwards: what the last line of a row writes into the next row is overwritten by the first line of that one.
        for line in range(n_lines - 1, -1, -1):
            at = line * (n_features + 1)
            of_a = of_b = of_c = of_d = of_e = of_f = zeros_like(lines)
            for j in range(n_features):
                weights, column = load(lines, at + j), columns[j]
                of_a = multiply_add(number_at(column + a * step), weights, of_a)
                of_b = multiply_add(number_at(column + b * step), weights, of_b)
                of_c = multiply_add(number_at(column + c * step), weights, of_c)
                of_d = multiply_add(number_at(column + d * step), weights, of_d)
                of_e = multiply_add(number_at(column + e * step), weights, of_e)
                of_f = multiply_add(number_at(column + f * step), weights, of_f)
            intercepts, place = load(lines, at + n_features), line * N_LANES
            store_at(out, a * n_scores + place, add(on_grid(of_a), intercepts))
            store_at(out, b * n_scores + place, add(on_grid(of_b), intercepts))
            store_at(out, c * n_scores + place, add(on_grid(of_c), intercepts))
            store_at(out, d * n_scores + place, add(on_grid(of_d), intercepts))
            store_at(out, e * n_scores + place, add(on_grid(of_e), intercepts))
            store_at(out, f * n_scores + place, add(on_grid(of_f), intercepts))
