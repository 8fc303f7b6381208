"""Estimates of the inverse Hessian of logistic problems, shared by all of them.

The Hessian is ``Z' diag(p (1 - p)) Z + diag(penalty)``; the estimate takes p (1 - p) to be the same in all rows: c, its
mean.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

__all__ = ["LARGEST_FACTOR", "Diagonal", "Factor", "Shared"]

LARGEST_FACTOR = 2000
"""Number of inputs up to which a Cholesky factor pays."""


class Diagonal:
    """Divides by the diagonal of ``c Z'Z + diag(penalty)``."""

    def __init__(self, squares: np.ndarray, penalty: np.ndarray):
        self.squares, self.penalty = squares.astype(np.float32), (penalty + 1e-30).astype(np.float32)

    def apply(self, direction, level, problem, dtype) -> None:
        """Divide `direction` (W, F) in place, given the c and the problem of each row, in the precision `dtype`."""
        diagonal = np.multiply.outer(level.astype(np.float32), self.squares)
        diagonal += self.penalty
        direction /= diagonal


class Shared:
    """What the factors of several calls have in common: the Gram matrix of the inputs, and what follows from it.

    Parameters
    ----------
    gram : ndarray of shape (F, F)
        The last columns belong to parents.
    n_shared : int
        Number of columns that all problems have.
    """

    def __init__(self, gram: np.ndarray, n_shared: int):
        self.gram = gram
        self.n_shared = n_shared
        self._known: dict[tuple[int, bytes], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def head(self, power: int, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the inverse factor of the shared columns, their coupling to the parents, and the Schur complement."""
        key = power, penalty.tobytes()
        if key not in self._known:
            n_shared = self.n_shared
            matrix = 16.0**power * self.gram
            matrix.reshape(-1)[:: len(matrix) + 1] += penalty
            inverse = inverse_factor(matrix[:n_shared, :n_shared])
            coupling = matrix[n_shared:, :n_shared] @ inverse.T
            complement = matrix[n_shared:, n_shared:] - coupling @ coupling.T
            self._known[key] = inverse, coupling, complement
        return self._known[key]


class Factor:
    """Divides by ``c Z'Z + diag(penalty)``, with Cholesky factors for those powers of 16 that are nearest to a c.

    The columns of parents are sorted by how many problems have them. Clearing those that a problem does not have, half
    way through the triangular factors, restricts the matrix to the problem's own columns if they come first, as in a
    chain; in general the result is definite and near enough.
    """

    def __init__(self, shared: Shared, allowed: np.ndarray, penalty: np.ndarray):
        self.shared, self.allowed, self.penalty = shared, allowed, penalty
        self.order = np.argsort(-allowed.sum(axis=0), kind="stable")
        self._known: dict[tuple[int, type], list[np.ndarray]] = {}

    def apply(self, direction, level, problem, dtype) -> None:
        """Divide `direction` (W, F) in place; see `Diagonal.apply`."""
        powers = np.rint(0.25 * np.log2(np.maximum(level, 1e-12))).astype(np.int64)
        n_shared, different = self.shared.n_shared, set(powers.tolist())
        for power in different:
            if (power, dtype) not in self._known:
                head, coupling, complement = self.shared.head(power, self.penalty)
                own = np.empty_like(complement)  # rows in the sorted order, columns in the given one
                own[:, self.order] = inverse_factor(complement[np.ix_(self.order, self.order)])
                self._known[power, dtype] = [matrix.astype(dtype) for matrix in (head, coupling, own)]
            head, coupling, own = self._known[power, dtype]
            rows = slice(None) if len(different) == 1 else np.flatnonzero(powers == power)
            part, allowed = direction[rows].astype(dtype, copy=False), self.allowed[problem[rows]]
            of_shared = part[:, :n_shared] @ head.T
            of_parents = (part[:, n_shared:] - of_shared @ coupling.T) * allowed
            of_parents = (of_parents @ own.T) * allowed[:, self.order]
            of_parents = (of_parents @ own) * allowed
            direction[rows, n_shared:] = of_parents
            direction[rows, :n_shared] = (of_shared - of_parents @ coupling) @ head


def inverse_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of the lower Cholesky factor; a diagonal is added if the matrix is not quite definite."""
    if not len(matrix):  # LAPACK would complain, on the standard output
        return matrix
    scale = 1.0 / np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    scaled = matrix * scale
    scaled *= scale[:, None]
    jitter = 1e-14
    while True:
        scaled.reshape(-1)[:: len(scaled) + 1] = 1.0 + jitter
        # LAPACK reads the transpose of what is symmetric here.
        factor, fault = dpotrf(scaled.T, lower=1, clean=1)
        if not fault:
            inverse, _ = dtrtri(factor, lower=1, overwrite_c=1)
            return np.ascontiguousarray(inverse * scale)
        jitter *= 100.0
