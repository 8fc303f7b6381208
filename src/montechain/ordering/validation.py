"""Which rows an order is learned from, and which ones it is judged by."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["hold_out", "split_rows"]

Rows = tuple[np.ndarray, np.ndarray]


def split_rows(validation: Any, X: Any, codes: np.ndarray, rng: np.random.Generator) -> list[Rows]:
    """Return pairs of row numbers, to learn from and to validate on.

    `validation` is the share of the rows to hold out, see `hold_out`; a scikit-learn splitter, which is given `codes`
    as its y; pairs of row numbers; or None for all rows in both parts.
    """
    everything = np.arange(len(codes))
    if validation is None:
        return [(everything, everything)]
    if isinstance(validation, Real) and not isinstance(validation, bool):
        if not 0.0 < float(validation) < 1.0:
            raise ValueError(
                f"`validation={validation!r}` must be a share of the rows between 0 and 1, e.g. 1/3; a splitter, e.g. "
                "KFold(3); or None for the training rows themselves."
            )
        return [hold_out(codes, float(validation), rng)]
    if hasattr(validation, "split") and not isinstance(validation, str):
        pairs = validation.split(X, codes)
    elif isinstance(validation, Iterable) and not isinstance(validation, str):
        pairs = validation
    else:
        raise TypeError(
            f"`validation={validation!r}` is not understood. Allowed are a share of the rows such as 1/3, a splitter "
            "such as KFold(3), or None for the training rows themselves."
        )
    folds = [(everything[train], everything[test]) for train, test in pairs]
    if not folds or any(len(train) == 0 or len(test) == 0 for train, test in folds):
        raise ValueError(f"`validation={validation!r}` leaves no rows to learn from or no rows to validate on.")
    return folds


def hold_out(codes: np.ndarray, share: float, rng: np.random.Generator) -> Rows:
    """Return the rows to learn from and, stratified by label set, the rows held out.

    The rows are sorted by label set, those of one set in random order, and every so many is taken. So each set has its
    share among the rows held out, up to one row, and rare sets fall together with those most alike. A class that
    would be missing among the rows to learn from gets one of its rows back.

    A single row, which cannot be split, is in both parts.

    Examples
    --------
    >>> codes = np.array([[0], [0], [0], [1], [1], [1]])
    >>> train, test = hold_out(codes, 1 / 3, np.random.default_rng(0))
    >>> np.bincount(codes[test, 0])
    array([1, 1])
    """
    n_rows = len(codes)
    if n_rows < 2:
        return np.arange(n_rows), np.arange(n_rows)
    n_held_out = min(max(round(share * n_rows), 1), n_rows - 1)
    shuffled = rng.permutation(n_rows)
    by_label_set = shuffled[np.lexsort(codes[shuffled].T[::-1])]
    places = np.floor((np.arange(n_held_out) + rng.random()) * (n_rows / n_held_out)).astype(np.intp)
    held_out = np.zeros(n_rows, dtype=bool)
    held_out[by_label_set[np.minimum(places, n_rows - 1)]] = True
    for label in codes.T:
        lacking = np.setdiff1d(label[held_out], label[~held_out])
        for code in lacking[lacking >= 0]:
            if held_out.sum() > 1:
                held_out[np.flatnonzero(held_out & (label == code))[0]] = False
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
