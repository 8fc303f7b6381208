"""Orders that need no search: as the labels stand, as the user says, or at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from montechain._messages import nearest

__all__ = ["check_order"]

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
    if not isinstance(order, Sequence | np.ndarray):
        if isinstance(order, type):
            raise TypeError(f"`order` is the class {order.__name__}: pass an instance, {order.__name__}().")
        raise TypeError(f"`order={order!r}` is of type {type(order).__name__}. Allowed are {ALLOWED}.")
    given = list(order)
    position = {} if names is None else {name: label for label, name in enumerate(names)}
    labels: list[Any] = [position.get(label, label) if isinstance(label, Hashable) else label for label in given]
    whole = [label for label in labels if isinstance(label, int | np.integer) and not isinstance(label, bool)]
    if len(whole) < len(labels):
        strange = next(label for label in labels if label not in whole)
        known = "" if names is None else f" or names out of {list(names)}"
        raise ValueError(f"`order` holds {strange!r}: allowed are the numbers 0 to {n_labels - 1}{known}.")
    counts = Counter(int(label) for label in labels)
    if sorted(counts) != list(range(n_labels)) or len(labels) != n_labels:
        faults = [
            (sorted(set(range(n_labels)) - set(counts)), "missing"),
            (sorted(label for label, count in counts.items() if count > 1), "repeated"),
            (sorted(set(counts) - set(range(n_labels))), "out of range"),
        ]
        what = ", ".join(
            f"{', '.join(map(str, those))} {'is' if len(those) == 1 else 'are'} {fault}"
            for those, fault in faults
            if those
        )
        shown = [label.item() if isinstance(label, np.generic) else label for label in given]
        raise ValueError(f"`order={shown}` is not a permutation of {n_labels} labels: {what}.")
    return [int(label) for label in labels], True
