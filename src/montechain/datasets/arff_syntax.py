"""The syntax of ARFF: names and values of a line one by one, and the declarations up to ``@data``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, NoReturn

from montechain._messages import nearest
from montechain.errors import DataError

__all__ = ["Attribute", "Cursor", "Token", "cursors", "read_header", "shortened"]

KINDS = {"numeric": "numeric", "real": "numeric", "integer": "numeric", "string": "string", "date": "date"}
KEYWORDS = ("@relation", "@attribute", "@data")

# Possessive, so that a missing closing quote is found in one pass, however long the line is.
_TOKEN = re.compile(
    r"""'([^'\\]*+(?:\\.[^'\\]*+)*+)' | "([^"\\]*+(?:\\.[^"\\]*+)*+)" | ([^\ \t,{}%'"][^\ \t,{}]*+)""", re.VERBOSE
)
_SPACE = re.compile(r"[ \t]*+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


@dataclass(frozen=True)
class Attribute:
    """A column as the header of an ARFF file declares it.

    Attributes
    ----------
    name : str
    kind : {"numeric", "nominal", "string", "date"}
    categories : tuple of str, or None
        The declared values of a nominal attribute. For texts and dates of a sparse file: the texts that occur, after
        an empty one, which omitted cells have. None for all others.
    """

    name: str
    kind: str
    categories: tuple[str, ...] | None = None

    @cached_property
    def codes(self) -> dict[str, int]:
        """The position of each declared value."""
        return {category: code for code, category in enumerate(self.categories or ())}


class Token(NamedTuple):
    """A name or value, and whether it was quoted (a quoted ``'?'`` is not missing)."""

    text: str
    quoted: bool


class Cursor:
    r"""A place in a line. White space is skipped, and a ``%`` where a value could begin ends the line.

    >>> cursor = Cursor(r"'New\tYork', 3 % a comment", "towns.arff", 7)
    >>> cursor.token("a value"), cursor.take(","), cursor.token("a value").text, cursor.at_end
    (Token(text='New\tYork', quoted=True), True, '3', True)
    """

    def __init__(self, text: str, path: str | Path, line: int):
        self.text, self.path, self.line = text, path, line
        self._go(0)

    def _go(self, position: int) -> None:
        self.position = _SPACE.match(self.text, position).end()  # type: ignore[union-attr]
        self.next = self.text[self.position : self.position + 1]
        self.at_end = self.next in ("", "%")
        self.after_space = self.position > 0 and self.text[self.position - 1] in " \t"

    @property
    def rest(self) -> str:
        """What is left of the line, shortened for a message."""
        return shortened(self.text[self.position :].rstrip())

    def take(self, character: str) -> bool:
        """Step over a character if it is the next one."""
        found = self.next == character
        if found:
            self._go(self.position + 1)
        return found

    def token(self, what: str) -> Token:
        """Step over a name or value, quoted or not, and return it; `what` is its name in errors."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            if self.next in ("'", '"'):
                self.refuse(f"the quote that opens {what} is not closed: {self.rest!r}.")
            if self.at_end:
                self.refuse(f"the line ends where {what} should be.")
            self.refuse(f"{what} is absent before {self.rest!r}. Quote values that hold a comma or a brace.")
        single, double, unquoted = match.groups()
        self._go(match.end())
        if unquoted is not None:
            return Token(unquoted, False)
        if match.end() < len(self.text) and self.text[match.end()] not in " \t,{}%":
            self.refuse(f"there is no comma between the closing quote of {what} and {self.rest!r}.")
        return Token(_ESCAPE.sub(_escaped, double if single is None else single), True)

    def refuse(self, message: str) -> NoReturn:
        """Raise an error that names the file and the line."""
        raise DataError(message, path=self.path, line=self.line)

    def refuse_end_of_row(self) -> NoReturn:
        """Raise an error about what follows a row."""
        if self.rest.lstrip(", \t").startswith("{"):
            self.refuse(f"the row ends in {self.rest}: weights of rows are not supported; remove it.")
        self.refuse(f"{self.rest!r} after the row.")


def cursors(block: str, path: str | Path, first: int) -> Iterator[Cursor]:
    """Yield the lines of a block that are neither blank nor comments."""
    cursors = (Cursor(line, path, number) for number, line in enumerate(block.split("\n"), first))
    return (cursor for cursor in cursors if not cursor.at_end)


def read_header(blocks: Iterator[tuple[int, str]], path: str | Path) -> tuple[str, list[Attribute], int, str]:
    """Return the relation, the attributes, the line of ``@data``, and what follows it in the last block read."""
    relation: str | None = None
    attributes: dict[str, Attribute] = {}
    declared_at: dict[str, int] = {}
    number = 0
    for first, block in blocks:
        for cursor in cursors(block, path, first):
            keyword = _keyword(cursor)
            if keyword == "@relation":
                if relation is not None:
                    cursor.refuse("a second @relation.")
                relation = _relation(cursor)
            elif keyword == "@attribute":
                attribute = _attribute(cursor)
                if (before := declared_at.setdefault(attribute.name, cursor.line)) != cursor.line:
                    cursor.refuse(
                        f"the attribute {attribute.name!r} is declared twice, first in line {before}. Rename one."
                    )
                attributes[attribute.name] = attribute
            elif not cursor.at_end:
                cursor.refuse(f"{cursor.rest!r} after @data: rows begin on the next line.")
            elif not attributes:
                cursor.refuse("@data without an @attribute before it.")
            else:
                rest = block.split("\n", cursor.line - first + 1)[-1]
                return relation or "", list(attributes.values()), cursor.line, rest
        number = first + block.count("\n") - 1
    if number == 0:
        raise DataError("the file is empty.", path=path)
    raise DataError("the file ends without a line @data: it is not ARFF, or is cut off.", path=path, line=number)


def _keyword(cursor: Cursor) -> str:
    word = cursor.rest if cursor.next in "'\"{}," else cursor.token("a declaration").text
    if word.lower() not in KEYWORDS:
        hint = nearest(word[:40], KEYWORDS) if word.startswith("@") else ""
        cursor.refuse(f"{shortened(word)!r} is not @relation, @attribute or @data{hint or '.'}")
    return word.lower()


def _relation(cursor: Cursor) -> str:
    if cursor.at_end or cursor.next not in "'\"":
        return "" if cursor.at_end else cursor.text[cursor.position :].strip(" \t")
    name = cursor.token("the name of the relation").text
    if not cursor.at_end:
        cursor.refuse(f"{cursor.rest!r} after the name of the relation.")
    return name


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.token("the name of an attribute").text
    categories = None
    if cursor.at_end:
        cursor.refuse(f"the attribute {name!r} has no type: numeric, string, date, or its values {{in, braces}}.")
    if cursor.next == "{":
        kind, categories = "nominal", _categories(cursor, name)
    else:
        word = cursor.token("the type of an attribute").text
        if word.lower() not in KINDS:
            if word.lower() == "relational":
                cursor.refuse(f"{name!r} is a relational attribute: tables within tables are not supported.")
            hint = nearest(word[:40], KINDS) or "; values of a nominal attribute stand in braces."
            cursor.refuse(f"the attribute {name!r} has the unknown type {shortened(word)!r}{hint}")
        kind = KINDS[word.lower()]
        if kind == "date" and not cursor.at_end:
            cursor.token("the format of the date")
        elif kind == "numeric" and cursor.next == "[":
            return Attribute(name, kind)  # a range such as [0, 1], as in old files, is ignored
    if cursor.next == "{":
        cursor.refuse(f"the attribute {name!r} has a weight, {cursor.rest}: weights are not supported; remove it.")
    if not cursor.at_end:
        cursor.refuse(f"{cursor.rest!r} after the type of the attribute {name!r}.")
    return Attribute(name, kind, categories)


def _categories(cursor: Cursor, name: str) -> tuple[str, ...]:
    cursor.take("{")
    categories: dict[str, None] = {}
    while True:
        value = cursor.token(f"a value of the attribute {name!r}").text
        if value in categories:
            cursor.refuse(f"the attribute {name!r} declares the value {value!r} twice.")
        categories[value] = None
        if cursor.take("}"):
            return tuple(categories)
        # White space alone also separates values, as in Weka.
        if not cursor.take(",") and (cursor.at_end or not cursor.after_space):
            cursor.refuse(f"the values of the attribute {name!r} have no closing brace.")


def _escaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code[0] in "01234567" else _CONTROL.get(code, code)


def shortened(text: str) -> str:
    """Return a text as a message shows it."""
    return text if len(text) <= 40 else text[:40] + "…"
