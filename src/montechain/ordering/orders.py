"""Label orders and the parameters of searches: checked, compared, and the best orders found."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from montechain._messages import nearest

__all__ = ["Order", "SearchResult", "check_order", "check_positive_number", "comparable", "named"]

Order = tuple[int, ...]
"""The label at each position."""
ALLOWED = (
    "None (as the labels stand in y), 'random', a permutation of the labels such as [2, 0, 1], or a search such as "
    "OrderSearch(n_iterations=50)"
)


def check_order(
    order: Any, n_labels: int, *, names: Sequence[Any] | None = None, rng: np.random.Generator
) -> tuple[list[int], bool]:
    """Return the order as label numbers, and whether the user asked for just this one.

    Parameters
    ----------
    order : None, "random" or a sequence
        None: as the labels stand in y. A sequence: a permutation of the labels, by number or by name.
    n_labels : int
    names : sequence, optional
        Names of the labels.
    rng : numpy.random.Generator

    Examples
    --------
    >>> check_order([2, 0, 1], 3, rng=np.random.default_rng(0))
    ([2, 0, 1], True)
    """
    if order is None:
        return list(range(n_labels)), False
    if isinstance(order, str):
        if order != "random":
            raise ValueError(
                f"`order={order!r}` is not known{nearest(order, ['random']) or '.'} Allowed are {ALLOWED}."
            )
        return [int(label) for label in rng.permutation(n_labels)], False
    if isinstance(order, type):
        raise TypeError(f"`order` is the class {order.__name__}: pass an instance, {order.__name__}().")
    if not isinstance(order, Sequence | np.ndarray):
        raise TypeError(f"`order={order!r}` is of type {type(order).__name__}. Allowed are {ALLOWED}.")
    given = list(order)
    position = {} if names is None else {name: label for label, name in enumerate(names)}
    labels: list[Any] = [position.get(label, label) if isinstance(label, Hashable) else label for label in given]
    for label in labels:
        if not isinstance(label, int | np.integer) or isinstance(label, bool):
            known = "" if names is None else f" or names out of {list(names)}"
            raise ValueError(f"`order` holds {label!r}: allowed are the numbers 0 to {n_labels - 1}{known}.")
    counts, allowed = Counter(int(label) for label in labels), set(range(n_labels))
    faults = {
        "missing": allowed - set(counts),
        "repeated": {label for label, count in counts.items() if count > 1},
        "out of range": set(counts) - allowed,
    }
    if any(faults.values()):
        what = ", ".join(
            f"{', '.join(map(str, sorted(those)))} {'is' if len(those) == 1 else 'are'} {fault}"
            for fault, those in faults.items()
            if those
        )
        shown = [label.item() if isinstance(label, np.generic) else label for label in given]
        raise ValueError(f"`order={shown}` is not a permutation of {n_labels} labels: {what}.")
    return [int(label) for label in labels], True


@dataclass(frozen=True)
class SearchResult:
    """The orders found, best first.

    Attributes
    ----------
    orders : list of tuples of int
        At most as many as `keep` of the finder says; all different.
    payoffs : list of float
        The payoff of each.
    trace : list of dict
        What happened on the way, one dict per step; ``pandas.DataFrame(trace)`` is a table. All have the keys
        ``iteration``, ``order``, ``payoff`` and ``n_links_fitted``.
    logarithmic : bool or None
        Whether `payoffs` are logarithms. None: they are what the evaluator's ``payoff`` returned.
    """

    orders: list[Order]
    payoffs: list[float]
    trace: list[dict[str, Any]] = field(default_factory=list, repr=False)
    logarithmic: bool | None = None

    @classmethod
    def best_of(
        cls,
        payoffs: Mapping[Order, float],
        keep: int,
        *,
        trace: Iterable[dict[str, Any]] = (),
        logarithmic: bool | None = None,
    ) -> SearchResult:
        """Return the `keep` orders of largest payoff; of equal ones, those that come first in `payoffs`.

        If there are fewer orders, fewer are kept, with a warning.

        Examples
        --------
        >>> SearchResult.best_of({(0, 1): 0.3, (1, 0): 0.5}, keep=1)
        SearchResult(orders=[(1, 0)], payoffs=[0.5], logarithmic=None)
        """
        orders = sorted(payoffs, key=lambda order: comparable(payoffs[order]), reverse=True)[:keep]
        if len(orders) < keep:
            found = "1 order was" if len(orders) == 1 else f"{len(orders)} different orders were"
            warnings.warn(
                f"`keep={keep}`, but only {found} found. For more, raise n_iterations or n_restarts, or admit rejected "
                'candidates with pool="evaluated".',
                stacklevel=3,
            )
        return cls(orders, [payoffs[order] for order in orders], list(trace), logarithmic)


def comparable(payoff: float) -> float:
    """Return a payoff as it is compared: one that is not a number is worse than any other."""
    return -math.inf if math.isnan(payoff) else float(payoff)


def named(parameter: str, given: Any, kind: type, by_name: Mapping[str, Any], example: str) -> Any:
    """Return an instance of `kind`: the given one, or the one of this name with its default parameters."""
    if isinstance(given, kind):
        return given
    if isinstance(given, str) and given in by_name:
        return by_name[given]()
    hint = (nearest(given, by_name) if isinstance(given, str) else "") or "."
    raise ValueError(
        f"`{parameter}={given!r}` is not known{hint} Allowed are {', '.join(map(repr, by_name))}, or {example}."
    )


def check_positive_number(owner: Any, name: str, example: float, otherwise: str) -> float:
    """Return the parameter `name` of `owner`, or say what to type instead."""
    value, kind = getattr(owner, name), type(owner).__name__
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < value < math.inf:  # type: ignore[operator]
        raise ValueError(
            f"`{name}={value!r}` of {kind} must be a positive number, e.g. {kind}({name}={example}). {otherwise}"
        )
    return float(value)
