"""Evaluation: one prediction, every measure, the same seeds whatever else runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import montechain
from montechain import ChainClassifier, metrics
from montechain.datasets import Split
from montechain.datasets.catalogue import load_dataset
from montechain.estimators.table import TableClassifier
from montechain.experiments import MEASURES, LabelStratifiedKFold, OfficialSplit, ResultStore, evaluate, summarise
from montechain.experiments import measures as measures_module
from montechain.experiments.results import describe_parameters, fingerprint, unit_seed
from montechain.methods import BASELINES, METHODS, make_method
from tests.experiments.cheap import Failing, Guess, small_dataset

COMPUTED = [name for name, measure in MEASURES.items() if measure.repeatable]


class Counting(Guess):
    """Count what is asked of all instances."""

    calls: list[str]

    def fit(self, X, y):
        self.calls.append("fit")
        return super().fit(X, y)

    def predict(self, X):
        self.calls.append("predict")
        return super().predict(X)


class Rows(TransformerMixin, BaseEstimator):
    """An encoder that notes how many rows it learned from."""

    seen: list[int]

    def fit(self, X, y=None):
        self.seen.append(len(X))
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)


def value_of(results, measure, **fields):
    (row,) = [r for r in results if r.measure == measure and all(getattr(r, k) == v for k, v in fields.items())]
    return row.value


def test_measures_are_those_of_the_metrics_on_the_same_prediction():
    data = small_dataset(60)
    folds = LabelStratifiedKFold(3, random_state=0)
    results = evaluate(data, ["MCC"], folds=folds, seed=4)
    for fold, (train, test) in enumerate(folds.split(data.X, data.Y)):
        seed = unit_seed(4, fingerprint(data), fold)
        model = TableClassifier(make_method("MCC", random_state=seed)).fit(data.X.iloc[train], data.Y.iloc[train])
        X, Y = data.X.iloc[test], data.Y.iloc[test]
        decision = model.decide(X)
        right = (Y.to_numpy() == decision.labels.to_numpy()).all(axis=1)
        expected = {
            "exact_match": metrics.exact_match(Y, decision.labels),
            "hamming_score": metrics.hamming_score(Y, decision.labels),
            "f1_instance": metrics.f1_score(Y, decision.labels, negative=[0, 0, "red"]),
            "f1_micro": metrics.f1_score(Y, decision.labels, average="micro", negative=[0, 0, "red"]),
            "f1_macro": metrics.f1_score(Y, decision.labels, average="macro", negative=[0, 0, "red"]),
            "f1_class": metrics.class_f1_score(Y, decision.labels),
            "jaccard": metrics.jaccard_score(Y, decision.labels, negative=[0, 0, "red"]),
            "joint_log_likelihood": model.log_joint(X, Y).mean(),
            "set_calibration_error": metrics.set_calibration_error(np.exp(decision.log_proba), right),
            "certified": decision.certified.mean(),
        }
        found = {name: value_of(results, name, fold=fold) for name in COMPUTED}
        assert found == pytest.approx(expected)
        for name in set(MEASURES) - set(COMPUTED):
            assert value_of(results, name, fold=fold) >= 0.0


@pytest.mark.filterwarnings("ignore:.*keep=10.*:UserWarning")
def test_every_method_of_the_paper_runs():
    results = evaluate(small_dataset(50), METHODS, folds=2, measures=["exact_match", "certified", "fit_seconds"])
    assert [r.method for r in results[::3]] == list(METHODS) * 2
    assert {r.status for r in results if r.measure != "certified"} == {"ok"}
    assert all(0.0 <= r.value <= 1.0 for r in results if r.measure == "exact_match")
    assert value_of(results, "certified", method="PCC", fold=0) == 1.0


def test_names_are_those_of_make_method_and_count_as_one():
    results = evaluate(small_dataset(), ["cc", "CC", "Majority"], folds=2, measures=["exact_match"], seed=1)
    assert [r.method for r in results] == ["CC", "Majority"] * 2
    alone = evaluate(small_dataset(), "CC", folds=2, measures=["exact_match"], seed=1)
    assert [r for r in results if r.method == "CC"] == alone


def test_a_method_under_another_name_is_the_method_given():
    data = small_dataset()
    options = {"folds": 2, "measures": COMPUTED, "seed": 1, "estimator": "svm"}
    renamed = evaluate(data, {"CC": METHODS["MCC"], "mine": METHODS["CC"]}, **options)
    own = evaluate(data, ["MCC", "CC"], **options)
    assert [r.method for r in renamed[:: len(COMPUTED)]] == ["CC", "mine"] * 2
    assert [(r.parameters, r.value) for r in renamed] == [(r.parameters, r.value) for r in own]


def test_a_loss_is_for_methods_and_not_for_estimators(tmp_path):
    data = small_dataset()
    store = ResultStore(tmp_path / "store.sqlite")
    methods = {"CC": METHODS["CC"], "Majority": BASELINES["Majority"], "own": ChainClassifier(inference="greedy")}
    for loss in (None, "hamming"):
        results = evaluate(data, methods, folds=2, measures=["exact_match"], loss=loss, store=store)
        parameters = {r.method: json.loads(r.parameters) for r in results}
        assert parameters["CC"]["loss"] == (loss or "exact_match")
        assert parameters["Majority"]["strategy"] == ("vector" if loss is None else "label")
        assert parameters["own"]["loss"] == "exact_match"
    assert len(store) == 2 * (2 + 2 + 1)


def test_each_method_is_asked_once_per_fold():
    Counting.calls = []
    evaluate(small_dataset(), {"a": Counting()}, folds=3, encoder="passthrough")
    assert Counting.calls == ["fit", "predict"] * 3


def test_inputs_are_prepared_on_the_training_part_alone():
    Rows.seen = []
    evaluate(small_dataset(40), {"a": Guess()}, folds=4, encoder=Rows())
    assert Rows.seen == [30] * 4


def test_seeds_depend_on_nothing_else():
    data = small_dataset()
    both = evaluate(data, {"a": Guess(), "b": Guess()}, folds=3, measures=COMPUTED, encoder="passthrough")
    alone = evaluate(data, {"b": Guess()}, folds=3, measures=COMPUTED, encoder="passthrough")
    assert [r for r in both if r.method == "b"] == alone
    other = evaluate(data, {"b": Guess()}, folds=KFold(3), seed=1, measures=COMPUTED, encoder="passthrough")
    assert [r.value for r in other] != [r.value for r in alone]
    first, second = (unit_seed(0, "0f", fold) for fold in (0, 1))
    assert len({first, second, unit_seed(0, "1f", 0), unit_seed(1, "0f", 0)}) == 4
    assert 0 <= first < 2**31


def test_a_seed_of_ones_own_is_kept_and_parts_are_seeded():
    data = small_dataset()
    fixed = evaluate(data, {"a": Guess(random_state=5)}, folds=2, measures=["exact_match"], encoder="passthrough")
    assert all(json.loads(r.parameters)["random_state"] == 5 for r in fixed)
    pipe = make_pipeline(StandardScaler(), Guess())
    one, two = (
        evaluate(data, {"a": pipe}, folds=2, measures=["hamming_score"], encoder="passthrough") for _ in range(2)
    )
    assert one == two
    assert pipe.get_params()["guess__random_state"] is None


def test_a_method_that_fails_does_not_stop_the_others():
    results = evaluate(small_dataset(), {"bad": Failing(), "good": Guess()}, folds=2, encoder="passthrough")
    bad = [r for r in results if r.method == "bad"]
    assert len(bad) == 2 * len(MEASURES)
    assert {(r.status, r.reason, r.value) for r in bad} == {("DNF", "ArithmeticError: nothing adds up", None)}
    assert {r.status for r in results if r.method == "good" and r.measure == "exact_match"} == {"ok"}


def test_measures_that_a_method_lacks_say_why():
    results = evaluate(small_dataset(), {"a": Guess()}, folds=2, encoder="passthrough")
    undefined = {r.measure: r.reason for r in results if r.status == "undefined"}
    assert set(undefined) == {"joint_log_likelihood", "set_calibration_error", "certified"}
    assert "has no method log_joint" in undefined["joint_log_likelihood"]
    assert "decide" in undefined["certified"]


def test_labels_of_many_classes_have_no_f1():
    data = small_dataset()
    Y = data.Y.assign(colour=pd.Categorical(np.random.default_rng(0).choice(["a", "b", "c"], 40)))
    data = replace(data, Y=Y, classes=[[0, 1], [0, 1], ["a", "b", "c"]])
    results = evaluate(data, ["CC"], folds=2)
    by_measure = {r.measure: r for r in results}
    assert by_measure["exact_match"].status == by_measure["joint_log_likelihood"].status == "ok"
    for name in ("f1_instance", "f1_micro", "f1_macro", "jaccard"):
        assert by_measure[name].status == "undefined"
        assert "label 2 has 3 classes" in by_measure[name].reason


def test_likelihood_leaves_out_rows_with_classes_that_training_lacks():
    data = small_dataset(40)
    Y = data.Y.copy()
    Y["u"] = (np.arange(40) == 7).astype(int)  # the fold that tests row 7 learns nothing of class 1
    results = evaluate(replace(data, Y=Y), ["CC"], folds=4, measures=["joint_log_likelihood", "f1_macro"])
    rows = [r for r in results if r.measure == "joint_log_likelihood"]
    assert all(np.isfinite(r.value) for r in rows)
    notes = [r.reason for r in rows if r.reason]
    assert notes == ["over the 9 of 10 rows whose classes all occur in the training part"]
    assert {r.status for r in results} == {"ok"}


def test_unknown_cells_are_left_out():
    data = small_dataset(60)
    Y = data.Y.astype({"u": "Int64"})
    Y.loc[::7, "u"] = pd.NA
    results = evaluate(replace(data, Y=Y), ["CC"], folds=3, measures=["exact_match", "joint_log_likelihood"])
    assert {r.status for r in results} == {"ok"}


def test_sparse_inputs():
    data = small_dataset(60)
    sparse = replace(data, X=sp.csr_array(data.X.to_numpy()))
    results = evaluate(sparse, ["CC"], folds=2, measures=["exact_match"])
    assert {r.status for r in results} == {"ok"}


def test_the_official_split_is_one_fold():
    whole = small_dataset(30)
    published = replace(whole, _load_split=lambda: Split(whole.take(range(20)), whole.take(range(20, 30))))
    Rows.seen = []
    for folds in ("official", OfficialSplit(published)):
        results = evaluate(published, {"a": Guess()}, folds=folds, measures=["exact_match"], encoder=Rows())
        assert [r.fold for r in results] == [0]
    assert Rows.seen == [20, 20]
    with pytest.raises(ValueError, match="published without"):
        evaluate(whole, {"a": Guess()}, folds="official")


def test_random_splits_by_name():
    results = evaluate(small_dataset(), {"a": Guess()}, folds="random", measures=["exact_match"], encoder="passthrough")
    assert [r.fold for r in results] == list(range(100))


def test_rows_say_everything():
    seen = []
    results = evaluate(small_dataset(), ["MCC"], folds=2, seed=3, estimator="svm", on_result=seen.append)
    assert seen == results
    row = results[0]
    assert (row.dataset, row.method, row.fold, row.seed) == ("small", "MCC", 0, 3)
    parameters = json.loads(row.parameters)
    assert parameters["type"] == "ChainClassifier"
    assert parameters["estimator"] == "svm"
    assert parameters["inference__n_samples"] == 100
    assert "random_state" not in parameters
    protocol = json.loads(row.protocol)
    assert protocol["folds"] == "LabelStratifiedKFold(n_splits=2, random_state=3, shuffle=True)"
    assert set(json.loads(row.versions)) >= {"python", "numpy", "montechain"}


def test_a_store_is_not_asked_to_compute_again(tmp_path):
    data, path = small_dataset(), tmp_path / "store.sqlite"
    options = {"folds": 3, "encoder": "passthrough", "store": path}
    Counting.calls = []
    first = evaluate(data, {"a": Counting()}, measures=["exact_match"], **options)
    assert len(Counting.calls) == 6
    seen = []
    again = evaluate(data, {"a": Counting()}, measures=["exact_match"], on_result=seen.append, **options)
    assert again == first == seen
    assert len(Counting.calls) == 6
    # More measures, another seed, other data: new work, which does not touch the old.
    more = evaluate(data, {"a": Counting()}, measures=["hamming_score"], **options)
    assert len(Counting.calls) == 12
    assert {r.measure for r in more} == {"hamming_score"}
    evaluate(data, {"a": Counting()}, measures=["exact_match", "hamming_score"], **options)
    assert len(Counting.calls) == 12
    evaluate(data, {"a": Counting()}, seed=1, measures=["exact_match"], **options)
    evaluate(small_dataset(seed=1), {"a": Counting()}, measures=["exact_match"], **options)
    evaluate(data, {"a": Counting(strength=2)}, measures=["exact_match"], **options)
    assert len(Counting.calls) == 30
    assert len(ResultStore(path)) == 12


def test_results_go_by_contents_and_are_returned_under_the_name_asked_for(tmp_path):
    options = {"methods": {"a": Guess()}, "folds": 3, "measures": COMPUTED, "encoder": "passthrough"}
    one, two = small_dataset(name="one"), small_dataset(name="two")
    expected = evaluate(two, **options)
    assert [r.value for r in evaluate(one, **options)] == [r.value for r in expected]
    evaluate(one, store=tmp_path / "store.sqlite", **options)
    assert evaluate(two, store=tmp_path / "store.sqlite", **options) == expected
    assert {r.dataset for r in expected} == {"two"}


def test_results_of_another_version_are_not_taken(tmp_path, monkeypatch):
    options = {"folds": 2, "measures": ["exact_match"], "encoder": "passthrough", "store": tmp_path / "store.sqlite"}
    Counting.calls = []
    for version in ("0.1.0", "0.1.1", "0.1.0"):
        monkeypatch.setattr(montechain, "__version__", version)
        evaluate(small_dataset(), {"a": Counting()}, **options)
    assert Counting.calls == ["fit", "predict"] * 4


def test_failures_are_tried_again_if_that_is_wanted(tmp_path):
    class Mending(Guess):
        broken = True

        def fit(self, X, y):
            if self.broken:
                raise ArithmeticError("not yet")
            return super().fit(X, y)

    store = ResultStore(tmp_path / "store.sqlite")
    options = {"folds": 2, "measures": ["exact_match"], "encoder": "passthrough", "store": store}
    evaluate(small_dataset(), {"a": Mending(), "other": Failing()}, **options)
    Mending.broken = False
    assert {r.status for r in evaluate(small_dataset(), {"a": Mending()}, **options)} == {"DNF"}
    assert {r.status for r in evaluate(small_dataset(), {"a": Mending()}, retry=True, **options)} == {"ok"}
    # What was not asked for is left as it is.
    assert {r.status for r in store.results() if r.method == "other"} == {"DNF"}
    assert len(store) == 4


def test_an_interrupted_run_gives_up_its_claims(tmp_path):
    class Interrupting(Guess):
        def fit(self, X, y):
            raise KeyboardInterrupt

    path = tmp_path / "store.sqlite"
    with pytest.raises(KeyboardInterrupt):
        evaluate(small_dataset(), {"a": Interrupting()}, folds=2, encoder="passthrough", store=path)
    results = evaluate(small_dataset(), {"a": Guess()}, folds=2, encoder="passthrough", store=path)
    assert {r.status for r in results if r.measure == "exact_match"} == {"ok"}


def test_a_splitter_without_a_seed_gets_one():
    one, two = (
        evaluate(
            small_dataset(),
            {"a": Guess()},
            folds=KFold(3, shuffle=True),
            seed=2,
            measures=["exact_match"],
            encoder="passthrough",
        )
        for _ in range(2)
    )
    assert one == two


def test_fingerprints_tell_contents_apart():
    data = small_dataset()
    sparse = replace(data, X=sp.csr_array(data.X.to_numpy()))
    padded = sp.csr_array(sparse.X)
    padded.data = padded.data.copy()
    assert fingerprint(data) == fingerprint(small_dataset(name="other name"))
    others = [
        small_dataset(seed=1),
        sparse,
        data.take(range(39)),
        data.take([*range(1, 40), 0]),
        replace(data, feature_names=["u", "v", "x"]),
        replace(data, Y=data.Y.assign(u=1 - data.Y["u"])),
        replace(data, Y=data.Y.astype({"u": "Int64"}).mask(data.Y["u"] == 1)),
    ]
    assert len({fingerprint(d) for d in [data, *others]}) == len(others) + 1
    assert fingerprint(replace(sparse, X=padded)) == fingerprint(sparse)


class Costs:
    """A loss that is neither a function nor an estimator."""

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, y, y_hat):
        return self.weight * float((y != y_hat).any())

    def half(self, y, y_hat):
        return self(y, y_hat) / 2


def weighted(weight):
    def loss(y, y_hat):
        return weight * float((y != y_hat).any())

    return loss


def test_callables_are_told_apart_by_what_they_do():
    def with_default(y, y_hat, weight=1):
        return weight

    def other_default(y, y_hat, weight=2):
        return weight

    def endless(y, y_hat):
        return endless(y, y_hat)

    other_default.__qualname__ = with_default.__qualname__
    vowels, consonants = (lambda y, y_hat: y in {"a", "e"}), (lambda y, y_hat: y in {"b", "c"})
    losses = [
        lambda y, y_hat: float((y != y_hat).any()),
        lambda y, y_hat: float((y != y_hat).mean()),
        vowels, consonants, weighted(1), weighted(2), with_default, other_default, endless, Costs(1), Costs(2),
        Costs(1).half, Costs(2).half, partial(with_default, weight=3), partial(with_default, weight=4), np.hypot, max,
    ]  # fmt: skip
    described = [describe_parameters(ChainClassifier(loss=loss)) for loss in losses]
    assert len(set(described)) == len(losses)
    assert described == [describe_parameters(ChainClassifier(loss=loss)) for loss in losses]
    assert describe_parameters(ChainClassifier(loss=weighted(1))) == described[4]
    assert describe_parameters(ChainClassifier(loss=Costs(1))) == described[9]


def test_seeds_that_are_objects_are_told_apart():
    seeds = [np.random.RandomState(0), np.random.RandomState(1), np.random.RandomState(0)]
    first, second, third = (describe_parameters(Guess(random_state=seed)) for seed in seeds)
    assert first == third != second


def test_a_function_is_described_alike_in_every_process():
    code = (
        "from montechain import ChainClassifier; from montechain.experiments.results import describe_parameters; "
        "print(describe_parameters(ChainClassifier(loss=lambda y, y_hat: y in {'a', 'e', 'i', 'o', 'u'})))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(answers) == 1


def test_two_losses_of_one_name_do_not_share_results(tmp_path):
    options = {"folds": 2, "measures": ["exact_match"], "store": tmp_path / "store.sqlite"}
    for weight in (1, 2):
        evaluate(small_dataset(), ["CC"], loss=weighted(weight), **options)
    assert len(ResultStore(options["store"])) == 4


def test_kernels_are_warmed_up_once_and_only_ours(monkeypatch):
    monkeypatch.setattr(measures_module, "_WARM", set())
    measures_module.warm_up(Guess())
    assert not measures_module._WARM
    model = ChainClassifier(random_state=3)
    for multi_class in (False, True, True):
        measures_module.warm_up(model, multi_class=multi_class)
    assert len(measures_module._WARM) == 2
    assert not hasattr(model, "classes_")


def test_bad_arguments_say_what_to_type():
    data = small_dataset()
    for options, error, message in (
        ({"measures": ["exact"]}, ValueError, "did you mean 'exact_match'"),
        ({"measures": []}, ValueError, "name at least one"),
        ({"methods": ["PMCC"]}, ValueError, "did you mean 'PMsCC'"),
        ({"methods": []}, ValueError, "name at least one"),
        ({"methods": {"a": 3}}, TypeError, "no estimator"),
        ({"folds": "offical"}, ValueError, "did you mean 'official'"),
        ({"folds": 2.5}, TypeError, "no splitter"),
        ({"folds": 1}, ValueError, "at least 2"),
    ):
        with pytest.raises(error, match=message):
            evaluate(data, **({"methods": {"a": Guess()}} | options))


@pytest.mark.real_data
def test_real_tables_with_words_gaps_and_unknown_labels(data_folder):
    """Solar Flare and Bridges: on the former, predicting the commonest vector is right in 0.82 of the rows."""
    measures = ["exact_match", "hamming_score", "joint_log_likelihood"]
    flares = evaluate(load_dataset("solar_flare", data=data_folder), ["Majority", "CC"], measures=measures)
    by_method = summarise(flares).query("measure == 'exact_match'").set_index("method")["mean"]
    assert by_method["Majority"] == pytest.approx(0.820, abs=0.001)
    assert by_method["CC"] > 0.7
    bridges = evaluate(load_dataset("bridges", data=data_folder), ["Majority", "CC"], measures=measures)
    assert {r.status for r in bridges} == {"ok"}


@pytest.mark.real_data
def test_real_official_split(data_folder):
    music = load_dataset("music", data=data_folder)
    results = evaluate(music, ["PCC"], folds="official", estimator="svm", measures=["exact_match", "certified"])
    assert [(r.fold, r.status) for r in results] == [(0, "ok")] * 2
    assert 0.2 < results[0].value < 0.45
    assert results[1].value == 1.0
