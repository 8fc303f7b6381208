"""Time two ways of doing the same work against each other."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

TURN_SECONDS = 0.02
"""Minimum seconds of a turn: shorter work is repeated."""
LEAST_SECONDS = 1.0
"""Minimum total seconds: short work gets more turns."""
LONG_SECONDS = 5.0
"""Peers that take longer than this run only once, which is fair because they do not compile anything."""


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the wall-clock seconds of one call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def seconds(work: Callable[[], Any]) -> float:
    """Return the wall-clock seconds of one call."""
    return timed(work)[0]


def median_seconds(work: Callable[[], Any], n_runs: int) -> float:
    """Return the median seconds of calls after a first one, which is not timed."""
    work()
    taken: list[float] = []
    while len(taken) < n_runs or sum(taken) < LEAST_SECONDS / 2:
        taken.append(seconds(work))
    return statistics.median(taken)


def interleaved(peer: Callable[[], Any], ours: Callable[[], Any], n_runs: int) -> tuple[float, float]:
    """Return the median seconds of both, run in turn, so that a slow phase of the machine affects both.

    Both are run once beforehand, untimed: kernels compile at their first call. Then each has `n_runs` turns or more. A
    turn of short work is several runs in a row, as with `timeit`; otherwise each side would start with the other's data
    in the caches.
    """
    ours()
    first = seconds(peer)
    if first > LONG_SECONDS:
        return first, statistics.median(seconds(ours) for _ in range(n_runs))
    taken: tuple[list[float], list[float]] = ([], [])
    repeats = [max(1, round(TURN_SECONDS / seconds(work))) for work in (peer, ours)]
    started = time.perf_counter()
    gc.disable()
    try:
        while len(taken[0]) < n_runs or time.perf_counter() - started < LEAST_SECONDS:
            for which, work in enumerate((peer, ours)):
                runs = range(repeats[which])
                taken[which].append(seconds(lambda: [work() for _ in runs]) / len(runs))  # noqa: B023
    finally:
        gc.enable()
    return statistics.median(taken[0]), statistics.median(taken[1])
