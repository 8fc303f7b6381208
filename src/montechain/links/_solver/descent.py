"""L-BFGS on many logistic problems at once, so that a product with the inputs serves all of them."""

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

RELATIVE = 1e-6
"""Promised decrease of the objective, as a share of it, at which a problem may count as solved."""
ROUNDING = {np.float64: 1e-24, np.float32: 1e-13}
"""Promised decreases of the mean objective below this are rounding errors, in double and in single precision."""
STUCK = {np.float64: 1e-12, np.float32: 1e-7}
"""Promised decreases below this count as solved if the search along the direction makes no more progress."""
MANY_PAIRS, FEW_PAIRS = 40, 10
"""Pairs of steps and gradient changes that L-BFGS remembers: fewer where each of them is long."""
LONG_PAIR = 5000
"""Number of inputs from which on a pair is long."""


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
    """Minimise the objectives of some of the `problems`, those in the block `chosen`.

    Arrays of the whole block are indexed by `rows`. Attributes that begin with an underscore belong to the problems of
    the block that are not yet solved.

    Parameters
    ----------
    dtype : numpy.float64 or numpy.float32
        Precision of margins and of products with the inputs. Multi-class problems take double precision.
    coefficients : ndarray of shape (scores of these problems, F)
        Where to start; overwritten with the solution.
    max_iter : int ndarray, one for each of the chosen problems
    """

    def __init__(
        self,
        inputs: Inputs,
        dtype: Any,
        precondition: Callable[..., None],
        problems: Problems,
        chosen: np.ndarray,
        coefficients: np.ndarray,
        tol: float,
        max_iter: np.ndarray,
        on_solved: Callable[[int], None] | None = None,
    ):
        self.inputs, self.dtype, self.precondition, self.problems = inputs, dtype, precondition, problems
        self.chosen, self.coefficients, self.tol, self.max_iter = chosen, coefficients, tol, max_iter
        self.on_solved = on_solved
        self.widths = problems.widths[chosen]
        self.score_start = np.cumsum([0, *self.widths])
        self.allowed = np.repeat(problems.allowed[chosen], self.widths, axis=0)
        self.sample_weight = problems.sample_weight.astype(dtype, copy=False)
        self.class_weight = problems.class_weight[chosen].astype(dtype, copy=False)
        self.total_weight = problems.sample_weight.sum()
        self.norm, self.n_iter = np.zeros(len(chosen)), np.zeros(len(chosen), dtype=np.int64)
        self.converged = np.zeros(len(chosen), dtype=bool)

        shape, n_pairs = coefficients.shape, MANY_PAIRS if inputs.n_columns < LONG_PAIR else FEW_PAIRS
        self.margin, self.change = np.empty((2, shape[0], inputs.n_rows), dtype=dtype)
        self.residual = np.empty((self.widths.max(), inputs.n_rows), dtype=dtype)
        self.steps, self.changes = np.empty((2, n_pairs, *shape), dtype=np.float32)
        self.newest = -1
        self._information, self._stuck = np.empty(shape[0]), np.zeros(len(chosen), dtype=bool)
        self._inverse = np.zeros((n_pairs, len(chosen)))
        self._keep(np.arange(len(chosen)))

        offset = problems.offset[ranges(problems.score_start[chosen], self.widths)]
        inputs.product((coefficients + offset).astype(dtype), self.margin)
        self.gradient = self._first_gradient().astype(np.float64)
        self.gradient[:, shape[1] - self.allowed.shape[1] :] *= self.allowed
        self.gradient += problems.penalty * coefficients
        self.downhill = -self.gradient.astype(np.float32)

    def run(self) -> Descent:
        """Solve all problems; `coefficients`, `norm`, `n_iter` and `converged` are the result."""
        while True:
            direction = self._direction()
            direction = direction[self._leave()]
            if not len(self._left):
                return self
            self._advance(direction)

    def _keep(self, left):
        """Set what depends on which problems of the block are `left`."""
        self._left = left
        self._widths = self.widths[left]
        self._score_start = np.cumsum([0, *self._widths])
        self._rows = ranges(self.score_start[left], self._widths)
        self._binary, self._wide = np.flatnonzero(self._widths == 1), np.flatnonzero(self._widths > 1)
        self._target_row = self.problems.row[self.chosen[left]]
        self._class_weight = self.class_weight[left]
        self._weight = self.problems.weight[self.chosen[left]]
        self._ahead = np.zeros((5, len(left)))
        self._step = np.zeros(len(left))
        self._shares = np.zeros((len(self.steps), len(left)))

    def _direction(self):
        """Return the direction in which each problem moves, and set what is known along it."""
        direction = self.downhill[self._rows]
        memory = self._score_start, self._rows, self.newest
        sweep(*memory, self.steps, self.changes, self._inverse, self._shares, False, direction)
        level = self._information / self.total_weight
        problem = np.repeat(self.chosen[self._left], self._widths)
        self.precondition(direction, level, problem, self.dtype)
        # Gradients sum to zero over the classes; directions that do so too keep the coefficients as small as can be.
        centre(self._score_start, self._wide, direction)
        sweep(*memory, self.changes, self.steps, self._inverse, self._shares, True, direction)
        place = self.gradient, self.coefficients, self.problems.penalty
        look_ahead(self._score_start, self._rows, direction, *place, self._ahead)
        return direction

    def _leave(self):
        """Drop problems that are solved or make no more progress; return which scores stay."""
        slope, largest, _, _, twice_penalty = self._ahead
        promised, norm = -slope / self._weight, largest / self._weight
        # A row that is almost certain has about the loss p (1 - p); others have more.
        loss = np.add.reduceat(self._information, self._score_start[:-1])
        # The promise keeps inputs of tiny scale, and classes that can be separated, from ending at once: all of their
        # gradients are small, but the objective can still become a fraction of what it is.
        close = promised <= np.minimum(self.tol, RELATIVE * (loss + 0.5 * twice_penalty) / self._weight)
        limit = np.where(self._stuck, STUCK[self.dtype], ROUNDING[self.dtype])
        solved = (close & (norm <= self.tol)) | (promised <= limit)
        finished = solved | self._stuck | (self.n_iter[self._left] >= self.max_iter[self._left])
        if not finished.any():
            return slice(None)
        done = self._left[finished]
        self.norm[done], self.converged[done] = norm[finished], solved[finished]
        if self.on_solved is not None:
            for q in self.chosen[done].tolist():
                self.on_solved(q)
        stays = ~finished
        scores, ahead = np.repeat(stays, self._widths), self._ahead[:, stays]
        self._information, self._stuck = self._information[scores], self._stuck[stays]
        self._inverse = np.ascontiguousarray(self._inverse[:, stays])
        self._keep(self._left[stays])
        self._ahead[:] = ahead
        return scores

    def _advance(self, direction):
        """Move each problem along its direction, and remember the step."""
        change = self.inputs.product(direction.astype(self.dtype, copy=False), self.change[: len(direction)])
        gradient = self._gradient_along(change)
        # A problem that finds no way down tries once more with an empty memory, then it stops.
        failed = self._step == 0.0
        self._stuck = failed & ~self._inverse.any(axis=0)
        self._inverse[:, failed] = 0.0
        self.newest = (self.newest + 1) % len(self.steps)
        self.n_iter[self._left] += 1
        move(
            self._score_start, self._rows, self.newest, self._step, direction, gradient, self.problems.penalty,
            self.allowed, self.coefficients, self.gradient, self.downhill, self.steps, self.changes, self._inverse,
        )  # fmt: skip
        if len(self._wide):  # directions in single precision sum to zero only roughly
            for values in (self.coefficients, self.gradient):
                centre(self.score_start, self._left[self._wide], values)

    def _first_gradient(self):
        """Return the gradient of the loss where problems start, and set their information."""
        if self.dtype == np.float32 or len(self._wide):
            self.change[:] = 0.0  # the slopes are zero too: nothing moves, but the residuals are computed
            return self._gradient_along(self.change)
        # Most often this only confirms a solution, and is not worth compiling a kernel for.
        codes = self.problems.codes[self._target_row]
        proba = expit(self.margin)
        weight = np.where(codes > 0, self._class_weight[:, 1:2], self._class_weight[:, :1]) * (codes >= 0)
        weight *= self.sample_weight
        self._information[:] = np.einsum("wn,wn,wn->w", proba, 1.0 - proba, weight)
        return self.inputs.transposed_product(weight * (proba - (codes > 0)))

    def _gradient_along(self, change):
        """Search along the direction that changes the margins so, and return the gradient of the loss there."""
        for search, problems in ((search_binary, self._binary), (search_softmax, self._wide)):
            if len(problems):
                search(
                    problems, self._score_start, self._rows, self.problems.codes, self._target_row, self.sample_weight,
                    self._class_weight, self._ahead, ACCURACY, self.residual, self.margin, change, self._information,
                    self._step,
                )  # fmt: skip
        return self.inputs.transposed_product(change)


def centre(score_start: np.ndarray, problems: np.ndarray, values: np.ndarray) -> None:
    """Make the rows of each of these problems sum to zero, in place."""
    for q in problems:
        own = values[score_start[q] : score_start[q + 1]]
        own -= own.mean(axis=0)
