"""Walks down decision trees that are kept as arrays."""

from __future__ import annotations

from montechain._kernels.compiling import njit


@njit
def find_leaves(X, feature, threshold, left, right, first_node, leaves):
    """Write the leaf of every row in every tree, counted through all trees.

    Parameters
    ----------
    X : float32 ndarray of shape (n, n_features)
    feature, left, right : int32 ndarrays of shape (nodes of all trees,)
        The input a node looks at, and its children, counted within the tree; leaves have ``left < 0``.
    threshold : float64 ndarray of shape (nodes of all trees,)
        Rows with at most this go to the left.
    first_node : int64 ndarray of shape (trees + 1,)
    leaves : int64 ndarray of shape (n, trees)
        Written.
    """
    for t in range(len(first_node) - 1):
        root = first_node[t]
        for i in range(X.shape[0]):
            node = root
            while left[node] >= 0:
                node = root + (left[node] if X[i, feature[node]] <= threshold[node] else right[node])
            leaves[i, t] = node
