"""Limits: a method that takes too long or too much is ended, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from montechain.experiments import Limits, RandomSplits, evaluate
from montechain.experiments._memory import PeakMemory, resident_mb
from montechain.experiments.limits import Worker
from montechain.experiments.measures import Task
from montechain.experiments.results import describe_parameters
from tests.experiments.cheap import Failing, Greedy, Guess, Leaving, Sleeping, small_dataset

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")


ONE_FOLD = RandomSplits(1, random_state=0)


def run(methods, limits, **options):
    return evaluate(small_dataset(), methods, folds=ONE_FOLD, encoder="passthrough", limits=limits, **options)


def reasons(results) -> dict[str, set[tuple[str, str]]]:
    assert all(r.value is None for r in results if r.status == "DNF")
    return {name: {(r.status, r.reason) for r in results if r.method == name} for name in {r.method for r in results}}


@pytest.mark.slow
def test_what_takes_too_long_is_ended_and_the_others_finish():
    methods = {"sleeping": Sleeping(seconds=600), "failing": Failing(), "leaving": Leaving(), "last": Guess()}
    results = run(methods, Limits(seconds=1.5), measures=["exact_match", "fit_seconds"])
    assert len(results) == 2 * len(methods)
    assert reasons(results) == {
        "sleeping": {("DNF", "exceeded the time limit of 1.5 s")},
        "failing": {("DNF", "ArithmeticError: nothing adds up")},
        "leaving": {("DNF", "the process ended by itself with exit code 3")},
        "last": {("ok", "")},
    }


@needs_proc
@pytest.mark.slow
def test_what_takes_too_much_memory_is_ended():
    results = run({"greedy": Greedy(), "last": Guess()}, Limits(memory_gb=0.7), measures=["exact_match"])
    assert reasons(results) == {
        "greedy": {("DNF", "exceeded the memory limit of 0.7 GiB")},
        "last": {("ok", "")},
    }


@pytest.mark.slow
def test_a_child_gives_what_this_process_gives():
    methods = {"a": Guess(), "b": Guess(strength=2)}
    inside = run(methods, None, measures=["exact_match", "hamming_score"])
    assert run(methods, Limits(seconds=60), measures=["exact_match", "hamming_score"]) == inside


def test_what_cannot_be_sent_does_not_finish():
    (result,) = run({"a": Guess(strength=lambda: 1)}, Limits(seconds=60), measures=["exact_match"])[:1]
    assert result.status == "DNF"
    assert "cannot be sent to a child process" in result.reason
    assert "try limits=None" in result.reason


@needs_proc
@pytest.mark.slow
def test_a_child_dies_with_its_parent(tmp_path):
    """A run that is killed leaves nothing behind that goes on computing."""
    written = tmp_path / "pid"
    program = tmp_path / "program.py"
    program.write_text(
        "from tests.experiments.cheap import Sleeping, small_dataset\n"
        "from montechain.experiments import Limits, evaluate\n"
        "if __name__ == '__main__':\n"
        f"    evaluate(small_dataset(), {{'a': Sleeping(seconds=500, path={str(written)!r})}}, folds=2,\n"
        "             encoder='passthrough', limits=Limits(seconds=500))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    process = subprocess.Popen([sys.executable, program], env=environment)
    try:
        wait_for(lambda: written.exists() and written.read_text() != "")
    finally:
        process.kill()
        process.wait()
    child = int(written.read_text())
    assert child != process.pid
    wait_for(lambda: not Path(f"/proc/{child}").exists() or resident_mb(child) == 0.0)


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_what_to_write(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from tests.experiments.cheap import Guess, small_dataset\n"
        "from montechain.experiments import Limits, evaluate\n"
        "evaluate(small_dataset(), {'a': Guess()}, folds=2, encoder='passthrough', limits=Limits(seconds=50))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert 'put what calls it under if __name__ == "__main__":' in done.stderr


@pytest.mark.slow
def test_a_child_killed_from_outside_is_replaced():
    """As the system does when memory runs out: between two tasks, and in the middle of one."""
    task = Task(Guess(random_state=0), Guess(), *parts(), [[0, 1], [0, 1], ["red", "tan"]], ["exact_match"])
    with Worker(Limits(seconds=300)) as worker:
        first = worker.run(task)
        os.kill(worker._process.pid, signal.SIGKILL)
        wait_for(lambda: not worker._process.is_alive())
        assert worker.run(task) == first
        threading.Timer(0.5, lambda: os.kill(worker._process.pid, signal.SIGKILL)).start()
        ended = worker.run(replace(task, model=Sleeping(seconds=300)))
        assert (ended.cause, ended.measurements[0].status) == ("memory", "DNF")
        assert "killed from outside" in ended.measurements[0].reason
        assert worker.run(task) == first


def parts():
    data = small_dataset()
    train, test = data.take(range(30)), data.take(range(30, 40))
    return train.X, train.Y, test.X, test.Y


def test_limits_are_checked():
    for options in ({"seconds": 0}, {"seconds": "1"}, {"memory_gb": -1}, {"seconds": True}):
        with pytest.raises(ValueError, match="must be a positive number or None"):
            Limits(**options)
    with pytest.raises(TypeError, match=r"limits=Limits\(seconds=3600"):
        run({"a": Guess()}, 60)


def test_memory_that_cannot_be_seen_cannot_be_limited(monkeypatch):
    monkeypatch.setattr("montechain.experiments.limits.can_see_memory", lambda: False)
    with pytest.raises(ValueError, match="cannot be enforced on this system"):
        Worker(Limits(memory_gb=1))


@pytest.mark.parametrize("marked", [True, False])
@needs_proc
def test_peak_memory_is_seen_and_forgotten(marked, monkeypatch):
    if not marked:
        monkeypatch.setattr("montechain.experiments._memory._reset_mark", lambda: False)
    with PeakMemory() as before:
        pass
    with PeakMemory() as large:
        block = bytearray(b"x" * 200 * 2**20)
        time.sleep(0.05)
        del block
    with PeakMemory() as after:
        pass
    assert large.peak_mb > before.peak_mb + 150
    assert after.peak_mb < large.peak_mb - 150


def test_parameters_are_described_by_what_has_an_effect():
    assert describe_parameters(Guess(random_state=3)) == '{"random_state": 3, "strength": 1, "type": "Guess"}'
    assert describe_parameters(Guess()) == '{"strength": 1, "type": "Guess"}'
    assert describe_parameters(None) == "{}"
