"""Read ARFF, the format of Weka, MEKA and Mulan, into tables.

Rows are read a block of lines at a time, in a fast and a careful way. The fast way takes a block in which nothing is
quoted or odd, and either reads all of it or leaves it alone; the careful way then reads it row by row and names the
line of what is wrong. Whatever the fast way reads, the careful way would read alike.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isinf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import nearest
from montechain.datasets.arff_syntax import Attribute, Cursor, Token, cursors, read_header, shortened
from montechain.datasets.files import EXACT_FLOATS, text_blocks
from montechain.errors import DataError

__all__ = ["ArffTable", "Attribute", "arff_columns", "read_arff"]

MISSING = "?"
BATCH = 1 << 23
"""Number of characters that are read in one go."""
SHOWN = 12
"""Maximum number of declared values listed in an error."""

_NUMBER = re.compile(r"[+-]?+(?:nan|(?:\d++(?:\.\d*+)?+|\.\d++)(?:e[+-]?+\d++)?+)", re.ASCII | re.IGNORECASE)
_NO_SEPARATORS = bytes(set(range(256)) - set(b" ,"))
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f'\"%]")


@dataclass(frozen=True)
class ArffTable:
    """The content of an ARFF file.

    Attributes
    ----------
    relation : str
        The name of the relation, where MEKA keeps options.
    attributes : list of Attribute
        The columns, in the file's order.
    data : data frame or CSR array of shape (n, number of attributes)
        Of a dense file, a frame: numeric columns are float64, nominal ones categoricals with the declared values,
        texts and dates are text, and missing cells are NaN. Of a sparse file, an array of numbers: nominal cells are
        codes in the declared order, so that an omitted cell is the first declared value; missing cells are stored NaN.
    """

    relation: str
    attributes: list[Attribute]
    data: pd.DataFrame | sp.csr_array


def read_arff(path: str | Path, *, encoding: str = "utf-8") -> ArffTable:
    r"""Read an ARFF file, dense or sparse, plain or compressed with gzip or bzip2.

    Parameters
    ----------
    path : str or Path
    encoding : str, default="utf-8"
        Old files may need ``"latin-1"``.

    Returns
    -------
    ArffTable

    Raises
    ------
    DataError
        If the file is not ARFF, is damaged, or holds what is not supported: relational attributes and weights of rows.
        The message names the line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> text = "@relation weather\n@attribute warm numeric\n@attribute play {no, yes}\n@data\n21.5, yes\n?, no\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "weather.arff"
    ...     _ = path.write_text(text)
    ...     table = read_arff(path)
    >>> table.attributes[1]
    Attribute(name='play', kind='nominal', categories=('no', 'yes'))
    >>> table.data
       warm play
    0  21.5  yes
    1   NaN   no
    """
    blocks = text_blocks(path, encoding)
    relation, attributes, number, rest = read_header(blocks, path)
    rows: DenseRows | SparseRows | None = None
    parts: list[Any] = []
    for batch in _batches([(number + 1, rest)] if rest else [], blocks):
        text = "".join(block for _, block in batch)
        if rows is None and (row := re.search(r"^[ \t]*([^ \t\n%])", text, re.MULTILINE)):
            rows = SparseRows(attributes) if row[1] == "{" else DenseRows(attributes)
        if rows is None:
            continue
        part = rows.read_fast(text)
        if part is not None:
            parts.append(part)
            continue
        for first, block in batch:
            part = rows.read_fast(block)
            parts.append(rows.read_carefully(cursors(block, path, first)) if part is None else part)
    if rows is None:
        raise DataError("there are no rows after @data.", path=path, line=number)
    return ArffTable(relation, rows.attributes, rows.join(parts))


def _batches(first: list[tuple[int, str]], blocks: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield blocks several at a time: pandas is slow to begin, and fast once it reads."""
    batch, size = first, 0
    for block in blocks:
        batch.append(block)
        size += len(block[1])
        if size > BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def arff_columns(path: str | Path, *, encoding: str = "utf-8") -> list[str]:
    """Return the names of the columns of an ARFF file; only its header is read."""
    return [attribute.name for attribute in read_header(text_blocks(path, encoding), path)[1]]


class DenseRows:
    """Rows with a cell for each attribute, as frames of numbers, categoricals and texts."""

    def __init__(self, attributes: Sequence[Attribute]):
        self.attributes = list(attributes)

    def join(self, parts: list[pd.DataFrame]) -> pd.DataFrame:
        """Return the rows of all blocks."""
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]

    def read_fast(self, block: str) -> pd.DataFrame | None:
        """Return the rows of a block in which nothing is odd, as pandas reads them; None otherwise."""
        width = len(self.attributes)
        if width == 1 or _ODD.search(block) or "{" in block or "}" in block:
            return None
        if "\t" in block or " " in block:
            block = block.replace("\t", " ").replace(", ", ",").replace(" ,", ",")
            block = "\n".join(line.strip(" ") for line in block.split("\n"))
        block = f"\n{block}"
        if " " in block or any(sign in block for sign in (",,", "\n,", ",\n")) or not block.strip("\n"):
            return None
        dtypes = {j: str for j, attribute in enumerate(self.attributes) if attribute.kind != "numeric"}
        try:
            frame = pd.read_csv(
                io.StringIO(block),
                header=None,
                names=range(width),
                dtype=dtypes,
                keep_default_na=False,
                na_values=[MISSING],
                **EXACT_FLOATS,
            )
        except (ValueError, OverflowError):
            return None
        if not isinstance(frame.index, pd.RangeIndex) or block.count(",") != len(frame) * (width - 1):
            return None
        columns: dict[int, Any] = {}
        for j, attribute in enumerate(self.attributes):
            column = frame[j]
            if attribute.kind == "numeric":
                if column.dtype.kind not in "iuf" or np.isinf(column).any():
                    return None
                column = column.astype(np.float64)
            elif attribute.categories is not None:
                codes, values = pd.factorize(column)
                if not attribute.codes.keys() >= set(values):
                    return None
                place = np.array([*map(attribute.codes.__getitem__, values), -1])
                column = pd.Categorical.from_codes(place[codes], dtype=_dtype(attribute.categories))
            columns[j] = column
        return self._named(columns)

    def read_carefully(self, lines: Iterator[Cursor]) -> pd.DataFrame:
        """Return the rows at these places."""
        rows = []
        for cursor in lines:
            pairs = zip(self._split(cursor), self.attributes, strict=True)
            rows.append([_value(cell, attribute, cursor) for cell, attribute in pairs])
        columns: dict[int, Any] = {}
        for j, attribute in enumerate(self.attributes):
            cells = [row[j] for row in rows]
            if attribute.categories is not None:
                codes = [-1 if cell is None else attribute.codes[cell] for cell in cells]
                columns[j] = pd.Categorical.from_codes(codes, dtype=_dtype(attribute.categories))
            else:
                columns[j] = pd.Series(cells, dtype=np.float64 if attribute.kind == "numeric" else "str")
        return self._named(columns)

    def _named(self, columns: dict[int, Any]) -> pd.DataFrame:
        return pd.DataFrame({attribute.name: columns[j] for j, attribute in enumerate(self.attributes)})

    def _split(self, cursor: Cursor) -> list[Token]:
        """Take the cells of a row: a comma or white space separates them."""
        width = len(self.attributes)
        if cursor.next == "{":
            cursor.refuse("a row in braces in a file whose first row is not sparse.")
        cells = [cursor.token("a value")]
        while not cursor.at_end and len(cells) <= width:
            if cursor.take(","):
                if cursor.next == ",":
                    cursor.refuse(f"cell {len(cells) + 1} is empty: write ? for missing, '' for an empty text.")
                if cursor.next == "{":
                    cursor.refuse_end_of_row()
            elif cursor.next in ("{", "}"):
                cursor.refuse_end_of_row()
            elif not cursor.after_space:
                cursor.refuse(f"there is no comma before {cursor.rest!r}.")
            cells.append(cursor.token(f"cell {len(cells) + 1}"))
        if len(cells) != width:
            count = f"more than {width}" if len(cells) > width else str(len(cells))
            cursor.refuse(
                f"the row has {count} cells, but there are {width} attributes. Quote values with a space or a comma."
            )
        return cells


class SparseRows:
    r"""Rows that name only some cells, as ``{index value, index value}``; nominal cells and texts become codes.

    >>> rows = SparseRows([Attribute("x", "numeric"), Attribute("c", "nominal", ("red", "blue"))])
    >>> rows.read_fast("{0 1.5, 1 blue}\n{}\n").toarray().tolist()
    [[1.5, 1.0], [0.0, 0.0]]
    """

    def __init__(self, attributes: Sequence[Attribute]):
        self._declared = list(attributes)
        self._texts = {j: _TextCodes() for j, a in enumerate(attributes) if a.kind in ("string", "date")}
        self._has_numbers = any(attribute.kind == "numeric" for attribute in attributes)
        self._convert: list[Callable[[str], float]] = [
            float if a.kind == "numeric" else self._texts[j].__getitem__ if j in self._texts else _lookup(a.categories)
            for j, a in enumerate(attributes)
        ]

    @property
    def attributes(self) -> list[Attribute]:
        """The attributes, those of text with the texts that occur."""
        texts = self._texts
        return [Attribute(a.name, a.kind, tuple(texts[j])) if j in texts else a for j, a in enumerate(self._declared)]

    def join(self, parts: list[sp.csr_array]) -> sp.csr_array:
        """Return the rows of all blocks; zeros that the file names are not stored."""
        array = sp.csr_array(sp.vstack(parts, format="csr"))
        array.eliminate_zeros()
        return array

    def read_fast(self, block: str) -> sp.csr_array | None:
        """Return the rows of a block in which nothing is odd; None otherwise."""
        if _ODD.search(block) or ((self._has_numbers or self._texts) and MISSING in block):
            return None
        if self._has_numbers and ("_" in block or not block.isascii()):  # Python reads 1_000 and digits of all scripts
            return None
        block = block.replace("\t", " ").replace(", ", ",").replace("{ ", "{").replace(" }", "}")
        lines = [line for line in block.split("\n") if line]
        if not block.count("{") == block.count("}") == len(lines):
            return None
        if any(line[0] != "{" or line[-1] != "}" for line in lines):
            return None
        rows = [line[1:-1] for line in lines]
        lengths = [row.count(",") + 1 if row else 0 for row in rows]
        joined = ",".join(filter(None, rows))
        if not joined:
            return self._array([], [], lengths)
        # Each cell must be an index, one space, a value.
        separators = joined.encode(errors="surrogatepass").translate(None, _NO_SEPARATORS)
        if separators != (b" ," * sum(lengths))[:-1]:
            return None
        cells = joined.replace(" ", ",").split(",")
        digits = "".join(cells[::2])
        if not (digits.isascii() and digits.isdigit()) or (self._texts and "" in cells):
            return None
        try:
            indices = [*map(int, cells[::2])]
            values = [self._convert[j](text) for j, text in zip(indices, cells[1::2], strict=True)]
        except (KeyError, ValueError, IndexError):
            return None
        array = self._array(indices, values, lengths)
        rises = np.diff(array.indices) > 0
        starts = array.indptr[1:-1]
        rises[starts[(starts > 0) & (starts < len(indices))] - 1] = True
        return array if rises.all() and not np.isinf(array.data).any() else None

    def read_carefully(self, lines: Iterator[Cursor]) -> sp.csr_array:
        """Return the rows at these places."""
        rows = [self._row(cursor) for cursor in lines]
        cells = [cell for row in rows for cell in row]
        return self._array([j for j, _ in cells], [value for _, value in cells], [len(row) for row in rows])

    def _array(self, indices: list[int], values: list[float], lengths: list[int]) -> sp.csr_array:
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        content = (np.array(values, dtype=np.float64), np.array(indices, dtype=np.int64), starts)
        return sp.csr_array(content, shape=(len(lengths), len(self._declared)))

    def _row(self, cursor: Cursor) -> list[tuple[int, float]]:
        if not cursor.take("{"):
            cursor.refuse("a row without braces in a file whose first row is sparse: {index value, …}.")
        row: list[tuple[int, float]] = []
        more = not cursor.take("}")
        while more:
            j = self._index(cursor, row[-1][0] if row else -1)
            attribute = self._declared[j]
            if not cursor.after_space:
                cursor.refuse(f"there is no space between the index {j} and its value.")
            value = _value(cursor.token(f"the value of the attribute {attribute.name!r}"), attribute, cursor)
            codes = self._texts.get(j, attribute.codes)
            row.append((j, nan if value is None else codes[value] if isinstance(value, str) else value))
            more = cursor.take(",")
            if not more and not cursor.take("}"):
                cursor.refuse(f"the value of the attribute {attribute.name!r} is not followed by a comma or a brace.")
        if not cursor.at_end:
            cursor.refuse_end_of_row()
        return row

    def _index(self, cursor: Cursor, last: int) -> int:
        text, quoted = cursor.token("an index")
        if quoted or not (text.isascii() and text.isdigit()):
            cursor.refuse(f"{shortened(text)!r} is not the index of an attribute: sparse rows are {{index value, …}}.")
        n = len(self._declared)
        # Long strings of digits are refused before they become numbers.
        if len(text.lstrip("0")) > 9 or int(text) >= n:
            cursor.refuse(f"the index {shortened(text)} is too large: the attributes are 0 to {n - 1}.")
        if int(text) == last:
            cursor.refuse(f"the index {last} is given twice.")
        if int(text) < last:
            cursor.refuse(f"the index {int(text)} follows {last}: indices of a row must increase.")
        return int(text)


class _TextCodes(dict[str, int]):
    """Numbers for texts in order of appearance; the empty text, of omitted cells, is 0."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, len(self))


@lru_cache(maxsize=1000)
def _dtype(categories: tuple[str, ...]) -> pd.CategoricalDtype:
    """Return the type of a nominal attribute; thousands of attributes may share one declaration."""
    return pd.CategoricalDtype(pd.Index(categories, dtype="str"))


@lru_cache(maxsize=1000)
def _lookup(categories: tuple[str, ...]) -> Callable[[str], float]:
    """Return a function from an unquoted cell to its code; an empty cell, which is an error, has none."""
    codes: dict[str, float] = {category: code for code, category in enumerate(categories)}
    codes.pop("", None)
    return {**codes, MISSING: nan}.__getitem__


def _value(cell: Token, attribute: Attribute, cursor: Cursor) -> Any:
    """Return a cell: a number, a declared value or a text; None if it is missing."""
    text = cell.text
    if text == MISSING and not cell.quoted:
        return None
    if attribute.kind == "numeric":
        if _NUMBER.fullmatch(text) is None:
            if text.lstrip("+-").lower() in ("inf", "infinity"):
                cursor.refuse(f"the attribute {attribute.name!r} is infinite: write ? if its value is not known.")
            cursor.refuse(f"{shortened(text)!r} is not a number, but {attribute.name!r} is numeric. ? means missing.")
        if isinf(float(text)):
            cursor.refuse(f"{shortened(text)} in the attribute {attribute.name!r} is larger than the largest float.")
        return float(text)
    categories = attribute.categories
    if categories is not None and text not in attribute.codes:
        declared = ", ".join(categories[:SHOWN]) + (", …" if len(categories) > SHOWN else "")
        hint = nearest(shortened(text), categories) if len(categories) <= 1000 else ""
        cursor.refuse(
            f"{shortened(text)!r} is not a declared value of the attribute {attribute.name!r}: {declared}{hint or '.'} "
            "? means missing."
        )
    return text
