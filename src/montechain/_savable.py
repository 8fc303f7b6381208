"""Which classes a model file may hold, and what makes their instances sound.

A class of montechain says itself that it may be saved, and checks its own state. Estimators of scikit-learn may be
saved as well. A file can hold any sizes and indices, and compiled code follows what it is given, so what estimators
hand to compiled code unchecked is checked here, or not trusted.
"""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

_SAVABLE: set[type] = set()
Class = TypeVar("Class", bound=type)

LIBRARY_PARTS = {
    "sklearn._loss.link",
    "sklearn._loss.loss",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers",
}
"""Classes, or modules of classes, that are parts of scikit-learn's estimators but not estimators themselves."""
UNCHECKED = {"BaseGradientBoosting", "BaseLibSVM", "NeighborsBase", "_BaseKMeans"}
"""Base classes in scikit-learn whose compiled code reads arrays that nothing checks: these need trust by name."""
LEAF, N_BITSET_WORDS = -1, 8


def savable(cls: Class) -> Class:
    """Declare that a model file may hold instances of a class. Estimators and strategies need not be declared.

    `montechain.save` writes what ``__getstate__`` returns. `montechain.load` makes an instance without calling
    ``__init__``, hands the state to ``__setstate__`` (or sets it as attributes), and calls ``_check_loaded()`` if the
    class has such a method. One of the two must raise a ValueError unless everything fits together.
    """
    _SAVABLE.add(cls)
    return cls


def is_savable(cls: type) -> bool:
    """Return whether a file may hold instances of a class without being trusted."""
    if cls.__module__.startswith("montechain."):
        return cls in _SAVABLE or (issubclass(cls, BaseEstimator) and not inspect.isabstract(cls))
    is_known = issubclass(cls, BaseEstimator) or {cls.__module__, f"{cls.__module__}.{cls.__name__}"} & LIBRARY_PARTS
    is_checked = UNCHECKED.isdisjoint(base.__name__ for base in cls.__mro__)
    return bool(cls.__module__.startswith("sklearn.") and is_known and is_checked)


def require(condition: Any, message: str) -> None:
    """Raise a ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def check_part(part: Any) -> None:
    """Raise a ValueError if an object made from a file does not fit together."""
    for base in type(part).__mro__:
        attribute, check = CHECKS.get(base.__name__, ("", None))
        if check is not None and hasattr(part, attribute):
            check(part)
    if hasattr(part, "_check_loaded"):
        part._check_loaded()


def check_tree(n_features: Any, n_classes: Any, n_outputs: Any, state: Any) -> None:
    """Raise a ValueError unless every path through a tree of scikit-learn ends and stays inside its arrays.

    Called before there is a tree: its constructor already reads as many numbers of classes as `n_outputs` says.
    """
    nodes, values, sizes = state["nodes"], state["values"], (n_features, n_outputs, state["node_count"])
    require(all(type(n) is int and n >= 0 for n in (*sizes, state["max_depth"])), f"a tree has the sizes {sizes}")
    require(all(type(a) is np.ndarray for a in (nodes, values, n_classes)), "the nodes of a tree are not an array")
    fits = n_classes.shape == (n_outputs,) and n_classes.dtype == np.intp and n_outputs and n_classes.min() >= 1
    require(fits, f"a tree with {n_outputs} outputs has the classes {n_classes}")
    fits = values.shape == (len(nodes), n_outputs, n_classes.max()) and values.dtype == np.float64
    require(fits and nodes.shape == (state["node_count"],) and len(nodes), "the number of nodes of a tree is wrong")
    is_inner = nodes["left_child"] != LEAF
    require((nodes["right_child"][~is_inner] == LEAF).all(), "a node of a tree has a right child only")
    check_paths(is_inner, (nodes["left_child"], nodes["right_child"]), nodes["feature"], n_features)


def check_paths(is_inner: np.ndarray, children: tuple[np.ndarray, ...], feature: np.ndarray, n_features: int) -> None:
    """Raise a ValueError unless every path through a tree ends, and its splits are on features that exist."""
    places, used = np.flatnonzero(is_inner), feature[is_inner]
    for child in (child[is_inner] for child in children):
        # If every child comes after its parent, every path ends.
        require(((child > places) & (child < len(is_inner))).all(), "a child in a tree does not come after its parent")
    require(((used >= 0) & (used < n_features)).all(), "a node of a tree uses a feature that does not exist")


def _check_decision_tree(model: Any) -> None:
    fits = type(model.tree_).__module__ == "sklearn.tree._tree" and model.tree_.n_features == model.n_features_in_
    require(fits, "a tree was grown on a different number of features")


def _check_forest(model: Any) -> None:
    """Check that all trees have the right number of features: they receive rows that are not checked again."""
    for tree in model.estimators_:
        fits = type(tree).__module__ == "sklearn.tree._classes" and hasattr(tree, "tree_")
        require(fits and tree.n_features_in_ == model.n_features_in_, "a tree of an ensemble expects other inputs")


def _check_histograms(model: Any) -> None:
    is_categorical = np.asarray(model._bin_mapper.is_categorical_, dtype=bool)
    require(is_categorical.shape == (model.n_features_in_,), "the bins belong to other features")
    for tree in (tree for stage in model._predictors for tree in stage):
        nodes, bitsets = tree.nodes, tree.raw_left_cat_bitsets
        fits = bitsets.shape[1:] == (N_BITSET_WORDS,) and bitsets.dtype == np.uint32 and nodes.ndim == 1 and len(nodes)
        require(fits and type(tree).__name__ == "TreePredictor", "the trees of boosting are incomplete")
        is_inner = nodes["is_leaf"] == 0
        check_paths(is_inner, (nodes["left"], nodes["right"]), nodes["feature_idx"], len(is_categorical))
        chosen = nodes[is_inner & (nodes["is_categorical"] != 0)]
        exists = (chosen["bitset_idx"] < len(bitsets)).all() and is_categorical[chosen["feature_idx"]].all()
        require(exists, "a node uses categories that do not exist")


CHECKS: dict[str, tuple[str, Any]] = {
    "BaseDecisionTree": ("tree_", _check_decision_tree),
    "BaseForest": ("estimators_", _check_forest),
    "BaseHistGradientBoosting": ("_predictors", _check_histograms),
}
"""For a base class of scikit-learn: an attribute that a fitted one has, and its check."""
