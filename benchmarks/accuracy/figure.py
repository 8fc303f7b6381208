"""A picture of the comparison: exact match on each data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.ours import AUTO
from benchmarks.accuracy.report import Results

SHOWN = {
    "logistic_chain": ("scikit-learn's ClassifierChain", "#999999", "s"),
    "forest": ("a random forest per target", "#6aa84f", "^"),
    "boosting_l2": ("boosted trees per target", "#b45f06", "D"),
    "powerset_forest": ("label powerset, random forest", "#a64d79", "v"),
    AUTO: ("AutoChainClassifier", "#0b5394", "o"),
}


def draw(results: Results, path: Path) -> None:
    """Write the exact match of a few methods on all data sets that ours has finished."""
    from matplotlib.figure import Figure

    names = [name for name in results.sets if results.score(name, AUTO, "exact_match")]
    figure = Figure(figsize=(7.2, 0.36 * len(names) + 1.3), layout="constrained")
    axes = figure.subplots()
    for method, (label, colour, marker) in SHOWN.items():
        scores = [results.score(name, method, "exact_match") for name in names]
        places = [place for place, score in enumerate(scores) if score]
        means = np.array([score.mean for score in scores if score])
        errors = np.array([score.error for score in scores if score])
        style: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "linestyle": "",
            "markersize": 7 if method == AUTO else 5,
        }
        if method == AUTO:
            axes.errorbar(means, places, xerr=errors, label=label, elinewidth=1.2, zorder=3, **style)
        else:
            axes.plot(means, places, label=label, **style)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.grid(axis="x", color="0.9")
    axes.set(xlim=(0, 1), xlabel="share of test rows with all targets right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
