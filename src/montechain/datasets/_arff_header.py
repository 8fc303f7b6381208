"""The first part of an ARFF file: the name of the relation and the attributes, up to ``@data``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from montechain._messages import nearest
from montechain.datasets._arff_cursor import Cursor
from montechain.errors import DataError

__all__ = ["Attribute", "Header", "read_header"]

Kind = Literal["numeric", "nominal", "string", "date"]

_KEYWORDS = ("@relation", "@attribute", "@data")
_KINDS: dict[str, Kind] = {
    "numeric": "numeric",
    "real": "numeric",
    "integer": "numeric",
    "string": "string",
    "date": "date",
}


@dataclass(frozen=True)
class Attribute:
    """A column as the header of an ARFF file declares it.

    Attributes
    ----------
    name : str
    kind : {"numeric", "nominal", "string", "date"}
    categories : tuple of str, or None
        The declared values of a nominal attribute, in their order. Of a text or date in a sparse file: the
        texts that occur, after an empty one, which omitted cells have. None for all others.

    Examples
    --------
    >>> Attribute("colour", "nominal", ("red", "blue"))
    Attribute(name='colour', kind='nominal', categories=('red', 'blue'))
    """

    name: str
    kind: Kind
    categories: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Header:
    """What stands before the rows, and where they begin."""

    relation: str
    attributes: list[Attribute]
    first_row: tuple[int, str]
    """The rest of the block in which ``@data`` stands, and the number of its first line."""


def read_header(blocks: Iterator[tuple[int, str]], path: str | Path) -> Header:
    """Read the header from the blocks of a file; the blocks after it stay to be read.

    Raises
    ------
    DataError
        If a declaration is not one, or ``@data`` is absent.
    """
    relation: str | None = None
    attributes: list[Attribute] = []
    declared_at: dict[str, int] = {}
    number = 0
    for first, block in blocks:
        lines = block.split("\n")[:-1]
        for number, line in enumerate(lines, first):
            cursor = Cursor(line, path, number)
            if cursor.at_end:
                continue
            keyword = _keyword(cursor)
            if keyword == "@relation":
                if relation is not None:
                    cursor.refuse("a second @relation.")
                relation = _relation(cursor)
            elif keyword == "@attribute":
                attribute = _attribute(cursor)
                if attribute.name in declared_at:
                    cursor.refuse(
                        f"the attribute {attribute.name!r} is declared twice, first in line "
                        f"{declared_at[attribute.name]}. Rename one of them."
                    )
                declared_at[attribute.name] = number
                attributes.append(attribute)
            else:
                if not cursor.at_end:
                    cursor.refuse(f"{cursor.rest!r} after @data: rows begin in the line below.")
                if not attributes:
                    cursor.refuse("@data without an @attribute before it.")
                rest = "\n".join(lines[number - first + 1 :])
                return Header(relation or "", attributes, (number + 1, rest + "\n"))
    if number == 0:
        raise DataError("the file is empty.", path=path)
    raise DataError("the file ends without a line @data: it is no ARFF file, or is cut off.", path=path, line=number)


def _keyword(cursor: Cursor) -> str:
    if cursor.next in ("'", '"', "{", "}", ","):
        word = cursor.rest
    else:
        word = cursor.token("a declaration").text
    if word.lower() not in _KEYWORDS:
        shown = word if len(word) <= 40 else word[:40] + "…"
        hint = nearest(word[:40], _KEYWORDS) if word.startswith("@") else ""
        cursor.refuse(f"{shown!r} is not @relation, @attribute or @data{hint or '.'}")
    return word.lower()


def _relation(cursor: Cursor) -> str:
    if cursor.at_end:
        return ""
    if cursor.next in ("'", '"'):
        name = cursor.token("the name of the relation").text
        if not cursor.at_end:
            cursor.refuse(f"{cursor.rest!r} after the name of the relation.")
        return name
    return cursor.text[cursor.position :].strip(" \t")


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.token("the name of an attribute").text
    if cursor.at_end:
        cursor.refuse(f"the attribute {name!r} has no type: numeric, string, date, or its values {{in, braces}}.")
    if cursor.next == "{":
        return Attribute(name, "nominal", _categories(cursor, name))
    word = cursor.token("the type of an attribute").text
    kind = _KINDS.get(word.lower())
    if kind is None:
        if word.lower() == "relational":
            cursor.refuse(f"{name!r} is a relational attribute: tables within tables are not supported.")
        shown = word if len(word) <= 40 else word[:40] + "…"
        hint = nearest(word[:40], [*_KINDS]) or "; values of a nominal attribute stand in braces."
        cursor.refuse(f"the attribute {name!r} has the unknown type {shown!r}{hint}")
    if kind == "date" and not cursor.at_end:
        cursor.token("the format of the date")
    elif kind == "numeric" and cursor.next == "[":
        return Attribute(name, kind)  # a range such as [0, 1], as old files give it, binds nobody
    _refuse_rest(cursor, name)
    return Attribute(name, kind)


def _categories(cursor: Cursor, name: str) -> tuple[str, ...]:
    cursor.take("{")
    categories: dict[str, None] = {}
    while True:
        value = cursor.token(f"a value of the attribute {name!r}").text
        if value in categories:
            cursor.refuse(f"the attribute {name!r} declares the value {value!r} twice.")
        categories[value] = None
        if cursor.take("}"):
            break
        # White space alone also parts values, as in Weka.
        if not cursor.take(",") and (cursor.at_end or not cursor.after_space):
            cursor.refuse(f"the values of the attribute {name!r} have no closing brace.")
    _refuse_rest(cursor, name)
    return tuple(categories)


def _refuse_rest(cursor: Cursor, name: str) -> None:
    if cursor.next == "{":
        cursor.refuse(f"the attribute {name!r} has a weight, {cursor.rest}: weights are not supported; remove it.")
    if not cursor.at_end:
        cursor.refuse(f"{cursor.rest!r} after the type of the attribute {name!r}.")
