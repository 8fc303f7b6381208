"""The public surface, and what importing it costs."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import montechain

PUBLIC = {
    "Beam",
    "BranchAndBound",
    "ChainClassifier",
    "Decision",
    "EpsilonApproximate",
    "ExactMatch",
    "Exhaustive",
    "F1",
    "Greedy",
    "Hamming",
    "Jaccard",
    "LogisticLink",
    "MonteCarlo",
    "SVMLink",
    "TopK",
    "metrics",
}


def test_public_names():
    assert set(montechain.__all__) >= PUBLIC
    assert all(hasattr(montechain, name) for name in montechain.__all__)
    assert len(montechain.__all__) == len(set(montechain.__all__))


@pytest.mark.parametrize("name", sorted(PUBLIC - {"metrics"}))
def test_public_classes_are_documented(name):
    member = getattr(montechain, name)
    assert inspect.getdoc(member)
    assert member.__module__.startswith("montechain.")


def test_import_is_light():
    code = """
import importlib, json, pkgutil, sys
import joblib, narwhals, numba, scipy.sparse, sklearn.linear_model, sklearn.svm, sklearn.utils.metadata_routing
before = set(sys.modules)  # scikit-learn itself loads pandas where it is installed
import montechain
added = sorted(set(sys.modules) - before)
import montechain._kernels
from numba.core.registry import CPUDispatcher
kernels = {}
for info in pkgutil.iter_modules(montechain._kernels.__path__):
    module = importlib.import_module(f"montechain._kernels.{info.name}")
    for name, value in vars(module).items():
        if isinstance(value, CPUDispatcher):
            kernels[f"{info.name}.{name}"] = len(value.signatures)
print(json.dumps({"kernels": kernels, "added": added}))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(montechain.__file__).parents[1])}
    environment.pop("NUMBA_DISABLE_JIT", None)
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    result = json.loads(answer.stdout)
    assert result["kernels"], "no kernel was found: the test looks in the wrong place"
    compiled = {name: count for name, count in result["kernels"].items() if count}
    assert not compiled, "compiled at import"
    assert "montechain.chain" in result["added"]
    heavy = {"pandas", "polars", "pyarrow", "matplotlib", "dask", "rich"} & set(result["added"])
    assert not heavy


def test_types_are_published():
    assert (Path(montechain.__file__).parent / "py.typed").exists()
