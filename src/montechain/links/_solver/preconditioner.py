"""Estimates of the inverse Hessian of logistic problems, shared by all of them.

The Hessian is ``Z' diag(p (1 - p)) Z + diag(penalty)``; the estimate takes p (1 - p) to be the same in all rows: c, its
mean. A preconditioner is a function that divides directions (W, F) in place, given the c and the problem of each row,
in a given precision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from montechain._kernels.quasi_newton import divide

LARGEST_FACTOR = 2000
"""Number of inputs up to which a Cholesky factor pays."""


def diagonal(squares: np.ndarray, penalty: np.ndarray) -> Callable[..., None]:
    """Return a function that divides by the diagonal of ``c Z'Z + diag(penalty)``."""
    squares, penalty = squares.astype(np.float32), (penalty + 1e-30).astype(np.float32)

    return lambda direction, level, problem, dtype: divide(direction, level.astype(np.float32), squares, penalty)


class Factors:
    """Cholesky factors of ``c Z'Z + diag(penalty)`` for those powers of 16 that are nearest to a c.

    `gram` is Z'Z. All problems have the first `n_shared` columns; the others belong to parents.
    """

    def __init__(self, gram: np.ndarray, n_shared: int, penalty: np.ndarray):
        self.gram, self.n_shared, self.penalty = gram, n_shared, penalty
        self._known: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def _inverse(self, power: int, order: np.ndarray) -> np.ndarray:
        """Return the inverse factor: shared columns first, then those of parents, its rows in the given `order`."""
        n_shared = self.n_shared
        if power not in self._known:
            matrix = 16.0**power * self.gram
            matrix.reshape(-1)[:: len(matrix) + 1] += self.penalty
            head = inverse_factor(matrix[:n_shared, :n_shared])
            coupling = matrix[n_shared:, :n_shared] @ head.T
            self._known[power] = head, coupling, matrix[n_shared:, n_shared:] - coupling @ coupling.T
        head, coupling, complement = self._known[power]
        own = inverse_factor(complement[np.ix_(order, order)])
        inverse = np.zeros_like(self.gram)
        inverse[:n_shared, :n_shared] = head
        inverse[n_shared:, :n_shared] = -own @ coupling[order] @ head
        inverse[n_shared:, n_shared + order] = own
        return inverse

    def restricted(self, allowed: np.ndarray) -> Callable[..., None]:
        """Return a preconditioner for problems that have only the `allowed` parents, of shape (Q, P).

        The columns of parents are sorted by how many problems have them. Clearing those that a problem does not have,
        half way through the triangular factor, restricts the matrix to the problem's own columns if they come first, as
        in a chain. Otherwise they are cleared at the end, too, and the result is definite and near enough.
        """
        order, n_shared = np.argsort(-allowed.sum(axis=0), kind="stable"), self.n_shared
        in_order = allowed[:, order]
        is_nested = bool((in_order[:, 1:] <= in_order[:, :-1]).all())
        known: dict[tuple[int, type], np.ndarray] = {}

        def precondition(direction, level, problem, dtype):
            powers = np.rint(0.25 * np.log2(np.maximum(level, 1e-12))).astype(np.int64)
            different = set(powers.tolist())
            for power in different:
                if (power, dtype) not in known:
                    known[power, dtype] = self._inverse(power, order).astype(dtype)
                inverse = known[power, dtype]
                rows = slice(None) if len(different) == 1 else np.flatnonzero(powers == power)
                half = direction[rows].astype(dtype, copy=False) @ inverse.T
                half[:, n_shared:] *= in_order[problem[rows]]
                half = half @ inverse
                if not is_nested:
                    half[:, n_shared:] *= allowed[problem[rows]]
                direction[rows] = half

        return precondition


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
