"""Which class of a label means "not relevant"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from montechain._targets.values import plain, same, show_classes

__all__ = ["resolve_negative"]


def resolve_negative(
    classes: Sequence[np.ndarray], negative: Any, *, hint: str = "negative={}", complete: bool = True
) -> list[int]:
    """Return, for each label, the code of the class that means "not relevant"; -1 where there is none.

    Parameters
    ----------
    classes : sequence of L arrays
        The classes of each label, sorted.
    negative : None, scalar or sequence of L scalars
        None: the first class of a label with two; of a label with one class, that class if it is
        negative by nature (a number not above zero, or one of the texts "0", "false", "no", "none"
        in any case); a label with more classes asks for it.
        A scalar: this class, wherever a label has it; a label with at most two classes that has it not
        takes the one that is negative by nature.
        A sequence: one class for each label; None in it stands for what None alone would mean.
    hint : str
        How to pass the argument, for errors; ``{}`` stands for its value.
    complete : bool
        Whether `classes` are all classes there are. If False (only those seen in some rows), a class
        that is not among them is no error: then all that were seen are relevant.

    Raises
    ------
    ValueError
        If a label has no negative class by these rules.

    Examples
    --------
    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], "none")
    [0, 0]
    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], None)
    Traceback (most recent call last):
        ...
    ValueError: label 1 has 3 classes, ['none', 'red', 'tan']: say which of them means "not relevant", ...
    """
    one_each = isinstance(negative, list | tuple | np.ndarray) and np.ndim(negative) == 1
    if one_each and len(negative) != len(classes):
        raise ValueError(f"{hint.format(negative)} names {len(negative)} classes, but there are {len(classes)} labels.")
    wanted = list(negative) if one_each else [negative] * len(classes)
    found = [
        next((code for code, value in enumerate(c.tolist()) if w is not None and same(value, w)), -1)
        for c, w in zip(classes, wanted, strict=True)
    ]
    if complete and not one_each and negative is not None and max(found, default=-1) < 0:
        raise ValueError(f"{hint.format(repr(plain(negative)))}: no label has this class.")
    for label, column_classes in enumerate(classes):
        if found[label] >= 0:
            continue
        wants, n_classes = wanted[label], len(column_classes)
        by_nature = [code for code, value in enumerate(column_classes.tolist()) if _is_negative_by_nature(value)]
        if wants is None and n_classes == 2:
            found[label] = 0
        elif wants is None and n_classes > 2:
            example = repr(plain(column_classes[0]))
            raise ValueError(
                f"label {label} has {n_classes} classes, {show_classes(column_classes)}: say which of them means "
                f'"not relevant", for example {hint.format(example)}, or one class per label in a list.'
            )
        elif (wants is None or not one_each) and n_classes <= 2 and len(by_nature) == 1:
            found[label] = by_nature[0]
        elif wants is not None and n_classes > 1 and complete:
            raise ValueError(
                f"label {label} has no class {plain(wants)!r}: its classes are {show_classes(column_classes)}. "
                f"Give one negative class per label: {hint.format('[...]')}."
            )
    return found


def _is_negative_by_nature(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in ("0", "false", "no", "none")
    return isinstance(value, bool | int | float) and value <= 0
