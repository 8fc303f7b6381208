"""Rows with any number of tags: recognise them, turn them into zeros and ones, and split cells that hold several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from montechain._messages import nearest

COLLECTIONS = (set, frozenset, list, tuple)


def tag_rows(Y: Any, *, certain: bool = False) -> list[frozenset[Any] | None] | None:
    """Return the rows of a label table that are sets of tags, None where a row is unknown; None for any other table.

    In a one-dimensional array or series, a cell that is a set or a list holds tags. In a list, rows that are sets hold
    tags, and so do lists of strings that differ in length; lists of one length are the rows of a table, unless it is
    `certain` that they are tags.

    >>> tag_rows([["rock", "calm"], []]) == [{"rock", "calm"}, set()]
    True
    >>> tag_rows([["rock", "calm"], ["pop", "calm"]]) is None
    True
    """
    if isinstance(Y, np.ndarray):
        rows = Y.tolist() if Y.ndim == 1 and Y.dtype == object else []
    elif nw.dependencies.is_into_series(Y):
        series = nw.from_native(Y, series_only=True)
        rows = series.to_list() if series.dtype in (nw.Object, nw.List, nw.Array) else []
    else:
        rows = list(Y) if isinstance(Y, list | tuple) else []
    is_list = isinstance(Y, list | tuple)
    known = [row for row in rows if not (row is None or row is pd.NA or isinstance(row, float))]
    if not known or not all(isinstance(row, COLLECTIONS) for row in known):
        return None
    if is_list and not certain and not all(isinstance(row, set | frozenset) for row in known):
        is_ragged = len({len(row) for row in known}) > 1
        if not is_ragged or not all(isinstance(tag, str) for row in known for tag in row):
            return None
    return [frozenset(row) if isinstance(row, COLLECTIONS) else None for row in rows]


def all_tags(rows: Iterable[frozenset[Any] | None]) -> list[Any]:
    """Return the sorted tags of some rows."""
    tags = frozenset().union(*(row for row in rows if row is not None))
    try:
        return sorted(tags)
    except TypeError:  # of types that cannot be compared
        return sorted(tags, key=lambda tag: (type(tag).__name__, str(tag)))


def tag_matrix(rows: Sequence[frozenset[Any] | None], tags: Sequence[Any], name: str) -> np.ndarray:
    """Return zeros and ones of shape (n, number of tags); rows that are unknown are zero.

    >>> tag_matrix([frozenset(["b"]), None], ["a", "b"], "y").tolist()
    [[0, 1], [0, 0]]
    """
    place = {tag: j for j, tag in enumerate(tags)}
    matrix = np.zeros((len(rows), len(tags)), dtype=np.int8)
    for i, row in enumerate(rows):
        for tag in row or ():
            if tag not in place:
                hint = nearest(str(tag), map(str, tags)) or "."
                raise ValueError(f"row {i} of `{name}` has the tag {tag!r}, which no training row had{hint}")
            matrix[i, place[tag]] = 1
    return matrix


def as_tags(marks: np.ndarray, tags: Sequence[Any]) -> np.ndarray:
    """Return an array of the lists of tags that zeros and ones stand for.

    >>> as_tags(np.array([[0, 1], [0, 0]]), ["a", "b"]).tolist()
    [['b'], []]
    """
    return np.fromiter((list(compress(tags, row)) for row in marks), dtype=object, count=len(marks))


def split_tags(cell: Any, separator: str) -> frozenset[str] | None:
    """Return the tags of a cell, a text or a list; an empty cell has none, and those of a missing cell are unknown.

    >>> sorted(split_tags("rock; calm;", ";")), split_tags("", ";"), split_tags(None, ";")
    (['calm', 'rock'], frozenset(), None)
    """
    if not isinstance(cell, (*COLLECTIONS, np.ndarray)):
        if pd.isna(cell):
            return None
        cell = str(cell).split(separator)
    return frozenset(filter(None, (str(part).strip() for part in cell)))


def expand_tags(
    frame: pd.DataFrame, columns: Sequence[str], separator: str, tags: dict[str, list[str]] | None = None
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return a table in which a 0/1 column ``column=tag`` stands for each tag of a column, and the tags of each.

    >>> expand_tags(pd.DataFrame({"genre": ["rock;pop", ""], "year": [1, 2]}), ["genre"], ";")[0].columns.tolist()
    ['genre=pop', 'genre=rock', 'year']
    """
    parts, found = [], {}
    for name in frame:
        if name not in columns:
            parts.append(frame[[name]])
            continue
        rows = [split_tags(cell, separator) for cell in frame[name].tolist()]
        found[name] = all_tags(rows) if tags is None else tags[name]
        matrix = tag_matrix(rows, found[name], name)
        names = [f"{name}={tag}" for tag in found[name]]
        part = pd.DataFrame(matrix, columns=names, index=frame.index)
        parts.append(part.astype("Int8").where(frame[name].notna(), axis=0) if None in rows else part)
    return pd.concat(parts, axis=1), found


def join_tags(frame: pd.DataFrame, order: Sequence[str], tags: dict[str, list[str]], separator: str) -> pd.DataFrame:
    """Return the table that `expand_tags` was given, with its columns in this order and the tags of a cell sorted."""
    joined = {}
    for name in order:
        marks = frame[[f"{name}={tag}" for tag in tags.get(name, ())]].to_numpy()
        joined[name] = [separator.join(compress(tags[name], row)) for row in marks] if name in tags else frame[name]
    return pd.DataFrame(joined, index=frame.index)
