"""The solver on rows that lie in blocks: an iteration takes one pass, in which every block returns its gradient.

Directions, preconditioner and stopping rule are those of `Descent`. A pass costs as much as an iteration, so the
search along the direction accepts the first step that lowers the slope enough, as a rule the full one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._kernels.margins import ACCURACY, search_binary, search_softmax
from montechain._threads import one_blas_thread
from montechain.links._solver.descent import Descent
from montechain.links._solver.inputs import SMALL_DENSE, Inputs
from montechain.links._solver.problems import LogisticProblems, rescaled, rescaling
from montechain.links.base import class_numbers
from montechain.links.design import columns_of, parent_columns, ranges
from montechain.links.row_blocks import RowBlocks, Rows

CURVATURE = 0.5
"""Slope at which the search along a direction may stop, as a share of the initial slope."""
MOST_TRIALS = 12
"""Number of steps tried along a direction before it is given up."""


@dataclass(frozen=True)
class Design:
    """How a block turns into inputs [1, X, parents] and targets."""

    parents: np.ndarray
    parents_n_classes: np.ndarray
    numbers: list[np.ndarray | None]  # for each label whose classes do not all occur, what its codes become
    shift: np.ndarray
    scale: np.ndarray

    def columns(self, rows: Rows, dtype: Any) -> np.ndarray:
        """Return the columns of the parents."""
        return parent_columns(rows.filled[:, self.parents], self.parents_n_classes.tolist(), dtype=dtype)

    def targets(self, rows: Rows) -> np.ndarray:
        """Return the codes, one row for each label, of the classes that occur."""
        codes = rows.codes.T.copy()  # the rows may be kept for the next pass
        for own, numbers in zip(codes, self.numbers, strict=True):
            if numbers is not None:
                own[:] = numbers[own]
        return codes


@dataclass(frozen=True)
class Point:
    """Problems, and the coefficients (W, F) at which their gradients are wanted, in the precision of the pass."""

    coefficients: np.ndarray
    score_start: np.ndarray
    target_row: np.ndarray
    class_weight: np.ndarray


def gradient_of(rows: Rows, design: Design, point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient (W, F) of the loss of some rows, and the total weight of p (1 - p) for each score."""
    coefficients, n_scores = point.coefficients, len(point.coefficients)
    widths, dtype = np.diff(point.score_start), point.coefficients.dtype
    kinds = (search_binary, np.flatnonzero(widths == 1)), (search_softmax, np.flatnonzero(widths > 1))
    total, information, own_information = np.zeros(coefficients.shape), np.zeros(n_scores), np.zeros(n_scores)
    still, step, room = np.zeros((5, len(widths))), np.zeros(len(widths)), None
    with one_blas_thread():
        for piece in rows.pieces(n_scores):
            X, parents = rescaled(piece.X, design.shift, design.scale), design.columns(piece, dtype)
            if sp.issparse(X):
                inputs = Inputs.of(X, parents)
                products = inputs.scratch(dtype)
                margin = inputs.product(coefficients, np.empty((n_scores, len(parents)), dtype=dtype), products)
            else:
                # Room for the first and largest piece serves all: allocators may clear memory each time.
                room = np.empty((len(X), coefficients.shape[1] - 1), dtype=dtype) if room is None else room
                dense = np.concatenate([X, parents], axis=1, out=room[: len(X)], casting="same_kind")
                margin = coefficients[:, 1:] @ dense.T
                margin += coefficients[:, :1]
            residual = np.zeros_like(margin)  # also what a step adds to the margins: nothing
            scratch = np.empty((widths.max(), len(parents)), dtype=dtype)
            targets, weight = design.targets(piece), piece.weight.astype(dtype)
            for search, problems in kinds:
                if len(problems):
                    search(
                        problems, point.score_start, np.arange(n_scores), targets, point.target_row, weight,
                        point.class_weight, still, ACCURACY, scratch, margin, residual, own_information, step,
                    )  # fmt: skip
            information += own_information
            if sp.issparse(X):
                total += inputs.transposed_product(residual, products)
            else:
                total[:, 0] += residual.sum(axis=1)
                total[:, 1:] += residual @ dense
    return total, information


def gram_of(rows: Rows, design: Design, wants_all: bool) -> np.ndarray:
    """Return the weighted Gram matrix of the inputs of some rows, or its diagonal only."""
    total: Any = 0.0
    with one_blas_thread():
        for piece in rows.pieces(len(design.parents)):
            inputs = Inputs.of(rescaled(piece.X, design.shift, design.scale), design.columns(piece, bool))
            total += inputs.gram(piece.weight) if wants_all else inputs.squares(piece.weight)
    return total


class BlockInputs:
    """The inputs of all blocks, as far as `LogisticProblems` and `Descent` see them."""

    n_rows = 0

    def __init__(self, rows: RowBlocks, design: Design):
        self.rows, self.design = rows, design
        self.n_columns = 1 + rows.shape[1] + len(columns_of(design.parents_n_classes.tolist())[0])
        self.n_values = sum(own.n_values for own in rows.summaries)
        self.is_small = self.n_values <= SMALL_DENSE

    def scores_at_once(self, dtype: Any) -> int:
        """Return the number of scores that a pass serves at the price of one: any number."""
        return 2**31

    def scratch(self, dtype: Any) -> None:
        """Return nothing: each block has its own scratch space."""

    def gram(self, sample_weight: Any) -> np.ndarray:
        """Return the weighted Gram matrix."""
        return sum(self.rows.map(gram_of, self.design, True))

    def squares(self, sample_weight: Any) -> np.ndarray:
        """Return its diagonal."""
        return sum(self.rows.map(gram_of, self.design, False))


class BlockDescent(Descent):
    """`Descent` whose gradients are sums over blocks.

    In each pass every problem tries one step along its direction. One that has to try another stays where it is, so
    that its next direction is the same.
    """

    inputs: Any

    def run(self, dtype: Any) -> Descent:
        n_problems = len(self.chosen)
        self.trial, self.n_trials = np.ones(n_problems), np.zeros(n_problems, dtype=np.int64)
        self.low, self.high = np.zeros(n_problems), np.full(n_problems, np.inf)  # the bracket of the step
        self.low_slope, self.high_slope = np.empty((2, n_problems))
        return super().run(dtype)

    def _gradient_here(self, rows, offset):
        gradient, self.information[rows] = self._pass(np.arange(len(self._left)), self.coefficients[rows] + offset)
        return gradient

    def _pass(self, problems, coefficients):
        """Return the gradients of the loss and the information of some of the problems under way."""
        point = Point(
            coefficients.astype(self.dtype), np.cumsum([0, *self._widths[problems]]), self._target_row[problems],
            self._class_weight[problems],
        )  # fmt: skip
        gradients, information = zip(*self.inputs.rows.map(gradient_of, self.inputs.design, point), strict=True)
        return np.sum(gradients, axis=0), np.sum(information, axis=0)

    def _search(self, direction):
        direction, penalty = direction.astype(np.float64), self.problems.penalty
        place, first_slope, self._step[:] = self.coefficients[self._rows], self._ahead[0], 0.0
        gradient = self.gradient[self._rows] - penalty * place
        going = np.flatnonzero(first_slope < 0.0)
        if not len(going):
            return gradient
        left, widths = self._left[going], self._widths[going]
        scores = ranges(self._score_start[going], widths)
        offset = self.problems.offset[ranges(self.problems.score_start[self.chosen[left]], widths)]
        moved = place[scores] + np.repeat(self.trial[left], widths)[:, None] * direction[scores]
        found, information = self._pass(going, moved + offset)
        found[:, found.shape[1] - self.allowed.shape[1] :] *= self.allowed[self._rows[scores]]
        along = ((found + penalty * moved) * direction[scores]).sum(axis=1)
        slope = np.add.reduceat(along, np.cumsum(widths) - widths)
        accepted = np.abs(slope) <= CURVATURE * np.abs(first_slope[going])
        kept = np.repeat(accepted, widths)
        gradient[scores[kept]], self.information[self._rows[scores[kept]]] = found[kept], information[kept]
        self._step[going[accepted]] = self.trial[left[accepted]]
        for q, own, first in zip(left[~accepted], slope[~accepted], first_slope[going][~accepted], strict=True):
            self._try_another(q, own, first)
        done = left[accepted | (self.n_trials[left] >= MOST_TRIALS)]
        self.trial[done], self.n_trials[done], self.low[done], self.high[done] = 1.0, 0, 0.0, np.inf
        return gradient

    def _has_failed(self):
        return (self._step == 0.0) & (self.n_trials[self._left] == 0)

    def _try_another(self, q, slope, first_slope):
        """Set the next step of a problem to where the straight line through two slopes is zero, inside the bracket."""
        if self.n_trials[q] == 0:
            self.low_slope[q] = first_slope
        self.n_trials[q] += 1
        trial = self.trial[q]
        if slope > 0.0:
            self.high[q], self.high_slope[q] = trial, slope
        else:
            gain = slope - self.low_slope[q]
            wanted = trial - slope * (trial - self.low[q]) / gain if gain > 0.0 else np.inf
            self.low[q], self.low_slope[q] = trial, slope
            if self.high[q] == np.inf:
                self.trial[q] = min(max(wanted, 2.0 * trial), 10.0 * trial)
                return
        share = self.low_slope[q] / (self.low_slope[q] - self.high_slope[q])
        self.trial[q] = self.low[q] + (self.high[q] - self.low[q]) * min(max(share, 0.1), 0.9)


class BlockProblems(LogisticProblems):
    """`LogisticProblems` on rows in blocks; `parents` are the labels that may be parents.

    `occurring` holds, for each label, the classes that occur.
    """

    descent = BlockDescent

    def __init__(self, rows: RowBlocks, parents: np.ndarray, occurring: list[np.ndarray], C: float, parent_C: Any):
        low, high = zip(*(own.extremes for own in rows.summaries), strict=True)
        extremes, is_sparse = np.array([np.min(low, axis=0), np.max(high, axis=0)]), rows.summaries[0].is_sparse
        n_classes = np.array(rows.n_classes)
        pairs = zip(occurring, rows.n_classes, strict=True)
        numbers = [None if len(own) == k else class_numbers(own, k) for own, k in pairs]
        self.shift, self.scale = rescaling(extremes, is_sparse)
        self.inputs: Any = BlockInputs(rows, Design(parents, n_classes[parents], numbers, self.shift, self.scale))
        self.n_shared = 1 + rows.shape[1]
        # What belongs to rows stays in the blocks; only totals are needed here.
        self.sample_weight = np.array([sum(own.weight for own in rows.summaries)])
        self.codes = np.empty((len(occurring), 0), dtype=np.int32)
        self.counts = [own[kept] for own, kept in zip(rows.counts, occurring, strict=True)]
        self.penalty = self._penalty(C, parent_C, self.inputs.n_columns - self.n_shared)

    def _blocks(self, counts, n_scores):
        """Return all problems together: a pass serves all of them."""
        return [np.argsort([-own.min() for own in counts], kind="stable")]
