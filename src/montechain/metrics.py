"""Scores for several targets at once, of two classes each or more.

All of them take the truth and the prediction as lists, arrays of any type, sparse indicator matrices or
data frames, of shape (n, L) or (n,). Cells of the truth that are unknown (NaN, None, NA, or the value
`unknown`) are left out; so are rows in which nothing is known.

F1 and Jaccard look at *relevant* labels: those whose class is not the negative one. A predicted class
is right only if it equals the true one, so a relevant label of the wrong class is both a miss and a
false alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from montechain._messages import nearest
from montechain.targets import TargetTable, as_columns, equals, factorise, resolve_negative

__all__ = [
    "SCORERS",
    "class_f1_score",
    "exact_match",
    "exact_match_scorer",
    "f1_class_scorer",
    "f1_instance_scorer",
    "f1_macro_scorer",
    "f1_micro_scorer",
    "f1_score",
    "get_scorer",
    "hamming_loss",
    "hamming_score",
    "hamming_scorer",
    "jaccard_score",
    "jaccard_scorer",
    "joint_log_loss",
    "joint_log_loss_scorer",
    "set_calibration_error",
    "set_calibration_error_scorer",
]

AVERAGES = ("instance", "micro", "macro")


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
    pair = _compare(Y_true, Y_pred, unknown, sample_weight)
    right = (pair.equal | ~pair.known).all(axis=1)
    return _mean(right, pair.weight)


def hamming_score(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the share of known cells that are right.

    Parameters
    ----------
    Y_true, Y_pred : array-like, sparse matrix or data frame of shape (n, L) or (n,)
    unknown : scalar, optional
        A value in `Y_true` that means "unknown", besides NaN, None and NA.
    sample_weight : array-like of shape (n,), optional
        Weight of each cell of the row.

    Returns
    -------
    float
        Between zero and one; one is best.

    Examples
    --------
    >>> hamming_score([["red", 1], ["blue", None], ["tan", 1]], [["red", 2], ["blue", 1], ["tan", 1]])
    0.8
    """
    pair = _compare(Y_true, Y_pred, unknown, sample_weight)
    right = (pair.equal & pair.known).sum(axis=1)
    return float(right @ pair.weight / (pair.known.sum(axis=1) @ pair.weight))


def hamming_loss(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the share of known cells that are wrong: one minus `hamming_score`, which see.

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
        Mean over the rows, one figure over all cells, or mean over the labels (all relevant classes
        of a label together).
    negative : scalar or sequence of L scalars, optional
        The class that means "not relevant": one for all labels, or one for each. The classes of a label
        are those that occur in `Y_true` or `Y_pred`. By default the negative one is the first of two
        in sorted order (0, False, "no"); a lone class is relevant unless it is a number not above zero
        or one of the texts "0", "false", "no" and "none"; a label with more classes asks for it.
        A class that does not occur is no error: then all classes that do are relevant, except that,
        if one is given for all labels, a label of at most two classes without it may have one that is
        negative by the same rule as a lone one.
    zero_division : float
        The F1 where nothing is relevant, neither in truth nor in prediction.
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
    _check_average(average)
    shared, true, predicted, pair = _relevant(Y_true, Y_pred, negative, unknown, sample_weight)
    return _average(2 * shared, true + predicted, average, zero_division, pair)


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
    _check_average(average)
    shared, true, predicted, pair = _relevant(Y_true, Y_pred, negative, unknown, sample_weight)
    return _average(shared, true + predicted - shared, average, zero_division, pair)


def class_f1_score(Y_true: Any, Y_pred: Any, *, unknown: Any = None, sample_weight: Any = None) -> float:
    """Return the F1 of every class of every label: the mean over the classes of a label, then over the labels.

    No class is the negative one, so it is defined for labels of any number of classes, and a rare class counts as
    much as a common one. The classes of a label are those that occur in the truth or in the prediction.

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
    >>> class_f1_score(["red", "red", "tan", "blue"], ["red", "tan", "tan", "blue"]).__round__(3)
    0.778
    """
    pair = _compare(Y_true, Y_pred, unknown, sample_weight)
    columns = [_columns(table, pair.kept) for table in (pair.true, pair.predicted)]
    of_labels = []
    for j, (true, predicted) in enumerate(zip(*columns, strict=True)):
        cells = pair.known[:, j]
        if not cells.any():
            continue  # a label that is known in no row says nothing
        code = {value: number for number, value in enumerate(_union(true[cells], predicted[cells]).tolist())}
        truth, answer = (np.array([code[value] for value in side[cells].tolist()]) for side in (true, predicted))
        weight = pair.weight[cells]
        total = sum(np.bincount(codes, weight, len(code)) for codes in (truth, answer))
        shared = np.bincount(truth, weight * (truth == answer), len(code))
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
        Zero or more; zero is best. Infinite if a true vector was held to be impossible.

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
    weight = _check_weight(sample_weight, len(log_proba))
    # Rows without weight do not count, even where they are impossible: 0 * inf would be NaN.
    counted = weight > 0.0
    return _mean(-log_proba[counted], weight[counted]) + 0.0  # no negative zero


def set_calibration_error(proba: Any, correct: Any, n_bins: int = 10, sample_weight: Any = None) -> float:
    """Return how far the confidence in whole predicted label vectors is from how often they are right.

    Rows are sorted into bins of equal width by their confidence; the result is the mean over rows of
    the distance between the bin's mean confidence and its exact match.

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
    C. Li, V. Pavlu, J. Aslam, B. Wang, K. Qin. Learning to calibrate and rerank multi-label predictions.
    ECML PKDD 2019.

    Examples
    --------
    >>> set_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    >>> set_calibration_error([0.9, 0.1], [False, False])
    0.5
    """
    proba = np.asarray(proba, dtype=np.float64)
    correct = np.asarray(correct)
    if proba.ndim != 1 or proba.shape != correct.shape or len(proba) == 0:
        raise ValueError(
            f"proba and correct must have the same shape (n,) with n >= 1, "
            f"but they have {proba.shape} and {correct.shape}."
        )
    if not ((proba >= 0.0) & (proba <= 1.0 + 1e-9)).all():
        raise ValueError("proba must lie between zero and one. If it holds logarithms, pass np.exp(proba).")
    if not np.isin(correct, (0, 1)).all():
        raise ValueError("correct must hold booleans.")
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"{n_bins=} must be a whole number of at least one.")
    weight = _check_weight(sample_weight, len(proba))
    chosen = np.minimum((proba * n_bins).astype(np.int64), n_bins - 1)
    excess = np.bincount(chosen, weights=weight * (proba - correct.astype(np.float64)), minlength=n_bins)
    return float(np.abs(excess).sum() / weight.sum())


class Pair(NamedTuple):
    """Truth and prediction, cell by cell; rows without a known label are left out."""

    equal: np.ndarray
    known: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    true: TargetTable | np.ndarray
    predicted: TargetTable | np.ndarray


def _compare(Y_true: Any, Y_pred: Any, unknown: Any, sample_weight: Any) -> Pair:
    true, predicted = _integers(Y_true), _integers(Y_pred)
    if true is not None and predicted is not None and (unknown is None or isinstance(unknown, int | np.integer)):
        _check_shapes(true.shape, predicted.shape)
        equal = true == predicted
        known = np.ones(true.shape, dtype=bool) if unknown is None else true != unknown
        return _known_rows(equal, known, sample_weight, true, predicted)
    true_table = as_columns(Y_true, unknown=unknown, name="Y_true")
    predicted_table = as_columns(Y_pred, name="Y_pred")
    _check_shapes(true_table.shape, predicted_table.shape)
    if true_table.is_frame and predicted_table.is_frame and true_table.names != predicted_table.names:
        raise ValueError(
            f"the columns of Y_true and Y_pred differ: {true_table.names} and {predicted_table.names}. "
            "Put them in the same order, under the same names."
        )
    known = true_table.known
    missing = ~predicted_table.known & known
    if missing.any():
        row, column = np.argwhere(missing)[0].tolist()
        raise ValueError(
            f"{predicted_table.describe(column)} has no value in row {row}: a prediction must be complete."
        )
    equal = np.zeros(known.shape, dtype=bool)
    for j in range(known.shape[1]):
        cells = known[:, j]
        here = f"{true_table.describe(j)} and {predicted_table.describe(j)}"
        equal[cells, j] = _equal(true_table.columns[j][cells], predicted_table.columns[j][cells], here)
    return _known_rows(equal, known, sample_weight, true_table, predicted_table)


def _integers(Y: Any) -> np.ndarray | None:
    """Return Y as an array of whole numbers or booleans of shape (n, L) if it is one, without looking at cells."""
    if sp.issparse(Y) and Y.dtype.kind in "biu":
        Y = Y.toarray()
    if type(Y) is np.ndarray and Y.dtype.kind in "biu" and Y.ndim in (1, 2) and Y.size:
        return Y[:, None] if Y.ndim == 1 else Y
    return None


def _known_rows(
    equal: np.ndarray,
    known: np.ndarray,
    sample_weight: Any,
    true: TargetTable | np.ndarray,
    predicted: TargetTable | np.ndarray,
) -> Pair:
    weight = _check_weight(sample_weight, len(known))
    kept = known.any(axis=1) & (weight > 0.0)
    if not kept.any():
        raise ValueError("no label of Y_true is known in any row that counts: there is nothing to score.")
    if kept.all():
        return Pair(equal, known, weight, kept, true, predicted)
    return Pair(equal[kept], known[kept], weight[kept], kept, true, predicted)


def _equal(true: np.ndarray, predicted: np.ndarray, here: str) -> np.ndarray:
    """Return where two columns without unknown cells agree."""
    kinds = true.dtype.kind, predicted.dtype.kind
    if all(kind in "biuf" for kind in kinds) or (kinds[0] == kinds[1] and kinds[0] in "USMm"):
        return true == predicted
    truth, prediction = true.tolist(), predicted.tolist()
    texts = [{isinstance(value, str) for value in values} for values in (truth, prediction)]
    if texts in ([{True}, {False}], [{False}, {True}]):
        raise ValueError(
            f"{here} cannot be compared: one holds texts and the other does not "
            f"({truth[0]!r} and {prediction[0]!r}). Give both the same type."
        )
    return np.fromiter((a == b for a, b in zip(truth, prediction, strict=True)), dtype=bool, count=len(truth))


def _relevant(
    Y_true: Any, Y_pred: Any, negative: Any, unknown: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Pair]:
    """Return, cell by cell, whether a relevant class is shared, is true, and is predicted."""
    pair = _compare(Y_true, Y_pred, unknown, sample_weight)
    true = np.empty(pair.known.shape, dtype=bool)
    predicted = np.empty(pair.known.shape, dtype=bool)
    columns = [_columns(table, pair.kept) for table in (pair.true, pair.predicted)]
    classes = []
    for j, (column, other) in enumerate(zip(*columns, strict=True)):
        cells = pair.known[:, j]
        classes.append(_union(column[cells], other[cells]))
    codes = resolve_negative(classes, negative, complete=False)
    for j, (column, other) in enumerate(zip(*columns, strict=True)):
        cells = pair.known[:, j]
        value = classes[j].tolist()[codes[j]] if codes[j] >= 0 else None
        for side, values in ((true, column), (predicted, other)):
            side[:, j] = cells if value is None else cells & ~equals(values, value)
    # Small whole numbers, not booleans: the callers add and subtract them.
    shared = pair.equal & true
    return shared.view(np.int8), true.view(np.int8), predicted.view(np.int8), pair


def _columns(table: TargetTable | np.ndarray, kept: np.ndarray) -> list[np.ndarray]:
    columns = list(table.T) if isinstance(table, np.ndarray) else table.columns
    return columns if kept.all() else [column[kept] for column in columns]


def _union(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the sorted distinct values of two columns."""
    a, b = factorise(first)[0], factorise(second)[0]
    kinds = a.dtype.kind + b.dtype.kind
    if kinds[0] == kinds[1] and kinds[0] in "biufUSMm":
        return np.union1d(a, b)
    if all(kind in "biuf" for kind in kinds):
        return np.union1d(a.astype(np.float64), b.astype(np.float64))
    both = np.empty(len(a) + len(b), dtype=object)
    both[:] = a.tolist() + b.tolist()
    return factorise(both)[0]


def _average(shared: np.ndarray, total: np.ndarray, average: str, zero_division: float, pair: Pair) -> float:
    """Return the ratio of two sums over cells, taken by row, by label or over everything."""
    if average == "instance":
        above, below = shared.sum(axis=1, dtype=np.float64), total.sum(axis=1, dtype=np.float64)
        weight = pair.weight
    elif average == "macro":
        above, below = pair.weight @ shared, pair.weight @ total
        # A label that is known in no row says nothing.
        weight = np.asarray(pair.known.any(axis=0), dtype=np.float64)
    else:
        above, below = (np.atleast_1d(np.sum(pair.weight @ cells)) for cells in (shared, total))
        weight = np.ones(1)
    ratio = np.where(below > 0.0, above / np.where(below > 0.0, below, 1.0), zero_division)
    return _mean(ratio, weight)


def _check_shapes(true: tuple[int, ...], predicted: tuple[int, ...]) -> None:
    if true != predicted:
        raise ValueError(f"Y_true has shape {true}, but Y_pred has shape {predicted}.")


def _check_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {n_rows} rows.")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all() and weight.sum() > 0.0):
        raise ValueError("sample_weight must be finite and not negative, and some weight must be positive.")
    return weight


def _check_average(average: str) -> None:
    if average not in AVERAGES:
        allowed = ", ".join(map(repr, AVERAGES))
        raise ValueError(f"{average=} is not known{nearest(str(average), AVERAGES) or '.'} There are {allowed}.")


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    return float(values @ weight / weight.sum())


def exact_match_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `exact_match` of the estimator's predictions.

    All scorers of this module can be passed as ``scoring=`` to `cross_validate` or `GridSearchCV`. They
    take the value that means "unknown" from the estimator, if it has one.
    """
    final, _ = _final(estimator)
    return exact_match(Y, estimator.predict(X), unknown=_unknown(final), sample_weight=sample_weight)


def hamming_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `hamming_score` of the estimator's predictions."""
    final, _ = _final(estimator)
    return hamming_score(Y, estimator.predict(X), unknown=_unknown(final), sample_weight=sample_weight)


def f1_instance_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `f1_score` of the estimator's predictions, as the mean over rows.

    The negative classes are those of the estimator's loss, if that has any; otherwise, the default
    ones for all classes that the estimator knows.
    """
    return _set_score(f1_score, "instance", estimator, X, Y, sample_weight)


def f1_micro_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `f1_score` of the estimator's predictions, over all cells; see `f1_instance_scorer`."""
    return _set_score(f1_score, "micro", estimator, X, Y, sample_weight)


def f1_macro_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `f1_score` of the estimator's predictions, as the mean over labels; see `f1_instance_scorer`."""
    return _set_score(f1_score, "macro", estimator, X, Y, sample_weight)


def jaccard_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `jaccard_score` of the estimator's predictions, as the mean over rows; see `f1_instance_scorer`."""
    return _set_score(jaccard_score, "instance", estimator, X, Y, sample_weight)


def f1_class_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return `class_f1_score` of the estimator's predictions."""
    final, _ = _final(estimator)
    return class_f1_score(Y, estimator.predict(X), unknown=_unknown(final), sample_weight=sample_weight)


def joint_log_loss_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return minus `joint_log_loss` of the true label vectors, over the rows whose labels are all known."""
    final, transform = _final(estimator)
    _needs(final, "log_joint")
    table = as_columns(Y, unknown=_unknown(final), name="Y")
    complete = np.flatnonzero(table.known.all(axis=1))
    if len(complete) == 0:
        raise ValueError("Y has no row whose labels are all known: its joint log loss is not defined.")
    if len(complete) < table.shape[0]:
        X, Y = _safe_indexing(X, complete), _safe_indexing(Y, complete)
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[complete]
    return -joint_log_loss(final.log_joint(transform(X), Y), sample_weight)


def set_calibration_error_scorer(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
    """Return minus `set_calibration_error` of the estimator's decisions, over the rows with a known label."""
    final, transform = _final(estimator)
    _needs(final, "decide")
    decision = final.decide(transform(X))
    pair = _compare(Y, decision.labels, _unknown(final), sample_weight)
    correct = (pair.equal | ~pair.known).all(axis=1)
    # exp may round to just above one.
    proba = np.minimum(np.exp(np.asarray(decision.log_proba))[pair.kept], 1.0)
    return -set_calibration_error(proba, correct, sample_weight=pair.weight)


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
    ValueError: there is no scorer 'f1_mikro'; did you mean 'f1_micro'? There are 'exact_match', ...
    """
    if name not in SCORERS:
        known = ", ".join(map(repr, SCORERS))
        raise ValueError(f"there is no scorer {name!r}{nearest(str(name), SCORERS) or '.'} There are {known}.")
    return SCORERS[name]


def _final(estimator: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the classifier inside pipelines and searches, and what they do to X before it."""
    if hasattr(estimator, "best_estimator_"):
        return _final(estimator.best_estimator_)
    if hasattr(estimator, "steps") and hasattr(estimator, "named_steps"):
        final, inner = _final(estimator.steps[-1][1])
        before = estimator[:-1] if len(estimator.steps) > 1 else None
        return final, lambda X: inner(X if before is None else before.transform(X))
    return estimator, lambda X: X


def _unknown(estimator: Any) -> Any:
    return getattr(estimator, "unknown", None)


def _needs(estimator: Any, method: str) -> None:
    if not hasattr(estimator, method):
        raise TypeError(f"{type(estimator).__name__} has no method {method}, which this scorer needs.")


def _set_score(score: Callable[..., float], average: str, estimator: Any, X: Any, Y: Any, sample_weight: Any) -> float:
    final, _ = _final(estimator)
    negative = getattr(getattr(final, "loss", None), "negative", None)
    classes = getattr(final, "classes_", None)
    if classes is not None:
        # The estimator knows classes that these rows may lack.
        by_label = classes if isinstance(classes, list | tuple) else [classes]
        by_label = [np.asarray(column_classes) for column_classes in by_label]
        codes = resolve_negative(by_label, negative, hint="loss=F1(negative={})")
        negative = [c.tolist()[code] if code >= 0 else NOTHING for c, code in zip(by_label, codes, strict=True)]
    return score(
        Y,
        estimator.predict(X),
        average=average,
        negative=negative,
        unknown=_unknown(final),
        sample_weight=sample_weight,
    )


class _Nothing:
    """Equals no class: the negative class of a label that has none."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()
