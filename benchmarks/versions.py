"""Compare this checkout with another one, in turns: ``python -m benchmarks.versions OTHER_CHECKOUT``.

Each version runs in a process of its own. They take turns, a few milliseconds to seconds each, so that a noisy machine
disturbs both alike. Printed are the lowest CPU times of each, and their ratio: above 1.1, this checkout is slower.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import THREADS

HERE = Path(__file__).parents[1]
WORKER = """
import os, pickle, sys, time, warnings
import numpy as np
from threadpoolctl import threadpool_limits
sys.path.insert(0, sys.argv[1])
from montechain import ChainClassifier, ChainPopulationClassifier, MonteCarlo, OrderSearch
warnings.simplefilter("ignore")
with open(sys.argv[2], "rb") as stream:
    X, Y, X_test = pickle.load(stream)
def chain(**choices):
    return ChainClassifier(order=None, random_state=0, **choices)
exact, draws = chain().fit(X, Y), chain(inference=MonteCarlo(n_samples=100)).fit(X, Y)
search = OrderSearch("tempered_swap", n_iterations=20, keep=5)
population = ChainPopulationClassifier(order=search, combine="algorithm-4", random_state=0)
row = X_test[:1]
work = {
    "fit": lambda: chain().fit(X, Y),
    "fit, no parents": lambda: chain(parents="none").fit(X, Y),
    "exact predict": lambda: exact.predict(X_test),
    "MonteCarlo(100) predict": lambda: draws.predict(X_test),
    "exact predict of one row": lambda: [exact.predict(row) for _ in range(20)],
    "predict_proba": lambda: exact.predict_proba(X_test[:1000]),
    "PtMsCC fit": lambda: population.fit(X, Y),
}
with threadpool_limits(limits=1):
    for line in sys.stdin:
        start = time.process_time()
        work[line.strip()]()
        print(time.process_time() - start, flush=True)
"""
WORK = {
    "fit": 15,
    "fit, no parents": 9,
    "exact predict": 25,
    "MonteCarlo(100) predict": 15,
    "exact predict of one row": 25,
    "predict_proba": 5,
    "PtMsCC fit": 3,
}
"""What is measured, and how many turns each version gets."""
SLOW = ("reuters", "tmc2007", "mediamill-like")
SKIPPED_WHERE_SLOW = ("PtMsCC fit", "predict_proba", "fit, no parents")


def main(arguments: list[str] | None = None) -> int:
    from benchmarks.peers import SETS, trainable_split

    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("other", type=Path, help="folder of the other checkout")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET", help=", ".join(SETS))
    parser.add_argument("--what", nargs="+", choices=WORK, default=list(WORK), metavar="WHAT", help=", ".join(WORK))
    options = parser.parse_args(arguments)
    print("| what | data | other, ms | this, ms | this / other |\n|---|---|---|---|---|")
    for name in options.sets:
        X, Y, X_test, _ = trainable_split(name)
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder, "data.pickle")  # made here, for our own processes
            data.write_bytes(pickle.dumps((X, Y, X_test)))
            versions = [_start(checkout, data) for checkout in (options.other, HERE)]
            skipped = SKIPPED_WHERE_SLOW if name in SLOW else ()
            for what in (own for own in options.what if own not in skipped):
                for version in versions:  # compiles, and fills caches
                    _turn(version, what)
                turns = [[_turn(version, what) for version in versions] for _ in range(WORK[what])]
                other, this = map(min, zip(*turns, strict=True))
                print(f"| {what} | {name} | {1e3 * other:.3g} | {1e3 * this:.3g} | {this / other:.2f} |", flush=True)
            for version in versions:
                version.stdin.close()
                version.wait()
    return 0


def _start(checkout: Path, data: Path) -> Any:
    command = [sys.executable, "-c", WORKER, str(checkout / "src"), str(data)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _turn(version: Any, what: str) -> float:
    version.stdin.write(what + "\n")
    version.stdin.flush()
    return float(version.stdout.readline())


if __name__ == "__main__":
    assert THREADS == 1
    raise SystemExit(main())
