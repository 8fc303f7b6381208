"""Telling data frames of any library from arrays."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

__all__ = ["is_frame"]


def is_frame(X: Any, *, lazy: bool = False) -> bool:
    """Return whether `X` is a data frame that narwhals knows (pandas, polars, pyarrow, ...), or a lazy one if `lazy`.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1]})
    >>> is_frame(frame), is_frame(frame.lazy()), is_frame(frame.lazy(), lazy=True), is_frame([[1]])
    (True, False, True, False)
    """
    if isinstance(X, np.ndarray):  # the common case, told in no time
        return False
    if nw.dependencies.is_into_dataframe(X):
        return True
    return lazy and isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)
