"""What a notebook shows of a fitted estimator below scikit-learn's diagram: orders, parents, choices.

The facts are gathered first (`fitted_facts`) and then written as a self-contained block of HTML (`facts_html`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = ["DisplayMixin", "Facts", "ShownOrder", "facts_html", "fitted_facts"]

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


@dataclass(frozen=True)
class ShownOrder:
    """An order by the names of its labels, with its weight in a population and the payoff that a search gave it."""

    labels: list[str]
    weight: float | None = None
    payoff: float | None = None


@dataclass(frozen=True)
class Facts:
    """What there is to show.

    Attributes
    ----------
    title : str
    orders : list of ShownOrder
    seen : str
        Which labels a link sees, in words.
    parents : list of pairs
        Each label with its parents, in the order of the chain; empty if `seen` says it all.
    choices : list of pairs
        Name and value of parameters worth knowing.
    search : str
        How the search of orders went; empty if there was none.
    inner : Facts, optional
        Those of the classifier within.
    """

    title: str
    orders: list[ShownOrder] = field(default_factory=list)
    seen: str = ""
    parents: list[tuple[str, list[str]]] = field(default_factory=list)
    choices: list[tuple[str, str]] = field(default_factory=list)
    search: str = ""
    inner: Facts | None = None


# -- gathering ----------------------------------------------------------------------------------


def fitted_facts(estimator: Any) -> Facts | None:
    """Return what there is to show of an estimator, None if it is not fitted or has no order.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    >>> facts = fitted_facts(ChainClassifier(order=[2, 0, 1]).fit(X, Y))
    >>> facts.orders[0].labels, facts.seen
    (['label 2', 'label 0', 'label 1'], 'each label sees all labels before it')
    """
    if hasattr(estimator, "classifier_") and hasattr(estimator, "encoder_"):
        return _of_table(estimator)
    if hasattr(estimator, "chain_"):
        return _of_chain(estimator)
    if hasattr(estimator, "population_"):
        return _of_population(estimator)
    return None


def _of_chain(estimator: Any) -> Facts:
    names = _label_names(estimator)
    order = [int(label) for label in estimator.order_]
    payoffs = _payoffs(estimator)
    seen, parents = _parents(order, estimator.parents_, names)
    payoff = payoffs.get(tuple(order))
    n_labels = f"{len(order)} label{'s' if len(order) > 1 else ''}"
    return Facts(
        f"Fitted chain of {n_labels}",
        [ShownOrder([names[label] for label in order], payoff=payoff)],
        seen,
        parents,
        _choices(estimator, ["loss", "inference"]),
        _search(estimator, max(payoffs.values()) if payoff is None and payoffs else payoff),
    )


def _of_population(estimator: Any) -> Facts:
    names = _label_names(estimator)
    payoffs = _payoffs(estimator)
    weighted = zip(estimator.orders_.tolist(), estimator.weights_.tolist(), strict=True)
    orders = [ShownOrder([names[j] for j in order], weight, payoffs.get(tuple(order))) for order, weight in weighted]
    orders.sort(key=lambda order: -(order.weight or 0.0))
    n_orders = f"{len(orders)} chain{'s' if len(orders) > 1 else ''}"
    return Facts(
        f"Fitted population of {n_orders} of {len(names)} labels",
        orders,
        choices=_choices(estimator, ["combine", "loss", "inference", "parents"]),
        search=_search(estimator, max(payoffs.values(), default=None)),
    )


def _of_table(estimator: Any) -> Facts:
    encoder, choices = estimator.encoder_, []
    if hasattr(encoder, "columns_"):
        kinds = Counter(column.kind for column in encoder.columns_)
        inputs = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        choices = [
            ("inputs", inputs),
            ("as numbers", f"{len(encoder.get_feature_names_out())} columns"),
            *(("note", note) for note in encoder.notes_),
        ]
    return Facts("Fitted to a table", choices=choices, inner=fitted_facts(estimator.classifier_))


def _label_names(estimator: Any) -> list[str]:
    n_labels = len(estimator.classes_) if isinstance(estimator.classes_, list) else 1
    names = getattr(estimator, "target_names_", None) or [None] * n_labels
    return [f"label {j}" if name is None else str(name) for j, name in enumerate(names)]


def _parents(
    order: Sequence[int], parents: Sequence[Iterable[int]], names: Sequence[str]
) -> tuple[str, list[tuple[str, list[str]]]]:
    """Return in words what the links see, and label by label where words do not say it."""
    own = [set(parents[label]) for label in order]
    if all(seen == set(order[:k]) for k, seen in enumerate(own)):
        return "each label sees all labels before it", []
    if not any(own):
        return "no label sees another", []
    place = {label: k for k, label in enumerate(order)}
    table = [
        (names[label], [names[j] for j in sorted(seen, key=place.__getitem__)])
        for label, seen in zip(order, own, strict=True)
    ]
    most = max(map(len, own))
    return f"each label sees at most {most} of those before it", table


def _choices(estimator: Any, parameters: Sequence[str]) -> list[tuple[str, str]]:
    links = getattr(estimator, "estimator", None)
    shown = [("links", "LogisticLink()" if links is None else _text(links))]
    return shown + [(name, _text(getattr(estimator, name))) for name in parameters]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(repr(value).split())


def _payoffs(estimator: Any) -> dict[tuple[int, ...], float]:
    """Return the payoff of each order that a search evaluated."""
    payoffs: dict[tuple[int, ...], float] = {}
    for row in getattr(estimator, "search_trace_", ()):
        for order, payoff in (("candidate", "candidate_payoff"), ("order", "payoff")):
            if order in row:
                payoffs[tuple(row[order])] = float(row[payoff])
    return payoffs


def _search(estimator: Any, reached: float | None) -> str:
    trace = getattr(estimator, "search_trace_", None)
    if not trace or reached is None:
        return ""
    name = getattr(estimator.order, "payoff", None)
    what = name if isinstance(name, str) else "payoff"
    steps = f"{len(trace)} steps of {type(estimator.order).__name__}"
    return f"{what} {reached:.6g} reached in {steps}, from {float(trace[0]['payoff']):.6g} at the first"


# -- writing ------------------------------------------------------------------------------------

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
    if not facts.parents:
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
