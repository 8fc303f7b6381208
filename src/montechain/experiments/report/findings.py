"""What the reproduction found, in sentences made from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from montechain.experiments.paper.names import dataset_title
from montechain.experiments.paper.remarks import REMARKS
from montechain.experiments.report.differences import PAPER_TABLES, Difference, differences
from montechain.experiments.report.grids import TOLERANCE, Cell, all_cells
from montechain.experiments.report.ranking import rankings
from montechain.experiments.report.wording import (
    in_words,
    is_share,
    is_time,
    joined,
    measure_title,
    number,
    plural,
    signed,
)
from montechain.experiments.reproduction import Comparison, Reproduction

__all__ = ["Finding", "Key", "findings", "key_figures"]

N_FARTHEST = 5
Placed = Sequence[tuple[Comparison, Cell]]


@dataclass(frozen=True)
class Finding:
    """One paragraph of the summary: what it is about, what is to be said, and a list if there is one."""

    heading: str
    text: str
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Key:
    """One figure that stands for many, such as "152 of 170", and what it counts."""

    figure: str
    meaning: str


def key_figures(reproduction: Reproduction) -> list[Key]:
    """Return the few figures that a reader sees first; those that would be empty are left out."""
    placed = all_cells(reproduction.comparisons)
    cells = [cell for _, cell in _of_the_paper(placed)]
    compared = [cell for cell in cells if cell.is_compared]
    found = []
    if compared:
        beyond = [cell for cell in compared if cell.is_beyond]
        better = sum(cell.gain > 0 for cell in beyond)
        found += [
            Key(f"{len(compared) - len(beyond):,} of {len(compared):,}", f"figures within {TOLERANCE} of the paper"),
            Key(f"{np.median([abs(cell.difference) for cell in compared]):.3f}", "median distance to the paper"),
            Key(f"{better:,} / {len(beyond) - better:,}", f"better / worse by more than {TOLERANCE}"),
        ]
    measured = _beside_meka(placed)
    if measured:
        close = sum(_within(cell.ours - cell.meka) for cell in measured)
        found.append(Key(f"{close:,} of {len(measured):,}", f"figures within {TOLERANCE} of MEKA today"))
    filled = sum(cell.is_filled for cell in cells)
    if filled:
        found.append(Key(f"{filled:,}", "cells filled that were DNF in the paper"))
    return found


def findings(reproduction: Reproduction) -> list[Finding]:
    """Return the summary, paragraph by paragraph.

    Examples
    --------
    >>> import pandas as pd
    >>> from montechain.experiments.reproduction import complete_cells
    >>> row = {"dataset": "music", "method": "CC", "measure": "exact_match", "ours": 0.29}
    >>> row |= {"published": 0.30, "difference": -0.01}
    >>> table = Comparison("accuracy", "Accuracy", "", complete_cells(pd.DataFrame([row])))
    >>> findings(Reproduction([table]))[0].text
    'All 1 comparable figures lie within 0.03 of the paper; the median distance is 0.010.'
    """
    placed = all_cells(reproduction.comparisons)
    printed = _of_the_paper(placed)
    apart = differences(reproduction.comparisons)
    found = [
        _agreement(printed, apart),
        _apart("Better than the paper", [own for own in apart if own.cell.gain > 0]),
        _apart("Worse than the paper", [own for own in apart if own.cell.gain < 0]),
        _ranks(reproduction),
        _filled(printed),
        _not_compared(printed),
        _beside_meka_today(placed),
        _same_vectors(placed),
        _speed(printed),
        _unfinished(printed),
    ]
    return [finding for finding in found if finding is not None]


def _of_the_paper(placed: Placed) -> Placed:
    """Return the cells of tables that the paper has, too; the others would count some of its figures twice."""
    return [(comparison, cell) for comparison, cell in placed if cell.table in PAPER_TABLES]


def _agreement(placed: Placed, apart: Sequence[Difference]) -> Finding | None:
    compared = [cell for _, cell in placed if cell.is_compared]
    if not compared:
        return None
    close = len(compared) - len(apart)
    share = "All" if not apart else f"{close:,} of"
    text = (
        f"{share} {len(compared):,} comparable figures lie within {TOLERANCE} of the paper; "
        f"the median distance is {np.median([abs(cell.difference) for cell in compared]):.3f}."
    )
    if apart:
        known = sum(bool(own.reasons) for own in apart)
        rest = len(apart) - known
        text += (
            f" Of the {len(apart):,} others, something is known about {known:,}, and {rest:,} {_are(rest)} open; all "
            "are listed below."
        )
    return Finding("Agreement", text)


def _apart(heading: str, apart: Sequence[Difference]) -> Finding | None:
    """Return what is beyond the tolerance in one direction, farthest first."""
    if not apart:
        return None
    farthest = sorted(apart, key=lambda own: -abs(own.cell.gain))
    datasets = dict.fromkeys(dataset_title(own.cell.dataset) for own in farthest)
    text = f"By more than {TOLERANCE} in {plural(len(apart), 'cell')}, on {joined(list(datasets))}. Farthest away:"
    items = tuple(
        f"{own.cell.method} on {dataset_title(own.cell.dataset)}, {in_words(own.cell.measure)}: "
        f"{number(own.cell.ours, 3)} against {number(own.cell.published, 3)} ({signed(own.cell.difference)}). "
        + own.text
        for own in farthest[:N_FARTHEST]
    )
    return Finding(heading, text, items)


def _filled(placed: Placed) -> Finding | None:
    filled = [(comparison, cell) for comparison, cell in placed if cell.is_filled]
    still = [cell for _, cell in placed if cell.published_word == "DNF" and cell.status == "DNF"]
    if not filled and not still:
        return None
    text = f"{plural(len(filled), 'cell')} that did not finish in the paper {_have(len(filled))} a figure here."
    if still:
        text += f" {plural(len(still), 'cell')} did not finish here either."
    proven: dict[str, float] = {}
    for _, cell in filled:
        if math.isfinite(cell.certified):
            proven[cell.method] = min(cell.certified, proven.get(cell.method, 1.0))
    if proven:
        shares = joined([f"{method} {share:.1%}" for method, share in proven.items()])
        text += f" Share of their predictions that is proven to be the best under its model, at least: {shares}."
    return Finding("Filled: DNF in the paper", text, _by_method(filled))


def _by_method(placed: Placed) -> tuple[str, ...]:
    """Return, for each table and method, the data sets of these cells."""
    groups: dict[tuple[str, str], list[str]] = {}
    for comparison, cell in placed:
        groups.setdefault((comparison.title, cell.method), []).append(dataset_title(cell.dataset))
    return tuple(
        f"{method} on {joined(list(dict.fromkeys(names)))} ({title})" for (title, method), names in groups.items()
    )


def _not_compared(placed: Placed) -> Finding | None:
    cells = [cell for _, cell in placed if not cell.comparable]
    if not cells:
        return None
    reasons: dict[str, list[Cell]] = {}
    for cell in cells:
        reasons.setdefault(_why_apart(cell), []).append(cell)
    items = []
    for reason, group in reasons.items():
        datasets = joined(list(dict.fromkeys(dataset_title(cell.dataset) for cell in group)))
        items.append(f"{datasets} ({plural(len(group), 'cell')}): {reason}")
    return Finding("What cannot be compared", f"{plural(len(cells), 'cell')}, and why:", tuple(items))


def _why_apart(cell: Cell) -> str:
    """Return why a cell cannot be compared, without what else is to be said about it."""
    texts = [remark.text for remark in REMARKS if not remark.comparable and remark.text in cell.note]
    return " ".join(texts) or cell.note or "no reason is given"


def _beside_meka_today(placed: Placed) -> Finding | None:
    measured = _beside_meka(placed)
    if not measured:
        return None
    close = sum(_within(cell.ours - cell.meka) for cell in measured)
    far = max(measured, key=lambda cell: abs(cell.ours - cell.meka))
    methods = joined(list(dict.fromkeys(cell.method for cell in measured)))
    text = (
        f"{close:,} of {plural(len(measured), 'figure')} of {methods} lie within {TOLERANCE} of MEKA, run on the same "
        f"data with the same kind of base classifier{' and order of labels' if far.table == 'natural_order' else ''}. "
        f"The farthest is {far.method} on {dataset_title(far.dataset)}, {in_words(far.measure)}: "
        f"{number(far.ours, 3)} against {number(far.meka, 3)}."
    )
    return Finding("Beside MEKA as it is today", text)


def _same_vectors(placed: Placed) -> Finding | None:
    """Return in how many rows the ways of finding the most probable vector agree."""
    groups: dict[str, list[Cell]] = {}
    for _, cell in placed:
        if cell.table == "agreement" and cell.is_there:
            groups.setdefault(cell.method, []).append(cell)
    if not groups:
        return None
    items = []
    for method, cells in groups.items():
        least = min(cells, key=lambda cell: cell.ours)
        rows = sum(cell.n for cell in cells)
        share = sum(cell.ours * cell.n for cell in cells) / rows
        items.append(
            f"{method}: the same in {share:.2%} of {rows:,} rows on {plural(len(cells), 'data set')}; "
            f"least on {dataset_title(least.dataset)}, {least.ours:.2%}"
        )
    return Finding("Do they find the same vectors?", "Under the same chain, on the same folds:", tuple(items))


def _speed(placed: Placed) -> Finding | None:
    timed = [
        cell.published / cell.ours
        for _, cell in placed
        if is_time(cell.measure) and cell.is_there and cell.ours > 0 and math.isfinite(cell.published)
    ]
    if not timed:
        return None
    return Finding(
        "Time",
        f"Over {plural(len(timed), 'time')} the paper also prints, ours are shorter by a factor of "
        f"{number(float(np.median(timed)))} in the median (from {number(min(timed))} to {number(max(timed))}). The "
        "machines differ by more than a decade, so only the order of magnitude says anything.",
    )


def _unfinished(placed: Placed) -> Finding | None:
    unfinished = [(comparison, cell) for comparison, cell in placed if cell.status == "DNF"]
    missing = sum(cell.status == "missing" for _, cell in placed)
    if not unfinished and not missing:
        return None
    text = f"{plural(len(unfinished), 'cell')} did not finish; {plural(missing, 'cell')} "
    text += f"{_were(missing)} not run."
    return Finding("Not finished here", text, _by_method(unfinished))


def _ranks(reproduction: Reproduction) -> Finding | None:
    items = []
    for ranking in rankings(reproduction):
        text = f"{measure_title(ranking.measure)}: {_first_three(ranking.ranks)}"
        if ranking.published:
            text += f"; in the paper, over its eleven, {_first_three(ranking.published)}"
        items.append(text)
    return Finding("Best average ranks", "Rank 1 is best; over the data sets at hand.", tuple(items)) if items else None


def _first_three(ranks: dict[str, float]) -> str:
    best = sorted(ranks, key=ranks.__getitem__)[:3]
    return joined([f"{name} ({ranks[name]:.2f})" for name in best])


def _beside_meka(placed: Placed) -> list[Cell]:
    """Return the cells to hold against MEKA's: those with its order of labels, the file's, if there are any."""
    measured = [c for _, c in placed if c.is_there and math.isfinite(c.meka) and is_share(c.measure)]
    return [cell for cell in measured if cell.table == "natural_order"] or measured


def _within(difference: float) -> bool:
    return round(abs(difference), 9) <= TOLERANCE


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
