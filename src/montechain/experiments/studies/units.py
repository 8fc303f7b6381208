"""Units of work that are not a method on a fold: done once, by one of those who share a store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from typing import Any, NamedTuple, Protocol

from montechain.datasets.dataset import Dataset
from montechain.experiments.limits import Limits, Worker
from montechain.experiments.results import Outcome, Unit, describe_parameters, fingerprint
from montechain.experiments.sharing import in_turn
from montechain.experiments.store import CLAIMED
from montechain.experiments.studies.base import OnDone
from montechain.experiments.studies.store import StudyStore

__all__ = ["Job", "Work", "named_estimator", "unit_for", "work_off"]


class Work(Protocol):
    """What a job does, here or in a child process."""

    @property
    def measures(self) -> list[str]:
        """What it measures."""
        ...

    def prepare(self) -> None:
        """Do what no limit is for, such as compiling."""
        ...

    def run(self) -> Outcome:
        """Do it."""
        ...


class Job(NamedTuple):
    """A unit, and how its work is made when it is wanted."""

    unit: Unit
    work: Callable[[], Work]
    measures: list[str]


def unit_for(
    dataset: Dataset, method: str, parameters: dict[str, Any], *, protocol: dict[str, Any], fold: int, seed: int
) -> Unit:
    """Return the unit that such work is kept under."""
    return Unit(
        dataset.name,
        fingerprint(dataset),
        method,
        json.dumps(parameters, sort_keys=True),
        json.dumps(protocol, sort_keys=True),
        fold,
        seed,
    )


def named_estimator(estimator: Any) -> str:
    """Return what tells base classifiers apart.

    >>> named_estimator("svm")
    'svm'
    """
    return estimator if isinstance(estimator, str) else describe_parameters(estimator)


def work_off(store: StudyStore, jobs: Sequence[Job], limits: Limits | None, on_done: OnDone) -> None:
    """Do the jobs that are not done yet; those that another process is at are waited for.

    Parameters
    ----------
    store : StudyStore
    jobs : sequence of Job
    limits : Limits or None
        With limits, the work is done in a child process.
    on_done : callable
        Told how many are done, whoever did them.
    """
    turns = closing(in_turn(store, [(job.unit, job.measures) for job in jobs], limits))
    with nullcontext() if limits is None else Worker(limits) as worker, turns as each:
        for n_done, (number, state) in enumerate(each, 1):
            if state == CLAIMED:
                store.finish(jobs[number].unit, _outcome(jobs[number].work(), worker), limits)
            on_done(n_done)


def _outcome(work: Any, worker: Worker | None) -> Outcome:
    if worker is not None:
        return worker.run(work)
    work.prepare()
    try:
        return work.run()
    except MemoryError as error:
        return Outcome.did_not_finish(work.measures, "memory", f"out of memory: {error}")
    except Exception as error:  # whatever a learner raises, the other jobs still run
        return Outcome.did_not_finish(work.measures, "error", f"{type(error).__name__}: {error}")
