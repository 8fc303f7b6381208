"""Searches of orders whose every step is kept, and that go on where they were ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from montechain.datasets.dataset import Dataset
from montechain.experiments.measures import warm_up
from montechain.experiments.reproduction import Trace
from montechain.experiments.results import Measurement, Outcome, Unit, fingerprint
from montechain.experiments.studies.base import Setting
from montechain.experiments.studies.store import Step, StudyStore
from montechain.experiments.studies.units import Job, named_estimator, unit_for
from montechain.links import check_estimator
from montechain.methods import make_method
from montechain.ordering import AllOrders, OrderEvaluator, Strict, Swap, search
from montechain.ordering.order_search import SHARED_UP_TO
from montechain.preparation import TableEncoder
from montechain.targets import TargetCodec

__all__ = ["OrderTrace", "every_order", "trace_jobs", "traces_of"]

MEASURES = ["trace"]
CHECKPOINT_STEPS = 250
"""A search is written down after so many iterations,"""
CHECKPOINT_SECONDS = 2.0
"""or after so many seconds."""
ACCURACY = 5e-5
"""Of the payoffs, as a share, in searches of many labels: less than a curve can show."""
EXACT = 1e-6
"""Of the payoffs in searches of few labels."""
N_SHOWN = 400
"""About so many steps of a search are shown, besides those that were accepted."""
PROTOCOL = {"rows": "all", "validation": None}


@dataclass(frozen=True)
class OrderTrace:
    """One search: Algorithm 1 on all rows of a data set, which are both learned from and judged by.

    Parameters
    ----------
    dataset : str
    payoff, on : str
        As of `OrderSearch`.
    number : int
        Tells searches apart that differ by chance only; the paper's "random seed".
    n_iterations : int
    start : tuple of int, optional
        The first order; by default a random one, which depends on the number but not on the payoff.
    record : tuple of str
        More payoffs to keep.
    """

    dataset: str
    payoff: str
    on: str
    number: int
    n_iterations: int
    start: tuple[int, ...] | None = None
    record: tuple[str, ...] = ()

    def unit(self, setting: Setting) -> Unit:
        """Return what it is kept under."""
        parameters = {
            "payoff": self.payoff, "on": self.on, "n_iterations": self.n_iterations, "start": self.start,
            "record": self.record, "estimator": named_estimator(setting.estimator),
        }  # fmt: skip
        return unit_for(
            setting.load(self.dataset),
            "OrderSearch",
            parameters,
            protocol=PROTOCOL,
            fold=self.number,
            seed=setting.seed,
        )


def trace_jobs(setting: Setting, traces: list[OrderTrace]) -> list[Job]:
    """Return the jobs of these searches."""

    def work(trace: OrderTrace, unit: Unit) -> Callable[[], SearchWork]:
        return lambda: SearchWork(setting.load(trace.dataset), trace, unit, setting.estimator, Path(setting.path))

    units = [(trace, trace.unit(setting)) for trace in traces]
    return [Job(unit, work(trace, unit), MEASURES) for trace, unit in units]


def traces_of(
    setting: Setting, traces: list[OrderTrace], figure: str, optimum: Callable[[OrderTrace], float | None]
) -> list[Trace]:
    """Return what is kept of these searches, thinned for display; those that were not begun are left out."""
    store, found = setting.store, []
    for trace in traces:
        curve = store.curve(trace.unit(setting))
        if len(curve):
            base = named_estimator(setting.estimator)
            known = trace.dataset, trace.payoff, trace.on, trace.number, _thinned(curve), optimum(trace), base
            found.append(Trace(figure, *known))
    return found


@dataclass(frozen=True)
class SearchWork:
    """A search, from its beginning or from where it was last written down."""

    dataset: Dataset
    trace: OrderTrace
    unit: Unit
    estimator: Any
    path: Path
    measures: list[str] = field(default_factory=lambda: list(MEASURES))

    def prepare(self) -> None:
        """Compile what will be called."""
        warm_up(make_method("PCC", self.estimator))

    def run(self) -> Outcome:
        """Search, and write down the steps as they are made."""
        trace, store = self.trace, StudyStore(self.path)
        payoffs = tuple(sorted({trace.payoff, *trace.record}))
        evaluator = evaluator_for(self.dataset, self.estimator, payoffs, trace.on, self.unit.seed)

        def payoff(order: tuple[int, ...]) -> float:
            return evaluator.payoffs(order)[trace.payoff]

        rng = np.random.default_rng([self.unit.seed, trace.number])
        begun = store.checkpoint(self.unit)
        if begun is None:
            chosen = rng.permutation(evaluator.n_labels).tolist() if trace.start is None else trace.start
            start, n_before = tuple(int(label) for label in chosen), 0
        else:
            start, n_before = begun.step.order, begun.step.iteration
            rng.bit_generator.state = begun.rng
        steps = search(payoff, start, Swap(), Strict(), rng, tolerance=evaluator.tolerance)
        # The first item is the order that a search stands at when it begins: if it goes on, that is known already.
        wanted = islice(steps, 0 if begun is None else 1, trace.n_iterations - n_before + 1)
        new: list[Step] = []
        written = time.monotonic()
        for step in wanted:
            others = {name: value for name, value in evaluator.payoffs(step.order).items() if name in trace.record}
            new.append(
                Step(
                    n_before + step.iteration, step.order, step.payoff, step.candidate_payoff,
                    step.accepted, others,
                )
            )  # fmt: skip
            if len(new) >= CHECKPOINT_STEPS or time.monotonic() - written > CHECKPOINT_SECONDS:
                store.write_steps(self.unit, new, rng.bit_generator.state)  # type: ignore[arg-type]
                new, written = [], time.monotonic()
        if new:
            store.write_steps(self.unit, new, rng.bit_generator.state)  # type: ignore[arg-type]
        return Outcome([Measurement("trace", 1.0)])


def every_order(setting: Setting, dataset: str, payoffs: tuple[str, ...], on: str) -> Job:
    """Return the job that scores every order of a data set's labels; its steps are the orders, in no order of time."""
    parameters = {"payoffs": payoffs, "on": on, "estimator": named_estimator(setting.estimator)}
    data = setting.load(dataset)
    unit = unit_for(data, "AllOrders", parameters, protocol=PROTOCOL, fold=0, seed=setting.seed)
    path, estimator = Path(setting.path), setting.estimator
    return Job(unit, lambda: ExhaustiveWork(data, payoffs, on, unit, estimator, path), MEASURES)


@dataclass(frozen=True)
class ExhaustiveWork:
    """All orders, each with all payoffs."""

    dataset: Dataset
    payoffs: tuple[str, ...]
    on: str
    unit: Unit
    estimator: Any
    path: Path
    measures: list[str] = field(default_factory=lambda: list(MEASURES))

    def prepare(self) -> None:
        """Nothing is timed, so nothing is compiled beforehand."""

    def run(self) -> Outcome:
        """Score them, and write all of them down."""
        evaluator = evaluator_for(self.dataset, self.estimator, tuple(sorted(self.payoffs)), self.on, self.unit.seed)
        start = tuple(range(evaluator.n_labels))
        result = AllOrders().find(evaluator, start=start, rng=np.random.default_rng(self.unit.seed))
        steps = []
        for row in result.trace:
            values = evaluator.payoffs(row["order"])
            steps.append(Step(row["iteration"], row["order"], row["payoff"], row["payoff"], True, values))
        StudyStore(self.path).write_steps(self.unit, steps, {})
        return Outcome([Measurement("trace", 1.0)])


def evaluator_for(dataset: Dataset, estimator: Any, payoffs: tuple[str, ...], on: str, seed: int) -> OrderEvaluator:
    """Return what judges the orders of a data set by all of its rows.

    Of few labels, searches meet the same links and orders again and again: then they share one evaluator, in which
    each link is fitted from nothing, so that it is the same whoever asks first. Of many labels hardly any is met
    twice, and links that are fitted together are fitted faster; they depend on each other within the tolerance
    that a search allows for, unless they are those of SVMs.
    """
    key = (fingerprint(dataset), named_estimator(estimator), payoffs, on, seed)
    if key in _SHARED:
        return _SHARED[key]
    codec, codes = TargetCodec.fit_encode(dataset.Y)
    classes = codec.classes
    is_small = len(classes) <= SHARED_UP_TO
    learner = check_estimator(estimator, random_state=seed).for_classes(classes)
    evaluator = OrderEvaluator(
        learner, TableEncoder().set_output(transform="default").fit_transform(dataset.X), codes,
        [len(own) for own in classes], payoff=payoffs[0], on=on, record=payoffs[1:], validation=None, classes=classes,
        seed=seed, warm_start=not is_small, accuracy=EXACT if is_small else ACCURACY,
    )  # fmt: skip
    _SHARED.clear()
    if is_small:
        _SHARED[key] = evaluator
    return evaluator


_SHARED: dict[Any, OrderEvaluator] = {}
"""The evaluator that was used last, if it is one to share."""


def _thinned(curve: pd.DataFrame) -> pd.DataFrame:
    """Return the first step, the last, those that were accepted, and some between them, evenly on a log scale."""
    last = int(curve["iteration"].iloc[-1])
    shown = np.unique(np.geomspace(1, last + 1, N_SHOWN).astype(np.int64)) - 1
    kept = curve["accepted"] | curve["iteration"].isin(shown.tolist()) | (curve["iteration"] == last)
    found = curve[kept].reset_index(drop=True)
    found["order"] = [" ".join(map(str, order)) for order in found["order"]]
    first = ["iteration", "payoff", "candidate", "accepted"]
    return found[[*first, *(name for name in found.columns if name not in first)]]
