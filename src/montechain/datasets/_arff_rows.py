"""Rows of an ARFF file into columns or a sparse array, a block of lines at a time.

Each kind of file has a fast way and a careful one. The fast way takes a whole block in which nothing is
quoted or odd, checks it as a whole, and either reads it or leaves it alone; the careful way then reads it
row by row and names the line of what is wrong. Whatever the fast way reads, the careful way would read alike.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from math import isinf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import nearest
from montechain.datasets._arff_cursor import Cursor, Token
from montechain.datasets._arff_header import Attribute

__all__ = ["DenseRows", "Rows", "SparseRows"]

MISSING = "?"
NO_CODE = -1
SHOWN = 12
"""At most so many declared values are listed in an error."""

_NUMBER = re.compile(r"[+-]?+(?:nan|(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?+\d++)?+)", re.ASCII | re.IGNORECASE)


def _all_but(characters: bytes) -> bytes:
    return bytes(set(range(256)) - set(characters))


_CONTROL = bytes(set(range(32)) - set(b"\t\n")) + b"\x7f"
_PLAIN_DENSE = _all_but(_CONTROL + b"'\"{}%")
_PLAIN_SPARSE = _all_but(_CONTROL + b"'\"%")
_ALL_BUT_SEPARATORS = _all_but(b" ,")


class Rows(ABC):
    """Rows read so far.

    Parameters
    ----------
    attributes : sequence of Attribute
    path : str or Path
        The file, for errors.
    """

    def __init__(self, attributes: Sequence[Attribute], path: str | Path):
        self.attributes = list(attributes)
        self.path = path
        self.n_rows = 0

    def add(self, first_line: int, block: str) -> None:
        """Read a block of whole lines; `first_line` is the number of the first one."""
        if not self._add_plain(block):
            self._add_carefully(self._cursors(first_line, block))

    def _cursors(self, first_line: int, block: str) -> Iterator[Cursor]:
        for number, line in enumerate(block.split("\n"), first_line):
            cursor = Cursor(line, self.path, number)
            if not cursor.at_end:
                yield cursor

    @abstractmethod
    def _add_plain(self, block: str) -> bool:
        """Read a block in which nothing is odd, or return False without having changed anything."""

    @abstractmethod
    def _add_carefully(self, cursors: Iterator[Cursor]) -> None:
        """Read the rows at these places."""


class DenseRows(Rows):
    r"""Rows with a cell for each attribute.

    Examples
    --------
    >>> rows = DenseRows([Attribute("x", "numeric"), Attribute("c", "nominal", ("red", "blue"))], "colours.arff")
    >>> rows.add(5, "1.5,blue\n?, 'red'\n")
    >>> rows.frame()["c"].tolist()
    ['blue', 'red']
    """

    def __init__(self, attributes: Sequence[Attribute], path: str | Path):
        super().__init__(attributes, path)
        self._parts: list[list[Any]] = [[] for _ in attributes]
        self._codes = [_plain_codes(attribute, NO_CODE) for attribute in attributes]

    def frame(self) -> pd.DataFrame:
        """Return the rows as a frame of numbers, categoricals and texts."""
        # Thousands of attributes may share one declaration.
        types = {
            categories: None if categories is None else pd.CategoricalDtype(pd.Index(categories, dtype="str"))
            for categories in dict.fromkeys(attribute.categories for attribute in self.attributes)
        }
        columns = {
            a.name: _column(a, parts, types[a.categories])
            for a, parts in zip(self.attributes, self._parts, strict=True)
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows))

    def _add_plain(self, block: str) -> bool:
        encoded = block.encode(errors="surrogatepass")
        if encoded.translate(None, _PLAIN_DENSE):
            return False
        if "\t" in block:
            block = block.replace("\t", " ")
        separator = "," if "," in block else " "
        lines = block.split("\n")
        if " " in block and separator == ",":
            lines = [line.strip(" ") for line in block.replace(", ", ",").replace(" ,", ",").split("\n")]
            if any(" " in line for line in lines):
                return False
        lines = [line for line in lines if line]
        width = len(self.attributes)
        if not lines or any(line.count(separator) != width - 1 for line in lines):
            return not lines
        cells = separator.join(lines).split(separator)
        plain_numbers = block.isascii() and "_" not in block
        missing = MISSING in block
        parts: list[Any] = []
        try:
            for j, (attribute, codes) in enumerate(zip(self.attributes, self._codes, strict=True)):
                column = cells[j::width]
                if attribute.kind == "numeric":
                    parts.append(_plain_numbers(column, missing, plain_numbers))
                elif codes is not None:
                    parts.append(np.array([*map(codes.__getitem__, column)], dtype=np.int32))
                elif "" in column:
                    return False
                else:
                    parts.append([None if cell == MISSING else cell for cell in column] if missing else column)
        except (KeyError, ValueError):
            return False
        self._extend(parts, len(lines))
        return True

    def _add_carefully(self, cursors: Iterator[Cursor]) -> None:
        parts: list[list[Any]] = [[] for _ in self.attributes]
        n_rows = 0
        for cursor in cursors:
            cells = _split(cursor, len(self.attributes))
            for part, attribute, codes, cell in zip(parts, self.attributes, self._codes, cells, strict=True):
                part.append(_dense_value(cell, attribute, codes, cursor))
            n_rows += 1
        if n_rows:
            self._extend([_as_part(a, part) for a, part in zip(self.attributes, parts, strict=True)], n_rows)

    def _extend(self, parts: list[Any], n_rows: int) -> None:
        for mine, part in zip(self._parts, parts, strict=True):
            mine.append(part)
        self.n_rows += n_rows


class SparseRows(Rows):
    r"""Rows that name only some cells, as ``{index value, index value}``; nominal cells become codes.

    Examples
    --------
    >>> rows = SparseRows([Attribute("x", "numeric"), Attribute("c", "nominal", ("red", "blue"))], "colours.arff")
    >>> rows.add(5, "{0 1.5, 1 blue}\n{}\n{1 ?}\n")
    >>> rows.array().toarray().tolist()
    [[1.5, 1.0], [0.0, 0.0], [0.0, nan]]
    """

    def __init__(self, attributes: Sequence[Attribute], path: str | Path):
        super().__init__(attributes, path)
        self._indices: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._codes: list[dict[str, Any] | None] = [
            _TextCodes() if a.kind in ("string", "date") else _plain_codes(a, nan) for a in attributes
        ]
        self._convert: list[Callable[[str], Any]] = [float if c is None else c.__getitem__ for c in self._codes]
        self._has_numbers = None in self._codes
        self._has_texts = any(isinstance(codes, _TextCodes) for codes in self._codes)

    def array(self) -> sp.csr_array:
        """Return the rows; zeros that a file names are not stored."""
        lengths = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths])
        starts = np.cumsum(lengths)
        index_type = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64
        values = np.concatenate([np.empty(0), *self._values])
        self._values.clear()
        indices = np.concatenate([np.empty(0, dtype=index_type), *self._indices])
        self._indices.clear()
        array = sp.csr_array(
            (values, indices, starts.astype(index_type)), shape=(self.n_rows, len(self.attributes)), copy=False
        )
        array.eliminate_zeros()
        return array

    def complete_attributes(self) -> list[Attribute]:
        """Return the attributes, those of text with the texts that occur."""
        return [
            Attribute(a.name, a.kind, tuple(c)) if isinstance(c, _TextCodes) else a
            for a, c in zip(self.attributes, self._codes, strict=True)
        ]

    def _add_plain(self, block: str) -> bool:
        encoded = block.encode(errors="surrogatepass")
        if encoded.translate(None, _PLAIN_SPARSE):
            return False
        if (self._has_numbers or self._has_texts) and MISSING in block:
            return False
        if self._has_numbers and ("_" in block or not block.isascii()):  # Python reads 1_000 and digits of all scripts
            return False
        block = block.replace("\t", " ").replace(", ", ",").replace("{ ", "{").replace(" }", "}")
        lines = [line for line in block.split("\n") if line]
        if not block.count("{") == block.count("}") == len(lines):
            return False
        if any(line[0] != "{" or line[-1] != "}" for line in lines):
            return False
        rows = [line[1:-1] for line in lines]
        lengths = np.array([row.count(",") + 1 if row else 0 for row in rows], dtype=np.int64)
        joined = ",".join(filter(None, rows))
        if not joined:
            self._extend(np.empty(0, dtype=np.int32), np.empty(0), lengths)
            return True
        # Each cell must be an index, one space, a value.
        separators = joined.encode(errors="surrogatepass").translate(None, _ALL_BUT_SEPARATORS)
        if separators != (b" ," * int(lengths.sum()))[:-1]:
            return False
        cells = joined.replace(" ", ",").split(",")
        digits = "".join(cells[::2])
        if not (digits.isascii() and digits.isdigit()) or (self._has_texts and "" in cells):
            return False
        try:
            numbers = [*map(int, cells[::2])]
            values = [self._convert[i](text) for i, text in zip(numbers, cells[1::2], strict=True)]
        except (KeyError, ValueError, IndexError):
            return False
        indices = np.array(numbers, dtype=np.int32)
        rises = np.diff(indices) > 0
        starts = np.cumsum(lengths)[:-1]
        rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
        array = np.array(values, dtype=np.float64)
        if not rises.all() or np.isinf(array).any():
            return False
        self._extend(indices, array, lengths)
        return True

    def _add_carefully(self, cursors: Iterator[Cursor]) -> None:
        indices: list[int] = []
        values: list[float] = []
        lengths: list[int] = []
        for cursor in cursors:
            before = len(indices)
            self._add_row(cursor, indices, values)
            lengths.append(len(indices) - before)
        self._extend(np.array(indices, dtype=np.int32), np.array(values), np.array(lengths, dtype=np.int64))

    def _add_row(self, cursor: Cursor, indices: list[int], values: list[float]) -> None:
        if not cursor.take("{"):
            cursor.refuse("a row without braces in a file whose first row is sparse: {index value, …}.")
        last = -1
        more = not cursor.take("}")
        while more:
            index = self._index(cursor, last)
            attribute, codes = self.attributes[index], self._codes[index]
            if not cursor.after_space:
                cursor.refuse(f"there is no space between the index {index} and its value.")
            cell = cursor.token(f"the value of the attribute {attribute.name!r}")
            indices.append(index)
            values.append(_sparse_value(cell, attribute, codes, cursor))
            last = index
            more = cursor.take(",")
            if not more and not cursor.take("}"):
                cursor.refuse(f"the value of the attribute {attribute.name!r} is not followed by a comma or a brace.")
        if not cursor.at_end:
            _refuse_after_row(cursor)

    def _index(self, cursor: Cursor, last: int) -> int:
        token = cursor.token("an index")
        text = token.text
        shown = text if len(text) <= 40 else text[:40] + "…"
        if token.quoted or not (text.isascii() and text.isdigit()):
            cursor.refuse(f"{shown!r} is not the index of an attribute: cells of a sparse row are {{index value, …}}.")
        # Long strings of digits are refused before they become numbers.
        if len(text.lstrip("0")) > 9 or int(text) >= len(self.attributes):
            cursor.refuse(f"the index {shown} is too large: the attributes are 0 to {len(self.attributes) - 1}.")
        index = int(text)
        if index == last:
            cursor.refuse(f"the index {index} is given twice.")
        if index < last:
            cursor.refuse(f"the index {index} follows {last}: indices of a row must increase.")
        return index

    def _extend(self, indices: np.ndarray, values: np.ndarray, lengths: np.ndarray) -> None:
        self._indices.append(indices)
        self._values.append(values)
        self._lengths.append(lengths)
        self.n_rows += len(lengths)


class _TextCodes(dict[str, float]):
    """Numbers for texts in the order in which they occur; the empty text, of omitted cells, is 0."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> float:
        self[text] = len(self)
        return self[text]


def _plain_codes(attribute: Attribute, missing: float) -> dict[str, Any] | None:
    """Return the code of each value of a nominal attribute, as it stands without quotes."""
    if attribute.categories is None:
        return None
    codes: dict[str, Any] = {category: code for code, category in enumerate(attribute.categories)}
    codes.pop("", None)  # a cell that is left empty is an error; '' in quotes is read carefully
    codes[MISSING] = missing
    return codes


def _plain_numbers(cells: list[str], missing: bool, plain: bool) -> np.ndarray:
    """Turn texts without control characters and white space into numbers; a ValueError if one is none."""
    if not plain:
        joined = "".join(cells)
        if "_" in joined or not joined.isascii():  # Python reads 1_000 and digits of all scripts
            raise ValueError("not plain numbers")
    numbers = [nan if cell == MISSING else float(cell) for cell in cells] if missing else [*map(float, cells)]
    array = np.array(numbers)
    if np.isinf(array).any():
        raise ValueError("not finite")
    return array


def _split(cursor: Cursor, width: int) -> list[Token]:
    """Take the cells of a dense row: a comma or white space parts them."""
    if cursor.next == "{":
        cursor.refuse("a row in braces in a file whose first row is not sparse.")
    cells = [cursor.token("a value")]
    while not cursor.at_end:
        if cursor.take(","):
            if cursor.next == ",":
                cursor.refuse(f"cell {len(cells) + 1} is empty: write ? for what is missing, '' for an empty text.")
            if cursor.next == "{":
                _refuse_after_row(cursor)
        elif cursor.next in ("{", "}"):
            _refuse_after_row(cursor)
        elif not cursor.after_space:
            cursor.refuse(f"there is no comma before {cursor.rest!r}.")
        cells.append(cursor.token(f"cell {len(cells) + 1}"))
        if len(cells) > width:
            break
    if len(cells) != width:
        count = f"more than {width}" if len(cells) > width else str(len(cells))
        cursor.refuse(
            f"the row has {count} cells, but there are {width} attributes. "
            "Put a value that holds a space or a comma in quotes."
        )
    return cells


def _refuse_after_row(cursor: Cursor) -> None:
    rest = cursor.rest
    if rest.lstrip(", \t").startswith("{"):
        cursor.refuse(f"the row ends in {rest}: weights of rows are not supported; remove it.")
    cursor.refuse(f"{rest!r} after the row.")


def _dense_value(cell: Token, attribute: Attribute, codes: dict[str, Any] | None, cursor: Cursor) -> Any:
    if cell.text == MISSING and not cell.quoted:
        return nan if attribute.kind == "numeric" else NO_CODE if attribute.kind == "nominal" else None
    if attribute.kind == "numeric":
        return _number(cell.text, attribute, cursor)
    return cell.text if codes is None else _code(cell.text, attribute, codes, cursor)


def _sparse_value(cell: Token, attribute: Attribute, codes: dict[str, Any] | None, cursor: Cursor) -> float:
    if cell.text == MISSING and not cell.quoted:
        return nan
    if isinstance(codes, _TextCodes):
        return codes.setdefault(cell.text, len(codes))
    return _number(cell.text, attribute, cursor) if codes is None else _code(cell.text, attribute, codes, cursor)


def _number(text: str, attribute: Attribute, cursor: Cursor) -> float:
    shown = text if len(text) <= 40 else text[:40] + "…"
    if _NUMBER.fullmatch(text) is None:
        if text.lstrip("+-").lower() in ("inf", "infinity"):
            cursor.refuse(f"the attribute {attribute.name!r} is infinite: write ? if its value is not known.")
        cursor.refuse(f"{shown!r} is not a number, but the attribute {attribute.name!r} is numeric. ? means missing.")
    number = float(text)
    if isinf(number):
        cursor.refuse(f"{shown} in the attribute {attribute.name!r} is beyond the largest number of a computer.")
    return number


def _code(text: str, attribute: Attribute, codes: dict[str, Any], cursor: Cursor) -> int:
    categories = attribute.categories or ()
    # "" and "?" in quotes are values if they are declared; the codes hold what they mean without quotes.
    code = codes.get(text, NO_CODE) if text not in ("", MISSING) else NO_CODE
    if code == NO_CODE:
        if text in ("", MISSING) and text in categories:
            return categories.index(text)
        shown = text if len(text) <= 40 else text[:40] + "…"
        declared = ", ".join(categories[:SHOWN]) + (", …" if len(categories) > SHOWN else "")
        hint = nearest(shown, categories) if len(categories) <= 1000 else ""
        cursor.refuse(
            f"{shown!r} is not a declared value of the attribute {attribute.name!r}: {declared}{hint or '.'} "
            "? means missing."
        )
    return code


def _as_part(attribute: Attribute, values: list[Any]) -> Any:
    if attribute.kind == "numeric":
        return np.array(values, dtype=np.float64)
    return np.array(values, dtype=np.int32) if attribute.kind == "nominal" else values


def _column(attribute: Attribute, parts: list[Any], dtype: pd.CategoricalDtype | None) -> Any:
    if attribute.kind == "numeric":
        column: Any = np.concatenate(parts)
    elif attribute.kind == "nominal":
        column = pd.Categorical.from_codes(np.concatenate(parts), dtype=dtype)
    else:
        column = pd.Series([text for part in parts for text in part], dtype="str")
    parts.clear()
    return column
