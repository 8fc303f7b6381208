"""All scikit-learn names that are private or missing from older versions, in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight

__all__ = ["BaseComposition", "BaseSearchCV", "check_feature_names_in", "check_method_params", "check_sample_weight"]


def check_sample_weight(sample_weight: Any, X: Any, **options: Any) -> np.ndarray:
    """Return weights as an array, ones for None, or say what they must be."""
    try:
        return _check_sample_weight(sample_weight, X, **{"ensure_non_negative": True, **options})
    except (ValueError, TypeError) as error:
        text = str(error).split("\n")[0]
        advice = f"give one number per row, {X.shape[0]} in all, none of them negative."
        raise (TypeError if isinstance(error, TypeError) else ValueError)(
            f"`sample_weight`: {text} Instead, {advice}"
        ) from error
