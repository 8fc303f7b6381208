"""Scores for several labels at once, with two or more classes each.

All scores take the truth and the prediction as lists, arrays of any type, sparse indicator matrices or data frames,
of shape (n, L) or (n,). Unknown cells of the truth (NaN, None, NA) do not count, nor do rows in which nothing is known.

F1 and Jaccard look at *relevant* labels: those whose class is not the negative one. A predicted class is right only if
it equals the true one, so a relevant label of the wrong class is both a miss and a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from montechain._cells import check_weight, compare, resolve_negative
from montechain._messages import check_positive_argument
from montechain._rows import take_rows
from montechain.targets import as_columns

__all__ = [
    "SCORERS", "exact_match", "f1_score", "hamming_score", "jaccard_score", "joint_log_loss", "set_calibration_error",
]  # fmt: skip


def exact_match(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of rows whose known labels are all right.

    Parameters
    ----------
    Y_true, Y_pred : array-like, sparse matrix or data frame of shape (n, L) or (n,)
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        Between zero and one; one is best.

    Examples
    --------
    >>> exact_match([["red", 1], ["blue", None]], [["red", 2], ["blue", 1]])
    0.5
    """
    cells = compare(Y_true, Y_pred, sample_weight)
    return float(np.average(cells.right, weights=cells.weight))


def hamming_score(Y_true: Any, Y_pred: Any, *, sample_weight: Any = None) -> float:
    """Return the share of known cells that are right.

    Parameters are those of `exact_match`; the weight of a row counts for each of its cells.

    Examples
    --------
    >>> hamming_score([["red", 1], ["blue", None], ["tan", 1]], [["red", 2], ["blue", 1], ["tan", 1]])
    0.8
    """
    cells = compare(Y_true, Y_pred, sample_weight)
    return float(cells.equal.sum(axis=1) @ cells.weight / (cells.known.sum(axis=1) @ cells.weight))


def f1_score(
    Y_true: Any, Y_pred: Any, *, average: str = "instance", negative: Any = None, sample_weight: Any = None
) -> float:
    """Return the F1 of the relevant labels; 1 where nothing is relevant, neither in the truth nor in the prediction.

    Parameters
    ----------
    Y_true, Y_pred, sample_weight
        As in `exact_match`.
    average : {"instance", "micro", "macro"}
        Mean over the rows, one figure over all cells, or mean over the labels (all relevant classes of a label
        together).
    negative : scalar or sequence of L scalars, optional
        The class that means "not relevant": one for all labels, or one for each. The classes of a label are those that
        occur in `Y_true` or `Y_pred`. The default is the first of two in sorted order (0, False, "no"); a single class
        is relevant unless it is 0 or False; a label with more classes needs this parameter.

    Examples
    --------
    >>> Y_true, Y_pred = [[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]]
    >>> round(f1_score(Y_true, Y_pred), 3), round(f1_score(Y_true, Y_pred, average="micro"), 3)
    (0.833, 0.8)
    >>> f1_score([["none", "red"], ["tan", "none"]], [["none", "red"], ["red", "none"]], negative="none")
    0.5
    """
    cells = compare(Y_true, Y_pred, sample_weight)
    shared, true, predicted = cells.relevant(negative)
    return cells.average(2 * shared, true + predicted, average)


def jaccard_score(
    Y_true: Any, Y_pred: Any, *, average: str = "instance", negative: Any = None, sample_weight: Any = None
) -> float:
    """Return the Jaccard index of the relevant labels: pairs (label, class) that are shared, over all of them.

    Parameters are those of `f1_score`.

    Examples
    --------
    >>> jaccard_score([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.75
    """
    cells = compare(Y_true, Y_pred, sample_weight)
    shared, true, predicted = cells.relevant(negative)
    return cells.average(shared, true + predicted - shared, average)


def joint_log_loss(log_proba: Any, sample_weight: Any = None) -> float:
    """Return the mean of -log p(y | x) of the true label vectors: zero is best.

    It is infinite if the model gave probability zero to a true vector. `log_proba`, of shape (n,), has log p(y | x) of
    each row's true label vector, such as ``ChainClassifier.log_joint(X, Y)``.

    Examples
    --------
    >>> round(joint_log_loss(np.log([0.5, 0.25])), 4)
    1.0397
    """
    log_proba = np.asarray(log_proba, dtype=np.float64)
    if log_proba.ndim != 1 or len(log_proba) == 0:
        raise ValueError(f"log_proba must have shape (n,) with n >= 1, but it has shape {log_proba.shape}.")
    if np.isnan(log_proba).any() or (log_proba > 1e-9).any():
        raise ValueError("log_proba must hold logarithms of probabilities: none of them above zero, none NaN.")
    weight = check_weight(sample_weight, len(log_proba))
    # Rows without weight do not count, even where they are impossible: 0 * inf would be NaN.
    counted = weight > 0.0
    return float(np.average(-log_proba[counted], weights=weight[counted])) + 0.0  # no negative zero


def set_calibration_error(proba: Any, correct: Any, n_bins: int = 10, sample_weight: Any = None) -> float:
    """Return how far the confidence in whole predicted label vectors is from how often they are right.

    Rows are sorted into bins of equal width by their confidence. The result is the mean over rows of the distance
    between the mean confidence and the exact match of their bin.

    Parameters
    ----------
    proba : array-like of shape (n,)
        Probability that the model gives its own prediction, the whole vector.
    correct : array-like of bool of shape (n,)
        Whether all labels of the row are right.
    n_bins : int
    sample_weight : array-like of shape (n,), optional

    References
    ----------
    C. Li and others. Learning to calibrate and rerank multi-label predictions. ECML PKDD 2019.

    Examples
    --------
    >>> set_calibration_error([0.9, 0.1], [False, False])
    0.5
    """
    proba, correct = np.asarray(proba, dtype=np.float64), np.asarray(correct)
    if proba.ndim != 1 or proba.shape != correct.shape or len(proba) == 0:
        raise ValueError(f"proba and correct have {proba.shape} and {correct.shape}: both must be (n,) with n >= 1.")
    if not ((proba >= 0.0) & (proba <= 1.0 + 1e-9)).all():
        raise ValueError("proba must lie between zero and one. If it holds logarithms, pass np.exp(proba).")
    if not np.isin(correct, (0, 1)).all():
        raise ValueError("correct must hold booleans.")
    check_positive_argument("n_bins", n_bins, "n_bins=10")
    weight = check_weight(sample_weight, len(proba))
    chosen = np.minimum((proba * n_bins).astype(np.int64), n_bins - 1)
    excess = np.bincount(chosen, weights=weight * (proba - correct.astype(np.float64)), minlength=n_bins)
    return float(np.abs(excess).sum() / weight.sum())


def _final(estimator: Any, method: str, X: Any = None) -> tuple[Any, Any]:
    """Return the classifier inside pipelines and searches, which needs `method`, and X as it gets it."""
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "named_steps"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
            continue
        if X is not None and len(estimator.steps) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator.steps[-1][1]
    if not hasattr(estimator, method):
        raise TypeError(f"{type(estimator).__name__} has no method {method}, which this scorer needs.")
    return estimator, X


@dataclass(frozen=True)
class _Scorer:
    """Score an estimator's predictions, with the negative classes that the estimator has."""

    score: Callable[..., float]
    average: str | None = None

    def __call__(self, estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
        final, _ = _final(estimator, "predict")
        options: dict[str, Any] = {"sample_weight": sample_weight}
        if self.average is not None:
            classifier = getattr(final, "classifier_", final)  # that of a TableClassifier
            negative = getattr(getattr(classifier, "loss", None), "negative", None)
            if (classes := getattr(final, "classes_", None)) is not None:
                # The estimator knows classes that these rows may lack.
                by_label = [np.asarray(own) for own in (classes if isinstance(classes, list | tuple) else [classes])]
                pairs = zip(by_label, resolve_negative(by_label, negative), strict=True)
                # A label without a negative class gets an object that is equal to none of its classes.
                negative = [own.tolist()[code] if code >= 0 else object() for own, code in pairs]
            options |= {"average": self.average, "negative": negative}
        return self.score(Y, estimator.predict(X), **options)


def _score_log_joint(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return minus `joint_log_loss` of the true label vectors, over the rows whose labels are all known."""
    final, X = _final(estimator, "log_joint", X)
    known = as_columns(Y, name="Y").known
    complete = np.flatnonzero(known.all(axis=1))
    if len(complete) == 0:
        raise ValueError("Y has no row whose labels are all known: its joint log loss is not defined.")
    if len(complete) < len(known):
        X, Y = take_rows(X, complete), take_rows(Y, complete)
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[complete]
    return -joint_log_loss(final.log_joint(X, Y), sample_weight)


def _score_calibration(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return minus `set_calibration_error` of the estimator's decisions, over the rows with a known label."""
    final, X = _final(estimator, "decide", X)
    decision = final.decide(X)
    cells = compare(Y, decision.labels, sample_weight)
    # exp may round to just above one.
    proba = np.minimum(np.exp(np.asarray(decision.log_proba))[cells.kept], 1.0)
    return -set_calibration_error(proba, cells.right, sample_weight=cells.weight)


SCORERS: dict[str, Callable[..., float]] = {
    "exact_match": _Scorer(exact_match),
    "hamming": _Scorer(hamming_score),
    "f1_instance": _Scorer(f1_score, "instance"),
    "f1_micro": _Scorer(f1_score, "micro"),
    "f1_macro": _Scorer(f1_score, "macro"),
    "jaccard": _Scorer(jaccard_score, "instance"),
    "joint_log_loss": _score_log_joint,
    "set_calibration_error": _score_calibration,
}
"""Scorers by name, for ``scoring=`` of `cross_validate` or `GridSearchCV`.

Greater is better for all of them: losses and errors are negated. Those of F1 and Jaccard take the negative
classes from the estimator's loss, if it has any; otherwise they are the default ones for all classes that the estimator
knows.
"""
