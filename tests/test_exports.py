"""The public surface, and what importing it costs."""

from __future__ import annotations

import ast
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
    "ChainPopulationClassifier",
    "ClusteringForestClassifier",
    "DataError",
    "Dataset",
    "Decision",
    "DependencyNetworkClassifier",
    "EpsilonApproximate",
    "ExactMatch",
    "Exhaustive",
    "F1",
    "Greedy",
    "Hamming",
    "Jaccard",
    "LabelPowersetClassifier",
    "LogisticLink",
    "MajorityClassifier",
    "ModelFileError",
    "MonteCarlo",
    "MontechainError",
    "OutputError",
    "SVMLink",
    "TableClassifier",
    "TableEncoder",
    "TopK",
    "load",
    "load_digits_facts",
    "make_method",
    "metrics",
    "read_dataset",
    "save",
}


def test_public_names():
    assert set(montechain.__all__) >= PUBLIC
    assert all(hasattr(montechain, name) for name in montechain.__all__)
    assert len(montechain.__all__) == len(set(montechain.__all__))
    assert set(montechain.__all__) <= set(dir(montechain))


def test_names_are_loaded_from_where_type_checkers_look():
    source = Path(montechain.__file__).read_text(encoding="utf-8")
    for_checkers = {
        alias.name: node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("montechain")
        for alias in node.names
    }
    loaded = {**montechain._MODULE_OF, "metrics": "montechain"}
    assert for_checkers == loaded
    assert set(loaded) == set(montechain.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'ChainClasifier'"):
        montechain.ChainClasifier  # noqa: B018


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
montechain.ChainClassifier
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
    heavy = {"pandas", "polars", "pyarrow", "matplotlib", "dask", "rich", "typer", "skops"} & set(result["added"])
    assert not heavy


def test_help_does_not_wait_for_the_libraries():
    code = """
import sys
import montechain.cli.app
print(*sorted({"numpy", "numba", "sklearn", "pandas", "scipy", "skops"} & set(sys.modules)))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(montechain.__file__).parents[1])}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def test_types_are_published():
    assert (Path(montechain.__file__).parent / "py.typed").exists()
