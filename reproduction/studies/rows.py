"""Studies of single rows: whether different searches find the same vectors, and how a vector is found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from montechain import Dataset, Exhaustive, TableClassifier, make_method
from montechain.evaluation import Job, LabelStratifiedKFold, fingerprint, fold_seed
from reproduction.studies.base import Outcome, Setting, Study
from reproduction.studies.methods import CROSS_VALIDATED
from reproduction.tables import Findings, Table, complete_cells

__all__ = ["Agreement", "AgreementWork", "ExampleWork", "Examples", "explored_tree"]

PAIRS = {
    "enumeration": "PCC by enumeration and by branch and bound",
    "sampling": "MCC (T_y = 100) and PCC by branch and bound",
}
MAX_NODES = 60
"""Approximate number of nodes of a tree to show."""


@dataclass(frozen=True)
class Agreement(Study):
    """PCC by exhaustive enumeration and by branch and bound, and MCC, all with one chain on the same folds."""

    name: ClassVar[str] = "agreement"

    datasets: tuple[str, ...] = CROSS_VALIDATED
    n_folds: int = 5

    def jobs(self, setting: Setting) -> list[Job]:  # noqa: D102
        jobs = []
        for name in self.datasets:
            if setting.why_missing(name):
                continue
            data, estimator, seed = setting.load(name), setting.estimator, setting.seed
            identity = {"study": self.name, "data": fingerprint(data), "estimator": estimator, "seed": seed}
            for fold in range(self.n_folds):
                jobs.append(
                    Job(
                        identity | {"dataset": name, "fold": fold, "n_folds": self.n_folds},
                        AgreementWork(data, estimator, seed, fold, self.n_folds).run,
                    )
                )
        return jobs

    def collect(self, setting: Setting, done: Sequence[tuple[Any, Outcome]]) -> Findings:  # noqa: D102
        rows = []
        for name in self.datasets:
            own = [outcome for job, outcome in done if job.identity["dataset"] == name and outcome is not None]
            for pair, title in PAIRS.items():
                cell = {"dataset": name, "method": title, "measure": "agreeing"}
                rows.append(cell | _shares(own, pair, self.n_folds, setting.why_missing(name)))
        caption = (
            "Share of the test rows, over all folds, in which both find the same label vector or two that are equally "
            f"probable, under the same chain. Enumeration is limited to {Exhaustive().max_vectors:,} vectors a row."
        )
        return Findings([Table("agreement", "Do they find the same vectors?", caption, complete_cells(rows))])


def _shares(own: list[Any], pair: str, n_folds: int, why: str) -> dict[str, Any]:
    reasons = [one["reason"] if one["status"] == "DNF" else one["values"][pair].get("reason") for one in own]
    failed = [reason for reason in reasons if reason]
    if why or failed or len(own) < n_folds:
        reason = why or (failed[0] if failed else f"{len(own)} of {n_folds} folds are done")
        return {"status": "DNF" if failed else "missing", "reason": reason}
    n_rows = sum(one["values"]["rows"] for one in own)
    certified = sum(one["values"]["certified"] for one in own) / n_rows
    return {"ours": sum(one["values"][pair]["equal"] for one in own) / n_rows, "n": n_rows, "certified": certified}


@dataclass(frozen=True)
class AgreementWork:
    """One chain and three ways to find its most probable vector."""

    dataset: Dataset
    estimator: str
    seed: int
    fold: int
    n_folds: int

    def run(self) -> dict[str, Any]:
        """Return the number of rows, of certified ones, and of those on which the ways agree."""
        model, _, test = _fitted(self.dataset, self.estimator, self.seed, self.fold, self.n_folds)
        exact = model.decide(test.X)
        found: dict[str, Any] = {"rows": len(exact.log_proba), "certified": int(np.sum(exact.certified))}
        n_vectors = math.prod(len(classes) for classes in model.classifier_.classes_)
        for pair, inference in {"enumeration": Exhaustive(), "sampling": make_method("MCC").inference}.items():
            if pair == "enumeration" and n_vectors > Exhaustive().max_vectors:
                found[pair] = {"reason": f"there are {n_vectors:.3g} label vectors"}
                continue
            model.classifier_.inference = inference
            other = model.decide(test.X)
            same = (other.labels.to_numpy() == exact.labels.to_numpy()).all(axis=1)
            equal = same | (np.abs(other.log_proba - exact.log_proba) <= 1e-9)
            found[pair] = {"same": int(same.sum()), "equal": int(equal.sum())}
        return found


def _fitted(dataset: Dataset, estimator: str, seed: int, fold: int, n_folds: int) -> tuple[Any, np.ndarray, Dataset]:
    """Return PCC fitted to the training part of a fold, the numbers of the test rows, and the test part."""
    folds = LabelStratifiedKFold(n_folds, random_state=seed)
    train, test = list(folds.split(dataset.X, dataset.Y))[fold]
    method = make_method("PCC", estimator, random_state=fold_seed(seed, fingerprint(dataset), fold))
    learned = dataset.take(train)
    return TableClassifier(method).fit(learned.X, learned.Y), test, dataset.take(test)


@dataclass(frozen=True)
class Examples(Study):
    """Rows of the first test fold, from the most certain to the most doubtful, with their best vectors and trees."""

    name: ClassVar[str] = "examples"

    datasets: tuple[str, ...] = ("music", "bridges")
    n_rows: int = 8
    n_top: int = 5

    def jobs(self, setting: Setting) -> list[Job]:  # noqa: D102
        jobs = []
        for name in self.datasets:
            if not setting.why_missing(name):
                data, estimator, seed = setting.load(name), setting.estimator, setting.seed
                identity = {"study": self.name, "data": fingerprint(data), "estimator": estimator, "seed": seed}
                work = ExampleWork(data, estimator, seed, self.n_rows, self.n_top)
                jobs.append(Job(identity | {"n_rows": self.n_rows, "n_top": self.n_top}, work.run))
        return jobs

    def collect(self, setting: Setting, done: Sequence[tuple[Any, Outcome]]) -> Findings:  # noqa: D102
        finished = [outcome for _, outcome in done if outcome is not None and outcome["status"] == "ok"]
        return Findings(examples=[example for outcome in finished for example in outcome["values"]["examples"]])


@dataclass(frozen=True)
class ExampleWork:
    """A chain learned from four of five folds, and some rows of the fifth."""

    dataset: Dataset
    estimator: str
    seed: int
    n_rows: int
    n_top: int

    def run(self) -> dict[str, Any]:
        """Return ``examples``: names, order, classes and truth; the ``top`` vectors; the ``tree`` of decisions."""
        model, numbers, test = _fitted(self.dataset, self.estimator, self.seed, 0, 5)
        places = np.linspace(0, len(numbers) - 1, min(self.n_rows, len(numbers))).round().astype(int)
        rows = np.argsort(-model.decide(test.X).proba, kind="stable")[places]
        chosen = test.take(rows)
        top = model.predict_top_k(chosen.X, self.n_top)
        encoded = model.encoder_.transform(chosen.X)
        chain = model.classifier_.chain_
        found = []
        for i, row in enumerate(rows.tolist()):
            vectors = zip(np.asarray(top.labels[i]), top.proba[i], strict=True)
            found.append(
                {
                    "dataset": self.dataset.name,
                    "row": int(numbers[row]),
                    "labels": [str(name) for name in self.dataset.label_names],
                    "order": [int(label) for label in chain.order],
                    "classes": [[str(value) for value in classes] for classes in model.classifier_.classes_],
                    "truth": [None if pd.isna(value) else str(value) for value in chosen.Y.iloc[i]],
                    "top": [[[str(value) for value in labels], float(p)] for labels, p in vectors if p > 0.0],
                    "certified": bool(top.certified[i]),
                    "tree": explored_tree(chain, encoded.iloc[[i]] if hasattr(encoded, "iloc") else encoded[[i]]),
                }
            )
        return {"examples": found}


def explored_tree(chain: Any, x: Any, max_nodes: int = MAX_NODES) -> list[list[Any]]:
    """Return the prefixes that branch and bound looks at in one row, the most probable child first.

    A prefix that is less probable than a complete vector already found is a leaf: nothing below it can be better.

    Parameters
    ----------
    chain : Chain
    x : array, CSR array or data frame of one row
    max_nodes : int, default=60
        Approximate number of nodes to return; those that lead to the best vector are always included.

    Returns
    -------
    list of [prefix, probability, leads to the best vector]
        A prefix holds the class codes of the first labels of the chain. Parents come before their children.
    """
    seen: dict[tuple[int, ...], float] = {}
    best: tuple[int, ...] = ()
    best_log = -np.inf
    waiting: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    while waiting:
        prefix, log_proba = waiting.pop()
        if log_proba <= best_log:
            continue
        if len(prefix) == chain.n_labels:
            best, best_log = prefix, log_proba
            continue
        own = np.asarray(chain.conditional(x, np.array([prefix], dtype=np.int32).reshape(1, -1)))[0]
        children = [((*prefix, code), log_proba + float(value)) for code, value in enumerate(own)]
        seen.update({child: float(np.exp(value)) for child, value in children})
        waiting += sorted(children, key=lambda child: child[1])
    path = {best[: depth + 1] for depth in range(len(best))}
    # Siblings stay together, so that the probabilities below a node add up to its own.
    kept: dict[tuple[int, ...], float] = {}
    for prefix, proba in seen.items():
        if prefix[:-1] in path or len(prefix) == 1 or (len(kept) < max_nodes and prefix[:-1] in kept):
            kept[prefix] = proba
    return [[list(prefix), proba, prefix in path] for prefix, proba in kept.items()]
