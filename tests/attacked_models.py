"""Model files that are changed by attacks: models worth attacking, and nodes of plans."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from montechain import ChainClassifier, ChainPopulationClassifier
from montechain.errors import ModelFileError
from montechain.estimators import (
    ClusteringForestClassifier,
    DependencyNetworkClassifier,
    LabelPowersetClassifier,
    MajorityClassifier,
)
from montechain.persistence import load, save
from tests.saved_models import Node, attributes, data, edited, read_array, write, write_array

CHAIN = ChainClassifier(order=None)
POPULATION = ChainPopulationClassifier(n_chains=2, random_state=0)
POWERSET = LabelPowersetClassifier(random_state=0)
NETWORK = DependencyNetworkClassifier(n_iterations=3, n_collected=2, random_state=0)
FOREST = ClusteringForestClassifier(2, max_depth=2, random_state=0)
MAJORITY = MajorityClassifier()
TREES = {
    "tree": ChainClassifier(DecisionTreeClassifier(max_depth=2), order=None, random_state=0),
    "forest": ChainClassifier(RandomForestClassifier(2, max_depth=2), order=None, random_state=0),
}
BOOSTING = ChainClassifier(GradientBoostingClassifier(n_estimators=2, max_depth=1), order=[1, 0, 2], random_state=0)
HISTOGRAMS = ChainClassifier(
    HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=3, max_bins=8), order=None, random_state=0
)
MACHINES = ChainClassifier(CalibratedClassifierCV(SVC(), cv=2, ensemble=False), order=None)
NEIGHBOURS = ChainClassifier(KNeighborsClassifier(algorithm="brute"), order=None)
WITH_GENERATOR = ChainClassifier(order=None, random_state=np.random.RandomState(0))


@functools.cache
def fitted(model: Any, n_labels: int = 3) -> Any:
    """Return a copy of the model, fitted to the first labels of the example."""
    X, Y = data()
    return clone(model).fit(X, Y[:, :n_labels])


@functools.cache
def saved(model: Any, n_labels: int = 3) -> bytes:
    """Return the file of a copy of the model, fitted to the first labels of the example."""
    with tempfile.TemporaryDirectory() as folder:
        save(fitted(model, n_labels), Path(folder) / "model.mchain")
        return (Path(folder) / "model.mchain").read_bytes()


def refuse(content: bytes, tmp_path: Path, message: str = ".") -> None:
    """Assert that a file is refused as a model."""
    with pytest.raises(ModelFileError, match=message):
        load(write(tmp_path / "attack.mchain", content))


numbers = iter(range(10**9, 10**12))


def node(loader: str, name: str, **fields: Any) -> Node:
    module, _, kind = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": kind, "__id__": next(numbers), **fields}


def plain(value: Any) -> Node:
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def sequence(loader: str, name: str, *parts: Any) -> Node:
    return node(loader, name, content=list(parts))


def dictionary(content: dict[str, Any], name: str = "builtins.dict", kind: str = "builtins.str") -> Node:
    types = sequence("ListNode", "builtins.list", *(node("TypeNode", kind) for _ in content))
    return node("DictNode", name, content=content, key_types=types)


def function(name: str) -> Node:
    return node("FunctionNode", name)


def arguments(*values: Any) -> Node:
    return sequence("TupleNode", "builtins.tuple", *map(plain, values))


def changed_array(content: bytes, path: list[Any], change: Any) -> bytes:
    """Return the file with one array changed; the path goes through attributes, dictionaries and lists."""

    def attack(schema, files):
        found = schema
        for step in path:
            if isinstance(step, int):
                found = found["content"][step]
            elif step.startswith("."):
                found = found["content"][step[1:]]
            else:
                found = attributes(found)[step]
        apply(change, files, found)

    return edited(content, attack)


def apply(change: Any, files: dict[str, bytes], found: Node) -> None:
    """Change an array in place, or put another one in its place."""
    array = read_array(files, found)
    result = change(array)
    write_array(files, found, array if result is None else result)


def put(place: Any, value: Any):
    def change(array):
        array[place] = value

    return change
