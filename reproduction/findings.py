"""What the reproduction found, in key figures and sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.paper import DATASETS, remarks
from reproduction.tables import BASELINE, TOLERANCE, Findings, Table, greater_is_better, is_share, is_time

__all__ = ["all_cells", "differences", "key_figures", "measure_title", "number", "signed", "summary"]

PAPER_TABLES = ("accuracy", "time", "official", "payoffs")
"""Tables that are in the paper; the others would count some of its figures twice."""
TITLES = {
    "exact_match": "Exact match", "hamming_score": "Hamming score", "exact_match_loss": "0/1 loss",
    "hamming_loss": "Hamming loss", "running_time_s": "Running time (s)", "build_time_s": "Build time (s)",
    "agreeing": "Share of rows that agree", "J_EM_prod": "log J_EM-prod",
    "J_EM_prod on prediction": "log J_EM-prod on prediction",
}  # fmt: skip
N_FARTHEST = 5


def measure_title(measure: str) -> str:
    """Return the name of a measure in print."""
    return TITLES.get(measure, measure)


def number(value: float, decimals: int | None = 3) -> str:
    """Return a number as text; without `decimals`, with about three significant digits.

    >>> number(0.3312), number(1234.5, None), number(-0.01234, None), number(float("nan"))
    ('0.331', '1,234', '−0.012', '–')
    """
    if not np.isfinite(value):
        return "–"
    if decimals is None:
        decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{decimals}f}".replace("-", "−")


def signed(value: float) -> str:
    """Return a difference with its sign.

    >>> signed(0.0123), signed(-0.5), signed(-0.0001)
    ('+0.012', '−0.500', '0.000')
    """
    return f"{value:+.3f}".replace("-", "−") if abs(value) >= 0.0005 else "0.000"


def all_cells(tables: Sequence[Table]) -> pd.DataFrame:
    """Return the cells of several tables with `table`, `title`, and what can be said about each.

    `is_compared` says whether the difference to the paper can be judged, `is_beyond` whether it exceeds the tolerance,
    `gain` by how much ours is better, `is_filled` whether ours has a figure where the paper has DNF, and
    `is_best` whether no other method of ours is better on the data set.
    """
    parts = [table.cells.assign(table=table.key, title=table.title) for table in tables]
    cells = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["table", "measure", "ours"])
    if cells.empty:
        return cells
    share = cells["measure"].map(is_share)
    better = cells["measure"].map(greater_is_better)
    cells["is_compared"] = cells["comparable"] & cells["difference"].notna() & share
    # Rounded, so that 0.33 - 0.30 is not beyond 0.03.
    cells["is_beyond"] = cells["is_compared"] & (cells["difference"].abs().round(9) > TOLERANCE)
    cells["gain"] = cells["difference"].where(better, -cells["difference"])
    cells["is_filled"] = (cells["status"] == "ok") & (cells["published_word"] == "DNF")
    cells["is_best"] = (cells["rank"] == 1) & (cells["method"] != BASELINE)
    return cells


def differences(findings: Findings) -> list[dict[str, Any]]:
    """Return the figures that differ from the paper's by more than the tolerance, with what is known about each."""
    cells = all_cells([table for table in findings.tables if table.key in PAPER_TABLES])
    found = []
    known = remarks()
    silent = set(known.loc[~known["explains"], "text"])
    for cell in cells[cells["is_beyond"]].to_dict("records") if len(cells) else ():
        reasons = [text for text in known["text"] if text in cell["note"] and text not in silent]
        if abs(cell["ours"] - cell["meka"]) < abs(cell["published"] - cell["meka"]) and not cell["meka_protocol"]:
            reasons.append(f"MEKA reaches {number(cell['meka'])} today.")
        error = 2.0 * cell["ours_std"] / np.sqrt(max(cell["n"], 1))
        if abs(cell["difference"]) <= error:
            reasons.append(f"Within two standard errors of our mean (±{number(error)}).")
        found.append(cell | {"reasons": reasons})
    return found


def key_figures(findings: Findings) -> list[tuple[str, str]]:
    """Return the key figures at the top of the report, each with its meaning."""
    cells = all_cells(findings.tables)
    if cells.empty:
        return []
    paper = cells[cells["table"].isin(PAPER_TABLES)]
    compared = paper[paper["is_compared"]]
    beyond = compared[compared["is_beyond"]]
    found = []
    if len(compared):
        better = int((beyond["gain"] > 0).sum())
        found += [
            (f"{len(compared) - len(beyond):,} of {len(compared):,}", f"figures within {TOLERANCE} of the paper"),
            (number(compared["difference"].abs().median()), "median distance from the paper"),
            (f"{better:,} / {len(beyond) - better:,}", f"better / worse than the paper by more than {TOLERANCE}"),
        ]
    beside = _beside_meka(cells)
    if len(beside):
        close = int(((beside["ours"] - beside["meka"]).abs().round(9) <= TOLERANCE).sum())
        found.append((f"{close:,} of {len(beside):,}", f"figures within {TOLERANCE} of MEKA today"))
    if paper["is_filled"].any():
        found.append((f"{int(paper['is_filled'].sum()):,}", "cells filled that did not finish in the paper"))
    same = cells[(cells["table"] == "agreement") & (cells["status"] == "ok")]
    if len(same):
        share = float((same["ours"] * same["n"]).sum() / same["n"].sum())
        found.append((f"{share:.2%}", "of rows: sampling, enumeration and branch and bound find the same vector"))
    return found


def summary(findings: Findings) -> list[tuple[str, str, list[str]]]:
    """Return the findings: heading, text, and items of a list."""
    cells = all_cells(findings.tables)
    if cells.empty:
        return []
    paper = cells[cells["table"].isin(PAPER_TABLES)]
    beyond = differences(findings)
    found: list[tuple[str, str, list[str]]] = []
    for heading, side in (("Better than the paper", 1), ("Worse than the paper", -1)):
        own = sorted((one for one in beyond if side * one["gain"] > 0), key=lambda one: -abs(one["gain"]))
        if own:
            found.append((heading, f"{len(own)} figures by more than {TOLERANCE}. The largest:", _items(own)))
    ranked = []
    for measure, tests in findings.statistics.items():
        ours = _first_three(tests["average_ranks"])
        theirs = _first_three(tests["published_average_ranks"])
        ranked.append(f"{measure_title(measure)}: {ours}. In the paper, over eleven data sets: {theirs}.")
    if ranked:
        found.append(("Best average ranks", "Rank 1 is best; over the data sets that were run.", ranked))
    filled = paper[paper["is_filled"]]
    if len(filled):
        by_method = filled.groupby(["method", "title"], sort=False)["dataset"].unique()
        items = [f"{method} on {_names(names)} ({title})" for (method, title), names in by_method.items()]
        found.append(("Did not finish in the paper", f"{len(filled)} such cells have a figure here.", items))
    apart = cells[~cells["comparable"] & cells["table"].isin(PAPER_TABLES)]
    if len(apart):
        by_note = apart.groupby("note", sort=False)["dataset"].unique()
        items = [f"{_names(names)}: {note}" for note, names in by_note.items()]
        found.append(("Not comparable", f"{len(apart)} cells, and why:", items))
    times = paper[paper["measure"].map(is_time) & (paper["ours"] > 0) & paper["published"].notna()]
    if len(times):
        ratio = number(float((times["published"] / times["ours"]).median()), None)
        text = f"Our times are shorter by a factor of {ratio} in the median. The machines are a decade apart, so only "
        found.append(("Time", f"{text}the order of magnitude means anything.", []))
    failed, missing = int((paper["status"] == "DNF").sum()), int((paper["status"] == "missing").sum())
    if failed or missing:
        found.append(("Not finished here", f"{failed} cells did not finish; {missing} were not run.", []))
    return found


def _items(own: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['method']} on {_names([one['dataset']])}, {measure_title(one['measure'])}: "
        f"{number(one['ours'])}, paper {number(one['published'])}. {' '.join(one['reasons']) or 'Not explained.'}"
        for one in own[:N_FARTHEST]
    ]


def _first_three(ranks: dict[str, float]) -> str:
    best = sorted(ranks, key=ranks.__getitem__)[:3]
    return ", ".join(f"{name} ({ranks[name]:.2f})" for name in best)


def _names(datasets: Sequence[str]) -> str:
    return ", ".join(DATASETS.get(name, name) for name in datasets)


def _beside_meka(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells to compare with MEKA's: those with its label order, that of the file, if there are any."""
    beside = cells[(cells["status"] == "ok") & cells["meka"].notna() & cells["measure"].map(is_share)]
    natural = beside[beside["table"] == "natural_order"]
    return natural if len(natural) else beside
