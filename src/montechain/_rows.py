"""Rows of tables of any kind (arrays, CSR containers, data frames), taken and worked on in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from numbers import Integral
from threading import Lock
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils.parallel import Parallel, delayed

from montechain._threads import count_threads, one_blas_thread, run_in_threads


def take_rows(X: Any, rows: slice | np.ndarray) -> Any:
    """Return some rows of an array, a CSR container or a data frame of any library, as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and hasattr(X, "column_names"):  # pyarrow
        return X.slice(rows.start, rows.stop - rows.start) if isinstance(rows, slice) else X.take(rows)
    if isinstance(rows, slice) and getattr(X, "format", None) == "csr":
        # A view: scipy would copy the entries.
        start, stop, _ = rows.indices(X.shape[0])
        first, last = X.indptr[start], X.indptr[stop]
        parts = X.data[first:last], X.indices[first:last], X.indptr[start : stop + 1] - first
        return type(X)(parts, shape=(stop - start, X.shape[1]))
    return X[rows]


def split_folds(owner: Any, codes: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return pairs of row numbers from the parameter `cv`: a number of folds, a splitter, or the pairs themselves."""
    cv, n_rows = owner.cv, len(codes)
    if isinstance(cv, Integral) and not isinstance(cv, bool) and int(cv) >= 2:
        cv = KFold(min(int(cv), n_rows), shuffle=True, random_state=seed)
    try:
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in (cv.split(codes) if hasattr(cv, "split") else cv)]
    except TypeError:
        pairs = []
    if not pairs or isinstance(cv, str) or not all(rows.dtype.kind in "iub" for pair in pairs for rows in pair):
        raise ValueError(
            f"`cv={owner.cv!r}` of {type(owner).__name__} must be a number of folds from 2 on, a splitter such as "
            "KFold(5), or a list of pairs (rows to learn from, other rows), e.g. cv=5."
        )
    return pairs


def row_blocks(n_rows: int, size: int, rng: np.random.Generator | None = None) -> Iterator[slice]:
    """Yield consecutive slices of at most `size` rows, at least one.

    Each starts from the same state of `rng`, if one is given, so that the draws of a row do not depend on its place.
    """
    state = {} if rng is None else rng.bit_generator.state
    for start in range(0, max(n_rows, 1), size):
        if rng is not None:
            rng.bit_generator.state = state
        yield slice(start, min(start + size, n_rows))


def distinct(
    rows: np.ndarray, codes: np.ndarray, n_classes: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct pairs of a row and a vector of codes: their keys, first positions, and the inverse index.

    They are sorted by row, then by code. `n_classes` bounds the codes of each column. As long as all keys fit into 62
    bits, a pair always has the same key.

    >>> distinct(np.array([1, 0, 1]), np.array([[0, 1], [1, 1], [0, 1]]), [2, 2])
    (array([3, 5]), array([1, 0]), array([1, 0, 1]))
    """
    # One number for each pair: far quicker to sort than rows of a matrix.
    key, size = rows.astype(np.int64), int(rows.max(initial=0)) + 1
    for column, n in zip(codes.T, n_classes, strict=True):
        if size > 2**62 // n:
            found, key = np.unique(key, return_inverse=True)
            size = len(found)
        key = key * n + column
        size *= n
    if len(key) < 2 or (key[1:] > key[:-1]).all():
        return key, np.arange(len(key)), np.arange(len(key))
    return np.unique(key, return_index=True, return_inverse=True)


def map_chunks(
    function: Callable[[Any, np.ndarray | None, int], Any],
    X: Any,
    known: np.ndarray | None,
    *,
    n_rows_each: int,
    n_jobs: int | None,
    in_kernels: bool,
) -> Any:
    """Return ``function(rows of X, rows of known, first row)`` for consecutive chunks of rows, joined along the rows.

    Chunks bound the memory; threads work on several of them at a time. The chunks are the same for any number of jobs,
    and so are the results: BLAS, which rounds differently with more threads, has one thread in each.

    The function returns an array, a list of arrays or a dataclass of either, always of the same kind. If it leaves the
    interpreter for most of its time (`in_kernels`), it runs in our own threads; otherwise in joblib's, so that
    classifiers with threads of their own use fewer of them.
    """
    n_rows = X.shape[0]
    if n_rows <= n_rows_each:
        return function(X, known, 0)

    whole: Any = None
    lock = Lock()

    def chunk(rows: slice) -> None:
        nonlocal whole
        part = function(take_rows(X, rows), None if known is None else known[rows], rows.start)
        with lock:
            if whole is None:
                whole = map_arrays(lambda own: np.empty((n_rows, *own.shape[1:]), dtype=own.dtype), part)
        map_arrays(lambda room, own: room.__setitem__(rows, own), whole, part)  # so that none is in memory twice

    chunks = list(row_blocks(n_rows, n_rows_each))
    if in_kernels:
        with one_blas_thread():
            run_in_threads(chunk, chunks, n_jobs)
    elif count_threads(n_jobs) == 1:
        for rows in chunks:
            chunk(rows)
    else:
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(chunk)(rows) for rows in chunks)
    return whole


def map_arrays(function: Callable[..., Any], *answers: Any) -> Any:
    """Return ``function(arrays)`` for the arrays of answers of one kind: an array, a list, or a dataclass of either."""
    first, make = answers[0], type(answers[0])
    if isinstance(first, list):
        return [map_arrays(function, *own) for own in zip(*answers, strict=True)]
    if not is_dataclass(first):
        return function(*answers)
    parts = ([getattr(own, field.name) for own in answers] for field in fields(first))
    return make(*(map_arrays(function, *own) for own in parts))


def join_rows(parts: list[Any]) -> Any:
    """Return the results of consecutive chunks (arrays, lists of arrays, or dataclasses of either) as one."""
    return parts[0] if len(parts) == 1 else map_arrays(lambda *own: np.concatenate(own), *parts)
