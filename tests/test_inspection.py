"""What is said about a model must be true of its probabilities."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from montechain import (
    ChainClassifier,
    ChainPopulationClassifier,
    ClusteringForestClassifier,
    DependencyNetworkClassifier,
    LabelPowersetClassifier,
    MajorityClassifier,
    SVMLink,
    TableClassifier,
)
from montechain.estimators.facts import fitted_facts
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


def log_odds(model, X, prefix):
    log_proba = model.chain_.conditional(X, prefix)
    return log_proba - np.log1p(-np.exp(log_proba))


def test_binary_effects_are_the_change_of_the_log_odds(weather):
    X, Y = weather
    model = ChainClassifier(order=[0, 1, 2]).fit(X, Y[:, :3])
    (found,) = [one for one in label_dependencies(model) if one.parent == "label_0" and one.label == "label_1"]
    assert (found.parent_class, found.label_class) == ("sun", "sandals")
    x = X[:1]
    change = log_odds(model, x, np.array([[1]])) - log_odds(model, x, np.array([[0]]))
    assert found.log_odds == pytest.approx(change[0, 1], abs=1e-8)


def test_support_vector_links_speak_of_the_same_classes(weather):
    X, Y = weather
    model = ChainClassifier(SVMLink(), order=[0, 1, 2]).fit(X, Y)
    found = {(one.parent, one.label): one for one in label_dependencies(model)}
    assert found["label_0", "label_1"].log_odds > 1
    mood = found["label_0", "label_2"]
    # Rain makes a bad mood likelier and sun a great one: whichever is named, the sign must fit.
    expected = {("rain", "bad"): 1, ("sun", "bad"): -1, ("sun", "great"): 1, ("rain", "great"): -1}
    assert np.sign(mood.log_odds) == expected[mood.parent_class, mood.label_class]


def test_three_classes(weather):
    X, Y = weather
    mood = {(one.parent, one.label): one for one in label_dependencies(ChainClassifier(order=[0, 1, 2]).fit(X, Y))}
    one = mood["label_0", "label_2"]
    expected = {("rain", "bad"): 1, ("sun", "bad"): -1, ("sun", "great"): 1, ("rain", "great"): -1}
    assert np.sign(one.log_odds) == expected[one.parent_class, one.label_class]


def test_strongest_first_and_no_more_than_asked(weather):
    X, Y = weather
    strengths = [abs(one.log_odds) for one in label_dependencies(ChainClassifier(random_state=0).fit(X, Y))]
    assert strengths == sorted(strengths, reverse=True)
    assert len(strengths) == 3
    assert len(label_dependencies(ChainClassifier(random_state=0).fit(X, Y), k=2)) == 2


def test_population_averages_its_chains(weather):
    X, Y = weather
    orders = [[0, 1, 2], [0, 2, 1]]
    population = ChainPopulationClassifier(order=orders, weights=[3, 1]).fit(X, Y)
    single = [
        {(one.parent, one.label): one.log_odds for one in label_dependencies(ChainClassifier(order=order).fit(X, Y))}
        for order in orders
    ]
    found = {(one.parent, one.label): one.log_odds for one in label_dependencies(population)}
    pair = "label_0", "label_1"
    assert found[pair] == pytest.approx(0.75 * single[0][pair] + 0.25 * single[1][pair], rel=1e-3)


def test_links_that_are_not_linear_have_no_effects(weather):
    X, Y = weather
    forest = ChainClassifier(RandomForestClassifier(3, random_state=0), inference="greedy").fit(X, Y)
    assert label_dependencies(forest) == []


def test_facts_are_json_and_name_the_labels(weather):
    X, Y = weather
    pandas = pytest.importorskip("pandas")
    model = ChainClassifier(order=["mood", "weather", "shoes"], parents="tree").fit(
        X, pandas.DataFrame(Y, columns=["weather", "shoes", "mood"])
    )
    facts = inspect_model(model)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["orders"][0]["order"][0] == "mood"
    assert facts["parents_are"] == "tree"
    assert set(facts["parents"]) == {"weather", "shoes", "mood"}
    assert facts["parents"]["mood"] == []


def test_facts_are_those_of_the_classifier_within(weather):
    X, Y = weather
    chain = ChainClassifier(order=[1, 0, 2], parents="tree")
    facts = inspect_model(chain.fit(X, Y))
    for wrapped in (
        make_pipeline(StandardScaler(with_mean=False, with_std=False), chain),
        GridSearchCV(chain, {"parents": ["tree"]}, cv=2),
        TableClassifier(GridSearchCV(chain, {}, cv=2), encoder=StandardScaler(with_mean=False, with_std=False)),
    ):
        assert inspect_model(wrapped.fit(X, Y)) == facts
        assert label_dependencies(wrapped) == label_dependencies(chain)
    with pytest.raises(NotFittedError):
        inspect_model(GridSearchCV(ChainClassifier(), {}))


def test_the_same_is_said_as_in_a_notebook(weather):
    X, Y = weather
    population = ChainPopulationClassifier(order=[[0, 1, 2], [2, 1, 0]], weights=[1, 3]).fit(X, Y)
    said, shown = inspect_model(population), fitted_facts(population)
    assert said["orders"] == [
        {"weight": 0.75, "order": ["label_2", "label_1", "label_0"]},
        {"weight": 0.25, "order": ["label_0", "label_1", "label_2"]},
    ]
    assert [order.labels for order in shown.orders] == [one["order"] for one in said["orders"]]
    assert said["choices"] == dict(shown.choices)
    assert said["choices"]["estimator"] == "logistic"


def test_models_without_an_order_say_what_they_are(weather):
    X, Y = weather
    n_vectors = len({tuple(row) for row in Y})
    for model, choices in (
        (
            LabelPowersetClassifier(min_count=2),
            {"vectors": f"{n_vectors} seen", "min_count": "2", "loss": "exact_match"},
        ),
        (ClusteringForestClassifier(3, random_state=0), {"vectors": f"{n_vectors} seen", "n_estimators": "3"}),
        (DependencyNetworkClassifier(n_iterations=50, n_collected=10), {"n_iterations": "50", "marginals": "counts"}),
        (MajorityClassifier(), {"vectors": f"{n_vectors} seen", "always predicts": "label_0 = ", "strategy": "vector"}),
    ):
        facts = inspect_model(model.fit(X, Y))
        assert json.loads(json.dumps(facts)) == facts
        assert (facts["model"], facts["parents_are"]) == (type(model).__name__, None)
        assert facts["orders"] == facts["dependencies"] == []
        assert all(facts["choices"][name].startswith(value) for name, value in choices.items())


def test_a_classifier_of_others_shows_its_parameters(weather):
    X, Y = weather
    facts = inspect_model(TableClassifier(RandomForestClassifier(3, random_state=0)).fit(X, Y))
    assert (facts["model"], facts["choices"]["n_estimators"]) == ("RandomForestClassifier", "3")
