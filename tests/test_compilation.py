"""Measured times exclude compilation."""

from contextlib import contextmanager
from types import SimpleNamespace

import numba
import numpy as np
from numba.core import event

from bridge_table import TARGETS, bridges
from command import run
from montechain._compilation import watch_compilation
from montechain.evaluation import comparison
from montechain.persistence import describe


def test_nested_kernels_count_once(monkeypatch):
    clock = [0]
    monkeypatch.setattr(event, "timer", lambda: clock[0])
    with watch_compilation() as compilation, event.trigger_event("numba:compile"):
        clock[0] += 1
        with event.trigger_event("numba:compile"):
            clock[0] += 2
    assert compilation.seconds == 3


def test_what_is_compiled_already_does_not_count():
    kernel = numba.njit(lambda values: np.sort(values)[::-1].cumsum())
    for is_first in (True, False):
        with watch_compilation() as compilation:
            kernel(np.ones(3))
        assert (compilation.seconds > 0) == is_first


def test_times_are_without_compilation(monkeypatch):
    @contextmanager
    def watch():
        yield SimpleNamespace(seconds=60)

    clock = iter([1000, 1100])
    monkeypatch.setattr(comparison, "watch_compilation", watch)
    monkeypatch.setattr(comparison, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    assert comparison.timed(sum, [1, 2]) == (3, 40)


def test_commands_do_not_count_it_as_learning(tmp_path):
    bridges(60).to_csv(tmp_path / "bridges.csv", index=False)
    program = """
from montechain.cli import main
from montechain.evaluation import comparison
comparison.timed = lambda function, *arguments: (function(*arguments), 12.5)
main()
"""
    run(f"fit bridges.csv -t {TARGETS} --drop id -m Default -o m.mchain", folder=tmp_path, program=program)
    assert describe(tmp_path / "m.mchain")["about"]["fit_seconds"] == 12.5
