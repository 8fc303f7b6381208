"""How fit, order search and prediction grow with the size of the problem, with fitted exponents and a figure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generated import make_rare_labels
from benchmarks.report import Measurement
from benchmarks.timing import seconds
from montechain import ChainClassifier, OrderSearch

FOLDER = Path(__file__).parent.parent / "docs" / "figures"
ITERATIONS = 10
SERIES = ("fit", "order search", "predict")
ROWS_ASKED = 1_000
"""Number of rows to predict, except where the number of rows grows."""
WARM_UP_ROWS = 500
LEGEND = f"""One thread; dense inputs; every label sees all before it.
fit: one chain, logistic links.
order search: {ITERATIONS} iterations and the final fit.
predict: exact, {ROWS_ASKED:,} rows (all N where N grows).
power: slope over the upper half of the points."""


@dataclass(frozen=True)
class Sweep:
    """One axis of growth: the values of one parameter of `make_rare_labels`, the others fixed.

    Attributes
    ----------
    name, axis : str
        Of the parameter, and of the axis.
    values : tuple of float
    fixed : dict
        The other parameters.
    search_up_to : float
        The largest value for which orders are searched, too.
    """

    name: str
    axis: str
    values: tuple[float, ...]
    fixed: dict[str, Any]
    search_up_to: float = np.inf

    @property
    def setting(self) -> str:
        """The fixed parameters as text."""
        short = {"n_rows": "N", "n_features": "D", "n_labels": "L", "n_classes": "K", "cardinality": "labels on"}
        parts = [f"{short[key]} = {value:,g}" for key, value in self.fixed.items() if key in short]
        return ", ".join(parts)


SWEEPS = (
    Sweep(
        "n_rows",
        "rows N",
        (1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6),
        {"n_features": 20, "n_labels": 10, "cardinality": 3.0},
        search_up_to=1e5,
    ),
    Sweep(
        "n_features",
        "inputs D",
        (10, 30, 100, 300, 1000),
        {"n_rows": 5_000, "n_labels": 10, "cardinality": 3.0},
    ),
    Sweep(
        "n_labels",
        "labels L",
        (10, 20, 50, 100, 200, 500, 1000),
        {"n_rows": 3_000, "n_features": 50, "cardinality": 3.0, "tail": 0.5},
        search_up_to=200,
    ),
    Sweep(
        "n_classes",
        "classes K",
        (2, 3, 4, 5, 6),
        {"n_rows": 5_000, "n_features": 50, "n_labels": 6},
    ),
    Sweep(
        "cardinality",
        "labels on in a row, of 30",
        (0.3, 0.75, 1.5, 3, 6, 12),
        {"n_rows": 5_000, "n_features": 50, "n_labels": 30},
    ),
)


@dataclass
class Curve:
    """Seconds at each value of one sweep."""

    sweep: Sweep
    series: str
    values: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)

    @property
    def exponent(self) -> float:
        """The slope of the upper half of the points in logarithms, by least squares."""
        half = len(self.values) // 2
        if len(self.values) < 2:
            return float("nan")
        half = min(half, len(self.values) - 2)
        return float(np.polyfit(np.log(self.values[half:]), np.log(self.taken[half:]), 1)[0])


def measure(n_runs: int, sweeps: Sequence[Sweep] = SWEEPS, folder: Path = FOLDER) -> Iterator[Measurement]:
    """Time every sweep, write growth.json and growth.svg, and give the exponents."""
    curves: list[Curve] = []
    for sweep in sweeps:
        of_sweep = {series: Curve(sweep, series) for series in SERIES}
        for value in sweep.values:
            for series, taken in _times(sweep, value, n_runs).items():
                of_sweep[series].values.append(float(value))
                of_sweep[series].taken.append(taken)
        curves += of_sweep.values()
        for series, curve in of_sweep.items():
            last = curve.values[-1]
            note = f"grows as the power {curve.exponent:.2f} over the upper half; {sweep.setting}"
            yield Measurement(f"growth of {series}", f"{sweep.axis} to {last:,.0f}", curve.taken[-1], note=note)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "growth.json").write_text(json.dumps(_as_json(curves), indent=1) + "\n", encoding="utf8")
    draw(curves, folder / "growth.svg")


def _times(sweep: Sweep, value: float, n_runs: int) -> dict[str, float]:
    is_share = sweep.name == "cardinality"
    parameters = sweep.fixed | {sweep.name: float(value) if is_share else int(value)}
    X, Y, _ = make_rare_labels(**parameters)
    model = ChainClassifier(order=None, random_state=0)
    model.fit(X[:WARM_UP_ROWS], Y[:WARM_UP_ROWS]).predict(X[:10])  # compiles the kernels
    asked = X if sweep.name == "n_rows" else X[:ROWS_ASKED]

    def best(work: Any) -> float:
        """Return the shortest of several times: the one least disturbed by other processes."""
        taken = [seconds(work)]
        while len(taken) < n_runs and sum(taken) < 1.0:
            taken.append(seconds(work))
        return min(taken)

    times = {"fit": best(lambda: model.fit(X, Y)), "predict": best(lambda: model.predict(asked))}
    if value <= sweep.search_up_to:
        searching = ChainClassifier(order=OrderSearch(n_iterations=ITERATIONS), random_state=0)
        times["order search"] = best(lambda: searching.fit(X, Y))
    return times


def _as_json(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    return [
        {
            "series": curve.series,
            "parameter": curve.sweep.name,
            "fixed": curve.sweep.fixed,
            "values": curve.values,
            "seconds": curve.taken,
            "exponent": curve.exponent,
        }
        for curve in curves
    ]


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Draw a panel for each sweep, both axes in logarithms, the exponents in the legends."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "montechain"  # equal numbers give an identical file
    import matplotlib.pyplot as plt

    sweeps = list(dict.fromkeys(curve.sweep.name for curve in curves))
    n_columns = 2
    n_lines = -(-len(sweeps) // n_columns)
    figure, axes = plt.subplots(n_lines, n_columns, figsize=(10, 3.9 * n_lines), squeeze=False, layout="constrained")
    colours = dict(zip(SERIES, ("#0072b2", "#d55e00", "#009e73"), strict=True))
    markers = dict(zip(SERIES, "os^", strict=True))
    for axis, name in zip(axes.flat, sweeps, strict=False):
        of_sweep = [curve for curve in curves if curve.sweep.name == name]
        for curve in of_sweep:
            label = f"{curve.series}: power {curve.exponent:.2f}"
            axis.plot(
                curve.values, curve.taken, label=label, color=colours[curve.series], marker=markers[curve.series], ms=5
            )
        sweep = of_sweep[0].sweep
        axis.set(xscale="log", yscale="log", xlabel=sweep.axis, ylabel="seconds")
        if max(sweep.values) < 100:  # too narrow for powers of ten
            axis.set_xticks(sweep.values, [f"{value:g}" for value in sweep.values])
            axis.minorticks_off()
        axis.set_title(sweep.setting, fontsize=10)
        axis.grid(True, which="major", color="#dddddd", lw=0.6)
        low, high = axis.get_ylim()
        axis.set_ylim(low, high * (high / low) ** 0.45)  # room for the legend
        axis.legend(loc="upper left", frameon=False, fontsize=9)
    for axis in list(axes.flat)[len(sweeps) :]:
        axis.set_axis_off()
        axis.text(0.02, 0.9, LEGEND, va="top", fontsize=10, linespacing=1.6, transform=axis.transAxes)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
