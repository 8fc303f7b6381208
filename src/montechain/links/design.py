"""The inputs of a link: x, and its parents' classes as columns beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from montechain._frames import is_frame

__all__ = [
    "ParentLayout",
    "as_matrix",
    "augment",
    "canonical",
    "column_extremes",
    "n_columns",
    "name_labels",
    "parent_columns",
    "parent_names",
    "ranges",
    "rescaled",
    "split_effects",
]

LARGE = 2.0**40
"""Columns with entries above this are rescaled before a link is learned."""


def n_columns(n_classes: int) -> int:
    """Return how many columns a parent with `n_classes` classes has."""
    return {1: 0, 2: 1}.get(n_classes, n_classes)


def canonical(X: Any) -> Any:
    """Return a sparse `X` as CSR with sorted indices and no duplicates; anything else as it is.

    The caller's matrix is never changed.
    """
    if not sp.issparse(X):
        return X
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rescaled(X: Any) -> tuple[Any, np.ndarray]:
    """Return X, with very large columns divided by powers of two, and the exponents of these powers.

    Squares and sums of such columns would overflow. Division by a power of two is exact.

    Parameters
    ----------
    X : ndarray or CSR container of shape (n, D)

    Examples
    --------
    >>> rescaled(np.array([[1.0, 1e200], [2.0, -3e200]]))[1]
    array([  0, 666], dtype=int32)
    """
    values = X.data if sp.issparse(X) else X
    if max(values.max(initial=0.0), -values.min(initial=0.0)) <= LARGE:
        return X, np.zeros(X.shape[1], dtype=np.int32)
    smallest, largest = column_extremes(X)
    largest = np.maximum(largest, -smallest)
    exponent = np.where(largest > LARGE, np.frexp(largest)[1], 0)
    if sp.issparse(X):
        X = X.astype(np.float64)
        X.data = np.ldexp(X.data, -exponent[X.indices])
        return X, exponent
    return np.ldexp(X.astype(np.float64), -exponent), exponent


def name_labels(labels: Iterable[Any], n_most: int = 5) -> str:
    """Return labels as a list for messages, the first few of them if there are many."""
    names = [repr(label) for label in dict.fromkeys(labels)]
    more = f" and {len(names) - n_most} more" if len(names) > n_most else ""
    return ("label " if len(names) == 1 else "labels ") + ", ".join(names[:n_most]) + more


def column_extremes(X: Any) -> np.ndarray:
    """Return the smallest and the largest entry of each column, as two rows."""
    found = [X.min(axis=0), X.max(axis=0)]
    return np.array([f.toarray().ravel() if sp.issparse(f) else f for f in found], dtype=np.float64)


def as_matrix(X: Any) -> Any:
    """Return `X` as a numpy array or a CSR container of numbers, ready for a matrix product."""
    if sp.issparse(X):
        return X.tocsr()
    if is_frame(X):
        # Arrays are checked where they come in. What a frame may hold, only its classifier knows; one whose
        # coefficients are taken apart is linear, and takes numbers only.
        values = nw.from_native(X, eager_only=True).to_numpy()
        return check_array(values, dtype=[np.float64, np.float32], input_name="X")
    return np.asarray(X)


def parent_columns(parent_codes: np.ndarray, parents_n_classes: Sequence[int], dtype: Any = np.float64) -> np.ndarray:
    """Return the parents' classes as 0/1 columns: one for a binary parent, else one for each class.

    A parent with a single class tells nothing and has no column.
    """
    if all(n_classes == 2 for n_classes in parents_n_classes):
        return (parent_codes == 1).astype(dtype, copy=False)
    blocks = [np.empty((len(parent_codes), 0), dtype=dtype)]
    for codes, n_classes in zip(parent_codes.T, parents_n_classes, strict=True):
        if n_classes == 2:
            blocks.append((codes == 1).astype(dtype)[:, None])
        elif n_classes > 2:
            blocks.append((codes[:, None] == np.arange(n_classes)).astype(dtype))
    return np.hstack(blocks)


class ParentLayout:
    """Where the columns of each parent stand among those of several parents.

    Parameters
    ----------
    parents : sequence of int
        Labels, in the order of their columns.
    n_classes : sequence of int
        Number of classes of every label.

    Examples
    --------
    >>> layout = ParentLayout([0, 2, 3], n_classes=[2, 2, 3, 2])
    >>> layout.width, layout.columns([2, 0])
    (5, array([1, 2, 3, 0]))
    """

    def __init__(self, parents: Sequence[int], n_classes: Sequence[int]):
        self.parents = list(parents)
        self._widths = np.zeros(len(n_classes), dtype=np.int64)
        self._widths[self.parents] = [n_columns(n_classes[j]) for j in self.parents]
        self._first = np.zeros(len(n_classes), dtype=np.int64)
        self._first[self.parents] = np.cumsum(self._widths[self.parents]) - self._widths[self.parents]
        self.width = int(self._widths.sum())

    def columns(self, parents: Sequence[int]) -> np.ndarray:
        """Return the columns of some of the parents, one parent after the other."""
        labels = np.asarray(parents, dtype=np.int64)
        return ranges(self._first[labels], self._widths[labels])


def ranges(first: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return the numbers ``first[i], ..., first[i] + widths[i] - 1`` for all i, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    if len(widths) == 0 or (widths.max() == 1 and widths.min() == 1):
        return first
    before = np.cumsum(widths) - widths
    return np.repeat(first - before, widths) + np.arange(widths.sum())


def split_effects(rows: np.ndarray, parents_n_classes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return what each class of each parent adds to the scores.

    `rows` holds the coefficients of the columns of `parent_columns`, one row per column.
    """
    if all(n_classes == 2 for n_classes in parents_n_classes):
        block = np.zeros((len(parents_n_classes), 2, rows.shape[1]))
        block[:, 1] = rows
        return tuple(block)
    effects = []
    start = 0
    for n_classes in parents_n_classes:
        block = np.zeros((n_classes, rows.shape[1]))
        if n_classes == 2:
            block[1] = rows[start]
        elif n_classes > 2:
            block[:] = rows[start : start + n_classes]
        start += n_columns(n_classes)
        effects.append(block)
    return tuple(effects)


def parent_names(X: Any, names: Sequence[Any], parents_n_classes: Sequence[int]) -> list[Any]:
    """Return names for the columns of `parent_columns` that do not clash with the columns of the frame `X`."""
    taken = set(X.columns)
    if taken and not any(isinstance(name, str) for name in taken):
        # scikit-learn ignores names that are not strings, but refuses a mixture of both kinds.
        width = sum(map(n_columns, parents_n_classes))
        first = max((name for name in taken if isinstance(name, int)), default=len(taken)) + 1
        return list(range(first, first + width))
    wanted = []
    for name, n_classes in zip(names, parents_n_classes, strict=True):
        if n_classes == 2:
            wanted.append(str(name))
        elif n_classes > 2:
            wanted.extend(f"{name}={code}" for code in range(n_classes))
    for i, name in enumerate(wanted):
        while name in taken:
            name += "_"
        wanted[i] = name
        taken.add(name)
    return wanted


def augment(X: Any, columns: np.ndarray, names: Sequence[Any] | None = None) -> Any:
    """Return `X` with `columns` appended, as the same kind of container; `names` are for frames."""
    if columns.shape[1] == 0:
        return X
    if sp.issparse(X):
        joined = sp.hstack([X, sp.csr_array(columns)], format="csr")
        return sp.csr_array(joined) if isinstance(X, sp.sparray) else sp.csr_matrix(joined)
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        if frame.implementation.is_pandas():
            import pandas as pd

            return pd.concat([X, pd.DataFrame(columns, index=X.index, columns=names)], axis=1)
        data = {name: columns[:, i] for i, name in enumerate(names or ())}
        beside = nw.from_dict(data, backend=frame.implementation)
        return nw.concat([frame, beside], how="horizontal").to_native()
    return np.hstack([X, columns.astype(np.result_type(X, np.float32), copy=False)])
