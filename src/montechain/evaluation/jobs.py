"""Run jobs within a time limit, and store the results of finished ones."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib

import montechain
from montechain._files import atomic_write
from montechain._messages import check_time_limit, with_notes

OK, DNF = "ok", "DNF"


@dataclass(frozen=True)
class Job:
    """A unit of work whose result is stored: `run` returns a dict that JSON can hold.

    `identity` is everything that the result depends on, as JSON can hold it; `labels` are for people, such as the name
    of the data set.
    """

    identity: dict[str, Any]
    run: Callable[[], dict[str, Any]]
    labels: dict[str, Any] = field(default_factory=dict)


class ResultStore:
    """A folder with one JSON file for each finished job.

    A file appears only once it is complete, so a run that is killed loses the jobs that were under way and nothing
    else. The file name is a hash of the job's identity and of the version of montechain.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, identity: dict[str, Any]) -> Path:
        """Return the file of a job, whether it exists or not."""
        return self.folder / f"{joblib.hash([montechain.__version__, identity])}.json"

    def get(self, identity: dict[str, Any]) -> dict[str, Any] | None:
        """Return the outcome of a job, or None if it has not finished or its file is damaged."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            found = json.loads(self.path(identity).read_text(encoding="utf-8"))
            return found if found["status"] in (OK, DNF) else None
        return None

    def put(self, identity: dict[str, Any], outcome: dict[str, Any]) -> None:
        """Write the outcome of a job: all of it or nothing."""
        with atomic_write(self.path(identity), "w", encoding="utf-8") as stream:
            json.dump({"identity": identity, **outcome}, stream)


def run_jobs(
    jobs: Sequence[Job],
    *,
    store: ResultStore | None = None,
    retry: bool = False,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    on_done: Callable[[int, dict[str, Any]], None] = lambda number, outcome: None,
) -> list[dict[str, Any]]:
    """Run jobs and return their outcomes; those that finished before come from the store.

    A job that takes longer than `time_limit` seconds is stopped. `retry` reruns jobs that failed before. joblib runs
    `n_jobs` of them at a time, on its current backend. `on_done` is called with each job's position and outcome once it
    is stored. An outcome has the ``status`` "ok" with ``values``, or "DNF" with a ``reason``.
    """
    check_time_limit(time_limit)
    outcomes: list[Any] = [None if store is None else store.get(job.identity) for job in jobs]
    waiting = [i for i, found in enumerate(outcomes) if found is None or (retry and found["status"] == DNF)]
    for number in set(range(len(jobs))).difference(waiting):
        on_done(number, outcomes[number])
    # Store results as they arrive, so that a killed run loses nothing that has finished.
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    for number, outcome in parallel(joblib.delayed(_run)(i, jobs[i], time_limit) for i in waiting):
        outcomes[number] = outcome
        if store is not None:
            store.put(jobs[number].identity, outcome)
        on_done(number, outcome)
    return outcomes


def _run(place: int, job: Job, time_limit: float | None) -> tuple[int, dict[str, Any]]:
    """Return the given place and the outcome of a job.

    Ctrl-C leaves no outcome, and the time limit always gives DNF: an order search treats a KeyboardInterrupt as a
    request to finish early, and compiled code may turn it into another error. Neither is the result of an
    undisturbed run.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if time_limit is not None and not (in_main_thread and hasattr(signal, "setitimer")):
        raise ValueError("`time_limit` works only in the main thread, and not on Windows: leave it out.")
    handled = [signal.SIGINT, *([] if time_limit is None else [signal.SIGALRM])] if in_main_thread else []
    received = []

    def on_signal(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt if number == signal.SIGINT else TimeoutError

    before = {number: signal.signal(number, on_signal) for number in handled}
    try:
        try:
            if time_limit is not None:
                signal.setitimer(signal.ITIMER_REAL, time_limit)
            outcome = {"status": OK, "values": job.run()}
        finally:  # inside the other, because the time may be up at this moment
            if time_limit is not None:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
    except Exception as error:  # whatever a method raises, the others still run
        outcome = {"status": DNF, "reason": f"{type(error).__name__}: {with_notes(error)}"}
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signal.SIGINT in received:
        raise KeyboardInterrupt
    if received:
        outcome = {"status": DNF, "reason": f"exceeded the time limit of {time_limit:g} s"}
    return place, outcome
