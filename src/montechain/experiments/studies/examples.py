"""A few rows in full: their most probable vectors, and the tree of decisions that leads there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from montechain.chain import ChainBase
from montechain.datasets.dataset import Dataset
from montechain.experiments.folds import LabelStratifiedKFold
from montechain.experiments.reproduction import Example
from montechain.experiments.results import Measurement, Outcome, Unit, unit_seed
from montechain.experiments.studies.base import Findings, OnDone, Piece, Setting, Study
from montechain.experiments.studies.store import StudyStore
from montechain.experiments.studies.units import Job, named_estimator, unit_for, work_off
from montechain.methods import make_method

__all__ = ["Examples", "explored_tree"]

MEASURES = ["document"]
MAX_NODES = 60


@dataclass(frozen=True)
class Examples(Study):
    """Rows of the first test fold, from the surest to the most doubtful.

    Parameters
    ----------
    datasets : tuple of str
    n_rows, n_top : int
        So many rows of each, with so many vectors.
    """

    name: ClassVar[str] = "examples"

    datasets: tuple[str, ...] = ("music", "bridges")
    n_rows: int = 8
    n_top: int = 5

    def pieces(self, setting: Setting) -> list[Piece]:  # noqa: D102
        def doing(name: str) -> Callable[[OnDone], None]:
            return lambda on_done: work_off(setting.store, [self._job(setting, name)], setting.limits, on_done)

        return [
            Piece(f"{self.name}: {name}", 1, doing(name)) for name in self.datasets if not setting.why_missing(name)
        ]

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        store = setting.store
        found: list[Example] = []
        for name in self.datasets:
            if not setting.why_missing(name):
                content = store.document(self._job(setting, name).unit) or []
                found += [
                    Example(**{**parts, "top": [(labels, proba) for labels, proba in parts["top"]]})
                    for parts in content
                ]
        return Findings(examples=found)

    def _job(self, setting: Setting, name: str) -> Job:
        dataset = setting.load(name)
        parameters = {"estimator": named_estimator(setting.estimator), "n_rows": self.n_rows, "n_top": self.n_top}
        unit = unit_for(dataset, "examples", parameters, protocol={"folds": 5}, fold=0, seed=setting.seed)
        path, estimator = Path(setting.path), setting.estimator
        return Job(unit, lambda: ExampleWork(dataset, unit, estimator, path, self.n_rows, self.n_top), MEASURES)


@dataclass(frozen=True)
class ExampleWork:
    """A chain learned from four of five folds, and some rows of the fifth."""

    dataset: Dataset
    unit: Unit
    estimator: Any
    path: Path
    n_rows: int
    n_top: int
    measures: list[str] = field(default_factory=lambda: list(MEASURES))

    def prepare(self) -> None:
        """Nothing is timed, so nothing is compiled beforehand."""

    def run(self) -> Outcome:
        """Write down the examples."""
        from montechain.estimators.table import TableClassifier

        dataset, seed = self.dataset, self.unit.seed
        folds = LabelStratifiedKFold(5, random_state=seed)
        train, test = next(iter(folds.split(dataset.X, dataset.Y)))
        method = make_method("PCC", self.estimator, random_state=unit_seed(seed, self.unit.fingerprint, 0))
        learned, asked = dataset.take(train), dataset.take(test)
        model = TableClassifier(method).fit(learned.X, learned.Y)
        proba = model.decide(asked.X).proba
        # From the surest to the most doubtful, at even steps.
        places = np.linspace(0, len(test) - 1, min(self.n_rows, len(test))).round().astype(int)
        rows = np.argsort(-proba, kind="stable")[places]
        top = model.predict_top_k(_safe_indexing(asked.X, rows), self.n_top)
        encoded = model.encoder_.transform(asked.X)
        chain = model.classifier_.chain_
        content = [
            {
                "dataset": dataset.name,
                "row": int(test[row]),
                "label_names": [str(name) for name in dataset.label_names],
                "order": [int(label) for label in chain.order],
                "classes": [[str(value) for value in classes] for classes in model.classifier_.classes_],
                "truth": [None if pd.isna(value) else str(value) for value in asked.Y.iloc[row]],
                "top": [
                    ([str(value) for value in labels], float(p))
                    for labels, p in zip(np.asarray(top.labels[number]), top.proba[number], strict=True)
                    if p > 0.0
                ],
                "certified": bool(top.certified[number]),
                "tree": explored_tree(chain, _safe_indexing(encoded, [row])),
            }
            for number, row in enumerate(rows.tolist())
        ]
        StudyStore(self.path).write_document(self.unit, content)
        return Outcome([Measurement("document", 1.0)])


def explored_tree(chain: ChainBase, x: Any, max_nodes: int = MAX_NODES) -> list[dict[str, Any]]:
    """Return the prefixes that branch and bound looks at in one row, the most probable child first.

    A prefix that is less probable than a complete vector already found is a leaf: nothing below it can be better.

    Parameters
    ----------
    chain : ChainBase
    x : array, CSR matrix or data frame of one row
    max_nodes : int, default=60
        About so many are returned; those on the way to the best vector are always among them.

    Returns
    -------
    list of dict
        With ``prefix``, ``probability`` and ``best``; parents before their children.

    Examples
    --------
    >>> class Coins(ChainBase):
    ...     n_classes, parents = (2, 2), ((), (0,))
    ...     def conditional(self, X, prefix):
    ...         return np.log([[0.75, 0.25]] if prefix.shape[1] == 0 else [[0.6, 0.4]])
    >>> [(node["prefix"], round(node["probability"], 2), node["best"]) for node in explored_tree(Coins(), None)]
    [([0], 0.75, True), ([1], 0.25, False), ([0, 0], 0.45, True), ([0, 1], 0.3, False)]
    """
    seen: dict[tuple[int, ...], float] = {}
    best: tuple[int, ...] = ()
    best_log = -np.inf
    open_: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    while open_:
        prefix, log_proba = open_.pop()
        if log_proba <= best_log:
            continue
        if len(prefix) == chain.n_labels:
            best, best_log = prefix, log_proba
            continue
        own = np.asarray(chain.conditional(x, np.array([prefix], dtype=np.int32).reshape(1, -1)))[0]
        children = [((*prefix, code), log_proba + float(value)) for code, value in enumerate(own)]
        seen.update({child: float(np.exp(value)) for child, value in children})
        open_ += sorted(children, key=lambda child: child[1])
    path = {best[: depth + 1] for depth in range(len(best))}
    # Siblings stay together, so that the probabilities below a node add up to its own.
    kept: dict[tuple[int, ...], float] = {}
    for prefix, proba in seen.items():
        is_near_path = prefix[:-1] in path or len(prefix) == 1
        if is_near_path or (len(kept) < max_nodes and (prefix[:-1] in kept)):
            kept[prefix] = proba
    return [{"prefix": list(prefix), "probability": proba, "best": prefix in path} for prefix, proba in kept.items()]
