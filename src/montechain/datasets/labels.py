"""Which columns of a file are labels, and what their classes are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn, TypeAlias
from xml.parsers import expat

import numpy as np
import pandas as pd
from pandas.api import types

from montechain._messages import nearest
from montechain.datasets._text_blocks import open_binary, read_chunk
from montechain.datasets.formats import file_stem
from montechain.errors import DataError

__all__ = ["Targets", "label_table", "position_of", "read_mulan_labels", "resolve_targets"]

Targets: TypeAlias = str | Path | int | Sequence[str | int] | None
"""How labels can be named: see `resolve_targets`."""

LARGEST_LABEL_LIST = 1 << 24
"""A longer XML file, in bytes, is no list of labels."""
LARGEST_WHOLE = 2**53
"""From here on a float does not tell whole numbers apart."""
SHOWN = 12
"""At most so many names or values are listed in an error."""
MANY = 100
"""Whole numbers that are not declared are taken for measurements if more than so many occur, on average not twice."""

_MEKA_OPTION = re.compile(r"(?:^|[\s:])-C\s+(-?\d{1,9})(?!\S)", re.ASCII)
_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}", re.ASCII)


def resolve_targets(
    targets: Targets, names: Sequence[str], *, path: str | Path | None = None, relation: str = ""
) -> list[int]:
    """Return the positions of the labels among the columns, in the file's order.

    Parameters
    ----------
    targets : list of str or int, str, int, Path or None
        Names or positions of the labels (a negative position counts from the end); or one name; or a number: the
        first n columns, or, if it is negative, the last n; or a Mulan label list, a path that ends in ``.xml``.
        None: find out. An ``.xml`` beside the file, of the same name (``-train`` and ``-test`` left out), tells the
        labels; else MEKA's ``-C n`` in the name of the relation; else an ``.xml`` whose name begins the
        file's name up to a hyphen.
    names : sequence of str
        The columns of the file.
    path : str or Path, optional
        The data file.
    relation : str, optional
        The name of the relation of an ARFF file.

    Returns
    -------
    list of int
        Increasing, whatever the order of `targets`.

    Raises
    ------
    ValueError
        If `targets` names a column that is not there, or one twice.
    DataError
        If a label list does not fit the file, or, with None, nothing tells the labels.

    Examples
    --------
    >>> columns = ["age", "mood", "pulse", "sleep"]
    >>> resolve_targets(["sleep", "mood"], columns)
    [1, 3]
    >>> resolve_targets(-2, columns)
    [2, 3]
    >>> resolve_targets(None, columns, relation="patients: -C 2")
    [0, 1]
    >>> resolve_targets(["moood"], columns)
    Traceback (most recent call last):
        ...
    ValueError: `targets`: there is no column 'moood'; did you mean 'mood'?
    """
    names = list(names)
    if targets is None:
        return _find_targets(names, path, relation)
    if isinstance(targets, Path) or (isinstance(targets, str) and targets.lower().endswith(".xml")):
        return _from_label_list(Path(targets), names)
    if isinstance(targets, str):
        return [position_of(targets, names, "targets")]
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
    positions = [position_of(target, names, "targets") for target in targets]
    if not positions:
        raise ValueError("`targets` is empty: name at least one column, e.g. targets=-1 for the last one.")
    if len(set(positions)) < len(positions):
        twice = next(names[p] for p in positions if positions.count(p) > 1)
        raise ValueError(f"`targets` names the column {twice!r} twice.")
    return sorted(positions)


def position_of(column: Any, names: Sequence[str], parameter: str) -> int:
    """Return the position of a column that is given by name or position, or say which one is meant.

    >>> position_of(-1, ["age", "mood"], "drop")
    1
    """
    if isinstance(column, Integral) and not isinstance(column, bool):
        position = int(column)
        if not -len(names) <= position < len(names):
            raise ValueError(f"`{parameter}`: there is no column {position}; columns are 0 to {len(names) - 1}.")
        return position % len(names)
    try:
        return list(names).index(column)
    except ValueError:
        hint = nearest(column, [str(name) for name in names]) or f". Columns are {_shown(names)}."
        raise ValueError(f"`{parameter}`: there is no column {column!r}{hint}") from None


def read_mulan_labels(path: str | Path) -> list[str]:
    """Read the names of labels from a Mulan label list, an XML file; labels within labels come after their parent.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    DataError
        If the file is not a list of labels. A document type declaration is refused, and so are entities.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> text = '''<labels xmlns="http://mulan.sourceforge.net/labels">
    ... <label name="sound"><label name="voice"/></label>
    ... <label name="light"></label>
    ... </labels>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "scenes.xml"
    ...     _ = path.write_text(text)
    ...     read_mulan_labels(path)
    ['sound', 'voice', 'light']
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
            refuse(f"<{element[:40]}> stands where <{expected}> should: this is no Mulan list of labels.")
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

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    parser.ExternalEntityRefHandler = doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise DataError(f"is not well-formed XML: {message}.", path=path, line=error.lineno) from error
    except DataError:
        raise
    except (LookupError, ValueError) as error:  # an encoding that Python has not, or of several bytes a character
        raise DataError(f"has an encoding that cannot be read: {error}.", path=path, line=1) from error
    if not labels:
        raise DataError("names no label.", path=path)
    return list(labels)


def label_table(
    columns: pd.DataFrame, declared: Sequence[Sequence[Any] | None] | None = None, *, path: str | Path | None = None
) -> tuple[pd.DataFrame, list[list[Any]]]:
    """Turn columns into labels: whole numbers become integers, everything else categoricals.

    Parameters
    ----------
    columns : data frame of shape (n, L)
        As they are in the file: numbers, texts, booleans, categoricals; what is missing is an unknown label.
    declared : sequence of L sequences or None, optional
        The classes that the file declares for each column; None where it declares none. Categoricals declare
        their categories.
    path : str or Path, optional
        The file, for errors.

    Returns
    -------
    Y : data frame of shape (n, L)
        Whole numbers, also those written as text, are int64, or Int64 in a column with unknown cells. Others
        are categoricals, with the declared categories in their order or the sorted ones that occur.
    classes : list of L lists
        The declared classes, or those that occur; whole numbers are sorted.

    Raises
    ------
    DataError
        If a label is continuous, all unknown, or holds what is not declared.

    Examples
    --------
    >>> Y, classes = label_table(pd.DataFrame({"loud": ["1", "0", None], "mood": ["sad", "glad", "sad"]}))
    >>> Y.dtypes.astype(str).tolist(), classes
    (['Int64', 'category'], [[0, 1], ['glad', 'sad']])
    """
    labels: list[Any] = []
    classes: list[list[Any]] = []
    for j, name in enumerate(columns.columns):
        label, found = _label(columns.iloc[:, j], None if declared is None else declared[j], name, path)
        labels.append(label)
        classes.append(found)
    Y = pd.DataFrame(dict(enumerate(labels)), index=columns.index)
    Y.columns = columns.columns
    return Y, classes


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
        shorter = stems[-1]
        while "-" in shorter:
            shorter = shorter.rpartition("-")[0]
            for xml in _files_beside(path, [shorter]):
                return _from_label_list(xml, names)
    raise DataError(
        "nothing tells which columns are the labels: there is no .xml file of its name beside it, nor -C in the "
        f"relation. Name them, e.g. targets=[{names[-1]!r}], or say how many: targets=3 means the first three "
        "columns, targets=-3 the last three.",
        path=path,
    )


def _files_beside(path: str | Path, stems: Sequence[str]) -> Iterator[Path]:
    for stem in dict.fromkeys(stems):
        xml = Path(path).with_name(f"{stem}.xml")
        if xml.is_file():
            yield xml


def _from_label_list(xml: Path, names: list[str]) -> list[int]:
    positions = {name: position for position, name in enumerate(names)}
    labels = read_mulan_labels(xml)
    for label in labels:
        if label not in positions:
            raise DataError(
                f"names the label {label!r}, but the data file has no such column{nearest(label, names) or '.'}",
                path=xml,
            )
    return sorted(positions[label] for label in labels)


def _label(
    series: pd.Series, declared: Sequence[Any] | None, name: Any, path: str | Path | None
) -> tuple[Any, list[Any]]:
    """Return one label and its classes."""
    unknown = series.isna().to_numpy()
    if unknown.all():
        raise DataError(f"the label {name!r} has no known value: leave it out of the targets.", path=path)
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        return _whole_numbers(_numbers(series, unknown), unknown, declared, name, path)
    codes, distinct = pd.factorize(series)
    present = [value.item() if isinstance(value, np.generic) else value for value in distinct]
    if isinstance(series.dtype, pd.CategoricalDtype):
        declared = series.cat.categories.tolist() if declared is None else declared
    kinds = {_kind(value) for value in present}
    if declared is None:
        if len(kinds) > 1 or "other things" in kinds:
            raise DataError(
                f"the label {name!r} holds {' and '.join(sorted(kinds))}, such as {_shown(present)}: "
                "make them all text, or leave it out of the targets.",
                path=path,
            )
        declared = sorted(present)
    declared = list(declared)
    as_numbers = dict(zip(declared, _as_whole(declared) or (), strict=False))
    if as_numbers or kinds == {"numbers"}:
        _check_declared(present, declared, name, path)
        values = np.array(
            [as_numbers.get(value, value) for value in present], dtype=np.int64 if as_numbers else np.float64
        )
        # The code of an unknown cell is -1, which points to some value or other.
        return _whole_numbers(values[codes], unknown, as_numbers.values(), name, path)
    _check_declared(present, declared, name, path)
    places = {value: place for place, value in enumerate(declared)}
    place = np.array([places[value] for value in present])
    return pd.Categorical.from_codes(np.where(unknown, -1, place[codes]), categories=declared), declared


def _numbers(series: pd.Series, unknown: np.ndarray) -> np.ndarray:
    """Return numbers as int64 if their type is one of whole numbers and they fit, else as float64."""
    if types.is_integer_dtype(series.dtype):
        values = (series.fillna(0) if unknown.any() else series).to_numpy()
        if values.dtype != np.uint64 or values.max() < 2**63:
            return values.astype(np.int64)
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def _whole_numbers(
    numbers: np.ndarray, unknown: np.ndarray, declared: Iterable[Any] | None, name: Any, path: str | Path | None
) -> tuple[Any, list[int]]:
    """Return a label of whole numbers and its classes; `numbers` are int64, in which nothing is lost, or float64."""
    known = numbers[~unknown]
    broken = np.zeros(len(known), dtype=bool)
    if known.dtype != np.int64:
        broken = (known != np.floor(known)) | (np.abs(known) >= LARGEST_WHOLE)
    classes = np.unique(known)
    many = not declared and len(classes) > max(MANY, len(known) / 2)
    if broken.any() or many:
        example = known[np.argmax(broken)].item()
        raise DataError(
            f"the label {name!r} is continuous (it holds {example:g}): a label has classes. Bin it first, for example "
            "by pandas.cut, or leave it out of the targets.",
            path=path,
        )
    found = classes.astype(np.int64).tolist()
    if declared:
        given = _as_whole(list(declared))
        _check_declared(found, declared if given is None else given, name, path)
        found = found if given is None else sorted(given)
    integers = np.where(unknown, 0, numbers).astype(np.int64)
    return pd.arrays.IntegerArray(integers, unknown) if unknown.any() else integers, found


def _as_whole(values: list[Any]) -> list[int] | None:
    """Return values that are whole numbers, or texts of such, as integers; None if one is not."""
    if all(isinstance(value, str) and _WHOLE.fullmatch(value) for value in values):
        return [int(value) for value in values]
    if all(_kind(value) == "numbers" and _is_whole(value) for value in values):
        return [int(value) for value in values]
    return None


def _is_whole(value: Any) -> bool:
    if isinstance(value, Integral):
        return -(2**63) <= int(value) < 2**63
    return bool(abs(value) < LARGEST_WHOLE and value == int(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "booleans"
    if isinstance(value, Real):
        return "numbers"
    return "texts" if isinstance(value, str) else "other things"


def _check_declared(present: Sequence[Any], declared: Iterable[Any], name: Any, path: str | Path | None) -> None:
    allowed = dict.fromkeys(declared)
    for value in present:
        if value not in allowed:
            raise DataError(
                f"the label {name!r} holds {value!r}, which is not one of its declared classes: {_shown([*allowed])}.",
                path=path,
            )


def _shown(values: Sequence[Any]) -> str:
    listed = ", ".join(repr(value) for value in list(values)[:SHOWN])
    return listed + (", …" if len(values) > SHOWN else "")
