"""Model files for tests: small fitted models of every kind, and files changed with their checksum made right again."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
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
    LocalSwap,
    LogisticLink,
    Metropolis,
    Mixture,
    MonteCarlo,
    OrderSearch,
    SubsetOrder,
    SVMLink,
    Swap,
    TemperedSwap,
    Vote,
)
from montechain.estimators import (
    ClusteringForestClassifier,
    DependencyNetworkClassifier,
    LabelPowersetClassifier,
    MajorityClassifier,
)
from montechain.estimators.table import TableClassifier
from montechain.ordering.acceptance import NotWorse, Strict

Node = dict[str, Any]


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
    inputs = pd.DataFrame(X, columns=["a", "b", "c", "d"])
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
    "Bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2),
    "CalibratedClassifierCV": CalibratedClassifierCV(SVC(), cv=2),
    "DecisionTree": DecisionTreeClassifier(max_depth=3),
    "ExtraTrees": ExtraTreesClassifier(2, max_depth=3),
    "FunctionTransformer": make_pipeline(FunctionTransformer(np.abs), DecisionTreeClassifier(max_depth=2)),
    "GaussianNB": GaussianNB(),
    "GradientBoosting": GradientBoostingClassifier(n_estimators=2, max_depth=2),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=4, max_bins=8),
    "KNeighbors": KNeighborsClassifier(algorithm="brute"),
    "LogisticLink": LogisticLink(C=2.0),
    "LogisticRegression": LogisticRegression(),
    "MLP": MLPClassifier((3,), max_iter=300, tol=0.1),
    "RandomForest": RandomForestClassifier(2, max_depth=3),
    "SGD": SGDClassifier(loss="modified_huber"),
    "SVC": CalibratedClassifierCV(SVC(kernel="poly", degree=2), method="isotonic", cv=2),
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
    None, [2, 0, 1], AllOrders(), BeamOrder(), SubsetOrder(), OrderSearch(Swap(), **SEARCH),
    OrderSearch(LocalSwap(), acceptance=Strict(), **SEARCH),
    OrderSearch(TemperedSwap(), acceptance=Metropolis(), **SEARCH),
    OrderSearch(Insertion(), acceptance=NotWorse(), **SEARCH),
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
    yield "majority by label", MajorityClassifier("label")
    yield "pipeline", make_pipeline(StandardScaler(), ChainClassifier(random_state=0))
    yield "table of numbers", TableClassifier(ChainClassifier(random_state=0))
    yield "random state", ChainClassifier(random_state=np.random.RandomState(3))


def entries_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def with_payload(content: bytes, payload: bytes) -> bytes:
    """Return a model file with another payload, and the manifest that belongs to it."""
    manifest = json.loads(entries_of(content)["manifest.json"])
    manifest["payload"] = {
        "name": "model.skops",
        "size": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    return zipped({"manifest.json": json.dumps(manifest).encode(), "model.skops": payload})


def edited(content: bytes, change: Callable[[Node, dict[str, bytes]], Any]) -> bytes:
    """Return a model file whose plan and arrays were changed by ``change(schema, files)``, with the right checksum."""
    files = entries_of(entries_of(content)["model.skops"])
    schema = json.loads(files.pop("schema.json"))
    changed = change(schema, files)
    if isinstance(changed, dict):
        schema = changed
    return with_payload(content, zipped({"schema.json": json.dumps(schema).encode(), **files}))


def attributes(node: Node) -> dict[str, Node]:
    """Return the nodes of an object's attributes."""
    return node["content"]["content"]


def read_array(files: dict[str, bytes], node: Node) -> np.ndarray:
    return np.load(io.BytesIO(files[node["file"]]), allow_pickle=False)


def write_array(files: dict[str, bytes], node: Node, array: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    files[node["file"]] = buffer.getvalue()


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
