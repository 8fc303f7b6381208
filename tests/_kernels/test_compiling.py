"""Kernels are compiled once and cached, and still work where they cannot be cached."""

import json
from functools import partial

import pytest

from command import run_program

run = partial(run_program, NUMBA_DISABLE_JIT="0", PYTHONWARNINGS="always")
SEARCH = """
import numpy as np
from montechain._kernels.depth_first_binary import search_binary
found = search_binary(np.array([[2.0, -1.0]]), np.zeros((2, 2)), np.empty((0, 2), dtype=np.int32), 100)
print(found[0].tolist())
"""
# Numba refuses to cache where no directory can be written; here it is told to look in zip files only.
NO_DIRECTORY = {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator", "NUMBA_CACHE_DIR": ""}
ALL_KERNELS = """
import importlib, pkgutil
import montechain._kernels
for info in pkgutil.iter_modules(montechain._kernels.__path__):
    importlib.import_module(f"montechain._kernels.{info.name}")
"""
FULL_DISK = """
from montechain._kernels.depth_first_binary import _search_rows
def full(*arguments):
    raise OSError("no space left")
_search_rows._cache._cache_file.save = full
_search_rows._cache.load_overload = lambda *arguments: None
"""


@pytest.mark.parametrize(("code", "environment"), [(ALL_KERNELS, NO_DIRECTORY), (FULL_DISK, {})])
def test_where_the_cache_cannot_be_written_there_is_one_warning(code, environment):
    answer = run(code + SEARCH, **environment)
    assert answer.stdout.split() == ["[[1,", "0]]"]
    assert answer.stderr.count("RuntimeWarning") == 1
    assert "NUMBA_CACHE_DIR" in answer.stderr


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


def test_nothing_is_compiled_twice_or_to_format_messages(tmp_path):
    """The enumeration of vectors, from an empty cache."""
    code = """
import json
import numpy as np
from numba.core import event
from montechain._kernels.conditional import Links, new_path
from montechain._kernels.enumeration import enumerate_vectors
with event.install_recorder("numba:compile") as recorder:
    links = Links(np.zeros((2, 2)), np.arange(3), np.array([2, 2]), np.arange(3))
    full_depth, nothing = np.full(1, 2), np.empty((0, 2), dtype=np.int32)
    enumerate_vectors(np.zeros((1, 2)), links, nothing, full_depth, 0.01, 100, 0.5, 10)
print(json.dumps([
    [one.data["dispatcher"].py_func.__module__, one.data["dispatcher"].py_func.__name__, str(one.data["args"])]
    for _, one in recorder.buffer if one.is_start
]))
"""
    compiled = json.loads(run(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout)
    assert not [name for module, name, _ in compiled if "unicode" in module]
    of_ours = [(name, kinds) for module, name, kinds in compiled if module.startswith("montechain")]
    assert len(of_ours) > 10
    assert not [name for name, kinds in of_ours if "Literal[int]" in kinds]
