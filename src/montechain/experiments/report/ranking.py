"""Average ranks, ours and the paper's, with what Nemenyi's test says about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from montechain.experiments.paper.figures import published_figures
from montechain.experiments.reproduction import Reproduction
from montechain.experiments.statistics import nemenyi_from_ranks

__all__ = ["Ranking", "rankings"]


@dataclass(frozen=True)
class Ranking:
    """The ranks of one measure.

    Attributes
    ----------
    measure : str
    ranks : dict
        Our average ranks, as in the paper: ties share the best rank.
    tested : dict
        Those that were tested: ties averaged, over the data sets on which all methods finished.
    critical_difference : float
        NaN if it is not known.
    groups : list of tuples
        Methods that do not differ.
    published : dict
        The paper's average ranks, empty if it has none.
    published_critical_difference : float
    published_groups : list of tuples
    tests : dict
        What else was tested, for whom it may concern.
    """

    measure: str
    ranks: dict[str, float]
    tested: dict[str, float]
    critical_difference: float
    groups: list[tuple[str, ...]]
    published: dict[str, float]
    published_critical_difference: float
    published_groups: list[tuple[str, ...]]
    tests: dict[str, Any]


def rankings(reproduction: Reproduction) -> list[Ranking]:
    """Return the ranks of every measure that was tested."""
    found = []
    for measure, tests in reproduction.statistics.items():
        ranks = _numbers(tests.get("average_ranks"))
        if not ranks:
            continue
        nemenyi = tests.get("nemenyi") or {}
        distance: Any = nemenyi.get("critical_difference")
        published = _numbers(tests.get("published_average_ranks"))
        n_printed = len({figure.dataset for figure in published_figures() if figure.measure == measure})
        before = nemenyi_from_ranks(published, n_printed) if len(published) > 1 and n_printed > 1 else None
        found.append(
            Ranking(
                measure,
                ranks,
                _numbers(nemenyi.get("average_ranks")) or ranks,
                distance if _is_number(distance) else math.nan,
                [tuple(map(str, group)) for group in nemenyi.get("groups") or ()],
                published,
                math.nan if before is None else before.critical_difference,
                [] if before is None else [tuple(map(str, group)) for group in before.groups],
                tests,
            )
        )
    return found


def _numbers(ranks: Mapping[str, Any] | None) -> dict[str, float]:
    return {str(name): float(rank) for name, rank in (ranks or {}).items() if _is_number(rank)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
