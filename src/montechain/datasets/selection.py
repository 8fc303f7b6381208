"""Which columns are labels, inputs or left out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn, TypeAlias
from xml.parsers import expat

import numpy as np
import pandas as pd
from pandas.api import types

from montechain._messages import nearest
from montechain.datasets.dataset import Dataset, label_table, shown
from montechain.datasets.files import file_stem, read_bytes
from montechain.errors import DataError

__all__ = ["Selection", "Targets", "choose_columns", "choose_targets", "read_mulan_labels", "table_dataset"]

Targets: TypeAlias = str | Path | int | Sequence[str | int] | None
"""How labels can be named: see `choose_targets`."""

LARGEST_LABEL_LIST = 1 << 24
"""Maximum size of a label list, in bytes."""

_MEKA_OPTION = re.compile(r"(?:^|[\s:])-C\s+(-?\d{1,9})(?!\S)", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """The columns that are labels, left out, text or words, as `read_dataset` takes them."""

    targets: Targets
    drop: Collection[str | int] = ()
    text: Collection[str | int] = ()
    nominal: Collection[str | int] = ()
    partial: bool = False

    def split(
        self, names: list[str], path: str | Path | None = None, relation: str | None = None
    ) -> tuple[list[str], list[str]]:
        """Return the names of the labels and of the inputs, or refuse names that do not fit the table."""
        targets, drop, text, nominal = self.targets, self.drop, self.text, self.nominal
        if self.partial:
            targets, drop, text, nominal = (present(given, names) for given in (targets, drop, text, nominal))
        labels = choose_targets(targets, names, path=path, relation=relation)
        dropped = choose_columns("drop", drop, names, labels, path)
        choose_columns("text", text, names, labels, path)
        choose_columns("nominal", nominal, names, (), path)
        inputs = [column for column in names if column not in {*labels, *dropped}]
        if not inputs:
            raise DataError("no column is left as an input: all are labels or dropped.", path=path)
        return labels, inputs

    def dataset(
        self, X: Any, labels: pd.DataFrame, feature_names: list[str], path: str | Path | None, **about: Any
    ) -> Dataset:
        """Return inputs and labels as a data set.

        Rows without a single known label are left out, since nothing can be learned from them; a note says how many.
        Of a partial table, labels without a known value are left out instead.
        """
        if self.partial:
            labels = labels.loc[:, labels.notna().any().to_numpy(dtype=bool)]
        Y, classes = label_table(labels, path=path)
        data = Dataset(X=X, Y=Y, feature_names=feature_names, classes=classes, **about)
        known = Y.notna().to_numpy().any(axis=1)
        if self.partial or known.all() or not data.label_names:
            return data
        lost = len(known) - int(known.sum())
        verb, whose = ("is", "its") if lost == 1 else ("are", "their")
        data = data.take(np.flatnonzero(known))
        return replace(
            data,
            X=data.X.reset_index(drop=True) if isinstance(data.X, pd.DataFrame) else data.X,
            Y=data.Y.reset_index(drop=True),
            notes=[f"{lost} of {len(known)} rows {verb} left out: all of {whose} labels are unknown."],
        )


def table_dataset(
    table: pd.DataFrame,
    selection: Selection,
    *,
    path: str | Path | None = None,
    relation: str | None = None,
    **about: Any,
) -> Dataset:
    """Make a data set of a typed table.

    >>> songs = pd.DataFrame({"id": [7, 8, 9], "tempo": [120.5, 98, 101], "mood": ["calm", None, "happy"]})
    >>> data = table_dataset(songs, Selection(["mood"], drop=["id"]), name="songs")
    >>> data.feature_names, data.label_names, data.classes
    (['tempo'], ['mood'], [['calm', 'happy']])
    >>> data.notes
    ['1 of 3 rows is left out: all of its labels are unknown.']
    """
    labels, inputs = selection.split(list(table.columns), path, relation)
    X = pd.DataFrame({name: _input(table[name], name in selection.text) for name in inputs}, index=table.index)
    return selection.dataset(X, table[labels], inputs, path, **about)


def _input(column: pd.Series, is_text: bool) -> pd.Series:
    """Return an input as `Dataset` promises: missing numbers are NaN."""
    if is_text:
        return column.astype("string")
    if isinstance(column.dtype, pd.BooleanDtype):
        return column.astype("Float64").astype(np.float64)
    is_nullable = types.is_extension_array_dtype(column.dtype) and types.is_any_real_numeric_dtype(column.dtype)
    return column.astype(np.float64) if is_nullable else column


def present(given: Any, names: Collection[str]) -> Any:
    """Return a list of columns without the names that the table does not have; anything else as it is.

    >>> present(["mood", "genre"], ["tempo", "mood"]), present(-2, ["tempo", "mood"])
    (['mood'], -2)
    """
    if isinstance(given, str | Path) or not isinstance(given, Iterable):
        return given
    return [column for column in given if not isinstance(column, str) or column in names]


def check_names(parameter: str, names: Any) -> None:
    """Refuse a single string where a list of names is expected."""
    if isinstance(names, str):
        raise TypeError(f"`{parameter}={names!r}` is a string; give a list of names, as in {parameter}=[{names!r}].")


def choose_columns(
    parameter: str,
    given: Collection[str | int],
    names: Sequence[str],
    labels: Collection[str] = (),
    path: str | Path | None = None,
) -> list[str]:
    """Return the names of columns given by name or position, none of which may be a label.

    >>> choose_columns("drop", ["colour"], ["color", "mood"])
    Traceback (most recent call last):
        ...
    montechain.errors.DataError: `drop`: there is no column 'colour'; did you mean 'color'?
    """
    check_names(parameter, given)
    chosen = [_find(column, names, parameter, path) for column in given]
    for name in chosen:
        if name in labels:
            raise ValueError(f"`{parameter}` names the column {name!r}, which is one of the targets.")
    return chosen


def choose_targets(
    targets: Targets, names: Sequence[str], *, path: str | Path | None = None, relation: str | None = None
) -> list[str]:
    """Return the names of the labels, in the order of the table.

    Parameters
    ----------
    targets : list of str or int, str, int, Path or None
        Names or positions of the labels (a negative position counts from the end), or one name; a number: the
        first n columns or, if negative, the last n; a Mulan label list: a path that ends in ``.xml``.
        None, for ARFF files: look for an ``.xml`` of the same name beside the file (without ``-train`` or ``-test``),
        then for MEKA's ``-C n`` in the relation, then for an ``.xml`` with the first part of the file's name, up to a
        hyphen.
    names : sequence of str
        The columns of the table.
    path : str or Path, optional
        The data file.
    relation : str, optional
        The relation of an ARFF file; None for other tables.

    Examples
    --------
    >>> columns = ["age", "mood", "pulse", "sleep"]
    >>> choose_targets(["sleep", "mood"], columns), choose_targets(-2, columns)
    (['mood', 'sleep'], ['pulse', 'sleep'])
    >>> choose_targets(None, columns, relation="patients: -C 2")
    ['age', 'mood']
    """
    names = list(names)
    if targets is None and relation is None:
        some = names[-2:]
        raise DataError(
            f"a table does not say which of its columns are labels. Name them, e.g. "
            f"targets=[{', '.join(map(repr, some))}], or say targets=-{len(some)} for the last {len(some)} (on the "
            f"command line: --targets {','.join(some)}). The columns are {shown(names)}.",
            path=path,
        )
    if targets is None:
        return _declared_targets(names, path, relation or "")
    if isinstance(targets, Path) or (isinstance(targets, str) and targets.lower().endswith(".xml")):
        return _listed_targets(Path(targets), names)
    if isinstance(targets, Integral) and not isinstance(targets, bool):
        n = int(targets)
        if n == 0 or abs(n) > len(names):
            raise DataError(
                f"`targets={n}` means the {'last' if n < 0 else 'first'} {abs(n)} columns, but there are {len(names)}. "
                "Try targets=1, or targets=-1 for the last column.",
                path=path,
            )
        return names[:n] if n > 0 else names[n:]
    if not isinstance(targets, str | Sequence | np.ndarray | pd.Index):
        raise TypeError(
            f"`targets={targets!r}` must be names or positions of columns, a number of columns, or an .xml file, "
            "e.g. targets=['mood', 'sleep'] or targets=-2."
        )
    chosen = [_find(target, names, "targets", path) for target in ([targets] if isinstance(targets, str) else targets)]
    if len(set(chosen)) < len(chosen):
        twice = next(name for name in chosen if chosen.count(name) > 1)
        raise ValueError(f"`targets` names the column {twice!r} twice.")
    return [name for name in names if name in set(chosen)]


def _find(column: Any, names: Sequence[str], parameter: str, path: str | Path | None) -> str:
    """Return the name of a column that is given by name or position."""
    if isinstance(column, Integral) and not isinstance(column, bool):
        if -len(names) <= int(column) < len(names):
            return names[int(column)]
        raise DataError(f"`{parameter}`: there is no column {column}; columns are 0 to {len(names) - 1}.", path=path)
    if column not in names:
        hint = nearest(column, [str(name) for name in names]) or f". Columns are {shown(names)}."
        raise DataError(f"`{parameter}`: there is no column {column!r}{hint}", path=path)
    return column


def _declared_targets(names: list[str], path: str | Path | None, relation: str) -> list[str]:
    """Return the labels that a list beside an ARFF file, or its relation, names."""
    stem = "" if path is None else file_stem(path)
    shorter = re.sub(r"-(train|test)$", "", stem, flags=re.IGNORECASE)
    parts = shorter.split("-")
    families = ["-".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    # MEKA's option comes after a list of the same name: filters copy it into files that it does not fit.
    option = _MEKA_OPTION.search(relation)
    for candidate in (stem, shorter, None, *families):
        xml = None if candidate is None or path is None else Path(path).with_name(f"{candidate}.xml")
        if xml is not None and xml.is_file():
            return _listed_targets(xml, names)
        if candidate is None and option:
            n = int(option.group(1))
            if n == 0 or abs(n) >= len(names):
                raise DataError(
                    f"the relation says -C {n}, but there are {len(names)} columns. Name the labels: targets=[…].",
                    path=path,
                )
            return choose_targets(n, names)
    raise DataError(
        "nothing says which columns are labels: there is no .xml file of the same name beside it, and no -C in the "
        f"relation. Name them, e.g. targets=[{names[-1]!r}], or say how many: targets=3 means the first three "
        "columns, targets=-3 the last three.",
        path=path,
    )


def _listed_targets(xml: Path, names: list[str]) -> list[str]:
    labels = read_mulan_labels(xml)
    for label in labels:
        if label not in names:
            hint = nearest(label, names) or "."
            raise DataError(f"names the label {label!r}, but the data file has no such column{hint}", path=xml)
    return [name for name in names if name in set(labels)]


def read_mulan_labels(path: str | Path) -> list[str]:
    """Read the names of the labels from a Mulan label list, an XML file.

    Document type declarations and entities are refused, since they can be harmful.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scenes.xml"
    ...     _ = path.write_text('<labels><label name="sound"><label name="voice"/></label></labels>')
    ...     read_mulan_labels(path)
    ['sound', 'voice']
    """
    content = read_bytes(path, LARGEST_LABEL_LIST + 1)
    if len(content) > LARGEST_LABEL_LIST:
        raise DataError("is too large for a list of labels.", path=path)
    elements: list[tuple[int, str, str]] = []
    # Names come as "namespace name"; files with and without Mulan's namespace are in use.
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(message: str, line: int) -> NoReturn:
        raise DataError(message, path=path, line=line)

    def start(name: str, attributes: dict[str, str]) -> None:
        elements.append((parser.CurrentLineNumber, name.rpartition(" ")[2], attributes.get("name", "")))

    def doctype(*declaration: Any) -> NoReturn:
        message = "has a document type declaration, which is refused, since entities can be harmful. Remove it."
        refuse(message, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        refuse(f"is not well-formed XML: {expat.ErrorString(error.code)}.", error.lineno)
    except DataError:
        raise
    except (LookupError, ValueError) as error:
        refuse(f"has an encoding that cannot be read: {error}.", 1)
    labels: dict[str, None] = {}
    for position, (line, element, label) in enumerate(elements):
        expected = "label" if position else "labels"
        if element != expected:
            refuse(f"<{element[:40]}> where <{expected}> is expected: this is not a Mulan label list.", line)
        if position and (not label or label in labels):
            refuse(f"the label {label!r} is named twice." if label else 'a <label> has no name="…".', line)
        if position:
            labels[label] = None
    if not labels:
        raise DataError("names no label.", path=path)
    return list(labels)
