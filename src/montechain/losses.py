"""What "best" means over weighted label vectors.

Everything here is in chain positions and codes, like the chain itself. A loss is bound to the classes
and the order of a problem once, by `check_loss`; then `Loss.decide` finds for each row the label
vector of least expected loss, and bounds by how much another one could be better.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._kernels.f1 import maximise_f1, minimise_jaccard
from montechain._kernels.ties import TIE, first_largest
from montechain._messages import nearest
from montechain.distributions import LabelDistribution
from montechain.targets import TargetCodec, resolve_negative

__all__ = ["F1", "CallableLoss", "ExactMatch", "Hamming", "Jaccard", "LabelDistribution", "Loss", "check_loss"]

MAX_CACHED = 2**20
"""At most so many values of a callable loss are remembered in one call."""


class Loss(BaseEstimator, ABC):
    """Says which label vector is best over weighted label vectors.

    A member implements `decide`; `bind` tells it the classes and the order of the problem.
    """

    is_exact_match = False

    worst: float = 1.0
    """Largest value that the loss can take; infinite if unknown."""

    n_classes_: np.ndarray
    """Number of classes at each position, once bound."""

    @abstractmethod
    def decide(
        self, distribution: LabelDistribution, given: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the decision of least expected loss for each row.

        Parameters
        ----------
        distribution : LabelDistribution
            All of its vectors agree with `given`.
        given : int32 ndarray of shape (n, L), optional
            Known classes, -1 elsewhere. The decisions agree with them.

        Returns
        -------
        labels : int32 ndarray of shape (n, L)
        expected_loss : ndarray of shape (n,)
            Under the weights, normalised.
        regret : ndarray of shape (n,)
            Proven bound on how much smaller the expected loss of any other decision can be; infinite if nothing is
            proven.
        """

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> Loss:
        """Return a copy that knows the problem: `classes` by label, and the label at each position."""
        bound = copy.copy(self)
        bound.n_classes_ = np.array([len(classes[label]) for label in order], dtype=np.int64)
        return bound

    def _check_bound(self) -> None:
        if not hasattr(self, "n_classes_"):
            raise RuntimeError(f"{self!r} does not know the classes yet: use check_loss(loss, classes=..., order=...).")


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
        labels, has_vector = _start(heaviest, given)
        first = heaviest.indptr[:-1][has_vector]
        labels[has_vector] = heaviest.labels[first]
        top = np.zeros(heaviest.n_rows)
        share = np.zeros(heaviest.n_rows)
        top[has_vector] = heaviest.weights[first]
        share[has_vector] = heaviest.normalised_weights[first]
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
        if hasattr(self, "n_classes_"):
            n_classes = [int(k) for k in self.n_classes_]
        else:
            n_classes = [max(2, int(codes.max(initial=0)) + 1) for codes in distribution.labels.T]
        # Where the residual is estimated, a marginal may be off by it in either direction.
        unresolved = np.where(distribution.estimated, 2.0 * distribution.residual, distribution.residual)
        unresolved = np.broadcast_to(unresolved[:, None], (distribution.n_rows, len(n_classes)))
        return self.decide_marginals(distribution.marginals(n_classes), unresolved, given=given)

    def decide_marginals(
        self,
        marginals: Sequence[np.ndarray],
        unresolved: np.ndarray,
        given: np.ndarray | None = None,
        *,
        lower: Sequence[np.ndarray] | None = None,
        labels: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same triple as `decide` from the marginals alone.

        Parameters
        ----------
        marginals : sequence of L arrays of shape (n, K)
            Mass of each class as far as it is known, or an estimate of it: by this the classes are chosen.
        unresolved : ndarray of shape (n, L)
            Mass that could still go to any class of the label.
        given : int32 ndarray of shape (n, L), optional
            Known classes, -1 elsewhere.
        lower : sequence of L arrays of shape (n, K), optional
            Proven mass of each class: no probability is below this, nor above this plus `unresolved`.
            By default the marginals themselves. Estimates outside these bounds are moved to them.
        labels : int32 ndarray of shape (n, L), optional
            A decision that is already made; by default each label's best class.
        """
        n_rows, n_labels = unresolved.shape
        decided = np.zeros((n_rows, n_labels), dtype=np.int32)
        expected_loss = np.zeros(n_rows)
        regret = np.zeros(n_rows)
        for j, (mass, proven) in enumerate(zip(marginals, marginals if lower is None else lower, strict=True)):
            if labels is None:
                code = first_largest(np.clip(mass, proven, proven + unresolved[:, [j]]))
            else:
                code = labels[:, j]
            if given is not None:
                code = np.where(given[:, j] >= 0, given[:, j], code)
            decided[:, j] = code
            top = np.take_along_axis(mass, code[:, None], axis=1)[:, 0]
            total = mass.sum(axis=1)
            share = np.where(total > 0.0, top / np.where(total > 0.0, total, 1.0), 1.0 / mass.shape[1])
            # What has rounded to more than the whole costs nothing.
            expected_loss += np.maximum(1.0 - share, 0.0)
            if mass.shape[1] > 1:
                # At worst, all that is unresolved belongs to the class that has the most without it.
                others = proven.copy()
                np.put_along_axis(others, code[:, None], -np.inf, axis=1)
                lead = np.take_along_axis(proven, code[:, None], axis=1)[:, 0] - others.max(axis=1)
                lead = np.where(np.abs(lead) <= TIE, 0.0, lead)
                behind = np.clip(unresolved[:, j] - lead, 0.0, 1.0)
                regret += behind if given is None else np.where(given[:, j] >= 0, 0.0, behind)
        return decided, expected_loss / n_labels, regret / n_labels


class _SetLoss(Loss):
    """A loss on the sets of relevant labels: those whose class is not the negative one."""

    negative: Any
    negative_: np.ndarray
    """Code of the negative class at each position, -1 where no class is negative, once bound."""

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> _SetLoss:
        bound = super().bind(classes, order)
        assert isinstance(bound, _SetLoss)
        hint = f"loss={type(self).__name__}(negative={{}})"
        codes = resolve_negative([np.asarray(c) for c in classes], self.negative, hint=hint)
        bound.negative_ = np.array([codes[label] for label in order], dtype=np.int64)
        return bound

    def _maximise_f1(self, distribution: LabelDistribution, given: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        self._check_bound()
        return maximise_f1(*_arrays(distribution), self.negative_, self.n_classes_, _known(given, len(self.n_classes_)))


class F1(_SetLoss):
    """One minus the F1 of the relevant labels of one row; the decision is exact.

    A label is *relevant* if its class is not the negative one; a predicted class is right only if it
    equals the true one. The F1 of two empty sets is one. The expected F1 is maximised exactly for the
    given distribution by the general F-measure maximiser, at a cost of about L² times the number of
    different set sizes per row.

    Parameters
    ----------
    negative : scalar or sequence, optional
        The class that means "not relevant": one for all labels, or one for each. By default it is the
        first class of a label with two (0, False, "no"); a label with more classes asks for it. A
        label with a lone class is relevant unless that class is a number not above zero or one of the
        texts "0", "false", "no" and "none". A label that has not the one class given for all labels
        takes, if it has two classes, the one that is negative by this rule.

    References
    ----------
    K. Dembczyński, W. Waegeman, W. Cheng, E. Hüllermeier. An exact algorithm for F-measure maximization.
    NIPS 2011.

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
        labels, expectation = self._maximise_f1(distribution, given)
        return labels, np.maximum(1.0 - expectation, 0.0), distribution.slack


class Jaccard(_SetLoss):
    """One minus the Jaccard index of the relevant labels of one row.

    The Jaccard index is |A ∩ B| / |A ∪ B| of the sets of (label, class) pairs with a class other than
    the negative one; that of two empty sets is one. To minimise its expectation is hard in general.
    Here all label vectors are tried if there are at most `max_candidates`, and then the decision is
    exact. Otherwise it is the best among the vectors of the distribution, their unions (of the
    heaviest 1, 2, 3, ...; of two among the ten heaviest) and the maximiser of F1; its regret is then
    bounded by means of F1, which is never below the Jaccard index and whose maximum is known.

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
        heaviest = distribution.heaviest_first()
        start, most_f1 = self._maximise_f1(heaviest, given)
        known = _known(given, len(self.n_classes_))
        labels, expected_loss, tried_all = minimise_jaccard(
            *_arrays(heaviest), self.negative_, self.n_classes_, known, start, self.n_heaviest, self.max_candidates
        )
        tried_all |= _has_all_vectors(heaviest, self.n_classes_, given)
        # The best Jaccard index is at most the best F1: what lies between is not proven.
        unproven = np.maximum(expected_loss - np.maximum(1.0 - most_f1, 0.0), 0.0) * heaviest.totals
        regret = np.where(tried_all, heaviest.slack, np.minimum(heaviest.slack + unproven, 1.0))
        return labels, expected_loss, regret


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
                f"`{maximum=}` of CallableLoss must be a positive number, the largest value that "
                f"{_name(self.function)} can return, e.g. CallableLoss({_name(self.function)}, maximum=1.0)."
            )
        bound.classes_ = [np.asarray(c) for c in classes]
        bound.position_ = np.argsort(np.asarray(order))
        return bound

    def decide(self, distribution, given=None):  # noqa: D102
        self._check_bound()
        heaviest = distribution.heaviest_first()
        weights = heaviest.normalised_weights
        labels, has_vector = _start(heaviest, given)
        expected_loss = np.full(heaviest.n_rows, np.nan)
        tried_all = _has_all_vectors(heaviest, self.n_classes_, given)
        pairs = _Pairs(self.function, self.worst, self.classes_, self.position_)
        for row in np.flatnonzero(has_vector):
            vectors = slice(heaviest.indptr[row], heaviest.indptr[row + 1])
            outcomes = [pairs.number(vector) for vector in heaviest.labels[vectors]]
            # Weights fall, so the first few outcomes already cut most candidates short.
            shares = weights[vectors].tolist()
            candidates = dict.fromkeys(outcomes)
            known = None if given is None else given[row]
            if not tried_all[row] and n_vectors(self.n_classes_, known) <= self.max_candidates:
                tried_all[row] = True
                candidates.update(dict.fromkeys(pairs.number(vector) for vector in all_vectors(self.n_classes_, known)))
            least, best = math.inf, outcomes[0]
            for candidate in candidates:
                expected = 0.0
                for outcome, share in zip(outcomes, shares, strict=True):
                    expected += share * pairs.loss(outcome, candidate)
                    if expected >= least:
                        break
                else:
                    least, best = expected, candidate
            labels[row] = pairs.codes[best]
            expected_loss[row] = least
        # Without a maximum, any mass that was not enumerated can cost any amount.
        slack = heaviest.slack
        slack[slack > 0.0] *= self.worst
        regret = np.where(tried_all, slack, expected_loss * heaviest.totals + slack)
        return labels, expected_loss, np.where(has_vector, np.minimum(regret, self.worst), self.worst)


class _Pairs:
    """A callable loss of pairs of label vectors, which are numbered; values are remembered."""

    def __init__(self, function: Callable, worst: float, classes: Sequence[np.ndarray], position: np.ndarray):
        self.function = function
        self.codec = TargetCodec(list(classes))
        self.worst = worst
        self.position = position
        self.codes: list[np.ndarray] = []
        self.decoded: list[np.ndarray] = []
        self.numbers: dict[bytes, int] = {}
        self.values: dict[tuple[int, int], float] = {}

    def number(self, vector: np.ndarray) -> int:
        key = vector.tobytes()
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.codes)
            self.codes.append(vector)
            decoded = self.codec.decode(vector[self.position][None])[0]
            # The same array is handed out many times: a function that writes to it should hear of it.
            decoded.flags.writeable = False
            self.decoded.append(decoded)
        return number

    def loss(self, outcome: int, decision: int) -> float:
        value = self.values.get((outcome, decision))
        if value is None:
            y, y_hat = self.decoded[outcome], self.decoded[decision]
            value = float(self.function(y, y_hat))
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(
                    f"a loss must be finite and not negative, but {_name(self.function)}({y.tolist()}, "
                    f"{y_hat.tolist()}) is {value}. Add a constant if it is a negative score."
                )
            if value > self.worst * (1.0 + 1e-9):
                name = _name(self.function)
                raise ValueError(
                    f"{name}({y.tolist()}, {y_hat.tolist()}) is {value}, above `maximum={self.worst}`. Give the "
                    f"largest value that it can return, CallableLoss({name}, maximum=...), or leave `maximum` out."
                )
            if len(self.values) < MAX_CACHED:
                self.values[outcome, decision] = value
        return value


LOSSES: dict[str, type[Loss]] = {"exact_match": ExactMatch, "hamming": Hamming, "f1": F1, "jaccard": Jaccard}
"""The losses that have a name."""


def check_loss(loss: Any, *, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> Loss:
    """Return a loss that is bound to a problem.

    Parameters
    ----------
    loss : str, Loss or callable
        ``"exact_match"``, ``"hamming"``, ``"f1"`` or ``"jaccard"``; an instance of `Loss`, which is left
        as it is; or a function ``loss(y, y_hat)``, which becomes a `CallableLoss` without a maximum.
    classes : sequence of L arrays
        The classes of each label.
    order : sequence of L ints
        The label at each position.

    Raises
    ------
    ValueError
        If there is no loss of this name, or if a loss needs to know a negative class.
    TypeError
        If `loss` is none of the three.

    Examples
    --------
    >>> check_loss("hamming", classes=[np.arange(2)], order=[0])
    Hamming()
    >>> check_loss("haming", classes=[np.arange(2)], order=[0])
    Traceback (most recent call last):
        ...
    ValueError: loss='haming' is not known; did you mean 'hamming'? There are 'exact_match', 'hamming', 'f1', ...
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            known = ", ".join(map(repr, LOSSES))
            guess = nearest(loss, LOSSES) or "."
            raise ValueError(f"{loss=} is not known{guess} There are {known}, or pass a function loss(y, y_hat).")
        loss = LOSSES[loss]()
    elif isinstance(loss, type) and issubclass(loss, Loss):
        raise TypeError(f"loss={loss.__name__} is a class: pass an instance, loss={loss.__name__}().")
    elif not isinstance(loss, Loss):
        if not callable(loss):
            raise TypeError(f"{loss=} is neither the name of a loss, nor a Loss, nor a function loss(y, y_hat).")
        loss = CallableLoss(loss)
    return loss.bind(classes, order)


def n_vectors(n_classes: Sequence[int] | np.ndarray, known: np.ndarray | None) -> int:
    """Return how many label vectors agree with what is known."""
    return math.prod(int(k) for j, k in enumerate(n_classes) if known is None or known[j] < 0)


def all_vectors(n_classes: Sequence[int] | np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Return all label vectors that agree with what is known, as int32 codes."""
    choices = [range(k) if known is None or known[j] < 0 else [known[j]] for j, k in enumerate(n_classes)]
    return np.array(list(product(*choices)), dtype=np.int32)


def example_distribution() -> LabelDistribution:
    """Return the distribution that the examples of this module decide over: one row, two labels.

    The vectors 11, 10 and 00 have the probabilities 0.4, 0.3 and 0.3.
    """
    return LabelDistribution(
        indptr=np.array([0, 3]),
        labels=np.array([[1, 1], [1, 0], [0, 0]], dtype=np.int32),
        weights=np.array([0.4, 0.3, 0.3]),
        residual=np.zeros(1),
        estimated=np.zeros(1, dtype=bool),
    )


def _arrays(distribution: LabelDistribution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what the kernels take of a distribution."""
    return (
        np.ascontiguousarray(distribution.indptr, dtype=np.int64),
        np.ascontiguousarray(distribution.labels, dtype=np.int32),
        distribution.normalised_weights,
    )


def _known(given: np.ndarray | None, n_labels: int) -> np.ndarray:
    if given is None:
        return np.empty((0, n_labels), dtype=np.int32)
    return np.ascontiguousarray(given, dtype=np.int32)


def _start(distribution: LabelDistribution, given: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels to write decisions to, and which rows have a vector; the others keep these labels."""
    labels = np.zeros((distribution.n_rows, distribution.labels.shape[1]), dtype=np.int32)
    if given is not None:
        labels = np.where(given >= 0, given, labels).astype(np.int32)
    return labels, np.diff(distribution.indptr) > 0


def _has_all_vectors(distribution: LabelDistribution, n_classes: np.ndarray, given: np.ndarray | None) -> np.ndarray:
    """Return which rows hold every label vector there is, each once."""
    log_count = np.log(n_classes)
    needed = np.full(distribution.n_rows, log_count.sum()) if given is None else ((given < 0) * log_count).sum(axis=1)
    # In logarithms, for the number of vectors soon exceeds every integer.
    return np.log(np.maximum(np.diff(distribution.indptr), 1)) >= needed - 1e-9


def _name(function: Callable) -> str:
    return getattr(function, "__name__", type(function).__name__)
