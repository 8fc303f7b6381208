"""Kernels are compiled once and cached, and still work where they cannot be cached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import montechain


def run(code, **environment):
    environment = {**os.environ, "PYTHONPATH": str(Path(montechain.__file__).parents[1]), **environment}
    environment.pop("NUMBA_DISABLE_JIT", None)
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code], env=environment, capture_output=True, text=True, check=True
    )


def test_without_a_directory_for_the_cache_there_is_one_warning(tmp_path):
    """Numba refuses to cache where no directory can be written; here it is told to look in zip files only."""
    code = """
import importlib, pkgutil
import numpy as np
import montechain._kernels
for info in pkgutil.iter_modules(montechain._kernels.__path__):
    importlib.import_module(f"montechain._kernels.{info.name}")
from montechain._kernels.depth_first_binary import search_binary
found = search_binary(np.array([[2.0, -1.0]]), np.zeros((2, 2)), np.empty((0, 2), dtype=np.int32), 100)
print(found[0].tolist())
"""
    answer = run(code, NUMBA_CACHE_LOCATOR_CLASSES="ZipCacheLocator", NUMBA_CACHE_DIR="")
    assert answer.stdout.split() == ["[[1,", "0]]"]
    assert answer.stderr.count("RuntimeWarning") == 1
    assert "NUMBA_CACHE_DIR" in answer.stderr


def test_a_cache_that_cannot_be_written_is_no_error():
    code = """
import numpy as np
from montechain._kernels.depth_first_binary import _search_rows, search_binary
def full(*arguments):
    raise OSError("no space left")
_search_rows._cache._cache_file.save = full
_search_rows._cache.load_overload = lambda *arguments: None
found = search_binary(np.array([[2.0, -1.0]]), np.zeros((2, 2)), np.empty((0, 2), dtype=np.int32), 100)
print(found[0].tolist())
"""
    answer = run(code)
    assert answer.stdout.split() == ["[[1,", "0]]"]
    assert answer.stderr.count("RuntimeWarning") == 1


@pytest.mark.slow
def test_warming_up_compiles_every_kernel_of_the_search_once():
    code = """
import importlib, json, pkgutil
import montechain._kernels
from montechain.warm_up import warm_up
from numba.core.caching import NullCache
from numba.core.registry import CPUDispatcher
seconds = warm_up()
counts = {}
for info in pkgutil.iter_modules(montechain._kernels.__path__):
    module = importlib.import_module(f"montechain._kernels.{info.name}")
    for name, value in vars(module).items():
        if isinstance(value, CPUDispatcher) and not isinstance(value._cache, NullCache):
            counts[f"{value.py_func.__module__.split('.')[-1]}.{name}"] = len(value.signatures)
print(json.dumps([seconds, counts]))
"""
    seconds, counts = json.loads(run(code).stdout)
    assert seconds >= 0.0
    solver = {"quasi_newton", "margins", "sparse", "elementary"}
    own = {name: count for name, count in counts.items() if name.split(".")[0] not in solver}
    assert len(own) >= 14
    assert {name: count for name, count in own.items() if count != 1} == {}
