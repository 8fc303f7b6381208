"""One function for all data sets: files of every format, OpenML, and data frames."""

from __future__ import annotations

import os
import re
import warnings
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlparse

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import fetch_openml, get_data_home

from montechain.datasets.arff import ArffTable, Attribute, read_arff
from montechain.datasets.columns import MISSING_VALUES, ColumnTyper, Kind
from montechain.datasets.dataset import Dataset
from montechain.datasets.files import file_stem, find_format
from montechain.datasets.libsvm import read_libsvm
from montechain.datasets.selection import Selection, Targets, check_names, table_dataset
from montechain.datasets.tables import make_typer, typed_table
from montechain.errors import DataError

__all__ = ["read_dataset"]

OPENML = re.compile(r"openml:(?P<name>[^/\s]+)(?:/(?P<version>[0-9]{1,9}))?\Z")


def read_dataset(
    source: Any,
    *,
    targets: Targets = None,
    drop: Collection[str | int] = (),
    text: Collection[str] = (),
    nominal: Collection[str] = (),
    numeric: Collection[str] = (),
    dates: Mapping[str, str] | Collection[str] = (),
    typed: Collection[str] | None = None,
    stray: str = "missing",
    name: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    missing_values: Iterable[str] = MISSING_VALUES,
    encoding: str = "utf-8",
    decimal: str = ".",
    thousands: str | None = None,
    data_home: str | Path | None = None,
    partial: bool = False,
) -> Dataset:
    r"""Read a data set from a file, from OpenML or from a data frame.

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
        MEKA's ``-C`` decides. LIBSVM files and OpenML know their own labels.
    drop : collection of str or int
        Columns to leave out, such as identifiers, by name or position.
    typed : collection of str, optional
        If given, only these columns of a table are typed, and the others are kept as written.
    name : str, optional
        Of the data set; by default that of the file.
    text, nominal, numeric, dates, stray
        What columns are, and what to do with cells that do not fit: see `read_table`. Sparse files hold numbers only.
    format, delimiter, header, missing_values, encoding, decimal, thousands
        How the file is written: see `read_table`. `format` may also be "arff" or "libsvm".
    data_home : str or Path, optional
        The folder of scikit-learn's cache, for OpenML.
    partial : bool, default=False
        For a source to be predicted: named columns that are absent are ignored, labels of which nothing is known
        are left out, and every row is kept.

    Returns
    -------
    Dataset
        Its `notes` say what was found, and its `date_formats` how dates are written.

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
    for parameter, names in (("drop", drop), ("text", text), ("nominal", nominal)):
        check_names(parameter, names)
    selection = Selection(targets, drop, text, nominal, partial)
    if isinstance(source, str) and source.startswith("openml:"):
        return _from_openml(source, selection, name, data_home)
    path = Path(source) if isinstance(source, str | os.PathLike) else None
    about = {"name": name or "", "description": ""}
    if path is not None:
        about = {"name": file_stem(path) if name is None else name, "description": f"Read from {path.name}."}
        found = find_format(path, format)
        if found == "arff":
            return _from_arff(read_arff(path, encoding=encoding), selection, path, about)
        if found == "libsvm":
            if text or nominal:
                raise DataError(
                    "a LIBSVM file holds numbers, so there are no columns of `text` or `nominal`.", path=path
                )
            return read_libsvm(path, targets=targets, drop=drop, name=name, encoding=encoding, partial=partial)

    def plan(names: list[str]) -> dict[str, Kind]:
        labels, inputs = selection.split(names, path)
        kinds: dict[str, Kind] = {name: "nominal" for name in names if typed is not None and name not in typed}
        kinds |= dict.fromkeys(labels, "label")
        return kinds | {name: "nominal" for name in names if name not in {*labels, *inputs}}  # need not make sense

    numbers = {"missing_values": missing_values, "decimal": decimal, "thousands": thousands, "stray": stray}
    typer = make_typer(text=text, nominal=nominal, numeric=numeric, dates=dates, plan=plan, **numbers)
    table = typed_table(source, typer, format=format, delimiter=delimiter, header=header, encoding=encoding)
    data = table_dataset(table, selection, path=path, **about)
    return replace(data, notes=[*typer.notes, *data.notes], date_formats=typer.date_formats)


def _from_arff(table: ArffTable, selection: Selection, path: Path, about: dict[str, str]) -> Dataset:
    """Return the data set of an ARFF file.

    The inputs of a dense file are a frame. Those of a sparse file are a CSR array: a nominal input {0, 1} is that
    number; of any other, each declared value but the first, which omitted cells have, is a column of zeros and ones
    named ``attribute=value``.
    """
    if isinstance(table.data, pd.DataFrame):
        typer = ColumnTyper(kinds={str(name): "nominal" for name in selection.nominal})
        columns = {}
        for attribute in table.attributes:
            if attribute.name in selection.text or attribute.kind == "nominal":
                continue
            if attribute.name in selection.nominal:
                columns[attribute.name] = typer.from_typed(table.data[attribute.name], attribute.name)
            elif attribute.kind == "date":
                columns[attribute.name] = typer.from_strings(table.data[attribute.name], attribute.name)
        return table_dataset(table.data.assign(**columns), selection, path=path, relation=table.relation, **about)
    attributes = {attribute.name: attribute for attribute in table.attributes}
    names = list(attributes)
    labels, inputs = selection.split(names, path, table.relation)
    words = [
        *selection.text,
        *(name for name in selection.nominal if name in names and attributes[name].kind != "nominal"),
    ]
    if any(name in names for name in words):
        raise DataError("a sparse file holds numbers, so there are no columns of `text` or `nominal`.", path=path)
    for name in (*inputs, *labels):
        if attributes[name].kind in ("string", "date"):
            raise DataError(
                f"column {name!r} is a {attributes[name].kind}, which a sparse table cannot hold. Leave it out with "
                f"drop=[{name!r}], or declare its values: @attribute {name} {{…}}.",
                path=path,
            )
    feature_names = [_column_names(attributes[name]) for name in inputs]
    widths = np.array([len(columns) for columns in feature_names], dtype=np.int64)
    if not widths.any():
        raise DataError("no input has more than one declared value: there is nothing to learn from.", path=path)
    X = table.data[:, [names.index(name) for name in inputs]]
    X = X if (widths == 1).all() else _spread(X, widths)
    cells = table.data[:, np.array([names.index(name) for name in labels], dtype=np.int64)].toarray()
    columns = {name: _with_classes(cells[:, j], attributes[name]) for j, name in enumerate(labels)}
    Y = pd.DataFrame(columns, index=range(len(cells)))
    return selection.dataset(X, Y, [name for group in feature_names for name in group], path, **about)


def _column_names(attribute: Attribute) -> list[str]:
    categories = attribute.categories
    if categories is None or categories == ("0", "1"):
        return [attribute.name]
    return [f"{attribute.name}={category}" for category in categories[1:]]


def _with_classes(cells: np.ndarray, attribute: Attribute) -> Any:
    if attribute.categories is None:
        return cells
    return pd.Categorical.from_codes(np.where(np.isnan(cells), -1, cells).astype(np.int64), attribute.categories)


def _spread(X: sp.csr_array, widths: np.ndarray) -> sp.csr_array:
    """Give each code above 0 of a column its own column of zeros and ones; `widths` are the numbers of columns."""
    first = np.concatenate([[0], np.cumsum(widths)])
    cells = X.tocoo()
    width, missing = widths[cells.col], np.isnan(cells.data)
    copies = np.where(missing, width, np.minimum(width, 1))  # a missing cell is missing in all columns of its attribute
    row, column, value, width, missing = (
        np.repeat(a, copies) for a in (cells.row, cells.col, cells.data, width, missing)
    )
    rank = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    is_code = (width > 1) & ~missing
    place = first[column] + np.where(is_code, np.nan_to_num(value).astype(np.int64) - 1, rank)
    spread = np.where(is_code, 1.0, value)
    return sp.csr_array(sp.coo_array((spread, (row, place)), shape=(X.shape[0], int(first[-1]))))


def _from_openml(address: str, selection: Selection, name: str | None, data_home: str | Path | None) -> Dataset:
    """Fetch a data set of openml.org, or take it from scikit-learn's cache, without identifiers."""
    match = OPENML.match(address)
    if match is None:
        raise ValueError(
            f'`source={address!r}` must be "openml:NAME" or "openml:NAME/VERSION", e.g. "openml:emotions/4".'
        )
    version = match["version"]
    bunch = _fetch(match["name"], "active" if version is None else int(version), data_home, address)
    # scikit-learn's frames lose declared classes, and its sparse arrays trailing empty rows. The file does not.
    file = urlparse(bunch.details["url"]).path.lstrip("/")
    path = Path(get_data_home(data_home)) / "openml" / "openml.org" / f"{file}.gz"
    if not path.is_file():
        raise DataError(f"scikit-learn did not store the file at {path}; read it from where it is.", path=address)
    table = read_arff(path)
    ignored = [attribute.name for attribute in table.attributes if attribute.name not in bunch.feature_names]
    targets = _openml_targets(bunch, address) if selection.targets is None else selection.targets
    selection = replace(selection, targets=targets, drop=[*selection.drop, *ignored])
    about = {"name": match["name"] if name is None else name, "description": f"{bunch.DESCR.strip()}\n{bunch.url}"}
    return _from_arff(table, selection, path, about)


def _fetch(name: str, version: int | str, data_home: str | Path | None, address: str) -> Any:
    where = "scikit-learn's cache" if data_home is None else f"the cache {data_home}"
    try:
        with warnings.catch_warnings():
            # The error below says what matters about a network error, once.
            warnings.filterwarnings("ignore", message="A network error occurred|Invalid cache")
            # Every column comes as an input: scikit-learn refuses targets of different kinds or with unknown cells.
            return fetch_openml(
                name, version=version, target_column=None, data_home=data_home, parser="liac-arff", n_retries=1
            )
    except (URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"openml.org cannot be reached ({reason}), and {where} does not hold the data set undamaged. Try again "
            'later, or download the file by hand and read it, e.g. read_dataset("file.arff", targets=[...]).',
            path=address,
        ) from error
    except (ValueError, KeyError, TypeError, IndexError, OSError, EOFError, zlib.error) as error:
        # Not only OpenML's own refusals, but also an answer or a cached file that is not what it should be.
        raise DataError(
            f"the data set cannot be loaded: {error}. Look for its name and version at https://www.openml.org; if it "
            f"was fetched before, the copy in {where} may be damaged: delete it.",
            path=address,
        ) from error


def _openml_targets(bunch: Any, address: str) -> list[str]:
    columns = bunch.feature_names
    declared = bunch.details.get("default_target_attribute") or ""
    targets = [declared] if declared in columns else [name.strip() for name in declared.split(",") if name.strip()]
    if not targets or not set(targets) <= set(columns):
        raise DataError(
            f"OpenML does not say which columns are labels (it says {declared!r}). Name them, e.g. "
            f"targets=[{columns[-1]!r}].",
            path=address,
        )
    return targets
