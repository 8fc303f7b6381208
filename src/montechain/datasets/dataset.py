"""The shape of every data set: which columns are labels or inputs, and how columns become labels with classes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api import types

from montechain._messages import nearest
from montechain._rows import take_rows
from montechain.datasets.files import read_bytes, stem_and_suffix
from montechain.datasets.tables import DATES_AS_LABELS
from montechain.errors import DataError

MANY = 100
"""Whole numbers count as measurements if more than this many are distinct, on average less than twice each."""
LARGEST_WHOLE = 2**53
"""Above this, a float cannot represent every integer."""

WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


class Split(NamedTuple):
    """A training part and a test part."""

    train: Dataset
    test: Dataset


@dataclass(frozen=True)
class Dataset:
    """A table of inputs and a table of labels, row by row.

    Attributes
    ----------
    X : data frame or CSR array of shape (n, d)
        The inputs. In a frame, the types say what a column is: numbers, datetime64, categoricals (with the declared
        categories, if the file declares them), or strings for text and for dates written as such; missing cells are
        NaN, NaT or NA. Sparse files give a CSR array. `TableEncoder` turns either into numbers.
    Y : data frame of shape (n, L)
        One column per label, in the file's order. Classes that are whole numbers are integers (nullable
        where a label has unknown cells); others are categoricals with the declared categories.
    feature_names : list of str
        Names of the inputs.
    classes : list of L lists
        The classes declared for each label or, if none are declared, those that occur.
    name : str
    notes : list of str
        What reading the data found, in plain sentences: stray cells, dates, rows left out.
    split : Split or None
        The training and test part that the data were published with.
    """

    X: pd.DataFrame | sp.csr_array
    Y: pd.DataFrame
    feature_names: list[str]
    classes: list[list[Any]]
    name: str = ""
    notes: list[str] = field(default_factory=list)
    split: Split | None = field(default=None, repr=False)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self.Y.columns)

    def take(self, rows: Sequence[int] | np.ndarray) -> Dataset:
        """Return some of the rows, by position."""
        rows = np.asarray(rows)
        return replace(self, X=take_rows(self.X, rows), Y=self.Y.iloc[rows], split=None)

    def to_frame(self) -> pd.DataFrame:
        """Return inputs and labels as one table, labels last."""
        X = self.X
        if not isinstance(X, pd.DataFrame):
            X = pd.DataFrame(X.toarray(), columns=self.feature_names, index=self.Y.index)
        return pd.concat([X, self.Y], axis=1)


def label_table(columns: pd.DataFrame, *, path: str | Path | None = None) -> tuple[pd.DataFrame, list[list[Any]]]:
    """Return label columns in the types that `Dataset.Y` has, and the classes of each; numbers may be written as text.

    A label that is continuous or entirely unknown is a `DataError`.
    """
    pairs = {name: _label(columns[name], name, path) for name in columns}
    Y = pd.DataFrame({name: label for name, (label, _) in pairs.items()}, index=columns.index)
    return Y, [classes for _, classes in pairs.values()]


def _label(series: pd.Series, name: Any, path: str | Path | None) -> tuple[Any, list[Any]]:
    """Return one label and its classes."""
    if series.isna().all():
        raise DataError(f"the target {name!r} has no known value: leave it out.", path=path)
    if types.is_datetime64_any_dtype(series.dtype):
        raise DataError(DATES_AS_LABELS.format(name=name, word=str(series.dropna().iloc[0])), path=path)
    unknown = series.isna().to_numpy(dtype=bool)
    declared = None
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        values = (series.fillna(0) if unknown.any() else series).to_numpy()
    else:
        try:
            words = series.array if isinstance(series.dtype, pd.CategoricalDtype) else pd.Categorical(series)
        except TypeError as error:
            raise DataError(f"the target {name!r} does not hold classes: {error}.", path=path) from error
        declared = words.categories.tolist()
        if all(isinstance(word, str) and WHOLE.fullmatch(word) for word in declared):
            declared = [int(word) for word in declared]
        elif types.is_bool_dtype(words.categories) or not types.is_numeric_dtype(words.categories):
            return words, declared
        values = np.array([*declared, 0])[words.codes]
    classes = np.unique(values[~unknown]) if declared is None else np.sort(declared)
    limit = LARGEST_WHOLE if classes.dtype.kind == "f" else 2**63
    broken = (classes != np.floor(classes)) | (np.abs(classes) >= limit)
    if broken.any() or (declared is None and len(classes) > max(MANY, np.sum(~unknown) / 2)):
        raise DataError(
            f"the target {name!r} is continuous (it holds {classes[np.argmax(broken)]:g}): a target has classes. Bin "
            "it first, for example with pandas.cut, or leave it out.",
            path=path,
        )
    integers = values.astype(np.int64)
    label = pd.arrays.IntegerArray(integers, unknown) if unknown.any() else integers
    return label, classes.astype(np.int64).tolist()


Targets: TypeAlias = str | Path | int | Sequence[str | int] | None
"""How labels can be named: see `read_dataset`."""

LARGEST_LABEL_LIST = 1 << 24
"""Maximum size of a label list, in bytes."""
SHOWN = 12
"""Maximum number of columns listed in an error."""

_MEKA_OPTION = re.compile(r"(?:^|[\s:])-C\s+(-?\d{1,9})(?!\S)", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """The columns that are labels, left out, text, words, numbers or tags, as `read_dataset` takes them.

    `path` is the file, for messages; `name` that of the data set.
    """

    targets: Targets
    drop: Collection[str | int]
    text: Collection[str]
    nominal: Collection[str]
    numeric: Collection[str]
    tags: Collection[str]
    partial: bool
    path: Path | None
    name: str

    def split(self, names: list[str], relation: str | None = None) -> tuple[list[str], list[str]]:
        """Return the names of the labels and of the inputs, or refuse names that do not fit the table."""
        self._choose("tags", names)  # before the targets, so that a misspelt name is told as a tag
        labels = choose_targets(self._present(self.targets, names), names, path=self.path, relation=relation)
        dropped = self._choose("drop", names, labels)
        self._choose("text", names, labels)
        nominal, numeric = self._choose("nominal", names), self._choose("numeric", names)
        if both := [name for name in nominal if name in numeric]:
            raise ValueError(f"column {both[0]!r} is in `nominal` and in `numeric`: name it in one of them.")
        self._choose("tags", labels)
        inputs = [column for column in names if column not in {*labels, *dropped}]
        if not inputs:
            raise DataError("no column is left as an input: all are targets or dropped.", path=self.path)
        return labels, inputs

    def dataset(self, X: Any, labels: pd.DataFrame, feature_names: list[str], notes: Collection[str] = ()) -> Dataset:
        """Return inputs and labels as a data set.

        Rows without a single known label are left out, since nothing can be learned from them; a note says how many.
        Of a partial table, labels without a known value are left out instead.
        """
        known = labels.notna().to_numpy(dtype=bool)
        rows, notes = known.any(axis=1), [*notes]
        if self.partial:
            labels = labels.loc[:, known.any(axis=0)]
        elif not labels.empty and not rows.all():
            X = X[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[np.flatnonzero(rows)]
            labels = labels[rows].reset_index(drop=True)
            notes.append(f"{np.sum(~rows)} of {len(rows)} rows were left out because all of their targets are missing.")
        Y, classes = label_table(labels, path=self.path)
        return Dataset(X, Y, feature_names, classes, self.name, notes)

    def _choose(self, parameter: str, names: list[str], labels: Collection[str] = ()) -> list[str]:
        """Return the names of the columns of one parameter, none of which may be one of `labels`."""
        given = self._present(getattr(self, parameter), names)
        chosen = [_find(column, names, parameter, self.path) for column in given]
        if label := next((name for name in chosen if name in labels), None):
            raise ValueError(f"`{parameter}` names the column {label!r}, which is one of the targets.")
        return chosen

    def _present(self, given: Any, names: list[str]) -> Any:
        """Return a list of columns, for a partial table without the names that it does not have."""
        if not self.partial or isinstance(given, str | Path) or not isinstance(given, Iterable):
            return given
        return [column for column in given if not isinstance(column, str) or column in names]


def choose_targets(
    targets: Targets, names: list[str], *, path: str | Path | None = None, relation: str | None = None
) -> list[str]:
    """Return the names of the labels, in the order of the table; `relation` is that of an ARFF file."""
    if targets is None:
        return _declared_targets(names, path, relation)
    given: Any = [targets] if isinstance(targets, str) else targets
    if isinstance(targets, Path) or (isinstance(targets, str) and targets.lower().endswith(".xml")):
        given, path = read_mulan_labels(targets), targets
    if isinstance(targets, Integral) and not isinstance(targets, bool):
        n = int(targets)
        if n == 0 or abs(n) > len(names):
            raise DataError(
                f"`targets={n}` means the {'last' if n < 0 else 'first'} {abs(n)} columns, but there are {len(names)}. "
                "Try targets=1, or targets=-1 for the last column.",
                path=path,
            )
        return names[:n] if n > 0 else names[n:]
    chosen = [_find(target, names, "targets", path) for target in given]
    return [name for name in names if name in set(chosen)]


def _find(column: Any, names: Sequence[str], parameter: str, path: str | Path | None) -> str:
    """Return the name of a column that is given by name or position."""
    if isinstance(column, Integral) and not isinstance(column, bool):
        if -len(names) <= int(column) < len(names):
            return names[int(column)]
        raise DataError(f"`{parameter}`: column {column} not found; columns are 0 to {len(names) - 1}.", path=path)
    if column not in names:
        hint = nearest(column, names) or f". Columns are {_shown(names)}."
        raise DataError(f"`{parameter}`: column {column!r} not found{hint}", path=path)
    return column


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")


def _declared_targets(names: list[str], path: str | Path | None, relation: str | None) -> list[str]:
    """Return the labels that a list beside an ARFF file, or MEKA's option in its relation, names.

    The list has the file's name, or that without ``-train`` or ``-test``. It comes first, because filters copy the
    option into files that it does not fit.
    """
    example = f"Name them, e.g. targets={names[-2:]}, or use targets=-2 for the last two. Columns are {_shown(names)}."
    if relation is None:
        raise DataError(f"a table does not say which of its columns are targets. {example}", path=path)
    stem = "" if path is None else stem_and_suffix(path)[0]
    for beside in (stem, re.sub(r"-(train|test)$", "", stem, flags=re.IGNORECASE)):
        if path is not None and (xml := Path(path).with_name(f"{beside}.xml")).is_file():
            return choose_targets(xml, names)
    if option := _MEKA_OPTION.search(relation):
        return choose_targets(int(option.group(1)), names, path=path)
    raise DataError(f"neither an .xml file of the same name nor -C in the relation names labels. {example}", path=path)


def read_mulan_labels(path: str | Path) -> list[str]:
    """Read the names of the labels from a Mulan label list, an XML file, with or without Mulan's namespace."""
    content = read_bytes(path, LARGEST_LABEL_LIST + 1)
    if len(content) > LARGEST_LABEL_LIST or b"<!DOCTYPE" in content.replace(b"\0", b""):  # entities can be harmful
        raise DataError("is too large for a list of labels, or has a document type declaration: remove it.", path=path)
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise DataError(f"is not well-formed XML: {error}.", path=path, line=error.position[0]) from error
    except (LookupError, ValueError) as error:
        raise DataError(f"has an encoding that cannot be read: {error}.", path=path) from error
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    labels = [element.get("name", "") for element in root.iter()][1:]
    if tags != ["labels", *["label"] * len(labels)] or "" in labels or not 0 < len(labels) == len(set(labels)):
        message = 'this is not a Mulan label list: it must hold <labels>, and in it a <label name="…"> for each label.'
        raise DataError(message, path=path)
    return labels
