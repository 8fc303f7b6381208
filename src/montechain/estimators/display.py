"""What a notebook shows of a fitted estimator below scikit-learn's diagram: its facts, as a block of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from montechain.estimators.facts import Facts, ShownOrder, fitted_facts

__all__ = ["DisplayMixin", "facts_html", "fitted_html"]

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
        return super()._repr_html_inner() + fitted_html(self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle


LIGHT = "--ink:#1d2733;--faint:#5c6b7a;--paper:#fbfcfd;--line:#d5dde5;--pill:#e8f1f8;--edge:#b5cfe3;--bar:#3d86b8"
DARK = "--ink:#e4eaf0;--faint:#9fadba;--paper:#1a2027;--line:#37424d;--pill:#22384a;--edge:#39607f;--bar:#62a9d8"
STYLE = f"""
.montechain{{{LIGHT};color:var(--ink);background:var(--paper);border:1px solid var(--line);border-radius:8px;
 padding:12px 16px;margin:8px 0;max-width:960px;font:13px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}}
@media (prefers-color-scheme:dark){{.montechain{{{DARK}}}}}
[data-jp-theme-light="true"] .montechain,.vscode-light .montechain{{{LIGHT}}}
[data-jp-theme-light="false"] .montechain,.vscode-dark .montechain{{{DARK}}}
.montechain .title{{font-weight:600;margin:0 0 6px}}
.montechain .inner{{border-top:1px solid var(--line);margin-top:10px;padding-top:10px}}
.montechain .faint{{color:var(--faint)}}
.montechain ol{{list-style:none;display:flex;flex-wrap:wrap;gap:5px 0;margin:4px 0;padding:0}}
.montechain li{{display:flex;align-items:center;margin:0;padding:0;max-width:100%}}
.montechain li:not(:last-child)::after{{content:"\\2192";color:var(--faint);padding:0 5px}}
.montechain .label{{background:var(--pill);border:1px solid var(--edge);border-radius:10px;padding:0 8px;
 overflow-wrap:anywhere}}
.montechain .parents{{gap:5px 8px}}
.montechain .parents dt{{display:flex;justify-content:flex-end;align-items:center}}
.montechain .parents dt .label{{color:var(--ink)}}
.montechain .parents dd{{display:flex;flex-wrap:wrap;gap:4px;align-items:center}}
.montechain summary{{cursor:pointer}}
.montechain summary ol{{display:inline-flex;vertical-align:middle;max-width:calc(100% - 20px)}}
.montechain details[open]>summary ol,.montechain details:not([open])>summary .whole{{display:none}}
.montechain details{{margin:4px 0}}
.montechain dl{{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 14px;margin:8px 0 0}}
.montechain dt{{color:var(--faint);margin:0;font-weight:normal;overflow-wrap:anywhere}}
.montechain dd{{margin:0;overflow-wrap:anywhere}}
.montechain code{{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color:inherit;background:none}}
.montechain .orders{{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:6px 12px;align-items:start;
 margin:4px 0}}
.montechain .weight{{width:84px;padding-top:4px;font-variant-numeric:tabular-nums}}
.montechain .bar{{display:block;height:3px;border-radius:2px;background:var(--bar);min-width:2px}}
"""


def fitted_html(estimator: Any) -> str:
    """Return the block for an estimator; an empty text if there is nothing to show."""
    facts = fitted_facts(estimator)
    return "" if facts is None else facts_html(facts)


def facts_html(facts: Facts) -> str:
    """Return facts as a block of HTML that needs nothing else, for light and dark pages.

    Examples
    --------
    >>> html = facts_html(Facts("Fitted chain", [ShownOrder(["<b>", "a & b"])]))
    >>> "<b>" in html, "&lt;b&gt;" in html
    (False, True)
    """
    return f'<style>{STYLE}</style><div class="montechain">{_section(facts)}</div>'


def _section(facts: Facts) -> str:
    parts = [f'<div class="title">{escape(facts.title)}</div>']
    if any(order.weight is not None for order in facts.orders):
        parts.append(_weighted(facts.orders))
    else:
        parts += [_chain(order.labels) for order in facts.orders]
    if facts.search:
        parts.append(f'<div class="faint">{escape(facts.search)}</div>')
    if facts.seen:
        parts.append(_seen(facts))
    if facts.choices:
        rows = [f"<dt>{escape(name)}</dt><dd>{_value(value)}</dd>" for name, value in facts.choices]
        parts.append(f"<dl>{''.join(rows)}</dl>")
    if facts.inner is not None:
        parts.append(f'<div class="inner">{_section(facts.inner)}</div>')
    return "".join(parts)


def _chain(labels: Sequence[str]) -> str:
    """Return labels as a chain with arrows; only its beginning is seen at first if it is long."""
    if len(labels) <= LONG:
        return _arrows(labels)
    rest = f'<li><span class="faint">{len(labels) - FOLDED} more</span></li>'
    summary = f'{_arrows(labels[:FOLDED], rest)}<span class="whole faint">all {len(labels)} labels</span>'
    return f"<details><summary>{summary}</summary>{_arrows(labels)}</details>"


def _arrows(labels: Sequence[str], rest: str = "") -> str:
    return f"<ol>{''.join(f'<li>{_label(label)}</li>' for label in labels)}{rest}</ol>"


def _label(name: str) -> str:
    # A name may be written from right to left: it must not turn its neighbours round.
    return f'<bdi class="label">{escape(name)}</bdi>'


def _weighted(orders: Sequence[ShownOrder]) -> str:
    largest = max(order.weight or 0.0 for order in orders) or 1.0

    def row(order: ShownOrder) -> str:
        weight = order.weight or 0.0
        payoff = "" if order.payoff is None else f' title="payoff {order.payoff:.6g}"'
        bar = f'<span class="bar" style="width:{100 * weight / largest:.1f}%"></span>'
        return f'<div class="weight"{payoff}>{100 * weight:.1f} %{bar}</div><div>{_chain(order.labels)}</div>'

    first = f'<div class="orders">{"".join(map(row, orders[:SHOWN_ORDERS]))}</div>'
    others = orders[SHOWN_ORDERS:]
    if not others:
        return first
    share = sum(order.weight or 0.0 for order in others)
    summary = f"{len(others)} more, with {100 * share:.1f} % of the weight"
    return (
        f'{first}<details><summary class="faint">{summary}</summary>'
        f'<div class="orders">{"".join(map(row, others))}</div></details>'
    )


def _seen(facts: Facts) -> str:
    if facts.seen_says_all:
        return f'<div class="faint">{escape(facts.seen)}</div>'
    rows = []
    for label, parents in facts.parents:
        given = "".join(map(_label, parents)) or '<span class="faint">no other label</span>'
        rows.append(f"<dt>{_label(label)}</dt><dd><span>\N{LEFTWARDS ARROW}</span>{given}</dd>")
    state = "" if len(facts.parents) > LONG else " open"
    table = f'<dl class="parents">{"".join(rows)}</dl>'
    return f'<details{state}><summary class="faint">{escape(facts.seen)}</summary>{table}</details>'


def _value(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return f"<code>{escape(text)}</code>"
    return f'<code title="{escape(text)}">{escape(text[: MAX_TEXT - 1])}…</code>'
