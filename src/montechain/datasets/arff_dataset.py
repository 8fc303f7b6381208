"""ARFF files as data sets: inputs on one side, labels on the other."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._columns import to_words
from montechain.datasets.arff import ArffTable, Attribute, read_arff
from montechain.datasets.columns import categorical
from montechain.datasets.dataset import Dataset
from montechain.datasets.formats import file_stem
from montechain.datasets.labels import Targets
from montechain.datasets.table_dataset import choose_columns, choose_targets, known_labels, present
from montechain.errors import DataError

__all__ = ["dataset_from_arff"]


def dataset_from_arff(
    path: str | Path,
    *,
    targets: Targets = None,
    drop: str | int | Collection[str | int] = (),
    text: Collection[str | int] = (),
    nominal: Collection[str | int] = (),
    name: str | None = None,
    encoding: str = "utf-8",
    partial: bool = False,
) -> Dataset:
    """Read an ARFF file as a data set.

    Parameters
    ----------
    path : str or Path
        Dense or sparse, plain or packed by gzip or bzip2.
    targets : names, positions, number, path of an .xml file or None
        Which columns are labels, as in `resolve_targets`. None: a Mulan ``.xml`` beside the file tells, or
        MEKA's ``-C``.
    drop : list of names or positions
        Columns to leave out, such as identifiers.
    text : list of names or positions
        Inputs of a dense file that are text.
    nominal : list of names or positions
        Columns of a dense file whose cells are nominal values though no values are declared: numbers, strings, dates.
    name : str, optional
        The name of the data set; by default that of the file.
    encoding : str, default="utf-8"
    partial : bool, default=False
        Whether the file need not have all of it, as one that predictions are wanted for: columns that are named
        but absent are ignored, and labels of which nothing is known are left out.

    Returns
    -------
    Dataset
        Of a dense file, `X` is a frame: numbers, categoricals with the declared values, texts. Of a sparse file it
        is a CSR array: a nominal input {0, 1} is that number; of another one, each declared value but the first,
        which omitted cells have, is a column of zeros and ones named ``attribute=value``. Labels stand in
        the file's order. Every row is kept, also one without labels.

    Raises
    ------
    DataError
        If the file cannot be read, a column cannot be a label or an input, or one is named that is not there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> text = '''@relation 'songs: -C 2'
    ... @attribute happy {0, 1}
    ... @attribute key {minor, major}
    ... @attribute tempo numeric
    ... @data
    ... 1, major, 140
    ... 0, minor, 70
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "songs.arff"
    ...     _ = path.write_text(text)
    ...     songs = dataset_from_arff(path)
    >>> songs.label_names, songs.feature_names, songs.classes
    (['happy', 'key'], ['tempo'], [[0, 1], ['minor', 'major']])
    """
    table = read_arff(path, encoding=encoding)
    names = [attribute.name for attribute in table.attributes]
    chosen = {"drop": [drop] if isinstance(drop, str | int) else drop, "text": text, "nominal": nominal}
    if partial:
        targets = present(targets, names)
        chosen = {parameter: present(given, names) for parameter, given in chosen.items()}
    labels = choose_targets(targets, names, path=path, relation=table.relation)
    dropped = choose_columns("drop", chosen["drop"], names, labels, path)
    texts = choose_columns("text", chosen["text"], names, labels, path)
    words = choose_columns("nominal", chosen["nominal"], names, (), path)
    inputs = [column for column in names if column not in {*labels, *dropped}]
    if not inputs:
        raise DataError("no column is left as an input: all are labels or dropped.", path=path)
    if isinstance(table.data, pd.DataFrame):
        data = _with_words(table, set(words) - set(texts))
        X: pd.DataFrame | sp.csr_array = data[inputs].astype({name: "string" for name in texts if name in inputs})
        feature_names, columns = inputs, data[labels]
    else:
        _refuse_words(table, texts, words, path)
        X, feature_names = _sparse_inputs(table, [names.index(column) for column in inputs], path)
        columns = _sparse_labels(table, [names.index(column) for column in labels], path)
    Y, classes = known_labels(columns, partial=partial, path=path)
    return Dataset(
        X=X,
        Y=Y,
        feature_names=feature_names,
        classes=classes,
        name=file_stem(path) if name is None else name,
        description=_describe(path, table, [column for column in names if column in dropped]),
    )


def _with_words(table: ArffTable, words: Collection[str]) -> pd.DataFrame:
    """Return the table with some of its columns as nominal values: those that occur, unless others are declared."""
    columns = {}
    for attribute in table.attributes:
        if attribute.name in words and attribute.kind != "nominal":
            codes, found = to_words(table.data[attribute.name], attribute.name)
            columns[attribute.name] = categorical(np.array([*found, None], dtype=object)[codes], codes < 0)
    return table.data.assign(**columns)


def _refuse_words(table: ArffTable, texts: Collection[str], words: Collection[str], path: str | Path) -> None:
    declared = {attribute.name for attribute in table.attributes if attribute.kind == "nominal"}
    for parameter, given in (("text", texts), ("nominal", [column for column in words if column not in declared])):
        if given:
            raise DataError(f"a sparse file holds numbers, so there is no column for `{parameter}`.", path=path)


def _describe(path: str | Path, table: ArffTable, dropped: list[str]) -> str:
    kind = "dense" if isinstance(table.data, pd.DataFrame) else "sparse"
    relation = f", relation {table.relation!r}" if table.relation else ""
    left_out = f" Left out: {', '.join(dropped)}." if dropped else ""
    return f"Read from the {kind} ARFF file {Path(path).name}{relation}.{left_out}"


def _sparse_inputs(table: ArffTable, inputs: list[int], path: str | Path) -> tuple[sp.csr_array, list[str]]:
    """Return the inputs of a sparse file as numbers, and their names."""
    attributes = [table.attributes[j] for j in inputs]
    for attribute in attributes:
        if attribute.kind in ("string", "date"):
            raise DataError(
                f"the input {attribute.name!r} is a {attribute.kind}, which a sparse table cannot hold. "
                f"Leave it out: drop=[{attribute.name!r}].",
                path=path,
            )
    X = table.data[:, inputs]
    names = [_column_names(attribute) for attribute in attributes]
    widths = np.array([len(columns) for columns in names], dtype=np.int64)
    if not widths.any():
        raise DataError("no input has more than one declared value: there is nothing to learn from.", path=path)
    if (widths != 1).any():
        X = _spread(X, widths)
    return X, [name for columns in names for name in columns]


def _column_names(attribute: Attribute) -> list[str]:
    categories = attribute.categories
    if categories is None or categories == ("0", "1"):
        return [attribute.name]
    return [f"{attribute.name}={category}" for category in categories[1:]]


def _spread(X: sp.csr_array, widths: np.ndarray) -> sp.csr_array:
    """Give each code above 0 of a column its own column of zeros and ones; `widths` are the numbers of columns."""
    first = np.concatenate([[0], np.cumsum(widths)])
    cells = X.tocoo()
    row, column, value = cells.row, cells.col, cells.data
    width = widths[column]
    missing = np.isnan(value)
    # A missing cell is missing in all columns of its attribute.
    copies = np.where(missing, width, np.minimum(width, 1))
    row, column, value, width, missing = (np.repeat(a, copies) for a in (row, column, value, width, missing))
    rank = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    several = width > 1
    place = first[column] + np.where(several & ~missing, np.nan_to_num(value).astype(np.int64) - 1, rank)
    spread = np.where(several & ~missing, 1.0, value)
    return sp.csr_array(sp.coo_array((spread, (row, place)), shape=(X.shape[0], int(first[-1]))))


def _sparse_labels(table: ArffTable, labels: list[int], path: str | Path) -> pd.DataFrame:
    """Return the labels of a sparse file as dense columns of their classes."""
    columns: dict[str, Any] = {}
    chosen = sp.csc_array(table.data[:, np.array(labels, dtype=np.int64)])
    for j, position in enumerate(labels):
        attribute = table.attributes[position]
        if attribute.kind in ("string", "date"):
            raise DataError(
                f"the label {attribute.name!r} is a {attribute.kind} in a sparse file. Declare its values: "
                f"@attribute {attribute.name} {{…}}.",
                path=path,
            )
        values = chosen[:, [j]].toarray()[:, 0]
        if attribute.categories is None:
            columns[attribute.name] = values
        else:
            codes = np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.int64)
            columns[attribute.name] = pd.Categorical.from_codes(codes, categories=attribute.categories)
    return pd.DataFrame(columns, index=range(chosen.shape[0]))
