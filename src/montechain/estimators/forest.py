"""A random forest of predictive clustering trees: RF-PCT."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._messages import check_positive_integer, nearest
from montechain.estimators.base import JointClassifier, SeenVectorsMixin
from montechain.estimators.progress import link_progress
from montechain.links import LinkProblem
from montechain.seen_vectors import ForestModel, count_vectors, informative_rows
from montechain.targets import UNKNOWN

__all__ = ["ClusteringForestClassifier"]

SHARES = ("tenth", "sqrt", "log2")
N_DRAWS = 5
"""How many copies, drawn independently, stand for a row with unknown labels."""


class ClusteringForestClassifier(SeenVectorsMixin, JointClassifier):
    """Predict several targets at once with a random forest of predictive clustering trees.

    A predictive clustering tree splits the rows so that all labels together become purer: by the mean decrease of
    their Gini impurities. scikit-learn's `RandomForestClassifier` grows just these trees for a target with
    several columns, and they are taken from there. For Hamming loss, the default and the published method, `predict`
    and `predict_proba` are those of that forest: each label's classes by their shares in the leaves that x
    falls into, averaged over the trees.

    The leaves know more than that: which label vectors stand in them. With each tree's leaf as a sample of vectors, the
    forest has the joint distribution p(y | x) = mean over trees of the share of y in the leaf of x, whose marginals
    are the same averages. Other losses, `given`, `log_joint`, `predict_top_k` and `sample` go by it. A vector that
    is in none of the leaves has probability zero. If no vector agrees with what is `given`, those that agree with
    the most of it stand in; if those that agree are in none of the leaves, they count by their frequency in training.

    An unknown label of a training row is drawn from a forest of its own, which is grown for this label from the rows
    in which it is known. Five copies of the row, with draws of their own and a fifth of the weight, take its place, so
    that the trees see different draws. Rows without any known label are left out. X may have missing values.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_features : {"tenth", "sqrt", "log2"}, int, float or None, default="tenth"
        Inputs tried at each split: "tenth" is ``n_features // 10 + 1``, as published; the others are scikit-learn's.
    max_depth : int, default=None
        Largest depth of a tree. None: leaves are split until they are pure or too small.
    min_samples_leaf : int or float, default=1
        Rows in a leaf, at least.
    n_jobs : int, default=None
        Trees grown and asked at a time.
    loss, unknown, random_state
        As in `ChainClassifier`, but for Hamming loss by default.

    Attributes
    ----------
    model_ : ForestModel
        The trees and the share of each vector in each leaf.
    vectors_ : ndarray of shape (V, L)
        The label vectors seen in training, in y's own classes.
    vector_counts_ : ndarray of shape (V,)
        How often each occurs, weighted.
    classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    References
    ----------
    Kocev, Vens, Struyf and Džeroski (2007). Ensembles of multi-objective decision trees. ECML.

    Madjarov, Kocev, Gjorgjevikj and Džeroski (2012). An extensive experimental comparison of methods for multi-label
    learning. Pattern Recognition 45. (Whose parameters Read, Martino and Luengo 2014 take.)

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain.estimators import ClusteringForestClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ClusteringForestClassifier(n_estimators=20, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> top = model.predict_top_k(X[:1], k=2)
    >>> bool(top.proba[0, 0] >= top.proba[0, 1])
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_features: Any = "tenth",
        max_depth: int | None = None,
        min_samples_leaf: int | float = 1,
        loss: Any = "hamming",
        unknown: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ):
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.loss = loss
        self.unknown = unknown
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_choices(self) -> None:
        check_positive_integer(self, "n_estimators", 100)
        if isinstance(self.max_features, str) and self.max_features not in SHARES:
            raise ValueError(
                f"`max_features={self.max_features!r}` is not known{nearest(self.max_features, SHARES) or '.'} Allowed "
                f"are {', '.join(map(repr, SHARES))}, a number, a share such as 0.2, or None for all inputs."
            )

    def _takes(self) -> tuple[bool, bool]:
        return False, True

    @property
    def forest_(self) -> Any:
        """The random forest, fitted to codes."""
        return self.model_.forest

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        X, codes, options = informative_rows(X, codes, options)
        X, codes, weight = self._completed(X, codes, options.get("sample_weight"), seed)
        with link_progress(self, 1, X, codes) as on_link:
            forest = self._forest(seed).fit(X, codes if codes.shape[1] > 1 else codes[:, 0], weight)
            on_link(LinkProblem(0, ()))
        vectors, numbers, counts = count_vectors(codes, weight)
        first_node, shares = _leaf_vectors(forest, X, numbers, len(vectors), weight)
        self.model_ = ForestModel(vectors, counts, self.codec_.n_classes, forest, first_node, shares)

    def _forest(self, seed: int) -> Any:
        # Imported here because the other classifiers do without scikit-learn's ensembles.
        from sklearn.ensemble import RandomForestClassifier

        max_features = self.n_features_in_ // 10 + 1 if self.max_features == "tenth" else self.max_features
        return RandomForestClassifier(
            self.n_estimators,
            max_features=max_features,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _completed(
        self, X: Any, codes: np.ndarray, weight: np.ndarray | None, seed: int
    ) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return the rows with copies in place of those that have unknown labels, which are drawn."""
        lacks = (codes == UNKNOWN).any(axis=1)
        if not lacks.any():
            return X, codes, weight
        weight = np.ones(len(codes)) if weight is None else weight
        n_copies = np.where(lacks, N_DRAWS, 1)
        rows = np.repeat(np.arange(len(codes)), n_copies)
        filled = codes[rows]
        rng = np.random.default_rng([seed, 1])
        for j, own in enumerate(codes.T):
            known, cells = np.flatnonzero(own != UNKNOWN), np.flatnonzero(filled[:, j] == UNKNOWN)
            if len(known) == 0:  # all rows that knew it have weight zero
                filled[:, j] = 0
            elif len(cells) > 0:
                forest = self._forest(seed).fit(X[known], own[known], weight[known])
                below = forest.predict_proba(X[rows[cells]]).cumsum(axis=1) <= rng.random((len(cells), 1))
                filled[cells, j] = forest.classes_[np.minimum(below.sum(axis=1), len(forest.classes_) - 1)]
        return X[rows], filled, (weight / n_copies)[rows]


def _leaf_vectors(
    forest: Any, X: Any, numbers: np.ndarray, n_vectors: int, weight: np.ndarray | None
) -> tuple[np.ndarray, Any]:
    """Return the root of each tree in a count of all nodes, and the share of each vector in each leaf.

    Shares are those of the rows that the tree was grown from.
    """
    first_node = np.concatenate([[0], np.cumsum([tree.tree_.node_count for tree in forest.estimators_])])
    leaves = forest.apply(X) + first_node[:-1]
    places, values = [], []
    for t, drawn in enumerate(forest.estimators_samples_):
        counts = np.bincount(drawn, minlength=len(numbers)).astype(np.float64)
        # scikit-learn up to about 1.8 draws rows uniformly and weights them afterwards; later versions draw them by
        # their weights. The weight of the root tells which.
        root = forest.estimators_[t].tree_.weighted_n_node_samples[0]
        if weight is not None and not np.isclose(root, counts.sum()):
            counts *= weight
        rows = np.flatnonzero(counts)
        places.append((leaves[rows, t], numbers[rows]))
        values.append(counts[rows])
    node, vector = (np.concatenate(parts) for parts in zip(*places, strict=True))
    shape = int(first_node[-1]), n_vectors
    shares = sp.csr_array(sp.coo_array((np.concatenate(values), (node, vector)), shape=shape))
    shares.data /= np.repeat(shares.sum(axis=1), np.diff(shares.indptr))
    return first_node, shares
