"""Compute the results that are missing: one file for each data set, split, method and seed.

An interrupted run resumes where it stopped. Each result is computed in a process of its own, which ends when its CPU
time is used up.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.accuracy.answers import Clock, TooCostly, calibration_bins, measure
from benchmarks.accuracy.data import Task, default_seeds, tasks
from benchmarks.accuracy.ours import OURS
from benchmarks.accuracy.peers import PEERS, Method
from montechain._files import atomic_write

METHODS: dict[str, Method] = PEERS | OURS


def fill(
    store: Path,
    sets: Iterable[str],
    methods: Iterable[str],
    *,
    n_seeds: int | None = None,
    limit: float = 300.0,
    redo: bool = False,
) -> None:
    """Compute all missing cells, first those of seed 0 for all sets.

    Parameters
    ----------
    store : Path
        Folder of the results.
    sets, methods : iterable of str
    n_seeds : int, optional
        Maximum number of seeds. The default is ten for small sets, and fewer for others.
    limit : float, default=300.0
        CPU seconds that a peer may take; montechain's own methods are not limited.
    redo : bool, default=False
        Whether to compute finished cells of `methods` again.
    """
    store.mkdir(parents=True, exist_ok=True)
    for task, method, seed in _wanted(list(sets), list(methods), n_seeds):
        path = store / f"{task.name}--{task.split}--{method}--{seed}.json"
        too_costly = _too_costly_before(store, task, method, limit)
        if path.exists() and not redo and (too_costly or "skipped" not in _read(path)):
            continue
        if too_costly:
            result = too_costly
        else:
            result = _in_process(task, method, seed, limit if method in PEERS else None)
        if error := result.get("error"):
            print(f"{path.stem}: {error}", file=sys.stderr, flush=True)
            continue
        cell = {"set": task.name, "split": task.split, "method": method, "seed": seed, **result}
        with atomic_write(path, "w", encoding="utf-8") as stream:
            json.dump(cell, stream, indent=1)
        print(f"{path.stem}: {_in_short(result)}", file=sys.stderr, flush=True)


def load(store: Path) -> list[dict[str, Any]]:
    """Return all finished cells."""
    return [_read(path) for path in sorted(store.glob("*--*--*--*.json"))]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _wanted(sets: list[str], methods: list[str], n_seeds: int | None) -> Iterator[tuple[Task, str, int]]:
    later = False
    for first in (True, False):
        if not (first or later):
            return
        for name in sets:
            for task in _present(name):
                most = min(default_seeds(task), n_seeds or default_seeds(task))
                later |= most > 1
                for seed in range(1) if first else range(1, most):
                    for method in methods:
                        if METHODS[method].takes(task) and (seed == 0 or METHODS[method].uses_chance):
                            yield task, method, seed


def _present(name: str) -> Iterator[Task]:
    """Yield the parts of a data set, or nothing if its package is not installed."""
    try:
        yield from tasks(name)
    except ModuleNotFoundError as error:
        print(f"{name} is left out: {error}", file=sys.stderr, flush=True)


def _too_costly_before(store: Path, task: Task, method: str, limit: float) -> dict[str, Any]:
    """Return why the method was left out on some part of the same data set with at least this limit, or nothing."""
    for path in store.glob(f"{task.name}--*--{method}--*.json"):
        cell = _read(path)
        if "skipped" in cell and cell["limit"] >= limit:
            return {"skipped": cell["skipped"], "limit": cell["limit"]}
    return {}


def _in_process(task: Task, method: str, seed: int, limit: float | None) -> dict[str, Any]:
    """Return the result of one method, or why there is none."""
    context = multiprocessing.get_context("fork")  # the data are already loaded
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(sender, task, method, seed, limit))
    process.start()
    sender.close()
    try:
        result = receiver.recv()
    except EOFError:
        result = {}
    process.join()
    if result:
        return result
    if process.exitcode == -signal.SIGXCPU:
        return {"skipped": f"more than {limit:.0f} s of CPU", "limit": limit}
    return {"error": f"the process ended with code {process.exitcode}"}


def _work(sender: Any, task: Task, method: str, seed: int, limit: float | None) -> None:
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 10))
    try:
        sender.send(compute(task, method, seed, limit))
    except TooCostly as reason:
        sender.send({"skipped": str(reason), "limit": limit})
    except Exception:
        sender.send({"error": traceback.format_exc()})


def compute(task: Task, method: str, seed: int, limit: float | None = None) -> dict[str, Any]:
    """Return the metrics, the CPU seconds and the peak memory of one method on one task."""
    clock = Clock() if limit is None else Clock(limit)
    answers = METHODS[method].run(task, seed, clock)
    return {
        "metrics": measure(answers, task),
        "calibration": calibration_bins(answers, task),
        "certified": answers.certified,
        "cpu_seconds": clock.seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "duplicates": task.duplicates(),
        "notes": answers.notes,
    }


def _in_short(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return f"skipped, {result['skipped']}"
    means = ", ".join(f"{name} {value['mean']:.4f}" for name, value in result["metrics"].items())
    return f"{means}; {sum(result['cpu_seconds'].values()):.1f} s"
