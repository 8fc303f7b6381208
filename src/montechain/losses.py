"""What "best" means over weighted label vectors.

Everything here is in chain positions and codes. `check_loss` binds a loss to the classes and the order of a problem;
`Loss.decide` then finds the label vector of least expected loss for each row and bounds its regret.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Self

import numpy as np

from montechain._cells import resolve_negative
from montechain._kernels.set_losses import least_jaccard
from montechain._kernels.ties import TIE, first_largest
from montechain._messages import by_name, check_number, check_positive_integer
from montechain.distributions import Loss, Marginals, example_distribution  # noqa: F401
from montechain.expected_loss import maximise_f1, try_candidates, unions
from montechain.targets import TargetCodec

MAX_CACHED = 2**20
"""Maximum number of cached values of a function in one call."""


class ExactMatch(Loss):
    """Zero if all labels are right, else one: the most probable vector is best.

    Examples
    --------
    >>> loss = check_loss("exact_match", classes=[np.arange(2)] * 2, order=[0, 1])
    >>> loss.decide(example_distribution())[0]
    array([[1, 1]], dtype=int32)
    """

    is_exact_match = True

    def decide(self, distribution, given=None):  # noqa: D102
        heaviest = distribution.heaviest_first()
        labels, has_vector = heaviest.any_labels(given)
        first = heaviest.indptr[:-1][has_vector]
        labels[has_vector] = heaviest.labels[first]
        top, share = np.zeros((2, heaviest.n_rows))
        top[has_vector], share[has_vector] = heaviest.weights[first], heaviest.normalised_weights[first]
        # A vector that was not enumerated has at most all of the residual.
        regret = np.where(heaviest.estimated, heaviest.slack, np.maximum(heaviest.slack - top, 0.0))
        return labels, 1.0 - share, regret


class Hamming(Loss):
    """Share of the labels that are wrong: each label's most probable class is best.

    Examples
    --------
    >>> loss = check_loss("hamming", classes=[np.arange(2)] * 2, order=[0, 1])
    >>> loss.decide(example_distribution())[0]
    array([[1, 0]], dtype=int32)
    """

    def decide(self, distribution, given=None):  # noqa: D102
        self._check_bound()
        n_classes = self.n_classes_.tolist()
        # Where the residual is estimated, a marginal may be off by it in either direction.
        unresolved = np.where(distribution.estimated, 2.0 * distribution.residual, distribution.residual)
        mass, unresolved = distribution.marginals(n_classes), np.repeat(unresolved[:, None], len(n_classes), axis=1)
        return self.decide_marginals(Marginals(mass, mass, unresolved, distribution.estimated), given)

    def decide_marginals(
        self, marginals: Marginals, given: np.ndarray | None = None, *, labels: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same triple as `decide` from the marginals alone.

        Classes are chosen by ``marginals.proba``, which need not be normalised; estimates outside the proven bounds are
        moved to them. `labels` is a decision already made; by default each label's best class.
        """
        n_rows, n_labels = marginals.unresolved.shape
        known = np.full((n_rows, n_labels), -1) if given is None else given
        decided = np.zeros((n_rows, n_labels), dtype=np.int32)
        expected_loss, regret = np.zeros((2, n_rows))
        for j, (mass, proven) in enumerate(zip(marginals.proba, marginals.lower, strict=True)):
            unresolved = marginals.unresolved[:, j]
            within = np.clip(mass, proven, proven + unresolved[:, None])
            code = first_largest(within) if labels is None else labels[:, j]
            is_known = known[:, j] >= 0
            decided[:, j] = code = np.where(is_known, known[:, j], code)
            top = np.take_along_axis(mass, code[:, None], axis=1)[:, 0]
            total = mass.sum(axis=1)
            share = np.where(total > 0.0, top / np.where(total > 0.0, total, 1.0), 1.0 / mass.shape[1])
            # A probability rounded to more than one costs nothing.
            expected_loss += np.maximum(1.0 - share, 0.0)
            if mass.shape[1] > 1:
                # At worst, all that is unresolved belongs to the class that has the most without it.
                others = proven.copy()
                np.put_along_axis(others, code[:, None], -np.inf, axis=1)
                lead = np.take_along_axis(proven, code[:, None], axis=1)[:, 0] - others.max(axis=1)
                lead = np.where(np.abs(lead) <= TIE, 0.0, lead)
                regret += np.where(is_known, 0.0, np.clip(unresolved - lead, 0.0, 1.0))
        return decided, expected_loss / n_labels, regret / n_labels


class _SetLoss(Loss):
    """A loss on the sets of relevant labels: those whose class is not the negative one."""

    negative: Any
    negative_: np.ndarray
    """Code of the negative class at each position, -1 where no class is negative, once bound."""

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> Self:
        bound = super().bind(classes, order)
        if hasattr(self, "max_candidates"):
            check_positive_integer(self, "max_candidates", 1024)
        codes = resolve_negative(bound.classes_, self.negative)
        bound.negative_ = np.array([codes[label] for label in order], dtype=np.int64)
        return bound


class F1(_SetLoss):
    """One minus the F1 of the relevant labels of one row; the decision is exact.

    A label is *relevant* if its class differs from the negative one; a predicted class is right only if it equals the
    true one. The F1 of two empty sets is one. The general F-measure maximiser finds the decision of largest expected F1
    for the given distribution, at a cost of about L² times the number of different set sizes per row.

    Parameters
    ----------
    negative : scalar or sequence, optional
        The class that means "not relevant": one for all labels, or one for each. By default it is the first of two
        classes (0, False, "no"); you must name it for labels with more classes. A single class counts as relevant
        unless it is 0 or False.

    References
    ----------
    W. Waegeman, K. Dembczyński, A. Jachnik, W. Cheng, E. Hüllermeier. On the Bayes-optimality of F-measure
    maximizers. JMLR 15, 2014.

    Examples
    --------
    >>> loss = check_loss("f1", classes=[np.arange(2)] * 2, order=[0, 1])
    >>> labels, expected_loss, regret = loss.decide(example_distribution())
    >>> labels, expected_loss.round(3)
    (array([[1, 1]], dtype=int32), array([0.4]))
    """

    def __init__(self, negative: Any = None):
        self.negative = negative

    def decide(self, distribution, given=None):  # noqa: D102
        self._check_bound()
        labels, expectation = maximise_f1(distribution, given, self.negative_, self.n_classes_)
        return labels, np.maximum(1.0 - expectation, 0.0), distribution.slack


class Jaccard(_SetLoss):
    """One minus the Jaccard index of the relevant labels of one row.

    The Jaccard index is |A ∩ B| / |A ∪ B| of the sets of (label, class) pairs with a class other than
    the negative one; that of two empty sets is one. Minimising its expectation is hard in general.
    If there are at most `max_candidates` label vectors, all are tried and the decision is exact. Otherwise it
    is the best among the vectors of the distribution, their unions (of the heaviest 1, 2, 3, ...; of two among the
    ten heaviest) and the maximiser of F1; the maximum of F1, which is never below the Jaccard index, bounds its regret.

    Parameters
    ----------
    negative : scalar or sequence, optional
        The class that means "not relevant", as for `F1`.
    max_candidates : int
        All label vectors are tried up to this many.

    Examples
    --------
    >>> loss = check_loss("jaccard", classes=[np.arange(2)] * 2, order=[0, 1])
    >>> loss.decide(example_distribution())[0]
    array([[1, 1]], dtype=int32)
    """

    n_heaviest = 10

    def __init__(self, negative: Any = None, max_candidates: int = 1024):
        self.negative = negative
        self.max_candidates = max_candidates

    def decide(self, distribution, given=None):  # noqa: D102
        self._check_bound()
        heaviest = distribution.heaviest_first()
        best_f1, most_f1 = maximise_f1(heaviest, given, self.negative_, self.n_classes_)
        labels, expected_loss, tried_all = try_candidates(
            self,
            heaviest,
            given,
            lambda candidates, vectors, weights: least_jaccard(candidates, vectors, weights, self.negative_),
            lambda own, row: np.vstack([unions(own.labels, self.negative_, self.n_heaviest), best_f1[[row]]]),
        )
        # The best Jaccard index is at most the best F1: what lies between is not proven.
        unproven = np.maximum(expected_loss - np.maximum(1.0 - most_f1, 0.0), 0.0) * heaviest.totals
        regret = np.where(tried_all, heaviest.slack, np.fmin(heaviest.slack + unproven, 1.0))
        return labels, expected_loss, regret


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

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> Self:  # noqa: D102
        bound = super().bind(classes, order)
        check_positive_integer(self, "max_candidates", 1024)
        if not callable(self.function):
            raise TypeError(f"`function={self.function!r}` of CallableLoss must be a function of y and y_hat.")
        if self.maximum is not None:
            check_number(self, "maximum", 1.0)
        bound.position_ = np.argsort(np.asarray(order))
        return bound

    def decide(self, distribution, given=None):  # noqa: D102
        self._check_bound()
        heaviest, cost = distribution.heaviest_first(), self._cached_cost()

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


LOSSES: dict[str, type[Loss]] = {"exact_match": ExactMatch, "hamming": Hamming, "f1": F1, "jaccard": Jaccard}
"""The losses that have a name."""


def check_loss(loss: Any, *, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> Loss:
    """Return a loss that is bound to a problem: the `classes` of each label, and the label at each position.

    `loss` is ``"exact_match"``, ``"hamming"``, ``"f1"`` or ``"jaccard"``; a `Loss`, which is left as it is; or a
    function ``loss(y, y_hat)``, which becomes a `CallableLoss` without a maximum. A ValueError says if there is no such
    loss, or if it needs to know a negative class; a class is a TypeError.

    >>> check_loss("hamming", classes=[np.arange(2)], order=[0])
    Hamming()
    >>> check_loss("haming", classes=[np.arange(2)], order=[0])
    Traceback (most recent call last):
        ...
    ValueError: `loss='haming'` is not known; did you mean 'hamming'? Allowed are 'exact_match', 'hamming', 'f1', ...
    """
    if callable(loss) and not isinstance(loss, type | Loss):
        loss = CallableLoss(loss)
    return by_name("loss", loss, Loss, LOSSES, "a function loss(y, y_hat)").bind(classes, order)
