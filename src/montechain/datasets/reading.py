"""One door for data sets: files of every format, OpenML, and data frames."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from montechain.datasets.arff_dataset import dataset_from_arff
from montechain.datasets.columns import MISSING_VALUES
from montechain.datasets.dataset import Dataset
from montechain.datasets.formats import file_stem, find_format
from montechain.datasets.labels import Targets
from montechain.datasets.libsvm import dataset_from_libsvm
from montechain.datasets.openml import PREFIX, dataset_from_openml
from montechain.datasets.table_dataset import choose_columns, labelled_rows, table_dataset
from montechain.datasets.tables import check_names, read_table
from montechain.errors import DataError

__all__ = ["read_dataset"]


def read_dataset(
    source: Any,
    *,
    targets: Targets = None,
    drop: Collection[str | int] = (),
    text: Collection[str] = (),
    nominal: Collection[str] = (),
    typed: Collection[str] | None = None,
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
        ``.svm``, ``.txt`` (LIBSVM with several labels), all of them also with ``.gz`` or ``.bz2`` behind;
        ``.parquet``, ``.feather``. Or ``"openml:NAME"``, ``"openml:NAME/VERSION"``. Or a frame of pandas, polars,
        pyarrow or another library that narwhals reads.
    targets : list of str, list of int, int or path, optional
        The columns that are labels: their names, their positions, or how many are the first (negative: the last)
        columns. For ARFF files also the path of Mulan's ``.xml``; without `targets`, the ``.xml`` beside the file or
        MEKA's ``-C`` says it. LIBSVM files and OpenML say it themselves.
    drop : collection of str or int
        Columns to leave out, such as identifiers, by name or position.
    text : collection of str
        Columns that are text.
    nominal : collection of str
        Columns that are nominal whatever they look like.
    typed : collection of str, optional
        If given, only these columns of a text table are looked at, and the others are kept as written.
    name : str, optional
        Of the data set; by default that of the file.
    format : {"arff", "csv", "tsv", "parquet", "feather", "libsvm"}, optional
        The format of a file whose suffix does not tell it.
    delimiter, header, missing_values, encoding, decimal, thousands
        How a table is written: see `read_table`.
    data_home : str or Path, optional
        The folder of scikit-learn's cache, for OpenML.
    partial : bool, default=False
        Whether the source need not have all of it, as one that predictions are wanted for: columns that are named
        but absent are ignored, labels of which nothing is known are left out, and every row is kept.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the file is missing, or cannot be read; it names the file, and the line where there is one.

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
    if isinstance(source, str) and source.startswith(PREFIX):
        return dataset_from_openml(
            source,
            targets=targets,
            drop=drop,
            text=text,
            nominal=nominal,
            name=name,
            data_home=data_home,
            partial=partial,
        )
    is_file = isinstance(source, str | os.PathLike)
    found = find_format(Path(source), format) if is_file else "frame"
    path = Path(source) if is_file else None
    if path is not None and found == "arff":
        data = dataset_from_arff(
            path,
            targets=targets,
            drop=drop,
            text=text,
            nominal=nominal,
            name=name,
            encoding=encoding,
            partial=partial,
        )
        return data if partial else labelled_rows(data)
    if path is not None and found == "libsvm":
        for parameter, names in (("text", text), ("nominal", nominal)):
            if names:
                raise DataError(f"a LIBSVM file holds numbers, so there is no column for `{parameter}`.", path=path)
        return dataset_from_libsvm(path, targets=targets, drop=drop, name=name, encoding=encoding, partial=partial)
    left_out = [column for column in drop if isinstance(column, str)]  # need not make sense
    table = read_table(
        source,
        format=format,
        delimiter=delimiter,
        header=header,
        missing_values=missing_values,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        typed=typed,
        text=text,
        nominal=[*nominal, *left_out],
    )
    if not partial:
        choose_columns("nominal", nominal, list(table.columns), path=path)
    stem = "" if path is None else file_stem(path)
    return table_dataset(
        table,
        targets=targets,
        drop=drop,
        text=text,
        name=stem if name is None else name,
        description="" if path is None else f"Read from {path.name}.",
        path=path,
        partial=partial,
    )
