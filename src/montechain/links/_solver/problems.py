"""Many regularised logistic problems that share X, solved together.

Every problem is scikit-learn's: minimise ``sum_i weight_i * log_loss_i + 1 / (2 C) * ||coefficients||²`` with an
unpenalised intercept, one row of log-odds for two classes and one row per class for more. The inputs are the columns of
X, which all problems share, and those of the parents that a problem has.

The method is L-BFGS on many problems at once: an iteration takes one product with the inputs and one with their
transpose for all of them. Two things make iterations few. Steps are found by Newton's method on the slope along the
direction, which needs no further product because margins are linear in the step. And the first guess of the inverse
Hessian is the inverse of ``c Z'Z + I / C``, where c is the mean of p (1 - p) of the problem; its factor is shared by
all problems with about the same c.

Larger problems are first solved with products in single precision. Then the gradient is computed in double precision,
and where it is not yet small enough, a few more iterations follow. Threads take blocks of problems; the blocks do not
depend on the number of threads, and so neither does the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._threads import one_blas_thread, run_in_threads
from montechain.links._solver.descent import MANY_PAIRS, Descent, Problems, centre
from montechain.links._solver.inputs import Inputs
from montechain.links._solver.preconditioner import LARGEST_FACTOR, Factors, diagonal
from montechain.links.base import class_counts
from montechain.links.design import column_extremes, ranges

WORK_BYTES = 2**27
"""Maximum scratch space of one block of problems, unless the inputs are larger."""
BLOCK_WIDTH = 24
"""Approximate number of scores in a block: enough to share products, few enough to occupy several threads."""
MIN_RELATIVE_DISTANCE = 64.0
"""Minimum distance of a column from zero, relative to its spread, for which it is shifted."""
MAX_UNSCALED = 2.0**40
"""Columns with entries above this are divided by a power of two, because squares of them would overflow."""
SINGLE_TOL = 1e-7
"""Minimum tolerance for which the solver starts in single precision."""


@dataclass(frozen=True)
class Solution:
    """Solved problems; the scores of problem q are the rows ``score_start[q]:score_start[q + 1]``.

    `coefficients` (W, 1 + D + P) holds the intercept, then the coefficients of X and of the parents, zero for parents
    that a problem does not have; with more than two classes, the rows of a problem sum to zero. `gradient` (Q,) is the
    largest absolute entry of the gradient of the objective divided by the problem's total weight.
    """

    coefficients: np.ndarray
    score_start: np.ndarray
    gradient: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray


class LogisticProblems:
    """Prepared inputs and targets, for any number of calls that solve problems about them.

    `X`, of shape (n, D), is an array or canonical CSR; `parent_columns`, of shape (n, P), are the inputs that only some
    of the problems have. `targets`, of shape (T, n), are classes 0..K-1, or negative where a row does not count. `C` is
    the inverse strength of the penalty; the coefficients of the parents have their own, `parent_C`, unless it is None.
    """

    descent: type[Descent] = Descent

    def __init__(
        self,
        X: Any,
        parent_columns: np.ndarray,
        targets: np.ndarray,
        sample_weight: np.ndarray,
        C: float = 1.0,
        parent_C: float | None = None,
    ):
        self.n_shared, self.sample_weight = 1 + X.shape[1], sample_weight
        self.codes = np.ascontiguousarray(targets, dtype=np.int32)
        self.counts = [class_counts(own, sample_weight, 2) for own in self.codes]
        self.shift, self.scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if X.shape[0] and not (sp.issparse(X) and np.abs(X.data).max(initial=0.0) <= MAX_UNSCALED):
            self.shift, self.scale = rescaling(column_extremes(X), sp.issparse(X))
        self.inputs = Inputs.of(rescaled(X, self.shift, self.scale), parent_columns)
        self.penalty = self._penalty(C, parent_C, parent_columns.shape[1])

    def _penalty(self, C: float, parent_C: float | None, n_parent_columns: int) -> np.ndarray:
        """Return the penalty of each coefficient, for the inputs as they are stored."""
        of_parents = np.full(n_parent_columns, 1.0 / (C if parent_C is None else parent_C))
        return np.concatenate([[0.0], 1.0 / C / self.scale / self.scale, of_parents])

    @cached_property
    def factors(self) -> Factors | None:
        """Factors for preconditioners; None if a diagonal promises less work.

        With a factor an iteration costs about ``F * F`` more multiplications for each score, on top of those with the
        inputs, and iterations are about half as many as with the diagonal.
        """
        n_columns = self.inputs.n_columns
        if n_columns > LARGEST_FACTOR or n_columns**2 > 4 * self.inputs.n_values:
            return None
        return Factors(self.inputs.gram(self.sample_weight), self.n_shared, self.penalty)

    def solve(
        self,
        allowed: np.ndarray,
        target_row: Sequence[int],
        n_classes: Sequence[int],
        *,
        centre: np.ndarray | None = None,
        class_weight: np.ndarray | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        initial: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> Solution:
        """Minimise the objectives of Q problems.

        `allowed`, of shape (Q, P), says which of the parents' columns each problem has; `target_row`, which row of the
        targets it is about. All of its `n_classes` must occur in rows of positive weight. What is penalised is the
        distance from `centre`, of shape (W, 1 + D + P), zero by default, intercepts excepted. `initial`, of the same
        shape, has coefficients to start from; by default, and where the intercept is NaN, they are those of the centre,
        with the intercepts of the class frequencies. A problem is solved when no entry of the gradient of its mean
        objective exceeds `tol`, and the decrease that another step promises is a small share of the objective.
        """
        n_problems, widths = len(target_row), np.array([1 if k == 2 else k for k in n_classes], dtype=np.int64)
        if class_weight is None:
            class_weight = np.ones((n_problems, max(n_classes)))
        counts = [self.counts[t][:k] * own[:k] for t, k, own in zip(target_row, n_classes, class_weight, strict=True)]
        problems = Problems(
            codes=self.codes, row=np.array(target_row, dtype=np.int64), score_start=np.cumsum([0, *widths]),
            weight=np.array([own.sum() for own in counts]), sample_weight=self.sample_weight, class_weight=class_weight,
            allowed=allowed, offset=np.zeros((widths.sum(), self.inputs.n_columns)), penalty=self.penalty,
        )  # fmt: skip
        if centre is not None:
            problems.offset[:] = self._internal(centre, problems)
        coefficients = self._start(initial, counts, problems)
        gradient, n_iter = np.zeros(n_problems), np.zeros(n_problems, dtype=np.int64)
        converged = np.zeros(n_problems, dtype=bool)

        def solve_block(chosen):
            scores = ranges(problems.score_start[chosen], widths[chosen])
            single_first = tol >= SINGLE_TOL and not self.inputs.is_small and (widths[chosen] == 1).all()
            options = self.inputs, precondition, problems, chosen
            found = self.descent(*options, coefficients[scores], tol, max_iter)
            if single_first and not np.isfinite(found.run(np.float32).coefficients).all():
                found = self.descent(*options, coefficients[scores], tol, max_iter)
            found.run(np.float64)
            coefficients[scores], n_iter[chosen] = found.coefficients, found.n_iter
            gradient[chosen], converged[chosen] = found.norm, found.converged

        with one_blas_thread():
            if self.factors is None:
                precondition = diagonal(self.inputs.squares(self.sample_weight), self.penalty)
            else:
                precondition = self.factors.restricted(allowed)
            run_in_threads(solve_block, self._blocks(counts, len(coefficients)), n_jobs)
        found = self._restored(coefficients)
        found = found if centre is None else found + centre
        return Solution(found, problems.score_start, gradient, n_iter, converged)

    def _restored(self, coefficients):
        """Return coefficients (W, 1 + D + P) for X as it was given."""
        intercept, of_x, parents = np.split(coefficients, [1, self.n_shared], axis=1)
        of_x = of_x / self.scale
        return np.hstack([intercept - of_x @ self.shift[:, None], of_x, parents])

    def _internal(self, coefficients, problems):
        """Return coefficients (W, F) for the inputs as they are stored, from those for X as it was given."""
        intercept, of_x, parents = np.split(coefficients, [1, self.n_shared], axis=1)
        intercept = intercept + of_x @ self.shift[:, None]
        return np.hstack([intercept, of_x * self.scale, parents * np.repeat(problems.allowed, problems.widths, axis=0)])

    def _start(self, initial, counts, problems):
        """Return coefficients to start from, one row for each score."""
        start = np.zeros_like(problems.offset)
        start[:, 0] = np.concatenate([np.log(own[1:] / own[0] if len(own) == 2 else own) for own in counts])
        if initial is not None:
            known = ~np.isnan(initial[:, 0])
            start[known] = (self._internal(initial, problems) - problems.offset)[known]
        # Taking the same off all classes changes no probability and can only lower the penalty.
        centre(problems.score_start, np.flatnonzero(problems.widths > 1), start)
        return start

    def _blocks(self, counts, n_scores):
        """Return arrays of problems to be solved together, the same for any number of threads.

        A label with many rows of both classes takes more iterations than a rare one, as a rule. Each block has some of
        both.
        """
        per_score = 16 * self.inputs.n_rows + 8 * (MANY_PAIRS + 4) * self.inputs.n_columns
        largest = max(1, max(WORK_BYTES, self.inputs.n_bytes) // per_score)
        n_blocks = max(n_scores // BLOCK_WIDTH, 2 if 2 * n_scores > BLOCK_WIDTH else 1, -(-n_scores // largest))
        longest_first = np.argsort([-own.min() for own in counts], kind="stable")
        dealt = [longest_first[block::n_blocks] for block in range(n_blocks)]
        return [problems for problems in dealt if len(problems)]


def rescaled(X: Any, shift: np.ndarray, scale: np.ndarray) -> Any:
    """Return X with its columns shifted and divided by `scale`, where that changes anything."""
    X = X - shift if shift.any() else X
    if (scale == 1.0).all():
        return X
    return X.multiply(1.0 / scale).tocsr() if sp.issparse(X) else X / scale


def rescaling(extremes: np.ndarray, is_sparse: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the shift and the divisor of each column, from what `column_extremes` returns.

    Columns that lie far from zero, such as years, are shifted unless they are sparse: that changes only the intercept,
    which is not penalised, but the way to the solution is shorter. Large ones are divided by powers of two, which is
    exact.
    """
    (low, high), shift = 0.5 * extremes, np.zeros(extremes.shape[1])
    if not is_sparse:
        shift = np.where(np.abs(low + high) / MIN_RELATIVE_DISTANCE > high - low, low + high, 0.0)
    largest = np.maximum(high - 0.5 * shift, 0.5 * shift - low)
    scale = np.where(largest > 0.5 * MAX_UNSCALED, np.ldexp(1.0, np.frexp(largest)[1]), 1.0)
    return shift, scale
