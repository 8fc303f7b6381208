"""Cold start: what the import adds, and what a second process compiles."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.report import Measurement

IMPORT_TARGET = 0.3
IMPORTED_BEFORE = {
    # What a user of scikit-learn's chain has imported in any case.
    "scikit-learn's chain, numba": "import sklearn.multioutput, sklearn.linear_model, numba",
    # scikit-learn itself loads hardly anything before a part of it is asked for.
    "bare sklearn, numba": "import sklearn, numba",
}
STATEMENTS = ("import montechain", "from montechain import ChainClassifier")


def measure(n_runs: int) -> Iterator[Measurement]:
    """Each in processes of their own."""
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
    yield Measurement(
        "compiled by a second process",
        "fit, predict, predict_proba",
        second["compiled"],
        target=0.0,
        at_least=False,
        unit="functions",
        note=f"{second['seconds']:.1f} s; the first process {first['compiled']} functions, {first['seconds']:.1f} s",
    )


def _run(*arguments: str, **variables: str) -> str:
    completed = subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True, env=os.environ | variables
    )
    return completed.stdout


def _compiled() -> dict[str, float]:
    """Fit and predict, dense and sparse, and return how many functions numba compiled for that."""
    import time

    import numpy as np
    import scipy.sparse as sp
    from numba.core import event

    from montechain import ChainClassifier, MonteCarlo

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    Y = (X @ rng.normal(size=(5, 4)) + rng.logistic(size=(200, 4)) > 0).astype(int)
    start = time.perf_counter()
    with event.install_recorder("numba:compile") as recorder:
        for inputs in (X, sp.csr_array(X)):
            for inference in (None, MonteCarlo(n_samples=100)):
                model = ChainClassifier(random_state=0) if inference is None else ChainClassifier(inference=inference)
                model.fit(inputs, Y)
                model.predict(inputs)
                model.predict_proba(inputs)
    compiled = sum(one.is_start for _, one in recorder.buffer)
    return {"compiled": compiled, "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    print(json.dumps(_compiled()))
