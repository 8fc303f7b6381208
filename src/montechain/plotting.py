"""Figures. They need matplotlib: ``pip install "montechain[plot]"``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "plot_critical_difference",
    "plot_reliability",
    "plot_search_trace",
    "plot_time_against_accuracy",
    "reliability_curve",
    "search_curve",
]

LABELS = {
    "J_EM": r"$J_{\mathrm{EM}}$",
    "J_EM_prod": r"log $J_{\mathrm{EM-prod}}$",
    "J_Ham": r"$J_{\mathrm{Ham}}$",
    "J_Ham_prod": r"log $J_{\mathrm{Ham-prod}}$",
}
COLOURS = ("#0b5394", "#b45f06")


def search_curve(trace: Any, payoff: str = "payoff", restart: int = 0) -> pd.DataFrame:
    """Return the numbers behind `plot_search_trace`: the columns `iteration`, `payoff` held after it, and `accepted`.

    Parameters
    ----------
    trace : list of dict
        `search_trace_` of an estimator.
    payoff : str, default="payoff"
        The payoff that was maximised, or a recorded one.
    restart : int, default=0
        Number of the search, if there were several.

    Examples
    --------
    >>> steps = [{"restart": 0, "iteration": t, "payoff": p, "accepted": p > 1} for t, p in enumerate([1, 3, 3])]
    >>> search_curve(steps)["payoff"].tolist()
    [1.0, 3.0, 3.0]
    """
    steps = _steps(trace)
    own = steps[steps["restart"] == restart]
    if own.empty:
        raise ValueError(f"`restart={restart}` is not in the trace: it has {steps['restart'].nunique()}.")
    if payoff not in own:
        known = [name for name in own if name == "payoff" or name in LABELS]
        raise ValueError(
            f"`payoff={payoff!r}` was not recorded; the trace has {known}. Use OrderSearch(record=[{payoff!r}])."
        )
    found = own[["iteration", payoff, "accepted"]].set_axis(["iteration", "payoff", "accepted"], axis=1)
    return found.astype({"payoff": float, "accepted": bool}).reset_index(drop=True)


def reliability_curve(proba: Any, correct: Any, n_bins: int = 10) -> pd.DataFrame:
    """Return the numbers behind `plot_reliability`: for each bin its mean `proba`, its share `right` and its `rows`.

    Parameters
    ----------
    proba : array-like of shape (n,)
        Probability that the model gives its own prediction, the whole vector, as ``decide(X).proba``.
    correct : array-like of bool of shape (n,)
        Whether all labels of the row are right.
    n_bins : int, default=10
        Bins of equal width; those without a row are left out.

    Examples
    --------
    >>> reliability_curve([0.95, 0.92, 0.55], [True, False, True])["right"].tolist()
    [1.0, 0.5]
    """
    table = pd.DataFrame({"proba": np.asarray(proba, dtype=float), "right": np.asarray(correct, dtype=float)})
    bins = table.groupby(np.minimum((table["proba"] * n_bins).astype(int), n_bins - 1))
    return bins.mean().assign(rows=bins.size()).reset_index(drop=True)


def plot_reliability(curves: Mapping[str, pd.DataFrame], *, title: str | None = None, ax: Any = None) -> Any:
    """Draw how often predictions of each probability are right; on the diagonal, probabilities mean what they say.

    Parameters
    ----------
    curves : dict of str to DataFrame
        For each model, what `reliability_curve` returns. Larger points stand for more rows.
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = _axes(ax, (4.2, 4.0))
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    for name, curve in curves.items():
        (line,) = ax.plot(curve["proba"], curve["right"], linewidth=1.2, label=name)
        size = 4 + 300 * curve["rows"] / curve["rows"].sum()
        ax.scatter(curve["proba"], curve["right"], s=size, color=line.get_color(), alpha=0.7)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the prediction", ylabel="share that is right", title=title)
    ax.legend(frameon=False)
    return ax


def plot_search_trace(
    trace: Sequence[Mapping[str, Any]],
    left: str = "payoff",
    right: str | None = None,
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw payoffs against iterations on a logarithmic axis, as the paper's figures do.

    Parameters
    ----------
    trace : list of dict
        `search_trace_` of an estimator.
    left, right : str
        What the left and right vertical axes show: the payoff that was maximised, or recorded ones
        (``OrderSearch(record=["J_EM_prod"])``).
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    restarts = sorted(_steps(trace)["restart"].unique())
    sides = [(name, [search_curve(trace, name, restart) for restart in restarts]) for name in (left, right) if name]
    ax = _axes(ax, (5.5, 3.6))
    lines = []
    for side, (name, curves) in enumerate(sides):
        axes, colour, label = ax.twinx() if side else ax, COLOURS[side], LABELS.get(name, name)
        for i, curve in enumerate(curves):
            # A logarithmic axis has no place for iteration 0, so everything moves on by one.
            (line,) = axes.step(
                curve["iteration"] + 1, curve["payoff"], where="post", color=colour, linestyle="--" if side else "-",
                linewidth=1.4, alpha=0.35 if i else 1.0, label=label,
            )  # fmt: skip
            accepted = curve[curve["accepted"]]
            axes.plot(accepted["iteration"] + 1, accepted["payoff"], ".", color=colour, markersize=5)
            lines += [line] if i == 0 else []
        axes.set_ylabel(label, color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
    _against_log(ax, "iteration + 1", title)
    ax.legend(handles=lines, loc="lower right", frameon=False)
    return ax


def plot_critical_difference(
    average_ranks: Any,
    critical_difference: float,
    groups: Iterable[Sequence[Hashable]] = (),
    *,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw average ranks on a line, with bars under the methods that do not differ significantly.

    Parameters
    ----------
    average_ranks : Series or mapping
        Average rank of each method; rank 1 is best.
    critical_difference : float
        Smallest difference that is significant.
    groups : list of tuples
        Methods that do not differ significantly.
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> axes = plot_critical_difference({"A": 1.2, "B": 1.9, "C": 2.9}, 1.1, [("A", "B"), ("B", "C")])
    >>> [text.get_text() for text in axes.texts][:2]
    ['CD = 1.10', 'A  1.20']
    """
    ranks = {name: float(rank) for name, rank in dict(average_ranks).items()}
    if not ranks or not np.isfinite([*ranks.values(), critical_difference]).all():
        raise ValueError("average ranks and the critical difference must be finite: leave out methods without one.")
    marks, bars = _rank_layout(ranks, groups)
    low = min(1, int(np.floor(min(ranks.values()))))
    high = max(low + 1, len(ranks), int(np.ceil(max(ranks.values()))))
    wide, lines = high - low, 1 + max((level for _, _, level in bars), default=-1)
    ax = _axes(ax, (6.5, 1.2 + 0.2 * len(marks)))
    ax.plot([low, low + critical_difference], [1.2, 1.2], "|-", color="black", linewidth=1.2)
    ax.text(low, 1.5, f"CD = {critical_difference:.2f}", va="bottom")
    for name, on_left, level in marks:
        end, side = (low - 0.06 * wide, "right") if on_left else (high + 0.06 * wide, "left")
        y = -(1.0 + 0.6 * lines + level)
        ax.plot([ranks[name], ranks[name], end], [0.0, y, y], color="black", linewidth=0.8)
        ax.text(end, y, f"{name}  {ranks[name]:.2f}", ha=side, va="center")
    for start, end, level in bars:
        y = -0.6 * (level + 1)
        ax.plot([start - 0.01 * wide, end + 0.01 * wide], [y, y], color=COLOURS[0], linewidth=4)
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_position(("data", 0.0))
    ax.spines["top"].set_bounds(low, high)
    ax.xaxis.tick_top()
    limits = low - 0.35 * wide, high + 0.35 * wide
    ax.set(xticks=range(low, high + 1), yticks=[], xlim=limits, title=title or "")
    return ax


def _rank_layout(
    ranks: Mapping[Hashable, float], groups: Iterable[Sequence[Hashable]]
) -> tuple[list[tuple[Hashable, bool, int]], list[tuple[float, float, int]]]:
    """Return the methods (name, on the left, line), best first, and the bars (from, to, line) under their groups.

    Lines never cross: the better half of the methods is on the left, best on top; the others are on the right, worst on
    top. Bars that would touch are on different lines.
    """
    names = sorted(ranks, key=ranks.__getitem__)
    half = (len(names) + 1) // 2
    marks = [(name, i < half, i if i < half else len(names) - 1 - i) for i, name in enumerate(names)]
    spans = []
    for group in groups:
        if unknown := [name for name in group if name not in ranks]:
            raise ValueError(f"`groups` names {unknown[0]!r}, which has no average rank.")
        spans.append((min(ranks[name] for name in group), max(ranks[name] for name in group)))
    bars, ends = [], list[float]()  # where the last bar on each line ends
    for start, end in sorted(spans):
        level = next((i for i, last in enumerate(ends) if last < start), len(ends))
        ends[level : level + 1] = [end]
        bars.append((start, end, level))
    return marks, bars


def plot_time_against_accuracy(points: Any, *, score: str = "score", title: str | None = None, ax: Any = None) -> Any:
    """Draw scores of methods against their times, on a logarithmic axis.

    Parameters
    ----------
    points : data frame
        Columns `method`, `seconds` and `score`, of one data set. Rows without finite numbers are left out.
    score : str, default="score"
        Label of the vertical axis.
    title : str, optional
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import pandas as pd
    >>> axes = plot_time_against_accuracy(pd.DataFrame({"method": ["CC"], "seconds": [0.2], "score": [0.3]}))
    >>> axes.get_xscale(), [text.get_text() for text in axes.texts]
    ('log', ['CC'])
    """
    seconds, scores = (np.asarray(points[name], dtype=float) for name in ("seconds", "score"))
    there = np.isfinite(seconds) & np.isfinite(scores) & (seconds > 0)
    ax = _axes(ax, (5.0, 3.4))
    ax.plot(seconds[there], scores[there], "o", color=COLOURS[0], markersize=5)
    for name, x, y in zip(np.asarray(points["method"])[there], seconds[there], scores[there], strict=True):
        ax.annotate(str(name), (x, y), xytext=(5, 3), textcoords="offset points", fontsize="small")
    ax.set_ylabel(score)
    return _against_log(ax, "seconds", title)


def _against_log(ax: Any, label: str, title: str | None) -> Any:
    """Give axes a logarithmic horizontal axis, a title and a grid."""
    ax.set(xscale="log", xlabel=label, title=title or "")
    ax.grid(True, which="major", linewidth=0.3)
    return ax


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the given axes, or new ones of `size` inches."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Drawing needs matplotlib: pip install "montechain[plot]".') from error
    return plt.subplots(figsize=size, layout="constrained")[1]


def _steps(trace: Any) -> pd.DataFrame:
    """Return the trace as a data frame; an estimator or a list of dicts is accepted, too."""
    try:
        steps = pd.DataFrame(getattr(trace, "search_trace_", trace))
    except (TypeError, ValueError):
        steps = pd.DataFrame()
    if not {"restart", "iteration", "payoff", "accepted"} <= set(steps):
        raise TypeError("`trace` must be the `search_trace_` of an estimator whose `order` is an OrderSearch.")
    return steps
