"""The tables in Markdown, with the summary in words above them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from montechain.experiments.paper.names import dataset_title
from montechain.experiments.report.charts import trace_steps
from montechain.experiments.report.differences import DIFFERENCES_HEAD, differences
from montechain.experiments.report.differences import WORDS as DIFFERENCE_WORDS
from montechain.experiments.report.findings import findings
from montechain.experiments.report.grids import TOLERANCE, Cell, Grid, grids_of, in_reading_order, remarks
from montechain.experiments.report.wording import fact, is_share, is_time, number, payoff_title, signed
from montechain.experiments.reproduction import Reproduction, Trace

__all__ = ["markdown_tables", "markdown_text"]

SEARCHES = (
    "From a random order, or the paper's own, by swaps that are accepted if the payoff grows. A payoff on the "
    "prediction sums up the probabilities of the predicted labels, one on the truth those of the true ones."
)
SEARCH_HEAD = (
    "Data set", "Links", "Payoff", "On", "Seed", "First", "Last", "Best of all orders", "Improvements", "Last one at",
    "Iterations",
)  # fmt: skip
BESIDE = "; in square brackets the rank, in round ones the paper's figure and ours less it"
WORDS = frozenset({*DIFFERENCE_WORDS, "Links", "Payoff", "On", "MEKA's protocol, if another"})
"""Heads of columns that hold words."""
SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!$&])")


def markdown_text(text: str) -> str:
    r"""Return text that Markdown shows as it is, in a table as well.

    >>> print(markdown_text("a|b <img> *c*"))
    a\|b \<img\> \*c\*
    """
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def markdown_tables(reproduction: Reproduction) -> str:
    """Return the summary and every table: in each cell ours, best in bold, then the paper's in brackets.

    Examples
    --------
    >>> print(markdown_tables(Reproduction()))
    # Reproduction in tables
    <BLANKLINE>
    Nothing was computed.
    <BLANKLINE>
    """
    parts = ["# Reproduction in tables"]
    if not reproduction.comparisons:
        parts.append("Nothing was computed.")
    for finding in findings(reproduction):
        stop = "" if finding.heading.endswith("?") else "."
        parts.append(f"**{markdown_text(finding.heading)}{stop}** {markdown_text(finding.text)}")
        if finding.items:
            parts.append("\n".join(f"- {markdown_text(item)}" for item in finding.items))
    apart = [list(map(markdown_text, own.row)) for own in differences(reproduction.comparisons)]
    if apart:
        parts += [f"## Every difference beyond {TOLERANCE}", _table(DIFFERENCES_HEAD, apart)]
    for comparison in in_reading_order(reproduction.comparisons):
        parts.append(f"## {markdown_text(comparison.title)}")
        if comparison.caption:
            parts.append(markdown_text(comparison.caption))
        for grid in grids_of(comparison):
            parts += _grid(grid)
    if reproduction.traces:
        parts += [
            "## Searches of orders",
            SEARCHES,
            _table(SEARCH_HEAD, [_search(trace) for trace in reproduction.traces]),
        ]
    if reproduction.about:
        lines = [
            f"- {markdown_text(key.replace('_', ' '))}: {_shown(key, value)}"
            for key, value in reproduction.about.items()
        ]
        parts += ["## About this run", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _search(trace: Trace) -> list[str]:
    """Return a search in one row."""
    curve, steps = trace.curve, trace_steps(trace)
    texts = [dataset_title(trace.dataset), trace.estimator, payoff_title(trace.payoff), trace.on, str(trace.seed)]
    found = [float(curve["payoff"].iloc[0]), float(curve["payoff"].iloc[-1])]
    optimum = "" if trace.optimum is None else number(trace.optimum, 2)
    counts = [len(steps) - 1, int(steps["iteration"].iloc[-1]), int(curve["iteration"].iloc[-1])]
    return [
        *map(markdown_text, texts), *(number(value, 2) for value in found), optimum, *(f"{count:,}" for count in counts)
    ]  # fmt: skip


def _shown(key: str, value: Any) -> str:
    """Return a fact in Markdown; what is to be typed, as it is typed."""
    return f"`{value}`" if key == "command" else markdown_text(fact(value))


def _grid(grid: Grid) -> list[str]:
    marks = {note: i for i, note in enumerate(grid.notes, 1)}
    rows = [
        [markdown_text(name), *("" if cell is None else _cell(grid, cell, marks) for cell in cells)]
        for name, cells in grid.rows
    ]
    for name, ranks in grid.foot:
        rows.append([name, *(f"{ranks[method]:.2f}" if method in ranks else "" for method in grid.methods)])
    beside = (
        "; in square brackets the rank, in round ones the paper's figure and ours less it" if grid.has_published else ""
    )
    parts = [f"### {markdown_text(grid.title)} ({grid.direction}{beside})", _table(grid.head, rows)]
    if marks:
        parts.append("\n".join(f"{i}. {markdown_text(note)}" for note, i in marks.items()))
    measured = [cell for cell in grid.cells.values() if cell.is_there and math.isfinite(cell.meka)]
    if measured:
        head = ["Data set", "Method", "Ours", "MEKA", "Ours − MEKA", "MEKA's protocol, if another"]
        lines = [
            [markdown_text(dataset_title(cell.dataset)), markdown_text(cell.method), grid.ours_text(cell),
             number(cell.meka, grid.decimals), signed(cell.ours - cell.meka), markdown_text(cell.meka_protocol)]
            for cell in measured
        ]  # fmt: skip
        parts += ["Beside MEKA as it is today:", _table(head, lines)]
    return parts


def _cell(grid: Grid, cell: Cell, marks: dict[str, int]) -> str:
    """Return a cell in Markdown already, so that `_table` must not escape what marks the best."""
    ours = grid.ours_text(cell)
    text = f"**{ours}**" if cell.best else ours
    if cell.is_there and math.isfinite(cell.rank):
        text += f" [{cell.rank:g}]"
    published = grid.published_text(cell)
    if published:
        difference = "" if is_time(cell.measure) else signed(cell.difference, 3 if is_share(cell.measure) else 2)
        text += f" ({published}{', ' if difference else ''}{difference})"
    numbers = ",".join(str(marks[remark]) for remark in remarks(cell))
    return text + (f" <sup>{numbers}</sup>" if numbers else "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first row is text, and whose other cells are Markdown."""
    sides = ["---" if i == 0 or name in WORDS else "---:" for i, name in enumerate(head)]
    lines = ["| " + " | ".join(map(markdown_text, head)) + " |", "|" + "|".join(sides) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)
