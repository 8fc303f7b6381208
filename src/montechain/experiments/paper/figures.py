"""The figures that the paper printed, and those of MEKA as it is today, from the tables beside this file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

__all__ = [
    "MekaFigure",
    "PayoffFigure",
    "PublishedFigure",
    "TraceStep",
    "meka_figures",
    "published_average_ranks",
    "published_figures",
    "published_payoffs",
    "published_trace",
]

DNF = "DNF"
AVERAGE_RANK = "_average_rank"
MEKA_NAMES = {"majority": "Majority"}


class PublishedFigure(NamedTuple):
    """One cell of a table of the paper.

    Attributes
    ----------
    table : {"accuracy_5fold_cv", "runtime_5fold_cv", "official_split"}
    measure : str
        "exact_match" and "hamming_score"; "running_time_s" and "build_time_s"; "exact_match_loss" and "hamming_loss".
    dataset, method : str
        In our names.
    value : float
        NaN where the paper has none.
    did_not_finish : bool
        Whether that is because the method did not finish (DNF); otherwise the paper has no figure (N/A).
    rank : float
        NaN where none is printed.
    """

    table: str
    measure: str
    dataset: str
    method: str
    value: float
    did_not_finish: bool
    rank: float


class PayoffFigure(NamedTuple):
    """One cell of the paper's comparison of payoffs: mean and standard deviation over 100 random splits."""

    dataset: str
    n_iterations: int
    payoff: str
    measure: str
    mean: float
    std: float


class TraceStep(NamedTuple):
    """One line of the paper's search for an order: an order that was accepted, and its three payoffs."""

    dataset: str
    seed: int
    iteration: int
    order: tuple[int, ...]
    J_EM: float
    J_EM_prod: float
    J_Ham: float


class MekaFigure(NamedTuple):
    """What MEKA of 2026 achieved on the same data with the same base classifier.

    Attributes
    ----------
    dataset, protocol, method : str
    exact_match, hamming_score : float
    build_seconds : float
        Processor time of training, mean over folds; NaN if it was not taken.
    test_milliseconds : float
        Processor time of predicting one row; NaN if it was not taken.
    note : str
    """

    dataset: str
    protocol: str
    method: str
    exact_match: float
    hamming_score: float
    build_seconds: float
    test_milliseconds: float
    note: str

    @property
    def is_cross_validated(self) -> bool:
        """Whether it is a mean over five folds, as the paper's; otherwise it comes from a single split."""
        return self.protocol.startswith("5-fold")


@cache
def published_figures(table: str | None = None) -> tuple[PublishedFigure, ...]:
    """Return the cells of one of the paper's tables of methods, or of all of them, as printed.

    Examples
    --------
    >>> cells = published_figures("official_split")
    >>> [cell.value for cell in cells if cell.dataset == "music" and cell.measure == "exact_match_loss"]
    [0.718, 0.673, 0.693, 0.673, 0.688, 0.653]
    """
    return tuple(
        PublishedFigure(
            row["table"],
            row["measure"],
            row["dataset"],
            row["method"],
            math.nan if row["value"] == DNF else _number(row["value"]),
            row["value"] == DNF,
            _number(row["rank"]),
        )
        for row in _rows("published.csv")
        if not row["measure"].endswith(AVERAGE_RANK) and table in (None, row["table"])
    )


def published_average_ranks(measure: str) -> dict[str, float]:
    """Return the average rank of each method in the paper's 5-fold cross-validation.

    Examples
    --------
    >>> published_average_ranks("exact_match")["PMsCC"]
    2.73
    """
    rows = _rows("published.csv")
    return {row["method"]: _number(row["value"]) for row in rows if row["measure"] == measure + AVERAGE_RANK}


@cache
def published_payoffs() -> tuple[PayoffFigure, ...]:
    """Return the paper's comparison of payoffs.

    Examples
    --------
    >>> published_payoffs()[0]
    PayoffFigure(dataset='music', n_iterations=1500, payoff='J_EM', measure='exact_match', mean=0.3386, std=0.026)
    """
    return tuple(
        PayoffFigure(
            row["dataset"], int(row["Ts"]), row["payoff"], row["measure"], _number(row["mean"]), _number(row["std"])
        )
        for row in _rows("published_payoffs.csv")
    )


@cache
def published_trace() -> tuple[TraceStep, ...]:
    """Return the orders that the paper's search on Music went through, from two seeds.

    Examples
    --------
    >>> [step.order for step in published_trace() if step.iteration == 0]
    [(5, 2, 4, 1, 0, 3), (4, 2, 0, 1, 3, 5)]
    """
    return tuple(
        TraceStep(
            row["dataset"],
            int(row["seed"]),
            int(row["t"]),
            tuple(int(label) for label in row["order"].split()),
            _number(row["J_EM"]),
            _number(row["log_J_EM_prod"]),
            _number(row["J_Ham"]),
        )
        for row in _rows("published_trace.csv")
    )


@cache
def meka_figures() -> tuple[MekaFigure, ...]:
    """Return what MEKA of today achieved.

    Examples
    --------
    >>> [figure.exact_match for figure in meka_figures() if (figure.dataset, figure.method) == ("music", "PCC")]
    [0.3209]
    """
    return tuple(
        MekaFigure(
            row["dataset"],
            row["protocol"],
            MEKA_NAMES.get(row["method"], row["method"]),
            _number(row["exact_match"]),
            _number(row["hamming_score"]),
            _number(row["build_cpu_s"]),
            _number(row["test_cpu_ms_per_row"]),
            row["note"],
        )
        for row in _rows("meka_2026_measured.csv")
    )


def _rows(name: str) -> Iterator[dict[str, str]]:
    text = files("montechain.experiments.paper").joinpath(name).read_text(encoding="utf-8")
    return iter(list(csv.DictReader(text.splitlines())))


def _number(text: str) -> float:
    return float(text) if text and text != "N/A" else math.nan
