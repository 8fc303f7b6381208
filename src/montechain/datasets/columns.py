"""From the cells of a column, as text, to numbers, booleans, nominal values or text.

Only what can be undone is converted: a code such as ``007`` or a number too long for 64 bits stays as it is
written, and so does a date.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
import pandas as pd

__all__ = [
    "MISSING_VALUES",
    "NumberFormat",
    "RefusedCell",
    "categorical",
    "integers",
    "missing_marks",
    "text",
    "typed_cells",
]

MISSING_VALUES = ("?", "NA", "N/A", "<NA>", "NaN", "nan", "None", "null", "NULL")
"""What stands for an unknown cell, besides an empty one."""

SEPARATOR = "\0"
"""Joins the cells of a column, of which none contains it: one long string takes a byte a character, a list fifty."""

Kind = Literal["any", "nominal", "text"]

# `float` also takes "1_000", digits of other scripts and "nan"; these characters leave the plain numbers and "inf".
NUMBER_CHARACTERS = b"0123456789+-.eEinftyINFTY" + SEPARATOR.encode()
WHOLE_NUMBER_CHARACTERS = b"0123456789+-" + SEPARATOR.encode()
# For cells with a separator on either side: a leading zero, or a number that may not fit into 64 bits.
CODE = re.compile(r"\0[+-]?(?:0\d|\d{19,}(?=\0))")
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
NUMBER_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d*,\d+)\Z")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
LARGEST = 2**63


def missing_marks(missing_values: Iterable[str]) -> frozenset[str]:
    """Return the cells that mean "unknown": the given ones and the empty one."""
    if isinstance(missing_values, str):
        raise TypeError(
            f"`missing_values={missing_values!r}` is a string; give a list of them, as in "
            f"missing_values=[{missing_values!r}]."
        )
    return frozenset(missing_values) | {""}


@dataclass(frozen=True)
class NumberFormat:
    """How a file writes numbers: what stands before the fraction, and what between thousands."""

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        for parameter, value in (("decimal", self.decimal), ("thousands", self.thousands)):
            if value is None and parameter == "thousands":
                continue
            if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in "+-":
                raise ValueError(f"`{parameter}={value!r}` must be one sign, such as {parameter}=','.")
        if self.decimal == self.thousands:
            raise ValueError(f"`decimal` and `thousands` are both {self.decimal!r}; they must differ.")

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as in Python."""
        return self.decimal == "." and self.thousands is None

    def plain(self, cells: list[str]) -> list[str]:
        """Return the cells with numbers written as in Python; others need not stay as they are."""
        if self.is_plain:
            return cells
        if self.thousands is not None:
            mark, fraction = re.escape(self.thousands), re.escape(self.decimal)
            grouped = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{fraction}\d*)?\Z")
            cells = [cell.replace(self.thousands, "") if grouped.match(cell) else cell for cell in cells]
        # The point and the sign for it change places, so that 1.5 is no number where 1,5 is one.
        return [cell.translate({ord(self.decimal): ".", ord("."): self.decimal}) for cell in cells]


def integers(values: np.ndarray, unknown: np.ndarray) -> Any:
    """Return whole numbers: an int64 array, or a nullable one where some are unknown."""
    if not unknown.any():
        return values
    return pd.arrays.IntegerArray(values, unknown)


def categorical(values: Iterable[Any], unknown: Iterable[bool]) -> pd.Categorical:
    """Return nominal values; the categories are those that occur, sorted."""
    codes: dict[Any, int] = {}
    found = np.fromiter(
        (
            -1 if is_unknown else codes.setdefault(value, len(codes))
            for value, is_unknown in zip(values, unknown, strict=True)
        ),
        dtype=np.int64,
    )
    categories = sorted(codes)
    rank = np.empty(len(codes) + 1, dtype=np.int64)
    rank[[codes[category] for category in categories]] = np.arange(len(codes))
    rank[-1] = -1  # where the code of an unknown cell points
    return pd.Categorical.from_codes(rank[found], categories=pd.Index(categories, dtype=_dtype_of(categories)))


def _dtype_of(categories: Sequence[Any]) -> Any:
    return object if not categories else None


def text(values: Iterable[str], unknown: Iterable[bool]) -> Any:
    """Return text, with `pandas.NA` where it is unknown."""
    return pd.array(
        [None if is_unknown else str(value) for value, is_unknown in zip(values, unknown, strict=True)], dtype="string"
    )


def typed_cells(chunks: list[str], missing: frozenset[str], *, kind: Kind, numbers: NumberFormat) -> Any:
    r"""Return a column, as an array that a data frame takes, from its cells joined by `SEPARATOR`.

    Raises
    ------
    RefusedCell
        If the cells are numbers with a comma, and `numbers` does not say what it means, or one is infinite.

    Examples
    --------
    >>> typed_cells(["1\0?\x003"], missing_marks(["?"]), kind="any", numbers=NumberFormat()).tolist()
    [1, <NA>, 3]
    >>> typed_cells(["007\x0012"], missing_marks([]), kind="any", numbers=NumberFormat()).tolist()
    ['007', '12']
    """
    if kind == "any":
        column = _numbers(chunks, missing, numbers)
        if column is not None:
            return column
        if numbers.thousands is None:
            _refuse_ambiguous(chunks, missing)
    cells = [cell for chunk in chunks for cell in chunk.split(SEPARATOR)]
    unknown = np.array([cell in missing for cell in cells], dtype=bool)
    if kind == "text":
        return text(cells, unknown)
    if kind == "any" and BOOLEANS.keys() >= set(cells) - missing:
        return booleans([BOOLEANS.get(cell, False) for cell in cells], unknown)
    return categorical(cells, unknown)


class RefusedCell(Exception, ABC):
    """A cell that keeps its column from being read, and the row that it stands in."""

    def __init__(self, row: int, cell: str):
        super().__init__(row, cell)
        self.row = row
        self.cell = cell

    @abstractmethod
    def about(self, name: str) -> str:
        """Say what is wrong with it, and what to type."""


class AmbiguousNumber(RefusedCell):
    """A number with a comma that may be a decimal point or a mark between thousands."""

    def about(self, name: str) -> str:
        """Say what is wrong with it, and what to type."""
        return (
            f"column {name!r} holds numbers with a comma, such as {self.cell!r}. Say what it means with "
            'thousands="," or decimal="," (on the command line: --thousands , or --decimal ,), or keep the cells '
            f"as they are written with nominal=[{name!r}]."
        )


class InfiniteNumber(RefusedCell):
    """A number that is infinite, or too large for a computer."""

    def about(self, name: str) -> str:
        """Say what is wrong with it, and what to type."""
        shown = self.cell if len(self.cell) <= 40 else f"{self.cell[:40]}…"
        return (
            f"column {name!r} holds {shown!r}, which is infinite or beyond the largest number of a computer. Leave the "
            f"cell empty if its value is not known, or leave the column out with drop=[{name!r}]."
        )


def booleans(values: Iterable[bool], unknown: np.ndarray) -> Any:
    """Return truth values: a bool array, or a nullable one where some are unknown."""
    values = np.array(list(values), dtype=bool)
    return pd.arrays.BooleanArray(values, unknown) if unknown.any() else values


def _numbers(chunks: list[str], missing: frozenset[str], numbers: NumberFormat) -> Any:
    """Return the column as int64, nullable Int64 or float64; None if it is not one of numbers."""
    values: list[np.ndarray] = []
    masks: list[np.ndarray] = []
    for chunk in chunks:
        cells = chunk.split(SEPARATOR)
        masks.append(np.array([cell in missing for cell in cells], dtype=bool))
        known = numbers.plain([cell for cell in cells if cell not in missing] if masks[-1].any() else cells)
        part = _parse_numbers(known)
        if part is None:
            return None
        values.append(part)
    unknown = np.concatenate(masks)
    if unknown.all():
        return np.full(len(unknown), np.nan)
    found = np.concatenate([part for part in values if len(part)])
    if found.dtype == np.float64 and np.isinf(found).any():
        row = int(np.flatnonzero(~unknown)[np.argmax(np.isinf(found))])
        written = (cell for chunk in chunks for cell in chunk.split(SEPARATOR))
        raise InfiniteNumber(row, next(islice(written, row, None)))
    if not unknown.any():
        return found
    column = np.ones(len(unknown), dtype=found.dtype)
    column[~unknown] = found
    if found.dtype == np.int64:
        return integers(column, unknown)
    column[unknown] = np.nan
    return column


def _parse_numbers(cells: list[str]) -> np.ndarray | None:
    if not cells:
        return np.empty(0, dtype=np.int64)
    joined = SEPARATOR.join(cells)
    if not joined.isascii() or joined.encode().translate(None, NUMBER_CHARACTERS):
        return None
    for code in CODE.findall(f"\0{joined}\0"):
        digits = code[1:].lstrip("+-")
        if digits[0] == "0" or len(digits) > 19 or not -LARGEST <= int(code[1:]) < LARGEST:
            return None
    try:
        if joined.encode().translate(None, WHOLE_NUMBER_CHARACTERS):
            return np.array([float(cell) for cell in cells])
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except ValueError:
        return None


def _refuse_ambiguous(chunks: list[str], missing: frozenset[str]) -> None:
    """Refuse a column in which every cell is a number once its commas are understood."""
    first: tuple[int, str] | None = None
    row = 0
    for chunk in chunks:
        for cell in chunk.split(SEPARATOR):
            if cell not in missing:
                if NUMBER_WITH_COMMA.match(cell):
                    first = first or (row, cell)
                elif not NUMBER.match(cell):
                    return
            row += 1
    if first is not None:
        raise AmbiguousNumber(*first)
