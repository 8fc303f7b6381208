"""The inputs [1, X, parents] that logistic problems share, and products with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._kernels.lanes import N_BYTES
from montechain._kernels.sparse import sparse_gram, sparse_product, sparse_times_dense, sparse_transposed_product

__all__ = ["Inputs"]

SPARSE = 0.1
"""Share of entries that are not zero up to which columns are kept as sparse ones."""
FEW_COLUMNS = 32
"""So few columns of parents are kept beside a dense X, whatever is in them."""
BLOCK = 2**20
"""Numbers that are weighted at a time."""


class Inputs:
    """The inputs [1, X, parents] of shape (n, F): a column of ones, then dense columns, then sparse ones.

    Nothing is copied if X is dense, C-contiguous and of the wanted precision, and the parents are sparse.

    Parameters
    ----------
    dense : ndarray of shape (n, D)
    sparse : CSR matrix of shape (n, S)
        With sorted indices and no duplicates.
    """

    def __init__(self, dense: np.ndarray, sparse: Any):
        self.dense = dense
        self.n_dense = dense.shape[1]
        self.n_sparse = sparse.shape[1]
        self.n_rows = dense.shape[0]
        self.n_columns = 1 + self.n_dense + self.n_sparse
        self.n_values = self.n_rows * (1 + self.n_dense) + sparse.nnz
        data = sparse.data.astype(dense.dtype, copy=False)
        only_ones = data.size == 0 or bool((data == 1.0).all())
        self.arrays = (sparse.indptr.astype(np.int64), sparse.indices, data[:0] if only_ones else data)
        self.n_bytes = dense.nbytes + sum(array.nbytes for array in self.arrays)

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
        return cls(np.ascontiguousarray(X, dtype=np.float64), sp.csr_matrix(parent_columns))

    def single(self) -> Inputs:
        """Return the same in single precision."""
        copy = object.__new__(Inputs)
        copy.__dict__.update(self.__dict__)
        indptr, indices, data = self.arrays
        copy.dense = self.dense.astype(np.float32)
        copy.arrays = (indptr, indices, data.astype(np.float32))
        copy.n_bytes = copy.dense.nbytes + sum(array.nbytes for array in copy.arrays)
        return copy

    @property
    def n_scores_at_once(self) -> int:
        """Number of scores that a product serves at little more than the price of one."""
        return 48 if self.n_dense else N_BYTES // self.dtype.itemsize

    @property
    def dtype(self) -> np.dtype:
        """float64 or float32: the precision of all products."""
        return self.dense.dtype

    def product(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the margins, of shape (W, n), for coefficients of shape (W, F)."""
        if not self.n_dense:
            out = np.zeros((len(coefficients), self.n_rows), dtype=self.dtype)
        else:
            out = coefficients[:, 1 : 1 + self.n_dense] @ self.dense.T
        if self.n_sparse:
            sparse_product(*self.arrays, coefficients[:, 1 + self.n_dense :], coefficients[:, 0], out)
        else:
            out += coefficients[:, :1]
        return out

    def transposed_product(self, residual: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss, of shape (W, F), for residuals of shape (W, n)."""
        out = np.empty((len(residual), self.n_columns), dtype=self.dtype)
        if self.n_dense:
            np.matmul(residual, self.dense, out=out[:, 1 : 1 + self.n_dense])
        if self.n_sparse:
            sparse_transposed_product(*self.arrays, residual, out[:, 0], out[:, 1 + self.n_dense :])
        else:
            residual.sum(axis=1, out=out[:, 0])
        return out

    def gram(self, sample_weight: np.ndarray) -> np.ndarray:
        """Return the weighted Gram matrix, of shape (F, F)."""
        total = np.zeros((self.n_columns, self.n_columns))
        dense, sparse = slice(1, 1 + self.n_dense), slice(1 + self.n_dense, self.n_columns)
        total[0, 0] = sample_weight.sum()
        if self.n_dense:
            total[0, dense] = sample_weight @ self.dense
            total[dense, dense] = self._gram_of_dense(sample_weight)
        if self.n_sparse:
            total[0, sparse] = self._sums_of_sparse(sample_weight, 1)
            weight = sample_weight.astype(np.float64, copy=False)
            sparse_gram(*self.arrays, weight, total[sparse, sparse])
            sparse_times_dense(*self.arrays, weight, self.dense, total[sparse, dense])
            total[dense, sparse] = total[sparse, dense].T
        lower = np.tril(total[1:, 1:])
        total[1:, 1:] = lower + np.tril(lower, -1).T
        total[1:, 0] = total[0, 1:]
        return total

    def squares(self, sample_weight: np.ndarray) -> np.ndarray:
        """Return the diagonal of the weighted Gram matrix."""
        of_dense = np.einsum("nd,nd,n->d", self.dense, self.dense, sample_weight)
        return np.concatenate([[sample_weight.sum()], of_dense, self._sums_of_sparse(sample_weight, 2)])

    def _gram_of_dense(self, sample_weight):
        if (sample_weight == 1.0).all():
            return self.dense.T @ self.dense  # half the work of a product of two matrices
        total = np.zeros((self.n_dense, self.n_dense))
        rows_each = max(1, BLOCK // self.n_dense)
        for first in range(0, self.n_rows, rows_each):
            part = self.dense[first : first + rows_each] * np.sqrt(sample_weight[first : first + rows_each, None])
            total += part.T @ part
        return total

    def _sums_of_sparse(self, sample_weight, power):
        """Return the weighted sum of each sparse column's entries, or of their squares."""
        indptr, indices, data = self.arrays
        weight = np.repeat(sample_weight, np.diff(indptr))
        if len(data):
            weight = weight * data**power
        return np.bincount(indices, weights=weight, minlength=self.n_sparse)
