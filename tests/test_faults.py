"""Faults around a computation: Ctrl-C, forks, daemons, bad classifiers, two writers, a full disk, many threads."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import montechain as mc
from montechain._messages import with_notes
from montechain.errors import OutputError
from montechain.evaluation import evaluate
from tests.evaluation.cheap import Guess, small_dataset

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X + 0.5 * RNG.normal(size=X.shape) > 0).astype(int)

START = """
import multiprocessing, os, signal, sys, warnings
import numpy as np
import montechain as mc
from montechain.evaluation import evaluate
from tests.evaluation.cheap import Guess, Logged, small_dataset
from tests.test_faults import X, Y
"""


def start(body: str, *arguments: object) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", START + body, *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return out


class Slow(RandomForestClassifier):
    """Says when it begins and then takes its time, if `where` is what it does."""

    where = ""

    def fit(self, X, y):
        self.wait("fit")
        return super().fit(X, y)

    def predict_proba(self, X):
        self.wait("predict")
        return super().predict_proba(X)

    def wait(self, what):
        if what == Slow.where:
            print("begun", flush=True)
            time.sleep(120)


class Hand(ClassifierMixin, BaseEstimator):
    """A classifier that fails in one of three ways."""

    def __init__(self, how="raises"):
        self.how = how

    def fit(self, X, y):
        if self.how == "raises":
            raise ArithmeticError("nothing adds up")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), {"nan": np.nan, "sums": 0.4}[self.how])


@pytest.mark.parametrize("where", ["fit", "predict"])
def test_ctrl_c_leaves_the_model_usable(where):
    body = """
import tests.test_faults as own
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where tests run in the background
model = mc.ChainClassifier(own.Slow(n_estimators=3), random_state=0).fit(X, Y)
before = model.predict(X)
own.Slow.where = sys.argv[1]
try:
    model.fit(X, 1 - Y) if sys.argv[1] == "fit" else model.predict(X)
except KeyboardInterrupt:
    own.Slow.where = ""
    assert np.array_equal(model.predict(X), before)
    print("as before")
"""
    process = start(body, where)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert "as before" in finish(process)


def test_threads_in_a_forked_process_and_jobs_in_a_daemon():
    body = """
model = mc.ChainClassifier(random_state=0, n_jobs=2).fit(X, Y)
many = np.tile(X, (2000, 1))
expected = model.predict(many)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(model.predict(many), expected) else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("forked")

def work(answers):
    for learner in (None, __import__("sklearn.tree").tree.DecisionTreeClassifier(random_state=0)):
        found = mc.ChainClassifier(learner, random_state=0, n_jobs=2).fit(X, Y)
        answers.put(found.predict(many).sum())
    results = evaluate(small_dataset(), {"guess": Guess()}, folds=2, encoder="passthrough", n_jobs=2)
    answers.put(set(results["status"]) >= {"ok"})

context = multiprocessing.get_context("fork")
answers = context.Queue()
warnings.simplefilter("ignore")  # joblib says that it uses one process
daemon = context.Process(target=work, args=(answers,), daemon=True)
daemon.start()
assert answers.get(timeout=200) == expected.sum()
assert answers.get(timeout=200) > 0
assert answers.get(timeout=200)
print("daemon")
"""
    assert finish(start(body)).split() == ["forked", "daemon"]


def test_two_processes_write_one_folder_of_results(tmp_path):
    body = """
from pathlib import Path
Logged.path, Logged.seconds = Path(sys.argv[2]), 0.02
methods = {str(k): Logged(strength=k) for k in range(3)}
evaluate(small_dataset(60), methods, folds=6, encoder="passthrough", store=sys.argv[1])
"""
    both = [start(body, tmp_path / "results", tmp_path / f"log{n}") for n in range(2)]
    for process in both:
        finish(process)
    files = sorted((tmp_path / "results").iterdir())
    assert [file.suffix for file in files] == [".json"] * 18  # no temporary file is left
    methods = {str(k): Guess(strength=k) for k in range(3)}
    whole = evaluate(small_dataset(60), methods, folds=6, encoder="passthrough")
    expected = whole[whole["measure"] == "hamming_score"].set_index(["method", "fold"])["value"]
    for file in files:
        found = json.loads(file.read_text())
        place = found["identity"]["method"], found["identity"]["fold"]
        assert found["values"]["values"]["hamming_score"] == expected[place]


FAULTS = {
    "raises": "nothing adds up It was raised by OneBad, the classifier of label 'v'",
    "nan": "OneBad, the classifier of label 'v', returns NaN",
    "sums": "OneBad, the classifier of label 'v', returns probabilities that do not sum to one for",
}


class OneBad(ClassifierMixin, BaseEstimator):
    """Learns label 'v', which follows two inputs alone, with a `Hand`, and the others well."""

    def __init__(self, how="raises"):
        self.how = how

    def fit(self, X, y):
        self.inner_ = (Hand(self.how) if np.shape(X)[1] == 4 else LogisticRegression()).fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize("how", FAULTS)
def test_a_bad_classifier_is_named_with_its_label_and_the_other_methods_go_on(how):
    data = small_dataset()
    bad = mc.ChainClassifier(OneBad(how), order=[0, 1, 2], random_state=0)
    with pytest.raises((ArithmeticError, ValueError)) as caught:
        bad.fit(data.X, data.Y).predict(data.X)
    assert FAULTS[how] in with_notes(caught.value)
    results = evaluate(data, {"bad": bad, "good": Guess()}, folds=2, encoder="passthrough").set_index("method")
    assert set(results.loc["bad", "status"]) == {"DNF"}
    assert set(results.loc["bad", "fold"]) == {0, 1}
    assert results.loc["bad", "reason"].str.contains(re.escape(FAULTS[how])).all()
    assert "ok" in set(results.loc["good", "status"])


@pytest.mark.parametrize(("how", "said"), [("raises", "nothing adds up"), ("nan", "NaN"), ("sums", "sum to one")])
def test_features_and_mixtures_name_the_fold(how, said):
    with pytest.raises((ArithmeticError, ValueError)) as caught:
        mc.CrossFittedFeatures(Hand(how), cv=2).fit(X, Y)
    text = with_notes(caught.value)
    assert (said in text, "label 'label_0'" in text, "in fold 0" in text) == (True, True, True)
    models = [("good", mc.ChainClassifier()), ("bad", mc.ChainClassifier(Hand(how)))]
    with pytest.raises((ArithmeticError, ValueError)) as caught:
        mc.StackedMixtureClassifier(models, cv=3, random_state=0).fit(X, Y)
    assert said in with_notes(caught.value)
    assert "'bad' of StackedMixtureClassifier in fold 0" in with_notes(caught.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_disk_that_is_really_full(tmp_path):
    """The model that was there is intact, nothing is left behind, and the message says what to do."""
    model = mc.ClusteringForestClassifier(150, random_state=0).fit(X, Y)
    small = mc.MajorityClassifier().fit(X, Y)
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(place)], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        mc.save(small, place / "m.mchain")
        with pytest.raises(OutputError, match=r"No space left on device\. The old file is unchanged\. Free some space"):
            mc.save(model, place / "m.mchain")
        assert [path.name for path in place.iterdir()] == ["m.mchain"]
        np.testing.assert_array_equal(mc.load(place / "m.mchain").predict(X), small.predict(X))
    finally:
        subprocess.run(["umount", str(place)], check=True)


# Before Python 3.14, threads share the warning filters, and scikit-learn complains if another thread changes them.
@pytest.mark.filterwarnings("ignore:`sklearn.utils.parallel.delayed`")
@pytest.mark.parametrize("learner", [None, RandomForestClassifier(3, random_state=0)], ids=["linear", "forest"])
def test_two_hundred_threads_get_what_one_gets(learner):
    model = mc.ChainClassifier(learner, random_state=0).fit(X, Y)
    n_each = 20 if learner is None else 1
    expected = {k: (model.predict(X[k : k + 3]), model.predict_proba(X[k : k + 3])) for k in range(20)}

    def ask(thread: int) -> bool:
        same = True
        for turn in range(n_each):
            k = (thread + turn) % 20
            rows = X[k : k + 3]
            same &= np.array_equal(model.predict(rows), expected[k][0])
            same &= all(map(np.array_equal, model.predict_proba(rows), expected[k][1]))
        return same

    with ThreadPoolExecutor(200) as pool:
        assert all(pool.map(ask, range(200)))


def test_a_search_ends_at_its_time_limit_with_the_best_order_so_far():
    search = mc.OrderSearch(n_iterations=100_000, time_limit=1e-9)
    with pytest.warns(UserWarning, match=r"ended by time_limit=1e-09 after 1 of 100001 steps: the best of the orders"):
        model = mc.ChainClassifier(order=search, random_state=0).fit(X, Y)
    assert len(model.search_trace_) == 1
    assert model.predict(X).shape == Y.shape


def test_answers_larger_than_the_memory_are_refused_before_they_are_made(monkeypatch):
    many = (RNG.random((60, 40)) < 0.5).astype(int)
    model = mc.ChainClassifier(random_state=0).fit(X, many)
    for call, name in ((model.predict_top_k, "k"), (model.sample, "n_samples")):
        with pytest.raises(
            ValueError, match=rf"`{name}=1000000000000` for 60 rows of 40 labels needs .* GB .* Ask for"
        ):
            call(X, 10**12)
        monkeypatch.setenv("MONTECHAIN_MAX_MEMORY", "1e5")
        with pytest.raises(ValueError, match=r"the limit is 0.0001 GB"):
            call(X, 50)
        assert call(X[:1], 50) is not None
        monkeypatch.delenv("MONTECHAIN_MAX_MEMORY")
