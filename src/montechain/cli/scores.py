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
"""Measures that a person gets to see, and what they are called there."""
IN_SECONDS = ("fit_seconds", "predict_seconds")


def print_scores(title: str, results: pd.DataFrame, *, caption: str = "") -> None:
    """Print one line per method, one column per measure: mean and standard deviation over folds, the best in bold."""
    from rich.text import Text

    from montechain.evaluation import summarise

    summary = summarise(results)
    measures = [measure for measure in SHOWN if measure in set(summary[summary["status"] != "undefined"]["measure"])]
    if "f1_instance" in measures:  # defined where all labels have two classes; there it is what people ask for
        measures.remove("f1_class")
    methods = list(dict.fromkeys(summary["method"]))
    rows = []
    for method in methods:
        cells: list[Any] = [method]
        for measure in measures:
            one = summary[(summary["method"] == method) & (summary["measure"] == measure)]
            text = _shown(one.iloc[0]) if len(one) else "–"
            best = len(one) > 0 and measure not in (*IN_SECONDS, "certified") and one.iloc[0]["rank"] < 2
            cells.append(Text(text, style="bold") if best else text)
        rows.append(cells)
    output.print_table(title, ["method", *(SHOWN[measure] for measure in measures)], rows, caption=caption)
    values = summary[summary["measure"] == "joint_log_likelihood"]["mean"]
    if (values == -math.inf).any():
        output.note(
            "log-likelihood -inf: the method gave probability 0 to a combination that occurs in the test rows, such as "
            "one that was never seen in training."
        )
    failed = summary[summary["status"] == "DNF"].drop_duplicates("method")
    for _, one in failed.iterrows():
        output.note(f"{one['method']} did not finish: {one['reason']}")


def _shown(one: pd.Series) -> str:
    if one["status"] != "ok":
        return "DNF" if one["status"] == "DNF" else "–"
    if one["measure"] in IN_SECONDS:
        return f"{one['mean']:.2f}" if one["mean"] >= 0.1 else f"{one['mean']:.3f}"
    if one["measure"] == "certified":
        return f"{one['mean']:.0%}" if one["mean"] in (0.0, 1.0) else f"{one['mean']:.1%}"
    spread = "" if one["std"] != one["std"] else f" ± {one['std']:.3f}"
    return f"{one['mean']:.3f}{spread}"
