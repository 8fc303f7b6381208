"""What "best" means over weighted label vectors.

Everything here is in chain positions and codes. `check_loss` binds a loss to the classes and the order of a problem;
`Loss.decide` then finds the label vector of least expected loss for each row and bounds its regret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from montechain._cells import resolve_negative
from montechain._kernels.set_losses import least_jaccard
from montechain._kernels.ties import TIE, first_largest, level
from montechain._messages import by_name, check_positive_integer
from montechain._rows import row_blocks
from montechain.callable_loss import CallableLoss, try_candidates
from montechain.distributions import LabelDistribution, Loss, Marginals, example_distribution

__all__ = [
    "F1",
    "CallableLoss",
    "ExactMatch",
    "Hamming",
    "Jaccard",
    "LabelDistribution",
    "Loss",
    "check_loss",
    "example_distribution",
]


CELLS_AT_ONCE = 2**20
"""Approximate number of numbers held in memory while F1 is maximised."""


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
        decided = np.zeros((n_rows, n_labels), dtype=np.int32)
        expected_loss, regret = np.zeros((2, n_rows))
        for j, (mass, proven) in enumerate(zip(marginals.proba, marginals.lower, strict=True)):
            unresolved = marginals.unresolved[:, j]
            within = np.clip(mass, proven, proven + unresolved[:, None])
            code = first_largest(within) if labels is None else labels[:, j]
            is_known = np.zeros(n_rows, dtype=bool) if given is None else given[:, j] >= 0
            code = code if given is None else np.where(is_known, given[:, j], code)
            decided[:, j] = code
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

    def bind(self, classes: Sequence[np.ndarray], order: Sequence[int] | np.ndarray) -> _SetLoss:
        bound = super().bind(classes, order)
        assert isinstance(bound, _SetLoss)
        if hasattr(self, "max_candidates"):
            check_positive_integer(self, "max_candidates", 1024)
        codes = resolve_negative([np.asarray(c) for c in classes], self.negative)
        bound.negative_ = np.array([codes[label] for label in order], dtype=np.int64)
        return bound

    def _maximise_f1(self, distribution: LabelDistribution, given: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row the label vector of the largest expected F1, and that expectation."""
        self._check_bound()
        known = np.full((distribution.n_rows, len(self.n_classes_)), -1) if given is None else given
        n_each = max(1, CELLS_AT_ONCE // int(self.n_classes_.sum() * len(self.n_classes_)))
        blocks = row_blocks(distribution.n_rows, n_each)
        parts = [_maximise_f1(distribution.take(b), known[b], self.negative_, self.n_classes_) for b in blocks]
        labels, expectation = zip(*parts, strict=True)
        return np.concatenate(labels), np.concatenate(expectation)


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
        heaviest = distribution.heaviest_first()
        best_f1, most_f1 = self._maximise_f1(heaviest, given)
        labels, expected_loss, tried_all = try_candidates(
            self,
            heaviest,
            given,
            lambda candidates, vectors, weights: least_jaccard(candidates, vectors, weights, self.negative_),
            lambda own, row: np.vstack([_unions(own.labels, self.negative_, self.n_heaviest), best_f1[[row]]]),
        )
        # The best Jaccard index is at most the best F1: what lies between is not proven.
        unproven = np.maximum(expected_loss - np.maximum(1.0 - most_f1, 0.0), 0.0) * heaviest.totals
        regret = np.where(tried_all, heaviest.slack, np.fmin(heaviest.slack + unproven, 1.0))
        return labels, expected_loss, regret


def _maximise_f1(
    distribution: LabelDistribution, known: np.ndarray, negative: np.ndarray, n_classes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the label vector of the largest expected F1, and that expectation.

    Among decisions with k relevant labels, the expected F1 is the sum over them of
    ``gain(l, c, k) = sum_s P(y_l = c, |y| = s) * 2 / (s + k)``, so the best one takes for each label its best class,
    and the k best labels. All k are tried.
    """
    n_rows, rows, weights = distribution.n_rows, distribution.rows, distribution.normalised_weights
    is_relevant = distribution.labels != negative
    size = is_relevant.sum(axis=1)
    # Labels that are relevant in every decision, and columns for those that are in some.
    is_must = np.where(known >= 0, known != negative, negative < 0)
    columns = np.flatnonzero(is_relevant.any(axis=0) | is_must.any(axis=0))
    is_must, n_must = is_must[:, columns], is_must.sum(axis=1)
    decisions = np.where(known >= 0, known, negative).astype(np.int32)
    nothing = np.where(n_must == 0, np.bincount(rows[size == 0], weights[size == 0], minlength=n_rows), -np.inf)
    if len(columns) == 0:
        return decisions, nothing

    start = np.concatenate([[0], np.cumsum(n_classes[columns])])
    n_sizes, n_pairs = int(size.max(initial=0)) + 1, start[-1]
    own_start = np.zeros(len(negative), dtype=np.int64)
    own_start[columns] = start[:-1]
    vector, at_label = np.nonzero(is_relevant)
    cell = (rows[vector] * n_pairs + own_start[at_label] + distribution.labels[vector, at_label]) * n_sizes
    mass = np.bincount(cell + size[vector], weights[vector], minlength=n_rows * n_pairs * n_sizes)
    n_chosen = np.arange(1, len(columns) + 1)
    gain = mass.reshape(n_rows, n_pairs, n_sizes) @ (2.0 / (np.arange(n_sizes)[:, None] + n_chosen))
    label = np.repeat(columns, n_classes[columns])
    code = np.arange(n_pairs) - np.repeat(start[:-1], n_classes[columns])
    is_allowed = (code != negative[label]) & ((known[:, label] < 0) | (known[:, label] == code))
    gain[~is_allowed] = -np.inf
    # No gain is above one, so these come first.
    score = np.maximum.reduceat(gain, start[:-1], axis=1) + 4.0 * is_must[:, :, None]
    total = np.cumsum(-np.sort(-score, axis=1), axis=1).diagonal(axis1=1, axis2=2) - 4.0 * n_must[:, None]
    total = np.where(n_chosen < n_must[:, None], -np.inf, total)
    total = np.hstack([nothing[:, None], total])
    best = first_largest(total)

    at = np.arange(n_rows), slice(None), np.maximum(best, 1) - 1
    rank = np.argsort(np.argsort(-level(score[at]), axis=1, kind="stable"), axis=1)
    for c, j in enumerate(columns):
        own = first_largest(gain[at][:, start[c] : start[c + 1]])
        decisions[:, j] = np.where(rank[:, c] < best, own, decisions[:, j])
    return decisions, total[np.arange(n_rows), best]


def _unions(vectors: np.ndarray, negative: np.ndarray, n_heaviest: int) -> np.ndarray:
    """Return the unions of the first 2, 3, ... vectors, and of any two of the first `n_heaviest`.

    Where both have a relevant class, the one of the earlier vector counts.
    """
    is_relevant = vectors != negative
    first = np.where(is_relevant.any(axis=0), is_relevant.argmax(axis=0), len(vectors))
    classes = vectors[np.minimum(first, len(vectors) - 1), np.arange(len(first))]
    growing = [np.where(first <= last, classes, negative) for last in np.unique(first)]
    one, other = np.triu_indices(min(len(vectors), n_heaviest), 1)
    pairs = np.where(is_relevant[one], vectors[one], vectors[other])
    return np.vstack([*growing, pairs]).astype(vectors.dtype)


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
        If there is no such loss, or if a loss needs to know a negative class.
    TypeError
        If `loss` is a class.

    Examples
    --------
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
