"""The typing pass: from the cells of a text file to columns of numbers, dates, words or text.

Every column goes through it once. Notes say, in plain sentences, what was found that you may want to know about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from pandas.api import types

from montechain._columns import DATE, MOSTLY_NUMBERS, describe_strays
from montechain.errors import DataError

MISSING_VALUES = ("?", "NA", "N/A", "<NA>", "NaN", "nan", "None", "null", "NULL")
"""Cells that mean "unknown", besides an empty one."""

NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
CODE = re.compile(r"[+-]?0\d", re.ASCII)
NUMBER_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d*,\d+)")
DATES_AS_LABELS = (
    "the target {name!r} holds dates, such as {word!r}. Targets are classes: turn the dates into months, say, or make "
    "each date a class with nominal=[{name!r}] (on the command line: --nominal {name})."
)
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass
class ColumnTyper:
    """Types the columns of one table, and collects notes about them.

    `kinds` names columns whose kind is known: "number", "nominal", "text", "label", which has no stray cells, or
    "tags", which has no missing ones. For messages there are `path` and `line_of`, a function from a row to its line.
    `read_dataset` describes the others.

    >>> typer = ColumnTyper(line_of=lambda row: row + 2)
    >>> typer.column(pd.Series([*"1234567890" * 2, "heavy"]), "weight")[-2:]
    array([ 0., nan])
    >>> typer.notes
    ["column 'weight': 20 of 21 values are numbers; line 22 holds 'heavy'. What is not a number is treated as missing."]
    """

    kinds: dict[str, str] = field(default_factory=dict)
    missing_values: Collection[str] = ()
    decimal: str = "."
    stray: str = "missing"
    path: str | Path | None = None
    line_of: Callable[[int], int] = field(default=lambda row: row + 1)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"`decimal={self.decimal!r}` must be a point or a comma, as in decimal=','.")
        if self.stray not in ("missing", "error"):
            raise ValueError(f"`stray={self.stray!r}` must be 'missing' or 'error'.")

    def column(self, cells: pd.Series, name: str) -> Any:
        """Return one column: integers, floats (NaN where missing), truth values, categories or strings."""
        kind = self.kinds.get(name, "any")
        if types.is_bool_dtype(cells.dtype):
            return cells.to_numpy()
        if types.is_numeric_dtype(cells.dtype):
            return self._finite(cells.to_numpy(np.float64 if cells.dtype == np.uint64 else None), name)
        codes, words = self._words(cells)
        if kind == "tags":
            return np.array([*words, ""], dtype=object)[codes]
        if kind not in ("text", "nominal"):
            if not words:
                return np.full(len(codes), np.nan)
            column = self._numbers(words, codes, name, kind)
            if column is not None:
                return column
            if BOOLEANS.keys() >= set(words):
                truths = pd.array([*map(BOOLEANS.__getitem__, words), None], dtype="boolean")[codes]
                if kind == "label" and truths.isna().any():
                    return truths
                return truths.to_numpy(np.float64 if truths.isna().any() else bool, na_value=np.nan)
            if all(map(DATE.match, words)):
                if kind == "label":
                    self._refuse(DATES_AS_LABELS.format(name=name, word=words[0]))
                self.notes.append(f"column {name!r} looks like dates, such as {words[0]!r}.")
                kind = "text"  # `TableEncoder` makes dates of it, always in the format of the training rows
        if kind == "text":
            return pd.array(np.array([*words, None], dtype=object)[codes], dtype="string")
        order = sorted(range(len(words)), key=words.__getitem__)
        categories = pd.Index([words[code] for code in order], dtype=None if words else object)
        return pd.Categorical.from_codes(np.append(np.argsort(order), -1)[codes], categories=categories)

    def _words(self, cells: pd.Series) -> tuple[np.ndarray, list[str]]:
        """Return a code for each cell, -1 where it is missing, and the distinct words."""
        codes, found = pd.factorize(cells)
        words = [str(word).strip() for word in found.tolist()]  # pandas may have found truth values
        known = [None if not word or word in self.missing_values else word for word in words]
        place, distinct = pd.factorize(np.array([*known, None], dtype=object))  # strings may now be equal
        return place[codes], distinct.tolist()

    def _refuse(self, message: str, row: int | None = None) -> NoReturn:
        """Raise an error that names the file and, if it is known, the line."""
        raise DataError(message, path=self.path, line=None if row is None else self.line_of(row))

    def _numbers(self, words: list[str], codes: np.ndarray, name: str, kind: str) -> Any:
        """Return numbers if all cells but a few strays are such; None for a column of something else."""
        # Point and comma change places, so that 1.5 is not a number where 1,5 is one.
        plain = words if self.decimal == "." else [word.translate({44: ".", 46: ","}) for word in words]
        is_number = np.array([NUMBER.fullmatch(word) is not None for word in plain])
        strays = np.flatnonzero(~np.append(is_number, True)[codes])
        if kind != "number":
            odd = [word for word, number in zip(words, is_number, strict=True) if not number]
            if odd and all(map(NUMBER_WITH_COMMA.fullmatch, odd)):
                self._refuse(
                    f"column {name!r} holds numbers with a comma, such as {odd[0]!r}. If it is the decimal mark, say "
                    'decimal="," (on the command line: --decimal ,). Remove what separates thousands from '
                    f"the file. To keep the cells as written, say nominal=[{name!r}].",
                    int(strays[0]),
                )
            is_code = any(CODE.match(word) for word, number in zip(plain, is_number, strict=True) if number)
            if is_code or len(strays) > (0 if kind == "label" else (1 - MOSTLY_NUMBERS) * (codes >= 0).sum()):
                return None
        if len(strays):
            self._note_strays(strays, codes, words, name)
        elif (codes >= 0).all() and all(map(WHOLE.fullmatch, plain)):
            with suppress(OverflowError):  # more than 64 bits
                return np.array([*map(int, plain)], dtype=np.int64)[codes]
        values = [float(word) if number else np.nan for word, number in zip(plain, is_number, strict=True)]
        return self._finite(np.array([*values, np.nan])[codes], name)

    def _finite(self, numbers: np.ndarray, name: str) -> np.ndarray:
        for row in np.flatnonzero(np.isinf(numbers))[:1]:
            self._refuse(
                f"column {name!r} is infinite in row {row + 1}. Leave the cell empty if its value is not known, or "
                f"leave the column out with drop=[{name!r}].",
                int(row),
            )
        return numbers

    def _note_strays(self, strays: np.ndarray, codes: np.ndarray, words: list[str], name: str) -> None:
        held = [(f"line {self.line_of(row)}", words[codes[row]]) for row in strays.tolist()]
        note = describe_strays(name, held, int((codes >= 0).sum()))
        if self.stray == "error":
            what_to_do = "Correct or empty such cells, or treat them as missing with stray='missing'."
            self._refuse(f"{note} {what_to_do}", int(strays[0]))
        self.notes.append(f"{note} What is not a number is treated as missing.")
