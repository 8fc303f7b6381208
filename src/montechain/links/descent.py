"""L-BFGS on many logistic problems at once, some of them under way at any time.

Problems that are solved make room for those that wait, so that a product with the inputs always serves about as many
as it can serve at the price of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from montechain._kernels.margins import search_along
from montechain._kernels.quasi_newton import complete_direction, judge, move, penalise, two_loop_down
from montechain.links.design import ranges
from montechain.links.inputs import Inputs

__all__ = ["Descent", "Targets", "starts"]

SLOPE_ACCURACY = 0.1
"""Share of the first slope at which the search along a direction may stop."""
MAX_EVALUATIONS = 40
"""Evaluations after which the search along a direction gives up."""
ROUNDING = {8: 1e-24, 4: 1e-13}
"""Promised decreases of the mean objective below this are rounding errors of the gradient, by bytes of a number."""
RELATIVE = 1e-6
"""Promised decrease of the objective, as a share of it, at which a problem may count as solved."""
STUCK = {8: 1e-12, 4: 1e-7}
"""Promised decreases below this count as solved if the search along the direction finds nothing any more."""


@dataclass(frozen=True)
class Targets:
    """What the problems are about.

    Attributes
    ----------
    codes : int32 ndarray of shape (T, n)
        Classes, negative where unknown.
    row : int64 ndarray of shape (Q,)
        The row of `codes` that each problem is about.
    widths : int64 ndarray of shape (Q,)
        Number of scores of each problem.
    weight : ndarray of shape (Q,)
        What the rows of each problem weigh in all.
    sample_weight : ndarray of shape (n,)
    class_weight : ndarray of shape (Q, K)
    allowed : bool ndarray of shape (Q, P)
        The parents that each problem has.
    """

    codes: np.ndarray
    row: np.ndarray
    widths: np.ndarray
    weight: np.ndarray
    sample_weight: np.ndarray
    class_weight: np.ndarray
    allowed: np.ndarray


class Descent:
    """Minimise the objectives of some problems; those that are likely to take long should come first.

    Arrays of all these problems are indexed by `rows`; those whose names begin with an underscore are about the
    problems under way.

    Parameters
    ----------
    inputs : Inputs
    preconditioner : Diagonal, NestedFactor or Factor
    targets : Targets
    n_pairs : int
        Pairs of steps and changes of the gradient that are remembered.
    problems : int ndarray
    coefficients : ndarray of shape (scores of these problems, F)
        Where to start.
    penalty : ndarray of shape (F,)
    tol : float
    max_iter : int ndarray, one for each of the problems
    on_solved : callable, optional
    """

    def __init__(
        self,
        inputs: Inputs,
        preconditioner,
        targets: Targets,
        n_pairs: int,
        problems: np.ndarray,
        coefficients: np.ndarray,
        penalty: np.ndarray,
        tol: float,
        max_iter: np.ndarray,
        on_solved: Callable[[int], None] | None = None,
    ):
        dtype = inputs.dtype
        n_problems, shape = len(problems), coefficients.shape
        self.inputs, self.preconditioner, self.targets = inputs, preconditioner, targets
        self.problems, self.penalty, self.tol, self.max_iter = problems, penalty, tol, max_iter
        self._penalty = penalty.astype(dtype)
        self.on_solved = on_solved
        self.widths = targets.widths[problems]
        self.score_start = starts(self.widths)
        self.allowed = np.repeat(targets.allowed[problems], self.widths, axis=0)
        self.sample_weight = targets.sample_weight.astype(dtype, copy=False)
        self.class_weight = targets.class_weight[problems].astype(dtype)
        self.total_weight = targets.sample_weight.sum()

        self.coefficients = coefficients.astype(dtype)
        self.margin = np.empty((shape[0], inputs.n_rows), dtype=dtype)
        self.gradient = np.empty(shape, dtype=dtype)
        self.steps, self.changes = np.empty((2, n_pairs, *shape), dtype=dtype)
        self.residual = np.empty((self.widths.max(), inputs.n_rows), dtype=dtype)
        self.n_waiting, self.newest = n_problems, -1

        self.norm, self.n_iter = np.zeros(n_problems), np.zeros(n_problems, dtype=np.int64)
        self.converged = np.zeros(n_problems, dtype=bool)
        self._inverse = np.zeros((n_pairs, 0))
        self._stuck = np.zeros(0, dtype=bool)
        self._information = np.zeros(0)
        self._set_under_way(np.zeros(0, dtype=np.int64))

    def run(self) -> Descent:
        """Solve all problems; `coefficients`, `norm`, `n_iter` and `converged` are the result."""
        at_once = self.inputs.n_scores_at_once
        while True:
            if self.n_waiting and 2 * len(self._rows) <= at_once:
                self._enter(at_once - len(self._rows))
            direction = self._direction()
            direction = direction[self._leave()]
            if len(self._left):
                self._advance(direction)
            elif not self.n_waiting:
                return self

    def _set_under_way(self, left):
        self._left = left
        self._widths = self.widths[left]
        self._score_start = starts(self._widths)
        self._rows = ranges(self.score_start[left], self._widths)
        self._target_row = self.targets.row[self.problems[left]]
        self._class_weight = self.class_weight[left]
        self._weight = self.targets.weight[self.problems[left]]
        self._ahead = np.zeros((5, len(left)))
        self._step = np.zeros(len(left))
        self._shares = np.zeros((len(self.steps), len(left)))

    def _enter(self, room):
        """Take problems that wait, as many as there is room for, and compute where they stand."""
        start = len(self.widths) - self.n_waiting
        count = max(1, int(np.searchsorted(np.cumsum(self.widths[start:]), room, side="right")))
        before = self._left
        self._set_under_way(np.arange(start, start + count))
        self.n_waiting -= count
        rows = slice(self._rows[0], self._rows[-1] + 1)
        information, self._information = self._information, np.empty(len(self._rows))
        self.margin[rows] = self.inputs.product(self.coefficients[rows])
        # The slopes are zero: nothing moves, but the residuals are computed.
        gradient = self._gradient_along(self.margin[rows].copy())
        penalise(self._rows, self.allowed, self.coefficients, self._penalty, gradient)
        self.gradient[rows] = gradient
        self._information = np.concatenate([information, self._information])
        self._inverse = np.hstack([self._inverse, np.zeros((len(self.steps), count))])
        self._stuck = np.concatenate([self._stuck, np.zeros(count, dtype=bool)])
        self._set_under_way(np.concatenate([before, self._left]))

    def _direction(self):
        """Return the direction in which each problem moves, and set what is known of the way ahead."""
        direction = -self.gradient[self._rows]
        memory = (self._score_start, self._rows, self.newest, self.steps, self.changes, self._inverse)
        two_loop_down(*memory, direction, self._shares)
        level = self._information / self.total_weight
        self.preconditioner.apply(direction, level, self.problems[self._left], self._score_start, self.penalty)
        complete_direction(
            *memory, direction, self._shares, self.gradient, self.coefficients, self._penalty, self._ahead
        )
        return direction

    def _leave(self):
        """Let problems go that are solved or can get no further; return which scores stay."""
        size = self.inputs.dtype.itemsize
        solved, finished = np.empty((2, len(self._left)), dtype=bool)
        # A row that is as good as sure has about the loss p (1 - p); others have more.
        loss = np.add.reduceat(self._information, self._score_start[:-1]) if len(self._left) else self._weight
        if not judge(
            self._ahead, loss, self._weight, self._stuck, self.n_iter[self._left], self.max_iter[self._left], self.tol,
            RELATIVE, ROUNDING[size], STUCK[size], solved, finished,
        ):  # fmt: skip
            return slice(None)
        done = self._left[finished]
        self.norm[done], self.converged[done] = (self._ahead[1] / self._weight)[finished], solved[finished]
        if self.on_solved is not None:
            for q in done:
                self.on_solved(int(self.problems[q]))
        stays = ~finished
        scores = np.repeat(stays, self._widths)
        ahead = self._ahead[:, stays]
        self._information, self._stuck = self._information[scores], self._stuck[stays]
        self._inverse = np.ascontiguousarray(self._inverse[:, stays])
        self._set_under_way(self._left[stays])
        self._ahead[:] = ahead
        return scores

    def _advance(self, direction):
        """Move each problem along its direction, and remember the step."""
        gradient = self._gradient_along(self.inputs.product(direction))
        # A problem that finds no way down tries once more without what it remembers, then it stops.
        failed = self._step == 0.0
        self._stuck = failed & ~self._inverse.any(axis=0)
        self._inverse[:, failed] = 0.0
        self.newest = (self.newest + 1) % len(self.steps)
        self.n_iter[self._left] += 1
        move(
            self._score_start, self._rows, self._step, direction, gradient, self.newest, self.coefficients,
            self.gradient, self.steps, self.changes, self._inverse, self.allowed, self._penalty,
        )  # fmt: skip

    def _gradient_along(self, change):
        """Search along the direction that changes the margins so, and return the gradient of the loss there."""
        search_along(
            self.margin, change, self._score_start, self.targets.codes, self._target_row, self.sample_weight,
            self._class_weight, self._ahead[0], self._ahead[2], self._ahead[3], SLOPE_ACCURACY, MAX_EVALUATIONS,
            self.residual, self._information, self._step, self._rows,
        )  # fmt: skip
        return self.inputs.transposed_product(change)


def starts(widths: np.ndarray) -> np.ndarray:
    """Return where each of consecutive pieces of these widths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
