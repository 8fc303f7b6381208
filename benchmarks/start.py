"""Cold start: what the import adds, and what a second process compiles."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.report import Measurement

IMPORT_TARGET = 0.3
IMPORTED_BEFORE = {
    # What a user of scikit-learn's chain has already imported.
    "scikit-learn's chain, numba": "import sklearn.multioutput, sklearn.linear_model, numba",
    # scikit-learn itself loads hardly anything until one of its parts is used.
    "bare sklearn, numba": "import sklearn, numba",
}
COMPILE_TARGETS = {"fit and predict": 5.0, "predict_proba": 3.0, "MonteCarlo": 2.0, "sparse fit": 3.0}
"""Maximum CPU seconds of compilation in a new process, each step on top of those before it."""
DEMO_TARGET = 15.0
"""Maximum CPU seconds of the whole demonstration from an empty cache."""
STATEMENTS = ("import montechain", "from montechain import ChainClassifier")


def measure(n_runs: int) -> Iterator[Measurement]:
    """Measure each in separate processes."""
    for statement in STATEMENTS:
        for after, before in IMPORTED_BEFORE.items():
            timed = f"start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
            code = f"import time; {before}; {timed}"
            _run("-c", code)  # byte code and the file system's cache
            taken = statistics.median(float(_run("-c", code)) for _ in range(min(n_runs, 5)))
            target = None if after.startswith("bare") else IMPORT_TARGET
            yield Measurement(statement, f"after {after}", taken, target=target, at_least=False)
    with tempfile.TemporaryDirectory() as folder:
        first, second = (json.loads(_run("-m", "benchmarks.start", NUMBA_CACHE_DIR=folder)) for _ in range(2))
    for step, target in COMPILE_TARGETS.items():
        note = f"{first[step]['functions']} functions"
        yield Measurement("compile from an empty cache", step, first[step]["cpu"], None, "", target, False, note=note)
    compiled = sum(own["functions"] for own in second.values())
    data = ", ".join(second)
    yield Measurement("compiled by a second process", data, compiled, target=0.0, at_least=False, unit="functions")
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (_demo_seconds(folder) for _ in range(2))
    note = f"{warm:.1f} s from a full cache"
    yield Measurement("montechain demo", "CPU time from an empty cache", cold, None, "", DEMO_TARGET, False, note=note)


def _demo_seconds(cache: str) -> float:
    """Return the CPU time of the demonstration in a separate process."""
    before = os.times()
    _run("-m", "montechain", "demo", NUMBA_CACHE_DIR=cache)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def _run(*arguments: str, **variables: str) -> str:
    completed = subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True, env=os.environ | variables
    )
    return completed.stdout


def _compiled() -> dict[str, dict[str, float]]:
    """Return the CPU time of compilation and the number of functions for each step that a new user takes."""
    import numpy as np
    import scipy.sparse as sp
    from numba.core import event

    from montechain import ChainClassifier, MonteCarlo

    class Compilation(event.Listener):
        """CPU time spent compiling; a kernel that another one needs does not count twice."""

        depth, seconds = 0, 0.0

        def on_start(self, event: Any) -> None:
            self.seconds -= time.process_time() if self.depth == 0 else 0.0
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            self.seconds += time.process_time() if self.depth == 0 else 0.0

    rng = np.random.default_rng(0)
    X, sparse = rng.normal(size=(300, 20)), sp.random_array((2000, 300), density=0.02, format="csr", rng=rng)
    Y, Y_of_sparse = (
        (Z @ rng.normal(size=(Z.shape[1], 5)) + rng.logistic(size=(Z.shape[0], 5)) > 0).astype(int) for Z in (X, sparse)
    )
    model = ChainClassifier(random_state=0)
    steps = {
        "fit and predict": lambda: model.fit(X, Y).predict(X),
        "predict_proba": lambda: model.predict_proba(X),
        "MonteCarlo": lambda: model.set_params(inference=MonteCarlo(n_samples=100)).predict(X),
        "sparse fit": lambda: model.fit(sparse, Y_of_sparse),
    }
    found = {}
    for step, run in steps.items():
        compilation = Compilation()
        with event.install_listener("numba:compile", compilation), event.install_recorder("numba:compile") as recorder:
            run()
        functions = sum(one.is_start for _, one in recorder.buffer)
        found[step] = {"cpu": compilation.seconds, "functions": functions}
    return found


if __name__ == "__main__":
    print(json.dumps(_compiled()))
