"""Peak memory of `fit` and `predict` beyond what was there before, as a multiple of the inputs' size."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.report import Measurement

CASES = {
    # (what is measured, rows, inputs, labels, largest multiple)
    "dense": ("fit", 200_000, 100, 20, 4.0),
    "many labels": ("fit", 100_000, 50, 100, 4.0),
    "sparse": ("fit", 100_000, 1_000, 20, 4.0),
    "clear labels": ("predict", 1_000_000, 100, 50, 2.0),
    "doubtful labels": ("predict", 200_000, 100, 50, 2.0),
}
FIT_THREADS = 2
DENSITY = 0.03
"""Share of the sparse inputs that are not zero."""


def measure(n_runs: int) -> Iterator[Measurement]:
    """Measure each in a separate process, because a peak is never reset."""
    for kind, (what, n_rows, n_features, n_labels, target) in CASES.items():
        command = [sys.executable, "-m", "benchmarks.memory", kind]
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        yield Measurement(
            f"{what}, peak memory",
            f"{kind}, {n_rows:,} × {n_features:,}, {n_labels} labels",
            result["beyond"],
            result["size"],
            "X, Y and links" if what == "fit" else "X",
            target,
            at_least=False,
            unit="MB",
            threads=FIT_THREADS if what == "fit" else 1,
            note=result["note"],
        )


def _beyond(work: Any) -> tuple[float, float]:
    """Return the bytes that `work` needed at most beyond those in use when it began, and its seconds.

    A peak before `work` counts if it was the higher one; that can only make the result larger.
    """
    before = _bytes_in_use()
    start = time.perf_counter()
    work()
    taken = time.perf_counter() - start
    return max(0.0, peak_bytes() - before), taken


def _status(entry: str) -> float | None:
    """Return an entry of this process's status in /proc, in bytes; None if there is none."""
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    lines = path.read_text().splitlines()
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith(f"{entry}:")), None)


def peak_bytes() -> float:
    """Return the largest number of bytes that this process has used so far."""
    # On Linux not `ru_maxrss`, which a new process may inherit from the one that started it.
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _bytes_in_use() -> float:
    return _status("VmRSS") or peak_bytes()


def _size(array: Any) -> float:
    parts = (array.data, array.indices, array.indptr) if sp.issparse(array) else (array,)
    return float(sum(part.nbytes for part in parts))


def _labels(X: Any, n_labels: int, strength: float, threshold: float, rng: np.random.Generator) -> np.ndarray:
    """Draw labels, each depending on the one before it."""
    n_rows, n_features = X.shape
    weights = rng.normal(size=(n_features, n_labels)) / np.sqrt(n_features * (DENSITY if sp.issparse(X) else 1.0))
    Y = np.zeros((n_rows, n_labels), dtype=np.int64)
    for k in range(n_labels):
        scores = strength * (X @ weights[:, k]) + (Y[:, k - 1] if k else 0.0)
        Y[:, k] = scores + rng.logistic(size=n_rows) > threshold
    return Y


def _fit(kind: str, n_rows: int, n_features: int, n_labels: int) -> dict[str, Any]:
    from montechain import ChainClassifier

    rng = np.random.default_rng(0)
    X: Any = None
    if kind != "sparse":
        X = rng.standard_normal((n_rows, n_features))
    else:
        n_each = round(DENSITY * n_features)
        indices = rng.integers(n_features, size=n_rows * n_each, dtype=np.int32)
        X = sp.csr_array((np.ones(len(indices)), indices, np.arange(n_rows + 1) * n_each), shape=(n_rows, n_features))
        X.sum_duplicates()
    Y = _labels(X, n_labels, 2.0, 1.0, rng)
    # Two threads, because each has its own scratch space.
    model = ChainClassifier(order=None, random_state=0, n_jobs=FIT_THREADS).fit(
        X[:500], Y[:500]
    )  # compiles the kernels
    beyond, taken = _beyond(lambda: model.fit(X, Y))
    links = sum(
        link.coef.nbytes + link.intercept.nbytes + sum(effects.nbytes for effects in link.parent_effects)
        for link in model.chain_.links
    )
    return {"beyond": beyond, "size": _size(X) + _size(Y) + links, "note": f"{taken:.1f} s"}


def _predict(kind: str, n_rows: int, n_features: int, n_labels: int) -> dict[str, Any]:
    """Predict rows whose labels are mostly certain, or so uncertain that every row uses up its budget.

    The budget is 1,000 nodes, because the default of 20,000 would take hours.
    """
    from montechain import BranchAndBound, ChainClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    few = X[:2000]
    clear = kind == "clear labels"
    Y = _labels(few, n_labels, 10.0, 15.0, rng) if clear else _labels(few, n_labels, 1.0, 0.5, rng)
    inference = BranchAndBound() if clear else BranchAndBound(max_nodes=1000)
    model = ChainClassifier(order=None, inference=inference, random_state=0).fit(few, Y)
    certified = model.decide(few).certified.mean()
    beyond, taken = _beyond(lambda: model.predict(X))
    note = f"{taken:.1f} s, {certified:.0%} of the first rows certified; the answer alone {n_labels / n_features:g} ×"
    return {"beyond": beyond, "size": _size(X), "note": note}


if __name__ == "__main__":
    of_kind = CASES[sys.argv[1]]
    print(json.dumps((_fit if of_kind[0] == "fit" else _predict)(sys.argv[1], *of_kind[1:4])))
