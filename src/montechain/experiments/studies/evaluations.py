"""Studies that are methods on folds: what is run, and its cells beside the paper's and MEKA's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from montechain.experiments.evaluation import evaluate
from montechain.experiments.paper import remarks_on
from montechain.experiments.reproduction import complete_cells, greater_is_better
from montechain.experiments.results import DNF, OK
from montechain.experiments.statistics import ranks
from montechain.experiments.studies.base import OnDone, Piece, Setting, Study
from montechain.experiments.studies.store import FinishedOnly

__all__ = ["BASELINE", "Beside", "EvaluationStudy", "Key", "Run", "cells_beside"]

BASELINE = "Majority"
"""Stands in every table and has no rank: it is no method of the paper."""
MISSING = "missing"

Key = tuple[str, str, str]
"""Data set, method, measure."""


@dataclass(frozen=True)
class Run:
    """Methods on the folds of one data set, as for `evaluate`."""

    dataset: str
    methods: Mapping[str, Any] | Sequence[str]
    folds: Any
    n_folds: int


class Beside(NamedTuple):
    """A figure that someone else has for a cell."""

    value: float
    rank: float = np.nan
    note: str = ""


class EvaluationStudy(Study):
    """A study whose work is `evaluate`. A subclass says what is run, and makes its table."""

    least_done: ClassVar[float] = 1.0
    """Share of the folds that must be done for a mean: all of them, unless each is a sample like any other."""

    @abstractmethod
    def runs(self, setting: Setting) -> list[Run]:
        """Return all runs, also those on data sets that are not at hand."""

    def pieces(self, setting: Setting) -> list[Piece]:  # noqa: D102
        return [
            Piece(f"{self.name}: {run.dataset}", len(run.methods) * run.n_folds, _doing(setting, run))
            for run in self.runs(setting)
            if not setting.why_missing(run.dataset)
        ]

    def results(self, setting: Setting, derive: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
        """Return one row for each data set, method and measure: mean, std, n, status and reason.

        Parameters
        ----------
        setting : Setting
        derive : callable
            From a table of measured values, a row per method and fold and a column per measure, to one of those that
            are wanted.
        """
        rows: list[dict[str, Any]] = []
        for run in self.runs(setting):
            why = setting.why_missing(run.dataset)
            found = pd.DataFrame() if why else _finished(setting, run)
            for method in run.methods:
                own = found[found["method"] == method] if len(found) else found
                wide = _wide(own, run.n_folds)
                for measure, values in derive(wide).items():
                    rows.append(
                        {"dataset": run.dataset, "method": method, "measure": str(measure)}
                        | _mean(values.to_numpy(dtype=np.float64), own, run.n_folds, why, self.least_done)
                    )
        return pd.DataFrame(rows)

    def certified(self, setting: Setting) -> dict[tuple[str, str], float]:
        """Return, by data set and method, the mean share of predictions proven to be the best under their model."""
        found = self.results(setting, lambda wide: wide.reindex(columns=["certified"]))
        return {(row["dataset"], row["method"]): row["mean"] for row in found.to_dict("records")}


def cells_beside(
    results: pd.DataFrame,
    table: str,
    published: Mapping[Key, Beside],
    meka: Mapping[Key, Beside] | None = None,
    certified: Mapping[tuple[str, str], float] | None = None,
    *,
    unranked: Iterable[str] = (BASELINE,),
) -> pd.DataFrame:
    """Return the cells of a `Comparison`: our results beside published figures and MEKA's.

    Parameters
    ----------
    results : data frame
        What `EvaluationStudy.results` returned.
    table : str
        The paper's table, for `remarks_on`.
    published, meka : mapping of (data set, method, measure) to Beside
    certified : mapping of (data set, method) to float
    unranked : iterable of str
        Methods that get no rank.
    """
    without_rank = set(unranked)
    cells = results.rename(columns={"mean": "ours", "std": "ours_std"})
    keys = list(zip(cells["dataset"], cells["method"], cells["measure"], strict=True))
    theirs = [published.get(key, Beside(np.nan)) for key in keys]
    measured = [(meka or {}).get(key, Beside(np.nan)) for key in keys]
    # A figure that is not printed needs no remark on it, unless it is about the data.
    known = [remarks_on(table, *key) if key in published else (True, "") for key in keys]
    cells["published"] = [beside.value for beside in theirs]
    cells["published_rank"] = [beside.rank for beside in theirs]
    cells["meka"] = [beside.value for beside in measured]
    cells["certified"] = [(certified or {}).get((dataset, method), np.nan) for dataset, method, _ in keys]
    cells["comparable"] = [comparable for comparable, _ in known]
    cells["note"] = [
        " ".join(filter(None, (text, own.note, other.note)))
        for (_, text), own, other in zip(known, theirs, measured, strict=True)
    ]
    cells["difference"] = (cells["ours"] - cells["published"]).where(cells["comparable"])
    cells["rank"] = np.nan
    ranked = cells[~cells["method"].isin(without_rank)]
    for (_, measure), group in ranked.groupby(["dataset", "measure"], sort=False):
        if len(group) > 1:
            # Rounded, so that means that are equal but for the order of summation are tied.
            own = ranks(
                pd.DataFrame([group["ours"].round(12).to_numpy()]),
                greater_is_better=greater_is_better(str(measure)),
                ties="min",
            )
            cells.loc[group.index, "rank"] = own.to_numpy()[0]
    return complete_cells(cells)


def _doing(setting: Setting, run: Run) -> Callable[[OnDone], None]:
    def do(on_done: OnDone) -> None:
        done: set[tuple[str, int]] = set()

        def on_result(result: Any) -> None:
            before = len(done)
            done.add((result.method, result.fold))
            if len(done) > before:
                on_done(len(done))

        evaluate(
            setting.load(run.dataset), run.methods, folds=run.folds, seed=setting.seed, estimator=setting.estimator,
            store=setting.store, limits=setting.limits, on_result=on_result,
        )  # fmt: skip

    return do


def _finished(setting: Setting, run: Run) -> pd.DataFrame:
    results = evaluate(
        setting.load(run.dataset), run.methods, folds=run.folds, seed=setting.seed, estimator=setting.estimator,
        store=FinishedOnly(setting.path),
    )  # fmt: skip
    return pd.DataFrame([asdict(result) for result in results])


def _wide(own: pd.DataFrame, n_folds: int) -> pd.DataFrame:
    """Return a row per fold and a column per measure, NaN where there is nothing."""
    from montechain.experiments.measures import MEASURES

    if not len(own):
        return pd.DataFrame(np.nan, index=range(n_folds), columns=list(MEASURES))
    return own.pivot(index="fold", columns="measure", values="value").astype("float64").reindex(range(n_folds))


def _mean(values: np.ndarray, own: pd.DataFrame, n_folds: int, why: str, least_done: float) -> dict[str, Any]:
    finite = np.isfinite(values)
    reason, status = why, MISSING
    if not why:
        failed = own[own["status"] == DNF] if len(own) else own
        if len(failed):
            status, reason = DNF, str(failed["reason"].iloc[0])
        elif finite.any() and finite.sum() >= least_done * len(values):
            status = OK
            values = values[finite]
        else:
            n_done = own["fold"].nunique() if len(own) else 0
            reason = f"{n_done} of {n_folds} are done" if n_done < n_folds else "this measure is not defined here"
    finished = status == OK
    return {
        "mean": float(values.mean()) if finished else np.nan,
        "std": float(values.std(ddof=1)) if finished and len(values) > 1 else np.nan,
        "n": int(finite.sum()),
        "status": status,
        "reason": reason,
    }
