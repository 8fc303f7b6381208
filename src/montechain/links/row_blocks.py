"""Training rows in the blocks of a Dask collection: work goes to the blocks, and only sums come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._lazy import import_dask
from montechain._rows import row_blocks, take_rows
from montechain.links.base import class_counts
from montechain.links.design import column_extremes
from montechain.parents import information_of, pair_counts
from montechain.targets import UNKNOWN

CELLS_AT_ONCE = 2**16
"""Approximate number of inputs that a pass over a block takes at a time: they fit into a cache."""
MIN_ROWS_PER_CLASS = 20
"""Number of rows of each class that a sample should have, if there are that many."""


@dataclass(frozen=True)
class Rows:
    """Some training rows in memory: inputs, codes, the same with unknown parents filled in, and weights."""

    X: Any
    codes: np.ndarray
    filled: np.ndarray
    weight: np.ndarray

    @property
    def labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes, filled codes and weights."""
        return self.codes, self.filled, self.weight

    def __sizeof__(self) -> int:
        # Dask decides by this where a task runs and what is spilled.
        return sum(own.nbytes for own in (self.X.data, *self.labels))

    def pieces(self, width: int) -> Iterator[Rows]:
        """Yield the rows in pieces small enough for a cache, if each has `width` numbers beside a dense X."""
        width = max(1, width, 1 if sp.issparse(self.X) else self.X.shape[1])
        for own in row_blocks(len(self.codes), max(64, CELLS_AT_ONCE // width)) if len(self.codes) else ():
            yield Rows(take_rows(self.X, own), *(part[own] for part in self.labels))


@dataclass(frozen=True)
class Summary:
    """Statistics of a block, from one pass over it."""

    n_rows: int
    n_values: int
    is_sparse: bool
    extremes: np.ndarray  # (2, D)
    counts: list[np.ndarray]  # (K,) for each label, weighted
    n_unknown: np.ndarray  # (L,)
    weight: float


class RowBlocks:
    """Training rows that need not fit into memory.

    On a cluster (`dask.distributed`), the blocks are kept by the workers, which spill to their disks if they must.
    Otherwise every pass reads them again. `blocks` are delayed `Rows`.
    """

    def __init__(self, blocks: Sequence[Any], n_classes: Sequence[int]):
        self.blocks, self.n_classes = list(blocks), [int(k) for k in n_classes]
        if _has_cluster():
            self.blocks = list(import_dask("dask").persist(*self.blocks))

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return ``function(rows, *arguments)`` for the rows of each block, in their order: one pass."""
        dask = import_dask("dask")
        # Arguments have one key each in the graph, so that a worker gets them once.
        shared = [dask.delayed(own, traverse=False) for own in arguments]
        run = dask.delayed(function, pure=False)
        return list(dask.compute(*(run(block, *shared) for block in self.blocks)))

    def replaced(self, function: Callable[..., Rows], arguments: Sequence[tuple[Any, ...]]) -> RowBlocks:
        """Return new blocks, ``function(rows, *arguments of the block)``."""
        run = import_dask("dask").delayed(function, pure=False)
        pairs = zip(self.blocks, arguments, strict=True)
        return RowBlocks([run(block, *own) for block, own in pairs], self.n_classes)

    def sample(self, n_rows: int, seed: int) -> Rows:
        """Return about `n_rows` rows drawn at random, or all if there are no more.

        At least about twenty rows of each class are drawn. Rows that are more likely to be drawn for it weigh less.
        """
        share = min(1.0, n_rows / self.shape[0])
        each = self.shape[0] / sum(own.weight for own in self.summaries)  # rows per weight
        for_classes = [MIN_ROWS_PER_CLASS / np.maximum(own * each, 1.0) for own in self.counts]
        chances = [np.append(np.maximum(share, own), share) for own in for_classes]
        drawn = self.replaced(_drawn, [(chances, share, [seed, i]) for i in range(len(self.blocks))])
        found = [own for own in import_dask("dask").compute(*drawn.blocks) if len(own.codes)]
        join: Any = partial(sp.vstack, format="csr") if sp.issparse(found[0].X) else np.concatenate
        return Rows(
            join([own.X for own in found]), *map(np.concatenate, zip(*(own.labels for own in found), strict=True))
        )

    @cached_property
    def summaries(self) -> list[Summary]:
        """The statistics of each block that has rows."""
        found = [own for own in self.map(_summary, self.n_classes) if own is not None]
        if not found:
            raise ValueError("`X` has 0 rows: at least 1 is needed.")
        if not any(own.weight for own in found):
            raise ValueError("`sample_weight` is zero everywhere: some weight must be positive.")
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of inputs."""
        return sum(own.n_rows for own in self.summaries), self.summaries[0].extremes.shape[1]

    @property
    def n_unknown(self) -> np.ndarray:
        """Number of rows in which each label is unknown, (L,)."""
        return np.sum([own.n_unknown for own in self.summaries], axis=0)

    @property
    def counts(self) -> list[np.ndarray]:
        """Total weight of the classes of each label."""
        return [np.sum(own, axis=0) for own in zip(*(part.counts for part in self.summaries), strict=True)]

    @cached_property
    def information(self) -> np.ndarray:
        """Mutual information of each pair of labels, which takes a pass of its own."""
        return information_of(sum(self.map(_pair_counts, self.n_classes)), self.n_classes)


def _has_cluster() -> bool:
    """Return whether there is an active Dask client."""
    try:
        from distributed import default_client

        return default_client() is not None
    except (ImportError, ValueError):
        return False


def _drawn(rows: Rows, chances: list[np.ndarray], share: float, seed: list[int]) -> Rows:
    """Return some rows: each with the largest chance of its classes, or of `share`, and its weight in proportion."""
    chance = np.max([own[codes] for own, codes in zip(chances, rows.codes.T, strict=True)], axis=0)
    kept = np.flatnonzero(np.random.default_rng(seed).random(len(chance)) < chance)
    weight = rows.weight[kept] * (share / np.minimum(chance[kept], 1.0))
    return Rows(take_rows(rows.X, kept), rows.codes[kept], rows.filled[kept], weight)


def _pair_counts(rows: Rows, n_classes: Sequence[int]) -> np.ndarray:
    return pair_counts(rows.codes, n_classes, rows.weight)


def _summary(rows: Rows, n_classes: Sequence[int]) -> Summary | None:
    X, codes, weight = rows.X, rows.codes, rows.weight
    if not len(codes):
        return None
    return Summary(
        len(codes), X.nnz + len(codes) if sp.issparse(X) else X.size + len(codes), sp.issparse(X), column_extremes(X),
        [class_counts(own, weight, k) for own, k in zip(codes.T, n_classes, strict=True)],
        (codes == UNKNOWN).sum(axis=0), float(weight.sum()),
    )  # fmt: skip
