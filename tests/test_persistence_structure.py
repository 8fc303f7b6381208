"""Files whose checksum is right but whose parts do not fit: refused before compiled code could read too far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.saved_models import (
    BOOSTING,
    CHAIN,
    FOREST,
    FORESTS,
    HISTOGRAMS,
    MACHINES,
    NEIGHBORS,
    NETWORK,
    POPULATION,
    POWERSET,
    TREES,
    ChainClassifier,
    MajorityClassifier,
    Opened,
    data,
    fitted,
    load,
    refuse,
    saved,
    write,
)

X = data()[0]

LINK = ("chain_", "links", 1)
FIRST = ("chain_", "links", 0, "estimator")
"""The classifier in the first link of a chain."""


def put(place: Any, value: Any):
    def change(array):
        array[place] = value

    return change


def shorter(array):
    return array[:-1]


def narrower(array):
    return array[..., :1].copy()


def reverse(array):
    return array[::-1].copy()


def field(name: str, value: Any, place: int = 0):
    def change(array):
        array[name][place] = value

    return change


ARRAYS: list[tuple[Any, tuple[Any, ...], list[Any]]] = [
    (CHAIN, ("order_",), [put(0, 5), reverse]),
    (CHAIN, (*LINK, "coef"), [put((0, 0), np.nan), put((0, 0), np.inf), lambda a: a[:, :-1]]),
    (CHAIN, (*LINK, "coef"), [lambda a: a.astype(np.float32), np.ravel, shorter]),
    (CHAIN, (*LINK, "intercept"), [shorter, put(0, np.nan)]),
    (CHAIN, (*LINK, "parent_effects"), [shorter, put(0, -np.inf), np.ravel]),
    (CHAIN, ("codec_", "classes", 0), [lambda a: np.arange(9), lambda a: a[:, None], lambda a: a[:0]]),
    (CHAIN, ("codec_", "classes", 1), [lambda a: a[:2]]),
    (POPULATION, ("orders_",), [put((0, 0), 7)]),
    (POPULATION, ("weights_",), [put(0, -1.0), put(0, np.nan), lambda a: np.append(a, 0.1)]),
    (POPULATION, ("chains_", 0, "links", 0, "coef"), [put((0, 0), np.nan)]),
    (POPULATION, ("codec_", "classes", 0), [lambda a: np.arange(9)]),
    (POWERSET, ("model_", "vectors"), [put((0, 0), 9), put((0, 0), -1), shorter, lambda a: a.astype(float)]),
    (POWERSET, ("model_", "counts"), [shorter]),
    (POWERSET, ("model_", "link", "coef"), [lambda a: a[:, :-1], put((0, 0), np.nan)]),
    (POWERSET, ("model_", "link", "intercept"), [lambda a: a[:, None]]),
    (MajorityClassifier(), ("model_", "vectors"), [put((0, 0), 9)]),
    (NETWORK, ("network_", "links", 0, "coef"), [lambda a: a[:, :-1]]),
    (NETWORK, ("codec_", "classes", 0), [lambda a: np.arange(9)]),
    (FOREST, ("model_", "vectors"), [put((0, 0), 9)]),
    (FOREST, ("model_", "forest", "first_node"), [put(1, 10**6), shorter]),
    (FOREST, ("model_", "forest", "feature"), [put(0, 10**6)]),
    (MACHINES, (*FIRST, "calibrated_classifiers_", 0, "estimator", "support_"), [lambda a: a[:1]]),
    (MACHINES, (*FIRST, "calibrated_classifiers_", 0, "estimator", "support_vectors_"), [narrower, lambda a: a[:2]]),
    (MACHINES, (*FIRST, "calibrated_classifiers_", 0, "estimator", "_n_support"), [shorter, put(0, 9**6), put(0, -1)]),
    (MACHINES, (*FIRST, "calibrated_classifiers_", 0, "estimator", "_dual_coef_"), [narrower]),
    (MACHINES, (*FIRST, "calibrated_classifiers_", 0, "estimator", "_intercept_"), [lambda a: a[:0]]),
    (NEIGHBORS, (*FIRST, "_fit_X"), [narrower, lambda a: a[:3]]),
    (NEIGHBORS, (*FIRST, "_y"), [put(0, 99), lambda a: a[:3]]),
    (HISTOGRAMS, (*FIRST, "_predictors", 0, 0, "nodes"), [field("left", 10**6), field("right", 0)]),
    (HISTOGRAMS, (*FIRST, "_predictors", 0, 0, "nodes"), [field("feature_idx", 10**6), field("feature_idx", -1)]),
    (HISTOGRAMS, (*FIRST, "_predictors", 0, 0, "nodes"), [field("is_categorical", 1), field("is_leaf", 0, -1)]),
]


@pytest.mark.parametrize(
    ("model", "path", "change"), [(model, path, change) for model, path, changes in ARRAYS for change in changes]
)
def test_arrays_fit_together(model, path, change, tmp_path):
    refuse(Opened(saved(model)).change(change, *path).content(), tmp_path, "cannot be rebuilt")


VALUES: list[tuple[Any, tuple[Any, ...], list[Any]]] = [
    (CHAIN, ("chain_", "order", 0), [7, -1, "first", None]),
    (CHAIN, ("chain_", "parents", 2, 0), [2, 1, -1, 2**40, "first", 0.5]),
    (CHAIN, (*LINK, "n_classes"), [9, 0, 2**62, "two"]),
    (CHAIN, (*LINK, "response"), [7, -1, None]),
    (CHAIN, (*LINK, "parents_n_classes", 0), [5, 0, 2**62]),
    (POPULATION, ("chains_", 0, "order", 0), [7]),
    (POPULATION, ("chains_", 0, "links", 0, "n_classes"), [9]),
    (NETWORK, ("network_", "links", 0, "n_classes"), [9]),
    (NETWORK, ("network_", "links", 0, "parents_n_classes", 0), [5]),
]


@pytest.mark.parametrize(
    ("model", "path", "value"), [(model, path, value) for model, path, values in VALUES for value in values]
)
def test_values_fit_together(model, path, value, tmp_path):
    refuse(Opened(saved(model)).replace(value, *path).content(), tmp_path, "cannot be rebuilt")


@pytest.mark.parametrize("model", dict.fromkeys(model for model, _, _ in ARRAYS))
def test_a_file_that_is_taken_apart_and_not_changed_is_read(model, tmp_path):
    again = Opened(saved(model)).content()
    np.testing.assert_array_equal(load(write(tmp_path / "again", again)).predict(X), fitted(model).predict(X))


def test_sparse_rows_are_as_wide_as_the_coefficients(tmp_path):
    """The estimator accepts a million columns, but its links have coefficients for four."""
    model = load(write(tmp_path / "wide", Opened(saved(CHAIN)).replace(10**6, "n_features_in_").content()))
    wide = sp.csr_array(([1.0], ([0], [10**6 - 1])), shape=(1, 10**6))
    with pytest.raises(ValueError, match="X has 1000000 columns, but the links were learned from 4"):
        model.predict(wide)


@pytest.mark.parametrize("name", ["chain_", "codec_", "classes_", "order_"])
@pytest.mark.parametrize(
    "other",
    [
        None,
        ("sequence", "list", []),
        ("object", "sklearn.linear_model._logistic.LogisticRegression", []),
        ("object", "montechain.chain.Chain", []),
    ],
)
def test_parts_of_another_type(name, other, tmp_path):
    model = Opened(saved(CHAIN))
    refuse(model.replace(5 if other is None else model.add(*other), name).content(), tmp_path, "cannot be rebuilt")


@pytest.mark.parametrize("link", [5, None, ("sequence", "list", [])])
def test_what_is_no_link_is_refused(link, tmp_path):
    model = Opened(saved(CHAIN))
    link = model.add(*link) if isinstance(link, tuple) else link
    refuse(model.replace(link, *LINK).content(), tmp_path, "cannot be rebuilt")


# -- scikit-learn's compiled code ----------------------------------------------------------------------

TREE_PATHS = {TREES: (*FIRST, "tree_"), FORESTS: (*FIRST, "estimators_", 1, "tree_")}


def tree_parts(model: Any) -> tuple[Opened, list[Any], list[Any]]:
    """Return an opened file, and the arguments and the state of a tree in it."""
    opened = Opened(saved(model))
    _, arguments, (state,) = opened.nodes[opened.places(*TREE_PATHS[model])[-1]]["compiled"]
    return opened, arguments, opened.nodes[state[0]]["dict"][1]


@pytest.mark.parametrize("model", TREE_PATHS, ids=["tree", "forest"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left_child", 10**6), ("left_child", 0), ("left_child", -2), ("left_child", -1), ("right_child", 0),
        ("right_child", -7), ("right_child", 2**40), ("feature", 10**9), ("feature", -3),
    ],
)  # fmt: skip
def test_every_path_through_a_tree_ends(model, name, value, tmp_path):
    opened, _, state = tree_parts(model)
    nodes = dict(map(tuple, state))["nodes"][0]
    opened.arrays[nodes][name][0] = value
    refuse(opened.content(), tmp_path, "cannot be rebuilt")


@pytest.mark.parametrize("model", TREE_PATHS, ids=["tree", "forest"])
@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, 10**6), (0, -1), (2, 10**9), (2, 0), (2, True), (1, 2), (1, None), ("node_count", 10**6),
        ("node_count", 0), ("nodes", 1), ("values", None), ("max_depth", "deep"),
    ],
)  # fmt: skip
def test_a_tree_is_as_large_as_it_says(model, place, value, tmp_path):
    opened, arguments, state = tree_parts(model)
    if isinstance(place, int):
        arguments[place] = value
    else:
        next(pair for pair in state if pair[0] == place)[1] = value
    refuse(opened.content(), tmp_path, "cannot be rebuilt")


def test_trees_of_another_forest(tmp_path):
    """Every tree is sound, but uses features that the rows of the forest do not have."""
    opened, arguments, state = tree_parts(FORESTS)
    arguments[0] = 500
    opened.arrays[dict(map(tuple, state))["nodes"][0]]["feature"][0] = 499
    opened.replace(500, *FIRST, "estimators_", 1, "n_features_in_")
    refuse(opened.content(), tmp_path, "has other features")


@pytest.mark.parametrize(
    ("child", "path"),
    [
        (1, ("n_trees_per_iteration_",)),
        ("other", ("init_",)),
        (1, ("init_", "class_prior_")),
        (1, ("n_features_in_",)),
        (None, ("estimators_",)),
    ],
)
def test_boosted_trees_fit_together(child, path, tmp_path):
    refuse(Opened(saved(BOOSTING)).replace(child, *FIRST, *path).content(), tmp_path, "cannot be rebuilt")


@pytest.mark.parametrize("position", [-1, 625, 2**31 - 1])
def test_a_generator_stands_inside_its_table(position, tmp_path):
    opened = Opened(saved(ChainClassifier(order=None, random_state=np.random.RandomState(0))))
    ((_, (_, (state,))),) = opened.nodes[opened.places("random_state")[-1]].items()
    inner = next(pair[1][0] for pair in opened.nodes[state]["dict"][1] if pair[0] == "state")
    next(pair for pair in opened.nodes[inner]["dict"][1] if pair[0] == "pos")[1] = position
    refuse(opened.content(), tmp_path, "random number generator is outside its table")
