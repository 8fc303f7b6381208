"""Always the commonest: what every method has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from montechain._messages import nearest
from montechain.estimators.base import TargetsClassifier
from montechain.estimators.seen_vectors import (
    commonest_classes,
    conditional_weights,
    informative,
    log_evidence,
    marginals_of,
    overwrite,
)
from montechain.inference import Decision
from montechain.targets import CODE, UNKNOWN

__all__ = ["MajorityClassifier"]

STRATEGIES = ("vector", "label")


class MajorityClassifier(TargetsClassifier):
    """Predict the commonest label vector, or the commonest class of each label, whatever x is.

    No method is worth its cost that does not beat this one. It can be hard to beat: on Solar Flare, always predicting
    the commonest vector is right in 82 % of the rows, more often than any method of Read, Martino and Luengo (2014).

    The probabilities are frequencies in training: of whole vectors, or of each label's classes, as if labels were
    independent. A vector never seen has probability zero under "vector".

    Parameters
    ----------
    strategy : {"vector", "label"}, default="vector"
        The commonest vector is best for exact match, the commonest class of each label for Hamming loss. A row in which
        some labels are unknown is shared out among the complete vectors that agree with it, by their frequency.
    unknown : scalar, default=None
        A value in y that means "this label is not known", besides NaN and None.
    random_state : default=None
        Has no effect; here so that all methods can be made alike.

    Attributes
    ----------
    frequencies_ : list of L ndarrays of shape (K,)
        The frequency of each label's classes.
    vector_codes_, vector_counts_ : ndarrays of shape (V, L) and (V,)
        The complete label vectors seen in training, as numbers of classes, and how often each occurs, weighted.
    classes_ : list of L ndarrays, or ndarray for a one-dimensional y
    target_names_ : list
        Names of the labels; only if y has names.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X is a data frame with names that are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.estimators import MajorityClassifier
    >>> X, Y = np.zeros((5, 1)), [[0, 0], [0, 0], [1, 1], [1, 2], [1, 3]]
    >>> MajorityClassifier().fit(X, Y).predict(X[:1])
    array([[0, 0]])
    >>> MajorityClassifier(strategy="label").fit(X, Y).predict(X[:1])
    array([[1, 0]])
    """

    def __init__(self, strategy: str = "vector", *, unknown: Any = None, random_state: Any = None):
        self.strategy = strategy
        self.unknown = unknown
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MajorityClassifier:
        """Count.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
            Not looked at.
        y : array, sparse container or data frame of shape (n, L), or array of shape (n,)
            Classes of any kind, column by column; NaN and None where a label is not known.
        sample_weight : array of shape (n,), optional
        """
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"`strategy={self.strategy!r}` is not known{nearest(str(self.strategy), STRATEGIES) or '.'} Allowed "
                "are 'vector' and 'label'."
            )
        with self._unchanged_on_failure():
            X = self._check_X(X, reset=True, keep_frames=True, allow_nan=True)
            codes = self._learn_classes(y, X.shape[0])
            _, codes, options = informative(X, codes, {"sample_weight": _check_sample_weight(sample_weight, X)})
            self._count(codes, options["sample_weight"])
        return self

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Return the commonest label vector, or the commonest that agrees with what is given.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
            Only its number of rows matters.
        given : array or data frame of shape (n, L), optional
            Labels known beforehand, NaN or None elsewhere. A data frame may hold some of the targets only.
            If no vector agrees with all of it, those that agree with the most stand in.

        Returns
        -------
        ndarray of shape (n, L) in y's own classes, a data frame if y was one, (n,) if y was one-dimensional
        """
        return self.decide(X, given=given).labels

    def decide(self, X: Any, *, given: Any = None) -> Decision:
        """Return the predictions with what is proven about them under the frequencies.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        Decision
            Its expected loss is that of exact match for "vector", Hamming loss for "label".
        """
        n_rows, known = self._prepare(X, given)
        marginals, weights, agrees = self._conditional(n_rows, known)
        if self.strategy == "vector":
            best = weights.argmax(axis=1)
            labels = overwrite(self.vector_codes_[best], known)
            expected_loss = 1.0 - weights[np.arange(n_rows), best]
        else:
            labels = np.column_stack([proba.argmax(axis=1) for proba in marginals]).astype(CODE)
            expected_loss = np.mean([1.0 - proba.max(axis=1) for proba in marginals], axis=0)
        log_proba = self._log_evidence(labels)
        nothing = np.zeros(n_rows)
        return Decision(self._decode(labels, X), log_proba, log_proba, np.maximum(expected_loss, 0.0), nothing, agrees)

    def predict_proba(self, X: Any, *, given: Any = None) -> Any:
        """Return the frequencies of each label's classes, or those where the labels are as given.

        Parameters
        ----------
        X, given
            As in `predict`.

        Returns
        -------
        list of L ndarrays of shape (n, K), or one ndarray if y was one-dimensional
        """
        marginals, _, _ = self._conditional(*self._prepare(X, given))
        return marginals[0] if self._target_format.is_1d else marginals

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """Return log p(y) of one label vector per row: of the vector, or the sum over its labels.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
        y : array or data frame of shape (n, L)
            Where a label is unknown, the probability of the known ones is returned.
        """
        n_rows, _ = self._prepare(X, None)
        return self._log_evidence(self._encode(y, n_rows))

    def _count(self, codes: np.ndarray, weight: np.ndarray) -> None:
        self.frequencies_ = []
        for column, classes in zip(codes.T, self._classes, strict=True):
            own = column != UNKNOWN
            counts = np.bincount(column[own], weights=weight[own], minlength=len(classes))
            self.frequencies_.append(counts / max(counts.sum(), np.finfo(float).tiny))
        complete = (codes != UNKNOWN).all(axis=1)
        if not complete.any():
            codes, weight = commonest_classes(codes, weight)[None], weight.sum(keepdims=True)
            complete = np.ones(1, dtype=bool)
        self.vector_codes_, numbers = np.unique(codes[complete], axis=0, return_inverse=True)
        counts = np.bincount(numbers.ravel(), weights=weight[complete])
        with np.errstate(divide="ignore"):
            log_proba = np.log(counts / counts.sum())[None]
        shares, agrees = conditional_weights(log_proba, self.vector_codes_, counts, codes[~complete])
        self.vector_counts_ = counts + (weight[~complete] * agrees) @ shares

    @property
    def _log_proba(self) -> np.ndarray:
        return np.log(self.vector_counts_ / self.vector_counts_.sum())[None]

    def _prepare(self, X: Any, given: Any) -> tuple[int, np.ndarray | None]:
        check_is_fitted(self)
        n_rows = self._check_X(X, reset=False, keep_frames=True, allow_nan=True).shape[0]
        return n_rows, self._encode_given(given, n_rows)

    def _conditional(self, n_rows: int, known: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """Return the marginals, the probabilities of the vectors, and which rows agree with any; in all rows."""
        if self.strategy == "vector":
            weights, agrees = conditional_weights(self._log_proba, self.vector_codes_, self.vector_counts_, known)
            weights, agrees = np.broadcast_to(weights, (n_rows, weights.shape[1])), np.broadcast_to(agrees, n_rows)
            n_classes = [len(classes) for classes in self._classes]
            return marginals_of(weights, self.vector_codes_, n_classes, known), weights, agrees
        marginals = [np.tile(frequencies, (n_rows, 1)) for frequencies in self.frequencies_]
        if known is not None:
            for proba, own in zip(marginals, known.T, strict=True):
                is_given = own != UNKNOWN
                proba[is_given] = own[is_given, None] == np.arange(proba.shape[1])
        return marginals, np.empty((n_rows, 0)), np.ones(n_rows, dtype=bool)

    def _log_evidence(self, codes: np.ndarray) -> np.ndarray:
        if self.strategy == "vector":
            return log_evidence(self._log_proba, self.vector_codes_, codes)
        with np.errstate(divide="ignore"):
            columns = [
                np.where(own == UNKNOWN, 0.0, np.log(frequencies)[own])
                for own, frequencies in zip(codes.T, self.frequencies_, strict=True)
            ]
        return np.sum(columns, axis=0)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags
