"""The accuracy benchmark on tiny data: its peers, metrics, verdicts, and that a run resumes."""

import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

pytest.importorskip("skrub")

from benchmarks.accuracy import cells, ours, peers, report, studies
from benchmarks.accuracy.answers import (
    Answers,
    Clock,
    TooCostly,
    calibration_error,
    error_of_calibrated,
    from_product,
    measure,
)
from benchmarks.accuracy.data import Task
from benchmarks.accuracy.inputs import encode
from command import run
from montechain import AutoChainClassifier, TableClassifier
from montechain.metrics import exact_match, f1_score, hamming_score


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(160, 3)), columns=list("abc"))
    Y = (X.to_numpy() @ rng.normal(size=(3, 3)) + rng.logistic(size=(160, 3)) > 0).astype(np.int64)
    return Task("tiny", "official", X[:120], Y[:120], X[120:], Y[120:], (2, 2, 2))


def test_the_chain_is_that_of_scikit_learn(task):
    inputs = encode(task, "scaled")
    theirs = ClassifierChain(LogisticRegression(max_iter=1000)).fit(inputs.train, task.Y_train)
    ours = cells.METHODS["logistic_chain"].run(task, 0, Clock())
    np.testing.assert_array_equal(ours.vectors["exact_match"], theirs.predict(inputs.test))


def test_metrics_are_those_of_the_library_and_f1_is_best_in_expectation(task):
    relevant = np.random.default_rng(1).uniform(size=(40, 3))
    answers = from_product([np.stack([1 - p, p], axis=1) for p in relevant.T], task)
    found = measure(answers, task)
    for name, score in (("exact_match", exact_match), ("hamming", hamming_score), ("f1", f1_score)):
        assert found[name]["mean"] == pytest.approx(score(task.Y_test, answers.vectors[name]))
    vectors = np.array(list(product((0, 1), repeat=3)))
    p = np.prod(np.where(vectors, relevant[:, None], 1 - relevant[:, None]), axis=2)
    value = np.array([[f1_score([truth], [chosen]) for truth in vectors] for chosen in vectors])
    np.testing.assert_array_equal(answers.vectors["f1"], vectors[(p @ value.T).argmax(axis=1)])
    truth = np.array([p[i, (vectors == y).all(axis=1)].item() for i, y in enumerate(task.Y_test)])
    assert found["log_loss"]["mean"] == pytest.approx(-np.log(truth).mean())


def test_the_command_line_answers_as_the_model_does(task, tmp_path, monkeypatch):
    def run_quickly(command, **options):
        assert command[:3] == [sys.executable, "-m", "montechain"]
        run("", *command[3:], folder=tmp_path)

    monkeypatch.setattr(ours.subprocess, "run", run_quickly)
    monkeypatch.setitem(peers.TABLES, "tiny", None)
    method = cells.METHODS["command_line"]
    assert method.takes(task)
    found = method.run(task, 0, Clock())
    model = TableClassifier(AutoChainClassifier(random_state=0)).fit(task.X_train, task.Y_train)
    np.testing.assert_array_equal(found.vectors["exact_match"], model.predict(task.X_test))
    assert set(measure(found, task)) == {"exact_match", "hamming"}


def test_unknown_labels_do_not_count(task):
    Y = np.array([[0, 1, -1], [-1, -1, -1], [1, 1, 1]])
    part = Task("tiny", "official", task.X_train, task.Y_train, task.X_test[:3], Y, task.n_classes)
    found = measure(
        Answers(dict.fromkeys(("exact_match", "hamming", "f1"), np.ones((3, 3))), np.zeros(3), np.ones(3)), part
    )
    assert (found["exact_match"]["mean"], found["hamming"]["mean"]) == (0.5, 0.8)
    assert found["log_loss"]["n"] == 1


def test_a_run_resumes_and_reports(task, tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "tasks", lambda name: iter([task]))
    methods = ["logistic", "powerset_logistic", "ml_knn", "plain_chain"]
    cells.fill(tmp_path, ["tiny"], methods[:2], n_seeds=1)
    assert len(list(tmp_path.iterdir())) == 2
    asked = []
    monkeypatch.setattr(cells, "_in_process", lambda *what: asked.append(what[1]) or cells.compute(*what))
    cells.fill(tmp_path, ["tiny"], methods, n_seeds=1)
    assert asked == methods[2:]
    finished = cells.load(tmp_path)
    assert {cell["method"] for cell in finished} == set(methods)
    study = tmp_path / "study.csv"
    study.write_text("data,measure,method,value\ntiny-500,hamming_loss,CC,0.0\ntiny-500,hamming_loss,BR,0.9\n")
    paper = tmp_path / "paper.csv"
    paper.write_text(
        "table,measure,dataset,method,value\nofficial_split,exact_match_loss,tiny,CC,1.0\n"
        "official_split,hamming_loss,tiny,CC,0.0\nofficial_split,hamming_loss,tiny,BR,DNF\n"
    )
    text = report.report(finished, study, paper)
    assert "| official split | tiny | exact match loss | 1.000 (CC) | " in text
    assert text.count("| reached |") == text.count("| **not reached** |") == 1
    assert "| 1.000 (CC) |" in text
    assert "| 2 of 3 |" in text
    assert "4 cells" in text
    assert "| tiny | joint log-loss |" in text


@pytest.mark.parametrize(
    ("ours", "peer", "verdict"), [(0.51, 0.5, "above"), (0.5, 0.5, "within one s.e."), (0.4, 0.5, "below")]
)
def test_a_verdict_compares_the_difference_with_our_standard_error(ours, peer, verdict):
    assert report.verdict("exact_match", report.Score(ours, 0.01), report.Score(peer, 0.2)) == verdict
    assert report.verdict("log_loss", report.Score(-ours, 0.01), report.Score(-peer, 0.2)) == verdict


def test_folds_are_pooled_and_costly_work_is_given_up():
    metrics = [{"exact_match": {"mean": mean, "error": 0.1, "n": n}} for mean, n in ((0.5, 10), (0.8, 20))]
    finished = [
        {"set": "tiny", "split": str(fold), "method": "forest", "seed": seed, "metrics": own}
        for fold, own in enumerate(metrics)
        for seed in (0, 1)
    ]
    pooled = report.Results(finished).score("tiny", "forest", "exact_match")
    assert pooled == pytest.approx((0.7, np.sqrt(1 + 4) / 30))
    bins = {"rows": [2, 2], "confidence": [0.5, 1.5], "hits": [1, 1]}
    assert calibration_error([bins, bins]) == pytest.approx(0.25)
    hits = np.random.default_rng(0).binomial([100, 200], [0.25, 0.75], size=(4000, 2))
    bins = {"rows": [100, 200], "confidence": [25, 150]}
    assert error_of_calibrated([bins]) == pytest.approx((abs(hits - [25, 150]).sum(axis=1) / 300).mean(), rel=0.02)
    clock = Clock(limit=100)
    clock.seconds["fit"] = 20.0
    clock.check(0.5)
    with pytest.raises(TooCostly, match="about 200 s"):
        clock.check(0.1)


def test_a_study_is_computed_once_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "N_TEST", 50)
    monkeypatch.setattr(studies, "SIZES", (60, 80))
    title, function, _ = studies.STUDIES["regret"]
    monkeypatch.setitem(studies.STUDIES, "regret", (title, function, [(60, "distorted")]))
    studies.run(tmp_path, ["regret"])
    monkeypatch.setitem(studies.STUDIES, "regret", (title, None, [(60, "distorted")]))
    studies.run(tmp_path, ["regret"])
    assert "| distorted | 60.00 |" in studies.sections(tmp_path)[1]
