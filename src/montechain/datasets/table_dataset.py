"""From a table to a data set: which columns are labels, inputs, text, or left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from montechain.datasets.dataset import Dataset
from montechain.datasets.frames import typed_frame
from montechain.datasets.labels import Targets, label_table, position_of, resolve_targets
from montechain.datasets.tables import check_names
from montechain.errors import DataError

__all__ = ["choose_columns", "choose_targets", "known_labels", "labelled_rows", "present", "table_dataset"]


def table_dataset(
    frame: Any,
    *,
    targets: Targets,
    drop: Collection[str | int] = (),
    text: Collection[str | int] = (),
    name: str = "",
    description: str = "",
    path: str | Path | None = None,
    partial: bool = False,
) -> Dataset:
    """Make a data set of a table.

    Rows in which every label is unknown are left out, since nothing can be learnt or checked with them; the
    description says how many.

    Parameters
    ----------
    frame : data frame of pandas, polars, pyarrow or another library that narwhals reads
        Such as `read_table` returns.
    targets : list of str, list of int, or int
        The columns that are labels: their names, their positions, or how many are the first (negative: the last)
        columns. Positions count all columns, also those in `drop`. An empty list gives a data set without labels.
    drop : collection of str or int
        Columns to leave out, such as identifiers, by name or position.
    text : collection of str or int
        Columns that are text.
    name, description : str
        Of the data set.
    path : str or Path, optional
        The file that the table was read from, for messages.
    partial : bool, default=False
        Whether the table need not have all of it, as one that predictions are wanted for: columns that are named
        but absent are ignored, labels of which nothing is known are left out, and every row is kept.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import pandas as pd
    >>> songs = pd.DataFrame({"id": [7, 8, 9], "tempo": [120.5, 98, 101], "mood": ["calm", None, "happy"]})
    >>> data = table_dataset(songs, targets=["mood"], drop=["id"], name="songs")
    >>> data.feature_names, data.label_names, data.classes
    (['tempo'], ['mood'], [['calm', 'happy']])
    >>> data.description
    '1 of 3 rows is left out: all of its labels are unknown.'
    """
    table = typed_frame(frame, path=path)
    names = list(table.columns)
    labels = choose_targets(present(targets, names) if partial else targets, names, path=path)
    left_out = choose_columns("drop", present(drop, names) if partial else drop, names, labels, path)
    texts = choose_columns("text", present(text, names) if partial else text, names, labels, path)
    inputs = [column for column in names if column not in {*labels, *left_out}]
    if not inputs:
        raise DataError("no column is left as an input: all are labels or dropped.", path=path)
    X = pd.DataFrame({column: _input(table[column], column in texts) for column in inputs}, index=table.index)
    dates = [column for column in labels if pd.api.types.is_datetime64_any_dtype(table[column].dtype)]
    columns = typed_frame(table[labels], nominal_columns=dates, path=path) if dates else table[labels]
    Y, classes = known_labels(columns, partial=partial, path=path)
    data = Dataset(X=X, Y=Y, feature_names=inputs, classes=classes, name=name, description=description)
    return data if partial else labelled_rows(data)


def present(given: Any, names: Collection[str]) -> Any:
    """Return a list of columns without the names that the table does not have; anything else as it is.

    >>> present(["mood", "genre"], ["tempo", "mood"]), present(-2, ["tempo", "mood"])
    (['mood'], -2)
    """
    if isinstance(given, str | Path) or not isinstance(given, Iterable):
        return given
    return [column for column in given if not isinstance(column, str) or column in names]


def known_labels(
    columns: pd.DataFrame, *, partial: bool, path: str | Path | None
) -> tuple[pd.DataFrame, list[list[Any]]]:
    """Return the labels and their classes; of a partial table, without those of which nothing is known."""
    if partial:
        columns = columns.loc[:, columns.notna().any().to_numpy(dtype=bool)]
    return label_table(columns, path=path) if columns.shape[1] else (columns, [])


def labelled_rows(data: Dataset) -> Dataset:
    """Return the rows of which at least one label is known; the description says how many others there were."""
    if not data.label_names:
        return data
    known = data.Y.notna().to_numpy().any(axis=1)
    lost = len(known) - int(known.sum())
    if lost == 0:
        return data
    verb, whose = ("is", "its") if lost == 1 else ("are", "their")
    note = f"{lost} of {len(known)} rows {verb} left out: all of {whose} labels are unknown."
    part = data.take(np.flatnonzero(known))
    X = part.X.reset_index(drop=True) if isinstance(part.X, pd.DataFrame) else part.X
    description = f"{data.description}\n{note}".strip()
    return replace(part, X=X, Y=part.Y.reset_index(drop=True), description=description)


def choose_targets(
    targets: Targets, names: list[str], *, path: str | Path | None = None, relation: str | None = None
) -> list[str]:
    """Return the names of the labels, in the order of the table; `relation` is that of an ARFF file.

    >>> choose_targets(-2, ["tempo", "mood", "genre"])
    ['mood', 'genre']
    """
    if targets is None and relation is None:
        some = ", ".join(map(repr, names[-2:]))
        raise DataError(
            f"a table does not say which of its columns are labels. Name them, e.g. targets=[{some}], or say "
            f"targets=-{len(names[-2:])} for the last {len(names[-2:])} (on the command line: --targets "
            f"{','.join(names[-2:])}). The columns are {_listed(names)}.",
            path=path,
        )
    if isinstance(targets, Sized) and len(targets) == 0:
        return []
    with _naming(path):
        return [names[position] for position in resolve_targets(targets, names, path=path, relation=relation or "")]


def choose_columns(
    parameter: str,
    given: Collection[str | int],
    names: Sequence[str],
    labels: Collection[str] = (),
    path: str | Path | None = None,
) -> list[str]:
    """Return the names of columns that are given by name or position, of which none may be a label.

    >>> choose_columns("drop", ["colour"], ["color", "mood"])
    Traceback (most recent call last):
        ...
    ValueError: `drop`: there is no column 'colour'; did you mean 'color'?
    """
    check_names(parameter, given)
    with _naming(path):
        chosen = [names[position_of(column, names, parameter)] for column in given]
    for name in chosen:
        if name in labels:
            raise ValueError(f"`{parameter}` names the column {name!r}, which is one of the targets.")
    return chosen


@contextmanager
def _naming(path: str | Path | None) -> Iterator[None]:
    """Say which file it is that does not have a column, since the file may be the wrong one."""
    try:
        yield
    except ValueError as error:
        if path is None or isinstance(error, DataError):
            raise
        raise DataError(str(error), path=path) from error


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(map(repr, names[:most])) + (", …" if len(names) > most else "")


def _input(column: pd.Series, is_text: bool) -> pd.Series:
    """Return an input as `Dataset` promises: what is missing among numbers is NaN."""
    if is_text:
        return column.astype("string")
    if pd.api.types.is_extension_array_dtype(column.dtype) and pd.api.types.is_any_real_numeric_dtype(column.dtype):
        return column.astype(np.float64)
    if isinstance(column.dtype, pd.BooleanDtype):
        return column.astype("Float64").astype(np.float64)
    return column
