"""Bad input gets an error of ours that says what to type instead, and leaves the estimator usable."""

import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import montechain as mc
from bad_inputs import CALLS, COMMANDS, FRAME, INPUTS, NUMERIC_INPUTS, PARAMETERS, TARGETS, X, Y
from montechain.chain import Chain
from montechain.errors import NonFiniteError
from montechain.inference.base import Inference
from montechain.links import LinkLearner
from montechain.losses import Loss
from montechain.ordering import OrderFinder
from montechain.ordering.proposals import Proposal
from montechain.population.combinations import Combination

pytestmark = pytest.mark.filterwarnings("ignore:.time_limit=1e-06")
ALL = {
    "ChainClassifier": mc.ChainClassifier(random_state=0),
    "ChainPopulationClassifier": mc.ChainPopulationClassifier(n_chains=2, random_state=0),
    "LabelPowersetClassifier": mc.LabelPowersetClassifier(random_state=0),
    "DependencyNetworkClassifier": mc.DependencyNetworkClassifier(n_iterations=20, n_collected=5, random_state=0),
    "ClusteringForestClassifier": mc.ClusteringForestClassifier(2, random_state=0),
    "AutoChainClassifier": mc.AutoChainClassifier(time_limit=1e-6, random_state=0),
    "StackedMixtureClassifier": mc.StackedMixtureClassifier([("a", mc.ChainClassifier())], cv=2, random_state=0),
    "MajorityClassifier": mc.MajorityClassifier(random_state=0),
    "TableClassifier": mc.TableClassifier(mc.ChainClassifier(random_state=0)),
}
ANY_TABLE = ("MajorityClassifier", "TableClassifier")
OURS = (str(Path(mc.__file__).parent), "sklearn/utils", "sklearn/base")


def refused(call: Any, message: str) -> None:
    """Check that a call raises an error with this message, and that it is not left to numpy, numba or pandas."""
    with pytest.raises((ValueError, TypeError, mc.MontechainError), match="(?s)" + message) as caught:
        call()
    *_, last = traceback.extract_tb(caught.tb)
    assert any(place in last.filename for place in OURS), last


def used(subject: Any) -> None:
    """Use an estimator, or a part of one within an estimator, for all that it is for."""
    hosts = {
        Inference: lambda: mc.ChainClassifier(inference=subject, random_state=0),
        LinkLearner: lambda: mc.ChainClassifier(subject, random_state=0),
        OrderFinder: lambda: mc.ChainClassifier(order=subject, random_state=0),
        Proposal: lambda: mc.ChainClassifier(order=mc.OrderSearch(subject, n_iterations=2), random_state=0),
        Combination: lambda: mc.ChainPopulationClassifier(n_chains=2, combine=subject, random_state=0),
        Loss: lambda: mc.ChainClassifier(loss=subject, random_state=0),
    }
    model = next((host() for kind, host in hosts.items() if isinstance(subject, kind)), subject)
    model.fit(X, Y)
    if hasattr(model, "predict"):
        model.predict(X)
        model.predict_proba(X)


MINIMAL = {
    mc.CallableLoss: {"function": lambda y, y_hat: 0.0},
    mc.CrossFittedFeatures: {"estimator": LogisticRegression()},
    mc.StackedMixtureClassifier: {"estimators": [("a", mc.ChainClassifier())]},
}


@pytest.mark.parametrize(
    ("kind", "name"), [(k, n) for k, own in PARAMETERS.items() for n in own], ids=lambda v: getattr(v, "__name__", v)
)
def test_parameters(kind, name):
    for value, message in PARAMETERS[kind][name]:
        refused(lambda value=value: used(kind(**MINIMAL.get(kind, {}) | {name: value})), message)


@pytest.fixture(scope="module")
def fitted():
    """Return every classifier, fitted, and what it predicts."""
    models = {name: clone(model).fit(X, Y) for name, model in ALL.items()}
    return {name: (model, model.predict(X)) for name, model in models.items()}


@pytest.mark.parametrize(
    ("case", "name"), [(c, n) for c in {**INPUTS, **NUMERIC_INPUTS} for n in ALL if c in INPUTS or n not in ANY_TABLE]
)
def test_inputs(case, name, fitted):
    bad, message = {**INPUTS, **NUMERIC_INPUTS}[case]
    (model, before), message = fitted[name], message.replace("OWN", name)
    refused(lambda: model.fit(bad, Y), message)
    if case != "lengths" and not isinstance(bad, pd.DataFrame):  # the model was fitted without names
        n_features = getattr(bad, "shape", (0, 0))[1:2]
        refused(lambda: model.predict(bad), message if n_features in ((), (3,)) else f"{message}|expecting 3 features")
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("case", TARGETS)
def test_targets(case, fitted):
    bad, message = TARGETS[case]
    for model, before in fitted.values():
        refused(lambda model=model: model.fit(X, bad), message)
        np.testing.assert_array_equal(model.predict(X), before)


def test_rows_in_another_order(fitted):
    labels = pd.DataFrame(Y, index=FRAME.index)
    for name in ("ChainClassifier", "MajorityClassifier", "TableClassifier"):
        model = clone(ALL[name]).fit(FRAME, labels)
        for method in (model.fit, model.score, model.log_joint, lambda rows, y: model.predict(rows, given=y)):  # noqa: B023
            refused(lambda: method(FRAME, labels[::-1]), r"another order: use (y|given)\.loc\[X\.index\]")  # noqa: B023
            method(FRAME, labels.set_axis(FRAME.index + 1)[::-1])  # other labels say nothing about the order


@pytest.mark.parametrize("case", CALLS)
def test_calls(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(*CALLS[case])
    assert not list(tmp_path.iterdir())


def test_the_table_is_complete():
    """At least 300 cases, in which every public class occurs."""
    n_parameters = sum(len(cases) for own in PARAMETERS.values() for cases in own.values())
    n_cases = n_parameters + len(INPUTS) + len(NUMERIC_INPUTS) + len(TARGETS) + len(CALLS) + len(COMMANDS)
    assert n_cases >= 300
    without_parameters = {"ExactMatch", "Hamming", "Greedy", "Vote", "Dataset", "Decision", "TopK"}
    classes = {name for name in mc.__all__ if isinstance(getattr(mc, name), type) and not name.endswith("Error")}
    assert {kind.__name__ for kind in PARAMETERS} == classes - without_parameters


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decide", "predict_top_k", "sample", "log_joint", "score"]
)
def test_before_fit(method):
    for model in ALL.values():
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(clone(model), method)(X, *([Y] if method in ("log_joint", "score") else []))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decide"])
def test_given_is_keyword_only(method, fitted):
    with pytest.raises(TypeError):
        getattr(fitted["ChainClassifier"][0], method)(X, Y)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = mc.ChainClassifier(random_state=0)
    with pytest.raises(ValueError, match="loss"):
        model.set_params(loss="nope").fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.set_params(loss="exact_match").fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="order"):
        model.set_params(order="x").fit(X[:, :2], np.where(Y == 1, "yes", "no"))
    np.testing.assert_array_equal(model.predict(X), before)


def test_scores_that_overflow_name_the_label_and_the_column():
    frame = pd.DataFrame(X, columns=["age", "income", "height"])
    model = mc.ChainClassifier(order=[0, 1, 2]).fit(frame, pd.DataFrame(Y, columns=["p", "q", "r"]))
    link = model.chain_.links[0]
    model.chain_ = Chain(
        [0, 1, 2], model.chain_.parents, [replace(link, coef=link.coef * 100), *model.chain_.links[1:]]
    )
    frame.loc[4, "income"] = 1.7e308
    with pytest.raises(NonFiniteError, match=r"score of label 'p' is not finite: column 'income' of X holds 1.7e"):
        model.decide(frame)
