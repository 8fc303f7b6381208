"""Base classes and shared checks of link learners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.parallel import Parallel, delayed

from montechain._savable import require
from montechain._threads import send_once
from montechain.links.design import canonical
from montechain.targets import named_labels

SUM_TOLERANCE = 1e-3
"""How far the probabilities of a classifier may be from summing to one: float16 is not exact."""


class LinkProblem(NamedTuple):
    """A link to learn: p(label | x, parents), label and parents given as columns of Y."""

    label: int
    parents: tuple[int, ...]


class FittedLink(Protocol):
    """A learned p(label | x, parents)."""

    @property
    def n_classes(self) -> int:
        """Number of classes K of the label."""
        ...

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (n, n_classes); `parent_codes` has one column per parent."""
        ...


class LinkLearner(BaseEstimator, ABC):
    """Base class of link learners: `LogisticLink`, `SVMLink` and `EstimatorLink`."""

    @abstractmethod
    def fit_links(
        self,
        X: Any,
        codes: np.ndarray,
        filled: np.ndarray,
        n_classes: Sequence[int],
        problems: Sequence[LinkProblem],
        **options: Any,
    ) -> list[FittedLink]:
        """Learn all `problems` on the same rows, and return their links in the same order.

        `X` is an array, CSR matrix or data frame of n rows. `codes`, int32 of shape (n, L), has the classes, `UNKNOWN`
        where a label is not known, and `filled` the same with unknown labels filled in. A link is learned from the rows
        in which its own label is known; its parents are read in `filled`. `n_classes` counts the classes of every
        label, whether or not all occur in these rows. Options are `sample_weight`, `n_jobs` and the `names` of the
        labels; others are passed on to the classifier's ``fit`` by `EstimatorLink`, and refused by other learners.
        """

    def prepared(
        self, X: Any, codes: np.ndarray, filled: np.ndarray, n_classes: Sequence[int], **options: Any
    ) -> Callable[..., list[FittedLink]]:
        """Return `fit_links` bound to these rows and options, so that repeated calls share the preparation."""
        return partial(self.fit_links, X, codes, filled, n_classes, **options)

    def for_classes(self, classes: Sequence[np.ndarray]) -> LinkLearner:
        """Return this learner with its parameters in codes; `classes` holds the classes of each label."""
        return self


class OneByOne(LinkLearner):
    """Base class of learners that learn each link separately, so that a link does not depend on the others."""

    _prefer: str | None = None  # joblib's preference for threads or processes

    def fit_links(self, X, codes, filled, n_classes, problems, *, n_jobs=None, names=None, **options):  # noqa: D102
        names, n_classes = named_labels(names, codes.shape[1]), [int(k) for k in n_classes]
        fit, *shared = self._link_fitter(X, codes, filled, n_classes, names, **options)
        send_once(shared)
        return Parallel(n_jobs=n_jobs, prefer=self._prefer)(delayed(fit)(*shared, problem) for problem in problems)

    @abstractmethod
    def _link_fitter(self, X, codes, filled, n_classes, names, **options) -> tuple[Any, ...]:
        """Return a function that learns one link, and its arguments before the problem, prepared for all links."""


def check_links(links: Sequence[Any], parents: Sequence[Sequence[int]]) -> None:
    """Raise a ValueError unless these are links, and each expects the numbers of classes that its parents have.

    `parents` holds, for each link, the places of its parents among the links.
    """
    for link in links:
        n_classes = getattr(link, "n_classes", None)
        is_link = hasattr(link, "log_proba") and isinstance(n_classes, int | np.integer) and n_classes >= 1
        require(is_link, "expected a link, but found something else.")
    for link, own in zip(links, parents, strict=True):
        has = [int(links[j].n_classes) for j in own]
        # User-defined links need not say what they expect.
        expects = [int(k) for k in getattr(link, "parents_n_classes", has)]
        require(has == expects, f"a link expects parents with {expects} classes, but they have {has}.")


def check_inputs(X: Any) -> Any:
    """Return X as an array of finite numbers, or as CSR with sorted indices and no duplicates."""
    return canonical(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X"))


def checked_proba(proba: Any, estimator: Any, label: Any) -> np.ndarray:
    """Return what `predict_proba` of a classifier returned, or say what is wrong with it and for which label."""
    proba, n_classes = np.asarray(proba), len(estimator.classes_)
    blame = f"`predict_proba` of {type(estimator).__name__}, the classifier of label {label!r}, returns"
    if proba.ndim != 2 or proba.shape[1] != n_classes:
        raise ValueError(f"{blame} shape {proba.shape} for {n_classes} classes. Use another classifier.")
    bad = ~(np.isfinite(proba) & (proba >= 0.0)).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{blame} NaN, infinity or negative numbers for {bad.sum()} of {len(bad)} rows. Clean or scale X, or use "
            "another classifier."
        )
    off = np.abs(proba.sum(axis=1) - 1.0)
    if (off > SUM_TOLERANCE).any():
        raise ValueError(
            f"{blame} probabilities that do not sum to one for {(off > SUM_TOLERANCE).sum()} of {len(off)} rows; one "
            f"of the sums is {proba[off.argmax()].sum():.3g}. Put CalibratedClassifierCV around it, or use another one."
        )
    return proba


def class_counts(codes: np.ndarray, sample_weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the total weight of each class; unknown (negative) codes are left out."""
    return np.bincount(codes + 1, weights=sample_weight, minlength=n_classes + 1)[1:]


def class_numbers(occurring: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the number of each class among those that occur, -1 for the others and, in the end, for unknown codes."""
    numbers = np.full(n_classes + 1, -1, dtype=np.int32)
    numbers[occurring] = np.arange(len(occurring))
    return numbers


def refuse_fit_params(learner: Any, fit_params: Mapping[str, Any]) -> None:
    """Raise a TypeError if there are any `fit_params`."""
    if fit_params:
        raise TypeError(
            f"{type(learner).__name__} takes no fit parameters besides sample_weight, but got "
            f"{', '.join(sorted(fit_params))}. Leave them out, or use a scikit-learn classifier whose fit takes them."
        )


def class_weights(class_weight: Any, counts: np.ndarray, occurring: np.ndarray) -> np.ndarray:
    """Return the weights of those classes of a label that occur, from its `class_weight`.

    >>> class_weights("balanced", np.array([1.0, 3.0]), np.array([0, 1]))
    array([2.        , 0.66666667])
    """
    if class_weight is None:
        return np.ones(len(occurring))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return counts.sum() / (len(occurring) * counts[occurring])
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} is not understood. "
            'Use None, "balanced", a dict such as {0: 1.0, 1: 5.0}, or a list with one of these for each label.'
        )
    wrong = {key: value for key, value in class_weight.items() if not 0.0 < value < np.inf}
    if wrong:
        raise ValueError(
            f"class_weight has weights that are not positive: {wrong}. Use positive numbers; to leave rows out, "
            "give them a sample_weight of 0."
        )
    return np.array([float(class_weight.get(int(code), 1.0)) for code in occurring])
