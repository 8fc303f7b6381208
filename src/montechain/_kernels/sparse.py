"""Products of a sparse matrix with the rows of a dense one, a line of columns at a time.

The sparse matrix Z has n rows and F columns and is given by `indptr`, `indices` and `data` as in a CSR matrix; `data`
is empty where all entries are one. Coefficients are (W, F), margins and residuals (W, n): one row for each score.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from montechain._kernels.lanes import N_BYTES, add, load, multiply_add, store, zeros_like

TILE = 64
"""Rows that are turned from lines to columns, or back, at a time: they stay in the nearest cache."""


@njit(cache=True, nogil=True)
def sparse_product(indptr, indices, data, coefficients, offset, out):
    """Add ``coefficients @ Z.T`` and the `offset` (W,) of each row to `out` (W, n)."""
    n_rows = indptr.shape[0] - 1
    width, n_columns = coefficients.shape
    n_lanes = N_BYTES // coefficients.itemsize
    table = np.zeros((n_columns, n_lanes), dtype=coefficients.dtype)
    tile = np.zeros((TILE, n_lanes), dtype=coefficients.dtype)
    for first in range(0, width, n_lanes):
        n_own = min(n_lanes, width - first)
        for w in range(n_own):
            for j in range(n_columns):
                table[j, w] = coefficients[first + w, j]
            tile[0, w] = offset[first + w]
        start = load(tile, 0)
        for top in range(0, n_rows, TILE):
            n_tile = min(TILE, n_rows - top)
            for r in range(n_tile):
                # Two sums, since an addition has to wait for the one before.
                even, odd = start, zeros_like(table)
                k, last = indptr[top + r], indptr[top + r + 1]
                if data.shape[0] == 0:
                    while k + 1 < last:
                        even = add(even, load(table, indices[k]))
                        odd = add(odd, load(table, indices[k + 1]))
                        k += 2
                    if k < last:
                        even = add(even, load(table, indices[k]))
                else:
                    while k + 1 < last:
                        even = multiply_add(data[k], load(table, indices[k]), even)
                        odd = multiply_add(data[k + 1], load(table, indices[k + 1]), odd)
                        k += 2
                    if k < last:
                        even = multiply_add(data[k], load(table, indices[k]), even)
                store(tile, r, add(even, odd))
            for w in range(n_own):
                row = out[first + w]
                for r in range(n_tile):
                    row[top + r] += tile[r, w]


@njit(cache=True, nogil=True)
def sparse_transposed_product(indptr, indices, data, residual, total, out):
    """Write ``residual @ Z`` to `out` (W, F), and the sum of each row of `residual` to `total` (W,)."""
    n_rows = indptr.shape[0] - 1
    width, n_columns = out.shape
    n_lanes = N_BYTES // residual.itemsize
    table = np.empty((n_columns, n_lanes), dtype=residual.dtype)
    tile = np.zeros((TILE, n_lanes), dtype=residual.dtype)
    for first in range(0, width, n_lanes):
        n_own = min(n_lanes, width - first)
        table[:] = 0
        sums = zeros_like(table)
        for top in range(0, n_rows, TILE):
            n_tile = min(TILE, n_rows - top)
            for w in range(n_own):
                row = residual[first + w]
                for r in range(n_tile):
                    tile[r, w] = row[top + r]
            for r in range(n_tile):
                own = load(tile, r)
                sums = add(sums, own)
                if data.shape[0] == 0:
                    for k in range(indptr[top + r], indptr[top + r + 1]):
                        store(table, indices[k], add(load(table, indices[k]), own))
                else:
                    for k in range(indptr[top + r], indptr[top + r + 1]):
                        store(table, indices[k], multiply_add(data[k], own, load(table, indices[k])))
        store(tile, 0, sums)
        for w in range(n_own):
            total[first + w] = tile[0, w]
            for j in range(n_columns):
                out[first + w, j] = table[j, w]


@njit(cache=True, nogil=True)
def sparse_scores(indptr, indices, data, lines, offset, out):
    """Write ``Z @ coefficients + offset`` to `out` (n, W).

    The coefficients come as `lines` (number of lines, F, lanes), those of column w in place ``w % lanes`` of line
    ``w // lanes``, and so does the `offset` (number of lines, lanes).
    """
    n_lines, _, n_lanes = lines.shape
    line = np.zeros((1, n_lanes))
    for i in range(out.shape[0]):
        for number in range(n_lines):
            table = lines[number]
            total = load(offset, number)
            for k in range(indptr[i], indptr[i + 1]):
                total = multiply_add(data[k], load(table, indices[k]), total)
            store(line, 0, total)
            first = number * n_lanes
            for w in range(min(n_lanes, out.shape[1] - first)):
                out[i, first + w] = line[0, w]


@njit(cache=True, nogil=True)
def sparse_gram(indptr, indices, data, sample_weight, out):
    """Add ``Z.T @ diag(sample_weight) @ Z`` to `out` (F, F); only entries with row >= column are written.

    The column indices of each row of Z must be sorted.
    """
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            value = sample_weight[i] * (data[k] if data.shape[0] else 1.0)
            row = out[indices[k]]
            for j in range(indptr[i], k + 1):
                row[indices[j]] += value * (data[j] if data.shape[0] else 1.0)


@njit(cache=True, nogil=True)
def sparse_times_dense(indptr, indices, data, sample_weight, values, out):
    """Add ``Z.T @ diag(sample_weight) @ values`` to `out` (F, D), for dense `values` (n, D)."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            factor = sample_weight[i] * (data[k] if data.shape[0] else 1.0)
            row = out[indices[k]]
            for d in range(values.shape[1]):
                row[d] += factor * values[i, d]
