"""Fitted scikit-learn linear models as label-linear links.

A linear model of [x, parents] is affine in both, so its coefficients can be taken apart: x is then
folded in once per batch and the fast search applies. What is folded is compared with the model's own
probabilities on some training rows first; a model that answers differently is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.utils import _safe_indexing

from montechain._kernels.conditional import respond_rows
from montechain.links.design import as_matrix, n_columns, split_effects
from montechain.links.linear import ONE_VERSUS_REST, SOFTMAX, FittedLinearLink

__all__ = ["fold"]

N_ROWS_COMPARED = 20


def fold(estimator: Any, design: Any, n_classes: int, parents_n_classes: Sequence[int]) -> FittedLinearLink | None:
    """Return the fitted classifier as a label-linear link, or None if it is not one.

    Parameters
    ----------
    estimator : fitted classifier
        Fitted on `design`, that is, on x with the columns of `parent_columns` beside it, and on codes.
    design : array, sparse container or data frame
        Rows on which the link must agree with the classifier.
    n_classes : int
        Number of classes of the label; a classifier that has not seen all of them is not folded.
    parents_n_classes : sequence of int
    """
    affine = _affine(estimator) if len(estimator.classes_) == n_classes else None
    if affine is None:
        return None
    response, coef, intercept = affine
    rows = _safe_indexing(design, np.arange(min(N_ROWS_COMPARED, design.shape[0])))
    scores = np.ascontiguousarray(np.asarray(as_matrix(rows) @ coef) + intercept, dtype=np.float64)
    folded = np.exp(respond_rows(scores, np.ones(scores.shape[1]), response, n_classes))
    if not np.allclose(folded, estimator.predict_proba(rows), rtol=1e-5, atol=1e-7):
        return None
    split = len(coef) - sum(map(n_columns, parents_n_classes))
    return FittedLinearLink(
        n_classes, response, coef[:split], intercept, split_effects(coef[split:], parents_n_classes)
    )


def _affine(estimator: Any) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Return (response, coef, intercept) of a fitted linear classifier over its whole input, or None."""
    # Exact types: a subclass may compute its probabilities in another way.
    kind = type(estimator)
    if kind in (GridSearchCV, RandomizedSearchCV):
        return _affine(estimator.best_estimator_)
    if kind is FrozenEstimator:
        return _affine(estimator.estimator)
    if kind is Pipeline:
        return _affine_pipeline(estimator)
    if kind is CalibratedClassifierCV:
        return _affine_calibrated(estimator)
    if kind in (LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis):
        return SOFTMAX, *_decision(estimator)
    if kind is SGDClassifier and estimator.loss == "log_loss":
        return (SOFTMAX if len(estimator.classes_) == 2 else ONE_VERSUS_REST), *_decision(estimator)
    return None


def _decision(estimator: Any) -> tuple[np.ndarray, np.ndarray]:
    coef = np.asarray(estimator.coef_, dtype=np.float64).T
    return coef, np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), coef.shape[1:])


def _affine_pipeline(pipeline: Pipeline) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Fold scalers, which are affine in each column, into the last step's coefficients."""
    affine = _affine(pipeline.steps[-1][1])
    if affine is None:
        return None
    response, coef, intercept = affine
    for _, step in reversed(pipeline.steps[:-1]):
        if step is None or step == "passthrough":
            continue
        if type(step) is StandardScaler:
            scale = np.ones(len(coef)) if step.scale_ is None or not step.with_std else 1.0 / step.scale_
            shift = -step.mean_ * scale if step.with_mean else np.zeros(len(coef))
        elif type(step) is MaxAbsScaler:
            scale, shift = 1.0 / step.scale_, np.zeros(len(coef))
        elif type(step) is MinMaxScaler and not step.clip:
            scale, shift = step.scale_, step.min_
        else:
            return None
        intercept = intercept + shift @ coef
        coef = scale[:, None] * coef
    return response, coef, intercept


def _affine_calibrated(estimator: CalibratedClassifierCV) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Fold one linear model with sigmoid calibration: p = sigmoid(-(a f + b)) is affine inside."""
    if len(estimator.calibrated_classifiers_) != 1 or estimator.method != "sigmoid":
        return None
    calibrated = estimator.calibrated_classifiers_[0]
    model = calibrated.estimator
    if type(model) is FrozenEstimator:
        model = model.estimator
    if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
        return None
    coef, intercept = _decision(model)
    slopes = np.array([-calibrator.a_ for calibrator in calibrated.calibrators])
    offsets = np.array([-calibrator.b_ for calibrator in calibrated.calibrators])
    if coef.shape[1] != len(slopes):
        return None
    response = SOFTMAX if len(slopes) == 1 else ONE_VERSUS_REST
    return response, coef * slopes, intercept * slopes + offsets
