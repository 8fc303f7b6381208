"""Many regularised logistic problems that share X, solved together.

Every problem is scikit-learn's: minimise ``sum_i weight_i * log_loss_i + 1 / (2 C) * ||coefficients||²`` with an
unpenalised intercept, one column of log-odds for two classes and one column per class for more. The inputs are the
columns of X, which all problems share, and those of the parents that a problem has.

The method is L-BFGS on many problems at once: an iteration takes one product with the inputs and one with their
transpose for all of them. Two things make iterations few. Steps are found by Newton's method on the slope along the
direction, which needs no further product because margins are linear in the step. And the first guess of the inverse
Hessian is the inverse of ``c Z'Z + I / C``, where c is the mean of p (1 - p) of the problem at hand; its factor is
shared by all problems with about the same c.

Larger problems are first solved in single precision. Then the gradient is computed in double precision, and where it
is not yet small enough, a few more iterations follow. Threads take blocks of problems; the blocks do not depend on the
number of threads, and so neither does the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._kernels.quasi_newton import centre
from montechain._threads import one_blas_thread, run_in_threads
from montechain.links.descent import Descent, Targets, starts
from montechain.links.design import ranges, rescaled
from montechain.links.inputs import Inputs
from montechain.links.preconditioner import LARGEST_FACTOR, Diagonal, Shared

__all__ = ["LogisticProblems", "Solution", "solve_logistic"]

MANY_PAIRS, FEW_PAIRS = 40, 10
"""Pairs that L-BFGS remembers: fewer where each of them is long."""
LONG_PAIR = 5000
"""Number of inputs from which on a pair is long."""
WORK_BYTES = 2**27
"""Scratch space that one block of problems may take, or the size of the inputs if that is more."""
BLOCK_WIDTH = 24
"""Scores in a block, about: enough to share products, few enough that threads have blocks to take."""
SMALL_DENSE, SMALL_SPARSE = 2**16, 2**14
"""Up to so many numbers in the inputs, single precision saves nothing."""
SINGLE_TOL = 1e-7
"""Tolerances below this are asked of double precision from the start."""


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
    n_jobs: int | None = None,
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
        Called with the number of each problem as it is solved; by any of the threads.
    n_jobs : int, optional
        Threads.
    """
    problems = LogisticProblems(X, parent_columns, targets, sample_weight=sample_weight)
    return problems.solve(
        allowed, target_row, n_classes, C=C, class_weight=class_weight, tol=tol, max_iter=max_iter, initial=initial,
        on_solved=on_solved, n_jobs=n_jobs,
    )  # fmt: skip


class LogisticProblems:
    """Inputs and targets made ready, so that problems about them can be solved again and again.

    Parameters
    ----------
    X : ndarray or CSR matrix or array of shape (n, D)
    parent_columns : ndarray of shape (n, P)
    targets : int ndarray of shape (T, n)
    sample_weight : ndarray of shape (n,), optional
    """

    def __init__(
        self, X: Any, parent_columns: np.ndarray, targets: np.ndarray, *, sample_weight: np.ndarray | None = None
    ):
        n_rows, self.n_features = X.shape
        self.sample_weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.codes = np.ascontiguousarray(targets, dtype=np.int32)
        self._known_counts: dict[int, np.ndarray] = {}
        X, self.exponent = rescaled(X)
        self.rotation = None if self.exponent.any() else _rotation(X)
        self.inputs = Inputs.of(X if self.rotation is None else X @ self.rotation, parent_columns)
        self.n_rotated = self.inputs.n_columns - 1 - parent_columns.shape[1]
        self.n_pairs = MANY_PAIRS if self.inputs.n_columns < LONG_PAIR else FEW_PAIRS

    @cached_property
    def single(self) -> Inputs | None:
        """The inputs in single precision; None if they are few."""
        if self.inputs.n_values <= (SMALL_DENSE if self.inputs.n_dense else SMALL_SPARSE):
            return None
        return self.inputs.single()

    @cached_property
    def shared(self) -> Shared | None:
        """Factors for preconditioners; None if a diagonal promises less work.

        With a factor an iteration costs about ``F * F`` more multiplications for each score, on top of those with the
        inputs, and iterations are about half as many as with the diagonal.
        """
        n_columns = self.inputs.n_columns
        if n_columns > LARGEST_FACTOR or n_columns**2 > 4 * self.inputs.n_values:
            return None
        return Shared((self.single or self.inputs).gram(self.sample_weight), 1 + self.n_rotated)

    @cached_property
    def diagonal(self) -> Diagonal:
        """The preconditioner that always fits."""
        return Diagonal(self.inputs.squares(self.sample_weight))

    def solve(
        self,
        allowed: np.ndarray,
        target_row: Sequence[int] | np.ndarray,
        n_classes: Sequence[int] | np.ndarray,
        *,
        C: float = 1.0,
        class_weight: np.ndarray | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        initial: np.ndarray | None = None,
        on_solved: Callable[[int], None] | None = None,
        n_jobs: int | None = None,
    ) -> Solution:
        """Solve some problems; see `solve_logistic`."""
        row = np.asarray(target_row, dtype=np.int64)
        widths = np.array([1 if k == 2 else k for k in n_classes], dtype=np.int64)
        score_start = starts(widths)
        if class_weight is None:
            class_weight = np.ones((len(widths), max(n_classes, default=2)))
        counts = [
            self._counts(t)[:k] * class_weight[q, :k] for q, (t, k) in enumerate(zip(row, n_classes, strict=True))
        ]
        weight = np.array([own.sum() for own in counts])
        targets = Targets(self.codes, row, widths, weight, self.sample_weight, np.asarray(class_weight, float), allowed)
        coefficients = self._start(initial, counts, targets, score_start)
        gradient, n_iter = np.zeros(len(row)), np.zeros(len(row), dtype=np.int64)
        converged = np.zeros(len(row), dtype=bool)
        penalty = self._penalty(C)

        def solve_block(problems):
            scores = ranges(score_start[problems], widths[problems])
            limit = np.full(len(problems), max_iter)

            def descend(inputs, told):
                start = coefficients[scores]
                return Descent(
                    inputs, preconditioner, targets, self.n_pairs, problems, start, penalty, tol, limit, told
                ).run()

            if tol >= SINGLE_TOL and self.single is not None:
                rough = descend(self.single, None)
                if np.isfinite(rough.coefficients).all():
                    coefficients[scores] = rough.coefficients
                    n_iter[problems] = rough.n_iter
                    limit -= rough.n_iter
            fine = descend(self.inputs, on_solved)
            coefficients[scores], gradient[problems], converged[problems] = fine.coefficients, fine.norm, fine.converged
            n_iter[problems] += fine.n_iter

        with one_blas_thread():
            preconditioner = (self.shared and self.shared.preconditioner(allowed)) or self.diagonal
            run_in_threads(solve_block, self._blocks(counts, int(score_start[-1])), n_jobs)
        coef = coefficients[:, 1 : 1 + self.n_rotated].T
        coef = np.ldexp(coef, -self.exponent[:, None]) if self.rotation is None else self.rotation @ coef
        return Solution(
            np.ascontiguousarray(coef),
            np.ascontiguousarray(coefficients[:, 1 + self.n_rotated :].T),
            coefficients[:, 0].copy(),
            score_start,
            gradient,
            n_iter,
            converged,
        )

    def solve_path(self, allowed, target_row, n_classes, *, Cs: Sequence[float], **options: Any) -> list[Solution]:
        """Solve the same problems for several strengths of the penalty, in the order of `Cs`.

        Each solution starts from the one before it; so `Cs` should rise or fall. The other parameters are those of
        `solve_logistic`.
        """
        solutions: list[Solution] = []
        initial = None
        for C in Cs:
            found = self.solve(allowed, target_row, n_classes, C=C, initial=initial, **options)
            initial = np.vstack([found.intercept, found.coef, found.parent_coef]).T
            solutions.append(found)
        return solutions

    def _penalty(self, C):
        """Return the penalty of each column: none for the intercept, 1 / C for the others before they are rescaled."""
        penalty = np.full(self.inputs.n_columns, 1.0 / C)
        penalty[0] = 0.0
        if self.rotation is None:
            penalty[1 : 1 + self.n_rotated] = np.ldexp(1.0 / C, -2 * self.exponent)
        return penalty

    def _counts(self, target):
        """Return how much each class of a target weighs in all."""
        if target not in self._known_counts:
            self._known_counts[target] = class_counts(self.codes[target], self.sample_weight, 2)
        return self._known_counts[target]

    def _start(self, initial, counts, targets, score_start):
        """Return coefficients to start from, one row for each score."""
        start = np.zeros((int(score_start[-1]), self.inputs.n_columns))
        if initial is not None:
            first_parent = 1 + self.n_features
            of_x = initial[:, 1:first_parent]
            start[:, 0] = initial[:, 0]
            start[:, 1 : 1 + self.n_rotated] = (
                np.ldexp(of_x, self.exponent) if self.rotation is None else of_x @ self.rotation
            )
            start[:, 1 + self.n_rotated :] = initial[:, first_parent:]
            start[:, 1 + self.n_rotated :] *= np.repeat(targets.allowed, targets.widths, axis=0)
        for q, own in enumerate(counts):
            rows = slice(score_start[q], score_start[q + 1])
            if initial is None or np.isnan(start[rows, 0]).any():
                start[rows] = 0.0
                start[rows, 0] = np.log(own[1] / own[0]) if len(own) == 2 else np.log(own)
        # Taking the same off all classes changes no probability and can only lower the penalty.
        centre(score_start, start)
        return start

    def _blocks(self, counts, n_scores):
        """Return arrays of problems to be solved together, the same for any number of threads.

        A label with many rows of both classes takes more iterations than a rare one, as a rule. Each block has some of
        both, and begins with those that take long.
        """
        per_score = self.inputs.dtype.itemsize * (
            3 * self.inputs.n_rows + (2 * self.n_pairs + 6) * self.inputs.n_columns
        )
        largest = max(1, max(WORK_BYTES, self.inputs.n_bytes) // per_score)
        n_blocks = max(n_scores // BLOCK_WIDTH, 2 if 2 * n_scores > BLOCK_WIDTH else 1, -(-n_scores // largest))
        longest_first = np.argsort([-own.min() for own in counts], kind="stable")
        dealt = [longest_first[block::n_blocks] for block in range(n_blocks)]
        return [problems for problems in dealt if len(problems)]


def class_counts(target, sample_weight, n_classes):
    """Return the total weight of each class; unknown (negative) classes are left out."""
    # Unknown classes are counted first, then left out.
    return np.bincount(target + 1, weights=sample_weight, minlength=n_classes + 1)[1:]


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
