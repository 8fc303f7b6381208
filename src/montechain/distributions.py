"""Weighted label vectors and marginals, with bounds on what they leave open, and the base class of losses over them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from montechain._rows import distinct


@dataclass(frozen=True)
class LabelDistribution:
    """Weighted label vectors for each of n rows, ragged.

    The vectors of row i are ``labels[indptr[i]:indptr[i + 1]]``, in codes. A vector may occur several times in a row;
    its `weights` then add up. They are probability masses, relative to the mass that agrees with what is known, and sum
    to at most one in each row. The `residual` of a row is the mass (relative likewise) that was not enumerated exactly:
    no probability of a set of vectors is off by more than this. Where it is `estimated`, drawn vectors stand for it and
    share it, so that the weights sum to one.
    """

    indptr: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    residual: np.ndarray
    estimated: np.ndarray

    @classmethod
    def ragged(
        cls, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray, residual: np.ndarray, estimated: np.ndarray
    ) -> LabelDistribution:
        """Return the distribution of vectors sorted by `rows`; drop vectors without weight, except a row's first."""
        keep = (weights > 0.0) | (np.diff(rows, prepend=-1) > 0)
        indptr = np.searchsorted(rows[keep], np.arange(len(residual) + 1))
        return cls(indptr, labels[keep], weights[keep], residual, estimated)

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.indptr) - 1

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Return vectors drawn in proportion to their weights, of shape (n, S, L), one for each uniform number."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.weights)])
        start, end = cumulative[self.indptr[:-1], None], cumulative[self.indptr[1:], None]
        index = np.searchsorted(cumulative, start + uniforms * (end - start), side="right") - 1
        # Rounding at the ends of a row must not lead into the next.
        return self.labels[np.clip(index, self.indptr[:-1, None], self.indptr[1:, None] - 1)]

    @property
    def rows(self) -> np.ndarray:
        """The row of each vector, of shape (m,)."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.indptr))

    @property
    def totals(self) -> np.ndarray:
        """Sum of the weights of each row."""
        return np.bincount(self.rows, weights=self.weights, minlength=self.n_rows)

    @property
    def normalised_weights(self) -> np.ndarray:
        """Weights that sum to one in each row that has a vector."""
        rows, totals = self.rows, self.totals
        # If all weights of a row underflow, its vectors count equally.
        alike = 1.0 / np.maximum(np.diff(self.indptr), 1)
        return np.where(totals[rows] > 0.0, self.weights / np.where(totals > 0.0, totals, 1.0)[rows], alike[rows])

    def heaviest_first(self) -> LabelDistribution:
        """Return the same distribution with each vector once, the heaviest of each row first."""
        rows, n_codes = self.rows, self.labels.max(axis=0, initial=0) + 1
        _, first, place = distinct(rows, self.labels, n_codes.tolist())
        weights = np.bincount(place, weights=self.weights, minlength=len(first))
        # Equal weights keep the order of the codes, so that a row's answer does not depend on the batch.
        order = np.lexsort((-weights, rows[first]))
        first = first[order]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=self.n_rows))]).astype(np.int64)
        return LabelDistribution(indptr, self.labels[first], weights[order], self.residual, self.estimated)

    def take(self, rows: slice) -> LabelDistribution:
        """Return the distribution of consecutive rows."""
        indptr = self.indptr[rows.start : rows.stop + 1]
        own = slice(indptr[0], indptr[-1])
        return LabelDistribution(
            indptr - indptr[0], self.labels[own], self.weights[own], self.residual[rows], self.estimated[rows]
        )

    def any_labels(self, given: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each row, some labels that agree with `given`, and whether the row has a vector."""
        labels = np.zeros((self.n_rows, self.labels.shape[1])) if given is None else np.maximum(given, 0)
        return labels.astype(np.int32), np.diff(self.indptr) > 0

    def marginals(self, n_classes: Sequence[int]) -> list[np.ndarray]:
        """Return for each position the mass of its classes, of shape (n, K), not normalised."""
        rows, codes = self.rows, np.ascontiguousarray(self.labels.T)
        return [
            # Without any vectors, bincount returns integers.
            np.bincount(rows * k + codes[j], weights=self.weights, minlength=self.n_rows * k)
            .astype(np.float64, copy=False)
            .reshape(-1, k)
            for j, k in enumerate(n_classes)
        ]

    def with_bounds(self, n_classes: Sequence[int]) -> Marginals:
        """Return the marginals, normalised, with what the residual leaves open."""
        mass, totals = self.marginals(n_classes), np.where(self.totals > 0.0, self.totals, 1.0)[:, None]
        # Vectors that were drawn may stand for too much or too little, but for no more than the residual.
        error = np.where(self.estimated, self.residual, 0.0)[:, None]
        unresolved = np.repeat(np.minimum(self.residual[:, None] + error, 1.0), len(mass), axis=1)
        lower = [np.maximum(own - error, 0.0) for own in mass]
        return Marginals([own / totals for own in mass], lower, unresolved, self.estimated)

    @property
    def slack(self) -> np.ndarray:
        """Bound, for each row and any loss in [0, 1], on the regret of the minimiser over these weights.

        Let E be the vectors enumerated exactly, with probabilities p, and r the residual. The expected
        loss of a decision d is R(d) = f(d) + g(d) with f(d) = sum over E of p(y) loss(y, d) and g(d)
        in [0, r].

        Not estimated: the decision d* minimises f, so R(d*) - R(d) <= g(d*) - g(d) <= r for every d.

        Estimated: d* minimises f(d) + h(d), where drawn vectors stand for the residual, so h(d) is in
        [0, r] too. Then R(d*) - R(d) <= (g(d*) - h(d*)) + (h(d) - g(d)) <= 2 r. A loss in [0, 1] has
        no regret above one.
        """
        return np.clip(np.where(self.estimated, 2.0 * self.residual, self.residual), 0.0, 1.0)


@dataclass(frozen=True)
class Marginals:
    """Probabilities of single labels, conditional on the given labels, and what is proven about them.

    Parameters
    ----------
    proba : list of L ndarrays of shape (n, K)
    lower : list of L ndarrays of shape (n, K)
        No true probability is below this,
    unresolved : ndarray of shape (n, L)
        nor above ``lower`` plus this.
    estimated : bool ndarray of shape (n,)
        Whether `proba` rests on random draws: the node budget ended before the error was small enough, or the
        strategy is a sampling one.
    """

    proba: list[np.ndarray]
    lower: list[np.ndarray]
    unresolved: np.ndarray
    estimated: np.ndarray

    @classmethod
    def exact(cls, proba: list[np.ndarray]) -> Marginals:
        """Return marginals that are known exactly."""
        n_rows = len(proba[0])
        return cls(proba, proba, np.zeros((n_rows, len(proba))), np.zeros(n_rows, dtype=bool))

    @property
    def error_bound(self) -> np.ndarray:
        """Proven bound, for each row, on the error of every probability in `proba`; of shape (n,).

        >>> halves = [np.array([[0.5, 0.5]])]
        >>> Marginals(halves, [np.array([[0.4, 0.5]])], np.array([[0.1]]), np.array([False])).error_bound
        array([0.1])
        """
        errors = [
            np.maximum(proba - lower, lower + open_mass[:, None] - proba).max(axis=1)
            for proba, lower, open_mass in zip(self.proba, self.lower, self.unresolved.T, strict=True)
        ]
        return np.clip(np.max(errors, axis=0), 0.0, 1.0)

    def in_order(self, labels: Sequence[int] | np.ndarray) -> Marginals:
        """Return the marginals of these labels (or positions), in this order."""
        return Marginals(
            [self.proba[j] for j in labels], [self.lower[j] for j in labels], self.unresolved[:, labels], self.estimated
        )


class Loss(BaseEstimator, ABC):
    """Base class of losses: which label vector is best over weighted label vectors."""

    is_exact_match = False

    worst: float = 1.0
    """Largest value that the loss can take; infinite if unknown."""

    classes_: list[np.ndarray]
    """The classes of each label, once bound."""
    n_classes_: np.ndarray
    """Number of classes at each position, once bound."""

    @abstractmethod
    def decide(
        self, distribution: LabelDistribution, given: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the decision of least expected loss for each row.

        All vectors of the distribution agree with `given`, of shape (n, L), which holds known classes and -1 elsewhere;
        so do the decisions. Returns the labels, int32 of shape (n, L), their expected loss under the normalised
        weights, and the regret: a proven bound on how much smaller the expected loss of any other decision can be,
        infinite if nothing is proven.
        """

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> Self:
        """Return a copy that knows the problem: `classes` by label, and the label at each position."""
        bound = copy.copy(self)
        bound.classes_ = [np.asarray(own) for own in classes]
        bound.n_classes_ = np.array([len(classes[label]) for label in order], dtype=np.int64)
        return bound

    def _check_bound(self) -> None:
        if not hasattr(self, "n_classes_"):
            raise RuntimeError(f"{self!r} does not know the classes yet: use check_loss(loss, classes=..., order=...).")


def example_distribution() -> LabelDistribution:
    """Return the distribution of the examples of losses: 11, 10 and 00 have probabilities 0.4, 0.3 and 0.3."""
    labels = np.array([[1, 1], [1, 0], [0, 0]], dtype=np.int32)
    return LabelDistribution(
        np.array([0, 3]), labels, np.array([0.4, 0.3, 0.3]), np.zeros(1), estimated=np.zeros(1, dtype=bool)
    )
