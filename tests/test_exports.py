"""The public surface, and what importing it costs."""

import ast
import inspect
import json
from pathlib import Path

import pytest

import montechain
from command import run_program


def test_public_names_exist_once_and_are_documented():
    assert len(montechain.__all__) == len(set(montechain.__all__))
    assert set(montechain.__all__) <= set(dir(montechain))
    for name in set(montechain.__all__) - {"METHODS", "metrics"}:
        member = getattr(montechain, name)
        assert inspect.getdoc(member), name
        assert member.__module__.startswith("montechain."), name


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
    assert Path(montechain.__file__).with_name("py.typed").exists()


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'ChainClasifier'"):
        montechain.ChainClasifier  # noqa: B018


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
    result = json.loads(run_program(code, NUMBA_DISABLE_JIT="0").stdout)
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
    assert run_program(code).stdout.split() == []
