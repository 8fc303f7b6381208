"""Long searches on Yeast and Enron, each payoff maximised by itself and the other one watched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from montechain.experiments.studies.base import Findings, OnDone, Piece, Setting, Study
from montechain.experiments.studies.traces import OrderTrace, trace_jobs, traces_of
from montechain.experiments.studies.units import work_off

__all__ = ["PayoffTraces"]

PAYOFFS = ("J_EM", "J_EM_prod")


@dataclass(frozen=True)
class PayoffTraces(Study):
    """The paper's figures of payoffs against iterations.

    Parameters
    ----------
    datasets : tuple of str
    n_iterations : int
    numbers : tuple of int
        One search for each; those of equal number begin at the same order.
    estimator : {"svm", "logistic"} or estimator
        The base classifier, whatever that of the other studies. With support vector machines an order costs several
        times as much.
    """

    name: ClassVar[str] = "payoff_traces"

    datasets: tuple[str, ...] = ("yeast", "enron")
    n_iterations: int = 10_000
    numbers: tuple[int, ...] = (1, 2)
    estimator: Any = "logistic"

    def pieces(self, setting: Setting) -> list[Piece]:  # noqa: D102
        setting = replace(setting, estimator=self.estimator)
        traces = self._traces(setting)
        if not traces:
            return []

        def do(on_done: OnDone) -> None:
            work_off(setting.store, trace_jobs(setting, traces), setting.limits, on_done)

        return [Piece(self.name, len(traces), do)]

    def collect(self, setting: Setting) -> Findings:  # noqa: D102
        setting = replace(setting, estimator=self.estimator)
        return Findings(traces=traces_of(setting, self._traces(setting), self.name, lambda trace: None))

    def _traces(self, setting: Setting) -> list[OrderTrace]:
        return [
            OrderTrace(
                dataset, payoff, "prediction", number, self.n_iterations,
                record=tuple(name for name in PAYOFFS if name != payoff),
            )
            for dataset in self.datasets
            if not setting.why_missing(dataset)
            for number in self.numbers
            for payoff in PAYOFFS
        ]  # fmt: skip
