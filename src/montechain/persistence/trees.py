"""Whether the nodes of a decision tree hold together: compiled code follows them without looking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["check_nodes", "check_predictor"]

LEAF = -1
WORDS_OF_BITSET = 8
"""Words of 32 bits that tell which of 256 categories go left."""


def check_nodes(n_features: Any, n_classes: Any, n_outputs: Any, state: Mapping[str, Any]) -> None:
    """Raise a ValueError unless every path through a tree of scikit-learn ends, and stays inside its arrays.

    Parameters
    ----------
    n_features, n_classes, n_outputs
        What the tree is made with.
    state : mapping
        With the nodes, the values and the number of nodes, as `sklearn.tree._tree.Tree` gives them.
    """
    nodes, values = state["nodes"], state["values"]
    counts = (n_features, n_outputs, state["node_count"], state["max_depth"])
    if not all(isinstance(count, int | np.integer) and not isinstance(count, bool) and count >= 0 for count in counts):
        raise ValueError(f"its numbers of features, outputs, nodes and levels are {counts}")
    arrays = isinstance(nodes, np.ndarray) and isinstance(values, np.ndarray) and isinstance(n_classes, np.ndarray)
    if not arrays or nodes.ndim != 1 or n_classes.ndim != 1 or n_classes.dtype.kind not in "iu":
        raise ValueError("its nodes, values or classes are no arrays")
    if n_outputs < 1 or len(n_classes) != n_outputs or n_classes.min() < 1:
        raise ValueError(f"it has {n_classes.tolist()} classes for {n_outputs} outputs")
    if values.shape != (len(nodes), n_outputs, n_classes.max()) or values.dtype != np.float64:
        raise ValueError(f"its values have the shape {values.shape} for {len(nodes)} nodes")
    if len(nodes) < 1 or state["node_count"] != len(nodes):
        raise ValueError(f"it has {len(nodes)} nodes and announces {state['node_count']}")
    inner = nodes["left_child"] != LEAF
    if not (nodes["right_child"][~inner] == LEAF).all():
        raise ValueError("a node has a right child only")
    _check_paths(inner, (nodes["left_child"], nodes["right_child"]), nodes["feature"], n_features)


def check_predictor(nodes: Any, bitsets: Any, is_categorical: np.ndarray) -> None:
    """Raise a ValueError unless every path through a tree of scikit-learn's histogram boosting ends inside its arrays.

    Parameters
    ----------
    nodes, bitsets
        Of a `TreePredictor`.
    is_categorical : bool ndarray of shape (n_features,)
    """
    if not isinstance(nodes, np.ndarray) or nodes.ndim != 1 or len(nodes) < 1 or not isinstance(bitsets, np.ndarray):
        raise ValueError("its nodes are no array")
    if bitsets.ndim != 2 or bitsets.shape[1] != WORDS_OF_BITSET or bitsets.dtype != np.uint32:
        raise ValueError(f"its sets of categories have the shape {bitsets.shape}")
    inner = nodes["is_leaf"] == 0
    _check_paths(inner, (nodes["left"], nodes["right"]), nodes["feature_idx"], len(is_categorical))
    by_category = nodes[inner & (nodes["is_categorical"] != 0)]
    if not (by_category["bitset_idx"] < len(bitsets)).all() or not is_categorical[by_category["feature_idx"]].all():
        raise ValueError("a node asks for categories that do not exist")


def _check_paths(inner: np.ndarray, children: tuple[np.ndarray, ...], feature: np.ndarray, n_features: int) -> None:
    own = np.flatnonzero(inner)
    for child in children:
        # A child that comes after its parent can lead nowhere but onwards.
        if not ((child[inner] > own) & (child[inner] < len(inner))).all():
            raise ValueError("a node has a child that does not come after it")
    if not ((feature[inner] >= 0) & (feature[inner] < n_features)).all():
        raise ValueError("a node asks for a feature that does not exist")
