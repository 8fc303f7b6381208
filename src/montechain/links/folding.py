"""Fitted scikit-learn linear models as label-linear links.

A linear model of [x, parents] is affine in both, so its coefficients can be taken apart: x is then
folded in once per batch and the fast search applies. First the result is compared with the model's own
probabilities on training rows. A model that answers differently anywhere is left as it is; so are models of several
classes that compare each with the rest, because scikit-learn treats scores that underflow in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from montechain._rows import take_rows
from montechain.links.design import as_matrix, columns_of, split_effects
from montechain.links.linear import FittedLinearLink, log_probabilities

__all__ = ["fold"]

MAX_COMPARED = 2000
"""Maximum number of rows on which a folded model is compared with the original."""
Affine = tuple[np.ndarray, np.ndarray]
"""Coefficients of shape (n_inputs, W) and intercepts of shape (W,)."""


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
    coef, intercept = affine
    if len(coef) != design.shape[1] or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        return None
    rows = take_rows(design, np.arange(0, design.shape[0], -(-design.shape[0] // MAX_COMPARED)))
    scores = np.ascontiguousarray(np.asarray(as_matrix(rows) @ coef) + intercept, dtype=np.float64)
    folded = np.exp(log_probabilities(scores, n_classes))
    if not np.allclose(folded, estimator.predict_proba(rows), rtol=1e-5, atol=1e-7):
        return None
    of_x, of_parents = np.split(coef, [len(coef) - len(columns_of(parents_n_classes)[0])])
    return FittedLinearLink(n_classes, of_x, intercept, split_effects(of_parents, parents_n_classes))


def _affine(estimator: Any) -> Affine | None:
    """Return what a fitted linear classifier computes over its whole input, or None."""
    # Exact types: a subclass may compute its probabilities in another way.
    kind, is_binary = type(estimator), len(estimator.classes_) == 2
    if kind in (GridSearchCV, RandomizedSearchCV):
        return _affine(estimator.best_estimator_)
    if kind is FrozenEstimator:
        return _affine(estimator.estimator)
    if kind is Pipeline:
        return _affine_pipeline(estimator)
    if kind is CalibratedClassifierCV and is_binary:
        return _affine_calibrated(estimator)
    if kind in (LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis):
        return _decision(estimator)
    if kind is SGDClassifier and estimator.loss == "log_loss" and is_binary:
        return _decision(estimator)
    return None


def _decision(estimator: Any) -> Affine:
    """Return coefficients and intercepts; they may be stored sparse, or flat for two classes."""
    stored = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else estimator.coef_
    coef = np.atleast_2d(np.asarray(stored, dtype=np.float64)).T
    return coef, np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), coef.shape[1:])


def _affine_pipeline(pipeline: Pipeline) -> Affine | None:
    """Fold scalers, which are affine in each column, into the last step's coefficients."""
    affine = _affine(pipeline.steps[-1][1])
    if affine is None:
        return None
    coef, intercept = affine
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
    return coef, intercept


def _affine_calibrated(estimator: CalibratedClassifierCV) -> Affine | None:
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
    (calibrator,) = calibrated.calibrators
    return -calibrator.a_ * coef, -calibrator.a_ * intercept - calibrator.b_
