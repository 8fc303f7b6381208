"""Evaluation: one prediction, every measure, the same seeds whatever else runs."""

import os
import signal
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
from montechain import metrics
from montechain.datasets import Split
from montechain.estimators.table import TableClassifier
from montechain.evaluation import MEASURES, LabelStratifiedKFold, evaluate, fingerprint, fold_seed, summarise
from montechain.methods import make_method
from reproduction.catalogue import load_dataset
from tests.evaluation.cheap import Counting, Failing, Guess, small_dataset

COMPUTED = [name for name in MEASURES if not name.endswith("_seconds")]
PLAIN = {"folds": 2, "encoder": "passthrough"}


class Rows(TransformerMixin, BaseEstimator):
    """An encoder that notes how many rows it learned from."""

    seen: list[int]

    def fit(self, X, y=None):
        self.seen.append(len(X))
        return self

    def transform(self, X):
        return np.asarray(X, dtype=float)


def chosen(results, **fields):
    for name, value in fields.items():
        results = results[results[name] == value]
    return results


def computed(results):
    """Return the rows that do not measure time."""
    return results[results["measure"].isin(COMPUTED)].reset_index(drop=True)


def test_measures_are_those_of_the_metrics_on_the_same_prediction():
    data = small_dataset(60)
    folds = LabelStratifiedKFold(3, random_state=0)
    results = evaluate(data, ["MCC"], folds=folds, seed=4)
    for fold, (train, test) in enumerate(folds.split(data.X, data.Y)):
        seed = fold_seed(4, fingerprint(data), fold)
        model = TableClassifier(make_method("MCC", random_state=seed)).fit(data.X.iloc[train], data.Y.iloc[train])
        X, Y = data.X.iloc[test], data.Y.iloc[test]
        decision = model.decide(X)
        right = (Y.to_numpy() == decision.labels.to_numpy()).all(axis=1)
        f1 = partial(metrics.f1_score, Y, decision.labels, negative=[0, 0, "red"])
        expected = {
            "exact_match": metrics.exact_match(Y, decision.labels),
            "hamming_score": metrics.hamming_score(Y, decision.labels),
            "f1_instance": f1(),
            "f1_micro": f1(average="micro"),
            "f1_macro": f1(average="macro"),
            "jaccard": metrics.jaccard_score(Y, decision.labels, negative=[0, 0, "red"]),
            "joint_log_likelihood": model.log_joint(X, Y).mean(),
            "set_calibration_error": metrics.set_calibration_error(np.exp(decision.log_proba), right),
            "certified": decision.certified.mean(),
        }
        found = chosen(results, fold=fold).set_index("measure")["value"].to_dict()
        assert {name: found[name] for name in COMPUTED} == pytest.approx(expected)
        assert all(found[name] >= 0.0 for name in set(MEASURES) - set(COMPUTED))


def test_names_are_those_of_make_method_and_count_once():
    results = evaluate(small_dataset(), ["cc", "CC", "Majority"], folds=2, seed=1)
    assert chosen(results, measure="exact_match")["method"].tolist() == ["CC", "Majority"] * 2


def test_each_method_is_asked_once_per_fold_and_encoders_see_the_training_part_only():
    Counting.calls, Rows.seen = [], []
    evaluate(small_dataset(40), {"a": Counting()}, folds=4, encoder=Rows())
    assert Counting.calls == ["fit", "predict"] * 4
    assert Rows.seen == [30] * 4


def test_seeds_depend_on_nothing_else():
    data = small_dataset()
    options = {"folds": 3, "encoder": "passthrough"}

    def run(data, methods, **more):
        return computed(evaluate(data, methods, **options, **more))

    both, alone = run(data, {"a": Guess(), "b": Guess()}), run(data, {"b": Guess()})
    pd.testing.assert_frame_equal(chosen(both, method="b").reset_index(drop=True), alone)
    assert not alone["value"].equals(run(data, {"b": Guess()}, seed=1)["value"])
    renamed = run(small_dataset(name="other"), {"b": Guess()})
    assert renamed["value"].equals(alone["value"])
    assert set(renamed["dataset"]) == {"other"}
    assert len({fold_seed(0, "0f", 0), fold_seed(0, "0f", 1), fold_seed(0, "1f", 0), fold_seed(1, "0f", 0)}) == 4
    assert 0 <= fold_seed(0, "0f", 0) < 2**31


def test_a_seed_of_its_own_is_kept_and_parts_and_splitters_get_one():
    data, pipe = small_dataset(), make_pipeline(StandardScaler(), Guess())
    fixed = evaluate(data, {"a": Guess(random_state=5)}, **PLAIN)
    assert set(fixed["parameters"]) == {"Guess(random_state=5)"}
    options = PLAIN | {"folds": KFold(3, shuffle=True), "seed": 2}
    pd.testing.assert_frame_equal(*(computed(evaluate(data, {"a": pipe}, **options)) for _ in range(2)))
    assert pipe.get_params()["guess__random_state"] is None


def test_a_method_that_fails_does_not_stop_the_others():
    results = evaluate(small_dataset(), {"bad": Failing(), "good": Guess()}, folds=2, encoder="passthrough")
    bad = chosen(results, method="bad")
    assert len(bad) == 2 * len(MEASURES)
    assert set(zip(bad["status"], bad["reason"], strict=True)) == {("DNF", "ArithmeticError: nothing adds up")}
    assert bad["value"].isna().all()
    good = chosen(results, method="good")
    assert set(chosen(good, measure="exact_match")["status"]) == {"ok"}
    undefined = chosen(good, status="undefined", fold=0).set_index("measure")["reason"]
    assert set(undefined.index) == {"joint_log_likelihood", "set_calibration_error", "certified"}
    assert "has no method log_joint" in undefined["joint_log_likelihood"]
    assert "decide" in undefined["certified"]


def test_labels_with_many_classes_have_no_f1():
    data = small_dataset()
    Y = data.Y.assign(colour=pd.Categorical(np.random.default_rng(0).choice(["a", "b", "c"], 40)))
    results = evaluate(replace(data, Y=Y, classes=[[0, 1], [0, 1], ["a", "b", "c"]]), ["CC"], folds=2)
    rows = chosen(results, fold=0).set_index("measure")
    assert rows.loc[["exact_match", "joint_log_likelihood"], "status"].tolist() == ["ok", "ok"]
    undefined = rows.loc[["f1_instance", "f1_micro", "f1_macro", "jaccard"]]
    assert set(undefined["status"]) == {"undefined"}
    assert undefined["reason"].str.contains("label 2 has 3 classes").all()


def test_classes_that_training_lacks_have_a_small_likelihood():
    data = small_dataset(40)
    Y = data.Y.assign(u=(np.arange(40) == 7).astype(int))  # the fold that tests row 7 never sees class 1
    results = evaluate(replace(data, Y=Y), ["CC", "LP", "Majority"], folds=4)
    results = chosen(results, measure="joint_log_likelihood").set_index(["method", "fold"])
    assert np.isfinite(results.loc["CC", "value"]).all()
    assert (results.loc["Majority", "status"] == "ok").all()
    assert (results.loc["LP", "status"] == "ok").all()


def test_unknown_cells_and_sparse_inputs_are_evaluated():
    data = small_dataset(60)
    Y = data.Y.astype({"u": "Int64"})
    Y.loc[::7, "u"] = pd.NA
    for changed in (replace(data, Y=Y), replace(data, X=sp.csr_array(data.X.to_numpy()))):
        results = evaluate(changed, ["CC"], folds=3)
        assert set(chosen(results, measure="exact_match")["status"]) == {"ok"}
        assert set(chosen(results, measure="joint_log_likelihood")["status"]) == {"ok"}


def test_official_splits():
    whole = small_dataset(30)
    published = replace(whole, split=Split(whole.take(range(20)), whole.take(range(20, 30))))
    Rows.seen = []
    results = evaluate(published, {"a": Guess()}, folds="official", encoder=Rows())
    assert (chosen(results, measure="exact_match")["fold"].tolist(), Rows.seen) == ([0], [20])
    with pytest.raises(ValueError, match="published without a split"):
        evaluate(whole, {"a": Guess()}, folds="official")


def test_rows_say_where_they_come_from():
    seen = []
    results = evaluate(small_dataset(), {"MCC": make_method("MCC", "svm")}, folds=2, seed=3, on_result=seen.append)
    pd.testing.assert_frame_equal(pd.concat(seen, ignore_index=True), results)
    row = results.iloc[0]
    assert (row["dataset"], row["method"], row["fold"], row["seed"]) == ("small", "MCC", 0, 3)
    assert row["parameters"] == repr(make_method("MCC", "svm"))
    assert row["protocol"].startswith("LabelStratifiedKFold(n_splits=2, random_state=3), rows ")


def test_finished_folds_are_not_computed_again(tmp_path, monkeypatch):
    data, options = small_dataset(), PLAIN | {"store": tmp_path / "results"}
    Counting.calls = []
    first = evaluate(data, {"a": Counting()}, **options)
    again = evaluate(data, {"a": Counting()}, **options)
    pd.testing.assert_frame_equal(first, again)
    assert len(Counting.calls) == 2 * 2
    for change in ({"seed": 1}, {"folds": 3}):
        evaluate(data, {"a": Counting()}, **options | change)
    evaluate(small_dataset(seed=1), {"a": Counting()}, **options)
    evaluate(data, {"a": Counting(strength=2)}, **options)
    monkeypatch.setattr(montechain, "__version__", "9.9.9")
    evaluate(data, {"a": Counting()}, **options)
    assert len(Counting.calls) == 2 * (2 + 2 + 3 + 2 + 2 + 2)
    assert len(list((tmp_path / "results").glob("*.json"))) == 13


def test_failures_are_kept_until_a_retry(tmp_path, monkeypatch):
    options = PLAIN | {"store": tmp_path / "results"}
    evaluate(small_dataset(), {"a": Failing()}, **options)
    monkeypatch.setattr(Failing, "fit", Guess.fit)
    assert set(evaluate(small_dataset(), {"a": Failing()}, **options)["status"]) == {"DNF"}
    retried = evaluate(small_dataset(), {"a": Failing()}, retry=True, **options)
    assert set(chosen(retried, measure="exact_match")["status"]) == {"ok"}


class Swallowing(Guess):
    """Goes on after Ctrl-C, as a search for orders does; or fails, as compiled code does."""

    how = "goes on"

    def fit(self, X, y):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(10_000):
                pass
        except BaseException:
            if self.how == "fails":
                raise SystemError("returned a result with an exception set") from None
        return super().fit(X, y)


@pytest.mark.parametrize("how", ["goes on", "fails"])
def test_what_was_interrupted_is_not_kept(how, tmp_path, monkeypatch):
    monkeypatch.setattr(Swallowing, "how", how)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        evaluate(small_dataset(), {"a": Swallowing()}, store=tmp_path, **PLAIN)
    assert signal.getsignal(signal.SIGINT) is before
    assert list(tmp_path.iterdir()) == []


def test_fingerprints_tell_contents_apart():
    data = small_dataset()
    sparse = replace(data, X=sp.csr_array(data.X.to_numpy()))
    others = [
        data, small_dataset(seed=1), sparse, data.take(range(39)), data.take([*range(1, 40), 0]),
        replace(data, feature_names=["u", "v", "x"]),
        replace(data, Y=data.Y.assign(u=1 - data.Y["u"])),
        replace(data, Y=data.Y.astype({"u": "Int64"}).mask(data.Y["u"] == 1)),
    ]  # fmt: skip
    assert len(set(map(fingerprint, others))) == len(others)
    assert fingerprint(data) == fingerprint(small_dataset(name="other name"))


def test_methods_that_cannot_be_pickled_are_always_computed(tmp_path):
    Counting.calls = []
    for _ in range(2):
        evaluate(small_dataset(), {"a": Counting(strength=lambda: 1)}, **PLAIN, store=tmp_path)
    assert len(Counting.calls) == 2 * 2 * 2


def summary_of(values, measure="exact_match", **changes):
    rows = [
        {"dataset": "music", "method": method, "fold": fold, "measure": measure, "value": value}
        | {"status": "DNF" if value is None else "ok", "reason": "slow" if value is None else "", "seed": 0}
        for method, by_fold in values.items()
        for fold, value in enumerate(by_fold)
    ]
    given = {"parameters": "{}", "protocol": ""} | changes
    return summarise(pd.DataFrame(rows).assign(**given)).set_index("method")


def test_summaries_have_means_deviations_and_ranks():
    summary = summary_of({"A": [0.1, 0.3], "B": [0.2, 0.2], "C": [0.5, 0.7], "D": [0.9, None]})
    assert summary["mean"].to_dict() == pytest.approx({"A": 0.2, "B": 0.2, "C": 0.6, "D": np.nan}, nan_ok=True)
    assert summary["std"].to_dict() == pytest.approx({"A": 0.02**0.5, "B": 0, "C": 0.02**0.5, "D": np.nan}, nan_ok=True)
    assert summary["rank"].to_dict() == pytest.approx({"A": 2.5, "B": 2.5, "C": 1.0, "D": np.nan}, nan_ok=True)
    assert summary.loc["D", ["status", "reason", "n"]].tolist() == ["DNF", "slow", 1]
    assert summary_of({"A": [-np.inf, -1.0]}, "joint_log_likelihood")["std"].isna().all()  # without a warning
    assert summary_of({"A": [3.0], "B": [1.0]}, "fit_seconds")["rank"].tolist() == [2.0, 1.0]
    assert summary_of({"A": [3.0], "B": [1.0]}, protocol=["one", "other"])["rank"].tolist() == [1.0, 1.0]
    assert summarise(evaluate(small_dataset(), {"a": Guess()}, **PLAIN)[:0]).empty


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": {"a": 3}}, TypeError, "Cannot clone object '3'"),
        ({"folds": "ofical"}, TypeError, "'ofical'` must be a number, such as folds=5, 'official' or a splitter"),
        ({"folds": 2.5}, TypeError, "or a splitter"),
    ],
)
def test_bad_arguments_say_what_to_type(options, error, message):
    with pytest.raises(error, match=message):
        evaluate(small_dataset(), **({"methods": {"a": Guess()}} | options))


@pytest.mark.real_data
def test_real_tables(data_folder):
    """Solar Flare and Bridges have words, gaps and unknown labels; Music has an official split."""
    flares = evaluate(load_dataset("solar_flare", data=data_folder), ["Majority", "CC"])
    by_method = chosen(summarise(flares), measure="exact_match").set_index("method")["mean"]
    assert by_method["Majority"] == pytest.approx(0.820, abs=0.001)
    assert by_method["CC"] > 0.7
    bridges = evaluate(load_dataset("bridges", data=data_folder), ["Majority", "CC"])
    for measure in ("exact_match", "hamming_score", "joint_log_likelihood"):
        assert set(chosen(bridges, measure=measure)["status"]) == {"ok"}
    music = load_dataset("music", data=data_folder)
    official = evaluate(music, {"PCC": make_method("PCC", "svm")}, folds="official").set_index("measure")["value"]
    assert 0.2 < official["exact_match"] < 0.45
    assert official["certified"] == 1.0
