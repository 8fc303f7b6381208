"""Runs that are killed, or that share a store: a program of its own, so that its children start at once.

``python interrupted_runs.py kill STORE LOG N_KILLS SEED`` prints the kills as JSON; and
``python interrupted_runs.py share STORE LOG N_RUNS``.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path

from montechain.experiments import ResultStore, evaluate
from tests.experiments.cheap import Guess, Logged, small_dataset
from tests.experiments.kills import Forked, Progress, kill_again_and_again, slow_writes

__all__ = ["N_UNITS", "run"]

METHODS = ("first", "second", "third")
DATASETS = ("one", "two")
N_FOLDS = 14
N_UNITS = len(METHODS) * len(DATASETS) * N_FOLDS


def run(store: str, log: str, seconds: float = 0.0) -> list:
    """Evaluate three methods that log their fits on two data sets."""
    results = []
    Logged.path, Logged.seconds = Path(log), seconds
    for number, name in enumerate(DATASETS):
        methods = {method: Logged(strength=place) for place, method in enumerate(METHODS)}
        data = small_dataset(n_rows=10 * N_FOLDS, name=name, seed=number)
        with slow_writes() if seconds else nullcontext():
            results += evaluate(data, methods, folds=N_FOLDS, seed=7, encoder="passthrough", store=ResultStore(store))
    return results


def main(what: str, store: str, log: str, count: str, seed: str = "0") -> None:
    """Kill runs while they work and let one finish, or let several share the work."""
    # Here, so that those who are forked need not load what this loads.
    evaluate(small_dataset(), {"guess": Guess()}, folds=2, encoder="passthrough")
    if what == "kill":
        kills = kill_again_and_again(
            lambda: Forked(lambda: run(store, log, 0.01)), store, Progress(N_UNITS), int(count), int(seed)
        )
        print(json.dumps(kills))
        runs = [Forked(lambda: run(store, log))]
    else:
        runs = [Forked(lambda: run(store, log, 0.02)) for _ in range(int(count))]
    codes = [each.wait() for each in runs]
    if any(codes):
        sys.exit("a run failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
