"""Dask arrays and data frames: ask a fitted model about them block by block, without computing anything yet."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from montechain._rows import map_arrays, take_rows


def is_lazy(X: Any) -> bool:
    """Return whether X is a Dask collection."""
    return type(X) is not np.ndarray and hasattr(X, "__dask_graph__")


def import_dask(name: str) -> Any:
    """Return a module of Dask, which is optional."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed: pip install 'montechain[dask]'") from error


def blocks_of(X: Any) -> tuple[list[Any], list[float]]:
    """Return the blocks of rows of a Dask collection as delayed tables, and their numbers of rows, NaN if unknown."""
    if hasattr(X, "npartitions") and hasattr(X, "divisions"):
        return list(X.to_delayed()), [np.nan] * X.npartitions
    if X.ndim > 1 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X.to_delayed().ravel().tolist(), list(X.chunks[0])


def blocks_beside(table: Any, n_rows: Sequence[float], name: str) -> list[Any]:
    """Split a table into blocks that match those of X, whose lengths are `n_rows`."""
    if not is_lazy(table):
        if np.isnan(n_rows).any():
            raise ValueError(
                f"`{name}` must be a Dask collection with the partitions of `X`, whose lengths are unknown."
            )
        array = table if hasattr(table, "shape") else np.array(table, dtype=object)
        if array.shape[0] != sum(n_rows):
            raise ValueError(f"`X` has {sum(n_rows)} rows but `{name}` has {array.shape[0]}: they must be equal.")
        return [take_rows(array, slice(*own)) for own in pairwise(np.cumsum([0, *n_rows]))]
    if hasattr(table, "chunks") and not np.isnan([*n_rows, *table.chunks[0]]).any() and sum(n_rows) == table.shape[0]:
        table = table.rechunk({0: tuple(n_rows)})
    blocks, own = blocks_of(table)
    if len(blocks) != len(n_rows) or any(a != b for a, b in zip(own, n_rows, strict=True) if a == a and b == b):
        raise ValueError(f"the blocks of `{name}` are not those of `X`: read both from one table, or repartition them.")
    return blocks


def typical_rows(X: Any) -> Any:
    """Return a few rows in memory with the columns and types of a Dask collection, but not its values."""
    if not hasattr(X, "_meta_nonempty"):
        return np.zeros((1, *X.shape[1:]), dtype=X.dtype)
    rows = X._meta_nonempty.copy()
    if rows.ndim > 1:  # Dask's example, "foo", need not be a number, a date or a category that a model knows
        rows[list(rows.select_dtypes(["object", "string"]))] = None
    return rows


def draw_rows(X: Any, n_rows: int) -> tuple[Any, int]:
    """Return `n_rows` rows of a Dask collection, drawn at random in one pass and in order, and how many it has."""
    dask = import_dask("dask")
    draw, merge = dask.delayed(_draw, pure=False), dask.delayed(_merged, pure=False)
    parts = [draw(block, n_rows, number) for number, block in enumerate(blocks_of(X)[0])]
    while len(parts) > 1:  # as a tree, so that no machine holds more than a few samples
        parts = [merge(parts[i : i + 8], n_rows) for i in range(0, len(parts), 8)]
    _, rows, length = parts[0].compute()
    if not length:
        raise ValueError("`X` has 0 rows: at least 1 is needed.")
    return rows, length


def _draw(block: Any, n_rows: int, number: int) -> tuple[np.ndarray, Any, int]:
    """Return the rows of a block with the smallest random keys, and how many it has."""
    keys = np.random.default_rng([number, 0]).random(len(block))
    kept = np.sort(np.argsort(keys)[:n_rows])
    return keys[kept], take_rows(block, kept), len(block)


def _merged(parts: list[tuple[np.ndarray, Any, int]], n_rows: int) -> tuple[np.ndarray, Any, int]:
    """Return the rows with the smallest keys among those of some blocks, in the order of the blocks."""
    all_keys, tables, lengths = zip(*([own for own in parts if len(own[0])] or parts[:1]), strict=True)
    join = import_dask("dask.dataframe.methods").concat if hasattr(tables[0], "iloc") else np.concatenate
    kept = np.sort(np.argsort(keys := np.concatenate(all_keys))[:n_rows])
    return keys[kept], take_rows(join(list(tables)), kept), sum(lengths)


def lazy_answer(model: Any, method: str, X: Any, **tables: Any) -> Any:
    """Return the lazy answer of a method of a fitted model to a Dask collection, block by block.

    `tables` are other arguments with one row for each row of X, such as labels that are known, or None; they may be
    Dask collections with the same blocks. Arrays, lists of arrays and dataclasses of either become those of Dask
    arrays; data frames become Dask's.
    """
    check_is_fitted(model)
    dask = import_dask("dask")
    blocks, n_rows = blocks_of(X)
    beside = {name: blocks_beside(table, n_rows, name) for name, table in tables.items() if table is not None}
    rows = typical_rows(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an answer that nobody sees
        answer = getattr(model, method)(rows, **({"y": model.predict(rows)} if "y" in beside else {}))
    if type(_labels_of(answer)).__module__.startswith("polars"):
        raise ValueError("Dask has data frames of pandas, not of polars: fit the model to those of pandas.")
    empty = map_arrays(lambda own: take_rows(own, slice(0, 0)), answer)
    # One key each in the graph, so that a worker gets them once, not with every block.
    shared, ask = dask.delayed(model, traverse=False), dask.delayed(_ask, pure=False)
    first = [0 if hasattr(X, "divisions") or start != start else int(start) for start in np.cumsum([0, *n_rows])]
    parts = [
        ask(shared, method, block, first[i], empty, {name: own[i] for name, own in beside.items()})
        for i, block in enumerate(blocks)
    ]
    numbered = [*first[:-1], max(first[-2], first[-1] - 1)] if first[-1] else None
    return _joined(parts, empty, n_rows, getattr(X, "divisions", numbered))


def _ask(model: Any, method: str, block: Any, first: int, empty: Any, tables: dict[str, Any]) -> Any:
    """Return the answer for one block, whose first row has this number."""
    if not block.shape[0]:
        return empty
    answer = getattr(model, method)(block, **tables)
    labels = _labels_of(answer)
    if first and hasattr(labels, "iloc"):
        labels.index += first
    return answer


def _labels_of(answer: Any) -> Any:
    """Return the predicted labels of a decision; for other answers, the answer itself."""
    return getattr(answer, "labels", None) if is_dataclass(answer) else answer


def _joined(parts: list[Any], empty: Any, n_rows: Sequence[float], divisions: Any) -> Any:
    """Return one lazy answer from those of the blocks; `empty` is an answer for no rows."""
    if isinstance(empty, list):
        return [_joined([part[i] for part in parts], own, n_rows, divisions) for i, own in enumerate(empty)]
    if isinstance(empty, np.ndarray) or issparse(empty):
        da = import_dask("dask.array")
        shapes = [(n, *empty.shape[1:]) for n in n_rows]
        arrays = [da.from_delayed(part, shape, meta=empty) for part, shape in zip(parts, shapes, strict=True)]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)
    if hasattr(empty, "iloc"):
        return import_dask("dask.dataframe").from_delayed(parts, meta=empty, divisions=divisions)
    names = [field.name for field in fields(empty)]
    joined = [_joined([getattr(own, name) for own in parts], getattr(empty, name), n_rows, divisions) for name in names]
    return type(empty)(*joined)
