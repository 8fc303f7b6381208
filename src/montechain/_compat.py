"""All scikit-learn names that are private or missing from older versions, in one place."""

from __future__ import annotations

from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils.metaestimators import _BaseComposition as BaseComposition
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "BaseComposition",
    "BaseSearchCV",
    "check_feature_names_in",
    "check_method_params",
    "check_sample_weight",
]
