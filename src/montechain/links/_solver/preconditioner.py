"""Estimates of the inverse Hessian of logistic problems, shared by all of them.

The Hessian is ``Z' diag(p (1 - p)) Z + diag(penalty)``; the estimate takes p (1 - p) to be the same in all rows: c, its
mean. Matrices are kept for powers of 16, and the one nearest to c is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

__all__ = ["LARGEST_FACTOR", "Diagonal", "Factor", "NestedFactor", "Shared", "nesting"]

LARGEST_FACTOR = 2000
"""Number of inputs up to which a Cholesky factor pays."""
LARGEST_PARTS = 2**27
"""Bytes that the small matrices of all problems may take."""


class Shared:
    """What the preconditioners of several calls have in common: the Gram matrix of the inputs, and factors of it.

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

    def preconditioner(self, allowed: np.ndarray, penalty: np.ndarray) -> Factor | NestedFactor | None:
        """Return the preconditioner for problems with these parents; None if it would take too much space."""
        order, nested = nesting(allowed)
        if nested:
            return NestedFactor(self, allowed, penalty, order)
        too_large = 8 * len(allowed) * allowed.shape[1] ** 2 > LARGEST_PARTS
        return None if too_large else Factor(self, allowed, penalty)


def nesting(allowed: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return an order of the parent columns in which those of every problem come first, and whether there is one."""
    counts = allowed.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    sizes = allowed.sum(axis=1)
    nested = bool((allowed[:, order] == (np.arange(allowed.shape[1]) < sizes[:, None])).all())
    return order, nested


class Diagonal:
    """Divides by the diagonal of ``c Z'Z + diag(penalty)``."""

    def __init__(self, squares: np.ndarray, penalty: np.ndarray):
        self.squares, self.penalty = squares.astype(np.float32), (penalty + 1e-30).astype(np.float32)

    def apply(self, direction, level, problems, score_start, dtype) -> None:
        """Divide `direction` (W, F) in place, given the c of each row; `problems` are those under way.

        The work is done in the precision `dtype`.
        """
        diagonal = np.multiply.outer(level.astype(np.float32), self.squares)
        diagonal += self.penalty
        direction /= diagonal


class _ByLevel(ABC):
    """Divides by ``c Z'Z + diag(penalty)`` with matrices that are kept for each power of 16 near which a c lies."""

    def __init__(self, shared: Shared, allowed: np.ndarray, penalty: np.ndarray):
        self.shared, self.allowed, self.penalty = shared, allowed, penalty
        self._known: dict[tuple[int, Any], Any] = {}

    def apply(self, direction, level, problems, score_start, dtype) -> None:
        """Divide `direction` (W, F) in place; see `Diagonal.apply`."""
        powers = np.rint(0.25 * np.log2(np.maximum(level, 1e-12))).astype(np.int64)
        of_row = problems if len(problems) == len(powers) else np.repeat(problems, np.diff(score_start))
        different = set(powers.tolist())
        for power in different:
            if (power, dtype) not in self._known:
                self._known[power, dtype] = [matrix.astype(dtype) for matrix in self._make(power)]
            rows = slice(None) if len(different) == 1 else np.flatnonzero(powers == power)
            part = direction[rows].astype(dtype, copy=False)
            direction[rows] = self._solve(self._known[power, dtype], part, of_row[rows])

    @abstractmethod
    def _make(self, power):
        """Return the matrices for the c that is this power of 16."""

    @abstractmethod
    def _solve(self, matrices, part, of_row):
        """Return `part` (W, F) divided; `of_row` are the problems that its rows belong to."""


class NestedFactor(_ByLevel):
    """For problems whose parents are nested, so that in some order those of each problem come first.

    Clearing what belongs to the other parents, half way through the triangular factors, is all that it takes to
    restrict the matrix to a problem's own columns.
    """

    def __init__(self, shared: Shared, allowed: np.ndarray, penalty: np.ndarray, order: np.ndarray):
        super().__init__(shared, allowed[:, order], penalty)
        self.order = order

    def _make(self, power):
        head, coupling, complement = self.shared.head(power, self.penalty)
        n_shared, own = len(head), inverse_factor(complement[np.ix_(self.order, self.order)])
        # Rows in the nested order, columns in the given one.
        inverse = np.zeros((n_shared + len(own), n_shared + len(own)))
        inverse[:n_shared, :n_shared] = head
        inverse[n_shared:, :n_shared] = -own @ coupling[self.order] @ head
        inverse[n_shared:, n_shared + self.order] = own
        return (inverse,)

    def _solve(self, matrices, part, of_row):
        (inverse,) = matrices
        half = part @ inverse.T
        half[:, self.shared.n_shared :] *= self.allowed[of_row]
        return half @ inverse


class Factor(_ByLevel):
    """For problems with any parents: each has a small matrix, the inverse of its part of the Schur complement."""

    def _make(self, power):
        inverse, coupling, complement = self.shared.head(power, self.penalty)
        parts = np.zeros((len(self.allowed), *complement.shape))
        first: dict[bytes, int] = {}
        for q, own in enumerate(self.allowed):
            same = first.setdefault(own.tobytes(), q)
            columns = np.flatnonzero(own)
            if same < q:
                parts[q] = parts[same]
            elif len(columns):
                own_inverse = inverse_factor(complement[np.ix_(columns, columns)])
                parts[q][np.ix_(columns, columns)] = own_inverse.T @ own_inverse
        return inverse, coupling, parts

    def _solve(self, matrices, part, of_row):
        inverse, coupling, parts = matrices
        n_shared = self.shared.n_shared
        head = part[:, :n_shared] @ inverse.T
        tail = part[:, n_shared:] - head @ coupling.T
        tail = np.matmul(parts[of_row], tail[:, :, None])[:, :, 0]
        return np.hstack([(head - tail @ coupling) @ inverse, tail])


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
