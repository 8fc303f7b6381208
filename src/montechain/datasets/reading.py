"""One function for all data sets: files of every format, OpenML, and data frames."""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial as with_arguments
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import fetch_openml, get_data_home

from montechain._columns import to_words
from montechain.datasets.arff import ArffTable, read_arff
from montechain.datasets.columns import MISSING_VALUES, ColumnTyper
from montechain.datasets.dataset import Dataset
from montechain.datasets.files import file_stem, find_format
from montechain.datasets.libsvm import read_libsvm
from montechain.datasets.selection import Selection, Targets
from montechain.datasets.tables import frame_columns, open_text, read_frame
from montechain.errors import DataError

__all__ = ["read_dataset"]

OPENML = re.compile(r"openml:(?P<name>[^/\s]+)(?:/(?P<version>[0-9]{1,9}))?\Z")
AS_WRITTEN = ("nominal", "text", "tags")
SPARSE_IS_NUMBERS = "a sparse file holds numbers, so there are no columns of `text`, `nominal` or `tags`."


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
    stray: str = "missing",
    name: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    missing_values: Collection[str] = MISSING_VALUES,
    encoding: str = "utf-8",
    decimal: str = ".",
    thousands: str | None = None,
    data_home: str | Path | None = None,
    partial: bool = False,
) -> Dataset:
    r"""Read a data set from a file, from OpenML or from a data frame.

    In a text file, whole numbers become int64; other numbers, and those with missing cells, float64; ``true`` and
    ``false`` bool; dates strings, from which `TableEncoder` makes dates; everything else a categorical whose categories
    are the sorted values. Codes such as ``007`` stay as they are written. Files and frames with types of their own keep
    them.

    Parameters
    ----------
    source : str, Path or data frame
        A file, whose suffix tells its format: ``.arff``; ``.csv``, ``.tsv``, ``.tab``, ``.data``; ``.libsvm``,
        ``.svm``, ``.txt`` (LIBSVM with several labels), each also with ``.gz`` or ``.bz2``; ``.xlsx``, ``.parquet``,
        ``.feather``. Or ``"openml:NAME"``, ``"openml:NAME/VERSION"``. Or a frame of pandas, polars, pyarrow or
        another library that narwhals supports.
    targets : list of str, list of int, int or path, optional
        The columns that are labels: their names, their positions, or how many columns, the first or, if negative, the
        last ones. For ARFF files also the path of a Mulan ``.xml``; without `targets`, the ``.xml`` beside the file or
        MEKA's ``-C`` decides. LIBSVM files and OpenML know their own labels. ``[]``: none.
    drop : collection of str or int
        Columns to leave out, such as identifiers, by name or position.
    text, nominal, numeric : collections of str
        Columns that are text, words or numbers whatever they look like. Sparse files hold numbers only.
    tags : collection of str
        Targets whose cells hold several tags, for `TableClassifier(tags=...)`: they are kept as written, and an empty
        cell has no tags, which is not the same as unknown.
    typed : collection of str, optional
        If given, only these columns of a table are typed, and the others are kept as written.
    stray : {"missing", "error"}, default="missing"
        What to do with a cell such as ``heavy`` in a column of numbers, if at most 5 % of the column are such, or the
        column is in `numeric`: treat it as missing, with a note, or raise an error with its line.
    name : str, optional
        Of the data set; by default that of the file.
    format : {"arff", "csv", "tsv", "excel", "parquet", "feather", "libsvm"}, optional
        The format of a file whose suffix does not tell it.
    delimiter : str, optional
        What separates the cells of a text file. Default: a tab for TSV, otherwise found from the first lines.
    header : bool, optional
        Whether the first non-blank line names the columns. By default it does, and a line that looks like data is
        refused. Columns without a name are called ``column_0``, ``column_1`` and so on.
    missing_values : collection of str
        Cells that mean "unknown", besides empty ones. If ``None`` or ``NA`` is a class, give the list without
        it.
    encoding : str, default="utf-8"
        Of a text file. A byte order mark is ignored.
    decimal, thousands : str
        How numbers are written: ``decimal=","`` for 1,5 and ``thousands=","`` for 1,234. Numbers with a comma are
        refused unless one of the two is given.
    data_home : str or Path, optional
        The folder of scikit-learn's cache, for OpenML.
    partial : bool, default=False
        For a source to be predicted: named columns that are absent are ignored, labels without a known value are
        left out, and every row is kept.

    Returns
    -------
    Dataset
        Its `notes` say what was found.

    Raises
    ------
    DataError
        If the file is missing or cannot be read. The message names the file and, where there is one, the line.

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
    for parameter, names in (
        ("drop", drop),
        ("text", text),
        ("nominal", nominal),
        ("numeric", numeric),
        ("tags", tags),
    ):
        if isinstance(names, str):
            raise TypeError(f"`{parameter}={names!r}` is a string; give a list, as in {parameter}=[{names!r}].")
    selection = Selection(targets, drop, text, nominal, partial, tags)
    if isinstance(source, str) and source.startswith("openml:"):
        return _from_openml(source, selection, name, data_home)
    if not isinstance(source, str | os.PathLike):
        return _from_frame(frame_columns(source), selection, None, {"name": name or "", "description": ""})
    path = Path(source)
    about = {"name": file_stem(path) if name is None else name, "description": f"Read from {path.name}."}
    found = find_format(path, format)
    if found == "arff":
        return _from_arff(read_arff(path, encoding=encoding), selection, path, about)
    if found == "libsvm":
        if text or nominal or tags:
            raise DataError(SPARSE_IS_NUMBERS, path=path)
        return read_libsvm(path, targets=targets, drop=drop, name=name, encoding=encoding, partial=partial)
    if header not in (None, True, False):
        raise ValueError(
            f"`header={header!r}` must be True, False or None (a header line that does not look like data)."
        )
    if found in ("excel", "parquet", "feather"):
        columns = frame_columns(read_frame(path, found, header, missing_values), path)
        return _from_frame(columns, selection, path, about)
    kinds = dict.fromkeys(numeric, "number")
    typer = ColumnTyper(kinds, missing_values, decimal, thousands, stray, path)
    table = open_text(path, found, delimiter, header, encoding, missing_values, decimal, thousands)
    labels, inputs = selection.split(table.names, path)
    if typed is not None:
        typer.kinds |= {name: "nominal" for name in table.names if name not in typed}
    typer.kinds |= dict.fromkeys(labels, "label") | dict.fromkeys(nominal, "nominal")
    typer.kinds |= dict.fromkeys(text, "text") | dict.fromkeys(tags, "tags")
    typer.line_of = table.line_of
    used = [*inputs, *labels]
    cells = table.read(used, [name for name in table.names if typer.kinds.get(name) in AS_WRITTEN])
    frame = pd.DataFrame({name: typer.column(cells[name], name) for name in used})
    return selection.dataset(frame[inputs], frame[labels], inputs, path, notes=typer.notes, **about)


def _from_frame(
    columns: Mapping[str, Callable[[], pd.Series]],
    selection: Selection,
    path: Path | None,
    about: dict[str, str],
    relation: str | None = None,
) -> Dataset:
    """Return the data set of columns that have types; those that are neither inputs nor labels are not looked at."""
    labels, inputs = selection.split(list(columns), path, relation)
    frame = {}
    for name in (*inputs, *labels):
        cells = columns[name]()
        if name in selection.text or name in selection.tags:
            cells = cells.astype("string")
            cells = cells.fillna("") if name in selection.tags else cells
        elif name in selection.nominal and not isinstance(cells.dtype, pd.CategoricalDtype):
            codes, words = to_words(cells)
            cells = pd.Series(pd.Categorical(np.array([*words, None], dtype=object)[codes]))
        frame[name] = cells
    table = pd.DataFrame(frame)
    return selection.dataset(table[inputs], table[labels], inputs, path, **about)


def _from_arff(table: ArffTable, selection: Selection, path: Path, about: dict[str, str]) -> Dataset:
    """Return the data set of an ARFF file.

    The inputs of a dense file are a frame. Those of a sparse file are a CSR array: a nominal input {0, 1} is that
    number; of any other, each declared value but the first, which omitted cells have, is a column of zeros and ones
    named ``attribute=value``.
    """
    attributes = {attribute.name: attribute for attribute in table.attributes}
    names, data = list(attributes), table.data
    if isinstance(data, pd.DataFrame):
        columns = {name: with_arguments(data.__getitem__, name) for name in names}
        return _from_frame(columns, selection, path, about, table.relation)
    labels, inputs = selection.split(names, path, table.relation)
    numbers = [name for name in (*inputs, *labels) if attributes[name].kind != "nominal"]
    if any(name in names for name in selection.text) or any(name in numbers for name in selection.nominal):
        raise DataError(SPARSE_IS_NUMBERS, path=path)
    for name in numbers:
        if attributes[name].kind != "numeric":
            raise DataError(
                f"column {name!r} is a {attributes[name].kind}, which a sparse table cannot hold. Leave it out with "
                f"drop=[{name!r}], or declare its values: @attribute {name} {{…}}.",
                path=path,
            )
    position = {name: j for j, name in enumerate(names)}
    by_column = sp.csc_array(data)
    plain = {name: j for j, name in enumerate(n for n in inputs if attributes[n].categories in (None, ("0", "1")))}
    blocks, places, feature_names = [by_column[:, [position[name] for name in plain]]], [], []
    for name in inputs:
        if name in plain:
            places.append(plain[name])
            feature_names.append(name)
            continue
        for code, category in enumerate((attributes[name].categories or ())[1:], 1):
            column = by_column[:, [position[name]]]
            # A missing cell is missing in all columns of its attribute.
            column.data = np.where(np.isnan(column.data), np.nan, column.data == code)
            places.append(len(plain) + len(blocks) - 1)
            feature_names.append(f"{name}={category}")
            blocks.append(column)
    if not places:
        raise DataError("no input has more than one declared value: there is nothing to learn from.", path=path)
    X = sp.csr_array(sp.hstack(blocks, format="csr")[:, places])
    X.eliminate_zeros()
    columns = {}
    for name in labels:
        cells = by_column[:, [position[name]]].toarray()[:, 0]
        codes = np.where(np.isnan(cells), -1, cells).astype(np.int64)
        declared = attributes[name].categories
        columns[name] = cells if declared is None else pd.Categorical.from_codes(codes, declared)
    return selection.dataset(X, pd.DataFrame(columns, index=range(X.shape[0])), feature_names, path, **about)


def _from_openml(address: str, selection: Selection, name: str | None, data_home: str | Path | None) -> Dataset:
    """Fetch a data set of openml.org, or take it from scikit-learn's cache, without identifiers."""
    match = OPENML.match(address)
    if match is None:
        raise ValueError(
            f'`source={address!r}` must be "openml:NAME" or "openml:NAME/VERSION", e.g. "openml:emotions/4".'
        )
    where = "scikit-learn's cache" if data_home is None else f"the cache {data_home}"
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred|Invalid cache")
            # Every column comes as an input: scikit-learn refuses targets of different kinds or with unknown cells.
            bunch = fetch_openml(
                match["name"],
                version="active" if match["version"] is None else int(match["version"]),
                target_column=None,
                data_home=data_home,
                parser="liac-arff",
                n_retries=1,
            )
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zlib.error) as error:
        # No network, OpenML's own refusals, or an answer or a cached file that is not what it should be.
        raise DataError(
            f"cannot be loaded from openml.org or {where}: {getattr(error, 'reason', error)}. Check its name and "
            "version at https://www.openml.org, and delete a damaged copy in the cache. Or download the file and read "
            'it: read_dataset("file.arff", targets=[...]).',
            path=address,
        ) from error
    columns, targets = bunch.feature_names, selection.targets
    if targets is None:
        declared = bunch.details.get("default_target_attribute") or ""
        targets = [declared] if declared in columns else [name.strip() for name in declared.split(",") if name.strip()]
        if not targets or not set(targets) <= set(columns):
            raise DataError(
                f"OpenML does not say which columns are labels (it says {declared!r}). Name them, e.g. "
                f"targets=[{columns[-1]!r}].",
                path=address,
            )
    # scikit-learn's frames lose declared classes, and its sparse arrays trailing empty rows. The file does not.
    file = urlparse(bunch.details["url"]).path.lstrip("/")
    path = Path(get_data_home(data_home)) / "openml" / "openml.org" / f"{file}.gz"
    table = read_arff(path)
    ignored = [attribute.name for attribute in table.attributes if attribute.name not in columns]
    selection = replace(selection, targets=targets, drop=[*selection.drop, *ignored])
    about = {"name": match["name"] if name is None else name, "description": f"{bunch.DESCR.strip()}\n{bunch.url}"}
    return _from_arff(table, selection, path, about)
