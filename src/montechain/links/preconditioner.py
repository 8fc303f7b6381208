"""First guesses of the inverse Hessian of logistic problems, shared by all of them.

The Hessian is ``Z' diag(p (1 - p)) Z + I / C``; the guess is that p (1 - p) is the same in all rows: c, its mean.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dtrtri

from montechain._kernels.quasi_newton import divide_by_diagonal
from montechain.links.inputs import Inputs

__all__ = ["Diagonal", "Factor", "best_preconditioner", "nesting"]

LARGEST_FACTOR = 2000
"""Number of inputs up to which a Cholesky factor pays."""
PARTS_BYTES = 2**27
"""Space for small matrices of problems whose parents are not nested."""


def nesting(allowed: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return an order of the parent columns in which those of every problem come first, and whether there is one."""
    counts = allowed.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    sizes = allowed.sum(axis=1)
    nested = bool((allowed[:, order] == (np.arange(allowed.shape[1]) < sizes[:, None])).all())
    return order, nested


def best_preconditioner(inputs: Inputs, sample_weight: np.ndarray, allowed: np.ndarray, nested: bool):
    """Return the preconditioner that promises the least work.

    With a factor an iteration costs about ``F * F`` more multiplications for each score, on top of those with the
    inputs, and iterations are about half as many as with the diagonal.
    """
    n_parts = 0 if nested else len(allowed) * allowed.shape[1] ** 2
    fits = inputs.n_columns <= LARGEST_FACTOR and 8 * n_parts <= PARTS_BYTES
    if fits and inputs.n_columns**2 <= 4 * inputs.n_values:
        return Factor(inputs.gram(sample_weight), allowed, nested, inputs.dtype)
    return Diagonal(inputs.squares(sample_weight), inputs.dtype)


class Diagonal:
    """Divides by the diagonal of ``c Z'Z + I / C``."""

    def __init__(self, squares, dtype):
        self.squares = squares.astype(dtype)

    def apply(self, direction, level, problems, score_start, penalty):
        """Divide `direction` (W, F) in place, given the c of each row; `problems` are those at hand."""
        divide_by_diagonal(direction, level, self.squares, penalty)


class Factor:
    """Divides by ``c Z'Z + I / C``, restricted to the columns that a problem has.

    The inverse of a Cholesky factor is kept for each power of 4 near which a c lies. Its leading block belongs to the
    columns that all problems have. If the parents are nested, so that those of a problem come first, clearing what
    belongs to the others half way is all that the restriction takes. Otherwise each problem has a small matrix of its
    own, the inverse of its part of the Schur complement.
    """

    def __init__(self, gram, allowed, nested, dtype):
        self.gram = gram
        self.allowed = allowed
        self.nested = nested
        self.dtype = dtype
        self.n_shared = len(gram) - allowed.shape[1]
        self.inverses: dict[tuple[int, float], np.ndarray] = {}
        self.parts: dict[tuple[int, float], np.ndarray] = {}
        self.couplings: dict[tuple[int, float], np.ndarray] = {}

    def apply(self, direction, level, problems, score_start, penalty):
        """Divide `direction` (W, F) in place, given the c of each row; `problems` are those at hand."""
        powers = np.round(np.log(np.maximum(level, 1e-12)) / np.log(4.0)).astype(int)
        of_row = np.repeat(problems, np.diff(score_start))
        for power in set(powers.tolist()):
            rows = np.flatnonzero(powers == power)
            solve = self._solve_nested if self.nested else self._solve
            direction[rows] = solve((power, penalty), direction[rows], of_row[rows])

    def _solve_nested(self, key, part, of_row):
        inverse = self._inverse(key)
        half = part @ inverse.T
        half[:, self.n_shared :] *= self.allowed[of_row]
        return half @ inverse

    def _solve(self, key, part, of_row):
        n_shared = self.n_shared
        inverse = self._inverse(key)
        coupling, parts = self.couplings[key], self.parts[key]
        head = part[:, :n_shared] @ inverse.T
        tail = part[:, n_shared:] - head @ coupling.T
        tail = np.matmul(parts[of_row], tail[:, :, None])[:, :, 0]
        return np.hstack([(head - tail @ coupling) @ inverse, tail])

    def _inverse(self, key):
        """Return the inverse of the factor, the leading block of it if parents are not nested."""
        if key not in self.inverses:
            power, penalty = key
            matrix = 4.0**power * self.gram
            matrix[np.arange(1, len(matrix)), np.arange(1, len(matrix))] += penalty
            if self.nested:
                self.inverses[key] = inverse_factor(matrix).astype(self.dtype)
            else:
                n_shared = self.n_shared
                inverse = inverse_factor(matrix[:n_shared, :n_shared])
                coupling = matrix[n_shared:, :n_shared] @ inverse.T
                complement = matrix[n_shared:, n_shared:] - coupling @ coupling.T
                self.parts[key] = self._own_parts(complement).astype(self.dtype)
                self.couplings[key] = coupling.astype(self.dtype)
                self.inverses[key] = inverse.astype(self.dtype)
        return self.inverses[key]

    def _own_parts(self, complement):
        """Return for each problem the inverse of its part of the complement, zero elsewhere."""
        parts = np.zeros((len(self.allowed), *complement.shape))
        known: dict[bytes, int] = {}
        for q, own in enumerate(self.allowed):
            first = known.setdefault(own.tobytes(), q)
            columns = np.flatnonzero(own)
            if first < q:
                parts[q] = parts[first]
            elif len(columns):
                inverse = inverse_factor(complement[np.ix_(columns, columns)])
                parts[q][np.ix_(columns, columns)] = inverse.T @ inverse
        return parts


def inverse_factor(matrix):
    """Return the inverse of the lower Cholesky factor; a diagonal is added if the matrix is not quite definite."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix / scale / scale[:, None]
    jitter = 1e-14
    while True:
        try:
            scaled[np.diag_indices_from(scaled)] = 1.0 + jitter
            factor = scipy.linalg.cholesky(scaled, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 100.0
        else:
            inverse, _ = dtrtri(factor, lower=1)
            return np.tril(inverse) / scale
