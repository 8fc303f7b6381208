"""The page: everything in one file, which needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from montechain.experiments.paper.names import dataset_title
from montechain.experiments.report.charts import (
    rank_picture,
    time_panels,
    time_picture,
    trace_groups,
    trace_picture,
    trace_steps,
)
from montechain.experiments.report.differences import DIFFERENCES_HEAD, WORDS, differences
from montechain.experiments.report.findings import findings, key_figures
from montechain.experiments.report.grids import TOLERANCE, in_reading_order
from montechain.experiments.report.html_tables import comparison_html, plain_table
from montechain.experiments.report.markup import element, embedded_json, words
from montechain.experiments.report.ranking import Ranking, rankings
from montechain.experiments.report.wording import fact, joined, measure_title, number, payoff_title, plural
from montechain.experiments.reproduction import Example, Reproduction, Trace

__all__ = ["render_page"]

TITLE = "Monte Carlo classifier chains, reproduced"
PAPER = (
    "Read, Martino and Luengo: Efficient Monte Carlo methods for multi-dimensional learning with classifier chains "
    "(Pattern Recognition, 2014)"
)
SHORT = {
    "differences": "Differences",
    "table-accuracy": "Accuracy",
    "table-time": "Times",
    "table-official": "Official splits",
    "table-natural_order": "File order",
    "table-agreement": "Same vectors",
    "table-payoffs": "Payoffs",
    "table-music_orders": "Orders",
    "ranks": "Ranks",
    "time": "Trade-off",
    "searches": "Searches",
    "explorer": "One row",
    "about": "About",
}
"""How sections are called in the navigation."""
SCRIPTS = ("elements.js", "report.js", "tree.js", "explorer.js")


def render_page(reproduction: Reproduction) -> str:
    """Return the whole report as one page; equal reproductions give equal pages.

    Examples
    --------
    >>> render_page(Reproduction()).startswith("<!DOCTYPE html>")
    True
    """
    sections = [
        ("summary", "In short", _summary(reproduction)),
        ("differences", f"Every difference beyond {TOLERANCE}", _differences(reproduction)),
        *((f"table-{table.key}", table.title, _table(table)) for table in in_reading_order(reproduction.comparisons)),
        ("ranks", "Ranks and significance", "".join(map(_ranks, rankings(reproduction)))),
        ("time", "Time against accuracy", _time(reproduction)),
        ("searches", "Searching for an order", _searches(reproduction)),
        ("explorer", "Look at one row", _explorer(reproduction)),
        ("about", "About this run", _about(reproduction.about)),
    ]
    sections = [section for section in sections if section[2]]
    style = _file("report.css")
    script = '(() => {\n"use strict";\n' + "\n".join(map(_file, SCRIPTS)) + "})();"
    return Template(_file("template.html")).substitute(
        title=escape(TITLE),
        lead=_lead(reproduction),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        navigation="".join(words("a", SHORT.get(key, title), href=f"#{key}") for key, title, _ in sections),
        sections="\n".join(
            element("section", words("h2", title), body, id=key, class_="part") for key, title, body in sections
        ),
        examples=embedded_json([_example(example) for example in reproduction.examples]),
    )


def _file(name: str) -> str:
    return files("montechain.experiments.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the name under which a content policy lets exactly this script or style run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _lead(reproduction: Reproduction) -> str:
    cells = [table.cells for table in reproduction.comparisons]
    datasets = {name for frame in cells for name in frame["dataset"]}
    figures = sum(int((frame["status"] == "ok").sum()) for frame in cells)
    counted = f"{plural(figures, 'figure')} on {plural(len(datasets), 'data set')}" if cells else "The figures"
    return escape(f"{counted}, computed again and set beside those of {PAPER}, and beside MEKA as it is today.")


def _summary(reproduction: Reproduction) -> str:
    keys = [
        element("div", words("dt", key.meaning), words("dd", key.figure), class_="key")
        for key in key_figures(reproduction)
    ]
    cards = []
    for finding in findings(reproduction):
        items = element("ul", *(words("li", item) for item in finding.items)) if finding.items else ""
        cards.append(element("div", words("h3", finding.heading), words("p", finding.text), items, class_="finding"))
    if not cards:
        return words("p", "There is no figure to compare yet.", class_="quiet")
    return (element("dl", *keys, class_="keys") if keys else "") + element("div", *cards, class_="findings")


def _differences(reproduction: Reproduction) -> str:
    rows = [own.row for own in differences(reproduction.comparisons)]
    if not rows:
        return ""
    return element(
        "details",
        words("summary", f"{plural(len(rows), 'figure')}, and what is known about each"),
        plain_table(DIFFERENCES_HEAD, rows, "Differences to the paper", prose=WORDS),
    )


def _table(table: Any) -> str:
    caption = words("p", table.caption, class_="caption") if table.caption else ""
    return caption + comparison_html(table)


def _ranks(ranking: Ranking) -> str:
    title = measure_title(ranking.measure)
    parts = [words("h3", title)]
    friedman = ranking.tests.get("friedman") or {}
    over = plural(len(friedman["datasets"]), "data set") if friedman.get("datasets") else ""
    ours = f"Ours, over the {over} on which all methods finished" if over else "Ours"
    pictures = [(ours, ranking.tested, ranking.critical_difference, ranking.groups)]
    if ranking.published:
        before = (ranking.published, ranking.published_critical_difference, ranking.published_groups)
        pictures.append(("As published", *before))
    for who, ranks, distance, groups in pictures:
        label = f"Average ranks, {title}, {who}: " + joined([f"{name} {ranks[name]:.2f}" for name in ranks])
        parts.append(_figure(rank_picture(label, ranks, distance, groups), who))
    parts.append(_tests(ranking))
    return element("div", *parts, class_="ranks")


def _tests(ranking: Ranking) -> str:
    """Return what the tests say, in sentences, and the pairs in tables that open."""
    said = []
    friedman = ranking.tests.get("friedman") or {}
    if isinstance(friedman, Mapping) and _finite(friedman.get("p_value")):
        said.append(f"Friedman: χ² = {friedman.get('statistic', math.nan):.2f}, p {_p_value(friedman['p_value'])}.")
    nemenyi = ranking.tests.get("nemenyi") or {}
    if nemenyi:
        level = f" (p = {nemenyi['alpha']:g})" if _finite(nemenyi.get("alpha")) else ""
        said.append(f"Nemenyi{level}: {_pairs(nemenyi.get('pairs'))}.")
    if ranking.tests.get("published_pairs"):
        said.append(f"By the paper's ranks: {_pairs(ranking.tests['published_pairs'])}.")
    tables = ""
    for key, title in (
        ("wilcoxon_holm", "Wilcoxon, each pair, with Holm's correction"),
        ("bayesian", "Bayesian signed rank"),
    ):
        rows = _records(ranking.tests.get(key))
        if rows:
            head = list(rows[0])
            body = [[_shown(row.get(name)) for name in head] for row in rows]
            table = plain_table([name.replace("_", " ") for name in head], body, f"{title}, {ranking.measure}")
            tables += element("details", words("summary", title), table)
    return words("p", " ".join(said)) + tables if said or tables else ""


def _pairs(pairs: Any) -> str:
    return "; ".join(f"{better} ≻ {worse}" for better, worse in pairs or ()) or "no two methods differ"


def _records(found: Any) -> list[dict[str, Any]]:
    """Return rows of a table, whether they came as a list or by pair."""
    if isinstance(found, Mapping):
        return [{"pair": str(key), **value} for key, value in found.items() if isinstance(value, Mapping)]
    return [dict(row) for row in found or () if isinstance(row, Mapping)]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return number(value, 3)
    return "–" if value is None else str(value)


def _p_value(value: float) -> str:
    return f"= {value:.3f}" if value >= 0.001 else "< 0.001"


def _time(reproduction: Reproduction) -> str:
    panels = time_panels(reproduction)
    if not panels:
        return ""
    legend = element(
        "p", words("span", "●", class_="ink0"), " ours  ", words("span", "○", class_="ink-quiet"), " the paper's. ",
        escape("Up and to the left is better; time has a logarithmic axis."), class_="caption",
    )  # fmt: skip
    return legend + element("div", *(_figure(time_picture(panel)) for panel in panels), class_="panels")


def _searches(reproduction: Reproduction) -> str:
    groups = trace_groups(reproduction.traces)
    if not groups:
        return ""
    caption = words(
        "p",
        "The payoff that is maximised stands on the left axis, another one recorded on the way on the right. Lines are "
        "full for the first seed and dashed for the second; the dotted line is the best of all orders, where all of "
        "them were tried.",
        class_="caption",
    )
    return caption + element("div", *map(_search, groups), class_="panels")


def _search(traces: list[Trace]) -> str:
    on = {"truth": "probabilities of the true labels", "prediction": "probabilities of the predicted labels"}
    steps = ""
    for trace in traces:
        kept = trace_steps(trace)
        names = {"iteration": "t", "payoff": payoff_title(trace.payoff)}
        head = [names.get(str(name), payoff_title(str(name))) for name in kept.columns]
        rows = [[_step_text(value) for value in row] for row in kept.itertuples(index=False, name=None)]
        steps += words("h5", f"Seed {trace.seed}")
        steps += plain_table(head, rows, f"Steps on {trace.dataset}, seed {trace.seed}")
    seeds = joined([str(trace.seed) for trace in traces])
    links = f"{traces[0].estimator} links; " if traces[0].estimator else ""
    caption = f"{links}{on.get(traces[0].on, traces[0].on)}; {'seeds' if len(traces) > 1 else 'seed'} {seeds}"
    return _figure(trace_picture(traces), caption, element("details", words("summary", "Its improvements"), steps))


def _step_text(value: Any) -> str:
    """Return an iteration, an order or a payoff as text."""
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return number(value, 2) if isinstance(value, float) else str(value)


def _figure(drawing: str, caption: str = "", after: str = "") -> str:
    scroll = element("div", drawing, class_="drawing")
    return element("figure", scroll, words("figcaption", caption) if caption else "", after)


def _explorer(reproduction: Reproduction) -> str:
    if not reproduction.examples:
        return ""
    datasets = joined(list(dict.fromkeys(dataset_title(example.dataset) for example in reproduction.examples)))
    intro = words(
        "p",
        f"How a label vector is found: rows of {datasets}. Every way through the tree is one label vector; a branch "
        "carries the class and its probability given the classes before it, and the product along a way is the "
        "probability of the vector. The best way is drawn strongly; true classes carry a ring.",
        class_="caption",
    )
    return intro + element(
        "div", words("p", "The explorer needs JavaScript.", class_="quiet"), id="explorer-app", data_ready="false"
    )


def _example(example: Example) -> dict[str, Any]:
    """Return an example as the page's script reads it."""
    return {
        "dataset": dataset_title(example.dataset),
        "row": int(example.row),
        "labels": [str(name) for name in example.label_names],
        "order": [int(label) for label in example.order],
        "classes": [[str(name) for name in names] for names in example.classes],
        "truth": [None if name is None else str(name) for name in example.truth],
        "top": [[[str(name) for name in vector], round(float(p), 9)] for vector, p in example.top],
        "certified": bool(example.certified),
        "tree": [
            [[int(code) for code in node["prefix"]], float(f"{float(node['probability']):.6g}"), bool(node["best"])]
            for node in example.tree
        ],
    }


def _about(about: Mapping[str, Any]) -> str:
    rows = [
        element("div", words("dt", key.replace("_", " ")), words("dd", fact(value))) for key, value in about.items()
    ]
    return element("dl", *rows, class_="about") if rows else ""


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
