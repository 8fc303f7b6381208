"""Measured times exclude compilation."""

from __future__ import annotations

import time

import numba
import numpy as np
import pytest

from bridge_table import TARGETS, bridges
from command import run_from_nothing
from montechain._compilation import watch_compilation
from montechain.persistence import describe


def slow_to_compile():
    @numba.njit
    def kernel(values):
        return np.sort(values)[::-1].cumsum()

    return kernel


def test_nested_kernels_count_once():
    inner = slow_to_compile()
    started = time.perf_counter()
    with watch_compilation() as compilation:
        numba.njit(lambda values: inner(values).sum())(np.ones(3))
    assert 0 < compilation.seconds <= time.perf_counter() - started


def test_what_is_compiled_already_does_not_count():
    kernel = slow_to_compile()
    for _ in range(2):
        with watch_compilation() as compilation:
            kernel(np.ones(3))
    assert compilation.seconds == 0


@pytest.mark.slow
def test_commands_do_not_count_it_as_learning(tmp_path):
    bridges(60).to_csv(tmp_path / "bridges.csv", index=False)
    options = ["--targets", TARGETS, "--drop", "id", "--method", "CC", "--force", "-o", "m.mchain"]
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    started = time.perf_counter()
    first = run_from_nothing("fit", "bridges.csv", *options, folder=tmp_path, **cold)
    waited = time.perf_counter() - started
    assert first.code == 0, first.err
    assert describe(tmp_path / "m.mchain")["about"]["fit_seconds"] < waited / 3
