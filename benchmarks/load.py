"""A server's day: single-row predictions, one after the other in one process, and how its memory grows.

``MONTECHAIN_LOAD_ROWS`` is their number, a million by default.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.report import Measurement
from montechain import ChainClassifier

N_ROWS = int(os.environ.get("MONTECHAIN_LOAD_ROWS", 1_000_000))
WARM_UP = 0.1
"""Share of the predictions after which the growth of memory counts."""
MOST_GROWTH = 5.0
"""Largest growth of the resident memory that counts as flat, in MB."""


def measure(n_runs: int) -> Iterator[Measurement]:
    """Predict single rows with a chain of 14 labels over 100 inputs, the shape of Yeast."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 100))
    Y = (X[:, :14] + rng.logistic(size=(2000, 14)) > 0).astype(int)
    model = ChainClassifier(random_state=0, n_jobs=1).fit(X, Y)
    expected = model.predict(X)
    rows, is_same, before = [X[k : k + 1] for k in range(len(X))], True, 0.0
    started = time.perf_counter()
    for n in range(N_ROWS):
        if n == int(WARM_UP * N_ROWS):
            before = _resident_megabytes()
        k = n % len(rows)
        is_same &= bool((model.predict(rows[k]) == expected[k]).all())
    taken = time.perf_counter() - started
    growth = _resident_megabytes() - before
    yield Measurement(
        "single-row predictions", f"{N_ROWS:,} in one process", taken, correct=is_same and growth <= MOST_GROWTH,
        note=f"{N_ROWS / taken:,.0f} a second; memory grew by {growth:.1f} MB after the first {WARM_UP:.0%}",
    )  # fmt: skip


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
