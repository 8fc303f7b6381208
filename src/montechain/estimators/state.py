"""Checks of fitted classifiers that come from a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from montechain._savable import require

__all__ = ["StateMixin"]

LEARNED = {"chain_": "Chain", "population_": "Population", "network_": "DependencyNetwork"}
"""Attributes that hold what compiled code works with, and the classes of their values."""


class StateMixin:
    """Checks that the parts of a classifier belong together, before compiled code relies on it."""

    def _check_loaded(self) -> None:
        """Raise a ValueError that says what does not fit together."""
        model: Any = self
        if not hasattr(model, "classes_"):
            return
        layout: Any = getattr(model, "_target_format", None)
        require(type(layout).__name__ == "TargetFormat", "a classifier does not know the format of its targets")
        require(
            isinstance(model.classes_, np.ndarray if layout.is_1d else list), "the classes are not a list of arrays"
        )
        classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        fits = all(isinstance(own, np.ndarray) and own.ndim == 1 and len(own) for own in classes)
        require(classes and fits, "the classes of a label are not a list")
        for given in (layout.names, layout.dtypes):
            require(given is None or len(given) == len(classes), "the columns of the targets do not match the classes")
        n_classes = [len(own) for own in classes]
        for name, kind in LEARNED.items():
            if hasattr(model, name):
                learned = getattr(model, name)
                require(type(learned).__name__ == kind, f"{name} is not a {kind}")
                by_label = list(learned.n_classes)
                if hasattr(learned, "order"):
                    by_label = [by_label[k] for k in np.argsort(learned.order)]
                    require(np.array_equal(model.order_, learned.order), "the order is not that of the chain")
                if hasattr(learned, "orders"):
                    require(np.array_equal(model.orders_, learned.orders), "the orders are not those of the chains")
                require(by_label == n_classes, f"the labels have {n_classes} classes, but {name} has {by_label}")
        if hasattr(model, "vector_codes_"):
            _check_vectors(model, n_classes)


def _check_vectors(model: Any, n_classes: list[int]) -> None:
    """Check the label vectors of classifiers that know only those seen in training."""
    codes, counts = model.vector_codes_, model.vector_counts_
    require(counts.ndim == 1 and counts.dtype == np.float64, "the label vectors are not counted by numbers")
    fits = codes.shape == (len(counts), len(n_classes)) and codes.dtype.kind == "i"
    require(fits and (codes >= 0).all() and (codes < n_classes).all(), "a label vector does not match the classes")
    if hasattr(model, "link_"):
        require(model.link_.n_classes == len(counts), "the link has other label vectors")
    if hasattr(model, "forest_"):
        trees, n_features = model.forest_.estimators_, model.forest_.n_features_in_
        ends = np.cumsum([0, *(tree.tree_.node_count for tree in trees)])
        require(n_features == model.n_features_in_, "the forest has other features")
        require(np.array_equal(model.first_node_, ends), "the nodes are not those of the trees")
        require(model.leaf_vectors_.shape == (ends[-1], len(counts)), "the leaves are not those of the trees")
