"""From columns to codes 0..K-1 and back to the user's classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from montechain._targets.table import TargetFormat, TargetTable
from montechain._targets.values import (
    CODE,
    UNKNOWN,
    as_objects,
    common_dtype,
    factorise,
    look_up,
    plain,
    show_classes,
)

__all__ = ["Decoder", "decode", "encode", "refuse_unknown"]


def encode(table: TargetTable, classes: Sequence[np.ndarray] | None = None) -> tuple[np.ndarray, list[np.ndarray]]:
    """Turn the columns of a table into codes.

    Parameters
    ----------
    table : TargetTable
    classes : sequence of L arrays, optional
        The classes of each column, which the codes refer to. Without it they are the sorted distinct
        known values of each column; values that cannot be compared are sorted by the name of their
        type, then by their text.

    Returns
    -------
    codes : int32 ndarray of shape (n, L)
        `UNKNOWN` (-1) where a cell is not known.
    classes : list of L ndarrays

    Raises
    ------
    ValueError
        If a value is not among `classes`, or, without `classes`, if a column has no known value.

    Examples
    --------
    >>> from montechain._targets import as_columns
    >>> codes, classes = encode(as_columns([["no", 2], ["yes", 7], [None, 2]]))
    >>> codes.tolist()
    [[0, 0], [1, 1], [-1, 0]]
    >>> [c.tolist() for c in classes]
    [['no', 'yes'], [2, 7]]
    """
    n_rows, n_columns = table.shape
    if classes is not None and len(classes) != n_columns:
        raise ValueError(f"{table.name} has {n_columns} columns, but there are {len(classes)} labels.")
    codes = np.full((n_rows, n_columns), UNKNOWN, dtype=CODE)
    found = []
    for j, column in enumerate(table.columns):
        known = table.known[:, j]
        complete = bool(known.all())
        values = column if complete else column[known]
        if classes is None:
            if len(values) == 0:
                raise ValueError(f"{table.describe(j)} is all unknown: it has no value to learn from.")
            column_classes, column_codes = factorise(values)
        else:
            column_classes = np.asarray(classes[j])
            column_codes = look_up(values, column_classes)
            if (column_codes < 0).any():
                unseen = values[np.argmax(column_codes < 0)]
                raise ValueError(
                    f"{table.describe(j)} holds {plain(unseen)!r}, which is not one of its classes: "
                    f"{show_classes(column_classes)}."
                )
        if complete:
            codes[:, j] = column_codes
        else:
            codes[known, j] = column_codes
        found.append(column_classes)
    return codes, found


def decode(codes: np.ndarray, classes: Sequence[np.ndarray], like: TargetFormat | None = None) -> np.ndarray:
    """Turn codes into an array of the user's classes.

    Parameters
    ----------
    codes : int ndarray of shape (n, L)
    classes : sequence of L arrays
    like : TargetFormat or TargetTable, optional
        If its `is_1d` is true, the result has shape (n,).

    Returns
    -------
    ndarray of shape (n, L) or (n,)
        Of one common type if all columns are whole numbers, numbers, strings or booleans; an object
        array of plain Python values otherwise. Every value equals the class it stands for.

    Examples
    --------
    >>> decode(np.array([[0, 1], [1, 0]]), [np.array([3, 5]), np.array([0, 1])])
    array([[3, 1],
           [5, 0]])
    """
    return Decoder(classes)(codes, is_1d=like is not None and like.is_1d)


class Decoder:
    """Turns codes into the user's classes, as `decode` does; what depends on the classes only is done once.

    Parameters
    ----------
    classes : sequence of L arrays

    Examples
    --------
    >>> Decoder([np.array(["no", "yes"])] * 2)(np.array([[0, 1], [1, 0]]))
    array([['no', 'yes'],
           ['yes', 'no']], dtype='<U3')
    """

    def __init__(self, classes: Sequence[np.ndarray]):
        self.classes = classes
        first = classes[0]
        # The commonest case: labels that are alike in all columns are one look-up,
        self.is_alike = first.dtype.kind != "O" and all(c is first or _are_equal(c, first) for c in classes)
        # and whole numbers from zero on are codes already.
        self.is_code = self.is_alike and first.dtype.kind in "iu" and bool((first == np.arange(len(first))).all())
        self.dtype = first.dtype if self.is_alike else common_dtype(classes)
        if not self.is_alike and self.dtype.kind == "O":
            self.classes = [as_objects(column_classes) for column_classes in classes]

    def __call__(self, codes: np.ndarray, *, is_1d: bool = False) -> np.ndarray:
        """Return the classes of `codes`, of shape (n, L); of shape (n,) if `is_1d`."""
        codes = np.asarray(codes)
        refuse_unknown(codes)
        if self.is_code:
            values = codes.astype(self.dtype)
        elif self.is_alike:
            values = self.classes[0][codes]
        else:
            values = np.empty(codes.shape, dtype=self.dtype)
            for j, column_classes in enumerate(self.classes):
                values[:, j] = column_classes[codes[:, j]]
        return values[:, 0] if is_1d else values


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and len(one) == len(other) and bool((one == other).all())


def refuse_unknown(codes: np.ndarray) -> None:
    if codes.size and codes.min() < 0:
        raise ValueError("an unknown code (-1) stands for no class and cannot be decoded.")
