"""Running and build time, from the same runs as the accuracies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from montechain.experiments.paper import meka_figures
from montechain.experiments.reproduction import Comparison
from montechain.experiments.studies.accuracy import Accuracy, published_cells
from montechain.experiments.studies.base import Findings, Setting
from montechain.experiments.studies.evaluations import Beside, Key, cells_beside

__all__ = ["Times"]

CPU = "_cpu"


@dataclass(frozen=True)
class Times(Accuracy):
    """The paper's table of times. Its work is that of `Accuracy`, so one of them finds that of the other done."""

    name: ClassVar[str] = "times"

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        found = self.results(setting, _times)
        is_cpu = found["measure"].str.endswith(CPU)
        cells = cells_beside(
            found[~is_cpu].reset_index(drop=True),
            "runtime_5fold_cv",
            published_cells("runtime_5fold_cv"),
            self._meka(setting),
        )
        cells["ours_cpu"] = found.loc[is_cpu, "mean"].to_numpy()
        caption = (
            f"Seconds of wall-clock time for one fold, mean over {self.n_folds}; running time is training and "
            "prediction, build time is training alone. Compilation is left out. MEKA's are seconds of processor time "
            "on the same machine; ours of that kind are in the column ours_cpu of the data."
        )
        return Findings([Comparison("time", "Running time and build time", caption, cells)])

    def _meka(self, setting: Setting) -> dict[Key, Beside]:
        found: dict[Key, Beside] = {}
        for figure in meka_figures():
            if (
                figure.is_cross_validated
                and figure.dataset in self.datasets
                and not setting.why_missing(figure.dataset)
            ):
                n_tested = len(setting.load(figure.dataset).Y) / self.n_folds
                running = figure.build_seconds + figure.test_milliseconds / 1000.0 * n_tested
                found[figure.dataset, figure.method, "running_time_s"] = Beside(running)
                found[figure.dataset, figure.method, "build_time_s"] = Beside(figure.build_seconds)
        return found


def _times(wide: pd.DataFrame) -> pd.DataFrame:
    """Return both times, and both again in seconds of processor time."""
    found = {}
    for ending, fit, predict in (
        ("", "fit_seconds", "predict_seconds"),
        (CPU, "fit_cpu_seconds", "predict_cpu_seconds"),
    ):
        found[f"running_time_s{ending}"] = wide[fit] + wide[predict]
        found[f"build_time_s{ending}"] = wide[fit]
    return pd.DataFrame(found)
