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
    for kind in ("clear", "doubtful"):
        command = [sys.executable, "-m", "benchmarks.memory", str(n_rows), kind]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        result = json.loads(answer)
        yield Measurement(
            f"predict, peak memory, {kind} labels",
            f"{n_rows:,} × {FEATURES}, {LABELS} labels",
            result["input"],
            result["peak"],
            3.0,
            at_least=False,
            unit="MB",
            note=f"{result['seconds']:.1f} s, {result['certified']:.0%} of the first rows certified",
        )


def _peak(n_rows: int, kind: str) -> dict[str, float]:
    """Fit on the first rows, predict all, and return the sizes in bytes. The whole process counts.

    Each label leans on the one before it. Most are clear, and every row is settled; or nearly all are in doubt, and
    every row ends its budget of 1,000 nodes (the default of 20,000 would take half a day on a million such rows).
    """
    import resource
    import time

    from montechain import BranchAndBound, ChainClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, FEATURES))
    few = X[:2000]
    strength, threshold = (10.0, 15.0) if kind == "clear" else (1.0, 0.5)
    scores = few @ rng.normal(size=(FEATURES, LABELS)) / np.sqrt(FEATURES)
    Y = np.zeros(scores.shape, dtype=np.int64)
    for k in range(LABELS):
        Y[:, k] = strength * scores[:, k] + (Y[:, k - 1] if k else 0.0) + rng.logistic(size=len(few)) > threshold
    inference = BranchAndBound() if kind == "clear" else BranchAndBound(max_nodes=1000)
    classifier = ChainClassifier(order=None, inference=inference, random_state=0).fit(few, Y)
    certified = classifier.decide(few).certified.mean()
    start = time.perf_counter()
    predicted = classifier.predict(X)
    seconds = time.perf_counter() - start
    assert predicted.shape == (n_rows, LABELS)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"input": float(X.nbytes), "peak": float(peak), "seconds": seconds, "certified": float(certified)}


if __name__ == "__main__":
    print(json.dumps(_peak(int(sys.argv[1]), sys.argv[2])))
