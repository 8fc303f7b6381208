"""The distinct values of a column: how they are found, sorted, compared and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "CODE",
    "UNKNOWN",
    "as_objects",
    "common_dtype",
    "equals",
    "factorise",
    "look_up",
    "natural_array",
    "plain",
    "same",
    "show_classes",
]

UNKNOWN = -1
"""The code of an unknown cell."""
CODE = np.int32
"""The type of codes."""
SMALL_RANGE = 65536
"""Whole numbers that span less than this are counted in a table instead of sorted."""
SHOWN = 12
"""At most so many classes are listed in an error."""


def factorise(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct values and, for each value, its place among them."""
    if values.dtype == object:
        cells = values.tolist()
        classes = natural_array(_sorted(list(dict.fromkeys(cells))))
        place = {value: code for code, value in enumerate(classes.tolist())}
        return classes, np.fromiter(map(place.__getitem__, cells), dtype=CODE, count=len(cells))
    if values.dtype.kind in "biuf" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < SMALL_RANGE and abs(low) < 2**53 and abs(high) < 2**53:
            shifted = values.astype(np.int64) - low
            present = np.bincount(shifted, minlength=high - low + 1) > 0
            code_of = (np.cumsum(present) - 1).astype(CODE)
            return (np.flatnonzero(present) + low).astype(values.dtype), code_of[shifted]
    classes, inverse = np.unique(values, return_inverse=True)
    return classes, inverse.astype(CODE).ravel()


def common_dtype(classes: Sequence[np.ndarray]) -> np.dtype:
    """Return the type that holds the classes of all columns without changing any; object if there is none."""
    kinds = {column_classes.dtype.kind for column_classes in classes}
    if kinds <= {"i", "u", "f"}:
        dtype = np.result_type(*(c.dtype for c in classes))
        exact = all((c.astype(dtype) == c).all() and (c.dtype.kind == dtype.kind or "f" in kinds) for c in classes)
        # int64 and uint64 have only floats in common.
        return dtype if exact and (dtype.kind != "f" or "f" in kinds) else np.dtype(object)
    if len(kinds) == 1 and kinds <= {"b", "U", "S", "M", "m"}:
        return np.result_type(*(c.dtype for c in classes))
    return np.dtype(object)


def show_classes(classes: np.ndarray) -> str:
    """Return the classes as the text of a list, shortened if there are many."""
    texts = [repr(value) for value in np.asarray(classes).tolist()]
    if len(texts) > SHOWN:
        texts = [*texts[:SHOWN], f"... ({len(texts)} in all)"]
    return "[" + ", ".join(texts) + "]"


def equals(values: np.ndarray, value: Any) -> np.ndarray:
    """Return where `values` equal `value`; values of another kind (a number and a text) never do."""
    kind = values.dtype.kind
    if kind == "O":
        return np.fromiter((same(cell, value) for cell in values.tolist()), dtype=bool, count=len(values))
    is_number = isinstance(value, bool | int | float | np.number | np.bool_)
    if (kind in "biuf" and is_number) or (kind == "U" and isinstance(value, str)):
        return values == value
    if (kind == "S" and isinstance(value, bytes)) or (kind in "Mm" and not is_number and not isinstance(value, str)):
        return values == value
    return np.zeros(len(values), dtype=bool)


def same(cell: Any, value: Any) -> bool:
    if isinstance(cell, str) != isinstance(value, str):
        return False
    try:
        return bool(cell == value)
    except (TypeError, ValueError):
        return False


def look_up(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each value among `classes`, -1 where it is not among them."""
    if len(values) == 0:
        return np.empty(0, dtype=CODE)
    numbers = values.dtype.kind in "biuf" and classes.dtype.kind in "biuf"
    if numbers or (values.dtype.kind == classes.dtype.kind and values.dtype.kind in "USMm"):
        order = np.argsort(classes)
        place = np.minimum(np.searchsorted(classes[order], values), len(classes) - 1)
        return np.where(classes[order][place] == values, order[place], UNKNOWN).astype(CODE)
    codes = {value: code for code, value in enumerate(classes.tolist())}
    return np.fromiter((codes.get(value, UNKNOWN) for value in values.tolist()), dtype=CODE, count=len(values))


def _sorted(distinct: list[Any]) -> list[Any]:
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=lambda value: (type(value).__name__, str(value)))


def natural_array(distinct: list[Any]) -> np.ndarray:
    # numpy's fixed-width texts drop zero characters at their end.
    if all(isinstance(value, str) and not value.endswith("\0") for value in distinct):
        return np.array(distinct, dtype=str)
    return as_objects(distinct)


def as_objects(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Return plain Python values in an object array, whatever they are."""
    plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
    result = np.empty(len(plain), dtype=object)
    for i, value in enumerate(plain):
        result[i] = value
    return result


def plain(value: Any) -> Any:
    """Return a scalar of numpy as one of Python, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
