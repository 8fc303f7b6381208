"""Measurements, and the tables made from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

SUMMARY_COLUMNS = ("what", "data", "target", "lowest", "highest", "reached", "missed on")


@dataclass(frozen=True)
class Measurement:
    """One row of the table.

    Attributes
    ----------
    what, data : str
        The work done, and on which data.
    ours : float
        Median seconds, or bytes, or a number of things; see `unit`.
    peer : float or None
        The same of the peer.
    against : str
        Who the peer is.
    target : float or None
        The ratio to reach, if any; without a peer, the maximum of `ours` itself.
    at_least : bool
        Whether the ratio, peer / ours, must reach the target; otherwise ours / peer must not exceed it.
    correct : bool
        Whether the results passed the check that makes the comparison fair.
    unit : {"s", "MB", "GFLOP/s", "GB/s"} or a noun in the plural
    threads : int
        Threads that our side was allowed.
    note : str
        What was checked.
    more : dict of str
        Further columns, by name.
    """

    what: str
    data: str
    ours: float
    peer: float | None = None
    against: str = ""
    target: float | None = None
    at_least: bool = True
    correct: bool = True
    unit: str = "s"
    threads: int = 1
    note: str = ""
    more: dict[str, str] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer; where a ratio must stay below its target, ours / peer."""
        if self.peer is None:
            return None
        if not self.at_least:
            return self.ours / self.peer
        return self.peer / self.ours if self.ours else float("inf")

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached with correct results; None without a target."""
        if self.target is None:
            return None if self.correct else False
        value = self.ours if self.ratio is None else self.ratio
        return bool(self.correct and (value >= self.target if self.at_least else value <= self.target))

    def as_dict(self) -> dict[str, Any]:
        """All fields, and the values derived from them."""
        return asdict(self) | {"correct": bool(self.correct), "ratio": self.ratio, "reached": self.reached}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Measurement:
        """Undo `as_dict`."""
        return cls(**{one.name: values[one.name] for one in fields(cls) if one.name in values})

    @property
    def wanted(self) -> str:
        """The target as text, such as "≥ 5 ×" or "≤ 0.3 s"."""
        if self.target is None:
            return ""
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {quantity(self.target, self.unit) if self.peer is None else times(self.target)}"

    def cells(self) -> dict[str, str]:
        """Return the row's text for each column."""
        return {
            "what": self.what,
            "data": self.data,
            "threads": str(self.threads),
            "peer": self.against,
            "peer's": "" if self.peer is None else quantity(self.peer, self.unit),
            "ours": quantity(self.ours, self.unit),
            "ratio": "" if self.ratio is None else times(self.ratio),
            "target": self.wanted,
            "reached": {True: "yes", False: "NO", None: ""}[self.reached],
            **self.more,
            "note": self.note,
        }


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit; seconds in a readable unit, bytes in megabytes."""
    if unit == "s":
        for factor, name in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
            if value * factor >= 1.0 or name == "µs":
                return f"{_three_digits(value * factor)} {name}"
    if unit == "MB":
        return f"{value / 1e6:,.0f} MB"
    return f"{_three_digits(value)} {unit}"


def times(ratio: float) -> str:
    """Return a ratio as text."""
    return f"{_three_digits(ratio)} ×"


def _three_digits(value: float) -> str:
    if value == int(value) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def as_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    everything = [tuple(columns), *map(tuple, rows)]
    widths = [max(len(row[column]) for row in everything) for column in range(len(columns))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in everything
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def details(rows: Iterable[Measurement]) -> str:
    """Return all measurements as a table, without the columns that are empty."""
    cells = [row.cells() for row in rows]
    columns = [column for column in dict.fromkeys(name for row in cells for name in row) if column != "note"]
    filled = [column for column in (*columns, "note") if any(row.get(column) for row in cells)]
    return as_table(filled, [[row.get(column, "") for column in filled] for row in cells])


def summary(rows: Iterable[Measurement]) -> str:
    """Return one line per target, over all data sets: how far it is reached, and where it is missed."""
    by_target: dict[tuple[str, str], list[Measurement]] = {}
    for row in rows:
        if row.target is not None:
            by_target.setdefault((row.what, row.wanted), []).append(row)
    lines = []
    for (what, wanted), same in by_target.items():
        values = [row.ours if row.ratio is None else row.ratio for row in same]
        as_text = partial(quantity, unit=same[0].unit) if same[0].ratio is None else times
        missed = [row.data for row in same if not row.reached]
        lines.append(
            (
                what,
                ", ".join(row.data for row in same),
                wanted,
                as_text(min(values)),
                as_text(max(values)),
                "yes" if not missed else "NO" if len(missed) == len(same) else f"{len(same) - len(missed)}/{len(same)}",
                ", ".join(missed),
            )
        )
    return as_table(SUMMARY_COLUMNS, lines)


def fill(path: Path, sections: dict[str, str]) -> None:
    """Replace the text between ``<!-- name -->`` and ``<!-- /name -->`` in a Markdown file."""
    text = path.read_text(encoding="utf8")
    for name, content in sections.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        if start and end:
            text = f"{before}{start}{content}\n{end}{after}"
    path.write_text(text, encoding="utf8")
