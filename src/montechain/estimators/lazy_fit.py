"""Read Dask collections for `fit`: learn the classes in one pass, then check and encode each block where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from montechain._compat import check_sample_weight
from montechain._lazy import blocks_beside, blocks_of, import_dask, typical_rows
from montechain.links.row_blocks import RowBlocks, Rows
from montechain.targets import CODE, TargetCodec, as_columns, factorise, joined


def read_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> RowBlocks:
    """Learn the classes of Dask collections. Return their rows, checked and encoded."""
    model._check_blocks()
    dask = import_dask("dask")
    blocks, n_rows = blocks_of(X)
    labels = blocks_beside(y, n_rows, "y")
    weights = [None] * len(blocks) if sample_weight is None else blocks_beside(sample_weight, n_rows, "sample_weight")
    model._check_X(typical_rows(X), reset=True)
    distinct = dask.delayed(_classes_of, pure=False)
    model._set_codec(_joined(dask.compute(*map(distinct, labels))))
    shared, read = dask.delayed(model, traverse=False), dask.delayed(_read, pure=False)
    return RowBlocks([read(shared, *own) for own in zip(blocks, labels, weights, strict=True)], model.codec_.n_classes)


def _classes_of(y: Any) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Return the classes that occur in each column of a block, and how the table is described."""
    table = as_columns(y, name="y")
    classes = [
        factorise(np.ascontiguousarray(own[known]))[0] for own, known in zip(table.columns, table.known.T, strict=True)
    ]
    about = {name: getattr(table, name) for name in ("names", "library", "dtypes", "is_1d", "is_tags")}
    return classes, about


def _joined(found: Any) -> TargetCodec:
    """Return the codec for all blocks."""
    about, classes, tables = found[0][1], [], [own["dtypes"] for _, own in found]
    if about["is_tags"]:
        raise TypeError(
            "`y` holds sets of tags, which cannot be learned from blocks: give a column of 0 and 1 for each tag."
        )
    for j, parts in enumerate(zip(*(own for own, _ in found), strict=True)):
        known = [own for own in parts if len(own)]
        if not known:
            raise ValueError(f"column {j} of y is all unknown: it has no value to learn from.")
        classes.append(factorise(joined(known))[0])
        if tables[0] is not None and any(own[j] != tables[0][j] for own in tables):
            tables[0][j] = pd.CategoricalDtype(classes[j]) if isinstance(tables[0][j], pd.CategoricalDtype) else None
    return TargetCodec(classes, about["names"], about["library"], about["dtypes"], about["is_1d"])


def _read(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Check and encode a block."""
    if not X.shape[0]:
        empty = np.empty((0, len(model.codec_.classes)), dtype=CODE)
        return Rows(np.empty((0, model.n_features_in_)), empty, empty, np.empty(0))
    rows = model._check_X(X, reset=False)
    codes = model.codec_.encode(y, n_rows=rows.shape[0])
    if sample_weight is not None and not np.any(sample_weight):  # other blocks may have some
        return Rows(rows, codes, codes, np.zeros(len(codes)))
    return Rows(rows, codes, codes, check_sample_weight(sample_weight, rows, dtype=np.float64))
