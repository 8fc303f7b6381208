"""One function for all data sets: files of every format, and data frames."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._columns import to_words
from montechain._frames import as_pandas, column_names, is_frame
from montechain.datasets.arff import ArffTable, read_arff
from montechain.datasets.dataset import Dataset, Selection, Targets
from montechain.datasets.files import find_format, stem_and_suffix
from montechain.datasets.tables import MISSING_VALUES, TextTable, read_frame
from montechain.errors import DataError


def read_dataset(
    source: Any,
    *,
    targets: Targets = None,
    drop: Collection[str | int] = (),
    text: Collection[str] = (),
    nominal: Collection[str] = (),
    numeric: Collection[str] = (),
    tags: Collection[str] = (),
    typed: Collection[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    missing_values: Collection[str] = MISSING_VALUES,
    encoding: str = "utf-8",
    decimal: str = ".",
    partial: bool = False,
) -> Dataset:
    r"""Read a data set from a file or a data frame.

    In a text file, whole numbers become int64; other numbers, and those with missing cells, float64; ``true`` and
    ``false`` bool; dates strings, from which `TableEncoder` makes dates; everything else a categorical whose categories
    are the sorted values. Codes such as ``007`` stay as they are written. Files and frames with types of their own keep
    them. The `notes` of the data set say what was found. If the file is missing or cannot be read, a `DataError` names
    it and, where there is one, the line.

    Parameters
    ----------
    source : str, Path or data frame
        A file, whose suffix tells its format: ``.arff``; ``.csv``, ``.tsv``, ``.tab``, ``.data``, each also with
        ``.gz`` or ``.bz2``; ``.xlsx``, ``.parquet``, ``.feather``. Or a frame of pandas, polars, pyarrow or another
        library that narwhals supports.
    targets : list of str, list of int, int or path, optional
        The columns that are labels: their names, their positions, or how many columns, the first or, if negative, the
        last ones. For ARFF files also the path of a Mulan ``.xml``; without `targets`, the ``.xml`` beside the file or
        MEKA's ``-C`` decides. ``[]``: none.
    drop : collection of str or int
        Columns to leave out, such as identifiers, by name or position.
    text, nominal, numeric : collections of str
        Columns that are text, words or numbers whatever they look like. Sparse files hold numbers only. A cell such as
        ``heavy`` in a column of numbers counts as missing, with a note, if at most 5 % of them are such, or the column
        is in `numeric`.
    tags : collection of str
        Targets whose cells hold several tags, for `TableClassifier(tags=...)`: they are kept as written, and an empty
        cell has no tags, which is not the same as unknown.
    typed : collection of str, optional
        If given, only these columns of a table are typed, and the others are kept as written.
    format : {"arff", "csv", "tsv", "excel", "parquet", "feather"}, optional
        The format of a file whose suffix does not tell it.
    delimiter : str, optional
        What separates the cells of a text file. Default: a tab for TSV, otherwise detected from the first lines.
    header : bool, optional
        Whether the first non-blank line names the columns. By default it does, and a line that looks like data is
        refused. Columns without a name are called ``column_0``, ``column_1`` and so on.
    missing_values : collection of str
        Cells that mean "unknown", besides empty ones. If ``None`` or ``NA`` is a class, leave it out of the list.
    encoding : str, default="utf-8"
        Of a text file. A byte order mark is ignored.
    decimal : {".", ","}, default="."
        The decimal mark: ``decimal=","`` for 1,5. Numbers with a comma are refused otherwise.
    partial : bool, default=False
        For a source to be predicted: named columns that are absent are ignored, labels without a known value are
        left out, and every row is kept. Most cells of a column in `numeric` must be numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "songs.csv"
    ...     _ = path.write_text("tempo,mood,loud\n120.5,calm,1\n98,happy,?\n", encoding="utf-8")
    ...     data = read_dataset(path, targets=["mood", "loud"])
    >>> data.name, data.feature_names, data.classes
    ('songs', ['tempo'], [['calm', 'happy'], [1]])
    """
    lists = {"drop": drop, "text": text, "nominal": nominal, "numeric": numeric, "tags": tags}
    for parameter, names in {**lists, "missing_values": missing_values}.items():
        if isinstance(names, str):
            raise TypeError(f"`{parameter}={names!r}` is a string; give a list, as in {parameter}=[{names!r}].")
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    selection = Selection(
        targets, drop, text, nominal, numeric, tags, partial, path, stem_and_suffix(path)[0] if path else ""
    )
    if path is None:
        return _from_frame(source, selection)
    found = find_format(path, format)
    if found == "arff":
        return _from_arff(read_arff(path, encoding), selection)
    if found in ("excel", "parquet", "feather"):
        return _from_frame(read_frame(path, found, header, missing_values), selection)
    delimiter = "\t" if found == "tsv" and delimiter is None else delimiter
    table = TextTable(path, delimiter, header, encoding, missing_values, decimal)
    labels, inputs = selection.split(table.names)
    kinds = dict.fromkeys(numeric, "mostly number" if partial else "number")
    if typed is not None:
        kinds |= {name: "nominal" for name in table.names if name not in typed}
    kinds |= dict.fromkeys(labels, "label") | dict.fromkeys(nominal, "nominal")
    kinds |= dict.fromkeys(text, "text") | dict.fromkeys(tags, "tags")
    frame = table.read([*inputs, *labels], kinds, () if partial else labels)
    return selection.dataset(frame[inputs], frame[labels], inputs, table.notes)


def _from_frame(frame: Any, selection: Selection, relation: str | None = None) -> Dataset:
    """Return the data set of a frame; its index, and columns that are neither inputs nor labels, are ignored."""
    if not is_frame(frame):
        raise TypeError(
            f"`source` is a {type(frame).__name__}; it must be the path of a file or a data frame (pandas, polars, "
            "pyarrow, ...). Call collect() on a lazy frame."
        )
    names = [str(name) for name in column_names(frame)]
    if not names or not len(frame):
        raise DataError(f"the table has no {'rows' if names else 'columns'}.", path=selection.path)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"the column {twice!r} occurs more than once; rename one of them.", path=selection.path)
    own = dict(zip(names, column_names(frame), strict=True))
    labels, inputs = selection.split(names, relation)
    table = pd.DataFrame({name: _column(frame, own[name], selection) for name in (*inputs, *labels)})
    return selection.dataset(table[inputs], table[labels], inputs)


def _column(frame: Any, name: Any, selection: Selection) -> pd.Series:
    """Return one column of a frame, with its own type unless it is to be text, words or tags."""
    try:
        cells = as_pandas(frame, [name])[0].reset_index(drop=True)
    except (OverflowError, ValueError, KeyError, TypeError) as error:  # lists, an unknown time zone, ...
        raise DataError(f"column {str(name)!r} cannot be read: {error}", path=selection.path) from error
    if str(name) in selection.text or str(name) in selection.tags:
        return cells.astype("string").fillna("") if str(name) in selection.tags else cells.astype("string")
    if str(name) in selection.nominal and not isinstance(cells.dtype, pd.CategoricalDtype):
        codes, words = to_words(cells)
        return pd.Series(pd.Categorical(np.array([*words, None], dtype=object)[codes]))
    return cells


def _from_arff(table: ArffTable, selection: Selection) -> Dataset:
    """Return the data set of an ARFF file."""
    attributes = {attribute.name: attribute for attribute in table.attributes}
    names, data = list(attributes), table.data
    if isinstance(data, pd.DataFrame):
        return _from_frame(data, selection, table.relation)
    labels, inputs = selection.split(names, table.relation)
    numbers = {name for name in names if attributes[name].kind != "nominal"}
    if not {*selection.text}.isdisjoint(names) or not {*selection.nominal}.isdisjoint(numbers):
        message = "a sparse file holds numbers only, so `text` and `nominal` cannot be used."
        raise DataError(message, path=selection.path)
    for name in (*inputs, *labels):
        # In a table to be predicted, columns that are not inputs of the model do not matter.
        is_wide = name in inputs and not selection.partial and len(attributes[name].codes) > 2
        if is_wide or attributes[name].kind in ("string", "date"):
            raise DataError(
                f"column {name!r} is {attributes[name].kind}, with more than two values, which a sparse table cannot "
                f"hold. Leave it out with drop=[{name!r}], or make an attribute {{0, 1}} of each value.",
                path=selection.path,
            )
    by_column, position = sp.csc_array(data), {name: place for place, name in enumerate(names)}
    X = sp.csr_array(by_column[:, [position[name] for name in inputs]])
    Y = {}
    for name in labels:
        cells = by_column[:, [position[name]]].toarray()[:, 0]
        known = np.where(np.isnan(cells), -1, cells).astype(np.int64)
        declared = attributes[name].categories
        Y[name] = cells if declared is None else pd.Categorical.from_codes(known, declared)
    return selection.dataset(X, pd.DataFrame(Y, index=range(X.shape[0])), inputs)
