"""The inputs of a link: x, and its parents' classes as columns beside it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from montechain._frames import is_frame


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


def columns_of(parents_n_classes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each column that the parents have beside x, the parent and the class that it stands for.

    A binary parent has one column, for its class 1; one with more classes has a column for each. A parent with a single
    class carries no information and has none.

    >>> columns_of([2, 3, 1])
    (array([0, 1, 1, 1]), array([1, 0, 1, 2]))
    """
    n_classes = np.array(parents_n_classes, dtype=np.int64)
    widths = np.where(n_classes <= 2, n_classes - 1, n_classes)
    parent = np.repeat(np.arange(len(n_classes)), widths)
    return parent, ranges((n_classes == 2).astype(np.int64), widths)


def parent_columns(parent_codes: np.ndarray, parents_n_classes: Sequence[int], dtype: Any = np.float64) -> np.ndarray:
    """Return the parents' classes as 0/1 columns, see `columns_of`."""
    parent, code = columns_of(parents_n_classes)
    return (parent_codes[:, parent] == code).astype(dtype, copy=False)


def effect_rows(parents_n_classes: Sequence[int]) -> np.ndarray:
    """Return, for each of the parents' columns, where its class stands among all classes of all parents."""
    parent, code = columns_of(parents_n_classes)
    return np.cumsum([0, *parents_n_classes])[parent] + code


def split_effects(rows: np.ndarray, parents_n_classes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Return what each class of each parent adds to the scores, from coefficients with a row for each column."""
    if len(rows) == len(parents_n_classes) and max(parents_n_classes, default=2) == 2:  # all binary, as a rule
        return tuple(np.stack([np.zeros_like(rows), rows], axis=1))
    starts = np.cumsum([0, *parents_n_classes]).tolist()
    effects = np.zeros((starts[-1], rows.shape[1]))
    effects[effect_rows(parents_n_classes)] = rows
    return tuple(effects[start:end] for start, end in pairwise(starts))


def ranges(first: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return the numbers ``first[i], ..., first[i] + widths[i] - 1`` for all i, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    if len(widths) == 0 or (widths.max() == 1 and widths.min() == 1):
        return first
    before = np.cumsum(widths) - widths
    return np.repeat(first - before, widths) + np.arange(widths.sum())


def parent_names(X: Any, names: Sequence[Any], parents_n_classes: Sequence[int]) -> list[Any]:
    """Return names for the columns of `parent_columns` that do not clash with the columns of the frame `X`."""
    taken = set(X.columns)
    columns = list(zip(*map(np.ndarray.tolist, columns_of(parents_n_classes)), strict=True))
    if taken and not any(isinstance(name, str) for name in taken):
        # scikit-learn ignores names that are not strings, but refuses a mixture of both kinds.
        first = max((name for name in taken if isinstance(name, int)), default=len(taken)) + 1
        return list(range(first, first + len(columns)))
    wanted = [str(names[j]) if parents_n_classes[j] == 2 else f"{names[j]}={code}" for j, code in columns]
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
