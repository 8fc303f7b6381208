"""Whether the ways of finding the most probable vector agree, row by row, under the same chain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from montechain.datasets.dataset import Dataset
from montechain.experiments.folds import LabelStratifiedKFold
from montechain.experiments.measures import warm_up
from montechain.experiments.reproduction import Comparison, complete_cells
from montechain.experiments.results import DNF, OK, Measurement, Outcome, Unit, fingerprint, unit_seed
from montechain.experiments.studies.accuracy import CROSS_VALIDATED
from montechain.experiments.studies.base import Findings, OnDone, Piece, Setting, Study
from montechain.experiments.studies.units import Job, named_estimator, unit_for, work_off
from montechain.inference import Exhaustive
from montechain.methods import make_method

__all__ = ["Agreement"]

PAIRS = {
    "enumeration": "PCC by enumeration and by branch and bound",
    "sampling": "MCC (T_y = 100) and PCC by branch and bound",
}
MEASURES = ["rows", "certified_rows", *(f"{pair}_{what}" for pair in PAIRS for what in ("same", "equal"))]
MAX_VECTORS = Exhaustive().max_vectors
TIGHT = 1e-9
"""Log-probabilities closer than this are equal but for rounding."""


@dataclass(frozen=True)
class Agreement(Study):
    """PCC by exhaustive enumeration and by branch and bound, and MCC, all with one chain on the same folds.

    Parameters
    ----------
    datasets : tuple of str
    n_folds : int
    """

    name: ClassVar[str] = "agreement"

    datasets: tuple[str, ...] = CROSS_VALIDATED
    n_folds: int = 5

    def pieces(self, setting: Setting) -> list[Piece]:  # noqa: D102
        def doing(name: str) -> Callable[[OnDone], None]:
            return lambda on_done: work_off(setting.store, self._jobs(setting, name), setting.limits, on_done)

        return [
            Piece(f"{self.name}: {name}", self.n_folds, doing(name))
            for name in self.datasets
            if not setting.why_missing(name)
        ]

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        rows: list[dict[str, Any]] = []
        for name in self.datasets:
            why = setting.why_missing(name)
            if why:
                rows += [
                    {"dataset": name, "method": title, "measure": "agreeing", "status": "missing", "reason": why}
                    for title in PAIRS.values()
                ]
                continue
            store = setting.store
            found = [{row.measure: row for row in store.results(job.unit)} for job in self._jobs(setting, name)]
            rows += [_cell(name, pair, [fold for fold in found if fold], self.n_folds) for pair in PAIRS]
        caption = (
            "Share of the test rows, over all folds, in which both find the same label vector or two that are equally "
            f"probable; the chain is the same. Enumeration goes through at most {MAX_VECTORS:,} vectors a row."
        )
        cells = complete_cells(pd.DataFrame(rows))
        for column in ("rows", "agreeing", "same_vector", "certified_rows"):
            cells[column] = cells.get(column, np.nan)
        return Findings([Comparison("agreement", "Do they find the same vectors?", caption, cells)])

    def _jobs(self, setting: Setting, name: str) -> list[Job]:
        dataset, estimator = setting.load(name), setting.estimator
        folds = LabelStratifiedKFold(self.n_folds, random_state=setting.seed)
        protocol = {"folds": " ".join(repr(folds).split())}
        parameters = {"estimator": named_estimator(estimator), "n_samples": 100}

        def work(fold: int) -> Callable[[], AgreementWork]:
            def make() -> AgreementWork:
                train, test = list(folds.split(dataset.X, dataset.Y))[fold]
                seed = unit_seed(setting.seed, fingerprint(dataset), fold)
                return AgreementWork(dataset.take(train), dataset.take(test), estimator, seed)

            return make

        def unit(fold: int) -> Unit:
            return unit_for(dataset, "agreement", parameters, protocol=protocol, fold=fold, seed=setting.seed)

        return [Job(unit(fold), work(fold), MEASURES) for fold in range(self.n_folds)]


@dataclass(frozen=True)
class AgreementWork:
    """One chain, and three ways of asking it."""

    train: Dataset
    test: Dataset
    estimator: Any
    seed: int
    measures: list[str] = field(default_factory=lambda: list(MEASURES))

    def prepare(self) -> None:
        """Compile what will be called."""
        warm_up(make_method("PCC", self.estimator))

    def run(self) -> Outcome:
        """Count the rows in which they agree."""
        from montechain.estimators.table import TableClassifier

        model = TableClassifier(make_method("PCC", self.estimator, random_state=self.seed))
        model.fit(self.train.X, self.train.Y)
        exact = model.decide(self.test.X)
        found = [
            Measurement("rows", float(len(exact.log_proba))),
            Measurement("certified_rows", float(np.sum(exact.certified))),
        ]
        ways = {"enumeration": Exhaustive(), "sampling": make_method("MCC").inference}
        for pair, inference in ways.items():
            n_vectors = math.prod(len(classes) for classes in model.classifier_.classes_)
            if pair == "enumeration" and n_vectors > MAX_VECTORS:
                why = f"there are {n_vectors:.3g} label vectors"
                found += [Measurement(f"{pair}_{what}", None, DNF, why) for what in ("same", "equal")]
                continue
            model.classifier_.inference = inference
            other = model.decide(self.test.X)
            same = (other.labels.to_numpy() == exact.labels.to_numpy()).all(axis=1)
            equal = same | (np.abs(other.log_proba - exact.log_proba) <= TIGHT)
            found += [
                Measurement(f"{pair}_same", float(same.sum())),
                Measurement(f"{pair}_equal", float(equal.sum())),
            ]
        return Outcome(found)


def _cell(dataset: str, pair: str, folds: list[dict[str, Any]], n_folds: int) -> dict[str, Any]:
    cell: dict[str, Any] = {"dataset": dataset, "method": PAIRS[pair], "measure": "agreeing"}
    failed = [fold[f"{pair}_equal"] for fold in folds if fold[f"{pair}_equal"].status != OK]
    if failed:
        return {**cell, "status": DNF, "reason": failed[0].reason}
    if len(folds) < n_folds:
        return {**cell, "status": "missing", "reason": f"{len(folds)} of {n_folds} are done"}
    rows, certified, same, equal = (
        sum(fold[name].value for fold in folds) for name in ("rows", "certified_rows", f"{pair}_same", f"{pair}_equal")
    )
    counts = {"rows": rows, "agreeing": equal, "same_vector": same, "certified_rows": certified}
    return {**cell, "ours": equal / rows, "n": int(rows), "status": OK, **counts}
