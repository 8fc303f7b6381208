"""Where ours and the paper's figures are far apart, and what is known about why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from montechain.experiments.paper.names import dataset_title
from montechain.experiments.paper.remarks import REMARKS
from montechain.experiments.report.grids import MEKA_PROTOCOL, Cell, all_cells, remarks
from montechain.experiments.report.wording import measure_title, number, signed
from montechain.experiments.reproduction import Comparison

__all__ = ["DIFFERENCES_HEAD", "OPEN", "PAPER_TABLES", "WORDS", "Difference", "differences"]

PAPER_TABLES = ("accuracy", "time", "official", "payoffs")
"""Tables that the paper has, too; the others would count some of its figures twice."""
OPEN = "Open: not explained."
MANY = 2.0
"""Standard errors within which a mean says nothing against a figure."""
WORDS = ("Data set", "Method", "Measure", "What is known about it")
DIFFERENCES_HEAD = ("Table", "Data set", "Method", "Measure", "Ours", "Paper", "Difference", "What is known about it")


@dataclass(frozen=True)
class Difference:
    """A figure of ours that is more than the tolerance away from the paper's.

    Attributes
    ----------
    title : str
        Of the table.
    cell : Cell
    reasons : tuple of str
        Why it may be; empty if nothing is known that could explain it.
    remarks : tuple of str
        What else is to be said.
    """

    title: str
    cell: Cell
    reasons: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The reasons, or that there is none, and what else is to be said."""
        return " ".join([*(self.reasons or (OPEN,)), *self.remarks])

    @property
    def row(self) -> list[str]:
        """What stands under `DIFFERENCES_HEAD`."""
        cell = self.cell
        names = [self.title, dataset_title(cell.dataset), cell.method, measure_title(cell.measure)]
        return [*names, number(cell.ours, 3), number(cell.published, 3), signed(cell.difference), self.text]


def differences(comparisons: list[Comparison]) -> list[Difference]:
    """Return all of them, in the order of tables, data sets and methods.

    Examples
    --------
    >>> import pandas as pd
    >>> from montechain.experiments.reproduction import complete_cells
    >>> row = {"dataset": "music", "method": "CC", "measure": "exact_match", "ours": 0.35, "meka": 0.34}
    >>> row |= {"published": 0.30, "difference": 0.05}
    >>> table = Comparison("accuracy", "Accuracy", "", complete_cells(pd.DataFrame([row])))
    >>> [difference.text for difference in differences([table])]
    ['MEKA as it is today has 0.340.']
    """
    found = [
        (comparison.title, cell)
        for comparison, cell in all_cells(comparisons)
        if cell.table in PAPER_TABLES and cell.is_beyond
    ]
    return [_difference(title, cell) for title, cell in found]


def _difference(title: str, cell: Cell) -> Difference:
    said = remarks(cell)
    no_reasons = {remark.text for remark in REMARKS if not remark.explains}
    reasons = [text for text in said if text not in no_reasons and not text.startswith(MEKA_PROTOCOL)]
    return Difference(
        title, cell, (*reasons, *_measured_reasons(cell)), tuple(text for text in said if text in no_reasons)
    )


def _measured_reasons(cell: Cell) -> list[str]:
    known = []
    # If MEKA, by the same protocol, is nearer to ours today, the difference is more likely one to the MEKA of then.
    nearer = abs(cell.ours - cell.meka) < abs(cell.published - cell.meka)
    if nearer and MEKA_PROTOCOL not in cell.note:
        known.append(f"MEKA as it is today has {number(cell.meka, 3)}.")
    error = cell.ours_std / math.sqrt(cell.n) if cell.n > 1 else math.nan
    if abs(cell.difference) <= MANY * error:
        known.append(f"Within two standard errors of our mean over {cell.n} parts (±{number(MANY * error, 3)}).")
    return known
