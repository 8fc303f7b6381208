"""The cells of a comparison as the paper prints them: one grid per measure, data sets down, methods across."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from montechain.experiments.paper.figures import published_figures
from montechain.experiments.paper.names import dataset_title
from montechain.experiments.paper.remarks import REMARKS
from montechain.experiments.report.wording import decimals_of, is_share, is_time, measure_title, number
from montechain.experiments.reproduction import Comparison, greater_is_better

__all__ = [
    "MEKA_PROTOCOL",
    "TOLERANCE",
    "Cell",
    "Grid",
    "all_cells",
    "grid_of",
    "grids_of",
    "in_reading_order",
    "remarks",
]

TOLERANCE = 0.03
"""Differences up to this one count as agreement."""
READING_ORDER = ("accuracy", "time", "official", "natural_order", "agreement", "payoffs", "music_orders")
PRINTED = frozenset(
    {"accuracy", "time", "official", "natural_order"}
)  # tables whose cells the paper has, or has DNF for
WITH_SPREAD = frozenset({"payoffs"})  # the paper prints standard deviations there
WITHOUT_BEST = frozenset({"agreement"})  # its columns are questions, not rivals
MOST_ACROSS = 12  # columns that a table can have
IS_DNF = "DNF in the paper."  # said by the cell itself, so it needs no note
MEKA_PROTOCOL = "MEKA: "  # what the note begins with if MEKA was measured by another protocol than ours
UNRANKED = frozenset({"Majority"})  # beside the methods, and never the best of them


@dataclass(frozen=True)
class Cell:
    """One figure of ours, and what stands beside it.

    Attributes
    ----------
    table : str
        Key of the comparison.
    dataset, method, measure, status, reason, note : str
    ours, ours_std, published, published_rank, meka, difference, rank : float
        NaN where there is none.
    published_std, certified : float
        Spread of the paper's figure; share of our predictions that are proven to be the best under their model. NaN
        where there is none.
    n : int
        How many values ours is the mean of.
    comparable : bool
    best : bool
        Whether no method of ours is better on this data set.
    published_word : str
        "DNF" or "N/A" where the paper prints that, else empty.
    """

    table: str
    dataset: str
    method: str
    measure: str
    ours: float
    ours_std: float
    n: int
    published: float
    published_rank: float
    meka: float
    difference: float
    rank: float
    status: str
    reason: str
    comparable: bool
    note: str
    best: bool
    published_word: str
    published_std: float = math.nan
    certified: float = math.nan

    @property
    def is_there(self) -> bool:
        """Whether there is a figure of ours."""
        return self.status == "ok" and math.isfinite(self.ours)

    @property
    def is_filled(self) -> bool:
        """Whether there is a figure of ours where the paper's method did not finish."""
        return self.is_there and self.published_word == "DNF"

    @property
    def is_compared(self) -> bool:
        """Whether the difference to the paper can be held against the tolerance."""
        return self.comparable and math.isfinite(self.difference) and is_share(self.measure)

    @property
    def is_beyond(self) -> bool:
        """Whether ours differs from the paper by more than the tolerance."""
        # Rounded, so that 0.33 - 0.30 is not beyond 0.03.
        return self.is_compared and round(abs(self.difference), 9) > TOLERANCE

    @property
    def meka_protocol(self) -> str:
        """How MEKA was measured, if not as ours was."""
        return self.note.rpartition(MEKA_PROTOCOL)[2].strip(" .") if MEKA_PROTOCOL in self.note else ""

    @property
    def gain(self) -> float:
        """By how much ours is better than the paper's: negative if it is worse, NaN if they cannot be compared."""
        if not self.is_compared:
            return math.nan
        return self.difference if greater_is_better(self.measure) else -self.difference


@dataclass(frozen=True)
class Grid:
    """One measure of a comparison.

    Attributes
    ----------
    measure : str
    datasets, methods : list of str
        In the order in which they came.
    cells : dict
        From (data set, method); a pair that is not in it was not wanted.
    decimals : int or None
        None for times, whose size decides.
    published_decimals : int
    """

    measure: str
    datasets: list[str]
    methods: list[str]
    cells: dict[tuple[str, str], Cell]
    decimals: int | None
    published_decimals: int

    @property
    def title(self) -> str:
        """The measure in print."""
        return measure_title(self.measure)

    @property
    def direction(self) -> str:
        """Which way is better, in words."""
        return "greater is better" if greater_is_better(self.measure) else "smaller is better"

    @property
    def is_turned(self) -> bool:
        """Whether methods go down and data sets across, because there are too many methods."""
        return len(self.methods) > max(MOST_ACROSS, len(self.datasets))

    @property
    def head(self) -> list[str]:
        """What stands above the columns, the first of which names the rows."""
        if self.is_turned:
            return ["Order" if self.measure.startswith("J_") else "Method", *map(dataset_title, self.datasets)]
        return ["Data set", *self.methods]

    @property
    def rows(self) -> list[tuple[str, list[Cell | None]]]:
        """What stands in the rows: a name, and the cells, None where there is none."""
        if self.is_turned:
            return [(m, [self.cells.get((dataset, m)) for dataset in self.datasets]) for m in self.methods]
        return [(dataset_title(d), [self.cells.get((d, method)) for method in self.methods]) for d in self.datasets]

    @property
    def foot(self) -> list[tuple[str, dict[str, float]]]:
        """Average ranks, ours and the paper's over the same data sets, where there are any."""
        if self.is_turned:
            return []
        found = [("Average rank", self.average_ranks()), ("in the paper", self.average_ranks(published=True))]
        return [(name, ranks) for name, ranks in found if ranks]

    def ours_text(self, cell: Cell) -> str:
        """Return our figure, or what stands in its place."""
        if cell.is_there:
            return number(cell.ours, self.decimals) + self._spread(cell, cell.ours_std)
        return "DNF" if cell.status == "DNF" else "–"

    def published_text(self, cell: Cell) -> str:
        """Return the paper's figure or word, empty if it has none."""
        if math.isfinite(cell.published):
            return number(cell.published, self.published_decimals) + self._spread(cell, cell.published_std)
        return cell.published_word

    def _spread(self, cell: Cell, std: float) -> str:
        return f" ± {number(std, 3)}" if cell.table in WITH_SPREAD and math.isfinite(std) else ""

    def average_ranks(self, published: bool = False) -> dict[str, float]:
        """Return the mean rank of each method over the data sets on which it has one, ours or the paper's."""
        found = {}
        for method in self.methods:
            cells = [self.cells[dataset, method] for dataset in self.datasets if (dataset, method) in self.cells]
            if published:
                cells = [cell for cell in cells if cell.dataset in self._ranked]
            ranks = [cell.published_rank if published else cell.rank for cell in cells]
            ranks = [rank for rank in ranks if math.isfinite(rank)]
            if ranks:
                found[method] = float(np.mean(ranks))
        return found

    @cached_property
    def _ranked(self) -> set[str]:
        """Data sets on which ours have ranks."""
        return {cell.dataset for cell in self.cells.values() if math.isfinite(cell.rank)}

    @property
    def has_published(self) -> bool:
        """Whether anything of the paper's stands beside ours."""
        return any(self.published_text(cell) for cell in self.cells.values())

    @property
    def notes(self) -> list[str]:
        """What is to be said about cells, each remark once."""
        return list(dict.fromkeys(remark for cell in self.cells.values() for remark in remarks(cell)))


def remarks(cell: Cell) -> list[str]:
    """Return what is to be said about a cell, one remark each: why it did not finish or was not run, and its note.

    A note of several of the paper's remarks is taken apart again, so that each of them is printed once for a table.
    """
    why = "" if cell.is_there else f"{cell.reason[:1].upper()}{cell.reason[1:]}"
    if why and cell.status == "DNF":
        why = f"Did not finish: {cell.reason}"
    rest, known = cell.note.replace(IS_DNF, " "), []
    for remark in REMARKS:
        if remark.text in rest:
            known.append(remark.text)
            rest = rest.replace(remark.text, " ")
    return [text for text in (why, *known, " ".join(rest.split())) if text]


def grids_of(comparison: Comparison) -> list[Grid]:
    """Return one grid for each measure of a comparison.

    Examples
    --------
    >>> import pandas as pd
    >>> from montechain.experiments.reproduction import complete_cells
    >>> row = {"dataset": "music", "measure": "exact_match"}
    >>> rows = [{**row, "method": name, "ours": value} for name, value in [("IC", 0.3), ("CC", 0.4)]]
    >>> grid, = grids_of(Comparison("accuracy", "", "", complete_cells(pd.DataFrame(rows))))
    >>> [cell.best for cell in grid.cells.values()], grid.ours_text(grid.cells["music", "CC"])
    ([False, True], '0.400')
    """
    grids = []
    for measure, rows in comparison.cells.groupby("measure", sort=False):
        records = rows.to_dict("records")
        best = {} if comparison.key in WITHOUT_BEST else _best(records, str(measure))
        cells = {
            (str(row["dataset"]), str(row["method"])): _cell(comparison.key, row, best.get(row["dataset"]))
            for row in records
        }
        grids.append(
            Grid(
                str(measure),
                list(dict.fromkeys(dataset for dataset, _ in cells)),
                list(dict.fromkeys(method for _, method in cells)),
                cells,
                _decimals(str(measure)),
                decimals_of(rows["published"]),
            )
        )
    return grids


def in_reading_order(comparisons: list[Comparison]) -> list[Comparison]:
    """Return the comparisons as one reads them: the main table first; unknown ones last, as they came."""
    places = {key: i for i, key in enumerate(READING_ORDER)}
    return sorted(comparisons, key=lambda table: places.get(table.key, len(places)))


def all_cells(comparisons: list[Comparison]) -> list[tuple[Comparison, Cell]]:
    """Return every cell of several comparisons, with the comparison that it is in."""
    return [
        (comparison, cell)
        for comparison in comparisons
        for grid in grids_of(comparison)
        for cell in grid.cells.values()
    ]


def grid_of(comparisons: list[Comparison], measure: str, key: str = "accuracy") -> Grid | None:
    """Return the grid of a measure in the comparison with this key, or None."""
    tables = [table for table in comparisons if table.key == key]
    return next((grid for table in tables for grid in grids_of(table) if grid.measure == measure), None)


def _decimals(measure: str) -> int | None:
    return 3 if is_share(measure) else None if is_time(measure) else 2


def _best(records: list[dict[str, Any]], measure: str) -> dict[str, float]:
    """Return the best figure of ours on each data set, where there are at least two to choose from."""
    found: dict[str, list[float]] = {}
    for row in records:
        if row["status"] == "ok" and math.isfinite(row["ours"]) and row["method"] not in UNRANKED:
            # Rounded, so that means that are equal but for the order of summation are equally good.
            found.setdefault(row["dataset"], []).append(round(row["ours"], 9))
    choose = max if greater_is_better(measure) else min
    return {dataset: choose(values) for dataset, values in found.items() if len(values) > 1}


def _cell(key: str, row: dict[str, Any], best: float | None) -> Cell:
    texts = ("dataset", "method", "measure", "status", "reason", "note")
    numbers = ("ours", "ours_std", "published", "published_rank", "meka", "difference", "rank")
    values: dict[str, Any] = {name: row[name] if isinstance(row[name], str) else "" for name in texts}
    values |= {name: float(row[name]) for name in numbers}
    return Cell(
        key,
        **values,
        n=int(row["n"]),
        comparable=bool(row["comparable"]),
        best=row["status"] == "ok"
        and best is not None
        and row["method"] not in UNRANKED
        and round(float(row["ours"]), 9) == best,
        published_word=_published_word(key, row),
        published_std=float(row.get("published_std", math.nan)),
        certified=float(row.get("certified", math.nan)),
    )


def _published_word(key: str, row: dict[str, Any]) -> str:
    """Return the word that the paper prints in place of a figure."""
    if key not in PRINTED or math.isfinite(row["published"]):
        return ""
    return _words().get((row["measure"], row["dataset"], row["method"]), "")


@cache
def _words() -> dict[tuple[str, str, str], str]:
    return {
        (figure.measure, figure.dataset, figure.method): "DNF" if figure.did_not_finish else "N/A"
        for figure in published_figures()
        if math.isnan(figure.value)
    }
