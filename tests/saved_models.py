"""Model files for tests: small fitted models of every kind, and files that are changed but have the right checksum."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from montechain import (
    F1,
    Algorithm4,
    AllOrders,
    Beam,
    BeamOrder,
    BranchAndBound,
    ChainClassifier,
    ChainPopulationClassifier,
    EpsilonApproximate,
    ExactMatch,
    Exhaustive,
    Greedy,
    Hamming,
    Insertion,
    Jaccard,
    LogisticLink,
    Mixture,
    MonteCarlo,
    OrderSearch,
    SVMLink,
    Swap,
    TemperedSwap,
    Vote,
)
from montechain.errors import ModelFileError
from montechain.estimators import (
    ClusteringForestClassifier,
    DependencyNetworkClassifier,
    LabelPowersetClassifier,
    MajorityClassifier,
)
from montechain.estimators.table import TableClassifier
from montechain.persistence import MAGIC, load, save


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Three labels with 2, 3 and 2 classes; each depends on x and on the one before it."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    first = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    second = np.digitize(X[:, 1] + first + 0.5 * rng.normal(size=60), [0.0, 1.0])
    third = (second + X[:, 2] > 1).astype(int)
    return X, np.column_stack([first, second, third])


@cache
def table() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same as people have it, with words, text and missing cells, and targets of several types."""
    X, Y = data()
    inputs = pd.DataFrame(X.copy(), columns=["a", "b", "c", "d"])
    inputs.loc[3, "a"] = np.nan
    inputs["river"] = np.array(["A", "M", "O"])[Y[:, 1]]
    inputs["wet"] = Y[:, 0].astype(bool)
    inputs["remarks"] = np.array(["old stone arch", "new steel", "wooden"])[Y[:, 1]]
    targets = pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(Y[:, 1], categories=["low", "mid", "high"], ordered=True),
            "lanes": pd.array(Y[:, 0] + 1, dtype="Int64"),
            "open": pd.array(Y[:, 2].astype(bool), dtype="boolean"),
            "owner": np.array(["city", "state"])[Y[:, 2]],
            "code": Y[:, 0].astype(np.int8),
        }
    )
    return inputs, targets


ESTIMATORS: dict[str, Any] = {
    "AdaBoost": AdaBoostClassifier(n_estimators=2),
    "CalibratedClassifierCV": CalibratedClassifierCV(DecisionTreeClassifier(max_depth=2), method="isotonic", cv=2),
    "Bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2),
    "DecisionTree": DecisionTreeClassifier(max_depth=3),
    "ExtraTrees": ExtraTreesClassifier(2, max_depth=3),
    "FunctionTransformer": make_pipeline(FunctionTransformer(np.abs), DecisionTreeClassifier(max_depth=2)),
    "GaussianNB": GaussianNB(),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4, max_bins=8),
    "LogisticLink": LogisticLink(C=2.0),
    "LogisticRegression": LogisticRegression(),
    "MLP": MLPClassifier((3,), max_iter=300, tol=0.1),
    "RandomForest": RandomForestClassifier(2, max_depth=3),
    "SGD": SGDClassifier(loss="modified_huber"),
    "SVMLink": SVMLink(),
    "SelectKBest": make_pipeline(SelectKBest(k=2), PolynomialFeatures(2), LogisticRegression(max_iter=500)),
    "Voting": VotingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=1))], voting="soft"),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
}
INFERENCES: list[Any] = [
    "greedy", Greedy(), Beam(width=2), EpsilonApproximate(epsilon=0.3), Exhaustive(), BranchAndBound(max_nodes=50),
    MonteCarlo(n_samples=20),
]  # fmt: skip
LOSSES: list[Any] = ["hamming", ExactMatch(), Hamming(), F1(negative=0), Jaccard(negative=0)]
SEARCH = {"n_iterations": 3, "validation": 0.3}
ORDERS: list[Any] = [
    None, [2, 0, 1], AllOrders(), BeamOrder(), OrderSearch(Swap(), **SEARCH),
    OrderSearch(TemperedSwap(), **SEARCH), OrderSearch(Insertion(), **SEARCH),
]  # fmt: skip
COMBINATIONS: list[Any] = ["mixture", Mixture(), Algorithm4(n_orders=3), Vote(), "vote"]


def unfitted() -> Iterator[tuple[str, Any]]:
    """Yield a name and an estimator for arrays, for every choice that there is."""
    for name, estimator in ESTIMATORS.items():
        yield f"estimator {name}", ChainClassifier(estimator, random_state=0)
    for inference in INFERENCES:
        yield f"inference {inference}", ChainClassifier(inference=inference, random_state=0)
    for loss in LOSSES:
        yield f"loss {loss}", ChainClassifier(loss=loss, random_state=0)
    for order in ORDERS:
        yield f"order {order}", ChainClassifier(order=order, random_state=0)
    for combine in COMBINATIONS:
        yield f"combine {combine}", ChainPopulationClassifier(n_chains=2, combine=combine, random_state=0)
    for parents in ("none", "tree", 1, {0: [], 1: [0], 2: [0, 1]}):
        yield f"parents {parents}", ChainClassifier(parents=parents, random_state=0)
    yield "searched population", ChainPopulationClassifier(order=OrderSearch(keep=2, **SEARCH), random_state=0)
    yield "bootstrap", ChainPopulationClassifier(DecisionTreeClassifier(), n_chains=2, bootstrap=True, random_state=0)
    yield "network", DependencyNetworkClassifier(n_iterations=5, n_collected=3, random_state=0)
    yield (
        "network of trees",
        DependencyNetworkClassifier(DecisionTreeClassifier(), n_iterations=5, n_collected=3, random_state=0),
    )
    yield "powerset", LabelPowersetClassifier(random_state=0)
    yield "powerset of machines", LabelPowersetClassifier("svm", random_state=0)
    yield "powerset of trees", LabelPowersetClassifier(DecisionTreeClassifier(), random_state=0)
    yield "forest", ClusteringForestClassifier(3, max_depth=3, random_state=0)
    yield "majority", MajorityClassifier()
    yield "pipeline", make_pipeline(StandardScaler(), ChainClassifier(random_state=0))
    yield "table of numbers", TableClassifier(ChainClassifier(random_state=0))
    yield "random state", ChainClassifier(random_state=np.random.RandomState(3))


class Opened:
    """A model file taken apart: change its parts and arrays, and get a file with the right checksum."""

    def __init__(self, content: bytes):
        self.manifest, parts, arrays = unpacked(content)
        self.parts: list[Any] = json.loads(parts)
        self.root = len(self.parts) - 1
        self.arrays: dict[int, np.ndarray] = {}
        position = 0
        for place, (kind, *about) in enumerate(self.parts):
            if kind == "array":
                flat = np.frombuffer(arrays, about[0], math.prod(about[2:]), position).copy()
                self.arrays[place] = flat.reshape(about[2:], order=about[1])
                position += flat.nbytes

    def _step(self, place: int, step: Any) -> tuple[int, int]:
        """Return the part that holds an attribute, a value or an item of a part, and the index in it."""
        if self.parts[place][0] in ("object", "record"):
            place = self.parts[place][2][0]
        kind, *content = self.parts[place]
        return place, 2 * content[::2].index(step) + 2 if kind == "dict" else step + 1

    def find(self, *path: Any) -> int:
        """Return the place of the part at the end of a path from the model."""
        place = self.root
        for step in path:
            holder, index = self._step(place, step)
            (place,) = self.parts[holder][index]
        return place

    def add(self, *part: Any) -> list[int]:
        """Add a part, and return the reference to it."""
        self.parts.append(list(part))
        return [len(self.parts) - 1]

    def replace(self, child: Any, *path: Any) -> Opened:
        """Put something else at the end of a path. References go backwards, so the parts on the path are repeated."""
        if not isinstance(child, list):
            holder, index = self._step(self.find(*path[:-1]), path[-1])
            self.parts[holder][index] = child
            return self
        for depth in reversed(range(len(path))):
            place = self.find(*path[:depth])
            holder, index = self._step(place, path[depth])
            child = self.add(*self.parts[holder][:index], child, *self.parts[holder][index + 1 :])
            if holder != place:
                child = self.add(*self.parts[place][:2], child)
        (self.root,) = child
        return self

    def attach(self, child: Any) -> Opened:
        """Give the model an attribute named "extra"."""
        kind, name, (state,) = self.parts[self.root]
        (self.root,) = self.add(kind, name, self.add(*self.parts[state], "extra", child))
        return self

    def change(self, change: Callable[[np.ndarray], Any], *path: Any) -> Opened:
        """Change an array in place, or put what `change` returns in its place."""
        place = self.find(*path)
        changed = change(self.arrays[place])
        self.arrays[place] = self.arrays[place] if changed is None else changed
        return self

    def content(self, more: bytes = b"") -> bytes:
        """Return the file, with some bytes after the arrays."""
        for place, array in self.arrays.items():
            self.parts[place] = ["array", array.dtype.str, "C", *array.shape]
        block = b"".join(self.arrays[place].tobytes() for place in sorted(self.arrays))
        return packed(self.manifest, json.dumps(self.parts).encode(), block + more)


def packed(manifest: dict[str, Any], parts: bytes, arrays: bytes, **changes: Any) -> bytes:
    """Return a model file with the right checksum, and with changes of its manifest."""
    digest = hashlib.sha256(parts + arrays).hexdigest()
    header = json.dumps({**manifest, "size": len(parts), "sha256": digest, **changes}).encode()
    return MAGIC + header + b"\n" + parts + arrays


def unpacked(content: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the manifest, the parts and the arrays of a model file."""
    _, header, body = content.split(b"\n", 2)
    manifest = json.loads(header)
    return manifest, body[: manifest["size"]], body[manifest["size"] :]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def refuse(content: bytes, tmp_path: Path, message: str = ".") -> None:
    """Assert that a file is refused as a model."""
    with pytest.raises(ModelFileError, match=message):
        load(write(tmp_path / "attack.mchain", content))


@cache
def fitted(model: Any, n_labels: int = 3) -> Any:
    """Return a copy of the model, fitted to the first labels of the example."""
    X, Y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return clone(model).fit(X, Y[:, :n_labels])


@cache
def saved(model: Any, n_labels: int = 3) -> bytes:
    """Return the file of a copy of the model, fitted to the first labels of the example."""
    with tempfile.TemporaryDirectory() as folder:
        save(fitted(model, n_labels), Path(folder) / "model.mchain")
        return (Path(folder) / "model.mchain").read_bytes()


CHAIN = ChainClassifier(order=None)
POPULATION = ChainPopulationClassifier(n_chains=2, random_state=0)
POWERSET = LabelPowersetClassifier(random_state=0)
NETWORK = DependencyNetworkClassifier(n_iterations=3, n_collected=2, random_state=0)
FOREST = ClusteringForestClassifier(2, max_depth=2, random_state=0)
TREES = ChainClassifier(DecisionTreeClassifier(max_depth=2), order=None, random_state=0)
FORESTS = ChainClassifier(RandomForestClassifier(2, max_depth=2), order=None, random_state=0)
HISTOGRAMS = ChainClassifier(
    HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=3, max_bins=8), order=None, random_state=0
)
