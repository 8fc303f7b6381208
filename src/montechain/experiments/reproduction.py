"""What a reproduction of the paper found: tables, curves and examples, as numbers; showing them is done elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "CELL_COLUMNS",
    "CURVE_COLUMNS",
    "Comparison",
    "Example",
    "Reproduction",
    "Trace",
    "complete_cells",
    "greater_is_better",
]

TEXT, NUMBER, COUNT, FLAG = "text", "number", "count", "flag"

CELL_COLUMNS = {
    "dataset": TEXT, "method": TEXT, "measure": TEXT, "ours": NUMBER, "ours_std": NUMBER, "n": COUNT,
    "status": TEXT, "reason": TEXT, "published": NUMBER, "published_rank": NUMBER, "meka": NUMBER,
    "difference": NUMBER, "rank": NUMBER, "comparable": FLAG, "note": TEXT,
}  # fmt: skip
"""The columns of `Comparison.cells` that are always there, and what they hold."""
CURVE_COLUMNS = {"iteration": COUNT, "payoff": NUMBER, "candidate": NUMBER, "accepted": FLAG}
"""The columns of `Trace.curve` that are always there, and what they hold."""
SMALLER_IS_BETTER = ("exact_match_loss", "hamming_loss", "running_time_s", "build_time_s")
"""Measures of the paper's tables that are losses and times, in seconds."""
DTYPES = {TEXT: "object", NUMBER: "float64", COUNT: "int64", FLAG: "bool"}


@dataclass(frozen=True)
class Comparison:
    """One table: ours beside the paper's beside MEKA's.

    Attributes
    ----------
    key : str
        "accuracy", "time", "official", "payoffs", "music_orders", "natural_order" or "agreement".
    title, caption : str
    cells : data frame
        One row for each data set, method and measure:

        - `ours`, `ours_std`, `n`: mean and standard deviation of our values, and how many there are;
        - `status`: "ok"; "DNF", with the `reason`; or "missing", if it was not run or the data are not there;
        - `published`, `published_rank`: as printed; NaN where the paper has none or DNF;
        - `meka`: measured with MEKA of today on the same data with the same base classifier;
        - `difference`: ours less the published figure; NaN where these cannot be compared;
        - `rank`: among our methods on this data set, ties sharing the best rank;
        - `comparable`, `note`: whether the published figure can be compared with ours, and remarks.
    """

    key: str
    title: str
    caption: str
    cells: pd.DataFrame


@dataclass(frozen=True)
class Trace:
    """One curve of a figure: the payoff in the course of a search of orders.

    Attributes
    ----------
    figure : str
        "music_orders" or "payoff_traces".
    dataset : str
    payoff : str
        The payoff that was maximised.
    on : {"prediction", "truth"}
        What its probabilities are of.
    seed : int
    curve : data frame
        `iteration`, `payoff` (of the order stood at), `candidate` (of the order proposed), `accepted`, and whatever
        else was recorded. Thinned for display; the first, the last and all improvements are there.
    optimum : float or None
        The largest payoff of all orders, where all were tried.
    estimator : str
        The base classifier.
    """

    figure: str
    dataset: str
    payoff: str
    on: str
    seed: int
    curve: pd.DataFrame
    optimum: float | None = None
    estimator: str = ""


@dataclass(frozen=True)
class Example:
    """One row of a data set, and how its label vector was found.

    Attributes
    ----------
    dataset : str
    row : int
    label_names : list of str
        In the order of the data set.
    order : list of int
        Position of the labels in the chain: ``order[0]`` is decided first.
    classes : list of list of str
        Of each label, in the order of the data set.
    truth : list of str or None
        None where it is unknown.
    top : list of (list of str, float)
        The most probable label vectors, in the order of the data set, with their probabilities; best first.
    certified : bool
        Whether the first of them is proved to be the most probable.
    tree : list of dict
        Nodes looked at: ``prefix`` (class codes of the first labels of the chain, in its order), ``probability`` (of
        the prefix) and ``best`` (whether it leads to the best vector).
    """

    dataset: str
    row: int
    label_names: list[str]
    order: list[int]
    classes: list[list[str]]
    truth: list[str | None]
    top: list[tuple[list[str], float]]
    certified: bool
    tree: list[dict[str, Any]]


@dataclass(frozen=True)
class Reproduction:
    """Everything that a reproduction found.

    Attributes
    ----------
    comparisons : list of Comparison
    traces : list of Trace
    examples : list of Example
    statistics : dict
        For each measure of the table "accuracy", a dict of plain values. ``None`` stands for what too few data sets
        do not allow.

        - ``methods``, ``datasets``: what was compared, without baselines;
        - ``average_ranks``, ``published_average_ranks``: by method, as in the paper: ties share the best rank, and
          where a method did not finish it has none;
        - ``published_pairs``: pairs of a better and a worse method that the paper calls significant;
        - ``friedman``: ``datasets`` (those on which all finished), ``statistic``, ``p_value``, ``f_statistic``,
          ``f_p_value``;
        - ``nemenyi``: ``alpha``, ``critical_difference``, ``average_ranks`` (ties averaged, best first), ``pairs``,
          ``groups`` (lists of methods that do not differ), ``p_values`` (method by method);
        - ``wilcoxon_holm``: list of dicts with ``first``, ``second``, ``better``, ``n_datasets``, ``statistic``,
          ``p_value``, ``p_holm``;
        - ``bayesian``: list of dicts with ``first``, ``second``, ``n_datasets``, ``rope``, ``first_better``,
          ``equivalent``, ``second_better``.
    about : dict
        Command, seeds, versions, machine, and when it was put together.

    Examples
    --------
    >>> cells = pd.DataFrame([{"dataset": "music", "method": "CC", "measure": "exact_match", "ours": 0.29}])
    >>> found = Reproduction([Comparison("accuracy", "Accuracy", "", complete_cells(cells))], about={"seed": 0})
    >>> again = Reproduction.from_json(found.to_json())
    >>> again.comparisons[0].cells[["dataset", "ours", "published", "status"]].to_numpy().tolist()
    [['music', 0.29, nan, 'ok']]
    """

    comparisons: list[Comparison] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    statistics: dict[str, dict[str, Any]] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return all of it as JSON; a number that is not finite becomes null."""
        document = {
            "comparisons": [_with_frame(comparison, "cells") for comparison in self.comparisons],
            "traces": [_with_frame(trace, "curve") for trace in self.traces],
            "examples": [vars(example) for example in self.examples],
            "statistics": self.statistics,
            "about": self.about,
        }
        return json.dumps(_plain(document), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Reproduction:
        """Return what `to_json` wrote."""
        document = json.loads(text)
        return cls(
            comparisons=[_from_frame(Comparison, parts, "cells", CELL_COLUMNS) for parts in document["comparisons"]],
            traces=[_from_frame(Trace, parts, "curve", CURVE_COLUMNS) for parts in document["traces"]],
            examples=[
                Example(**{**parts, "top": [(list(labels), float(p)) for labels, p in parts["top"]]})
                for parts in document["examples"]
            ],
            statistics=document["statistics"],
            about=document["about"],
        )


def greater_is_better(measure: str) -> bool:
    """Return whether more of a measure is better.

    Examples
    --------
    >>> greater_is_better("exact_match"), greater_is_better("hamming_loss")
    (True, False)
    """
    return measure not in SMALLER_IS_BETTER


def complete_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with all columns of `Comparison.cells`, in order, those that were not there filled in."""
    empty = {TEXT: "", NUMBER: np.nan, COUNT: 0, FLAG: True}
    filled = cells.copy()
    for name, kind in CELL_COLUMNS.items():
        default: Any = "ok" if name == "status" else empty[kind]
        if name not in filled:
            filled[name] = default
        elif kind != NUMBER and filled[name].isna().any():
            filled[name] = [default if pd.isna(value) else value for value in filled[name]]
    others = [name for name in filled.columns if name not in CELL_COLUMNS]
    return _typed(filled[[*CELL_COLUMNS, *others]].reset_index(drop=True), CELL_COLUMNS)


def _typed(frame: pd.DataFrame, kinds: Mapping[str, str]) -> pd.DataFrame:
    return frame.astype({name: DTYPES[kind] for name, kind in kinds.items() if name in frame})


def _with_frame(record: Any, name: str) -> dict[str, Any]:
    frame = getattr(record, name)
    table = {"columns": list(frame.columns), "rows": [list(row) for row in frame.itertuples(index=False, name=None)]}
    return {**vars(record), name: table}


def _from_frame(kind: type, parts: dict[str, Any], name: str, columns: Mapping[str, str]) -> Any:
    table = parts[name]
    frame = pd.DataFrame(table["rows"], columns=table["columns"])
    for column in frame.columns:
        # A column of numbers alone that has nulls is one of objects when it comes from JSON.
        if column not in columns and all(value is None or isinstance(value, int | float) for value in frame[column]):
            frame[column] = pd.to_numeric(frame[column])
    return kind(**{**parts, name: _typed(frame, columns)})


def _plain(value: Any) -> Any:
    """Return the value in the types that JSON has."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, pd.DataFrame):
        return {str(row): _plain(inner) for row, inner in value.to_dict(orient="index").items()}
    if isinstance(value, pd.Series):
        return _plain(value.to_dict())
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
