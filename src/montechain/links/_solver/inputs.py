"""The inputs [1, X, parents] that logistic problems share, and products with them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._kernels.lanes import N_BYTES
from montechain._kernels.sparse import TILE, lines, sparse_gram, sparse_product, sparse_transposed_product

SPARSE = 0.1
"""Share of nonzero entries up to which columns are stored as sparse."""
FEW_COLUMNS = 32
"""Number of parent columns up to which they are stored beside a dense X, whatever they hold."""
SMALL_DENSE, SMALL_SPARSE = 2**16, 2**14
"""Number of entries up to which single precision saves nothing."""
BLOCK = 2**20
"""Entries that are made dense at a time for the Gram matrix."""


class Inputs:
    """The inputs [1, X, parents] of shape (n, F): a column of ones, then dense columns, then sparse ones.

    `dense` is float64, `sparse` has sorted indices and no duplicates. Nothing is copied if X is dense, C-contiguous and
    float64, and the parents are sparse.
    """

    def __init__(self, dense: np.ndarray, sparse: sp.csr_matrix):
        self.dense, self.sparse = dense, sparse
        self.n_rows, self.n_dense = dense.shape
        self.n_sparse = sparse.shape[1]
        self.n_columns = 1 + self.n_dense + self.n_sparse
        self.n_values = self.n_rows * (1 + self.n_dense) + sparse.nnz
        self.is_small = self.n_values <= (SMALL_DENSE if self.n_dense else SMALL_SPARSE)
        self.n_bytes = dense.nbytes + 12 * sparse.nnz

    @classmethod
    def of(cls, X: Any, parent_columns: np.ndarray) -> Inputs:
        """Return the inputs made of X, dense or canonical CSR, and the parents' columns."""
        n_rows = X.shape[0]
        if not sp.issparse(X) and X.size > BLOCK // 16 and np.count_nonzero(X) <= SPARSE * X.size:
            X = sp.csr_matrix(X)
        if sp.issparse(X):
            both = sp.hstack([sp.csr_matrix(X), sp.csr_matrix(parent_columns)], format="csr", dtype=np.float64)
            return cls(np.empty((n_rows, 0)), both)
        few = parent_columns.shape[1] <= FEW_COLUMNS or np.count_nonzero(parent_columns) > SPARSE * parent_columns.size
        if few:
            return cls(np.hstack([X, parent_columns], dtype=np.float64), sp.csr_matrix((n_rows, 0)))
        return cls(np.ascontiguousarray(X, dtype=np.float64), sp.csr_matrix(parent_columns, dtype=np.float64))

    @cached_property
    def _double(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The dense columns, and the arrays of the sparse ones as kernels take them."""
        indptr, indices = self.sparse.indptr.astype(np.int64), self.sparse.indices.astype(np.int32, copy=False)
        data = self.sparse.data if self.sparse.nnz else np.ones(1)
        return self.dense, (indptr, indices, data[:1].copy() if data.min() == data.max() else data)

    @cached_property
    def _single(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The same in single precision."""
        dense, (indptr, indices, data) = self._double
        return dense.astype(np.float32), (indptr, indices, data.astype(np.float32))

    def _needs_kernel(self, dtype: Any) -> bool:
        """Return whether sparse columns are multiplied by a kernel, which takes a third of scipy's time.

        Larger problems take only a few products in double precision, which are not worth compiling a kernel for.
        """
        return (self.n_sparse > 0 or self.n_dense == 0) and (self.is_small or dtype == np.float32)

    def scratch(self, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the scratch space that products in this precision take; each thread needs its own."""
        return lines(self.n_sparse, dtype), lines(TILE, dtype)

    def scores_at_once(self, dtype: Any) -> int:
        """Return the number of scores that a product serves at the price of one; only sparse kernels have a limit."""
        limited = self._needs_kernel(dtype) and not self.n_dense
        return N_BYTES // np.dtype(dtype).itemsize if limited else self.n_columns * self.n_rows

    def product(self, coefficients: np.ndarray, out: np.ndarray, scratch: Any) -> np.ndarray:
        """Write the margins to `out` (W, n), for coefficients (W, F) of the same precision."""
        dense, arrays = self._single if out.dtype == np.float32 else self._double
        first = 1 + self.n_dense
        if self.n_dense:
            np.matmul(coefficients[:, 1:first], dense.T, out=out)
            out += coefficients[:, :1]
        if self._needs_kernel(out.dtype):
            sparse_product(*arrays, coefficients, first, out, *scratch)
        elif self.n_sparse or not self.n_dense:
            np.add(out if self.n_dense else coefficients[:, :1], (self.sparse @ coefficients[:, first:].T).T, out=out)
        return out

    def transposed_product(self, residual: np.ndarray, scratch: Any) -> np.ndarray:
        """Return the gradient of the loss, of shape (W, F), for residuals of shape (W, n), in their precision."""
        dense, arrays = self._single if residual.dtype == np.float32 else self._double
        first = 1 + self.n_dense
        out = np.empty((len(residual), self.n_columns), dtype=residual.dtype)
        if self._needs_kernel(out.dtype):
            sparse_transposed_product(*arrays, residual, first, out, *scratch)
        else:
            residual.sum(axis=1, out=out[:, 0])
            if self.n_sparse:
                out[:, first:] = (self.sparse.T @ residual.T).T
        if self.n_dense:
            np.matmul(residual, dense, out=out[:, 1:first])
        return out

    def gram(self, sample_weight: np.ndarray) -> np.ndarray:
        """Return the weighted Gram matrix, of shape (F, F); its dense part in single precision unless it is small."""
        total = np.zeros((self.n_columns, self.n_columns))
        if not self.n_dense:
            sparse_gram(*self._double[1], sample_weight, total)
            return total + np.tril(total, -1).T
        rows_each = max(1, BLOCK // self.n_columns)
        for first in range(0, self.n_rows, rows_each):
            rows = slice(first, first + rows_each)
            dense = (self._double if self.is_small else self._single)[0][rows]
            part = np.empty((len(dense), self.n_columns), dtype=dense.dtype)
            part[:, 0], part[:, 1 : 1 + self.n_dense] = 1.0, dense
            if self.n_sparse:
                part[:, 1 + self.n_dense :] = self.sparse[rows].toarray()
            part *= np.sqrt(sample_weight[rows, None]).astype(dense.dtype)
            total += part.T @ part
        return total

    def squares(self, sample_weight: np.ndarray) -> np.ndarray:
        """Return the diagonal of the weighted Gram matrix."""
        of_dense = np.einsum("nd,nd,n->d", self.dense, self.dense, sample_weight)
        return np.concatenate([[sample_weight.sum()], of_dense, self.sparse.power(2).T @ sample_weight])
