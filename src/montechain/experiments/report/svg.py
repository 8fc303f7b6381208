"""Drawing without a library: elements as text, scales and ticks. Colours come from the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from montechain.experiments.report.markup import element

__all__ = ["Scale", "linear", "linear_ticks", "logarithmic", "logarithmic_ticks", "picture", "text", "tick_text"]

Scale = Callable[[float], float]
"""From a number to a place in the picture."""


def text(x: float, y: float, words: str, **attributes: str | float | None) -> str:
    """Return words at a place, escaped.

    >>> text(1, 2, "<b>")
    '<text x="1" y="2">&lt;b&gt;</text>'
    """
    return element("text", escape(words), x=x, y=y, **attributes)


def picture(width: float, height: float, label: str, *children: str, class_: str = "chart") -> str:
    """Return a whole picture that scales with its box; `label` is what is read aloud."""
    return element(
        "svg", element("title", escape(label)), *children,
        viewBox=f"0 0 {width:.6g} {height:.6g}", width=width, height=height, class_=class_, role="img",
    )  # fmt: skip


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """Return the scale that takes `low` to `start` and `high` to `end`.

    >>> linear(0, 10, 100, 200)(5)
    150.0
    """
    return lambda value: start + (value - low) / (high - low) * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """Return the logarithmic scale that takes `low` to `start` and `high` to `end`.

    >>> round(logarithmic(1, 100, 0, 10)(10), 9)
    5.0
    """
    inner = linear(math.log(low), math.log(high), start, end)
    return lambda value: inner(math.log(value))


def linear_ticks(values: Sequence[float], about: int = 5) -> list[float]:
    """Return round numbers from just below the least value to just above the greatest.

    >>> linear_ticks([0.12, 0.47])
    [0.1, 0.2, 0.3, 0.4, 0.5]
    >>> linear_ticks([3.0])
    [2.0, 2.5, 3.0, 3.5, 4.0]
    """
    low, high = min(values), max(values)
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
        pad = abs(low) / 3.0 or 1.0
        low, high = low - pad, high + pad
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def logarithmic_ticks(values: Sequence[float]) -> list[float]:
    """Return powers of ten from just below the least value to just above the greatest.

    >>> logarithmic_ticks([0.3, 42])
    [0.1, 1.0, 10.0, 100.0]
    """
    first = math.floor(math.log10(min(values)) + 1e-9)
    last = max(math.ceil(math.log10(max(values)) - 1e-9), first + 1)
    return [10.0**i for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """Return the words at a tick.

    >>> tick_text(0.1), tick_text(1000.0), tick_text(-1080.0), tick_text(100000.0)
    ('0.1', '1,000', '−1,080', '100,000')
    """
    written = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.0e}"
    return written.replace("-", "−")
