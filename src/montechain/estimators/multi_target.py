"""What all classifiers of several targets share: the codec of the targets, containers of predictions, the score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from montechain import metrics
from montechain.estimators.display import DisplayMixin
from montechain.estimators.output import SetOutputMixin
from montechain.targets import TargetCodec

__all__ = ["MultiTargetClassifier"]


class MultiTargetClassifier(DisplayMixin, SetOutputMixin, ClassifierMixin, BaseEstimator):
    """Base class of classifiers that predict several targets at once."""

    unknown: Any
    codec_: TargetCodec

    def _learn_classes(self, y: Any, n_rows: int) -> np.ndarray:
        """Learn the classes of the targets, and return the codes of y."""
        self.codec_, codes = TargetCodec.fit_encode(y, unknown=self.unknown, n_rows=n_rows)
        self.classes_ = self.codec_.classes[0] if self.codec_.is_1d else self.codec_.classes
        if self.codec_.names is None:
            self.__dict__.pop("target_names_", None)
        else:
            self.target_names_ = list(self.codec_.names)
        return codes

    def _decode(self, codes: np.ndarray, X: Any) -> Any:
        """Return codes in the user's classes and container, with the index of X."""
        index = X.index if hasattr(X, "iloc") else None
        return self.codec_.decode(codes, index=index, container=self._output_container)

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Predict; see the subclasses."""
        raise NotImplementedError  # abstract

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the exact match: the share of rows in which every known label is predicted right."""
        return metrics.exact_match(y, self.predict(X), unknown=self.unknown, sample_weight=sample_weight)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of inputs and outputs."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
