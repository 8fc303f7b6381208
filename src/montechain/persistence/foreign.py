"""Whether parts that numpy, scipy and scikit-learn have made hold together.

Their compiled code reads as far as it is told to, and a file can tell it anything. What is checked here is what the
estimators with compiled parts rely on: trees and their ensembles, support vector machines, nearest neighbours,
sparse matrices, and generators of random numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.neighbors._base import NeighborsBase
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from montechain.persistence.trees import check_nodes, check_predictor

__all__ = ["FOREIGN_CHECKS", "require"]

TWISTER_LENGTH = 624
"""Words in the state of numpy's older generator."""


def require(condition: Any, what: str) -> None:
    """Raise a ValueError that says what is wrong unless the condition holds."""
    if not condition:
        raise ValueError(what)


def _check_tree(tree: Tree) -> None:
    check_nodes(tree.n_features, np.atleast_1d(tree.n_classes), tree.n_outputs, tree.__getstate__())


def _check_decision_tree(tree: BaseDecisionTree) -> None:
    if hasattr(tree, "tree_"):
        require(isinstance(tree.tree_, Tree), "a tree has no nodes")
        require(tree.tree_.n_features == tree.n_features_in_, "a tree has nodes for other features")


def _check_forest(forest: Any) -> None:
    """Check that all trees know the features: they are handed rows without a further look."""
    if hasattr(forest, "estimators_"):
        for tree in np.ravel(np.array(forest.estimators_, dtype=object)):
            require(isinstance(tree, BaseDecisionTree), "an ensemble of trees holds what is no tree")
            require(tree.n_features_in_ == forest.n_features_in_, "a tree of an ensemble has other features")


def _check_boosting(model: Any) -> None:
    """Check also that the trees' values are added to columns that exist: nobody counts them again."""
    _check_forest(model)
    if not hasattr(model, "estimators_"):
        return
    n_columns = 1 if len(model.classes_) == 2 else len(model.classes_)
    stages = model.estimators_
    fits = isinstance(stages, np.ndarray) and stages.ndim == 2 and stages.shape[1] == n_columns
    require(fits and model.n_trees_per_iteration_ == n_columns, "boosted trees do not fit the classes")
    require(
        all(tree.tree_.n_outputs == 1 and tree.tree_.max_n_classes == 1 for tree in stages.ravel()), "too many values"
    )
    if not (isinstance(model.init_, str) and model.init_ == "zero"):
        require(isinstance(model.init_, DummyClassifier), f"boosting starts from a {type(model.init_).__name__}")
        require(np.shape(model.init_.class_prior_) == (len(model.classes_),), "boosting starts from other classes")
        require(model._loss.is_multiclass == (n_columns > 1), "boosting has the loss of another problem")


def _check_histograms(model: Any) -> None:
    if not hasattr(model, "_predictors"):
        return
    is_categorical = model._bin_mapper.is_categorical_
    require(np.shape(is_categorical) == (model.n_features_in_,), "the bins are those of other features")
    for predictor in (tree for stage in model._predictors for tree in stage):
        require(isinstance(predictor, TreePredictor), "boosting holds what is no tree")
        check_predictor(predictor.nodes, predictor.raw_left_cat_bitsets, np.asarray(is_categorical, dtype=bool))


def _check_support_vectors(model: Any) -> None:
    if not hasattr(model, "support_vectors_"):
        return
    n_vectors, n_classes = len(model.support_), len(getattr(model, "classes_", (0, 1)))
    n_pairs = n_classes * (n_classes - 1) // 2
    require(model.support_vectors_.shape == (n_vectors, model.shape_fit_[1]), "support vectors of another width")
    require(model.shape_fit_[1] == model.n_features_in_ or model.kernel == "precomputed", "support vectors do not fit")
    require(model._dual_coef_.shape == (n_classes - 1, n_vectors), "support vectors lack coefficients")
    require(model._intercept_.shape == (n_pairs,), "the intercepts are not one for each pair of classes")
    counts = np.asarray(model._n_support)
    require(
        counts.shape == (n_classes,) and (counts >= 0).all() and counts.sum() == n_vectors,
        "vectors are missing",
    )
    for name in ("_probA", "_probB"):
        require(np.shape(getattr(model, name)) in ((0,), (n_pairs,)), "the calibration does not fit the classes")


def _check_neighbours(model: Any) -> None:
    if not hasattr(model, "_fit_X"):
        return
    n_rows = model._fit_X.shape[0]
    require(model._fit_X.shape == (n_rows, model.n_features_in_), "the rows remembered have another width")
    require(getattr(model, "n_samples_fit_", n_rows) == n_rows, "the rows remembered are not as many as announced")
    codes = getattr(model, "_y", None)
    if codes is not None:
        require(len(codes) == n_rows, "the rows remembered have not one class each")
        classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        for column, own in zip(np.reshape(codes, (n_rows, -1)).T, classes, strict=True):
            require(column.dtype.kind in "iu" and (column >= 0).all() and (column < len(own)).all(), "unknown classes")


def _check_generator(generator: np.random.RandomState) -> None:
    position = generator.get_state(legacy=False)["state"]["pos"]
    require(0 <= position <= TWISTER_LENGTH, f"a generator of random numbers stands at {position}")


def _check_sparse(matrix: Any) -> None:
    if matrix.format in ("csr", "csc"):
        matrix.check_format(full_check=True)
    else:
        require(matrix.format == "coo", f"a sparse matrix has the format {matrix.format}")
        for indices, length in zip(matrix.coords, matrix.shape, strict=True):
            require(indices.shape == matrix.data.shape, "a sparse matrix has not one place for each number")
            require(not len(indices) or (indices.min() >= 0 and indices.max() < length), "a place outside of a matrix")


FOREIGN_CHECKS: dict[Any, Any] = {
    Tree: _check_tree,
    BaseDecisionTree: _check_decision_tree,
    BaseForest: _check_forest,
    BaseGradientBoosting: _check_boosting,
    BaseHistGradientBoosting: _check_histograms,
    BaseLibSVM: _check_support_vectors,
    NeighborsBase: _check_neighbours,
    np.random.RandomState: _check_generator,
    (sp.sparray, sp.spmatrix): _check_sparse,
}
"""The types that are checked, and how."""
