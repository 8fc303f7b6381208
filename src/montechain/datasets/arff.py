"""Read ARFF, the format of Weka, MEKA and Mulan, into tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isinf, nan
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import nearest
from montechain.datasets.files import read_text
from montechain.errors import DataError

KINDS = {"numeric": "numeric", "real": "numeric", "integer": "numeric", "string": "string", "date": "date"}
FORM = (
    "Declare an attribute as @attribute name type; the type is numeric, string, date, or its values {in, braces}. "
    "Quote names and values that hold a space, a comma or a brace. Weights and relational attributes are not supported."
)

# Possessive quantifiers throughout, so that no line, however long or malformed, causes backtracking.
QUOTED = r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\""""
VALUE = rf"""(?:{QUOTED}|[^ \t,{{}}%'"][^ \t,{{}}]*+)"""
VALUES = re.compile(VALUE)
GAP = re.compile(r"[ \t]*+,[ \t]*+|[ \t]++")
LIST = rf"[ \t]*+{VALUE}(?:(?:{GAP.pattern}){VALUE})*+[ \t]*+"
COMMENT = r"[ \t]*+(?:%.*+)?+"
RELATION = re.compile(rf"[ \t]*+(?:(?P<quoted>{QUOTED}){COMMENT}|(?P<plain>[^'\"].*+)?+)")
KIND = r"(?<=[ \t])(?P<kind>[^ \t,{}%'\"]++)(?P<rest>.*+)"
ATTRIBUTE = re.compile(rf"[ \t]++(?P<name>{VALUE})[ \t]*+(?:{KIND}|\{{(?P<values>{LIST})\}}{COMMENT})")
ODD = re.compile(r"[\"'%{}]")
DENSE_ROW = re.compile(rf"(?P<cells>{LIST}){COMMENT}")
SPARSE_CELL = re.compile(rf"[ \t]*+([^ \t,{{}}]++)[ \t]++({VALUE})[ \t]*+")
SPARSE_ROW = re.compile(rf"\{{(?P<cells>{SPARSE_CELL.pattern}(?:,{SPARSE_CELL.pattern})*+|[ \t]*+)\}}{COMMENT}")
REST = {"numeric": rf"([ \t]*+\[.*)?{COMMENT}", "date": rf"([ \t]++{VALUE})?{COMMENT}", "string": COMMENT}
"""What may follow the type of an attribute: a range, as in old files, or the format of a date."""
ESCAPE = re.compile(r"\\(u([0-9a-fA-F]{4})|.)")
CONTROL = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
NUMBER = re.compile(r"[+-]?+(?:nan|(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?+\d++)?+)", re.ASCII | re.IGNORECASE)
NOT_IN_NUMBERS = re.compile(r"[^0-9+\-.enaENA\n]")


@dataclass(frozen=True)
class Attribute:
    """A column as the header of an ARFF file declares it: numeric, nominal (with its `categories`), string or date."""

    name: str
    kind: str
    categories: tuple[str, ...] | None = None

    @cached_property
    def codes(self) -> dict[str, int]:
        """The position of each declared value."""
        return {category: code for code, category in enumerate(self.categories or ())}

    @cached_property
    def number(self) -> Callable[[str], float | None]:
        """Return a function from a cell to its number or code; None for a cell that does not fit, 1 for any text."""
        if self.kind != "numeric":
            return self.codes.get if self.kind == "nominal" else lambda text: 1.0
        return lambda text: value if NUMBER.fullmatch(text) and not isinf(value := float(text)) else None


@dataclass(frozen=True)
class ArffTable:
    """The content of an ARFF file; `relation` is its name, where MEKA keeps options.

    The `data` of a dense file are a frame: numeric columns are float64, nominal ones categoricals with the declared
    values, texts and dates are text, and missing cells are NaN. Those of a sparse file are a CSR array of numbers:
    nominal cells are codes in the declared order, so that an omitted cell is the first declared value; missing cells
    are stored NaN. It cannot hold text or dates: such cells hold a 1.
    """

    relation: str
    attributes: list[Attribute]
    data: pd.DataFrame | sp.csr_array


class Line(NamedTuple):
    """A line that is neither blank nor a comment."""

    text: str
    number: int
    path: str | Path

    def refuse(self, message: str) -> NoReturn:
        """Raise an error that names the file and the line."""
        raise DataError(message, path=self.path, line=self.number)


def read_arff(path: str | Path, encoding: str = "utf-8") -> ArffTable:
    """Read an ARFF file, dense or sparse; relational attributes and weights of rows are not supported."""
    numbered = enumerate(read_text(path, encoding).split("\n"), 1)
    stripped = ((text.strip(" \t"), number) for number, text in numbered)
    lines = (Line(text, number, path) for text, number in stripped if text and text[0] != "%")
    relation, attributes, last = _header(lines, path)
    rows = list(lines)
    if not rows:
        last.refuse("no rows follow @data.")
    read = _sparse if rows[0].text.startswith("{") else _dense
    return ArffTable(relation, attributes, read(rows, attributes))


def _header(lines: Iterator[Line], path: str | Path) -> tuple[str, list[Attribute], Line]:
    """Return the relation, the attributes, and the line of ``@data``."""
    relation: str | None = None
    attributes: dict[str, Attribute] = {}
    for line in lines:
        word = re.split(r"[ \t]", line.text, maxsplit=1)[0]
        rest = line.text[len(word) :]
        match word.lower():
            case "@relation":
                found = RELATION.fullmatch(rest)
                if found is None or relation is not None:
                    line.refuse("a quote is not closed." if found is None else "a second @relation.")
                relation = _unquoted(found["quoted"] or found["plain"] or "")
            case "@attribute":
                attribute = _attribute(line, rest)
                if attribute.name in attributes:
                    line.refuse(f"the attribute {attribute.name!r} is declared twice. Rename one.")
                attributes[attribute.name] = attribute
            case "@data":
                if re.fullmatch(COMMENT, rest) is None:
                    line.refuse(f"{shortened(line.text)!r}: rows begin on the line after @data.")
                if not attributes:
                    line.refuse("@data without an @attribute before it.")
                return relation or "", list(attributes.values()), line
            case _:
                line.refuse(f"{shortened(word)!r} is not @relation, @attribute or @data.")
    raise DataError("the file is empty, or ends without a line @data: it is not ARFF, or is cut off.", path=path)


def _attribute(line: Line, text: str) -> Attribute:
    """Return what a line declares after ``@attribute``."""
    found = ATTRIBUTE.fullmatch(text)
    if found is None:
        line.refuse(FORM)
    name, word = _unquoted(found["name"]), found["kind"] or ""
    if found["values"]:
        categories = tuple(map(_unquoted, VALUES.findall(found["values"])))
        if len(set(categories)) < len(categories):
            line.refuse(f"the attribute {name!r} declares a value twice.")
        return Attribute(name, "nominal", categories)
    kind = KINDS.get(word.lower())
    if kind is None:
        line.refuse(f"the attribute {name!r} has the unknown type {shortened(word)!r}. {FORM}")
    if re.fullmatch(REST[kind], found["rest"]) is None:
        line.refuse(f"{shortened(found['rest'].strip())!r} follows the type of the attribute {name!r}. {FORM}")
    return Attribute(name, kind)


def _dense(lines: list[Line], attributes: list[Attribute]) -> pd.DataFrame:
    """Return rows with a cell for each attribute."""
    columns = zip(*[_cells(line, len(attributes)) for line in lines], strict=True)
    frame = {}
    for attribute, cells in zip(attributes, columns, strict=True):
        try:
            frame[attribute.name] = _column(cells, attribute)
        except (KeyError, ValueError):
            for cell, line in zip(cells, lines, strict=True):
                if cell is not None and attribute.number(cell) is None:
                    _refuse(cell, attribute, line)
            raise
    return pd.DataFrame(frame)


def _cells(line: Line, width: int) -> list[Any]:
    text = line.text
    if ODD.search(text):
        row = DENSE_ROW.fullmatch(text)
        if row is None:
            line.refuse(
                "the row cannot be read: close quotes, and put a comma after them; write ? for missing; quote values "
                "with a comma or a brace. Sparse rows cannot follow dense ones, and weights are not supported."
            )
        cells: list[Any] = [None if cell == "?" else _unquoted(cell) for cell in VALUES.findall(row["cells"])]
    else:
        words = GAP.split(text) if " " in text or "\t" in text else text.split(",")
        if "" in words:
            line.refuse(f"cell {words.index('') + 1} is empty: write ? for missing, '' for an empty text.")
        cells = [None if cell == "?" else cell for cell in words] if "?" in text else words
    if len(cells) != width:
        line.refuse(
            f"the row has {len(cells)} cells, but there are {width} attributes. Quote values with a space or a comma."
        )
    return cells


def _column(cells: Sequence[str | None], attribute: Attribute) -> Any:
    """Return a typed column; an error if a cell does not fit."""
    if attribute.kind == "numeric":
        if NOT_IN_NUMBERS.search("\n".join(filter(None, cells))):
            raise ValueError
        numbers = np.array(cells, dtype=object).astype(np.float64)
        if np.isinf(numbers).any():
            raise ValueError
        return numbers
    if attribute.categories is None:
        return pd.Series(cells, dtype="str")
    places: dict[Any, int] = {**attribute.codes, None: -1}
    categories = pd.Index(attribute.categories, dtype="str")
    return pd.Categorical.from_codes([places[cell] for cell in cells], categories=categories)


def _sparse(lines: list[Line], attributes: list[Attribute]) -> sp.csr_array:
    """Return rows that name only some cells, as ``{index value, index value}``."""
    convert = [attribute.number for attribute in attributes]
    places = {str(place): place for place in range(len(attributes))}
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    for line in lines:
        row = SPARSE_ROW.fullmatch(line.text)
        if row is None:
            line.refuse("the row is not of the form {index value, …}; weights of rows are not supported.")
        last = -1
        for index, cell in SPARSE_CELL.findall(row["cells"]):
            place = places.get(index, -1)
            if place < 0:
                line.refuse(f"{shortened(index)!r} is not the index of an attribute: 0 to {len(attributes) - 1}.")
            if place <= last:
                line.refuse("the indices of a row must increase.")
            value = nan if cell == "?" else convert[place](_unquoted(cell))
            if value is None:
                _refuse(_unquoted(cell), attributes[place], line)
            values.append(value)
            indices.append(place)
            last = place
        starts.append(len(indices))
    # Many scikit-learn classifiers do not accept 64-bit indices.
    content = (np.array(values, dtype=np.float64), np.array(indices, dtype=np.int32), np.array(starts, dtype=np.int32))
    array = sp.csr_array(content, shape=(len(lines), len(attributes)))
    array.eliminate_zeros()
    return array


def _refuse(text: str, attribute: Attribute, line: Line) -> NoReturn:
    """Refuse a cell that does not fit its attribute."""
    if attribute.categories is None:
        line.refuse(f"{shortened(text)!r} is not a finite number, but {attribute.name!r} is numeric. ? means missing.")
    hint = nearest(shortened(text), attribute.categories[:1000]) or "."
    line.refuse(f"{shortened(text)!r} is not a declared value of {attribute.name!r}{hint} ? means missing.")


def _unquoted(text: str) -> str:
    """Return a token without its quotes and escapes."""
    if text[:1] not in ("'", '"'):
        return text
    return ESCAPE.sub(lambda found: chr(int(found[2], 16)) if found[2] else CONTROL.get(found[1], found[1]), text[1:-1])


def shortened(text: str) -> str:
    """Return a text as a message shows it."""
    return text if len(text) <= 40 else text[:40] + "…"
