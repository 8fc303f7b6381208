"""Peak memory of `predict` on many rows, as a multiple of the input's size."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.timing import Measurement

ROWS, FEATURES, LABELS = 1_000_000, 100, 50


def measure(n_rows: int = ROWS) -> Iterator[Measurement]:
    """Predict in a process of its own, because a peak is never forgotten."""
    command = [sys.executable, "-m", "benchmarks.memory", str(n_rows)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    result = json.loads(answer)
    yield Measurement(
        "predict, peak memory",
        f"{n_rows:,} × {FEATURES}, {LABELS} labels",
        result["input"],
        result["peak"],
        3.0,
        at_least=False,
        unit="MB",
        note=f"{result['seconds']:.1f} s",
    )


def _peak(n_rows: int) -> dict[str, float]:
    """Fit on the first rows, predict all, and return the sizes in bytes. The whole process counts."""
    import resource
    import time

    from montechain import ChainClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, FEATURES))
    few = X[:2000]
    # Each label leans on the one before it, and most are clear: it is the memory that is measured, not the search.
    scores = few @ rng.normal(size=(FEATURES, LABELS)) / np.sqrt(FEATURES)
    Y = np.zeros(scores.shape, dtype=np.int64)
    for k in range(LABELS):
        Y[:, k] = 10.0 * scores[:, k] + (Y[:, k - 1] if k else 0.0) + rng.logistic(size=len(few)) > 15.0
    classifier = ChainClassifier(order=None, random_state=0).fit(few, Y)
    start = time.perf_counter()
    predicted = classifier.predict(X)
    seconds = time.perf_counter() - start
    assert predicted.shape == (n_rows, LABELS)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"input": float(X.nbytes), "peak": float(peak), "seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(_peak(int(sys.argv[1]))))
