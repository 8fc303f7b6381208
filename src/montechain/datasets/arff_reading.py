"""ARFF files for `read_dataset`: text columns, rows without labels, and files that lack some of the targets."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from montechain.datasets._arff_header import read_header
from montechain.datasets._text_blocks import text_blocks
from montechain.datasets.arff import read_arff
from montechain.datasets.arff_dataset import dataset_from_arff, sparse_inputs, sparse_labels
from montechain.datasets.dataset import Dataset
from montechain.datasets.labels import Targets, file_stem
from montechain.datasets.table_dataset import (
    choose_columns,
    choose_targets,
    known_labels,
    labelled_rows,
    present,
    table_dataset,
)
from montechain.errors import DataError

__all__ = ["arff_columns", "read_arff_dataset"]


def arff_columns(path: str | Path, encoding: str = "utf-8") -> list[str]:
    """Return the names of the columns of an ARFF file, of which only the header is read."""
    return [attribute.name for attribute in read_header(text_blocks(path, encoding), path).attributes]


def read_arff_dataset(
    path: str | Path,
    *,
    targets: Targets = None,
    drop: Iterable[str | int] = (),
    text: Collection[str | int] = (),
    name: str | None = None,
    encoding: str = "utf-8",
    partial: bool = False,
) -> Dataset:
    """Read an ARFF file; `read_dataset` says what the parameters mean."""
    if partial and targets is not None:
        return _partial_dataset(path, targets, drop, text, file_stem(path) if name is None else name, encoding)
    try:
        data = dataset_from_arff(path, targets=targets, drop=list(drop), name=name, encoding=encoding)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(str(error), path=path) from error
    if text:
        data = _with_text(data, text, path)
    return labelled_rows(data)


def _with_text(data: Dataset, text: Collection[str | int], path: str | Path) -> Dataset:
    """Return the data set with nominal inputs as text."""
    if not isinstance(data.X, pd.DataFrame):
        raise DataError("a sparse file holds numbers, so there is no column for `text`.", path=path)
    columns = choose_columns("text", text, [*data.feature_names, *data.label_names], data.label_names, path)
    return replace(data, X=data.X.astype(dict.fromkeys(columns, "string")), _load_split=None)


def _partial_dataset(
    path: str | Path, targets: Any, drop: Iterable[str | int], text: Iterable[str | int], name: str, encoding: str
) -> Dataset:
    table = read_arff(path, encoding=encoding)
    columns = [attribute.name for attribute in table.attributes]
    description = f"Read from {Path(path).name}."
    if isinstance(table.data, pd.DataFrame):
        texts = [attribute.name for attribute in table.attributes if attribute.kind == "string"]
        labels = choose_targets(present(targets, columns), columns, path=path)
        return table_dataset(
            table.data,
            targets=labels,
            drop=list(drop),
            text=[column for column in {*texts, *text} if column not in labels],
            name=name,
            description=description,
            path=path,
            partial=True,
        )
    labels = choose_targets(present(targets, columns), columns, path=path)
    left_out = choose_columns("drop", present(drop, columns), columns, labels, path)
    inputs = [position for position, column in enumerate(columns) if column not in {*labels, *left_out}]
    X, feature_names = sparse_inputs(table, inputs, path)
    found = sparse_labels(table, [columns.index(label) for label in labels], path)
    Y, classes = known_labels(found, partial=True, path=path) if labels else (pd.DataFrame(index=range(X.shape[0])), [])
    return Dataset(X=X, Y=Y, feature_names=feature_names, classes=classes, name=name, description=description)
