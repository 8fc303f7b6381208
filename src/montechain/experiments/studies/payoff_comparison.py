"""Which payoff to search with: a hundred random splits of Music and Yeast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from montechain.experiments.folds import RandomSplits
from montechain.experiments.paper import published_payoffs
from montechain.experiments.paper.names import dataset_title
from montechain.experiments.reproduction import Comparison
from montechain.experiments.studies.base import Findings, Setting
from montechain.experiments.studies.evaluations import BASELINE, Beside, EvaluationStudy, Run, cells_beside
from montechain.methods import make_method

__all__ = ["PayoffComparison"]

PAYOFFS = ("J_EM", "J_EM_prod", "J_Ham")
NONE = "none"
"""A random order, without a search."""


def _published_sizes() -> dict[str, int]:
    return {figure.dataset: figure.n_iterations for figure in published_payoffs()}


@dataclass(frozen=True)
class PayoffComparison(EvaluationStudy):
    """The paper's comparison of payoffs.

    Parameters
    ----------
    n_iterations : mapping of str to int
        T_s for each data set.
    n_splits : int
    """

    name: ClassVar[str] = "payoff_comparison"
    least_done: ClassVar[float] = 0.3

    n_iterations: Mapping[str, int] = field(default_factory=_published_sizes)
    n_splits: int = 100

    def runs(self, setting: Setting) -> list[Run]:  # noqa: D102
        splits = RandomSplits(self.n_splits, random_state=setting.seed)
        return [
            Run(name, self._methods(setting, n_iterations), splits, self.n_splits)
            for name, n_iterations in self.n_iterations.items()
        ]

    def _methods(self, setting: Setting, n_iterations: int) -> dict[str, Any]:
        methods = {
            payoff: make_method("MsCC", setting.estimator, order__payoff=payoff, order__n_iterations=n_iterations)
            for payoff in PAYOFFS
        }
        return {**methods, NONE: make_method("MCC", setting.estimator), BASELINE: make_method(BASELINE)}

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        published = {
            (figure.dataset, figure.payoff, figure.measure): Beside(figure.mean) for figure in published_payoffs()
        }
        found = self.results(setting, lambda wide: wide[["exact_match", "hamming_score"]])
        cells = cells_beside(found, "payoffs", published)
        spread = {(figure.dataset, figure.payoff, figure.measure): figure.std for figure in published_payoffs()}
        cells["published_std"] = [
            spread.get(key, float("nan"))
            for key in zip(cells["dataset"], cells["method"], cells["measure"], strict=True)
        ]
        for row in cells.index[(cells["status"] == "ok") & (cells["n"] < self.n_splits)]:
            cells.loc[row, "note"] = f"{cells.loc[row, 'note']} Mean over {cells.loc[row, 'n']} splits so far.".strip()
        full = _published_sizes()
        short = [name for name, n_iterations in self.n_iterations.items() if n_iterations != full.get(name)]
        for name in short:
            rows = cells["dataset"] == name
            text = f"T_s = {self.n_iterations[name]} in place of {full.get(name, 'none')}."
            cells.loc[rows, "note"] = [f"{note} {text}".strip() for note in cells.loc[rows, "note"]]
        sizes = ", ".join(
            f"T_s = {n_iterations:,} on {dataset_title(name)}" for name, n_iterations in self.n_iterations.items()
        )
        caption = (
            f"MsCC with each payoff ({sizes}), and MCC with a random order; mean and standard deviation over "
            f"{self.n_splits} random splits, two thirds to one third."
        )
        return Findings([Comparison("payoffs", "Payoffs", caption, cells)])
