"""Official splits: methods of the literature beside Monte Carlo chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from montechain.experiments.reproduction import Comparison
from montechain.experiments.studies.accuracy import published_cells
from montechain.experiments.studies.base import Findings, Setting
from montechain.experiments.studies.evaluations import BASELINE, EvaluationStudy, Run, cells_beside
from montechain.methods import make_method

__all__ = ["Official"]

METHODS = ("PCC-epsilon", "PCC-Beam", "RF-PCT", "MCC", "MsCC", "PtMsCC")
LOGISTIC = ("PCC-epsilon", "PCC-Beam")
"""Methods whose published figures were made with logistic regression, whatever the base classifier of the others."""
DATASETS = ("music", "scene", "yeast", "genbase", "medical", "enron", "tmc2007", "mediamill")


@dataclass(frozen=True)
class Official(EvaluationStudy):
    """The paper's comparison with figures from the literature, on the split each data set was published with.

    Parameters
    ----------
    datasets : tuple of str
    """

    name: ClassVar[str] = "official"

    datasets: tuple[str, ...] = DATASETS

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        methods: dict[str, Any] = {
            name: make_method(name, "logistic" if name in LOGISTIC else setting.estimator)
            for name in (*METHODS, BASELINE)
        }
        return [Run(name, methods, "official", 1) for name in self.datasets]

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        cells = cells_beside(
            self.results(setting, _losses),
            "official_split",
            published_cells("official_split"),
            certified=self.certified(setting),
        )
        caption = (
            "Losses on the official test part: less is better. PCC-epsilon and PCC-Beam have logistic regression as "
            "their base classifier, as in the papers that the published figures come from. Both losses are those of "
            "one prediction."
        )
        return Findings([Comparison("official", "Official training and test parts", caption, cells)])


def _losses(wide: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"exact_match_loss": 1.0 - wide["exact_match"], "hamming_loss": 1.0 - wide["hamming_score"]})
