"""Forests that store the label vectors in their leaves.

The trees are scikit-learn's, grown one at a time and kept as a few arrays: scikit-learn stores the frequencies of all
classes at every node, which takes gigabytes where there are many labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._kernels.trees import find_leaves
from montechain._rows import row_blocks, take_rows
from montechain._savable import check_paths, require, savable
from montechain._threads import run_tasks

MIN_TREES = 16
"""Minimum number of trees, whatever the time limit."""
CELLS_AT_ONCE = 2**24
"""Approximate number of inputs of a sparse X that are made dense together, and of leaves that are looked up."""


@savable
class LabelForest:
    """The share of each label vector in the leaves that x falls into, averaged over trees.

    `feature` to `first_node` are the arrays of `find_leaves`; `leaf_vectors`, a CSR array of shape (nodes of all trees,
    V), holds the share of each vector in each leaf.
    """

    def __init__(self, n_features, feature, threshold, left, right, first_node, leaf_vectors):
        self.n_features = int(n_features)
        self.feature, self.threshold, self.left, self.right = feature, threshold, left, right
        self.first_node, self.leaf_vectors = first_node, leaf_vectors

    def _check_loaded(self) -> None:
        arrays = (self.feature, np.int32), (self.threshold, np.float64), (self.left, np.int32), (self.right, np.int32)
        n_nodes, first = len(self.left), self.first_node
        fits = all(own.shape == (n_nodes,) and own.dtype == kind for own, kind in arrays)
        require(fits, "the arrays of a forest have wrong lengths or types")
        require(first.dtype == np.int64 and first[0] == 0 and first[-1] == n_nodes, "a forest has wrong nodes")
        require(self.n_trees and (np.diff(first) > 0).all(), "a tree has no nodes")
        for nodes in map(slice, first[:-1], first[1:]):
            left, right = self.left[nodes], self.right[nodes]
            check_paths(left >= 0, (left, right), self.feature[nodes], self.n_features)
        require(self.leaf_vectors.shape[0] == n_nodes, "the leaves are not those of the trees")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.first_node) - 1

    @classmethod
    def grow(
        cls,
        X: Any,
        codes: np.ndarray,
        numbers: np.ndarray,
        *,
        n_trees: int,
        split_on: str = "labels",
        max_rows: int | None = None,
        time_limit: float | None = None,
        weight: np.ndarray | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
        splitters: Sequence[str] = ("best", "random"),
        max_features: Any = "sqrt",
        **parameters: Any,
    ) -> tuple[LabelForest, sp.csr_array]:
        """Grow trees; return the forest, and the shares for the rows of X from the trees grown without them.

        Each tree is grown from `max_rows` rows (by default as many as there are), drawn with replacement and in
        proportion to `weight`, so that the labels (their mean Gini impurity) or, with ``split_on="vectors"``, the label
        vectors become purer. `numbers` are those of the rows' label vectors. After `time_limit` seconds no more trees
        are grown, once there are sixteen. Thresholds are chosen by each of the `splitters` in turn; other parameters
        are those of scikit-learn's `DecisionTreeClassifier`.
        """
        # Imported here because they are slow to load, and most classifiers do without trees.
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        if split_on == "vectors":
            grower, targets = DecisionTreeClassifier, numbers[:, None].astype(np.float64)
        else:  # the variance of indicators is the Gini impurity of labels: the same trees, grown in half the time
            grower, targets = DecisionTreeRegressor, _indicators(codes)
        dense = _single(X)
        n_drawn = min(len(dense), max_rows or len(dense))
        share = None if weight is None else weight / weight.sum()

        grow_one = partial(
            _grow_tree, grower=grower, n_drawn=n_drawn, seed=seed, splitters=splitters, max_features=max_features,
            deadline=None if time_limit is None else time.time() + time_limit, **parameters,
        )  # fmt: skip

        with warnings.catch_warnings():
            # Nearly every row may have its own label vector.
            warnings.filterwarnings("ignore", "The number of unique classes")
            found = run_tasks(grow_one, range(n_trees), n_jobs, dense, targets, numbers, share)
            grown = [tree for tree in found if tree is not None]
        shares, leaves, is_out, nodes = zip(*grown, strict=True)
        first_node = np.concatenate([[0], np.cumsum([part.shape[0] for part in shares])]).astype(np.int64)
        feature, threshold, left, right = (np.concatenate(parts) for parts in zip(*nodes, strict=True))
        leaf_vectors = sp.csr_array(sp.vstack(shares))
        forest = cls(dense.shape[1], feature, threshold, left, right, first_node, leaf_vectors)
        return forest, forest._averaged(np.column_stack(leaves) + first_node[:-1], np.column_stack(is_out))

    def shares(self, X: Any) -> sp.csr_array:
        """Return p(vector | x) of all vectors, of shape (n, V)."""
        parts = []
        for rows in row_blocks(X.shape[0], max(1, CELLS_AT_ONCE // max(1, X.shape[1]))):
            dense = _single(take_rows(X, rows))
            leaves = np.empty((len(dense), self.n_trees), dtype=np.int64)
            find_leaves(dense, self.feature, self.threshold, self.left, self.right, self.first_node, leaves)
            parts.append(self._averaged(leaves, np.ones(leaves.shape, dtype=bool)))
        return sp.csr_array(sp.vstack(parts))

    def _averaged(self, leaves: np.ndarray, counts: np.ndarray) -> sp.csr_array:
        """Return the mean of the leaves' shares over those trees of each row that count."""
        parts = []
        for rows in row_blocks(len(leaves), max(1, CELLS_AT_ONCE // self.n_trees)):
            n_each = counts[rows].sum(axis=1)
            each = np.repeat(1.0 / np.maximum(n_each, 1), n_each)
            ends = np.concatenate([[0], np.cumsum(n_each)])
            shape = len(n_each), self.leaf_vectors.shape[0]
            parts.append(sp.csr_array((each, leaves[rows][counts[rows]], ends), shape=shape) @ self.leaf_vectors)
        return sp.csr_array(sp.vstack(parts))


def _grow_tree(
    t: int, dense: np.ndarray, targets: np.ndarray, numbers: np.ndarray, share: np.ndarray | None, *, grower: Any,
    n_drawn: int, deadline: float | None, seed: int, splitters: Sequence[str], **parameters: Any,
) -> tuple[Any, ...] | None:  # fmt: skip
    """Grow the tree of this number; None if it is too late.

    Return its leaves' shares of the label vectors, the leaf of each row, which rows it has not seen, and its nodes.
    """
    if deadline is not None and t >= MIN_TREES and time.time() > deadline:
        return None
    rng = np.random.default_rng([seed, t])
    counts = np.bincount(rng.choice(len(dense), n_drawn, p=share), minlength=len(dense)).astype(np.float64)
    tree = grower(splitter=splitters[t % len(splitters)], random_state=int(rng.integers(2**31)), **parameters)
    rows = np.flatnonzero(counts)
    tree = tree.fit(dense[rows], targets[rows], sample_weight=counts[rows], check_input=False).tree_
    leaves = tree.apply(dense)
    shape = tree.node_count, int(numbers.max()) + 1
    shares = sp.csr_array((counts[rows], (leaves[rows], numbers[rows])), shape=shape)
    shares.data /= np.repeat(shares.sum(axis=1), np.diff(shares.indptr))
    feature, left, right = (own.astype(np.int32) for own in (tree.feature, tree.children_left, tree.children_right))
    return shares, leaves, counts == 0.0, (feature, tree.threshold.copy(), left, right)


def label_logits(proba: list[np.ndarray], n_counts: float) -> np.ndarray:
    """Return probabilities of each label's classes as inputs for a linear model, side by side.

    A label with two classes gets one column of log-odds, one with more gets a column of centred log-probabilities for
    each class. Half a count is added to each of two classes, as if the probabilities were shares of `n_counts`.

    >>> label_logits([np.array([[0.5, 0.5], [1.0, 0.0]])], n_counts=9).round(2).ravel()
    array([ 0.  , -2.94])
    """
    columns = []
    for own in proba:
        n_classes = own.shape[1]
        logs = np.log((n_counts * own + 1.0 / n_classes) / (n_counts + 1.0))
        columns.append(logs[:, 1:] - logs[:, :1] if n_classes == 2 else logs - logs.mean(axis=1, keepdims=True))
    return np.hstack(columns)


def _indicators(codes: np.ndarray) -> np.ndarray:
    """Return a column for each class of each label; one is enough where all labels have two classes."""
    n_classes = codes.max(axis=0) + 1
    if n_classes.max() <= 2:
        return np.ascontiguousarray(codes, dtype=np.float64)
    return np.hstack([codes[:, j, None] == np.arange(k) for j, k in enumerate(n_classes)]).astype(np.float64)


def _single(X: Any) -> np.ndarray:
    limit = np.finfo(np.float32).max
    return np.ascontiguousarray(np.clip(X.toarray() if sp.issparse(X) else X, -limit, limit), dtype=np.float32)
