"""Figures. They need matplotlib: ``pip install "montechain[plot]"``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "RankBar",
    "RankDiagram",
    "RankMark",
    "SearchCurve",
    "critical_difference_layout",
    "plot_critical_difference",
    "plot_search_trace",
    "plot_time_against_accuracy",
    "search_curve",
]

LABELS = {
    "J_EM": r"$J_{\mathrm{EM}}$",
    "J_EM_prod": r"log $J_{\mathrm{EM-prod}}$",
    "J_Ham": r"$J_{\mathrm{Ham}}$",
    "J_Ham_prod": r"log $J_{\mathrm{Ham-prod}}$",
}
COLOURS = ("#0b5394", "#b45f06")


class SearchCurve(NamedTuple):
    """Iterations of a search, the payoff held after each, and where a new order was accepted."""

    iteration: np.ndarray
    payoff: np.ndarray
    accepted: np.ndarray


def search_curve(trace: Sequence[Mapping[str, Any]], payoff: str = "payoff", restart: int = 0) -> SearchCurve:
    """Return the numbers behind `plot_search_trace`.

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
    >>> search_curve(steps).payoff.tolist()
    [1.0, 3.0, 3.0]
    """
    rows = [row for row in _rows(trace) if row["restart"] == restart]
    if not rows:
        raise ValueError(f"`restart={restart}` is not in the trace: it has {len({row['restart'] for row in trace})}.")
    if payoff not in rows[0]:
        known = [name for name in rows[0] if name == "payoff" or name in LABELS]
        raise ValueError(
            f"`payoff={payoff!r}` was not recorded; the trace has {known}. Use OrderSearch(record=[{payoff!r}])."
        )
    return SearchCurve(
        np.array([row["iteration"] for row in rows]),
        np.array([row[payoff] for row in rows], dtype=float),
        np.array([row["accepted"] for row in rows], dtype=bool),
    )


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
    trace = _rows(trace)
    restarts = sorted({row["restart"] for row in trace})
    sides = [(name, [search_curve(trace, name, restart) for restart in restarts]) for name in (left, right) if name]
    ax = _axes(ax, (5.5, 3.6))
    lines = []
    for side, (name, curves) in enumerate(sides):
        axes, colour, label = ax.twinx() if side else ax, COLOURS[side], LABELS.get(name, name)
        for i, curve in enumerate(curves):
            # A logarithmic axis has no place for iteration 0, so everything moves on by one.
            (line,) = axes.step(
                curve.iteration + 1, curve.payoff, where="post", color=colour, linestyle="--" if side else "-",
                linewidth=1.4, alpha=0.35 if i else 1.0, label=label,
            )  # fmt: skip
            accepted = curve.iteration[curve.accepted] + 1, curve.payoff[curve.accepted]
            axes.plot(*accepted, ".", color=colour, markersize=5)
            lines += [line] if i == 0 else []
        axes.set_ylabel(label, color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
    _against_log(ax, "iteration + 1", title)
    ax.legend(handles=lines, loc="lower right", frameon=False)
    return ax


class RankMark(NamedTuple):
    """A method in a critical-difference diagram; its name stands at the left or right end of line `level`."""

    name: str
    rank: float
    on_left: bool
    level: int


class RankBar(NamedTuple):
    """Methods from rank `start` to rank `end` that do not differ, drawn on line `level` below the axis."""

    start: float
    end: float
    level: int


class RankDiagram(NamedTuple):
    """Layout of a critical-difference diagram: the ends of its axis, the methods (best first), and the bars."""

    lowest: int
    highest: int
    marks: list[RankMark]
    bars: list[RankBar]
    critical_difference: float


def critical_difference_layout(
    average_ranks: Any, critical_difference: float, groups: Iterable[Sequence[Hashable]] = ()
) -> RankDiagram:
    """Return the layout behind `plot_critical_difference`, with the same parameters.

    Lines never cross: the better half of the methods is on the left, best on top; the others are on the right, worst on
    top. Bars that would touch are on different lines.

    Examples
    --------
    >>> layout = critical_difference_layout({"A": 1.2, "B": 1.9, "C": 2.9}, 1.1, [("A", "B"), ("B", "C")])
    >>> [(mark.name, mark.on_left, mark.level) for mark in layout.marks]
    [('A', True, 0), ('B', True, 1), ('C', False, 0)]
    >>> layout.bars
    [RankBar(start=1.2, end=1.9, level=0), RankBar(start=1.9, end=2.9, level=1)]
    """
    groups = [tuple(group) for group in groups]
    ranks = {name: float(rank) for name, rank in dict(average_ranks).items()}
    unknown = [name for group in groups for name in group if name not in ranks]
    if unknown or not ranks:
        raise ValueError(f"`groups` names {unknown[0]!r}, which has no average rank." if unknown else "no ranks.")
    if not np.isfinite([*ranks.values(), critical_difference]).all():
        raise ValueError("average ranks and the critical difference must be finite: leave out methods without one.")
    names = sorted(ranks, key=ranks.__getitem__)
    half = (len(names) + 1) // 2
    marks = [
        RankMark(str(name), ranks[name], i < half, i if i < half else len(names) - 1 - i)
        for i, name in enumerate(names)
    ]
    bars: list[RankBar] = []
    ends: list[float] = []  # of the last bar on each line
    for start, end in sorted((min(held), max(held)) for held in ([ranks[name] for name in group] for group in groups)):
        level = next((i for i, last in enumerate(ends) if last < start), len(ends))
        ends[level : level + 1] = [end]
        bars.append(RankBar(start, end, level))
    lowest = min(1, int(np.floor(min(ranks.values()))))
    highest = max(lowest + 1, len(names), int(np.ceil(max(ranks.values()))))
    return RankDiagram(lowest, highest, marks, bars, float(critical_difference))


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
    layout = critical_difference_layout(average_ranks, critical_difference, groups)
    ax = _axes(ax, (6.5, 1.2 + 0.2 * len(layout.marks)))
    lines = max(bar.level for bar in layout.bars) + 1 if layout.bars else 0
    wide = layout.highest - layout.lowest
    ax.plot([layout.lowest, layout.lowest + layout.critical_difference], [1.2, 1.2], "|-", color="black", linewidth=1.2)
    ax.text(layout.lowest, 1.5, f"CD = {layout.critical_difference:.2f}", va="bottom")
    for mark in layout.marks:
        end, side = (layout.lowest - 0.06 * wide, "right") if mark.on_left else (layout.highest + 0.06 * wide, "left")
        y = -(1.0 + 0.6 * lines + mark.level)
        ax.plot([mark.rank, mark.rank, end], [0.0, y, y], color="black", linewidth=0.8)
        ax.text(end, y, f"{mark.name}  {mark.rank:.2f}", ha=side, va="center")
    for bar in layout.bars:
        y = -0.6 * (bar.level + 1)
        ax.plot([bar.start - 0.01 * wide, bar.end + 0.01 * wide], [y, y], color=COLOURS[0], linewidth=4)
    ax.spines[["left", "right", "bottom"]].set_visible(False)
    ax.spines["top"].set_position(("data", 0.0))
    ax.spines["top"].set_bounds(layout.lowest, layout.highest)
    ax.xaxis.tick_top()
    limits = layout.lowest - 0.35 * wide, layout.highest + 0.35 * wide
    ax.set(xticks=range(layout.lowest, layout.highest + 1), yticks=[], xlim=limits, title=title or "")
    return ax


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


def _rows(trace: Any) -> Sequence[Mapping[str, Any]]:
    """Return the trace as a list of dicts; an estimator or a data frame is accepted, too."""
    trace = getattr(trace, "search_trace_", trace)
    if hasattr(trace, "to_dict"):
        trace = trace.to_dict("records")
    if not isinstance(trace, Sequence) or not trace or not isinstance(trace[0], Mapping):
        raise TypeError("`trace` must be the `search_trace_` of an estimator whose `order` is an OrderSearch.")
    return trace
