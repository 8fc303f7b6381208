"""A place in a line of ARFF, from which names and values are taken one by one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple, NoReturn

from montechain.errors import DataError

__all__ = ["Cursor", "Token"]

# Possessive, so that a missing closing quote is found out in one pass, however long the line is.
_TOKEN = re.compile(
    r"""
    '([^'\\]*+(?:\\.[^'\\]*+)*+)'
    | "([^"\\]*+(?:\\.[^"\\]*+)*+)"
    | ([^\ \t,{}%'"][^\ \t,{}]*+)
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"[ \t]*+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


class Token(NamedTuple):
    """A name or value; whether it stood in quotes (a ``'?'`` in quotes is not missing)."""

    text: str
    quoted: bool


class Cursor:
    r"""A place in a line: white space is skipped, and a ``%`` where a value could begin ends the line.

    Examples
    --------
    >>> cursor = Cursor(r"'New\tYork', 3 % a comment", "towns.arff", 7)
    >>> cursor.token("a value")
    Token(text='New\tYork', quoted=True)
    >>> cursor.take(","), cursor.token("a value"), cursor.at_end
    (True, Token(text='3', quoted=False), True)
    """

    def __init__(self, text: str, path: str | Path, line: int):
        self.text = text
        self.path = path
        self.line = line
        self.position = 0
        self._skip_space()

    @property
    def next(self) -> str:
        """The next character; empty at the end of the line."""
        return self.text[self.position : self.position + 1]

    @property
    def at_end(self) -> bool:
        """Whether nothing but a comment is left."""
        return self.next in ("", "%")

    @property
    def after_space(self) -> bool:
        """Whether the next character is parted from the last by white space."""
        return self.position > 0 and self.text[self.position - 1] in " \t"

    @property
    def rest(self) -> str:
        """What is left of the line, shortened for a message."""
        left = self.text[self.position :].rstrip()
        return left if len(left) <= 40 else left[:40] + "…"

    def take(self, character: str) -> bool:
        """Step over a character if it is the next one."""
        if self.next != character:
            return False
        self.position += 1
        self._skip_space()
        return True

    def token(self, what: str) -> Token:
        """Step over a name or value, quoted or not, and return it; `what` is its name in errors."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self._refuse_token(what)
        single, double, unquoted = match.groups()
        self.position = match.end()
        if unquoted is not None:
            token = Token(unquoted, False)
        else:
            if self.position < len(self.text) and self.text[self.position] not in " \t,{}%":
                self.refuse(f"there is no comma between the closing quote of {what} and {self.rest!r}.")
            token = Token(_unescape(double if single is None else single), True)
        self._skip_space()
        return token

    def refuse(self, message: str) -> NoReturn:
        """Raise an error that names the file and the line."""
        raise DataError(message, path=self.path, line=self.line)

    def _skip_space(self) -> None:
        self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]

    def _refuse_token(self, what: str) -> NoReturn:
        if self.next in ("'", '"'):
            self.refuse(f"the quote that opens {what} is not closed: {self.rest!r}.")
        if self.at_end:
            self.refuse(f"the line ends where {what} should be.")
        self.refuse(f"{what} is absent before {self.rest!r}. Put what holds a comma or a brace in quotes.")


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    code = match.group(1)
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _CONTROL.get(code, code)
