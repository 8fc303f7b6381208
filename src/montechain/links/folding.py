"""Fitted scikit-learn linear models as label-linear links.

A linear model of [x, parents] is affine in both, so its coefficients can be taken apart: x is then
folded in once per batch and the fast search applies. First the result is compared with the model's own
probabilities, on training rows and on the same rows with x ten times as large. A model that answers
differently anywhere is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from montechain._frames import is_frame
from montechain._kernels.conditional import respond_rows
from montechain._rows import take_rows
from montechain.links.design import as_matrix, columns_of, split_effects
from montechain.links.linear import ONE_VERSUS_REST, SOFTMAX, FittedLinearLink

__all__ = ["fold"]

MAX_COMPARED = 2000
"""Maximum number of rows on which a folded model is compared with the original."""
SCALES = (1.0, 10.0)
"""Factors by which x is multiplied for the comparison."""


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
    if len(coef) != design.shape[1] or not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        return None
    n_features = len(coef) - len(columns_of(parents_n_classes)[0])
    rows = take_rows(design, np.arange(0, design.shape[0], -(-design.shape[0] // MAX_COMPARED)))
    for scale in SCALES:
        scaled = rows if scale == 1.0 else _with_scaled_x(rows, n_features, scale)
        scores = np.ascontiguousarray(np.asarray(as_matrix(scaled) @ coef) + intercept, dtype=np.float64)
        folded = np.exp(respond_rows(scores, response, n_classes))
        if not np.allclose(folded, estimator.predict_proba(scaled), rtol=1e-5, atol=1e-7):
            return None
    effects = split_effects(coef[n_features:], parents_n_classes)
    return FittedLinearLink(n_classes, response, coef[:n_features], intercept, effects)


def _with_scaled_x(design: Any, n_features: int, scale: float) -> Any:
    """Return `design` with its first `n_features` columns, those of x, multiplied by `scale`."""
    factors = np.where(np.arange(design.shape[1]) < n_features, scale, 1.0)
    if sp.issparse(design):
        return type(design)(design @ sp.diags_array(factors, format="csr"))
    if not is_frame(design):
        return design * factors.astype(design.dtype)
    frame = nw.from_native(design, eager_only=True)
    pairs = zip(frame.iter_columns(), factors, strict=True)
    return frame.select(*(column * factor for column, factor in pairs)).to_native()


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
    """Return coefficients (n_inputs, W) and intercepts (W,); they may be stored sparse, or flat for two classes."""
    stored = estimator.coef_.toarray() if sp.issparse(estimator.coef_) else estimator.coef_
    coef = np.atleast_2d(np.asarray(stored, dtype=np.float64)).T
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
