"""Products of a sparse matrix with the rows of a dense one, a line of columns at a time.

The sparse matrix Z has n rows and F columns and is given by `indptr`, `indices` and `data` as in a CSR matrix, except
that `data` is one number if all entries are equal: nothing is then multiplied in the loop over entries. Coefficients
are (W, 1 + D + F), those of Z from the column `first` on; margins and residuals are (W, n). All of them have the
precision of `data`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.lanes import N_BYTES, add, load, multiply_add, store, whole_lines, zeros_like

TILE = 64
"""Number of rows transposed at a time, few enough to stay in the nearest cache."""


def lines(n_rows: int, dtype: Any) -> np.ndarray:
    """Return scratch space for some lines: ``lines(n_columns, dtype), lines(TILE, dtype)`` is what products take."""
    return whole_lines(n_rows, N_BYTES // np.dtype(dtype).itemsize, dtype=dtype)


@njit
def sparse_product(indptr, indices, data, coefficients, first, out, table, tile):
    """Add ``coefficients[:, first:] @ Z.T`` to `out` (W, n), or write it with the intercept if Z is all there is."""
    n_rows, n_lanes = indptr.shape[0] - 1, table.shape[1]
    width, n_columns = coefficients.shape[0], coefficients.shape[1] - first
    each, one = data.shape[0] > 1, data.dtype.type(1.0)
    for top_score in range(0, width, n_lanes):
        n_own = min(n_lanes, width - top_score)
        for w in range(n_own):
            for j in range(n_columns):
                table[j, w] = coefficients[top_score + w, first + j] * (one if each else data[0])
            tile[0, w] = coefficients[top_score + w, 0] if first == 1 else table.dtype.type(0.0)
        start = load(tile, 0)
        for top in range(0, n_rows, TILE):
            n_tile = min(TILE, n_rows - top)
            for r in range(n_tile):
                # Two sums, since an addition has to wait for the one before.
                even, odd = start, zeros_like(table)
                k, last = indptr[top + r], indptr[top + r + 1]
                if each:
                    while k + 1 < last:
                        even = multiply_add(data[k], load(table, indices[k]), even)
                        odd = multiply_add(data[k + 1], load(table, indices[k + 1]), odd)
                        k += 2
                else:
                    while k + 1 < last:
                        even = add(even, load(table, indices[k]))
                        odd = add(odd, load(table, indices[k + 1]))
                        k += 2
                if k < last:
                    even = multiply_add(data[k] if each else one, load(table, indices[k]), even)
                store(tile, r, add(even, odd))
            for w in range(n_own):
                for r in range(n_tile):
                    before = out[top_score + w, top + r] if first > 1 else table.dtype.type(0.0)
                    out[top_score + w, top + r] = before + tile[r, w]


@njit
def sparse_transposed_product(indptr, indices, data, residual, first, out, table, tile):
    """Write ``residual @ Z`` to the columns of `out` (W, 1 + D + F) from `first` on, and the sums to the first one."""
    n_rows, n_lanes = indptr.shape[0] - 1, table.shape[1]
    width, n_columns = out.shape[0], out.shape[1] - first
    each, one = data.shape[0] > 1, data.dtype.type(1.0)
    for top_score in range(0, width, n_lanes):
        n_own = min(n_lanes, width - top_score)
        for j in range(n_columns):
            store(table, j, zeros_like(table))
        sums = zeros_like(table)
        for top in range(0, n_rows, TILE):
            n_tile = min(TILE, n_rows - top)
            for w in range(n_own):
                for r in range(n_tile):
                    tile[r, w] = residual[top_score + w, top + r]
            for r in range(n_tile):
                own = load(tile, r)
                sums = add(sums, own)
                if each:
                    for k in range(indptr[top + r], indptr[top + r + 1]):
                        store(table, indices[k], multiply_add(data[k], own, load(table, indices[k])))
                else:
                    for k in range(indptr[top + r], indptr[top + r + 1]):
                        store(table, indices[k], add(own, load(table, indices[k])))
        store(tile, 0, sums)
        for w in range(n_own):
            out[top_score + w, 0] = tile[0, w]
            for j in range(n_columns):
                out[top_score + w, first + j] = table[j, w] * (one if each else data[0])


@njit
def sparse_gram(indptr, indices, data, sample_weight, out):
    """Add ``[1, Z].T @ diag(sample_weight) @ [1, Z]`` to `out`; only entries with row >= column are written.

    The column indices of each row of Z must be sorted.
    """
    each = np.int64(data.shape[0] > 1)
    for i in range(indptr.shape[0] - 1):
        out[0, 0] += sample_weight[i]
        for k in range(indptr[i], indptr[i + 1]):
            row, value = indices[k] + 1, sample_weight[i] * data[k * each]
            out[row, 0] += value
            for j in range(indptr[i], k + 1):
                out[row, indices[j] + 1] += value * data[j * each]
