"""Parts of scikit-learn's models: which a file may hold, and what their compiled code needs to be safe.

Compiled code follows the sizes and indices that it is given, and a file can hold any. So everything that estimators
hand to compiled code unchecked is checked here: trees and their ensembles, support vectors, stored neighbors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._compat import tree_type
from montechain._savable import require

__all__ = ["COMPILED_LOSSES", "FUNCTIONS", "TREE", "check_loaded", "is_library_class", "make_tree"]

PARTS = {
    "sklearn._loss.link",
    "sklearn._loss.loss",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers",
    "sklearn.utils._bunch.Bunch",
}
"""Classes, and modules of classes, that fitted estimators hold without being estimators themselves."""
FUNCTIONS = {
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
}
"""Functions that a model may refer to, besides numpy's ufuncs. They only compute."""
TREE = "sklearn.tree._tree.Tree"
COMPILED_LOSSES = ("sklearn._loss._loss", "sklearn.linear_model._sgd_fast", "_loss")
"""Modules of compiled loss functions, which are made from a few numbers."""
LEAF, N_BITSET_WORDS = -1, 8


def is_library_class(cls: type) -> bool:
    """Return whether a class is an estimator of scikit-learn, or a known part of one, written in Python."""
    is_known = issubclass(cls, BaseEstimator) or {cls.__module__, f"{cls.__module__}.{cls.__qualname__}"} & PARTS
    is_plain = cls.__reduce__ is object.__reduce__ and cls.__reduce_ex__ is object.__reduce_ex__
    return bool(cls.__module__.startswith("sklearn.") and is_known and is_plain)


def check_loaded(part: Any) -> None:
    """Raise a ValueError if a fitted estimator holds arrays that its compiled code would read beyond."""
    for base in type(part).__mro__:
        attribute, check = CHECKS.get(base.__name__, ("", None))
        if check is not None and hasattr(part, attribute):
            check(part)


def make_tree(n_features: Any, n_classes: Any, n_outputs: Any, state: Any) -> Any:
    """Return a tree of scikit-learn, if every path through it ends and stays inside its arrays.

    All is checked first: the constructor already reads as many numbers of classes as `n_outputs` says.
    """
    counts, nodes, values = (n_features, n_outputs, state["node_count"]), state["nodes"], state["values"]
    require(all(type(n) is int and n >= 0 for n in (*counts, state["max_depth"])), f"a tree has the sizes {counts}")
    require(all(type(a) is np.ndarray for a in (nodes, values, n_classes)), "the nodes of a tree are not an array")
    fits = n_classes.shape == (n_outputs,) and n_classes.dtype == np.intp and n_classes.min(initial=0) >= 0
    require(fits and n_classes.min() >= 1, f"a tree with {n_outputs} outputs has the classes {n_classes}")
    require(nodes.shape == (state["node_count"],) and len(nodes), "a tree does not have the nodes that it announces")
    shape = (len(nodes), n_outputs, n_classes.max())
    require(values.shape == shape and values.dtype == np.float64, f"the values of a tree are not of shape {shape}")
    is_inner = nodes["left_child"] != LEAF
    require((nodes["right_child"][~is_inner] == LEAF).all(), "a node of a tree has a right child only")
    _check_paths(is_inner, (nodes["left_child"], nodes["right_child"]), nodes["feature"], n_features)
    tree = tree_type()(n_features, n_classes, n_outputs)
    tree.__setstate__(state)
    return tree


def _check_paths(is_inner: np.ndarray, children: tuple[np.ndarray, ...], feature: np.ndarray, n_features: int) -> None:
    places, asked = np.flatnonzero(is_inner), feature[is_inner]
    for child in (child[is_inner] for child in children):
        # If every child comes after its parent, every path ends.
        require(((child > places) & (child < len(is_inner))).all(), "a child in a tree does not come after its parent")
    require(((asked >= 0) & (asked < n_features)).all(), "a node of a tree uses a feature that does not exist")


def _check_tree(model: Any) -> None:
    fits = f"{type(model.tree_).__module__}.{type(model.tree_).__name__}" == TREE
    require(fits and model.tree_.n_features == model.n_features_in_, "a tree has nodes for other features")


def _check_forest(model: Any) -> None:
    """Check that all trees know the features: they receive rows that nobody checks again."""
    for tree in np.ravel(np.array(model.estimators_, dtype=object)):
        fits = type(tree).__module__ == "sklearn.tree._classes" and hasattr(tree, "tree_")
        require(fits and tree.n_features_in_ == model.n_features_in_, "a tree of an ensemble has other features")


def _check_boosting(model: Any) -> None:
    """Check also that the values of the trees are added to columns that exist."""
    _check_forest(model)
    n_columns = 1 if len(model.classes_) == 2 else len(model.classes_)
    stages, start = model.estimators_, model.init_
    fits = isinstance(stages, np.ndarray) and stages.ndim == 2 and stages.shape[1] == n_columns
    require(fits and model.n_trees_per_iteration_ == n_columns, "boosted trees do not match the classes")
    single = all(tree.tree_.n_outputs == 1 == tree.tree_.max_n_classes for tree in stages.ravel())
    require(single, "a node of a boosted tree has several values")
    if not (isinstance(start, str) and start == "zero"):
        fits = type(start).__name__ == "DummyClassifier" and np.shape(start.class_prior_) == np.shape(model.classes_)
        require(fits and model._loss.is_multiclass == (n_columns > 1), "boosting starts from other classes")


def _check_histograms(model: Any) -> None:
    is_categorical = np.asarray(model._bin_mapper.is_categorical_, dtype=bool)
    require(is_categorical.shape == (model.n_features_in_,), "the bins belong to other features")
    for tree in (tree for stage in model._predictors for tree in stage):
        nodes, bitsets = tree.nodes, tree.raw_left_cat_bitsets
        fits = bitsets.shape[1:] == (N_BITSET_WORDS,) and bitsets.dtype == np.uint32 and nodes.ndim == 1 and len(nodes)
        require(fits and type(tree).__name__ == "TreePredictor", "the trees of boosting are incomplete")
        is_inner = nodes["is_leaf"] == 0
        _check_paths(is_inner, (nodes["left"], nodes["right"]), nodes["feature_idx"], len(is_categorical))
        chosen = nodes[is_inner & (nodes["is_categorical"] != 0)]
        exists = (chosen["bitset_idx"] < len(bitsets)).all() and is_categorical[chosen["feature_idx"]].all()
        require(exists, "a node uses categories that do not exist")


def _check_support_vectors(model: Any) -> None:
    n_vectors, n_classes, width = len(model.support_), len(getattr(model, "classes_", (0, 1))), model.shape_fit_[1]
    n_pairs, counts = n_classes * (n_classes - 1) // 2, np.asarray(model._n_support)
    calibration = {np.shape(model._probA), np.shape(model._probB)}
    fits = (
        model.support_vectors_.shape == (n_vectors, width)
        and (width == model.n_features_in_ or model.kernel == "precomputed")
        and model._dual_coef_.shape == (n_classes - 1, n_vectors)
        and model._intercept_.shape == (n_pairs,)
        and counts.shape == (n_classes,)
        and (counts >= 0).all()
        and counts.sum() == n_vectors
        and calibration <= {(0,), (n_pairs,)}
    )
    require(fits, "the support vectors do not match the features and classes")


def _check_neighbors(model: Any) -> None:
    n_rows = model._fit_X.shape[0]
    fits = model._fit_X.shape == (n_rows, model.n_features_in_) and getattr(model, "n_samples_fit_", n_rows) == n_rows
    require(fits, "the stored rows do not have the announced shape")
    if getattr(model, "_y", None) is not None:
        require(len(model._y) == n_rows, "the stored rows do not have one class each")
        classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        for codes, own in zip(np.reshape(model._y, (n_rows, -1)).T, classes, strict=True):
            exists = codes.dtype.kind in "iu" and (codes >= 0).all() and (codes < len(own)).all()
            require(exists, "a stored row has a class that does not exist")


CHECKS: dict[str, tuple[str, Any]] = {
    "BaseDecisionTree": ("tree_", _check_tree),
    "BaseForest": ("estimators_", _check_forest),
    "BaseGradientBoosting": ("estimators_", _check_boosting),
    "BaseHistGradientBoosting": ("_predictors", _check_histograms),
    "BaseLibSVM": ("support_vectors_", _check_support_vectors),
    "NeighborsBase": ("_fit_X", _check_neighbors),
}
"""For a base class of scikit-learn: an attribute that a fitted one has, and its check."""
