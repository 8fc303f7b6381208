"""From codes to a data frame of the user's library, with its own types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from montechain._targets.codes import refuse_unknown
from montechain._targets.types import library, native_type

__all__ = ["decode_frame"]


def decode_frame(
    codes: np.ndarray,
    classes: Sequence[np.ndarray],
    names: Sequence[Any],
    namespace: Any,
    index: Any = None,
    dtypes: Sequence[Any] | None = None,
) -> Any:
    """Turn codes into a data frame of the user's classes.

    Parameters
    ----------
    codes : int ndarray of shape (n, L)
    classes : sequence of L arrays
    names : sequence of L column names
    namespace : str or module
        The data frame library, such as ``"pandas"``.
    index : pandas index, optional
        Ignored by libraries whose frames have none.
    dtypes : sequence of L types, optional
        As in `TargetFormat`, or the library's own: the columns get these back, pandas' categories among them.

    Returns
    -------
    native data frame
    """
    codes = np.asarray(codes)
    refuse_unknown(codes)
    module_name = namespace if isinstance(namespace, str) else namespace.__name__
    module = library(module_name)
    types = [native_type(module_name, dtype) for dtype in dtypes or [None] * len(classes)]
    # Only the K classes are converted to the column's type; the n rows are then picked from them.
    if module_name == "polars":
        columns = []
        for j, (column_classes, dtype) in enumerate(zip(classes, types, strict=True)):
            column = module.Series(str(names[j]), column_classes.tolist(), dtype=dtype)
            columns.append(column.gather(codes[:, j].astype(np.int64)))
        return module.DataFrame(columns)
    if module_name == "pyarrow":
        arrays = [
            module.array(c.tolist(), type=_plain_arrow_type(module, dtype)).take(module.array(codes[:, j]))
            for j, (c, dtype) in enumerate(zip(classes, types, strict=True))
        ]
        return module.table(arrays, names=list(names))
    # pandas, or a library that has its interface.
    frame = {}
    for j, (column_classes, dtype) in enumerate(zip(classes, types, strict=True)):
        column = module.Series(column_classes.tolist() if column_classes.dtype == object else column_classes)
        column = column if dtype is None else column.astype(dtype)
        column = column.take(codes[:, j])
        column.index = range(len(codes)) if index is None else index
        frame[j] = column
    result = module.DataFrame(frame)
    result.columns = list(names)
    return result


def _plain_arrow_type(module: Any, dtype: Any) -> Any:
    return dtype.value_type if dtype is not None and module.types.is_dictionary(dtype) else dtype
