"""From tidy rows to tables: means, standard deviations and ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from montechain.experiments.measures import MEASURES
from montechain.experiments.results import DNF, OK, Result
from montechain.experiments.statistics import ranks

__all__ = ["scores_table", "summarise", "tabulate"]

GROUP = ["dataset", "fingerprint", "protocol", "measure"]
SUMMARY_COLUMNS = [
    "dataset", "measure", "method", "parameters", "mean", "std", "n", "rank", "status", "reason", "protocol", "text",
]  # fmt: skip


def summarise(results: Iterable[Result] | pd.DataFrame, *, ties: str = "average") -> pd.DataFrame:
    """Return mean and standard deviation of every measure over folds and seeds, with ranks.

    Parameters
    ----------
    results : iterable of Result, or a data frame with their fields as columns
        Such as what `evaluate` returns, or ``ResultStore.to_frame()``.
    ties : {"average", "min"}, default="average"
        Rank of equal methods; see `montechain.experiments.statistics.ranks`.

    Returns
    -------
    data frame
        One row for each data set, measure and method, with the columns `mean`, `std` (of the sample; NaN for a single
        value), `n` (number of values), `rank` among the methods on that data set, `status`, `reason` and `text`. A
        method that did not finish in some fold has the status DNF and no mean: a mean over easier folds would not
        compare. Methods of one name with different parameters, and different protocols, are kept apart.

    Examples
    --------
    >>> from montechain.experiments.results import Measurement, Outcome, Unit, results_of
    >>> rows = []
    >>> for method, values in {"CC": [0.2, 0.4], "MCC": [0.3, 0.5]}.items():
    ...     for fold, value in enumerate(values):
    ...         unit = Unit("music", "0f", method, "{}", "{}", fold, seed=0)
    ...         rows += results_of(unit, Outcome([Measurement("exact_match", value)]))
    >>> summarise(rows)[["method", "text", "rank"]].to_numpy().tolist()
    [['CC', '0.300 ± 0.141', 2.0], ['MCC', '0.400 ± 0.141', 1.0]]
    """
    frame = _frame(results)
    if frame.empty:
        return pd.DataFrame(columns=SUMMARY_COLUMNS)
    rows = []
    for key, group in frame.groupby([*GROUP, "method", "parameters"], sort=False):
        # A fold can be in there twice, under two seeds: both count.
        values = group["value"].to_numpy(dtype=np.float64)
        status = DNF if (group["status"] == DNF).any() else OK if (group["status"] == OK).all() else "undefined"
        failing = group[group["status"] == status]
        finished = status == OK
        rows.append(
            dict(
                zip([*GROUP, "method", "parameters"], key, strict=True),
                mean=float(values.mean()) if finished else np.nan,
                std=float(values.std(ddof=1)) if finished and len(values) > 1 and np.isfinite(values).all() else np.nan,
                n=int(np.isfinite(values).sum()) if not finished else len(values),
                status=status,
                reason="" if finished else str(failing["reason"].iloc[0]),
            )
        )
    found = pd.DataFrame(rows)
    found["rank"] = np.nan
    for key, group in found.groupby(GROUP, sort=False):
        if len(group) > 1:
            better = MEASURES[key[-1]].greater_is_better if key[-1] in MEASURES else True
            # Rounded, so that means that are equal but for the order of summation are tied.
            scores = pd.DataFrame([group["mean"].round(12).to_numpy()])
            found.loc[group.index, "rank"] = ranks(scores, greater_is_better=better, ties=ties).to_numpy()[0]
        elif np.isfinite(group["mean"]).all():
            found.loc[group.index, "rank"] = 1.0
    found["text"] = [_text(row) for row in found.to_dict("records")]
    return found[SUMMARY_COLUMNS]


def scores_table(summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the means of one measure, one row per data set and one column per method, NaN where there is none.

    It is what the functions of `montechain.experiments.statistics` take.

    Parameters
    ----------
    summary : data frame
        What `summarise` returned, of one protocol, and with one set of parameters per method.
    measure : str
    """
    return _wide(summary, measure, "mean").astype("float64")


def tabulate(summary: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return one measure as text, "mean ± standard deviation", one row per data set and one column per method.

    Parameters are those of `scores_table`. A method that did not finish shows DNF, one without this measure a dash.
    """
    return _wide(summary, measure, "text")


def _wide(summary: pd.DataFrame, measure: str, column: str) -> pd.DataFrame:
    chosen = summary[summary["measure"] == measure]
    if chosen.empty:
        there = ", ".join(map(repr, dict.fromkeys(summary["measure"]))) or "none"
        raise ValueError(f"the summary has no measure {measure!r}. It has: {there}.")
    doubled = chosen[chosen.duplicated(["dataset", "method"])]
    if len(doubled):
        dataset, method = doubled[["dataset", "method"]].iloc[0]
        raise ValueError(
            f"{method!r} on {dataset!r} has several rows of {measure!r}, with different parameters or protocols: "
            "choose among them first, e.g. summary[summary['protocol'] == ...]."
        )
    table = chosen.pivot(index="dataset", columns="method", values=column)
    table = table.reindex(index=list(dict.fromkeys(chosen["dataset"])), columns=list(dict.fromkeys(chosen["method"])))
    table.index.name = table.columns.name = None
    return table


def _frame(results: Iterable[Result] | pd.DataFrame) -> pd.DataFrame:
    if isinstance(results, pd.DataFrame):
        return results
    return pd.DataFrame([asdict(result) for result in results])


def _text(row: dict[str, Any]) -> str:
    if row["status"] != OK:
        return DNF if row["status"] == DNF else "–"
    spread = "" if np.isnan(row["std"]) else f" ± {row['std']:.3f}"
    return f"{row['mean']:.3f}{spread}"
