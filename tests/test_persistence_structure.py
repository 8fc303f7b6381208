"""Files whose checksum is right and whose parts do not fit: refused, before compiled code could read too far."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.attacked_models import (
    BOOSTING,
    CHAIN,
    FOREST,
    HISTOGRAMS,
    MACHINES,
    MAJORITY,
    NEIGHBOURS,
    NETWORK,
    POPULATION,
    POWERSET,
    TREES,
    WITH_GENERATOR,
    apply,
    changed_array,
    dictionary,
    node,
    plain,
    put,
    refuse,
    saved,
    sequence,
)
from tests.saved_models import attributes, edited, read_array, write_array

LINKS = ["chain_", "links"]


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (["order_"], put(0, 5)),
        (["order_"], lambda a: a[::-1].copy()),
        (["chain_", "order"], put(0, 1)),
        (["chain_", "order"], put(0, -1)),
        (["chain_", "order"], lambda a: a[:2]),
        (["chain_", "order"], lambda a: a.astype(float)),
        (["chain_", "parents"], put(0, 2)),
        (["chain_", "parents"], put(-1, 2**40)),
        (["chain_", "parents"], put(0, -1)),
        (["chain_", "parents"], put(-1, 0)),
        (["chain_", "n_parents"], put(0, 1)),
        (["chain_", "n_parents"], put(0, 2**62)),
        ([*LINKS, ".n_classes"], put(0, 3)),
        ([*LINKS, ".n_classes"], put(0, 0)),
        ([*LINKS, ".n_classes"], put(0, 2**62)),
        ([*LINKS, ".n_classes"], lambda a: a[:2]),
        ([*LINKS, ".response"], put(0, 7)),
        ([*LINKS, ".response"], put(0, 1)),
        ([*LINKS, ".response"], put(0, -1)),
        ([*LINKS, ".is_linear"], put(0, False)),
        ([*LINKS, ".is_linear"], lambda a: a.astype(int)),
        ([*LINKS, ".is_weighted"], put(0, True)),
        ([*LINKS, ".coef"], put((0, 0), np.nan)),
        ([*LINKS, ".coef"], put((0, 0), np.inf)),
        ([*LINKS, ".coef"], lambda a: a[:, :-1]),
        ([*LINKS, ".coef"], lambda a: a.astype(np.float32)),
        ([*LINKS, ".coef"], lambda a: a.ravel()),
        ([*LINKS, ".intercept"], lambda a: a[:-1]),
        ([*LINKS, ".intercept"], put(0, np.nan)),
        ([*LINKS, ".effects"], lambda a: a[:-1]),
        ([*LINKS, ".effects"], put(0, -np.inf)),
        ([*LINKS, ".parents_n_classes"], put(0, 3)),
        ([*LINKS, ".n_parents"], lambda a: a[::-1].copy()),
        (["classes_", 0], lambda a: np.arange(9)),
        (["classes_", 1], lambda a: a[:2]),
        (["classes_", 0], lambda a: a[:, None]),
        (["classes_", 0], lambda a: a[:0]),
    ],
)
def test_a_chain_holds_together(path, change, tmp_path):
    refuse(changed_array(saved(CHAIN), path, change), tmp_path)


@pytest.mark.parametrize("name", ["chain_", "_target_format", "classes_", "order_"])
@pytest.mark.parametrize(
    "other",
    [
        lambda: plain(5),
        lambda: sequence("ListNode", "builtins.list"),
        lambda: node("ObjectNode", "sklearn.linear_model._logistic.LogisticRegression", content=dictionary({})),
        lambda: node("ObjectNode", "montechain.chain.Chain"),
    ],
)
def test_parts_of_another_type(name, other, tmp_path):
    refuse(edited(saved(CHAIN), lambda schema, files: attributes(schema).update({name: other()})), tmp_path)


def test_a_link_does_not_come_unchecked(tmp_path):
    """A label-linear link among those of other kinds would pass by the checks of arrays."""

    def attack(schema, files):
        links = attributes(attributes(schema)["chain_"])["links"]["content"]
        link = dictionary({"n_classes": plain(2), "response": plain(0), "coef": links["coef"]})
        links["others"]["content"] = [node("ObjectNode", "montechain.links.linear.FittedLinearLink", content=link)]
        array = read_array(files, links["is_linear"])
        array[0] = False
        write_array(files, links["is_linear"], array)

    refuse(edited(saved(CHAIN), attack), tmp_path)


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (["orders_"], put((0, 0), 7)),
        (["population_", "orders"], put((0, 0), 7)),
        (["population_", "orders"], lambda a: a.astype(np.int32)),
        (["population_", "positions"], put((0, 0), 7)),
        (["population_", "weights"], put(0, -1.0)),
        (["population_", "weights"], put(0, np.nan)),
        (["population_", "weights"], lambda a: np.append(a, 0.1)),
        (["population_", "chains", 0, "order"], lambda a: a[::-1].copy()),
        (["population_", "chains", 0, "links", ".coef"], put((0, 0), np.nan)),
        (["classes_", 0], lambda a: np.arange(9)),
    ],
)
def test_a_population_holds_together(path, change, tmp_path):
    refuse(changed_array(saved(POPULATION), path, change), tmp_path)


@pytest.mark.parametrize(
    ("model", "path", "change"),
    [
        (POWERSET, ["vector_codes_"], put((0, 0), 9)),
        (POWERSET, ["vector_codes_"], put((0, 0), -1)),
        (POWERSET, ["vector_codes_"], lambda a: a[:-1]),
        (POWERSET, ["vector_counts_"], lambda a: a[:-1]),
        (POWERSET, ["link_", "coef"], lambda a: a[:, :-1]),
        (POWERSET, ["link_", "coef"], put((0, 0), np.nan)),
        (POWERSET, ["link_", "intercept"], lambda a: a[:, None]),
        (MAJORITY, ["vector_codes_"], put((0, 0), 9)),
        (NETWORK, ["network_", "links", ".coef"], lambda a: a[:, :-1]),
        (NETWORK, ["network_", "links", ".n_classes"], put(0, 3)),
        (NETWORK, ["network_", "links", ".parents_n_classes"], put(0, 5)),
        (NETWORK, ["classes_", 0], lambda a: np.arange(9)),
        (FOREST, ["vector_codes_"], put((0, 0), 9)),
        (FOREST, ["first_node_"], put(1, 10**6)),
        (FOREST, ["first_node_"], lambda a: a[:-1]),
    ],
)
def test_other_classifiers_hold_together(model, path, change, tmp_path):
    refuse(changed_array(saved(model), path, change), tmp_path)


# -- scikit-learn's compiled code ------------------------------------------------------------------------


def first_estimator(schema) -> dict[str, Any]:
    """Return the node of the classifier in the first link of a chain."""
    chain = attributes(attributes(schema)["chain_"])
    return attributes(chain["links"]["content"]["others"]["content"][0])["estimator"]


def spoil_tree(find, change):
    def attack(schema, files):
        tree = find(schema)
        state = tree["content"]["content"]
        nodes = read_array(files, state["nodes"])
        change(tree, state, nodes)
        if "file" in state["nodes"]:
            write_array(files, state["nodes"], nodes)

    return attack


def set_field(field: str, place: int, value: int):
    def change(tree, state, nodes):
        nodes[field][place] = value

    return change


def set_argument(place: int, value: Any):
    def change(tree, state, nodes):
        tree["__reduce__"]["args"]["content"][place] = plain(value)

    return change


def set_state(name: str, value: Any):
    def change(tree, state, nodes):
        state[name] = plain(value)

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_field("left_child", 0, 10**6),
        set_field("left_child", 0, 0),
        set_field("left_child", 0, -2),
        set_field("right_child", 0, 0),
        set_field("right_child", 0, -7),
        set_field("right_child", 0, 2**40),
        set_field("left_child", 0, -1),
        set_field("feature", 0, 10**9),
        set_field("feature", 0, -3),
        set_argument(0, 10**6),
        set_argument(0, -1),
        set_argument(2, 10**9),
        set_argument(2, 0),
        set_argument(2, True),
        set_argument(1, [2]),
        set_state("node_count", 10**6),
        set_state("node_count", 0),
        set_state("nodes", [1]),
        set_state("values", None),
        set_state("max_depth", "deep"),
    ],
)
@pytest.mark.parametrize("kind", ["tree", "forest"])
def test_a_tree_holds_together(kind, change, tmp_path):
    def find(schema):
        found = first_estimator(schema)
        if kind == "forest":
            found = attributes(found)["estimators_"]["content"][1]
        return attributes(found)["tree_"]

    refuse(edited(saved(TREES[kind]), spoil_tree(find, change)), tmp_path)


def test_trees_of_another_forest(tmp_path):
    """Every tree is sound, but asks for features that the forest's rows do not have."""
    content = saved(TREES["forest"])

    def attack(schema, files):
        tree = attributes(first_estimator(schema))["estimators_"]["content"][0]
        attributes(tree)["n_features_in_"] = plain(500)
        nodes = attributes(tree)["tree_"]
        nodes["__reduce__"]["args"]["content"][0] = plain(500)
        array = read_array(files, nodes["content"]["content"]["nodes"])
        array["feature"][0] = 499
        write_array(files, nodes["content"]["content"]["nodes"], array)

    refuse(edited(content, attack), tmp_path, "has other features")


@pytest.mark.parametrize(
    "change",
    [
        lambda own: own.update(n_trees_per_iteration_=plain(1)),
        lambda own: own.update(init_=plain("other")),
        lambda own: attributes(own["init_"]).update(class_prior_=plain([1.0])),
        lambda own: [stage["content"].pop() for stage in own["estimators_"]["content"]],
        lambda own: own.update(n_features_in_=plain(1)),
    ],
)
def test_boosted_trees_hold_together(change, tmp_path):
    def attack(schema, files):
        change(attributes(first_estimator(schema)))

    refuse(edited(saved(BOOSTING), attack), tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 10**6), ("right", 0), ("feature_idx", 10**6), ("feature_idx", -1), ("is_categorical", 1), ("is_leaf", 0)],
)
def test_trees_of_histograms_hold_together(field, value, tmp_path):
    def attack(schema, files):
        own = attributes(first_estimator(schema))
        nodes = attributes(own["_predictors"]["content"][0]["content"][0])["nodes"]
        array = read_array(files, nodes)
        array[field][-1 if field == "is_leaf" else 0] = value
        write_array(files, nodes, array)

    refuse(edited(saved(HISTOGRAMS), attack), tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("support_", lambda a: a[:1]),
        ("support_vectors_", lambda a: a[:, :1].copy()),
        ("support_vectors_", lambda a: a[:2]),
        ("_n_support", lambda a: a[:1]),
        ("_n_support", put(0, 10**6)),
        ("_n_support", put(0, -1)),
        ("_dual_coef_", lambda a: a[:, :1].copy()),
        ("_intercept_", lambda a: a[:0]),
    ],
)
def test_support_vectors_hold_together(name, change, tmp_path):
    def attack(schema, files):
        calibrated = attributes(first_estimator(schema))["calibrated_classifiers_"]["content"][0]
        found = attributes(attributes(calibrated)["estimator"])[name]
        apply(change, files, found)

    refuse(edited(saved(MACHINES), attack), tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [("_fit_X", lambda a: a[:, :1].copy()), ("_fit_X", lambda a: a[:3]), ("_y", put(0, 99)), ("_y", lambda a: a[:3])],
)
def test_neighbours_hold_together(name, change, tmp_path):
    def attack(schema, files):
        found = attributes(first_estimator(schema))[name]
        apply(change, files, found)

    refuse(edited(saved(NEIGHBOURS), attack), tmp_path)


@pytest.mark.parametrize("position", [-1, 625, 2**31 - 1])
def test_a_generator_stands_inside_its_table(position, tmp_path):
    def attack(schema, files):
        state = attributes(schema)["random_state"]["content"]["content"]["state"]
        state["content"]["pos"] = plain(position)

    refuse(edited(saved(WITH_GENERATOR), attack), tmp_path, "a generator of random numbers stands at")
