"""What a reproduction finds: tables of cells, curves of searches, examples, and test statistics."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from montechain._files import atomic_write

__all__ = ["TOLERANCE", "Findings", "Table", "complete_cells", "greater_is_better", "is_share", "is_time", "ranks"]

TOLERANCE = 0.03
"""Maximum difference that counts as agreement."""
BASELINE = "Majority"
"""A baseline beside the methods; it has no rank and is never the best."""
DEFAULTS: dict[str, Any] = {
    "dataset": "", "method": "", "measure": "", "ours": np.nan, "ours_std": np.nan, "n": 0, "status": "ok",
    "reason": "", "published": np.nan, "published_rank": np.nan, "published_std": np.nan, "published_word": "",
    "meka": np.nan, "meka_protocol": "", "difference": np.nan, "rank": np.nan, "certified": np.nan,
    "comparable": True, "note": "",
}  # fmt: skip
"""The columns of `Table.cells`, and their placeholders for missing values."""


@dataclass(frozen=True)
class Table:
    """Our figures beside the paper's and MEKA's.

    Attributes
    ----------
    key, title, caption : str
    cells : data frame
        One row for each data set, method and measure: our mean, standard deviation and number of values; the
        `status` ("ok", "DNF" or "missing") with its `reason`; the paper's figure, rank and word (DNF, N/A); MEKA's
        figure; our `difference` to the paper, NaN where the figures are not `comparable`; our `rank`, with ties
        sharing the best one; the share of `certified` predictions; and a `note`.
    """

    key: str
    title: str
    caption: str
    cells: pd.DataFrame

    @property
    def measures(self) -> list[str]:
        """The measures, in order of appearance."""
        return list(dict.fromkeys(self.cells["measure"]))


@dataclass
class Findings:
    """Everything that was found.

    Attributes
    ----------
    tables : list of Table
    traces : list of dict
        Searches: ``figure``, ``dataset``, ``payoff``, ``on``, ``number``, ``estimator``, ``optimum`` and ``steps``.
    examples : list of dict
        Rows with their most probable vectors and the tree of decisions; see `reproduction.studies.rows`.
    statistics : dict
        Tests by measure; see `reproduction.statistics.significance`.
    about : dict
        Command, seed, versions, machine.
    """

    tables: list[Table] = field(default_factory=list)
    traces: list[dict[str, Any]] = field(default_factory=list)
    examples: list[dict[str, Any]] = field(default_factory=list)
    statistics: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def add(self, other: Findings) -> None:
        """Add the findings of another study."""
        self.tables += other.tables
        self.traces += other.traces
        self.examples += other.examples
        self.statistics |= other.statistics

    def write(self, path: Path) -> None:
        """Write everything as JSON; numbers that are not finite become null."""
        tables = [vars(table) | {"cells": table.cells.to_dict("records")} for table in self.tables]
        with atomic_write(path, "w", encoding="utf-8") as stream:
            json.dump(_plain(vars(self) | {"tables": tables}), stream, ensure_ascii=False, allow_nan=False)

    @classmethod
    def read(cls, path: Path) -> Findings:
        """Return what `write` wrote."""
        found = json.loads(path.read_text(encoding="utf-8"))
        tables = [Table(**one | {"cells": complete_cells(one["cells"])}) for one in found.pop("tables")]
        return cls(tables=tables, **found)


def complete_cells(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return cells with all columns of `Table.cells`, with differences, and typed."""
    cells = pd.DataFrame(list(rows))
    for name, default in DEFAULTS.items():
        present = cells[name] if name in cells else pd.Series([None] * len(cells), dtype=object)
        filled = [default if value is None or value != value else value for value in present]
        cells[name] = pd.Series(filled, dtype="float64" if isinstance(default, float) else type(default))
    cells["difference"] = (cells["ours"] - cells["published"]).where(cells["comparable"])
    return cells[list(DEFAULTS)]


def ranks(values: pd.Series, measure: str) -> pd.Series:
    """Return ranks, 1 for the best, with ties sharing the best rank.

    >>> ranks(pd.Series([0.7, 0.9, 0.7, np.nan]), "exact_match").tolist()
    [2.0, 1.0, 2.0, nan]
    """
    # Rounded, so that means that differ by rounding errors only are tied.
    return values.round(12).rank(method="min", ascending=not greater_is_better(measure))


def greater_is_better(measure: str) -> bool:
    """Return whether more is better: not for losses and times."""
    return not measure.endswith(("_loss", "_s"))


def is_time(measure: str) -> bool:
    """Return whether a measure is a time, which is compared by its ratio."""
    return measure.endswith("_s")


def is_share(measure: str) -> bool:
    """Return whether a measure lies between 0 and 1, so that `TOLERANCE` makes sense."""
    return not is_time(measure) and not measure.startswith("J_")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
