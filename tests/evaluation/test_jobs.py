"""Jobs: limits end what exceeds them and nothing else, and a run that is killed resumes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest
from sklearn.model_selection import ShuffleSplit

from montechain.errors import DataError, OutputError
from montechain.evaluation import Limits, ResultStore, evaluate
from montechain.evaluation.measures import FoldWork
from tests.evaluation.cheap import Failing, Greedy, Guess, Killed, Leaving, Sleeping, small_dataset

ONE_FOLD = ShuffleSplit(1, test_size=1 / 3, random_state=0)


def run(methods, limits, **options):
    options = {"measures": ["exact_match"], "folds": ONE_FOLD, "encoder": "passthrough"} | options
    return evaluate(small_dataset(), methods, limits=limits, **options)


def start(tmp_path: Path, body: str) -> subprocess.Popen:
    """Run a program that evaluates something."""
    program = tmp_path / "program.py"
    program.write_text(
        "from pathlib import Path\nfrom montechain.evaluation import Limits, evaluate\n"
        "from tests.evaluation.cheap import Guess, Logged, Sleeping, small_dataset\n" + body
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.Popen([sys.executable, program], env=environment, stderr=subprocess.PIPE, text=True)


def wait_for(condition, seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.mark.slow
def test_what_exceeds_a_limit_is_ended_and_the_others_finish():
    methods = {
        "sleeping": Sleeping(seconds=600), "failing": Failing(), "leaving": Leaving(),
        "killed": Killed(), "unpicklable": Guess(strength=lambda: 1), "last": Guess(),
    }  # fmt: skip
    results = run(methods, Limits(seconds=2.0), n_jobs=2).set_index("method")
    reasons = results["reason"].to_dict()
    assert "cannot be sent to a child process" in reasons.pop("unpicklable")
    assert reasons == {
        "sleeping": "exceeded the time limit of 2 s",
        "failing": "ArithmeticError: nothing adds up",
        "leaving": "the process ended with exit code 3",
        "killed": "the process was killed from outside, as happens when memory runs out",
        "last": "",
    }
    assert results["status"].tolist() == ["DNF"] * 5 + ["ok"]
    assert results["value"].notna().tolist() == [False] * 5 + [True]
    greedy = run({"greedy": Greedy()}, Limits(memory_gb=0.7))
    assert greedy["reason"].tolist() == ["exceeded the memory limit of 0.7 GiB"]


@pytest.mark.slow
def test_child_processes_give_what_this_process_gives_and_wider_limits_another_try(tmp_path):
    methods = {"a": Guess(), "b": Guess(strength=2)}
    inside = run(methods, None, folds=3)
    pd.testing.assert_frame_equal(run(methods, Limits(seconds=60), folds=3, n_jobs=2), inside)
    slow = {"a": Sleeping(seconds=1.0)}
    for limits, expected in (
        (Limits(seconds=0.2), "DNF"), (Limits(seconds=0.1), "DNF"), (Limits(memory_gb=9, seconds=60), "ok"),
    ):  # fmt: skip
        assert run(slow, limits, store=tmp_path)["status"].tolist() == [expected]


@pytest.mark.slow
def test_a_child_dies_with_its_parent(tmp_path):
    """A run that is killed leaves nothing behind that goes on computing."""
    written = tmp_path / "pid"
    process = start(
        tmp_path,
        "if __name__ == '__main__':\n"
        f"    evaluate(small_dataset(), {{'a': Sleeping(seconds=500, path={str(written)!r})}}, folds=2,\n"
        "             encoder='passthrough', limits=Limits(seconds=500))\n",
    )
    try:
        wait_for(lambda: written.exists() and written.read_text() != "")
    finally:
        process.kill()
        process.communicate()
    child = int(written.read_text())
    assert child != process.pid
    wait_for(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_to_write(tmp_path):
    process = start(tmp_path, "evaluate(small_dataset(), {'a': Guess()}, folds=2, limits=Limits(seconds=50))\n")
    _, error = process.communicate(timeout=120)
    assert process.returncode != 0
    assert 'put the call under if __name__ == "__main__":' in error


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_loses_no_finished_fold(tmp_path):
    store, log = tmp_path / "results", tmp_path / "log"
    body = (
        f"Logged.path, Logged.seconds = Path({str(log)!r}), 0.1\n"
        "methods = {str(k): Logged(strength=k) for k in range(3)}\n"
        f"evaluate(small_dataset(100), methods, folds=10, encoder='passthrough', store={str(store)!r})\n"
    )

    def n_stored() -> int:
        return len(list(store.glob("*.json")))

    for n_wanted in (3, 11, 20):
        process = start(tmp_path, body)
        wait_for(lambda n_wanted=n_wanted: n_stored() >= n_wanted)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert n_wanted <= n_stored() < 30
        assert all(found["status"] == "ok" for found in ResultStore(store))  # no file is damaged
    process = start(tmp_path, body)
    process.communicate()
    assert process.returncode == 0
    assert n_stored() == 30
    # Nothing that had finished was computed again: each kill costs at most the fold that was under way.
    assert 30 <= len(log.read_text().splitlines()) <= 33
    whole = evaluate(small_dataset(100), {str(k): Guess(strength=k) for k in range(3)}, folds=10, encoder="passthrough")
    expected = whole[whole["measure"] == "hamming_score"].set_index(["method", "fold"])["value"]
    for found in ResultStore(store):
        place = found["identity"]["method"], found["identity"]["fold"]
        assert found["values"]["values"]["hamming_score"] == expected[place]


def test_damaged_files_are_named(tmp_path):
    run({"a": Guess()}, None, store=tmp_path)
    (file,) = tmp_path.glob("*.json")
    for content in ("", '{"status": "ok"', "[]", json.dumps({"status": "odd"})):
        file.write_text(content)
        with pytest.raises(DataError, match=rf"{file.name}: cannot be read: .* Delete the file"):
            run({"a": Guess()}, None, store=tmp_path)
    with pytest.raises(OutputError, match="is not a folder"):
        ResultStore(file)


def test_limits_are_checked():
    for options in ({"seconds": 0}, {"seconds": "1"}, {"memory_gb": -1}, {"seconds": True}):
        with pytest.raises(ValueError, match="must be a positive number or None"):
            Limits(**options)


class Hungry(Guess):
    def fit(self, X, y):
        bytearray(b"x" * 200 * 2**20)
        return super().fit(X, y)


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the high-water mark cannot be reset")
def test_peak_memory_is_that_of_the_fold():
    data = small_dataset()
    parts = data.take(range(30)), data.take(range(30, 40)), ["peak_memory_mb"]
    before, large, after = (
        FoldWork(model, *parts).run()["values"]["peak_memory_mb"] for model in (Guess(), Hungry(), Guess())
    )
    assert large > before + 150
    assert after < large - 150
