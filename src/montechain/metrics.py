"""Scores for several labels at once, with two or more classes each.

All scores take the truth and the prediction as lists, arrays of any type, sparse indicator matrices or data frames,
of shape (n, L) or (n,). Unknown cells of the truth (NaN, None, NA, or the value `unknown`) do not count, nor do rows in
which nothing is known.

F1 and Jaccard look at *relevant* labels: those whose class is not the negative one. A predicted class is right only if
it equals the true one, so a relevant label of the wrong class is both a miss and a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from montechain._cells import average_ratio, check_weight, compare, relevant, resolve_negative, weighted_mean
from montechain._messages import nearest
from montechain._rows import take_rows
from montechain.targets import as_columns

__all__ = [
    "SCORERS", "class_f1_score", "exact_match", "exact_match_scorer", "f1_class_scorer", "f1_instance_scorer",
    "f1_macro_scorer", "f1_micro_scorer", "f1_score", "get_scorer", "hamming_loss", "hamming_score", "hamming_scorer",
    "jaccard_score", "jaccard_scorer", "joint_log_loss", "joint_log_loss_scorer", "set_calibration_error",
    "set_calibration_error_scorer",
]  # fmt: skip


def exact_match(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the share of rows whose known labels are all right.

    Parameters
    ----------
    Y_true, Y_pred : array-like, sparse matrix or data frame of shape (n, L) or (n,)
    unknown : scalar, optional
        A value in `Y_true` that means "unknown", besides NaN, None and NA.
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
    cells = compare(Y_true, Y_pred, unknown, sample_weight)
    return weighted_mean(cells.right, cells.weight)


def hamming_score(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the share of known cells that are right.

    Parameters are those of `exact_match`; the weight of a row counts for each of its cells.

    Examples
    --------
    >>> hamming_score([["red", 1], ["blue", None], ["tan", 1]], [["red", 2], ["blue", 1], ["tan", 1]])
    0.8
    """
    cells = compare(Y_true, Y_pred, unknown, sample_weight)
    right, known = ((side.sum(axis=1) @ cells.weight) for side in (cells.equal & cells.known, cells.known))
    return float(right / known)


def hamming_loss(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the share of known cells that are wrong: one minus `hamming_score`, with the same parameters.

    Examples
    --------
    >>> hamming_loss([[0, 1], [1, 1]], [[0, 1], [1, 0]])
    0.25
    """
    return 1.0 - hamming_score(Y_true, Y_pred, unknown=unknown, sample_weight=sample_weight)


def f1_score(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: str = "instance",
    negative: Any = None,
    zero_division: float = 1.0,
    unknown: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the F1 of the relevant labels.

    Parameters
    ----------
    Y_true, Y_pred : array-like, sparse matrix or data frame of shape (n, L) or (n,)
    average : {"instance", "micro", "macro"}
        Mean over the rows, one figure over all cells, or mean over the labels (all relevant classes of a label
        together).
    negative : scalar or sequence of L scalars, optional
        The class that means "not relevant": one for all labels, or one for each. The classes of a label are those that
        occur in `Y_true` or `Y_pred`. The default is the first of two in sorted order (0, False, "no"); a single class
        is relevant unless it is a number not above zero or one of "0", "false", "no" and "none"; a label with more
        classes needs this parameter. If the class does not occur, all classes of the label are relevant, except that
        one class given for all labels leaves labels with at most two classes to the rule for a single class.
    zero_division : float
        The F1 where nothing is relevant, neither in the truth nor in the prediction.
    unknown : scalar, optional
        A value in `Y_true` that means "unknown", besides NaN, None and NA.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        Between zero and one; one is best.

    Examples
    --------
    >>> Y_true, Y_pred = [[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]]
    >>> round(f1_score(Y_true, Y_pred), 3), round(f1_score(Y_true, Y_pred, average="micro"), 3)
    (0.833, 0.8)
    >>> f1_score([["none", "red"], ["tan", "none"]], [["none", "red"], ["red", "none"]], negative="none")
    0.5
    """
    shared, true, predicted, cells = relevant(Y_true, Y_pred, negative, unknown, sample_weight)
    return average_ratio(2 * shared, true + predicted, average, zero_division, cells)


def jaccard_score(
    Y_true: Any,
    Y_pred: Any,
    *,
    average: str = "instance",
    negative: Any = None,
    zero_division: float = 1.0,
    unknown: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the Jaccard index of the relevant labels: pairs (label, class) that are shared, over all of them.

    Parameters are those of `f1_score`.

    Examples
    --------
    >>> jaccard_score([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    0.75
    """
    shared, true, predicted, cells = relevant(Y_true, Y_pred, negative, unknown, sample_weight)
    return average_ratio(shared, true + predicted - shared, average, zero_division, cells)


def class_f1_score(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the F1 of every class of every label: the mean over the classes of a label, then over the labels.

    No class is negative, so this is defined for any number of classes, and a rare class counts as much as a common
    one. The classes of a label are those that occur in the truth or in the prediction. Parameters are those of
    `exact_match`.

    Examples
    --------
    >>> class_f1_score(["red", "red", "tan", "blue"], ["red", "tan", "tan", "blue"]).__round__(3)
    0.778
    """
    cells = compare(Y_true, Y_pred, unknown, sample_weight)
    of_labels = []
    for j, known in enumerate(cells.known.T):
        if not known.any():
            continue  # a label that is known in no row says nothing
        classes, true, predicted = cells.codes(j)
        weight = cells.weight[known]
        total = sum(np.bincount(codes, weight, len(classes)) for codes in (true, predicted))
        shared = np.bincount(true, weight * (true == predicted), len(classes))
        of_labels.append(float(np.mean(2 * shared / total)))
    return float(np.mean(of_labels))


def joint_log_loss(log_proba: Any, sample_weight: Any = None) -> float:
    """Return the mean of -log p(y | x) of the true label vectors.

    Parameters
    ----------
    log_proba : array-like of shape (n,)
        log p(y | x) of each row's true label vector, such as ``ChainClassifier.log_joint(X, Y)``.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float
        Zero or more; zero is best. Infinite if the model gave probability zero to a true vector.

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
    return weighted_mean(-log_proba[counted], weight[counted]) + 0.0  # no negative zero


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

    Returns
    -------
    float
        Between zero and one; zero is best.

    References
    ----------
    C. Li and others. Learning to calibrate and rerank multi-label predictions. ECML PKDD 2019.

    Examples
    --------
    >>> set_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
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
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"{n_bins=} must be a whole number of at least one.")
    weight = check_weight(sample_weight, len(proba))
    chosen = np.minimum((proba * n_bins).astype(np.int64), n_bins - 1)
    excess = np.bincount(chosen, weights=weight * (proba - correct.astype(np.float64)), minlength=n_bins)
    return float(np.abs(excess).sum() / weight.sum())


def _final(estimator: Any, method: str = "predict") -> tuple[Any, Callable[[Any], Any]]:
    """Return the classifier inside pipelines and searches, which needs `method`, and what they do to X before it."""
    if hasattr(estimator, "best_estimator_"):
        return _final(estimator.best_estimator_, method)
    if hasattr(estimator, "steps") and hasattr(estimator, "named_steps"):
        final, inner = _final(estimator.steps[-1][1], method)
        before = estimator[:-1] if len(estimator.steps) > 1 else None
        return final, lambda X: inner(X if before is None else before.transform(X))
    if not hasattr(estimator, method):
        raise TypeError(f"{type(estimator).__name__} has no method {method}, which this scorer needs.")
    return estimator, lambda X: X


def _negative(estimator: Any) -> Any:
    """Return the negative classes that a scorer takes from an estimator."""
    negative, classes = (
        getattr(getattr(estimator, "loss", None), "negative", None),
        getattr(estimator, "classes_", None),
    )
    if classes is None:
        return negative
    # The estimator knows classes that these rows may lack.
    by_label = [np.asarray(own) for own in (classes if isinstance(classes, list | tuple) else [classes])]
    codes = resolve_negative(by_label, negative, hint="loss=F1(negative={})")
    # A label without a negative class gets an object that equals no class.
    return [own.tolist()[code] if code >= 0 else object() for own, code in zip(by_label, codes, strict=True)]


def _scorer(name: str, score: Callable[..., float], average: str | None = None) -> Callable[..., float]:
    """Return a scorer of predictions. Module variables of these names make the scorers ones that can be pickled."""

    def scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
        final, _ = _final(estimator)
        options = {} if average is None else {"average": average, "negative": _negative(final)}
        unknown = getattr(final, "unknown", None)
        return score(Y, estimator.predict(X), unknown=unknown, sample_weight=sample_weight, **options)

    mean = {"instance": ", as the mean over rows", "micro": ", over all cells", "macro": ", as the mean over labels"}
    scorer.__name__ = scorer.__qualname__ = f"{name}_scorer"
    scorer.__doc__ = f"Return `{score.__name__}` of the estimator's predictions{mean.get(average or '', '')}."
    return scorer


exact_match_scorer = _scorer("exact_match", exact_match)
"""Return `exact_match` of the estimator's predictions.

All scorers of this module can be passed as ``scoring=`` to `cross_validate` or `GridSearchCV`. They take the value
that means "unknown" from the estimator, if it has one. Those of F1 and Jaccard take the negative classes from the
estimator's loss, if it has any; otherwise they are the default ones for all classes that the estimator knows.
"""
hamming_scorer = _scorer("hamming", hamming_score)
f1_instance_scorer = _scorer("f1_instance", f1_score, "instance")
f1_micro_scorer = _scorer("f1_micro", f1_score, "micro")
f1_macro_scorer = _scorer("f1_macro", f1_score, "macro")
jaccard_scorer = _scorer("jaccard", jaccard_score, "instance")
f1_class_scorer = _scorer("f1_class", class_f1_score)


def joint_log_loss_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return minus `joint_log_loss` of the true label vectors, over the rows whose labels are all known."""
    final, transform = _final(estimator, "log_joint")
    table = as_columns(Y, unknown=getattr(final, "unknown", None), name="Y")
    complete = np.flatnonzero(table.known.all(axis=1))
    if len(complete) == 0:
        raise ValueError("Y has no row whose labels are all known: its joint log loss is not defined.")
    if len(complete) < table.shape[0]:
        X, Y = take_rows(X, complete), take_rows(Y, complete)
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[complete]
    return -joint_log_loss(final.log_joint(transform(X), Y), sample_weight)


def set_calibration_error_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return minus `set_calibration_error` of the estimator's decisions, over the rows with a known label."""
    final, transform = _final(estimator, "decide")
    decision = final.decide(transform(X))
    cells = compare(Y, decision.labels, getattr(final, "unknown", None), sample_weight)
    # exp may round to just above one.
    proba = np.minimum(np.exp(np.asarray(decision.log_proba))[cells.kept], 1.0)
    return -set_calibration_error(proba, cells.right, sample_weight=cells.weight)


SCORERS: dict[str, Callable[..., float]] = {
    "exact_match": exact_match_scorer,
    "hamming": hamming_scorer,
    "f1_instance": f1_instance_scorer,
    "f1_micro": f1_micro_scorer,
    "f1_macro": f1_macro_scorer,
    "f1_class": f1_class_scorer,
    "jaccard": jaccard_scorer,
    "joint_log_loss": joint_log_loss_scorer,
    "set_calibration_error": set_calibration_error_scorer,
}
"""Scorers by name. Greater is better for all of them: losses and errors come with a minus."""


def get_scorer(name: str) -> Callable[..., float]:
    """Return the scorer of this name.

    Examples
    --------
    >>> get_scorer("f1_micro").__name__
    'f1_micro_scorer'
    >>> get_scorer("f1_mikro")
    Traceback (most recent call last):
        ...
    ValueError: there is no scorer 'f1_mikro'; did you mean 'f1_micro'? Allowed: 'exact_match', ...
    """
    if name not in SCORERS:
        known = ", ".join(map(repr, SCORERS))
        raise ValueError(f"there is no scorer {name!r}{nearest(str(name), SCORERS) or '.'} Allowed: {known}.")
    return SCORERS[name]
