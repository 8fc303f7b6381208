"""A loss from any function of two label vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import product
from numbers import Real

import numpy as np

from montechain.distributions import Loss
from montechain.targets import TargetCodec

__all__ = ["CallableLoss"]

MAX_CACHED = 2**20
"""Maximum number of cached values of a function in one call."""


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

    def __init__(
        self,
        function: Callable[[np.ndarray, np.ndarray], float],
        maximum: float | None = None,
        max_candidates: int = 1024,
    ):
        self.function = function
        self.maximum = maximum
        self.max_candidates = max_candidates

    @property
    def worst(self) -> float:  # type: ignore[override]
        """Largest value that the loss can take: `maximum`, or infinity."""
        return math.inf if self.maximum is None else float(self.maximum)

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> CallableLoss:  # noqa: D102
        bound = super().bind(classes, order)
        assert isinstance(bound, CallableLoss)
        maximum = self.maximum
        if maximum is not None and not (isinstance(maximum, Real) and 0.0 < maximum < math.inf):
            raise ValueError(
                f"`{maximum=}` of CallableLoss must be a positive number, the largest value that the function can "
                "return, e.g. CallableLoss(function, maximum=1.0)."
            )
        bound.position_ = np.argsort(np.asarray(order))
        return bound

    def decide(self, distribution, given=None):  # noqa: D102
        self._check_bound()
        heaviest = distribution.heaviest_first()
        labels, has_vector = heaviest.any_labels(given)
        expected_loss = np.full(heaviest.n_rows, np.nan)
        tried_all = heaviest.is_complete(self.n_classes_, given)
        cost, weights = self._cached_cost(), heaviest.normalised_weights
        for row in np.flatnonzero(has_vector):
            vectors = slice(heaviest.indptr[row], heaviest.indptr[row + 1])
            outcomes = [vector.tobytes() for vector in heaviest.labels[vectors]]
            # Weights fall, so the first few outcomes already cut most candidates short.
            shares = weights[vectors].tolist()
            candidates = dict.fromkeys(outcomes)
            known = np.full(len(self.n_classes_), -1) if given is None else given[row]
            if not tried_all[row] and math.prod(self.n_classes_[known < 0].tolist()) <= self.max_candidates:
                tried_all[row] = True
                choices = [range(n) if c < 0 else [c] for n, c in zip(self.n_classes_, known, strict=True)]
                candidates |= dict.fromkeys(np.array(vector, dtype=np.int32).tobytes() for vector in product(*choices))
            least, best = math.inf, outcomes[0]
            for candidate in candidates:
                expected = 0.0
                for outcome, share in zip(outcomes, shares, strict=True):
                    expected += share * cost(outcome, candidate)
                    if expected >= least:
                        break
                else:
                    least, best = expected, candidate
            labels[row], expected_loss[row] = np.frombuffer(best, dtype=np.int32), least
        # Without a maximum, any mass that was not enumerated can cost any amount.
        slack = heaviest.slack
        slack[slack > 0.0] *= self.worst
        regret = np.where(tried_all, slack, expected_loss * heaviest.totals + slack)
        return labels, expected_loss, np.where(has_vector, np.minimum(regret, self.worst), self.worst)

    def _cached_cost(self) -> Callable[[bytes, bytes], float]:
        """Return the function of two label vectors, each as the bytes of its codes; values are cached and checked."""
        codec = TargetCodec(list(self.classes_))
        name = getattr(self.function, "__name__", type(self.function).__name__)

        @cache
        def decoded(codes: bytes) -> np.ndarray:
            vector = codec.decode(np.frombuffer(codes, dtype=np.int32)[self.position_][None])[0]
            vector.flags.writeable = False  # it is passed many times: a function that writes to it should hear of it
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
