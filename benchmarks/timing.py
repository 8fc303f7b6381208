"""How two ways of doing the same work are timed against each other."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

LEAST_SECONDS = 1.0
"""Work that is done in a moment is timed more often, until the runs together have taken this long."""
LONG_SECONDS = 5.0
"""A peer that takes longer than this is run once; it compiles nothing at its first call."""


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
    """Return the median seconds of both, run in turn, so that a slow spell of the machine meets both.

    Both are run once beforehand, untimed: kernels compile at their first call. Then each is run `n_runs` times or more.
    """
    ours()
    first = seconds(peer)
    if first > LONG_SECONDS:
        return first, statistics.median(seconds(ours) for _ in range(n_runs))
    taken: tuple[list[float], list[float]] = ([], [])
    gc.disable()
    try:
        while len(taken[0]) < n_runs or sum(taken[0]) + sum(taken[1]) < LEAST_SECONDS:
            for which, work in enumerate((peer, ours)):
                taken[which].append(seconds(work))
    finally:
        gc.enable()
    return statistics.median(taken[0]), statistics.median(taken[1])
