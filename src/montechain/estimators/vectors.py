"""Classifiers over the label vectors seen in training: label powerset, clustering forest, majority."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from montechain._messages import check_positive_integer
from montechain._savable import require
from montechain.chain import Chain
from montechain.estimators.base import JointClassifier
from montechain.estimators.linked import LinkedClassifier
from montechain.label_forest import LabelForest
from montechain.links import LinkLearner, LinkProblem, LogisticLink
from montechain.seen_vectors import (
    ForestModel,
    FrequencyModel,
    PowersetModel,
    SeenVectors,
    count_vectors,
    informative_rows,
)
from montechain.targets import CODE, UNKNOWN

TOLERANCE = 1e-4
"""Tolerance of the default learner, as in scikit-learn. With hundreds of vectors of a few rows each, a more exact
solution takes long and adds nothing."""


class SeenVectorsClassifier(JointClassifier):
    """Base class of classifiers whose model is a distribution over the label vectors seen in training."""

    @abstractmethod
    def _learn_vectors(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> SeenVectors:
        """Learn from rows with complete label vectors."""

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        X, codes, options = informative_rows(X, codes, options)
        if (codes == UNKNOWN).any():
            rng = np.random.default_rng([seed, 1])
            codes = Chain.fill(*self._completing(X, seed), codes, self.codec_.n_classes, rng, seed=seed, **options)
        self.model_ = self._learn_vectors(X, codes, seed, options)

    def _completing(self, X: Any, seed: int) -> tuple[LinkLearner, Any]:
        """Return what learns the chain from which unknown labels are drawn, and what it learns from."""
        return LogisticLink(tol=TOLERANCE), X

    @property
    def vectors_(self) -> np.ndarray:
        """The label vectors seen in training, of shape (V, L), in the user's classes."""
        return self.codec_.decode_array(self.model_.vectors[None])[0]

    @property
    def vector_counts_(self) -> np.ndarray:
        """How often each vector occurs, weighted."""
        return self.model_.counts


class LabelPowersetClassifier(SeenVectorsClassifier, LinkedClassifier):
    """Predict several targets at once by treating each label vector seen in training as one class.

    The label powerset method: p(y | x) is one multi-class problem. Dependence between labels costs nothing, but a
    vector that was never seen has probability zero (`log_joint` returns minus infinity), and with many labels most
    vectors are seen once. Because all vectors are considered, decisions are exact and certified for exact match,
    Hamming loss and F1.

    Where some labels of a row are unknown, they are drawn from a chain over the columns of y in their order, which is
    learned for this purpose. Rows without any known label are left out. If no vector agrees with what is `given` at
    prediction, those that agree with most of it are used, with the given classes inserted; the probability is then
    zero and nothing is certified.

    Parameters
    ----------
    estimator : None, "logistic", "svm", link or classifier, default=None
        What learns the multi-class problem. None and "logistic": multinomial logistic regression. "svm" or `SVMLink()`:
        a machine for each pair of vectors, as in the paper; above 64 vectors, one for each vector against the rest.
        Any other scikit-learn classifier must have `predict_proba`.
    loss, n_jobs, random_state
        As in `ChainClassifier`.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, L)
        The label vectors, in y's own classes.
    vector_counts_ : ndarray of shape (V,)
        How often each occurs, weighted.
    model_ : PowersetModel
        The learned p(vector | x).
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    References
    ----------
    Tsoumakas and Katakis (2007). Multi-label classification: an overview. International Journal of Data
    Warehousing and Mining 3.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import LabelPowersetClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=3, random_state=0)
    >>> model = LabelPowersetClassifier().fit(X, Y)
    >>> len(model.vectors_), bool(model.decide(X).certified.all())
    (8, True)
    """

    def _learn_vectors(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> PowersetModel:
        learner = LogisticLink(tol=TOLERANCE) if self.estimator in (None, "logistic") else self._learner(seed)
        vectors, numbers, counts = count_vectors(codes, options.get("sample_weight"))
        n_vectors, options = len(vectors), {"n_jobs": self.n_jobs, **options}
        column = numbers.astype(CODE)[:, None]
        (link,) = learner.fit_links(X, column, column, [n_vectors], [LinkProblem(0, ())], **options)
        return PowersetModel(vectors, counts, self.codec_.n_classes, link)

    def _completing(self, X: Any, seed: int) -> tuple[LinkLearner, Any]:
        return self._learner(seed), X


@dataclass(eq=False, repr=False)
class ClusteringForestClassifier(SeenVectorsClassifier):
    """Predict several targets at once with a random forest of predictive clustering trees.

    A predictive clustering tree splits the rows so that all labels together become purer: by the mean decrease of
    their Gini impurities. The trees are scikit-learn's. For Hamming loss, the default and the published method, each
    label's classes count by their shares in the leaves that x falls into, averaged over the trees.

    The leaves also hold the label vectors of their rows. So the forest has the joint distribution
    p(y | x) = mean over trees of the share of y in the leaf of x, whose marginals are the same averages. Other losses,
    `given`, `log_joint`, `predict_top_k` and `sample` use it. A vector that is in none of the leaves has probability
    zero. Labels that are unknown in training or `given` at prediction are treated as in `LabelPowersetClassifier`; if
    the vectors that agree with what is given are in none of the leaves, they count by their frequency in training.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_features : {"tenth", "sqrt", "log2"}, int, float or None, default="tenth"
        Inputs tried at each split: "tenth" is ``n_features // 10 + 1``, as published; the others are scikit-learn's.
    max_depth : int, default=None
        Maximum depth of a tree. None: leaves are split until they are pure or too small.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf.
    n_jobs : int, default=None
        Number of trees grown, or chunks of rows predicted, in parallel.
    loss, random_state
        As in `ChainClassifier`, but for Hamming loss by default.

    Attributes
    ----------
    model_ : ForestModel
        The trees and the share of each vector in each leaf.
    vectors_, vector_counts_, classes_, target_names_, n_features_in_, feature_names_in_
        As in `LabelPowersetClassifier`.

    References
    ----------
    Kocev, Vens, Struyf and Džeroski (2007). Ensembles of multi-objective decision trees. ECML.

    Madjarov, Kocev, Gjorgjevikj and Džeroski (2012). An extensive experimental comparison of methods for multi-label
    learning. Pattern Recognition 45. (Read, Martino and Luengo 2014 use its parameters.)

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ClusteringForestClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ClusteringForestClassifier(n_estimators=20, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    """

    n_estimators: int = 100
    _: KW_ONLY
    max_features: Any = "tenth"
    max_depth: int | None = None
    min_samples_leaf: int | float = 1
    loss: Any = "hamming"
    n_jobs: int | None = None
    random_state: Any = None

    def _check_choices(self) -> None:
        check_positive_integer(self, "n_estimators", 100)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "model_" in vars(self):
            require(self.model_.forest.n_features == self.n_features_in_, "the trees have a different number of inputs")

    def _learn_vectors(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> ForestModel:
        weight = options.get("sample_weight")
        vectors, numbers, counts = count_vectors(codes, weight)
        max_features = self.n_features_in_ // 10 + 1 if self.max_features == "tenth" else self.max_features
        forest, _ = LabelForest.grow(
            X, codes, numbers, n_trees=self.n_estimators, splitters=["best"], weight=weight, seed=seed,
            n_jobs=self.n_jobs, max_features=max_features, max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
        )  # fmt: skip
        return ForestModel(vectors, counts, self.codec_.n_classes, forest)


@dataclass(eq=False, repr=False)
class MajorityClassifier(SeenVectorsClassifier):
    """Predict what is most common in training, regardless of x.

    A method that does not beat this one is not worth its cost. It can be hard to beat: on Solar Flare, the most common
    vector is right in 82 % of the rows, more often than any method of Read, Martino and Luengo (2014). The
    probabilities are the frequencies of the label vectors in training.

    Parameters
    ----------
    loss : str, Loss or callable, default="exact_match"
        "exact_match" predicts the most common label vector, "hamming" the most common class of each label.
    random_state : int, RandomState or None, default=None
        Used by `sample`, and for labels that are unknown in training.

    Attributes
    ----------
    vectors_, vector_counts_, classes_, target_names_, n_features_in_, feature_names_in_
        As in `LabelPowersetClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain import MajorityClassifier
    >>> X, Y = np.zeros((5, 1)), [[0, 0], [0, 0], [1, 1], [1, 2], [1, 3]]
    >>> MajorityClassifier().fit(X, Y).predict(X[:1])
    array([[0, 0]])
    >>> MajorityClassifier("hamming").fit(X, Y).predict(X[:1])
    array([[1, 0]])
    """

    loss: Any = "exact_match"
    _: KW_ONLY
    random_state: Any = None

    def _takes(self) -> tuple[bool, bool]:
        return True, True

    def _completing(self, X: Any, seed: int) -> tuple[LinkLearner, Any]:
        return LogisticLink(), np.zeros((X.shape[0], 1))

    def _learn_vectors(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> FrequencyModel:
        vectors, _, counts = count_vectors(codes, options.get("sample_weight"))
        return FrequencyModel(vectors, counts, self.codec_.n_classes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
