"""L-BFGS on many logistic problems at once, so that a product with the inputs serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from montechain._kernels.margins import ACCURACY, search_binary, search_softmax
from montechain._kernels.quasi_newton import look_ahead, move, sweep
from montechain.links._solver.inputs import Inputs
from montechain.links.design import ranges

ROUNDING = {np.float64: 1e-24, np.float32: 1e-13}
"""Promised decreases of the mean objective below this are rounding errors, in double and in single precision."""
STUCK = {np.float64: 1e-12, np.float32: 1e-7}
"""Promised decreases below this count as solved if the search along the direction makes no more progress."""
MANY_PAIRS, FEW_PAIRS = 40, 10
"""Pairs of steps and gradient changes that L-BFGS remembers: fewer where each of them is long."""
LONG_PAIR = 5000
"""Minimum number of inputs for which a pair counts as long."""


@dataclass(frozen=True)
class Problems:
    """Q problems; the scores of problem q are the rows ``score_start[q]:score_start[q + 1]`` of arrays (W, F)."""

    codes: np.ndarray  # (T, n), int32: classes, negative where unknown
    row: np.ndarray  # (Q,): the row of `codes` that each problem is about
    score_start: np.ndarray  # (Q + 1,)
    weight: np.ndarray  # (Q,): total weight of each problem's rows
    sample_weight: np.ndarray  # (n,)
    class_weight: np.ndarray  # (Q, K)
    allowed: np.ndarray  # (Q, P), bool: the parents that each problem has
    offset: np.ndarray  # (W, F): added to the coefficients in the margins, but not in the penalty
    penalty: np.ndarray  # (F,): the objective has ``penalty @ coefficients**2 / 2`` added for each score

    @property
    def widths(self) -> np.ndarray:
        """Number of scores of each problem."""
        return np.diff(self.score_start)


class Descent:
    """Minimise the objectives of some of the `problems`, those in the block `chosen`; long ones should come first.

    Problems that are solved make room for those that wait, so that products serve as many as they can at the price of
    one. Arrays of the whole block are indexed by `rows`. Attributes that begin with an underscore belong to the
    problems under way. `coefficients`, a row for each score of the block, are the start and become the solution.
    """

    def __init__(
        self,
        inputs: Inputs,
        precondition: Callable[..., None],
        problems: Problems,
        chosen: np.ndarray,
        coefficients: np.ndarray,
        tol: float,
        max_iter: int,
    ):
        self.inputs, self.precondition, self.problems = inputs, precondition, problems
        self.chosen, self.coefficients, self.tol, self.max_iter = chosen, coefficients, float(tol), max_iter
        self.widths = problems.widths[chosen]
        self.score_start = np.cumsum([0, *self.widths])
        self.allowed = np.repeat(problems.allowed[chosen], self.widths, axis=0)
        self.total_weight = problems.sample_weight.sum()
        self.norm, self.n_iter = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=np.int64)
        self.converged, self.stuck = np.zeros((2, len(chosen)), dtype=bool)

        shape, n_pairs = coefficients.shape, MANY_PAIRS if inputs.n_columns < LONG_PAIR else FEW_PAIRS
        self.steps, self.changes = np.empty((2, n_pairs, *shape), dtype=np.float32)
        self.inverse = np.zeros((n_pairs, shape[0]))
        self.gradient, self.information = np.empty(shape), np.empty(shape[0])

    def run(self, dtype: Any) -> Descent:
        """Solve all problems; `coefficients`, `norm`, `n_iter` and `converged` are the result.

        `dtype` is the precision of margins and of products with the inputs. Another run continues where the last one
        ended. Multi-class problems take double precision.
        """
        n_scores, at_once = len(self.coefficients), self.inputs.scores_at_once(dtype)
        n_together = min(n_scores, max(at_once, self.widths.max()))
        self.dtype, self.n_entered = dtype, 0
        self.sample_weight = self.problems.sample_weight.astype(dtype, copy=False)
        self.class_weight = self.problems.class_weight[self.chosen].astype(dtype, copy=False)
        self.margin = np.empty((n_scores, self.inputs.n_rows), dtype=dtype)
        self.change = np.empty((n_together, self.inputs.n_rows), dtype=dtype)
        self.residual = np.empty((self.widths.max(), self.inputs.n_rows), dtype=dtype)
        self.scratch = self.inputs.scratch(dtype)
        self._keep(np.arange(0))
        while True:
            if self.n_entered < len(self.widths) and 2 * len(self._rows) <= at_once:
                self._enter(at_once - len(self._rows))
            direction = self._direction()
            direction = direction[self._leave()]
            if len(self._left):
                self._advance(direction)
            elif self.n_entered == len(self.widths):
                del self.margin, self.change, self.residual, self.scratch
                return self

    def _enter(self, room):
        """Start problems that wait, as many as there is room for."""
        before, start = self._left, self.n_entered
        n_new = max(1, int(np.searchsorted(self.score_start[start + 1 :] - self.score_start[start], room, "right")))
        self.n_entered += n_new
        self._keep(np.arange(start, self.n_entered))
        rows, problems = slice(self._rows[0], self._rows[-1] + 1), self.problems
        offset = problems.offset[ranges(problems.score_start[self.chosen[self._left]], self._widths)]
        gradient = self._gradient_here(rows, offset).astype(np.float64)
        gradient[:, gradient.shape[1] - self.allowed.shape[1] :] *= self.allowed[rows]
        self.gradient[rows] = gradient + problems.penalty * self.coefficients[rows]
        self.stuck[self._left] = False
        self._keep(np.concatenate([before, self._left]))

    def _keep(self, left):
        """Set what depends on which problems of the block are under way."""
        self._left = left
        self._widths = self.widths[left]
        self._score_start = np.cumsum([0, *self._widths])
        self._rows = ranges(self.score_start[left], self._widths)
        self._binary, self._wide = np.flatnonzero(self._widths == 1), np.flatnonzero(self._widths > 1)
        self._target_row = self.problems.row[self.chosen[left]]
        self._class_weight = self.class_weight[left]
        self._weight = self.problems.weight[self.chosen[left]]
        self._problem = np.repeat(self.chosen[left], self._widths)
        self._most_moves, self._stuck = self.n_iter[left].max(initial=0), self.stuck[left]
        self._any_stuck = self._stuck.any()
        self._ahead = np.zeros((5, len(left)))
        self._step = np.zeros(len(left))
        self._shares = np.zeros((len(self.steps), len(left)))

    def _direction(self):
        """Return the direction in which each problem moves, and set what is known along it."""
        direction = np.negative(self.gradient[self._rows], dtype=np.float32, casting="same_kind")
        memory = self._score_start, self._rows, self.n_iter[self._left]
        sweep(*memory, self.steps, self.changes, self.inverse, self._shares, False, direction)
        level = self.information[self._rows] / self.total_weight
        self.precondition(direction, level, self._problem, self.dtype)
        # Gradients sum to zero over the classes; directions that do so too keep the coefficients as small as can be.
        centre(self._score_start, self._wide, direction)
        sweep(*memory, self.changes, self.steps, self.inverse, self._shares, True, direction)
        self._any_solved = look_ahead(
            self._score_start, self._rows, direction, self.gradient, self.coefficients, self.problems.penalty,
            self.information, self._weight, self._stuck, self.tol, ROUNDING[self.dtype], STUCK[self.dtype], self._ahead,
        )  # fmt: skip
        return direction

    def _leave(self):
        """Drop problems that are solved or make no more progress; return which scores stay."""
        if not self._any_solved and not self._any_stuck and self._most_moves < self.max_iter:
            return slice(None)  # as in most iterations
        norm, solved = self._ahead[1], self._ahead[4] > 0.0
        finished = solved | self._stuck | (self.n_iter[self._left] >= self.max_iter)
        done = self._left[finished]
        self.norm[done], self.converged[done] = norm[finished], solved[finished]
        stays = ~finished
        scores, ahead = np.repeat(stays, self._widths), self._ahead[:, stays]
        self._keep(self._left[stays])
        self._ahead[:] = ahead
        return scores

    def _advance(self, direction):
        """Move each problem along its direction, and remember the step."""
        gradient = self._search(direction).astype(np.float64, copy=False)
        # A problem that finds no way down tries once more with an empty memory, then it stops.
        failed = np.flatnonzero(self._has_failed())
        if len(failed):
            first_rows = self._rows[self._score_start[failed]]
            self.stuck[self._left[failed]] = ~self.inverse[:, first_rows].any(axis=0)
            self.inverse[:, first_rows] = 0.0
            self._stuck = self.stuck[self._left]
            self._any_stuck = self._stuck.any()
        move(
            self._score_start, self._rows, self.n_iter[self._left], self._step, direction, gradient,
            self.problems.penalty, self.allowed, self.coefficients, self.gradient, self.steps, self.changes,
            self.inverse,
        )  # fmt: skip
        self.n_iter[self._left] += 1
        self._most_moves += 1
        if len(self._wide):  # directions in single precision sum to zero only roughly
            for values in (self.coefficients, self.gradient):
                centre(self.score_start, self._left[self._wide], values)

    def _gradient_here(self, rows, offset):
        """Return the gradient of the loss of problems that have just entered, without moving them."""
        self.inputs.product((self.coefficients[rows] + offset).astype(self.dtype), self.margin[rows], self.scratch)
        change = self.change[: len(offset)]
        change[:] = 0.0  # the slopes are zero too: nothing moves, but the residuals are computed
        return self._gradient_along(change)

    def _search(self, direction):
        """Set the step along the direction for each problem, and return the gradient of the loss there."""
        direction, change = direction.astype(self.dtype, copy=False), self.change[: len(direction)]
        return self._gradient_along(self.inputs.product(direction, change, self.scratch))

    def _has_failed(self):
        """Return which problems have found no step along their direction."""
        return self._step == 0.0

    def _gradient_along(self, change):
        """Search along the direction that changes the margins like this, and return the gradient of the loss."""
        for search, problems in ((search_binary, self._binary), (search_softmax, self._wide)):
            if len(problems):
                search(
                    problems, self._score_start, self._rows, self.problems.codes, self._target_row, self.sample_weight,
                    self._class_weight, self._ahead, ACCURACY, self.residual, self.margin, change, self.information,
                    self._step,
                )  # fmt: skip
        return self.inputs.transposed_product(change, self.scratch)


def centre(score_start: np.ndarray, problems: np.ndarray, values: np.ndarray) -> None:
    """Make the rows of each of these problems sum to zero, in place."""
    for q in problems:
        own = values[score_start[q] : score_start[q + 1]]
        own -= own.mean(axis=0)
