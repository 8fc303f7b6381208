"""Model files for tests: small fitted models of every kind, and files that are changed but have the right checksum."""

import hashlib
import json
import math
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import montechain as mc
from montechain.persistence import MAGIC


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
    "AdaBoost": ensemble.AdaBoostClassifier(n_estimators=2),
    "CalibratedClassifierCV": CalibratedClassifierCV(DecisionTreeClassifier(max_depth=2), method="isotonic", cv=2),
    "Bagging": ensemble.BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2),
    "DecisionTree": DecisionTreeClassifier(max_depth=3),
    "ExtraTrees": ensemble.ExtraTreesClassifier(2, max_depth=3),
    "FunctionTransformer": make_pipeline(FunctionTransformer(np.abs), DecisionTreeClassifier(max_depth=2)),
    "GaussianNB": GaussianNB(),
    "HistGradientBoosting": ensemble.HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4, max_bins=8),
    "LogisticLink": mc.LogisticLink(C=2.0),
    "LogisticRegression": LogisticRegression(),
    "MLP": MLPClassifier((3,), max_iter=300, tol=0.1),
    "RandomForest": ensemble.RandomForestClassifier(2, max_depth=3),
    "SGD": SGDClassifier(loss="modified_huber"),
    "SVMLink": mc.SVMLink(),
    "SelectKBest": make_pipeline(SelectKBest(k=2), PolynomialFeatures(2), LogisticRegression(max_iter=500)),
    "Voting": ensemble.VotingClassifier(
        [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=1))], voting="soft"
    ),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
}
SEARCH = {"n_iterations": 3, "validation": 0.3}
CHOICES: dict[str, list[Any]] = {
    "inference": [
        "greedy", mc.Greedy(), mc.Beam(width=2), mc.EpsilonApproximate(epsilon=0.3), mc.Exhaustive(),
        mc.BranchAndBound(max_nodes=50), mc.MonteCarlo(n_samples=20),
    ],
    "loss": ["hamming", mc.ExactMatch(), mc.Hamming(), mc.F1(negative=0), mc.Jaccard(negative=0)],
    "order": [
        None, [2, 0, 1], mc.AllOrders(), mc.BeamOrder(),
        *(mc.OrderSearch(proposal, **SEARCH) for proposal in (mc.Swap(), mc.TemperedSwap())),
    ],
    "parents": ["none", "tree", 1, {0: [], 1: [0], 2: [0, 1]}],
}  # fmt: skip
COMBINATIONS: list[Any] = ["mixture", mc.Mixture(), mc.Algorithm4(n_orders=3), mc.Vote(), "vote"]


def unfitted() -> Iterator[tuple[str, Any]]:
    """Yield a name and an estimator for arrays, for every choice that there is."""
    chain, population = (
        partial(mc.ChainClassifier, random_state=0),
        partial(mc.ChainPopulationClassifier, random_state=0),
    )
    network = partial(mc.DependencyNetworkClassifier, n_iterations=5, n_collected=3, random_state=0)
    for name, estimator in ESTIMATORS.items():
        yield f"estimator {name}", chain(estimator)
    for name, choices in CHOICES.items():
        for choice in choices:
            yield f"{name} {choice}", chain(**{name: choice})
    for combine in COMBINATIONS:
        yield f"combine {combine}", population(n_chains=2, combine=combine)
    yield "searched population", population(order=mc.OrderSearch(keep=2, **SEARCH))
    yield "bootstrap", population(DecisionTreeClassifier(), n_chains=2, bootstrap=True)
    yield "network", network()
    yield "network of trees", network(DecisionTreeClassifier())
    for name, estimator in {"": None, " of machines": "svm", " of trees": DecisionTreeClassifier()}.items():
        yield f"powerset{name}", mc.LabelPowersetClassifier(estimator, random_state=0)
    yield "forest", mc.ClusteringForestClassifier(3, max_depth=3, random_state=0)
    yield "majority", mc.MajorityClassifier()
    yield "pipeline", make_pipeline(StandardScaler(), chain())
    yield "table of numbers", mc.TableClassifier(chain())
    yield "random state", mc.ChainClassifier(random_state=np.random.RandomState(3))


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

    def replace(self, child: Any, *path: Any) -> Self:
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

    def attach(self, child: Any) -> Self:
        """Give the model an attribute named "extra"."""
        kind, name, (state,) = self.parts[self.root]
        (self.root,) = self.add(kind, name, self.add(*self.parts[state], "extra", child))
        return self

    def change(self, change: Callable[[np.ndarray], Any], *path: Any) -> Self:
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
    return MAGIC + header + b"\n" + zlib.compress(parts + arrays, level=1)


def unpacked(content: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the manifest, the parts and the arrays of a model file."""
    _, header, body = content.split(b"\n", 2)
    manifest, body = json.loads(header), zlib.decompress(body)
    return manifest, body[: manifest["size"]], body[manifest["size"] :]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def refuse(content: bytes, tmp_path: Path, message: str = ".") -> None:
    """Assert that a file is refused as a model."""
    with pytest.raises(mc.ModelFileError, match=message):
        mc.load(write(tmp_path / "attack.mchain", content))


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
        mc.save(fitted(model, n_labels), Path(folder) / "model.mchain")
        return (Path(folder) / "model.mchain").read_bytes()


CHAIN = mc.ChainClassifier(order=None)
POPULATION = mc.ChainPopulationClassifier(n_chains=2, random_state=0)
POWERSET = mc.LabelPowersetClassifier(random_state=0)
NETWORK = mc.DependencyNetworkClassifier(n_iterations=3, n_collected=2, random_state=0)
FOREST = mc.ClusteringForestClassifier(2, max_depth=2, random_state=0)
TREES = mc.ChainClassifier(DecisionTreeClassifier(max_depth=2), order=None, random_state=0)
FORESTS = mc.ChainClassifier(ensemble.RandomForestClassifier(2, max_depth=2), order=None, random_state=0)
HISTOGRAMS = mc.ChainClassifier(
    ensemble.HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=3, max_bins=8), order=None, random_state=0
)
LIGHT = [CHAIN, POPULATION, POWERSET, NETWORK]
HEAVY = [FOREST, TREES, FORESTS, HISTOGRAMS]
"""Their files are larger."""
