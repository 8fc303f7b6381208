"""Always the commonest: what every method has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from montechain._messages import check_choice
from montechain.chain import Chain
from montechain.estimators.base import JointClassifier
from montechain.inference import BranchAndBound
from montechain.joint import ChainModel, JointModel
from montechain.links import FittedLinearLink
from montechain.seen_vectors import (
    FrequencyModel,
    commonest_classes,
    count_vectors,
    informative_rows,
    posterior_weights,
)
from montechain.targets import UNKNOWN

__all__ = ["MajorityClassifier"]


class MajorityClassifier(JointClassifier):
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
    unknown, random_state
        As in `ChainClassifier`. `random_state` is used by `sample` only.

    Attributes
    ----------
    frequencies_ : list of L ndarrays of shape (K,)
        The frequency of each label's classes.
    vector_counts_ : ndarray of shape (V,)
        How often each complete label vector seen in training occurs, weighted.
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

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

    @property
    def loss(self) -> str:  # type: ignore[override]
        """The loss for which the prediction is best."""
        return "exact_match" if self.strategy == "vector" else "hamming"

    @property
    def vector_counts_(self) -> np.ndarray:
        """How often each complete label vector occurs, weighted."""
        return self.model_.counts

    @property
    def frequencies_(self) -> list[np.ndarray]:
        """The frequency of each label's classes."""
        return [np.exp(link.log_proba(np.zeros((1, 0)), np.empty((1, 0)))[0]) for link in self.labels_.links]

    def _check_choices(self) -> None:
        check_choice(self, "strategy", ("vector", "label"))

    def _takes(self) -> tuple[bool, bool]:
        return True, True

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        _, codes, options = informative_rows(X, codes, options)
        weight = options.get("sample_weight")
        weight = np.ones(len(codes)) if weight is None else weight
        n_classes = self.codec_.n_classes
        links = []
        for column, k in zip(codes.T, n_classes, strict=True):
            own = column != UNKNOWN
            counts = np.bincount(column[own], weights=weight[own], minlength=k)
            if not counts.any():  # all rows that know it have weight zero
                counts[:] = 1.0
            with np.errstate(divide="ignore"):
                log_proba = np.log(counts / counts.sum())
            links.append(FittedLinearLink.constant(log_proba, self.n_features_in_, ()))
        self.labels_ = Chain(range(len(links)), [()] * len(links), links)
        complete = (codes != UNKNOWN).all(axis=1)
        if not complete.any():
            codes, weight = commonest_classes(codes, weight)[None], weight.sum(keepdims=True)
            complete = np.ones(1, dtype=bool)
        vectors, _, counts = count_vectors(codes[complete], weight[complete])
        # A row in which some labels are unknown is shared out among the vectors that agree with it.
        with np.errstate(divide="ignore"):
            log_proba = np.log(counts / counts.sum())[None]
        shares, agrees = posterior_weights(log_proba, vectors, counts, codes[~complete])
        self.model_ = FrequencyModel(vectors, counts + (weight[~complete] * agrees) @ shares, n_classes)

    def _model(self) -> JointModel:
        return self.model_ if self.strategy == "vector" else ChainModel(self.labels_, BranchAndBound())

    def __sklearn_tags__(self):
        """Return scikit-learn's description of inputs and outputs."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
