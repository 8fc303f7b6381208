"""The labels in the order of the file, as MEKA takes them, so that the methods can be held against MEKA's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from montechain.experiments.folds import LabelStratifiedKFold
from montechain.experiments.reproduction import Comparison
from montechain.experiments.studies.accuracy import meka_scores, published_cells
from montechain.experiments.studies.base import Findings, Setting
from montechain.experiments.studies.evaluations import BASELINE, EvaluationStudy, Run, cells_beside
from montechain.methods import make_method

__all__ = ["NaturalOrder"]

METHODS = ("IC", "CC", "PCC", "MCC")


@dataclass(frozen=True)
class NaturalOrder(EvaluationStudy):
    """Four methods with the label order of the file, beside MEKA's figures for that order.

    Parameters
    ----------
    datasets : tuple of str
    n_folds : int
    """

    name: ClassVar[str] = "natural_order"

    datasets: tuple[str, ...] = ("music", "yeast", "scene")
    n_folds: int = 5

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        methods: dict[str, Any] = {name: make_method(name, setting.estimator, order=None) for name in METHODS}
        methods[BASELINE] = make_method(BASELINE)
        folds = LabelStratifiedKFold(self.n_folds, random_state=setting.seed)
        return [Run(name, methods, folds, self.n_folds) for name in self.datasets]

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        found = self.results(setting, lambda wide: wide[["exact_match", "hamming_score"]])
        published = {
            key: beside._replace(rank=float("nan")) for key, beside in published_cells("accuracy_5fold_cv").items()
        }
        cells = cells_beside(found, "accuracy_5fold_cv", published, meka_scores())
        cells["meka_difference"] = cells["ours"] - cells["meka"]
        caption = (
            f"Chains in the order in which the file has the labels, which is MEKA's; mean over {self.n_folds} folds. "
            "Which order the paper's chains had is not known."
        )
        return Findings([Comparison("natural_order", "Labels in the order of the file", caption, cells)])
