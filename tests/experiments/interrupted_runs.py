"""Runs that are killed, or that share a store: a program of its own, so that its children start at once.

``python interrupted_runs.py kill STORE LOG N_KILLS SEED`` and ``python interrupted_runs.py share STORE LOG N_RUNS``.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from montechain.experiments import ResultStore, evaluate
from tests.experiments.cheap import Logged, small_dataset

__all__ = ["N_UNITS", "run"]

METHODS = ("first", "second", "third")
DATASETS = ("one", "two")
N_FOLDS = 4
N_UNITS = len(METHODS) * len(DATASETS) * N_FOLDS


def run(store: str, log: str, seconds: float = 0.0) -> list:
    """Evaluate three methods that log their fits on two data sets."""
    results = []
    Logged.path, Logged.seconds = Path(log), seconds
    for number, name in enumerate(DATASETS):
        methods = {method: Logged(strength=place) for place, method in enumerate(METHODS)}
        data = small_dataset(name=name, seed=number)
        results += evaluate(data, methods, folds=N_FOLDS, seed=7, encoder="passthrough", store=ResultStore(store))
    return results


def start(store: str, log: str, seconds: float) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        run(store, log, seconds)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def main(what: str, store: str, log: str, count: str, seed: str = "0") -> None:
    """Kill runs at random moments and let one finish, or let several share the work."""
    if what == "kill":
        moments = random.Random(int(seed))
        for _ in range(int(count)):
            pid = start(store, log, 0.01)
            time.sleep(moments.uniform(0.0, 0.12))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        pids = [start(store, log, 0.0)]
    else:
        pids = [start(store, log, 0.02) for _ in range(int(count))]
    if any(os.waitpid(pid, 0)[1] for pid in pids):
        sys.exit("a run failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
