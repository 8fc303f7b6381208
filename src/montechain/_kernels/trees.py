"""Walks down decision trees that are kept as arrays."""

from __future__ import annotations

from montechain._kernels.compiling import njit


@njit
def find_leaves(X, feature, threshold, left, right, first_node, leaves):
    """Write to `leaves`, int64 of shape (n, trees), the leaf of every row in every tree, counted through all trees.

    X is float32. For each node of all trees, `feature` is the input it looks at, of which rows with at most `threshold`
    go to the `left`, and `left` and `right` are its children, counted within the tree; leaves have ``left < 0``. The
    trees begin at `first_node`, int64 of shape (trees + 1,). All arrays of nodes but the threshold are int32.
    """
    for t in range(len(first_node) - 1):
        root = first_node[t]
        for i in range(X.shape[0]):
            node = root
            while left[node] >= 0:
                node = root + (left[node] if X[i, feature[node]] <= threshold[node] else right[node])
            leaves[i, t] = node
