"""Which columns are labels, inputs or left out, and what the classes of a label are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, NoReturn, TypeAlias
from xml.parsers import expat

import numpy as np
import pandas as pd
from pandas.api import types

from montechain._messages import nearest
from montechain.datasets.dataset import Dataset, label_table, shown
from montechain.datasets.files import file_stem, open_binary, read_chunk
from montechain.errors import DataError

__all__ = ["Targets", "choose_columns", "read_mulan_labels", "resolve_targets", "table_dataset"]

Targets: TypeAlias = str | Path | int | Sequence[str | int] | None
"""How labels can be named: see `resolve_targets`."""

LARGEST_LABEL_LIST = 1 << 24
"""Maximum size of a label list, in bytes."""

_MEKA_OPTION = re.compile(r"(?:^|[\s:])-C\s+(-?\d{1,9})(?!\S)", re.ASCII)


def table_dataset(
    table: pd.DataFrame,
    *,
    targets: Targets,
    drop: Collection[str | int] = (),
    text: Collection[str | int] = (),
    nominal: Collection[str | int] = (),
    name: str = "",
    description: str = "",
    path: str | Path | None = None,
    relation: str | None = None,
    partial: bool = False,
) -> Dataset:
    """Make a data set of a typed table; `read_dataset` describes the parameters.

    Rows without a single known label are left out, since nothing can be learned from them; a note says how many.

    >>> songs = pd.DataFrame({"id": [7, 8, 9], "tempo": [120.5, 98, 101], "mood": ["calm", None, "happy"]})
    >>> data = table_dataset(songs, targets=["mood"], drop=["id"], name="songs")
    >>> data.feature_names, data.label_names, data.classes
    (['tempo'], ['mood'], [['calm', 'happy']])
    >>> data.notes
    ['1 of 3 rows is left out: all of its labels are unknown.']
    """
    labels, inputs = split_columns(list(table.columns), targets, drop, text, nominal, path, relation, partial)
    texts = {column for column in text if column in inputs}
    X = pd.DataFrame({column: _input(table[column], column in texts) for column in inputs}, index=table.index)
    Y, classes = known_labels(table[labels], partial=partial, path=path)
    data = Dataset(X=X, Y=Y, feature_names=inputs, classes=classes, name=name, description=description)
    return data if partial else labelled_rows(data)


def split_columns(
    names: list[str],
    targets: Targets,
    drop: Collection[str | int],
    text: Collection[str | int],
    nominal: Collection[str | int],
    path: str | Path | None,
    relation: str | None = None,
    partial: bool = False,
) -> tuple[list[str], list[str]]:
    """Return the names of the labels and of the inputs, or refuse names that do not fit the table."""
    if partial:
        targets, drop, text, nominal = (present(given, names) for given in (targets, drop, text, nominal))
    labels = choose_targets(targets, names, path=path, relation=relation)
    dropped = choose_columns("drop", drop, names, labels, path)
    choose_columns("text", text, names, labels, path)
    choose_columns("nominal", nominal, names, (), path)
    inputs = [column for column in names if column not in {*labels, *dropped}]
    if not inputs:
        raise DataError("no column is left as an input: all are labels or dropped.", path=path)
    return labels, inputs


def known_labels(
    columns: pd.DataFrame, *, partial: bool, path: str | Path | None
) -> tuple[pd.DataFrame, list[list[Any]]]:
    """Return the labels and their classes; of a partial table, without labels of which nothing is known."""
    if partial:
        columns = columns.loc[:, columns.notna().any().to_numpy(dtype=bool)]
    return label_table(columns, path=path) if columns.shape[1] else (columns, [])


def labelled_rows(data: Dataset) -> Dataset:
    """Return the rows with at least one known label; a note says how many others there are."""
    if not data.label_names:
        return data
    notes = list(data.notes)
    known = data.Y.notna().to_numpy().any(axis=1)
    lost = len(known) - int(known.sum())
    if lost:
        verb, whose = ("is", "its") if lost == 1 else ("are", "their")
        notes.append(f"{lost} of {len(known)} rows {verb} left out: all of {whose} labels are unknown.")
        data = data.take(np.flatnonzero(known))
        X = data.X.reset_index(drop=True) if isinstance(data.X, pd.DataFrame) else data.X
        data = replace(data, X=X, Y=data.Y.reset_index(drop=True))
    return replace(data, notes=notes)


def present(given: Any, names: Collection[str]) -> Any:
    """Return a list of columns without the names that the table does not have; anything else as it is.

    >>> present(["mood", "genre"], ["tempo", "mood"]), present(-2, ["tempo", "mood"])
    (['mood'], -2)
    """
    if isinstance(given, str | Path) or not isinstance(given, Iterable):
        return given
    return [column for column in given if not isinstance(column, str) or column in names]


def choose_targets(
    targets: Targets, names: list[str], *, path: str | Path | None = None, relation: str | None = None
) -> list[str]:
    """Return the names of the labels, in the order of the table; `relation` is that of an ARFF file.

    >>> choose_targets(-2, ["tempo", "mood", "genre"])
    ['mood', 'genre']
    """
    if targets is None and relation is None:
        some = names[-2:]
        raise DataError(
            f"a table does not say which of its columns are labels. Name them, e.g. "
            f"targets=[{', '.join(map(repr, some))}], or say targets=-{len(some)} for the last {len(some)} (on the "
            f"command line: --targets {','.join(some)}). The columns are {shown(names)}.",
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
    """Return the names of columns given by name or position, none of which may be a label.

    >>> choose_columns("drop", ["colour"], ["color", "mood"])
    Traceback (most recent call last):
        ...
    ValueError: `drop`: there is no column 'colour'; did you mean 'color'?
    """
    check_names(parameter, given)
    with _naming(path):
        chosen = [names[_position(column, names, parameter)] for column in given]
    for name in chosen:
        if name in labels:
            raise ValueError(f"`{parameter}` names the column {name!r}, which is one of the targets.")
    return chosen


def check_names(parameter: str, names: Any) -> None:
    """Refuse a single string where a list of names is expected."""
    if isinstance(names, str):
        raise TypeError(f"`{parameter}={names!r}` is a string; give a list of names, as in {parameter}=[{names!r}].")


def resolve_targets(
    targets: Targets, names: Sequence[str], *, path: str | Path | None = None, relation: str = ""
) -> list[int]:
    """Return the positions of the labels among the columns, in increasing order.

    Parameters
    ----------
    targets : list of str or int, str, int, Path or None
        Names or positions of the labels (a negative position counts from the end), or one name; a number: the
        first n columns or, if negative, the last n; a Mulan label list: a path that ends in ``.xml``.
        None: look for an ``.xml`` of the same name beside the file (without ``-train`` or ``-test``), then for MEKA's
        ``-C n`` in the relation, then for an ``.xml`` with the first part of the file's name, up to a hyphen.
    names : sequence of str
        The columns of the file.
    path : str or Path, optional
        The data file.
    relation : str, optional
        The relation of an ARFF file.

    Raises
    ------
    ValueError
        If `targets` names a column that does not exist, or one twice.
    DataError
        If a label list does not fit the file or, with None, nothing says which columns are labels.

    Examples
    --------
    >>> columns = ["age", "mood", "pulse", "sleep"]
    >>> resolve_targets(["sleep", "mood"], columns), resolve_targets(-2, columns)
    ([1, 3], [2, 3])
    >>> resolve_targets(None, columns, relation="patients: -C 2")
    [0, 1]
    """
    names = list(names)
    if targets is None:
        return _find_targets(names, path, relation)
    if isinstance(targets, Path) or (isinstance(targets, str) and targets.lower().endswith(".xml")):
        return _from_label_list(Path(targets), names)
    if isinstance(targets, str):
        return [_position(targets, names, "targets")]
    if isinstance(targets, Integral) and not isinstance(targets, bool):
        n = int(targets)
        if n == 0 or abs(n) > len(names):
            raise ValueError(
                f"`targets={n}` means the {'last' if n < 0 else 'first'} {abs(n)} columns, but there are {len(names)}. "
                "Try targets=1, or targets=-1 for the last column."
            )
        return list(range(len(names)))[:n] if n > 0 else list(range(len(names)))[n:]
    if isinstance(targets, bool) or not isinstance(targets, Sequence | np.ndarray | pd.Index):
        raise TypeError(
            f"`targets={targets!r}` must be names or positions of columns, a number of columns, or an .xml file, "
            "e.g. targets=['mood', 'sleep'] or targets=-2."
        )
    positions = [_position(target, names, "targets") for target in targets]
    if not positions:
        raise ValueError("`targets` is empty: name at least one column, e.g. targets=-1 for the last one.")
    if len(set(positions)) < len(positions):
        twice = next(names[p] for p in positions if positions.count(p) > 1)
        raise ValueError(f"`targets` names the column {twice!r} twice.")
    return sorted(positions)


def read_mulan_labels(path: str | Path) -> list[str]:
    """Read the names of the labels from a Mulan label list, an XML file.

    Raises
    ------
    DataError
        If the file is not a label list. Document type declarations and entities are refused, since they can be harmful.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scenes.xml"
    ...     _ = path.write_text('<labels><label name="sound"><label name="voice"/></label></labels>')
    ...     read_mulan_labels(path)
    ['sound', 'voice']
    """
    with open_binary(path) as stream:
        content = read_chunk(stream, path, LARGEST_LABEL_LIST + 1)
    if len(content) > LARGEST_LABEL_LIST:
        raise DataError("is too large for a list of labels.", path=path)
    labels: dict[str, None] = {}
    depth = 0
    # Names come as "namespace name"; files with and without Mulan's namespace are in use.
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(message: str) -> NoReturn:
        raise DataError(message, path=path, line=parser.CurrentLineNumber)

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        element = name.rpartition(" ")[2]
        expected = "labels" if depth == 1 else "label"
        if element != expected:
            refuse(f"<{element[:40]}> where <{expected}> is expected: this is not a Mulan label list.")
        if depth > 1:
            label = attributes.get("name", "")
            if not label:
                refuse('a <label> has no name: write <label name="…">.')
            if label in labels:
                refuse(f"the label {label!r} is named twice.")
            labels[label] = None

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*declaration: Any) -> NoReturn:
        refuse("has a document type declaration, which is refused, since entities can be harmful. Remove it.")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = parser.ExternalEntityRefHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise DataError(f"is not well-formed XML: {message}.", path=path, line=error.lineno) from error
    except DataError:
        raise
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        raise DataError(f"has an encoding that cannot be read: {error}.", path=path, line=1) from error
    if not labels:
        raise DataError("names no label.", path=path)
    return list(labels)


def _position(column: Any, names: Sequence[str], parameter: str) -> int:
    """Return the position of a column that is given by name or position."""
    if isinstance(column, Integral) and not isinstance(column, bool):
        position = int(column)
        if not -len(names) <= position < len(names):
            raise ValueError(f"`{parameter}`: there is no column {position}; columns are 0 to {len(names) - 1}.")
        return position % len(names)
    try:
        return list(names).index(column)
    except ValueError:
        hint = nearest(column, [str(name) for name in names]) or f". Columns are {shown(names)}."
        raise ValueError(f"`{parameter}`: there is no column {column!r}{hint}") from None


def _find_targets(names: list[str], path: str | Path | None, relation: str) -> list[int]:
    stems: list[str] = []
    if path is not None:
        stem = file_stem(path)
        stems = [stem, re.sub(r"-(train|test)$", "", stem, flags=re.IGNORECASE)]
        for xml in _files_beside(path, stems):
            return _from_label_list(xml, names)
    # MEKA's option comes after a list of the same name: filters copy it into files that it does not fit.
    if option := _MEKA_OPTION.search(relation):
        n = int(option.group(1))
        if n == 0 or abs(n) >= len(names):
            raise DataError(
                f"the relation says -C {n}, but there are {len(names)} columns. Name the labels: targets=[…].",
                path=path,
            )
        return resolve_targets(n, names)
    if path is not None:
        parts = stems[-1].split("-")
        shorter = ["-".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
        for xml in _files_beside(path, shorter):
            return _from_label_list(xml, names)
    raise DataError(
        "nothing says which columns are labels: there is no .xml file of the same name beside it, and no -C in the "
        f"relation. Name them, e.g. targets=[{names[-1]!r}], or say how many: targets=3 means the first three "
        "columns, targets=-3 the last three.",
        path=path,
    )


def _files_beside(path: str | Path, stems: Sequence[str]) -> Iterator[Path]:
    files = (Path(path).with_name(f"{stem}.xml") for stem in dict.fromkeys(stems))
    return (xml for xml in files if xml.is_file())


def _from_label_list(xml: Path, names: list[str]) -> list[int]:
    positions = {name: position for position, name in enumerate(names)}
    labels = read_mulan_labels(xml)
    for label in labels:
        if label not in positions:
            hint = nearest(label, names) or "."
            raise DataError(f"names the label {label!r}, but the data file has no such column{hint}", path=xml)
    return sorted(positions[label] for label in labels)


@contextmanager
def _naming(path: str | Path | None) -> Iterator[None]:
    """Name the file in an error about a missing column, since the file may be the wrong one."""
    try:
        yield
    except ValueError as error:
        if path is None or isinstance(error, DataError):
            raise
        raise DataError(str(error), path=path) from error


def _input(column: pd.Series, is_text: bool) -> pd.Series:
    """Return an input as `Dataset` promises: missing numbers are NaN."""
    if is_text:
        return column.astype("string")
    if isinstance(column.dtype, pd.BooleanDtype):
        return column.astype("Float64").astype(np.float64)
    is_nullable = types.is_extension_array_dtype(column.dtype) and types.is_any_real_numeric_dtype(column.dtype)
    return column.astype(np.float64) if is_nullable else column
