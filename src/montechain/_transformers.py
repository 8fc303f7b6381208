"""Transformers for single kinds of columns that scikit-learn does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["QuantileClip", "WordSpelling"]

N_BUCKETS = 2048
"""Number of hash buckets for character n-grams."""
MAX_WORDS = 5000
"""Maximum number of distinct words to learn the spelling from, the most frequent first."""


class QuantileClip(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Move values beyond the outermost quantiles of each column to these quantiles. NaN stays NaN.

    At most a share `clip` of the training values changes on each side, so small tables stay as they are. Where more
    than half of a column is one value, such as zero in a column of counts, the quantiles are those of the other values:
    rare values are not outliers.

    Examples
    --------
    >>> ages = np.array([[20.0], [31.0], [44.0], [65526.0], [38.0]])
    >>> QuantileClip(0.25).fit_transform(ages).ravel()
    array([31., 31., 44., 44., 38.])
    """

    def __init__(self, clip: float = 0.001):
        self.clip = clip

    def fit(self, X: Any, y: Any = None) -> QuantileClip:
        """Find the quantiles."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        ranges = np.array([self._range(np.sort(column[~np.isnan(column)])) for column in X.T])
        self.low_, self.high_ = ranges[:, 0], ranges[:, 1]
        return self

    def _range(self, values: np.ndarray) -> tuple[float, float]:
        """Return the quantiles of sorted values."""
        if len(values) == 0:
            return np.nan, np.nan
        # If one value fills more than half of the column, it is the one in the middle.
        usual = values[len(values) // 2]
        first, end = np.searchsorted(values, usual, "left"), np.searchsorted(values, usual, "right")
        mostly_usual = 2 * (end - first) > len(values)
        others = np.delete(values, np.s_[first:end]) if mostly_usual else values
        if len(others) == 0:
            return usual, usual
        n = int(self.clip * (len(others) - 1))
        low, high = others[n], others[-1 - n]
        return (min(low, usual), max(high, usual)) if mostly_usual else (low, high)

    def transform(self, X: Any) -> np.ndarray:
        """Return X with its outliers moved to the quantiles."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return np.clip(X, self.low_, self.high_)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class WordSpelling(TransformerMixin, BaseEstimator):
    """Describe words by their spelling: character n-grams, weighted by TF-IDF and reduced to a few components.

    This is skrub's `StringEncoder` on distinct words, with hashing so that it never has fewer n-grams than components.

    Examples
    --------
    >>> towns = np.array(["Oakland", "Oakville", "Lakeland", "", "York", "New York"] * 10, dtype=object)
    >>> WordSpelling(2).fit(towns).transform(["Yorkville", "Oakland"]).shape
    (2, 2)
    """

    def __init__(self, n_components: int = 30):
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> WordSpelling:
        """Learn from the distinct words of a column."""
        words = pd.Series(X, dtype=object).value_counts().index[:MAX_WORDS]
        self.pipeline_ = make_pipeline(
            HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=N_BUCKETS, alternate_sign=False),
            TfidfTransformer(),
            TruncatedSVD(self.n_components, n_iter=3, random_state=0),
        ).fit(words)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return a row of components for each word."""
        check_is_fitted(self)
        codes, words = pd.factorize(np.asarray(X, dtype=object))
        components = self.pipeline_.transform(words)
        # Fewer words than components leave some without a meaning.
        return np.pad(components, ((0, 0), (0, self.n_components - components.shape[1])))[codes]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return names for the components."""
        return np.array([f"spelling_{n}" for n in range(self.n_components)], dtype=object)
