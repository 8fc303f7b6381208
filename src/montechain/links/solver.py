"""Many regularised logistic problems that share X, solved together.

Every problem is scikit-learn's: minimise ``sum_i weight_i * log_loss_i + 1 / (2 C) * ||coefficients||²`` with an
unpenalised intercept, one column of log-odds for two classes and one column per class for more. The inputs are the
columns of X, which all problems share, and those of the parents that a problem has.

The method is L-BFGS on all problems at once: an iteration takes one product with the inputs and one with their
transpose, whatever the number of problems. Two things make iterations few. Steps are found by Newton's method on the
slope along the direction, which needs no further product because margins are linear in the step. And the first guess
of the inverse Hessian is the inverse of ``c Z'Z + I / C``, where c is the mean of p (1 - p) of the problem at hand;
its factor is shared by all problems with about the same c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.blas import dtrsm

from montechain._kernels.margins import (
    search_along,
    sparse_gram,
    sparse_product,
    two_loop_down,
    two_loop_up,
)

__all__ = ["Solution", "solve_logistic"]

N_PAIRS = 10
"""Pairs that L-BFGS remembers."""
SLOPE_ACCURACY = 0.3
"""Share of the first slope at which the search along a direction may stop."""
MAX_EVALUATIONS = 40
"""Evaluations after which the search along a direction gives up."""
ROUNDING = 1e-24
"""Promised decreases of the mean objective below this are rounding errors of the gradient."""
STUCK = 1e-12
"""Promised decreases below this count as solved if the search along the direction finds nothing any more."""
LARGEST_FACTOR = 2000
"""Number of inputs up to which a Cholesky factor pays."""
WORK_BYTES = 2**27
"""Scratch space that one block of problems may take, or the size of the inputs if that is more."""


@dataclass(frozen=True)
class Solution:
    """Solved problems; the scores of problem q are the columns ``score_start[q]:score_start[q + 1]``.

    Attributes
    ----------
    coef : ndarray of shape (D, W)
    parent_coef : ndarray of shape (P, W)
        Zero where a parent column does not belong to a problem.
    intercept : ndarray of shape (W,)
        With more than two classes the intercepts of a problem sum to zero, and so do all coefficients.
    score_start : int64 ndarray of shape (Q + 1,)
    gradient : ndarray of shape (Q,)
        Largest absolute entry of the gradient of the objective divided by the problem's total weight.
    n_iter : int64 ndarray of shape (Q,)
    converged : bool ndarray of shape (Q,)
        Whether `gradient` is at most `tol`, or as small as rounding errors allow it to be.
    """

    coef: np.ndarray
    parent_coef: np.ndarray
    intercept: np.ndarray
    score_start: np.ndarray
    gradient: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


def solve_logistic(
    X,
    parent_columns: np.ndarray,
    allowed: np.ndarray,
    targets: np.ndarray,
    target_row: Sequence[int] | np.ndarray,
    n_classes: Sequence[int] | np.ndarray,
    *,
    C: float = 1.0,
    sample_weight: np.ndarray | None = None,
    class_weight: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    initial: np.ndarray | None = None,
    on_solved: Callable[[int], None] | None = None,
) -> Solution:
    """Minimise the objectives of Q logistic problems that share X.

    Parameters
    ----------
    X : ndarray or CSR matrix or array of shape (n, D)
    parent_columns : ndarray of shape (n, P)
        The inputs that only some of the problems have.
    allowed : bool ndarray of shape (Q, P)
        Which of them each problem has.
    targets : int ndarray of shape (T, n)
        Classes 0..K-1; negative where unknown: that row does not count.
    target_row : sequence of Q ints
        The row of `targets` that a problem is about.
    n_classes : sequence of Q ints
        Number of classes K of each problem, all of which must occur in rows of positive weight.
    C : float
        Inverse strength of the penalty.
    sample_weight : ndarray of shape (n,), optional
    class_weight : ndarray of shape (Q, largest K), optional
    tol : float
        A problem is solved when no entry of the gradient of its mean objective exceeds this.
    max_iter : int
    initial : ndarray of shape (W, 1 + D + P), optional
        Coefficients to start from, one row per score: intercept, X, parents. By default, and for problems whose
        intercept is NaN, the coefficients are zero and the intercepts are those of the class frequencies.
    on_solved : callable, optional
        Called with the number of each problem as it is solved.
    """
    target_row = np.asarray(target_row, dtype=np.int64)
    widths = np.array([1 if k == 2 else k for k in n_classes], dtype=np.int64)
    n_problems, n_features, n_parents = len(target_row), X.shape[1], parent_columns.shape[1]
    n_rows = X.shape[0]
    score_start = _starts(widths)
    sample_weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if class_weight is None:
        class_weight = np.ones((n_problems, max(n_classes, default=2)))
    targets = np.ascontiguousarray(targets, dtype=np.int32)

    column_order, nested = _nesting(allowed)
    parent_columns, allowed = parent_columns[:, column_order], allowed[:, column_order]
    rotation = _rotation(X)
    if rotation is None:
        design = (_SparseDesign if sp.issparse(X) else _DenseDesign)(X, parent_columns)
    else:
        design = _DenseDesign(X @ rotation, parent_columns)
    n_rotated = design.n_columns - 1 - n_parents
    preconditioner = _preconditioner(design, sample_weight, C, allowed, nested)

    start = np.zeros((int(score_start[-1]), design.n_columns))
    if initial is not None:
        start[:, 0] = initial[:, 0]
        x_part = initial[:, 1 : 1 + n_features]
        start[:, 1 : 1 + n_rotated] = x_part if rotation is None else x_part @ rotation
        start[:, 1 + n_rotated :] = initial[:, 1 + n_features :][:, column_order]
        start[:, 1 + n_rotated :] *= np.repeat(allowed, widths, axis=0)
    for q in range(n_problems):
        rows = slice(score_start[q], score_start[q + 1])
        if initial is None or np.isnan(start[rows, 0]).any():
            counts = class_counts(targets[target_row[q]], sample_weight, n_classes[q])
            log_counts = np.log(counts * class_weight[q, : n_classes[q]])
            start[rows] = 0.0
            start[rows, 0] = np.diff(log_counts) if n_classes[q] == 2 else log_counts
    # Taking the same off all classes changes no probability and can only lower the penalty.
    _centre(start, widths, score_start)

    gradient, n_iter, converged = np.zeros(n_problems), np.zeros(n_problems, dtype=np.int64), np.zeros(n_problems, bool)
    per_score = 8 * (4 * n_rows + (2 * N_PAIRS + 6) * design.n_columns)
    block_width = max(WORK_BYTES, design.n_bytes) // per_score
    for first, last in _blocks(widths, block_width):
        rows = slice(score_start[first], score_start[last])
        start[rows], gradient[first:last], n_iter[first:last], converged[first:last] = _minimise(
            design,
            preconditioner,
            start[rows],
            allowed[first:last],
            widths[first:last],
            targets,
            target_row[first:last],
            sample_weight,
            np.ascontiguousarray(class_weight[first:last], dtype=np.float64),
            1.0 / C,
            tol,
            max_iter,
            None if on_solved is None else lambda q, first=first: on_solved(first + q),
        )

    intercept = start[:, 0].copy()
    coef = start[:, 1 : 1 + n_rotated].T
    parent_coef = np.empty((n_parents, len(intercept)))
    parent_coef[column_order] = start[:, 1 + n_rotated :].T
    return Solution(
        np.ascontiguousarray(coef if rotation is None else rotation @ coef),
        parent_coef,
        intercept,
        score_start,
        gradient,
        n_iter,
        converged,
    )


def _minimise(
    design,
    preconditioner,
    coefficients,
    allowed,
    widths,
    targets,
    target_row,
    sample_weight,
    class_weight,
    penalty,
    tol,
    max_iter,
    on_solved,
):
    """Run L-BFGS on one block of problems; return coefficients, gradient norms, iterations and convergence."""
    n_problems = len(widths)
    result = coefficients.copy()
    result_norm, result_iter = np.zeros(n_problems), np.zeros(n_problems, dtype=np.int64)
    result_converged = np.zeros(n_problems, dtype=bool)

    # Everything below is about the problems not yet solved, and shrinks as they are.
    problems = np.arange(n_problems)
    rows = np.arange(len(coefficients))
    score_start = _starts(widths)
    weight = np.empty(n_problems)
    for q in range(n_problems):
        target = targets[target_row[q]]
        known = target >= 0
        weight[q] = (sample_weight[known] * class_weight[q, target[known]]).sum()
    total_sample_weight = sample_weight.sum()
    mask = np.repeat(allowed, widths, axis=0)
    margin = design.product(coefficients)
    residual = np.empty_like(margin)
    information, step, slope = np.empty(len(rows)), np.zeros(n_problems), np.zeros(n_problems)

    def search(change, penalty_slope, penalty_curvature):
        search_along(
            margin, change, score_start, targets, target_row, sample_weight, class_weight, slope, penalty_slope,
            penalty_curvature, SLOPE_ACCURACY, MAX_EVALUATIONS, residual, information, step,
        )  # fmt: skip

    search(margin, slope, slope)  # slopes of zero: nothing moves, but the residuals are computed
    gradient = _gradient(design, residual, coefficients, penalty, mask)
    steps, changes = np.empty((2, N_PAIRS, *coefficients.shape))
    inverse, shares = np.zeros((2, N_PAIRS, n_problems))
    n_stored, newest = 0, -1
    stuck = np.zeros(n_problems, dtype=bool)

    for iteration in range(max_iter + 1):
        direction = -gradient
        two_loop_down(score_start, n_stored, newest, steps, changes, inverse, direction, shares)
        preconditioner.apply(direction, information / total_sample_weight, mask, problems, score_start)
        # Gradients sum to zero over the classes; directions that do so too keep the coefficients as small as can be.
        _centre(direction, widths, score_start)
        two_loop_up(score_start, n_stored, newest, steps, changes, inverse, direction, shares)
        slope = _dots(direction, gradient, score_start)

        norm = np.maximum.reduceat(np.abs(gradient).max(axis=1), score_start[:-1]) / weight
        promised = -slope / weight
        # The second condition keeps inputs of tiny scale, whose gradients are always small, from ending at the start.
        solved = ((norm <= tol) & (promised <= tol)) | (promised <= np.where(stuck, STUCK, ROUNDING))
        finished = solved | stuck | (iteration == max_iter)
        if finished.any():
            done = np.repeat(finished, widths)
            result[rows[done]] = coefficients[done]
            result_norm[problems[finished]] = norm[finished]
            result_iter[problems[finished]] = iteration
            result_converged[problems[finished]] = solved[finished]
            if on_solved is not None:
                for q in problems[finished]:
                    on_solved(int(q))
            if finished.all():
                break
            kept, left = ~finished, ~done
            problems, widths, weight, target_row = problems[kept], widths[kept], weight[kept], target_row[kept]
            class_weight, slope, step, stuck = class_weight[kept], slope[kept], step[kept], stuck[kept]
            inverse, shares = inverse[:, kept], shares[:, kept]
            rows, mask, margin, residual, information = (
                rows[left],
                mask[left],
                margin[left],
                residual[left],
                information[left],
            )
            coefficients, gradient, direction = coefficients[left], gradient[left], direction[left]
            steps, changes = steps[:, left], changes[:, left]
            score_start = _starts(widths)

        penalised = direction.copy()
        penalised[:, 0] = 0.0
        slope_of_penalty = penalty * _dots(penalised, coefficients, score_start)
        search(design.product(direction), slope_of_penalty, penalty * _dots(penalised, direction, score_start))
        # A problem that finds no way down tries once more without what it remembers, then it stops.
        failed = step == 0.0
        stuck = failed & ~inverse.any(axis=0)
        inverse[:, failed] = 0.0

        newest = (newest + 1) % N_PAIRS
        n_stored = min(n_stored + 1, N_PAIRS)
        direction *= np.repeat(step, widths)[:, None]
        coefficients = coefficients + direction
        before, gradient = gradient, _gradient(design, residual, coefficients, penalty, mask)
        steps[newest] = direction
        np.subtract(gradient, before, out=changes[newest])
        products = _dots(steps[newest], changes[newest], score_start)
        inverse[newest] = np.divide(1.0, products, out=np.zeros_like(products), where=products > 0.0)
    return result, result_norm, result_iter, result_converged


def _gradient(design, residual, coefficients, penalty, mask):
    """Return the gradient of the objectives, zero where a coefficient is not allowed."""
    gradient = design.transposed_product(residual)
    gradient[:, 1:] += penalty * coefficients[:, 1:]
    gradient[:, gradient.shape[1] - mask.shape[1] :] *= mask
    return gradient


def _dots(left, right, score_start):
    """Return for each problem the inner product of its rows."""
    return np.add.reduceat(np.einsum("wf,wf->w", left, right), score_start[:-1])


def _centre(values, widths, score_start):
    """Make the rows of each problem with more than two classes sum to zero, in place."""
    if (widths > 1).any():
        means = np.add.reduceat(values, score_start[:-1], axis=0) / widths[:, None]
        means[widths == 1] = 0.0
        values -= np.repeat(means, widths, axis=0)


def _starts(widths):
    """Return where each of consecutive pieces of these widths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)


def _blocks(widths, largest):
    """Yield ranges of consecutive problems whose widths sum to at most `largest`; at least one problem each."""
    first, width = 0, 0
    for q, own in enumerate(widths):
        if q > first and width + own > largest:
            yield first, q
            first, width = q, 0
        width += own
    if first < len(widths):
        yield first, len(widths)


def class_counts(target, sample_weight, n_classes):
    """Return the total weight of each class; unknown (negative) classes are left out."""
    known = target >= 0
    return np.bincount(target[known], weights=sample_weight[known], minlength=n_classes)


class _DenseDesign:
    """The inputs [1, X, parents] as one array of shape (n, F)."""

    def __init__(self, X, parent_columns):
        n_rows, n_features = X.shape
        self.values = np.empty((n_rows, 1 + n_features + parent_columns.shape[1]))
        self.values[:, 0] = 1.0
        self.values[:, 1 : 1 + n_features] = X
        self.values[:, 1 + n_features :] = parent_columns
        self.n_rows, self.n_columns = self.values.shape
        self.n_values, self.n_bytes = self.values.size, self.values.nbytes

    def product(self, coefficients):
        """Return the margins, of shape (W, n), for coefficients of shape (W, F)."""
        return coefficients @ self.values.T

    def transposed_product(self, residual):
        """Return the gradient of the loss, of shape (W, F), for residuals of shape (W, n)."""
        return residual @ self.values

    def gram(self, sample_weight):
        """Return the weighted Gram matrix, of shape (F, F)."""
        total = np.zeros((self.n_columns, self.n_columns))
        block = max(1, 2**20 // self.n_columns)
        for first in range(0, self.n_rows, block):
            part = self.values[first : first + block]
            total += (part * sample_weight[first : first + block, None]).T @ part
        return total

    def squares(self, sample_weight):
        """Return the diagonal of the weighted Gram matrix."""
        return np.einsum("nf,nf,n->f", self.values, self.values, sample_weight)


class _SparseDesign:
    """The inputs [1, X, parents] as one CSR matrix of shape (n, F)."""

    def __init__(self, X, parent_columns):
        ones = np.ones((X.shape[0], 1))
        values = sp.hstack([sp.csr_matrix(ones), sp.csr_matrix(X), sp.csr_matrix(parent_columns)], format="csr")
        values.sum_duplicates()
        values.sort_indices()
        self.n_rows, self.n_columns = values.shape
        self.arrays = _csr_arrays(values)
        # By columns as well: a sum that is gathered is much faster than one that is scattered.
        self.transposed_arrays = _csr_arrays(values.T.tocsr())
        self.n_values, self.n_bytes = values.nnz, 2 * sum(array.nbytes for array in self.arrays)

    def product(self, coefficients):
        """Return the margins, of shape (W, n), for coefficients of shape (W, F)."""
        out = np.empty((len(coefficients), self.n_rows))
        sparse_product(*self.arrays, np.ascontiguousarray(coefficients.T), out)
        return out

    def transposed_product(self, residual):
        """Return the gradient of the loss, of shape (W, F), for residuals of shape (W, n)."""
        out = np.empty((len(residual), self.n_columns))
        sparse_product(*self.transposed_arrays, np.ascontiguousarray(residual.T), out)
        return out

    def gram(self, sample_weight):
        """Return the weighted Gram matrix, of shape (F, F)."""
        lower = np.zeros((self.n_columns, self.n_columns))
        sparse_gram(*self.arrays, sample_weight, lower)
        return lower + np.tril(lower, -1).T

    def squares(self, sample_weight):
        """Return the diagonal of the weighted Gram matrix."""
        indptr, indices, data = self.arrays
        weight = np.repeat(sample_weight, np.diff(indptr))
        return np.bincount(indices, weights=weight * data * data, minlength=self.n_columns)


def _csr_arrays(matrix):
    return matrix.indptr.astype(np.int64), matrix.indices, matrix.data.astype(np.float64, copy=False)


def _rotation(X):
    """Return V (D, r) with orthonormal columns that span the rows of a dense X, if that makes the problem smaller.

    The best coefficients lie in the span of the rows, and the penalty is the same for V'w as for w, so that X may be
    replaced by X V, which has no more columns than rows.
    """
    n_rows, n_features = X.shape
    if sp.issparse(X) or n_features <= 1.2 * n_rows or n_rows > LARGEST_FACTOR:
        return None
    X = np.asarray(X, dtype=np.float64)
    squares, left = np.linalg.eigh(X @ X.T)
    kept = squares > squares[-1] * n_rows * np.finfo(float).eps
    # Rounding errors of small directions are amplified by the division; one step of Gram-Schmidt repairs them.
    rotation, _ = np.linalg.qr(X.T @ (left[:, kept] / np.sqrt(squares[kept])))
    return rotation


def _nesting(allowed):
    """Return an order of the parent columns in which those of every problem come first, and whether there is one."""
    counts = allowed.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    sizes = allowed.sum(axis=1)
    nested = bool((allowed[:, order] == (np.arange(allowed.shape[1]) < sizes[:, None])).all())
    return order, nested


def _preconditioner(design, sample_weight, C, allowed, nested):
    """Return the preconditioner that promises the least work.

    With a factor an iteration costs about ``F * F`` more multiplications for each score, on top of those with the
    inputs, and iterations are about half as many as with the diagonal.
    """
    if design.n_columns <= LARGEST_FACTOR and design.n_columns**2 <= 4 * design.n_values:
        return _Factor(design.gram(sample_weight), C, allowed, nested)
    return _Diagonal(design.squares(sample_weight), C)


class _Diagonal:
    """Divides by the diagonal of ``c Z'Z + I / C``."""

    def __init__(self, squares, C):
        self.squares = squares
        self.penalty = np.full(len(squares), 1.0 / C)
        self.penalty[0] = 0.0

    def apply(self, direction, level, mask, problems, score_start):
        """Divide `direction` (W, F) in place, given the c of each row."""
        direction /= np.maximum(np.multiply.outer(level, self.squares) + self.penalty, 1e-300)


class _Factor:
    """Divides by ``c Z'Z + I / C``, restricted to the columns that a problem has.

    A Cholesky factor is kept for each power of 4 near which a c lies. The leading block of a factor belongs to the
    columns that all problems have; parents that are not nested take a small factor of the Schur complement each.
    """

    def __init__(self, gram, C, allowed, nested):
        self.gram = gram
        self.penalty = 1.0 / C
        self.allowed = allowed
        self.nested = nested
        self.n_shared = len(gram) - allowed.shape[1]
        self.factors: dict[int, np.ndarray] = {}
        self.complements: dict[int, np.ndarray] = {}
        self.parts: dict[tuple[int, bytes], np.ndarray] = {}

    def apply(self, direction, level, mask, problems, score_start):
        """Divide `direction` (W, F) in place, given the c of each row."""
        powers = np.round(np.log(np.maximum(level, 1e-12)) / np.log(4.0)).astype(int)
        for power in np.unique(powers):
            rows = np.flatnonzero(powers == power)
            part = direction if len(rows) == len(direction) else direction[rows]
            solved = self._solve(int(power), part, mask[rows], problems, score_start, rows)
            direction[rows] = solved

    def _solve(self, power, part, mask, problems, score_start, rows):
        factor = self._factor(power)
        n_shared = self.n_shared
        if self.nested:
            part = dtrsm(1.0, factor, part.T, lower=1).T
            part[:, n_shared:] *= mask
            return dtrsm(1.0, factor, part.T, lower=1, trans_a=1).T
        shared = factor[:n_shared, :n_shared]
        coupling = factor[n_shared:, :n_shared]
        head = dtrsm(1.0, shared, part[:, :n_shared].T, lower=1).T
        tail = part[:, n_shared:] - head @ coupling.T
        for row, (own, own_mask) in enumerate(zip(tail, mask, strict=True)):
            columns = np.flatnonzero(own_mask)
            solution = scipy.linalg.cho_solve(
                (self._part(power, own_mask, columns), True), own[columns], check_finite=False
            )
            tail[row] = 0.0
            tail[row, columns] = solution
        head = dtrsm(1.0, shared, (head - tail @ coupling).T, lower=1, trans_a=1).T
        return np.hstack([head, tail])

    def _factor(self, power):
        if power not in self.factors:
            matrix = 4.0**power * self.gram
            matrix[np.arange(1, len(matrix)), np.arange(1, len(matrix))] += self.penalty
            self.factors[power] = _cholesky(matrix)
        return self.factors[power]

    def _part(self, power, own_mask, columns):
        key = (power, own_mask.tobytes())
        if key not in self.parts:
            if sum(part.nbytes for part in self.parts.values()) > WORK_BYTES:
                self.parts.clear()  # they are quickly made again
            if power not in self.complements:
                tail = self._factor(power)[self.n_shared :, self.n_shared :]
                self.complements[power] = tail @ tail.T
            self.parts[key] = _cholesky(self.complements[power][np.ix_(columns, columns)])
        return self.parts[key]


def _cholesky(matrix):
    """Return the lower Cholesky factor in Fortran order; a diagonal is added if the matrix is not quite definite."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    scaled = matrix / scale / scale[:, None]
    jitter = 1e-14
    while True:
        try:
            scaled[np.diag_indices_from(scaled)] = 1.0 + jitter
            return np.asfortranarray(scale[:, None] * scipy.linalg.cholesky(scaled, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            jitter *= 100.0
