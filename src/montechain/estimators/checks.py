"""Checks and small helpers of the estimators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np

from montechain._frames import is_frame

__all__ = ["advice", "check_count", "is_finite", "remembered", "unchanged_on_failure"]


def check_count(name: str, value: Any, example: int) -> None:
    """Raise an error that says what to type unless the value is a positive whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"`{name}={value!r}` must be a positive whole number, e.g. {name}={example}.")


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Keep what was learned before if a new fit fails half-way: classes and chains must belong together."""

    def learned() -> dict[str, Any]:
        return {name: value for name, value in vars(estimator).items() if name.endswith("_")}

    before = learned()
    try:
        yield
    except BaseException:
        for name in learned():
            delattr(estimator, name)
        estimator.__dict__.update(before)
        raise


def advice(X: Any, message: str) -> str:
    """Return what to type instead where X has missing values or text in it."""
    if "NaN" in message:
        return (
            " Use TableClassifier(ChainClassifier()), which fills in missing values, or links that accept them, such "
            "as ChainClassifier(HistGradientBoostingClassifier())."
        )
    if "could not convert string" not in message:
        return ""
    which = ""
    if is_frame(X):
        schema = nw.from_native(X, eager_only=True).schema
        which = f" (columns {[name for name, dtype in schema.items() if not dtype.is_numeric()]})"
    return (
        f"\n`X` holds text{which}. TableClassifier(ChainClassifier()) takes such tables. Or encode the text in the "
        "links, for example ChainClassifier(make_pipeline(make_column_transformer(("
        'OneHotEncoder(handle_unknown="ignore"), [...]), remainder="passthrough"), LogisticRegression())).'
    )


def is_finite(X: np.ndarray) -> bool:
    """Return whether all cells of an array of floats are finite; False also if a sum of huge cells overflows.

    >>> is_finite(np.array([[1.0, np.nan]])), is_finite(np.ones((2, 2)))
    (False, True)
    """
    # One pass without a mask: a sum is finite only if all of its terms are, and so is one of squares.
    with np.errstate(over="ignore", invalid="ignore"):
        if X.flags.c_contiguous:
            cells = X.reshape(-1)
            return math.isfinite(cells.dot(cells))
        return math.isfinite(np.add.reduce(X, axis=None))


_CACHE: WeakKeyDictionary[Any, dict[str, tuple[list[Any], Any]]] = WeakKeyDictionary()
"""What was made from an estimator's attributes. Not an attribute itself, so that it is neither saved nor compared."""


def remembered(owner: Any, name: str, sources: Sequence[Any], make: Callable[[list[Any]], Any]) -> Any:
    """Return ``make(sources)``, made anew only when one of the sources is another object than the last time."""
    own = _CACHE.setdefault(owner, {})
    entry = own.get(name)
    if entry is None or len(entry[0]) != len(sources) or not all(map(is_, entry[0], sources)):
        kept = list(sources)
        entry = own[name] = (kept, make(kept))
    return entry[1]
