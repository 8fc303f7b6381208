"""What a measurement is, and how two ways of doing the same work are timed against each other."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

COLUMNS = ("what", "data", "peer", "ours", "ratio", "target", "reached", "note")


@dataclass(frozen=True)
class Measurement:
    """One row of the table.

    Attributes
    ----------
    what, data : str
        The work done, and on which data.
    peer, ours : float or None
        Median seconds; for memory, bytes of the input and of the peak.
    target : float or None
        The ratio wanted, if one is.
    at_least : bool
        Whether the ratio, peer / ours, must reach the target; otherwise ours / peer must stay below it.
    correct : bool
        Whether the results passed the check that makes the comparison fair.
    unit : {"s", "MB", "links"}
    note : str
        What was checked.
    """

    what: str
    data: str
    peer: float | None
    ours: float
    target: float | None
    at_least: bool = True
    correct: bool = True
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer; for memory, how many times the input."""
        if self.peer is None:
            return None
        return self.peer / self.ours if self.at_least else self.ours / self.peer

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached with correct results; None where there is no target."""
        if self.target is None or self.ratio is None:
            return None if self.correct else False
        return self.correct and (self.ratio >= self.target if self.at_least else self.ratio < self.target)

    def as_dict(self) -> dict[str, Any]:
        """All fields, with what follows from them."""
        return asdict(self) | {"ratio": self.ratio, "reached": self.reached}

    def cells(self) -> tuple[str, ...]:
        """Return the row's text for each of `COLUMNS`."""
        target = "" if self.target is None else f"{'≥' if self.at_least else '<'} {self.target:g}"
        return (
            self.what,
            self.data,
            self._quantity(self.peer),
            self._quantity(self.ours),
            "" if self.ratio is None else f"{self.ratio:.2f}",
            target,
            {True: "yes", False: "NO", None: ""}[self.reached],
            self.note,
        )

    def _quantity(self, value: float | None) -> str:
        if value is None:
            return ""
        if self.unit == "links":
            return f"{value:,.0f} links"
        return f"{value / 1e6:,.0f} MB" if self.unit == "MB" else f"{value:.4f} s"


def as_table(measurements: list[Measurement]) -> str:
    """Return the measurements as a Markdown table with aligned columns."""
    rows = [COLUMNS, *(measurement.cells() for measurement in measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


LEAST_SECONDS = 1.0
"""Work that is done in a moment is timed more often, until the runs together have taken this long."""


def interleaved(peer: Callable[[], Any], ours: Callable[[], Any], n_runs: int) -> tuple[float, float]:
    """Return the median seconds of both, run in turn, so that a slow spell of the machine meets both.

    Both are run once beforehand, untimed: kernels compile at their first call. Then each is run `n_runs` times or more.
    """
    peer()
    ours()
    seconds: tuple[list[float], list[float]] = ([], [])
    gc.disable()
    try:
        while len(seconds[0]) < n_runs or sum(seconds[0]) + sum(seconds[1]) < LEAST_SECONDS:
            for which, work in enumerate((peer, ours)):
                start = time.perf_counter()
                work()
                seconds[which].append(time.perf_counter() - start)
    finally:
        gc.enable()
    return statistics.median(seconds[0]), statistics.median(seconds[1])
