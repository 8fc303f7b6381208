"""A loss from any function of two label vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from montechain._messages import check_number, check_positive_integer
from montechain.distributions import LabelDistribution, Loss
from montechain.targets import TargetCodec

MAX_CACHED = 2**20
"""Maximum number of cached values of a function in one call."""


def try_candidates(
    loss: Any,
    heaviest: LabelDistribution,
    given: np.ndarray | None,
    least: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[int, float]],
    more: Callable[[LabelDistribution, int], np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Minimise an expected loss by trying label vectors as decisions.

    All label vectors are tried if there are at most ``loss.max_candidates``, else the vectors of the distribution and
    ``more(distribution of a row, row)``. ``least(candidates, vectors, weights)`` returns the index of the first best
    candidate and its expected loss.

    Returns the decision of each row, its expected loss (NaN in rows without vectors), and whether no other label vector
    can be better.
    """
    loss._check_bound()
    labels, has_vector = heaviest.any_labels(given)
    expected_loss, tried_all = np.full(len(labels), np.nan), np.zeros(len(labels), dtype=bool)
    for row in np.flatnonzero(has_vector):
        own = heaviest.take(slice(row, row + 1))
        known = np.full(labels.shape[1], -1) if given is None else given[row]
        choices = [np.arange(n) if c < 0 else np.array([c]) for n, c in zip(loss.n_classes_, known, strict=True)]
        n_vectors = math.prod(map(len, choices))
        tried_all[row] = n_vectors <= max(loss.max_candidates, len(own.labels))
        if n_vectors <= loss.max_candidates:
            others = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(choices))
        else:
            others = more(own, int(row))
        candidates = np.vstack([own.labels, others]).astype(np.int32)
        best, expected_loss[row] = least(candidates, own.labels, own.normalised_weights)
        labels[row] = candidates[best]
    return labels, expected_loss, tried_all


@dataclass(eq=False, repr=False)
class CallableLoss(Loss):
    """Any function of two label vectors.

    All label vectors are tried as decisions if there are at most `max_candidates`, else the distinct vectors of the
    distribution. Each candidate is compared with every vector until it costs more than the best one so
    far, so expect some thousands of calls of `function` per row.

    Parameters
    ----------
    function : callable
        ``function(y, y_hat)`` of two one-dimensional arrays, the truth and the decision, in the user's
        own classes and in the order of the labels. It must be finite and not negative.
    maximum : float, optional
        The largest value the function can return; a larger one raises an error. Without it, the regret is only
        bounded in rows whose distribution is complete, and infinite elsewhere: vectors that were not enumerated
        could cost any amount.
    max_candidates : int
        All label vectors are tried up to this many. Where there are more, a vector outside the
        distribution could be better still, and the regret is the expected loss itself plus what the residual adds.

    Examples
    --------
    >>> from montechain.losses import check_loss, example_distribution
    >>> def wasted(y, y_hat):
    ...     return ((y != y_hat) * [1, 3]).sum()
    >>> loss = check_loss(CallableLoss(wasted, maximum=4), classes=[np.arange(2)] * 2, order=[0, 1])
    >>> labels, expected_loss, regret = loss.decide(example_distribution())
    >>> labels, expected_loss.round(3)
    (array([[1, 0]], dtype=int32), array([1.5]))
    """

    function: Callable[[np.ndarray, np.ndarray], float]
    maximum: float | None = None
    max_candidates: int = 1024

    @property
    def worst(self) -> float:  # type: ignore[override]
        """Largest value that the loss can take: `maximum`, or infinity."""
        return math.inf if self.maximum is None else float(self.maximum)

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> CallableLoss:  # noqa: D102
        bound = super().bind(classes, order)
        assert isinstance(bound, CallableLoss)
        check_positive_integer(self, "max_candidates", 1024)
        if not callable(self.function):
            raise TypeError(f"`function={self.function!r}` of CallableLoss must be a function of y and y_hat.")
        if self.maximum is not None:
            check_number(self, "maximum", 1.0)
        bound.position_ = np.argsort(np.asarray(order))
        return bound

    def decide(self, distribution, given=None):  # noqa: D102
        heaviest = distribution.heaviest_first()
        cost = self._cached_cost()

        def least(candidates: np.ndarray, vectors: np.ndarray, weights: np.ndarray) -> tuple[int, float]:
            outcomes, shares = [vector.tobytes() for vector in vectors], weights.tolist()
            lowest, best = math.inf, 0
            for index, candidate in enumerate(candidates):
                codes, expected = candidate.tobytes(), 0.0
                # Weights fall, so the first few outcomes already cut most candidates short.
                for outcome, share in zip(outcomes, shares, strict=True):
                    expected += share * cost(outcome, codes)
                    if expected >= lowest:
                        break
                else:
                    lowest, best = expected, index
            return best, lowest

        labels, expected_loss, tried_all = try_candidates(self, heaviest, given, least, lambda own, _: own.labels[:0])
        # Without a maximum, any mass that was not enumerated can cost any amount.
        slack = heaviest.slack
        slack[slack > 0.0] *= self.worst
        regret = np.where(tried_all, slack, expected_loss * heaviest.totals + slack)
        return labels, expected_loss, np.fmin(regret, self.worst)

    def _cached_cost(self) -> Callable[[bytes, bytes], float]:
        """Return the function of two label vectors, each as the bytes of its codes; values are cached and checked."""
        codec = TargetCodec(list(self.classes_))
        name = getattr(self.function, "__name__", type(self.function).__name__)

        @cache
        def decoded(codes: bytes) -> np.ndarray:
            vector = codec.decode(np.frombuffer(codes, dtype=np.int32)[self.position_][None])[0]
            vector.flags.writeable = False  # it is passed many times, so a function that writes to it should fail
            return vector

        @lru_cache(MAX_CACHED)
        def cost(codes: bytes, decided: bytes) -> float:
            y, y_hat = decoded(codes), decoded(decided)
            value = float(self.function(y, y_hat))
            call = f"{name}({y.tolist()}, {y_hat.tolist()}) is {value}"
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(
                    f"a loss must be finite and not negative, but {call}. Add a constant if it is a negative score."
                )
            if value > self.worst * (1.0 + 1e-9):
                raise ValueError(
                    f"{call}, above `maximum={self.worst}`. Give the largest value that it can return, "
                    f"CallableLoss({name}, maximum=...), or leave `maximum` out."
                )
            return value

        return cost
