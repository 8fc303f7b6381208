"""L-BFGS on many logistic problems at once, some of them under way at any time.

Problems that are solved make room for those that wait, so that a product with the inputs always serves about as many
as it can serve at the price of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from montechain._kernels.margins import ACCURACY, search_binary, search_softmax
from montechain._kernels.quasi_newton import look_ahead, move, sweep
from montechain.links._solver.inputs import Inputs
from montechain.links.design import ranges

__all__ = ["Descent", "Targets", "centre", "starts"]

RELATIVE = 1e-6
"""Promised decrease of the objective, as a share of it, at which a problem may count as solved."""
ROUNDING = {np.float64: 1e-24, np.float32: 1e-13}
"""Promised decreases of the mean objective below this are rounding errors, in double and in single precision."""
STUCK = {np.float64: 1e-12, np.float32: 1e-7}
"""Promised decreases below this count as solved if the search along the direction finds nothing any more."""


@dataclass(frozen=True)
class Targets:
    """What the problems are about."""

    codes: np.ndarray  # (T, n), int32: classes, negative where unknown
    row: np.ndarray  # (Q,): the row of `codes` that each problem is about
    widths: np.ndarray  # (Q,): number of scores of each problem
    weight: np.ndarray  # (Q,): total weight of each problem's rows
    sample_weight: np.ndarray  # (n,)
    class_weight: np.ndarray  # (Q, K)
    allowed: np.ndarray  # (Q, P), bool: the parents that each problem has


class Descent:
    """Minimise the objectives of some problems; those that are likely to take long should come first.

    Arrays of all these problems are indexed by `rows`; attributes that begin with an underscore are about the problems
    under way.

    Parameters
    ----------
    dtype : numpy.float64 or numpy.float32
        Precision of margins and of products with the inputs. Multi-class problems take double precision.
    n_pairs : int
        Pairs of steps and changes of the gradient that are remembered.
    problems : int ndarray
        Those of the targets' problems that are meant.
    coefficients, offset : ndarrays of shape (scores of these problems, F)
        Where to start, and what is added in the margins, but not in the penalty.
    penalty : ndarray of shape (F,)
        The objective has ``penalty @ coefficients**2 / 2`` added for each score.
    max_iter : int ndarray, one for each of the problems
    """

    def __init__(
        self,
        inputs: Inputs,
        dtype: Any,
        preconditioner: Any,
        targets: Targets,
        n_pairs: int,
        problems: np.ndarray,
        coefficients: np.ndarray,
        offset: np.ndarray,
        penalty: np.ndarray,
        tol: float,
        max_iter: np.ndarray,
        on_solved: Callable[[int], None] | None = None,
    ):
        n_problems, shape = len(problems), coefficients.shape
        self.inputs, self.dtype, self.preconditioner, self.targets = inputs, dtype, preconditioner, targets
        self.problems, self.penalty, self.tol, self.max_iter = problems, penalty, tol, max_iter
        self.on_solved = on_solved
        self.widths = targets.widths[problems]
        self.score_start = starts(self.widths)
        self.allowed = np.repeat(targets.allowed[problems], self.widths, axis=0)
        self.sample_weight = targets.sample_weight.astype(dtype, copy=False)
        self.class_weight = targets.class_weight[problems].astype(dtype, copy=False)
        self.total_weight = targets.sample_weight.sum()

        self.coefficients, self.offset = coefficients, offset
        self.margin = np.empty((shape[0], inputs.n_rows), dtype=dtype)
        self.gradient, self.downhill = np.empty(shape), np.empty(shape, dtype=np.float32)
        self.steps, self.changes = np.empty((2, n_pairs, *shape), dtype=np.float32)
        self.residual = np.empty((self.widths.max(), inputs.n_rows), dtype=dtype)
        self.change = np.empty((min(shape[0], inputs.n_scores_at_once + self.widths.max()), inputs.n_rows), dtype=dtype)
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
        self._binary, self._wide = np.flatnonzero(self._widths == 1), np.flatnonzero(self._widths > 1)
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
        self.inputs.product((self.coefficients[rows] + self.offset[rows]).astype(self.dtype), self.margin[rows])
        gradient = self._first_gradient()
        gradient[:, gradient.shape[1] - self.allowed.shape[1] :] *= self.allowed[rows]
        gradient += self.penalty * self.coefficients[rows]
        self.gradient[rows], self.downhill[rows] = gradient, -gradient
        self._information = np.concatenate([information, self._information])
        self._inverse = np.hstack([self._inverse, np.zeros((len(self.steps), count))])
        self._stuck = np.concatenate([self._stuck, np.zeros(count, dtype=bool)])
        self._set_under_way(np.concatenate([before, self._left]))

    def _direction(self):
        """Return the direction in which each problem moves, and set what is known along it."""
        direction = self.downhill[self._rows]
        memory = self._score_start, self._rows, self.newest
        sweep(*memory, self.steps, self.changes, self._inverse, self._shares, False, direction)
        level = self._information / self.total_weight
        problem = np.repeat(self.problems[self._left], self._widths)
        self.preconditioner.apply(direction, level, problem, self.dtype)
        # Gradients sum to zero over the classes; directions that do so too keep the coefficients as small as can be.
        centre(self._score_start, self._wide, direction)
        sweep(*memory, self.changes, self.steps, self._inverse, self._shares, True, direction)
        look_ahead(
            self._score_start, self._rows, direction, self.gradient, self.coefficients, self.penalty, self._ahead
        )
        return direction

    def _leave(self):
        """Let problems go that are solved or can get no further; return which scores stay."""
        slope, largest, _, _, twice_penalty = self._ahead
        promised, norm = -slope / self._weight, largest / self._weight
        # A row that is as good as certain has about the loss p (1 - p); others have more.
        loss = np.add.reduceat(self._information, self._score_start[:-1]) if len(self._left) else 0.0
        # The promise keeps inputs of tiny scale, and classes that can be separated, from ending at once: all of their
        # gradients are small, but the objective can still become a fraction of what it is.
        close = promised <= np.minimum(self.tol, RELATIVE * (loss + 0.5 * twice_penalty) / self._weight)
        solved = (close & (norm <= self.tol)) | (
            promised <= np.where(self._stuck, STUCK[self.dtype], ROUNDING[self.dtype])
        )
        finished = solved | self._stuck | (self.n_iter[self._left] >= self.max_iter[self._left])
        if not finished.any():
            return slice(None)
        done = self._left[finished]
        self.norm[done], self.converged[done] = norm[finished], solved[finished]
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
        change = self.inputs.product(direction.astype(self.dtype, copy=False), self.change[: len(direction)])
        gradient = self._gradient_along(change)
        # A problem that finds no way down tries once more without what it remembers, then it stops.
        failed = self._step == 0.0
        self._stuck = failed & ~self._inverse.any(axis=0)
        self._inverse[:, failed] = 0.0
        self.newest = (self.newest + 1) % len(self.steps)
        self.n_iter[self._left] += 1
        move(
            self._score_start, self._rows, self.newest, self._step, direction, gradient, self.penalty, self.allowed,
            self.coefficients, self.gradient, self.downhill, self.steps, self.changes, self._inverse,
        )  # fmt: skip
        if len(self._wide):  # directions in single precision sum to zero only roughly
            for values in (self.coefficients, self.gradient):
                centre(self.score_start, self._left[self._wide], values)

    def _first_gradient(self):
        """Return the gradient of the loss where problems start, and set their information."""
        change = self.change[: len(self._rows)]
        if self.dtype == np.float32 or len(self._wide):
            change[:] = 0.0  # the slopes are zero too: nothing moves, but the residuals are computed
            return self._gradient_along(change)
        # Most often this only confirms a solution, and is not worth compiling a kernel for.
        codes = self.targets.codes[self._target_row]
        expit(self.margin[self._rows], out=change)
        spread = change * (1.0 - change)
        change -= codes > 0
        weight = np.where(codes > 0, self._class_weight[:, 1:2], self._class_weight[:, :1]) * (codes >= 0)
        weight *= self.sample_weight
        change *= weight
        self._information[:] = np.einsum("wn,wn->w", spread, weight)
        return self.inputs.transposed_product(change)

    def _gradient_along(self, change):
        """Search along the direction that changes the margins so, and return the gradient of the loss there."""
        for search, problems in ((search_binary, self._binary), (search_softmax, self._wide)):
            if len(problems):
                search(
                    problems, self._score_start, self._rows, self.targets.codes, self._target_row, self.sample_weight,
                    self._class_weight, self._ahead, ACCURACY, self.residual, self.margin, change, self._information,
                    self._step,
                )  # fmt: skip
        return self.inputs.transposed_product(change)


def centre(score_start: np.ndarray, problems: np.ndarray, values: np.ndarray) -> None:
    """Make the rows of each of these problems sum to zero, in place."""
    for q in problems:
        own = values[score_start[q] : score_start[q + 1]]
        own -= own.mean(axis=0)


def starts(widths: np.ndarray) -> np.ndarray:
    """Return where each of consecutive pieces of these widths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
