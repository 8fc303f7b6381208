"""Fitted scikit-learn linear models as label-linear links.

A linear model of [x, parents] is affine in both, so its coefficients can be taken apart: x is then folded in once per
batch and the fast search applies. The coefficients are read off the model's `decision_function`, whatever scalers or
searches it is made of. Then the link is compared with the model's own probabilities, on training rows and far outside
of them. A model that differs anywhere is left as it is; so are models of several classes that compare each
with the rest, because scikit-learn treats scores that underflow in its own way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV

from montechain._rows import row_blocks, take_rows
from montechain.links.design import as_matrix, column_extremes, columns_of, split_effects
from montechain.links.linear import FittedLinearLink, log_probabilities

MAX_COMPARED = 2000
"""Maximum number of rows on which a folded model is compared with the original."""
BLOCK = 2**20
"""Entries of dense inputs that are made at a time."""
FACTORS = (1.0, -10.0)
"""What the compared rows are multiplied by."""


def fold(estimator: Any, design: Any, n_classes: int, parents_n_classes: Sequence[int]) -> FittedLinearLink | None:
    """Return the fitted classifier as a label-linear link, or None if it is not one.

    It was fitted on `design`, that is, on x with the columns of `parent_columns` beside it, and on codes; the link must
    agree with it on these rows. A classifier that has not seen all of the `n_classes` classes of the label is not
    folded.
    """
    decide = _decision_function(estimator)
    if decide is None or len(estimator.classes_) != n_classes:
        return None
    rows = take_rows(design, np.arange(0, design.shape[0], -(-design.shape[0] // MAX_COMPARED)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            matrix = as_matrix(rows)
            coef, intercept = _affine(decide, matrix)
            for factor in FACTORS:
                proba = estimator.predict_proba(factor * matrix)
                folded = np.exp(log_probabilities(np.asarray(factor * matrix @ coef) + intercept, n_classes))
                if not np.allclose(folded, proba, rtol=1e-5, atol=1e-7):
                    return None
        except Exception:  # a classifier may reject inputs unlike its training rows with any error
            return None
    of_x, of_parents = np.split(coef, [len(coef) - len(columns_of(parents_n_classes)[0])])
    return FittedLinearLink(n_classes, of_x, intercept, split_effects(of_parents, parents_n_classes))


def _decision_function(estimator: Any) -> Callable[[Any], np.ndarray] | None:
    """Return what computes the scores of a classifier, if it has any."""
    if not isinstance(estimator, CalibratedClassifierCV):
        return getattr(estimator, "decision_function", None)
    # One model with sigmoid calibration: p = sigmoid(-(a f + b)) is affine inside.
    if len(estimator.calibrated_classifiers_) != 1 or estimator.method != "sigmoid" or len(estimator.classes_) != 2:
        return None
    (calibrated,) = estimator.calibrated_classifiers_
    (sigmoid,), decide = calibrated.calibrators, _decision_function(calibrated.estimator)
    return None if decide is None else lambda X: -sigmoid.a_ * decide(X) - sigmoid.b_


def _affine(decide: Callable[[Any], np.ndarray], matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (n_inputs, W) and intercepts (W,) of an affine function, from its values along the axes."""
    n_inputs, is_sparse = matrix.shape[1], sp.issparse(matrix)
    low, high = column_extremes(matrix)
    size = np.where(low == high, 1.0, np.maximum(high, -low))
    intercept = np.array(decide(0.0 * matrix[:1]), dtype=np.float64).ravel()
    coef = np.empty((n_inputs, len(intercept)))
    for block in row_blocks(n_inputs, n_inputs if is_sparse else max(1, BLOCK // n_inputs)):
        along = sp.diags_array(size, format="csr")[block]
        coef[block] = decide(along if is_sparse else along.toarray()).reshape(-1, len(intercept)) - intercept
    return coef / size[:, None], intercept
