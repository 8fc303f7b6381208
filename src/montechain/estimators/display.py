"""What a notebook shows of a fitted estimator below scikit-learn's diagram: its summary, as a block of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from montechain.estimators.summary import ALL_BEFORE, ModelSummary, summarise_model

__all__ = ["DisplayMixin", "summary_html"]

LONG = 24
"""A chain of more labels is folded."""
FOLDED = 8
"""So many of its labels are seen."""
SHOWN_ORDERS = 5
"""So many orders of a population are seen; the others are folded."""
MAX_TEXT = 90
"""Longer parameters are cut; the whole is seen when the pointer rests on them."""


class DisplayMixin:
    """Adds the block to what scikit-learn shows in notebooks."""

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + summary_html(summarise_model(self))  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += summary_html(summarise_model(self))
        return bundle


# Colours are those of the page, so that the block fits light and dark ones.
STYLE = """
.montechain{border:1px solid color-mix(in srgb,currentColor 25%,transparent);border-radius:8px;padding:12px 16px;
 margin:8px 0;max-width:960px;font:13px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
.montechain .title{font-weight:600;margin:0 0 6px}
.montechain .faint,.montechain dt{opacity:.7;font-weight:normal}
.montechain .inner{border-top:1px solid color-mix(in srgb,currentColor 25%,transparent);margin-top:10px;
 padding-top:10px}
.montechain ol{list-style:none;display:flex;flex-wrap:wrap;gap:5px 0;margin:4px 0;padding:0}
.montechain li{display:flex;align-items:center;margin:0;padding:0;max-width:100%}
.montechain li:not(:last-child)::after{content:"\\2192";padding:0 5px}
.montechain .label{background:color-mix(in srgb,currentColor 8%,transparent);border-radius:10px;padding:0 8px;
 overflow-wrap:anywhere}
.montechain summary{cursor:pointer}
.montechain summary ol{display:inline-flex;vertical-align:middle;max-width:calc(100% - 20px)}
.montechain details[open]>summary ol,.montechain details:not([open])>summary .whole{display:none}
.montechain dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 14px;margin:8px 0 0}
.montechain dt,.montechain dd{margin:0;overflow-wrap:anywhere}
"""


def summary_html(summary: ModelSummary | None) -> str:
    """Return a summary as a block of HTML that needs nothing else; an empty text for None.

    Examples
    --------
    >>> html = summary_html(ModelSummary("Fitted chain", orders=[(1.0, ["<b>", "a & b"])]))
    >>> "<b>" in html, "&lt;b&gt;" in html
    (False, True)
    """
    if summary is None:
        return ""
    return f'<style>{STYLE}</style><div class="montechain">{_section(summary)}</div>'


def _section(summary: ModelSummary) -> str:
    parts = [f'<div class="title">{escape(summary.title)}</div>']
    if len(summary.orders) == 1:
        parts.append(_chain(summary.orders[0][1]))
    elif summary.orders:
        rows = [(f"{100 * weight:.1f} %", _chain(labels)) for weight, labels in summary.orders]
        parts.append(_pairs(rows[:SHOWN_ORDERS]))
        if others := rows[SHOWN_ORDERS:]:
            share = sum(weight for weight, _ in summary.orders[SHOWN_ORDERS:])
            heading = f"{len(others)} more, with {100 * share:.1f} % of the weight"
            parts.append(f'<details><summary class="faint">{heading}</summary>{_pairs(others)}</details>')
    if summary.search:
        parts.append(f'<div class="faint">{escape(summary.search)}</div>')
    if summary.seen == ALL_BEFORE or not any(own for _, own in summary.parents):
        parts.append(f'<div class="faint">{escape(summary.seen)}</div>')
    else:
        none = '<span class="faint">no other label</span>'
        rows = [(_label(label), "← " + (" ".join(map(_label, own)) or none)) for label, own in summary.parents]
        state = "" if len(rows) > LONG else " open"
        heading = f'<summary class="faint">{escape(summary.seen)}</summary>'
        parts.append(f"<details{state}>{heading}{_pairs(rows)}</details>")
    parts.append(_pairs([(escape(name), _value(value)) for name, value in summary.choices]))
    if summary.inner is not None:
        parts.append(f'<div class="inner">{_section(summary.inner)}</div>')
    return "".join(parts)


def _pairs(rows: Sequence[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{left}</dt><dd>{right}</dd>' for left, right in rows)}</dl>" if rows else ""


def _chain(labels: Sequence[str]) -> str:
    """Return labels as a chain with arrows; only its beginning is seen at first if it is long."""
    whole = f"<ol>{''.join(f'<li>{_label(label)}</li>' for label in labels)}</ol>"
    if len(labels) <= LONG:
        return whole
    beginning = "".join(f"<li>{_label(label)}</li>" for label in labels[:FOLDED])
    rest = f'<li><span class="faint">{len(labels) - FOLDED} more</span></li>'
    summary = f'<ol>{beginning}{rest}</ol><span class="whole faint">all {len(labels)} labels</span>'
    return f"<details><summary>{summary}</summary>{whole}</details>"


def _label(name: str) -> str:
    # A name may be written from right to left: it must not turn its neighbours round.
    return f'<bdi class="label">{escape(name)}</bdi>'


def _value(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return f"<code>{escape(text)}</code>"
    return f'<code title="{escape(text)}">{escape(text[: MAX_TEXT - 1])}…</code>'
