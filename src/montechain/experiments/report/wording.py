"""How measures, data sets and numbers are written, on the page and in the tables alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "decimals_of",
    "fact",
    "in_words",
    "is_share",
    "is_time",
    "joined",
    "measure_title",
    "number",
    "payoff_title",
    "plural",
    "signed",
]

MEASURE_TITLES = {
    "exact_match_loss": "0/1 exact-match loss",
    "running_time_s": "Running time (s)",
    "build_time_s": "Build time (s)",
    "f1_instance": "F1 by instance",
    "f1_micro": "F1, micro-averaged",
    "f1_macro": "F1, macro-averaged",
}
PAYOFFS = {"J_EM_prod": "log J_EM-prod", "J_Ham_prod": "log J_Ham-prod"}


def measure_title(name: str) -> str:
    """Return how a measure is called in print.

    >>> measure_title("exact_match"), measure_title("build_time_s"), measure_title("J_EM on prediction")
    ('Exact match', 'Build time (s)', 'J_EM on prediction')
    """
    if name.startswith("J_"):  # a payoff is written as a formula is
        payoff, _, rest = name.partition(" ")
        return f"{payoff_title(payoff)} {rest}".strip()
    words = MEASURE_TITLES.get(name, name.replace("_", " "))
    return words[:1].upper() + words[1:]


def in_words(name: str) -> str:
    """Return how a measure is called within a sentence.

    >>> in_words("exact_match"), in_words("hamming_score"), in_words("f1_micro")
    ('exact match', 'Hamming score', 'F1, micro-averaged')
    """
    title = measure_title(name)
    return title if title.startswith(("Hamming", "Jaccard", "F1", "J_")) else title[:1].lower() + title[1:]


def payoff_title(name: str) -> str:
    """Return how a payoff is called in print.

    >>> payoff_title("J_EM_prod")
    'log J_EM-prod'
    """
    return PAYOFFS.get(name, name)


def is_time(measure: str) -> bool:
    """Whether a measure is a time, which is compared by its ratio and not by its difference.

    >>> is_time("running_time_s"), is_time("predict_seconds"), is_time("hamming_loss")
    (True, True, False)
    """
    return measure.endswith(("_s", "seconds", "_time"))


def is_share(measure: str) -> bool:
    """Whether a measure lies between 0 and 1, so that a difference of 0.03 means something.

    >>> is_share("exact_match"), is_share("J_EM on prediction"), is_share("build_time_s")
    (True, False, False)
    """
    return not is_time(measure) and not measure.startswith("J_")


def number(value: float, decimals: int | None = None) -> str:
    """Return a number as text, a dash if there is none; without `decimals`, with about three digits that count.

    >>> number(0.3312, 3), number(1234.5), number(12.34), number(-0.01234), number(float("nan"))
    ('0.331', '1,234', '12.3', '−0.012', '–')
    """
    if not math.isfinite(value):
        return "–"
    if decimals is None:
        decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{decimals}f}".replace("-", "−")


def signed(value: float, decimals: int = 3) -> str:
    """Return a difference with its sign, and no sign before a zero.

    >>> signed(0.0123), signed(-0.5), signed(-0.0001), signed(float("nan"))
    ('+0.012', '−0.500', '0.000', '')
    """
    if not math.isfinite(value):
        return ""
    text = f"{abs(value):.{decimals}f}"
    return text if float(text) == 0.0 else f"{'+' if value > 0 else '−'}{text}"


def decimals_of(values: Iterable[float], most: int = 4) -> int:
    """Return how many decimals figures were printed with, as far as it can be told.

    >>> decimals_of([0.77, 0.8, float("nan")]), decimals_of([11.0, 1347.0]), decimals_of([0.3386])
    (2, 0, 4)
    """
    texts = [f"{value:.{most}f}".rstrip("0") for value in values if math.isfinite(value)]
    return max((len(text.partition(".")[2]) for text in texts), default=0)


def joined(words: Sequence[str], most: int | None = None) -> str:
    """Return words as a list in a sentence; beyond `most`, only how many more there are.

    >>> joined(["A", "B", "C"]), joined(["A", "B"]), joined(["A", "B", "C"], most=1)
    ('A, B and C', 'A and B', 'A and 2 more')
    """
    words = list(words)
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1] if words else ""


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> plural(1, "figure"), plural(1200, "figure")
    ('1 figure', '1,200 figures')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def fact(value: Any) -> str:
    """Return something to know about a run as text.

    >>> fact({"numpy": "2.4", "cores": 2}), fact([True, None])
    ('numpy 2.4, cores 2', 'yes, None')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {fact(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(fact, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
