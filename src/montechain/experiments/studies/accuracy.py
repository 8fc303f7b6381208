"""Exact match and Hamming score by 5-fold cross-validation: nine methods on eleven data sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from montechain.experiments.folds import LabelStratifiedKFold
from montechain.experiments.paper import meka_figures, published_figures
from montechain.experiments.reproduction import Comparison
from montechain.experiments.studies.base import Findings, Setting
from montechain.experiments.studies.evaluations import BASELINE, Beside, EvaluationStudy, Key, Run, cells_beside
from montechain.experiments.studies.significance import significance

__all__ = ["CROSS_VALIDATED", "METHODS", "Accuracy", "meka_scores", "published_cells"]

METHODS = ("IC", "CC", "PCC", "ECC", "CDN", "MCC", "MsCC", "PMsCC", "PtMsCC")
CROSS_VALIDATED = (
    "solar_flare", "bridges", "parkinsons", "thyroid", "music", "scene", "yeast", "genbase", "medical", "enron",
    "reuters",
)  # fmt: skip
MEASURES = ("exact_match", "hamming_score")


@dataclass(frozen=True)
class Accuracy(EvaluationStudy):
    """The paper's main table.

    Parameters
    ----------
    datasets, methods : tuple of str
    n_folds : int
    """

    name: ClassVar[str] = "accuracy"

    datasets: tuple[str, ...] = CROSS_VALIDATED
    methods: tuple[str, ...] = METHODS
    n_folds: int = 5

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        folds = LabelStratifiedKFold(self.n_folds, random_state=setting.seed)
        return [Run(name, (*self.methods, BASELINE), folds, self.n_folds) for name in self.datasets]

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        found = self.results(setting, lambda wide: wide.reindex(columns=list(MEASURES)))
        cells = cells_beside(
            found, "accuracy_5fold_cv", published_cells("accuracy_5fold_cv"), meka_scores(), self.certified(setting)
        )
        statistics = {}
        for measure in MEASURES:
            own = cells[(cells["measure"] == measure) & cells["method"].isin(self.methods)]
            # What was not run yet says nothing; what did not finish does.
            own = own[~own["dataset"].isin(own.loc[own["status"] == "missing", "dataset"])]
            scores = own.pivot(index="dataset", columns="method", values="ours")
            statistics[measure] = significance(
                scores.reindex(index=list(self.datasets), columns=list(self.methods)), measure
            )
        caption = (
            f"Mean over {self.n_folds} folds, stratified by labels, the same for all methods, with the rank among the "
            "paper's methods; equal ones share the best rank. Majority always predicts the commonest label vector."
        )
        table = Comparison("accuracy", f"Predictive performance, {self.n_folds}-fold cross-validation", caption, cells)
        return Findings([table], statistics=statistics)


def published_cells(table: str) -> dict[Key, Beside]:
    """Return a table of the paper; where it has DNF, a figure that is not a number and a note."""
    return {
        (figure.dataset, figure.method, figure.measure): Beside(
            figure.value, figure.rank, "DNF in the paper." if figure.did_not_finish else ""
        )
        for figure in published_figures(table)
    }


def meka_scores(measures: Iterable[str] = MEASURES) -> dict[Key, Beside]:
    """Return what MEKA achieves today."""
    return {
        (figure.dataset, figure.method, measure): Beside(
            getattr(figure, measure), note="" if figure.is_cross_validated else f"MEKA: {figure.protocol}."
        )
        for figure in meka_figures()
        for measure in measures
    }
