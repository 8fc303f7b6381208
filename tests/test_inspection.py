"""The description of a model must agree with its probabilities."""

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
from montechain.inspection import inspect_model


@pytest.fixture(scope="module")
def weather():
    """Return two inputs and three labels that depend on each other, the last with three classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    wet = rng.random(300) < 0.5
    shoes = np.where(wet ^ (rng.random(300) < 0.1), "boots", "sandals")
    mood = np.where(wet, rng.choice(["bad", "good"], 300, p=[0.8, 0.2]), rng.choice(["good", "great"], 300))
    return X, np.column_stack([np.where(wet, "rain", "sun"), shoes, mood]).astype(object)


def test_the_heaviest_chain_of_a_population_stands_first(weather):
    X, Y = weather
    orders = [[0, 1, 2], [0, 2, 1]]
    population = mc.ChainPopulationClassifier(order=orders, weights=[1, 3]).fit(X, Y)
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
    assert (found["orders"][0]["order"][0], found["choices"]["parents"]) == ("mood", "tree")
    assert found["parents"]["mood"] == []
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
    assert found["orders"] == []
    assert found["choices"].items() >= choices.items()
