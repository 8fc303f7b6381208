"""The report: one self-contained HTML page, and the same tables as Markdown."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import jinja2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.ticker import NullFormatter
from scikit_posthocs import critical_difference_diagram

from montechain._files import atomic_write
from reproduction.findings import all_cells, differences, key_figures, measure_title, number, signed, summary
from reproduction.paper import DATASETS
from reproduction.tables import BASELINE, TOLERANCE, Findings, Table, is_time

__all__ = ["grids", "key_figures", "render", "write_report"]

VIEWS = {"ours": "Ours", "paper": "Paper", "difference": "Difference", "meka": "MEKA today"}
COLOURS = ("#0b5394", "#b45f06")
ACCENT = "#0b5394"
SCRIPTS = ("page.js", "tree.js", "explorer.js")


def write_report(findings: Findings, folder: Path) -> None:
    """Write ``report.html`` and ``tables.md``."""
    for name, template in (("report.html", "page.html"), ("tables.md", "tables.md")):
        with atomic_write(folder / name, "w", encoding="utf-8") as stream:
            stream.write(render(findings, template))


def render(findings: Findings, template: str) -> str:
    """Return the page or the Markdown tables; equal findings give equal text."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=template.endswith("html"), undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": number, "signed": signed, "measure": measure_title}
    environment.filters["dataset"] = lambda name: DATASETS.get(name, name)
    script = "".join(["(() => {\n'use strict';\n", *map(_file, SCRIPTS), "})();"])
    return environment.get_template(template).render(
        findings=findings, tables=[(table, grids(table)) for table in findings.tables], views=VIEWS,
        keys=key_figures(findings), summary=summary(findings), differences=differences(findings), tolerance=TOLERANCE,
        figures=_figures(findings) if template.endswith("html") else {}, style=Markup(_file("page.css")),
        script=Markup(script), script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        # A "<" in a name could close the element that holds the JSON.
        examples=Markup(json.dumps(findings.examples, ensure_ascii=False).replace("<", "\\u003c")),
    )  # fmt: skip


def _file(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


def grids(table: Table) -> list[dict[str, Any]]:
    """Return a table as grids in which a cell holds one number for each view.

    A grid has data sets down and methods across, one for each measure; the orders on Music go down, with the measures
    across. It is a dict with ``title``, ``head``, ``rows`` (a name and its cells), ``foot``, ``views`` and ``notes``.
    """
    cells = all_cells([table])
    if table.key == "music_orders":
        return [_grid(table.title, cells, "method", "measure")]
    return [_grid(measure_title(name), cells[cells["measure"] == name], "dataset", "method") for name in table.measures]


def _grid(title: str, cells: pd.DataFrame, down: str, across: str) -> dict[str, Any]:
    names = {place: list(dict.fromkeys(cells[place])) for place in (down, across)}
    # Show the paper's figures with as many decimals as printed.
    digits = max(
        (len(f"{value:.4f}".rstrip("0").partition(".")[2]) for value in cells["published"].dropna()), default=0
    )
    placed = {(cell[down], cell[across]): _cell(cell, digits) for cell in cells.to_dict("records")}
    rows = [
        (DATASETS.get(name, name), [placed.get((name, other), {}) for other in names[across]]) for name in names[down]
    ]
    ranked = cells[cells["rank"].notna()]
    foot = []
    if down == "dataset" and len(ranked):
        means = {view: ranked.groupby(across)[column].mean() for view, column in
                 (("ours", "rank"), ("paper", "published_rank"))}  # fmt: skip
        foot = [
            {view: number(mean.get(name, float("nan")), 2) for view, mean in means.items()} for name in names[across]
        ]
    notes: dict[str, list[str]] = {}
    for cell in cells.to_dict("records"):
        for text in filter(None, (cell["note"].strip(), cell["reason"] and f"{cell['status']}: {cell['reason']}")):
            notes.setdefault(text, []).append(DATASETS.get(cell["dataset"], cell["dataset"]))
    views = [view for view in VIEWS if any(one.get(view, "–") != "–" for _, own in rows for one in own)]
    return {
        "title": title, "head": [measure_title(name) for name in names[across]], "rows": rows, "foot": foot,
        "views": views, "notes": [(text, ", ".join(dict.fromkeys(own))) for text, own in notes.items()],
        "corner": "Data set" if down == "dataset" else "Order",
    }  # fmt: skip


def _cell(cell: dict[str, Any], paper_decimals: int) -> dict[str, Any]:
    decimals = None if is_time(cell["measure"]) else 2 if cell["measure"].startswith("J_") else 3
    gain = "" if not cell["is_beyond"] else "better" if cell["gain"] > 0 else "worse"
    return {
        "ours": number(cell["ours"], decimals) if cell["status"] == "ok" else "DNF" if cell["status"] == "DNF" else "–",
        "paper": cell["published_word"] or number(cell["published"], paper_decimals),
        "difference": signed(cell["difference"]) if cell["is_compared"] else "–",
        "meka": number(cell["meka"], decimals),
        "class": " ".join(filter(None, ("best" if cell["is_best"] else "", gain))),
    }  # fmt: skip


def _figures(findings: Findings) -> dict[str, list[tuple[str, Markup]]]:
    """Return the figures of each section, with captions."""
    found: dict[str, list[tuple[str, Markup]]] = {"ranks": [], "times": [], "searches": []}
    for measure, tests in findings.statistics.items():
        for which, who in (("nemenyi", "ours"), ("published_nemenyi", "as published")):
            if tests[which]:
                caption = f"{measure_title(measure)}, {who}"
                found["ranks"].append((caption, _svg(_draw_ranks(tests[which]), f"Ranks: {caption}")))
    tables = {table.key: table.cells for table in findings.tables}
    if {"accuracy", "time"} <= set(tables):
        seconds = tables["time"].query("measure == 'running_time_s'").set_index(["dataset", "method"])["ours"]
        exact = tables["accuracy"].query("measure == 'exact_match' and status == 'ok'")
        exact = exact[exact["method"] != BASELINE]
        for name, own in exact.groupby("dataset", sort=False):
            points = own.assign(seconds=[seconds.get((name, method)) for method in own["method"]], score=own["ours"])
            # Methods that would be drawn on top of each other share a point and a label.
            near = [points["score"].round(3), (np.log(points["seconds"]) * 5).round()]
            merged = points.groupby(near, sort=False).agg({"method": ", ".join, "seconds": "mean", "score": "mean"})
            title = DATASETS.get(str(name), str(name))
            axes = _draw_times(merged, title)
            found["times"].append(("", _svg(axes, f"Time and exact match on {title}")))
    for (name, payoff, on), group in groupby(findings.traces, itemgetter("dataset", "payoff", "on")):
        own = list(group)
        steps = [step | {"restart": trace["number"]} for trace in own for step in trace["steps"]]
        title = f"{DATASETS.get(name, name)}, {payoff}"
        axes = _draw_search(pd.DataFrame(steps), {"payoff": payoff, own[0]["record"][0]: own[0]["record"][0]}, title)
        if own[0]["optimum"] is not None:
            axes.axhline(own[0]["optimum"], color=ACCENT, linestyle=":", linewidth=1.0)
        caption = f"{own[0]['estimator']} links, payoff on the {on}"
        found["searches"].append((caption, _svg(axes, f"Search on {title}, {on}")))
    return found


def _draw_search(steps: pd.DataFrame, payoffs: dict[str, str], title: str) -> Any:
    """Draw two payoffs, with their names, against iterations on a logarithmic axis, as the paper's figures do."""
    left = plt.subplots(figsize=(5.5, 3.6), layout="constrained")[1]
    for axes, (payoff, name), colour, style in zip((left, left.twinx()), payoffs.items(), COLOURS, "-:", strict=True):
        for place, (_, own) in enumerate(steps.groupby("restart")):
            # A logarithmic axis cannot show iteration 0, so all iterations are shifted by one.
            alpha = 0.35 if place else 1.0
            axes.step(own["iteration"] + 1, own[payoff], style, where="post", color=colour, linewidth=1.4, alpha=alpha)
            accepted = own[own["accepted"].astype(bool)]
            axes.plot(accepted["iteration"] + 1, accepted[payoff], ".", color=colour, markersize=5)
        axes.set_ylabel(name, color=colour)
        axes.tick_params(axis="y", labelcolor=colour)
    left.set(xscale="log", xlabel="iteration + 1", title=title)
    left.grid(True, which="major", linewidth=0.3)
    return left


def _draw_ranks(test: dict[str, Any]) -> Any:
    """Draw average ranks on a line, with bars under the methods that do not differ significantly."""
    ranks = pd.Series(test["average_ranks"])
    apart = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy()))
    same = pd.DataFrame(apart <= test["critical_difference"], ranks.index, ranks.index).astype(float)
    axes = plt.subplots(figsize=(6.5, 1.2 + 0.2 * len(ranks)), layout="constrained")[1]
    critical_difference_diagram(
        ranks, same, ax=axes, color_palette=["black"] * len(ranks), crossbar_props={"color": ACCENT, "linewidth": 4}
    )
    axes.set_title(f"critical difference {test['critical_difference']:.2f}", fontsize="small")
    return axes


def _draw_times(points: pd.DataFrame, title: str) -> Any:
    """Draw the `score` of each `method` against its `seconds`, on a logarithmic axis."""
    axes = plt.subplots(figsize=(5.0, 3.4), layout="constrained")[1]
    axes.plot(points["seconds"], points["score"], "o", color=ACCENT, markersize=5)
    for point in points.itertuples():
        axes.annotate(
            point.method, (point.seconds, point.score), xytext=(5, 3), textcoords="offset points", fontsize="small"
        )
    axes.set(xscale="log", xlabel="seconds", ylabel="exact match", title=title)
    axes.grid(True, which="major", linewidth=0.3)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.25)
    return axes


def _svg(axes: Any, label: str) -> Markup:
    """Return a figure as an SVG element in the colours of the page, and close it."""
    stream = io.StringIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}):
        axes.figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    plt.close(axes.figure)
    text = stream.getvalue()
    text = re.sub(r"<(metadata|style).*?</\1>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' id="(?!m|p)[^"]*"| id="(?:patch|matplotlib)[^"]*"', "", text)  # keep markers and clip paths
    for colour, name in (("#000000", "currentColor"), (ACCENT, "var(--accent)"), ("#b45f06", "var(--other)")):
        text = text.replace(colour, name)
    start = Markup('<svg role="img" aria-label="{}" class="chart"').format(label)
    return start + Markup(text.removeprefix("<svg").replace("#b0b0b0", "var(--line)"))
