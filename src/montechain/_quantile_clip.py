"""Outliers moved to the outermost quantiles of their column."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["QuantileClip"]


class QuantileClip(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Move values beyond the outermost quantiles of each column to these; NaN stays NaN.

    At most the share `clip` of the training values on each side is changed, so nothing is in a small
    table. Where more than half of a column is one value, as in a column of counts that is mostly zero, the
    quantiles are those of its other values: rare values are not taken for outliers.

    Parameters
    ----------
    clip : float, default=0.001

    Attributes
    ----------
    low_, high_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> ages = np.array([[20.0], [31.0], [44.0], [65526.0], [38.0]])
    >>> QuantileClip(0.25).fit_transform(ages).ravel()
    array([31., 31., 44., 44., 38.])
    """

    def __init__(self, clip: float = 0.001):
        self.clip = clip

    def fit(self, X: Any, y: Any = None) -> QuantileClip:
        """Find the quantiles.

        Parameters
        ----------
        X : array of shape (n, n_features)
        y : ignored
        """
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        ranges = np.array([self._range(column[~np.isnan(column)]) for column in X.T])
        self.low_, self.high_ = ranges[:, 0], ranges[:, 1]
        return self

    def _range(self, values: np.ndarray) -> tuple[float, float]:
        if len(values) == 0:
            return np.nan, np.nan
        distinct, counts = np.unique(values, return_counts=True)
        usual = distinct[counts.argmax()]
        mostly_usual = 2 * counts.max() > len(values)
        others = values[values != usual] if mostly_usual else values
        if len(others) == 0:
            return usual, usual
        low = np.quantile(others, self.clip, method="lower")
        high = -np.quantile(-others, self.clip, method="lower")
        return (min(low, usual), max(high, usual)) if mostly_usual else (low, high)

    def transform(self, X: Any) -> np.ndarray:
        """Return X with its outliers moved to the quantiles.

        Parameters
        ----------
        X : array of shape (n, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return np.clip(X, self.low_, self.high_)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
