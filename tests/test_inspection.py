"""The description of a model must agree with its probabilities."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import montechain as mc
from montechain.inspection import inspect_model, label_dependencies


@pytest.fixture(scope="module")
def weather():
    """Return two inputs and three labels that depend on each other, the last with three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    wet = rng.random(300) < 0.5
    shoes = np.where(wet ^ (rng.random(300) < 0.1), "boots", "sandals")
    mood = np.where(wet, rng.choice(["bad", "good"], 300, p=[0.8, 0.2]), rng.choice(["good", "great"], 300))
    return X, np.column_stack([np.where(wet, "rain", "sun"), shoes, mood]).astype(object)


def by_pair(model):
    return {(one["parent"], one["label"]): one for one in label_dependencies(model)}


def test_binary_effects_are_the_change_of_the_log_odds(weather):
    X, Y = weather
    model = mc.ChainClassifier(order=[0, 1, 2]).fit(X, Y)
    found = by_pair(model)["label_0", "label_1"]
    assert (found["parent_class"], found["label_class"]) == ("sun", "sandals")
    log_proba = [model.chain_.conditional(X[:1], np.array([[code]]))[0, 1] for code in (0, 1)]
    without, with_it = (value - np.log1p(-np.exp(value)) for value in log_proba)
    assert found["log_odds"] == pytest.approx(with_it - without, abs=1e-8)


@pytest.mark.parametrize("link", [None, mc.SVMLink()])
def test_classes_are_named_with_the_right_sign(weather, link):
    X, Y = weather
    found = by_pair(mc.ChainClassifier(link, order=[0, 1, 2]).fit(X, Y))
    assert found["label_0", "label_1"]["log_odds"] > 1
    mood = found["label_0", "label_2"]
    # Rain makes a bad mood likelier and sun a great one: whichever is named, the sign must fit.
    expected = {("rain", "bad"): 1, ("sun", "bad"): -1, ("sun", "great"): 1, ("rain", "great"): -1}
    assert np.sign(mood["log_odds"]) == expected[mood["parent_class"], mood["label_class"]]


def test_strongest_first_and_only_of_linear_links(weather):
    strengths = [abs(one["log_odds"]) for one in label_dependencies(mc.ChainClassifier(random_state=0).fit(*weather))]
    assert (len(strengths), strengths) == (3, sorted(strengths, reverse=True))
    forest = mc.ChainClassifier(RandomForestClassifier(3, random_state=0), inference="greedy").fit(*weather)
    assert label_dependencies(forest) == []


def test_a_population_averages_its_chains_and_the_heaviest_stands_first(weather):
    X, Y = weather
    orders = [[0, 1, 2], [0, 2, 1]]
    population = mc.ChainPopulationClassifier(order=orders, weights=[1, 3]).fit(X, Y)
    pair = "label_0", "label_1"
    light, heavy = (by_pair(mc.ChainClassifier(order=order).fit(X, Y))[pair]["log_odds"] for order in orders)
    assert by_pair(population)[pair]["log_odds"] == pytest.approx(0.25 * light + 0.75 * heavy, rel=1e-3)
    said = inspect_model(population)
    assert said["orders"] == [
        {"weight": 0.75, "order": ["label_0", "label_2", "label_1"]},
        {"weight": 0.25, "order": ["label_0", "label_1", "label_2"]},
    ]
    assert said["choices"]["estimator"] == "logistic"


def test_what_is_said_is_json_and_names_the_labels(weather):
    X, Y = weather
    frame = pd.DataFrame(Y, columns=["weather", "shoes", "mood"])
    found = inspect_model(mc.ChainClassifier(order=["mood", "weather", "shoes"], parents="tree").fit(X, frame))
    assert json.loads(json.dumps(found)) == found
    assert (found["orders"][0]["order"][0], found["choices"]["parents"], found["parents"]["mood"]) == (
        "mood",
        "tree",
        [],
    )
    assert set(found["parents"]) == {"weather", "shoes", "mood"}


def test_it_is_that_of_the_classifier_within(weather):
    X, Y = weather
    chain = mc.ChainClassifier(order=[1, 0, 2], parents="tree")
    expected = inspect_model(chain.fit(X, Y))
    for wrapped in (
        make_pipeline(StandardScaler(with_mean=False, with_std=False), chain),
        GridSearchCV(chain, {"parents": ["tree"]}, cv=2),
        mc.TableClassifier(GridSearchCV(chain, {}, cv=2), encoder=StandardScaler(with_mean=False, with_std=False)),
    ):
        assert inspect_model(wrapped.fit(X, Y)) == expected
        assert label_dependencies(wrapped) == label_dependencies(chain)
    with pytest.raises(NotFittedError):
        inspect_model(GridSearchCV(mc.ChainClassifier(), {}))
    foreign = inspect_model(mc.TableClassifier(RandomForestClassifier(3, random_state=0)).fit(X, Y))
    assert (foreign["model"], foreign["choices"]["n_estimators"]) == ("RandomForestClassifier", "3")


@pytest.mark.parametrize(
    ("model", "choices"),
    [
        (mc.LabelPowersetClassifier("svm"), {"estimator": "svm", "loss": "exact_match"}),
        (mc.ClusteringForestClassifier(3, random_state=0), {"n_estimators": "3"}),
        (mc.DependencyNetworkClassifier(n_iterations=50, n_collected=10), {"n_iterations": "50", "loss": "hamming"}),
        (mc.MajorityClassifier(), {"loss": "exact_match"}),
    ],
)
def test_models_without_an_order_say_what_they_are(weather, model, choices):
    X, Y = weather
    found = inspect_model(model.fit(X, Y))
    assert json.loads(json.dumps(found)) == found
    assert found["model"] == type(model).__name__
    assert found["orders"] == found["dependencies"] == []
    assert found["choices"].items() >= choices.items()
