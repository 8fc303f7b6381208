"""The figures of the page: ranks, time against accuracy, and searches. Numbers in, pictures as text out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from montechain.experiments.paper.names import dataset_title
from montechain.experiments.report.grids import grid_of
from montechain.experiments.report.markup import element, words
from montechain.experiments.report.svg import (
    Scale,
    linear,
    linear_ticks,
    logarithmic,
    logarithmic_ticks,
    picture,
    text,
    tick_text,
)
from montechain.experiments.report.wording import (
    is_time,
    measure_title,
    number,
    payoff_title,
)
from montechain.experiments.reproduction import CURVE_COLUMNS, Reproduction, Trace
from montechain.plotting import critical_difference_layout

__all__ = [
    "Panel",
    "rank_picture",
    "time_panels",
    "time_picture",
    "trace_groups",
    "trace_picture",
    "trace_right_side",
    "trace_steps",
]

WIDTH, HEIGHT = 420.0, 290.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 28.0, 38.0, 42.0
LETTER = 6.4  # about the width of one, in the pictures' font


def rank_picture(
    label: str,
    ranks: dict[str, float],
    critical_difference: float,
    groups: Sequence[Sequence[str]],
    width: float = 640.0,
) -> str:
    """Return a critical-difference diagram: methods on a line of ranks, bars over those that do not differ."""
    known = math.isfinite(critical_difference)
    layout = critical_difference_layout(ranks, critical_difference if known else 0.0, groups)
    margin = 24.0 + LETTER * max(len(f"{name}  0.00") for name in ranks)
    x = linear(layout.lowest, layout.highest, margin, width - margin)
    top = 62.0 if known else 30.0
    first = top + 18.0 + 11.0 * (max((bar.level for bar in layout.bars), default=-1) + 1)
    parts = [element("path", d=f"M{x(layout.lowest):.1f} {top}H{x(layout.highest):.1f}", class_="axis")]
    for rank in range(layout.lowest, layout.highest + 1):
        parts.append(element("path", d=f"M{x(rank):.1f} {top}v-6", class_="axis"))
        parts.append(text(x(rank), top - 10, str(rank), class_="tick", text_anchor="middle"))
    if known:
        start, end = x(layout.lowest), x(layout.lowest + critical_difference)
        parts.append(element("path", d=f"M{start:.1f} 22v8M{start:.1f} 26H{end:.1f}M{end:.1f} 22v8", class_="distance"))
        parts.append(
            text((start + end) / 2, 16, f"critical difference {critical_difference:.2f}", text_anchor="middle")
        )
    for mark in layout.marks:
        y = first + 18.0 * mark.level
        end = margin - 16.0 if mark.on_left else width - margin + 16.0
        name = f"{mark.name}  {mark.rank:.2f}" if mark.on_left else f"{mark.rank:.2f}  {mark.name}"
        parts.append(element("path", d=f"M{x(mark.rank):.1f} {top}V{y:.1f}H{end:.1f}", class_="stem"))
        parts.append(element("circle", cx=x(mark.rank), cy=top, r=3, class_="dot"))
        anchor = "end" if mark.on_left else "start"
        parts.append(text(end + (-5 if mark.on_left else 5), y + 4, name, text_anchor=anchor))
    for bar in layout.bars:
        y = top + 11.0 * (bar.level + 1)
        parts.append(element("path", d=f"M{x(bar.start) - 4:.1f} {y:.1f}H{x(bar.end) + 4:.1f}", class_="group"))
    lines = max(mark.level for mark in layout.marks)
    return picture(width, first + 18.0 * lines + 14.0, label, *parts)


@dataclass(frozen=True)
class Panel:
    """Time against accuracy on one data set.

    Attributes
    ----------
    dataset : str
    score, time : str
        The measures of the two axes.
    ours, published : data frame
        With the columns `method`, `seconds` and `score`: what `montechain.plotting.plot_time_against_accuracy` takes.
    """

    dataset: str
    score: str
    time: str
    ours: pd.DataFrame
    published: pd.DataFrame


def time_panels(reproduction: Reproduction, score: str = "exact_match") -> list[Panel]:
    """Return what every method achieves and what it costs, for each data set of which both are known."""
    tables = [table for table in reproduction.comparisons if table.key == "time"]
    times = [name for table in tables for name in dict.fromkeys(table.cells["measure"]) if is_time(name)]
    # The whole time, training and testing, if it is there.
    chosen = min(times, key=lambda name: "run" not in name, default="")
    scores, seconds = grid_of(reproduction.comparisons, score), grid_of(tables, chosen, "time")
    if scores is None or seconds is None:
        return []
    panels = []
    for dataset in scores.datasets:
        pairs = [
            (method, seconds.cells[dataset, method], scores.cells[dataset, method])
            for method in scores.methods
            if (dataset, method) in seconds.cells and (dataset, method) in scores.cells
        ]
        ours = _points((m, time.ours, value.ours) for m, time, value in pairs if time.is_there and value.is_there)
        published = _points((m, time.published, value.published) for m, time, value in pairs)
        if len(ours):
            panels.append(Panel(dataset, score, chosen, ours, published))
    return panels


def _points(rows: Iterable[tuple[str, float, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=["method", "seconds", "score"]).astype({"seconds": float, "score": float})
    there = np.isfinite(frame["seconds"]) & np.isfinite(frame["score"]) & (frame["seconds"] > 0)
    return frame[there].reset_index(drop=True)


def time_picture(panel: Panel) -> str:
    """Return time against accuracy: filled dots are ours, with names; rings are the paper's."""
    both = pd.concat([panel.ours, panel.published])
    xs = logarithmic_ticks(both["seconds"].to_list())
    ys = linear_ticks(both["score"].to_list(), 4)
    x = logarithmic(xs[0], xs[-1], LEFT, WIDTH - RIGHT)
    y = linear(ys[0], ys[-1], HEIGHT - BOTTOM, TOP)
    title = dataset_title(panel.dataset)
    parts = [_frame(xs, ys, x, y, "seconds", measure_title(panel.score)), _heading(title)]
    rings = [(x(row.seconds), y(row.score), row) for row in panel.published.itertuples()]
    parts += [_dot(px, py, "ring", f"paper, {row.method}", row.score, row.seconds) for px, py, row in rings]
    dots = [(x(row.seconds), y(row.score), row) for row in panel.ours.itertuples()]
    places = [(px - 6, px + 6, py) for px, py, _ in dots + rings]  # where something stands already
    for px, py, row in sorted(dots, key=lambda dot: dot[1]):
        parts.append(_dot(px, py, "dot", f"ours, {row.method}", row.score, row.seconds))
        lx, ly, anchor = _place(px, py, LETTER * len(row.method), places)
        if abs(ly - py) > 9:  # a name that had to move away is tied to its dot
            parts.append(element("path", d=f"M{px:.1f} {py:.1f}L{lx:.1f} {ly:.1f}", class_="tie"))
        parts.append(text(lx, ly + 4, row.method, text_anchor=anchor, class_="name"))
    label = f"{title}: {measure_title(panel.score)} against seconds of {len(panel.ours)} methods"
    return picture(WIDTH, HEIGHT, label, *parts)


def _place(px: float, py: float, wide: float, places: list[tuple[float, float, float]]) -> tuple[float, float, str]:
    """Return where a name can stand without covering another: beside its dot, or as near as there is room."""
    right = px + 8 + wide < WIDTH - RIGHT
    start = px + 8 if right else px - 8 - wide
    for shift in sorted(range(-120, 121, 3), key=abs):
        ly = py + shift
        free = all(abs(ly - other) >= 12 or start + wide < left or start > end for left, end, other in places)
        if free and TOP < ly < HEIGHT - BOTTOM - 2:
            break
    else:
        ly = py
    places.append((start, start + wide, ly))
    return (px + 8 if right else px - 8), ly, "start" if right else "end"


def _dot(px: float, py: float, kind: str, who: str, score: float, seconds: float) -> str:
    tip = words("title", f"{who}: {number(score, 3)} in {number(seconds)} s")
    return element("circle", tip, cx=px, cy=py, r=4.5 if kind == "dot" else 3.5, class_=kind)


def trace_groups(traces: Sequence[Trace]) -> list[list[Trace]]:
    """Return the searches that belong into one picture: same figure, data set and payoff, several seeds."""
    groups: dict[tuple[str, str, str, str], list[Trace]] = {}
    for trace in traces:
        groups.setdefault((trace.figure, trace.dataset, trace.payoff, trace.on), []).append(trace)
    return [sorted(group, key=lambda trace: trace.seed) for group in groups.values()]


def trace_right_side(traces: Sequence[Trace]) -> str | None:
    """Return the recorded payoff that goes on the right axis, if one was recorded besides the maximised one."""
    wanted = ("J_EM_prod", "J_EM", "J_Ham", "J_Ham_prod")
    there = [name for name in wanted if name != traces[0].payoff and all(name in trace.curve for trace in traces)]
    return there[0] if there else None


def trace_picture(traces: Sequence[Trace]) -> str:
    """Return payoffs against iterations on a logarithmic axis: colour tells the axis, dashes the seed."""
    right_name = trace_right_side(traces)
    names = ["payoff"] if right_name is None else ["payoff", right_name]
    last = max(float(trace.curve["iteration"].max()) for trace in traces)
    xs = [tick for tick in logarithmic_ticks([1.0, last + 1.0]) if tick <= max(last + 1.0, 10.0)]
    right = RIGHT if right_name is None else 62.0
    x = logarithmic(1.0, max(last + 1.0, 10.0), LEFT + 8, WIDTH - right)
    title = f"{dataset_title(traces[0].dataset)}, maximising {payoff_title(traces[0].payoff)}"
    parts, optimum = [_heading(title)], traces[0].optimum
    for side, name in enumerate(names):
        values = [float(v) for trace in traces for v in trace.curve[name] if math.isfinite(v)]
        if not values:
            continue
        known = optimum is not None and side == 0
        ys = linear_ticks([*values, optimum] if known and optimum is not None else values, 4)
        y = linear(ys[0], ys[-1], HEIGHT - BOTTOM, TOP)
        called = payoff_title(traces[0].payoff if name == "payoff" else name)
        if side == 0:
            parts.append(_frame(xs, ys, x, y, "iteration + 1", called, LEFT + 8, right))
        else:
            parts += _right_axis(ys, y, called, WIDTH - right)
        if known and optimum is not None:
            tip = words("title", f"optimum over all orders: {number(optimum, 2)}")
            parts.append(element("path", tip, d=f"M{LEFT + 8} {y(optimum):.1f}H{WIDTH - right}", class_="optimum"))
            parts.append(text(LEFT + 14, y(optimum) + 14, f"optimum {number(optimum, 2)}", class_="side0"))
        for i, trace in enumerate(traces):
            parts.append(_curve(trace, name, x, y, f"curve side{side} seed{min(i, 3)}"))
    label = f"{title}: payoffs of {len(traces)} searches over {last:.0f} iterations"
    return picture(WIDTH, HEIGHT, label, *parts, class_="chart two-sided")


def _curve(trace: Trace, name: str, x: Scale, y: Scale, kind: str) -> str:
    points = [
        (x(t + 1.0), y(v)) for t, v in zip(trace.curve["iteration"], trace.curve[name], strict=True) if math.isfinite(v)
    ]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (px, py), (_, before) in zip(points[1:], points, strict=False):
        path += f"H{px:.1f}" + (f"V{py:.1f}" if py != before else "")
    called = payoff_title(trace.payoff if name == "payoff" else name)
    tip = f"{called}, seed {trace.seed}: ends at {number(float(trace.curve[name].iloc[-1]), 2)}"
    return element("path", words("title", tip), d=path, class_=kind)


def trace_steps(trace: Trace) -> pd.DataFrame:
    """Return the start and the steps that improved the payoff, as the paper lists them."""
    curve = trace.curve
    improved = curve["payoff"].diff().fillna(1.0) > 0
    kept = curve[improved & (curve["accepted"].astype(bool) | (curve["iteration"] == curve["iteration"].min()))]
    others = sorted((name for name in curve if name not in CURVE_COLUMNS), key=lambda name: name != "order")
    orders = others[:1] if others[:1] == ["order"] else []
    return kept[["iteration", *orders, "payoff", *others[len(orders) :]]]


def _frame(
    xs: Sequence[float], ys: Sequence[float], x: Scale, y: Scale, x_words: str, y_words: str,
    left: float = LEFT, right: float = RIGHT,
) -> str:  # fmt: skip
    """Return axes with their ticks, their names and a light grid."""
    bottom, end = HEIGHT - BOTTOM, WIDTH - right
    parts = []
    for tick in ys:
        parts.append(element("path", d=f"M{left} {y(tick):.1f}H{end}", class_="grid"))
        parts.append(text(left - 6, y(tick) + 4, tick_text(tick), class_="tick side0", text_anchor="end"))
    for tick in xs:
        parts.append(element("path", d=f"M{x(tick):.1f} {TOP}V{bottom}", class_="grid"))
        parts.append(text(x(tick), bottom + 16, tick_text(tick), class_="tick", text_anchor="middle"))
    parts.append(element("path", d=f"M{left} {bottom}H{end}", class_="axis"))
    parts.append(text((left + end) / 2, HEIGHT - 8, x_words, text_anchor="middle", class_="words"))
    parts.append(text(left - 6, TOP - 10, y_words, class_="words side0"))
    return "".join(parts)


def _right_axis(ys: Sequence[float], y: Scale, called: str, end: float) -> list[str]:
    parts = [text(end + 6, y(tick) + 4, tick_text(tick), class_="tick side1") for tick in ys]
    return [*parts, text(WIDTH - 4, TOP - 10, called, class_="words side1", text_anchor="end")]


def _heading(title: str) -> str:
    return text(WIDTH / 2, 12, title, class_="heading", text_anchor="middle")
