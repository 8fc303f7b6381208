"""Tables of scores, as `evaluate` and `demo` print them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from montechain.cli import output

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SHOWN", "print_scores"]

SHOWN = {
    "exact_match": "exact match",
    "hamming_score": "Hamming score",
    "f1_instance": "F1",
    "f1_class": "F1 of classes",
    "joint_log_likelihood": "log-likelihood",
    "certified": "certified",
    "fit_seconds": "fit, s",
    "predict_seconds": "predict, s",
}
"""Measures in the printed table, with their headings."""
UNRANKED = ("certified", "fit_seconds", "predict_seconds")


def print_scores(title: str, results: pd.DataFrame, *, caption: str = "") -> None:
    """Print a row per method and a column per measure: mean and standard deviation over folds, the best in bold."""
    from rich.text import Text

    from montechain.evaluation import summarise

    summary = summarise(results)
    defined = set(summary[summary["status"] != "undefined"]["measure"])
    measures = [measure for measure in SHOWN if measure in defined]
    if "f1_instance" in measures:  # defined if all labels are binary; then it is the F1 that people expect
        measures.remove("f1_class")
    rows: list[list[Any]] = []
    for method, own in summary.groupby("method", sort=False):
        cells: dict[str, Any] = dict.fromkeys(measures, "–")
        for _, one in own[own["measure"].isin(measures)].iterrows():
            best = one["measure"] not in UNRANKED and one["rank"] < 2
            cells[one["measure"]] = Text(_shown(one), style="bold" if best else "")
        rows.append([method, *cells.values()])
    output.print_table(title, ["method", *(SHOWN[measure] for measure in measures)], rows, caption=caption)
    if (summary[summary["measure"] == "joint_log_likelihood"]["mean"] == -math.inf).any():
        output.note(
            "log-likelihood -inf: the method gave probability 0 to a combination that occurs in the test rows, such as "
            "one that was never seen in training."
        )
    for _, one in summary[summary["status"] == "DNF"].drop_duplicates("method").iterrows():
        output.note(f"{one['method']} did not finish: {one['reason']}")


def _shown(one: pd.Series) -> str:
    if one["status"] != "ok":
        return "DNF" if one["status"] == "DNF" else "–"
    mean = one["mean"]
    if one["measure"] == "certified":
        return f"{mean:.0%}" if mean in (0.0, 1.0) else f"{mean:.1%}"
    if one["measure"] in UNRANKED:
        return f"{mean:.2f}" if mean >= 0.1 else f"{mean:.3f}"
    return f"{mean:.3f}" + ("" if math.isnan(one["std"]) else f" ± {one['std']:.3f}")
