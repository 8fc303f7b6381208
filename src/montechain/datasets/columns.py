"""The typing pass: from the cells of a table to columns of numbers, dates, words or text.

Every table goes through it once. The dtypes of the result say everything: int64 (Int64 with missing cells), float64,
bool (boolean with missing cells), datetime64, and categories or text for the rest. Notes say, in plain sentences,
what was found that you may want to know about.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd
from pandas.api import types

from montechain.datasets.dates import DATE_LIKE, dates_of_objects, recognise_dates
from montechain.errors import DataError

__all__ = ["MISSING_VALUES", "ColumnTyper", "NumberFormat", "categorical", "missing_marks"]

MISSING_VALUES = ("?", "NA", "N/A", "<NA>", "NaN", "nan", "None", "null", "NULL")
"""Cells that mean "unknown", besides an empty one."""
MOST_STRAYS = 0.05
"""Maximum share of cells that may be strays in a column of numbers or dates."""
NEARLY = 0.5
"""From this share of numbers on, a column of words gets a note."""
FEW_ROWS = 20
"""Fewer values than this get no note about identifiers and rare words."""
LARGEST_WHOLE = 2**53
"""From here on a float cannot tell neighbouring whole numbers apart."""
SAMPLED = 200
"""Number of words that are looked at to see whether a column may hold numbers."""
MANY_WORDS = 100
"""More different words than this get a note, if they are on average not repeated ten times."""

Kind = Literal["any", "number", "date", "nominal", "text", "label"]

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
CODE = re.compile(r"[+-]?0\d.*", re.ASCII)
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
NUMBER_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d*,\d+)")
NUMERIC = re.compile(f"{NUMBER.pattern}|{INFINITE.pattern}|{NUMBER_WITH_COMMA.pattern}", re.ASCII | re.IGNORECASE)
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
COMMA = (
    'column {name!r} holds numbers with a comma, such as {cell!r}. Say what it means with thousands="," or decimal="," '
    "(on the command line: --thousands , or --decimal ,), or keep the cells as written with nominal=[{name!r}]."
)
NOT_UNDERSTOOD = (
    "column {name!r} is of type {kind}, which is neither a number nor a class nor text. Leave it out with "
    "drop=[{name!r}], or make numbers or text of it."
)
CURE = "Leave the cell empty if its value is not known, or leave the column out with drop=[{name!r}]."
SCALARS = (str, bool, int, float, decimal.Decimal, datetime.date, datetime.time, np.generic)


def missing_marks(missing_values: Iterable[str]) -> frozenset[str]:
    """Return the cells that mean "unknown": the given ones and the empty one."""
    if isinstance(missing_values, str):
        raise TypeError(
            f"`missing_values={missing_values!r}` is a string; give a list, as in missing_values=[{missing_values!r}]."
        )
    return frozenset(missing_values) | {""}


def categorical(words: Iterable[Any], codes: np.ndarray | None = None) -> pd.Categorical:
    """Return words as a categorical with sorted categories; `codes` point into distinct `words`, -1 where unknown."""
    if codes is None:
        codes, words = pd.factorize(np.array([*words, None], dtype=object)[:-1])
    words = list(words)
    order = sorted(range(len(words)), key=words.__getitem__)
    place = np.full(len(words) + 1, -1)
    place[order] = np.arange(len(order))
    categories = pd.Index([words[code] for code in order], dtype=None if words else object)
    return pd.Categorical.from_codes(place[codes], categories=categories)


@dataclass(frozen=True)
class NumberFormat:
    """How numbers are written: the decimal mark, and the mark between thousands, if any."""

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

    def plain(self, cells: list[str]) -> list[str]:
        """Return the cells with numbers written as in Python."""
        if self.thousands is not None:
            mark, fraction = re.escape(self.thousands), re.escape(self.decimal)
            grouped = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{fraction}\d*)?\Z")
            cells = [cell.replace(self.thousands, "") if grouped.match(cell) else cell for cell in cells]
        if self.decimal == ".":
            return cells
        # The two signs change places, so that 1.5 is not a number where 1,5 is one.
        return [cell.translate({ord(self.decimal): ".", ord("."): self.decimal}) for cell in cells]


@dataclass
class ColumnTyper:
    """Types the columns of one table, and collects notes about them.

    Parameters
    ----------
    missing, numbers : frozenset of str, NumberFormat
        Cells that mean "unknown", and how numbers are written.
    stray : {"missing", "error"}
        What happens to the few cells of a column of numbers or dates that are neither.
    kinds : dict of str to kind
        Columns whose kind is known: "number", "date", "nominal", "text"; "label" has no strays: every value is a class.
    plan : callable
        Returns kinds that depend on the names of all columns; `kinds` comes first.
    date_formats : dict of str to str
        The formats of columns of kind "date", where they are known; filled with those that are recognised.
    path, line_of : optional
        For messages: the file, and a function from a row to its line; without it, rows are counted from 1.
    note_identifiers : bool
        Whether to name columns that look like identifiers, or have many different words. `TableEncoder` does it, too.

    Examples
    --------
    >>> typer = ColumnTyper()
    >>> typer.from_strings(pd.Series([*"1234567890" * 2, "heavy"]), "weight").isna().sum()
    np.int64(1)
    >>> typer.notes
    ["column 'weight': 20 of 21 values are numbers; row 21 holds 'heavy', which is treated as missing."]
    """

    missing: frozenset[str] = frozenset({""})
    numbers: NumberFormat = NumberFormat()
    stray: str = "missing"
    kinds: dict[str, Kind] = field(default_factory=dict)
    plan: Callable[[list[str]], dict[str, Kind]] = lambda names: {}
    date_formats: dict[str, str] = field(default_factory=dict)
    path: str | Path | None = None
    line_of: Callable[[int], int] | None = None
    note_identifiers: bool = True
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.stray not in ("missing", "error"):
            raise ValueError(f"`stray={self.stray!r}` must be 'missing' or 'error'.")

    def start(self, names: list[str]) -> None:
        """Check the names of the columns, and settle the kinds that depend on them."""
        if not names:
            self.refuse("the table has no columns.")
        for position, name in enumerate(names):
            if name in names[:position]:
                self.refuse(f"the column {name!r} occurs more than once; rename one of them.")
        self.kinds = {**self.plan(names), **self.kinds}

    def refuse(self, message: str, row: int | None = None) -> NoReturn:
        """Raise an error that names the file and, if it is known, the line."""
        line = None if row is None or self.line_of is None else self.line_of(row)
        raise DataError(message, path=self.path, line=line)

    def from_strings(self, cells: pd.Series, name: str) -> Any:
        """Return a typed column from cells that are strings or missing."""
        kind = self.kinds.get(name, "any")
        codes, words = pd.factorize(cells)
        stripped = [word.strip() for word in words.tolist()]
        if any(word in self.missing for word in stripped) or len(set(stripped)) < len(words):
            known = [None if word in self.missing else word for word in stripped]
            place, distinct = pd.factorize(np.array([*known, None], dtype=object))
            codes, stripped = place[codes], list(distinct)
        if kind == "text":
            return pd.array(np.array([*stripped, None], dtype=object)[codes], dtype="string")
        if kind == "nominal":
            return categorical(stripped, codes)
        if not stripped:
            return np.full(len(codes), np.nan)
        column = self._numbers(stripped, codes, name, kind)
        if column is None:
            column = self._dates(stripped, codes, name, kind)
        if column is None and BOOLEANS.keys() >= set(stripped):
            column = _booleans(np.array([BOOLEANS[word] for word in stripped])[codes], codes < 0)
        if column is None:
            self._note_many_words(len(stripped), int((codes >= 0).sum()), name, kind)
            column = categorical(stripped, codes)
        return column

    def from_typed(self, series: pd.Series, name: str) -> Any:
        """Return a typed column from one of a data frame, whose own type is kept."""
        kind, dtype = self.kinds.get(name, "any"), series.dtype
        if isinstance(dtype, pd.SparseDtype):
            return self.from_typed(pd.Series(np.asarray(series)), name)
        is_date = types.is_datetime64_any_dtype(dtype)
        if kind in ("text", "nominal") or (kind == "label" and is_date):
            return self._as_written(series, kind)
        if isinstance(dtype, pd.CategoricalDtype):
            kept = [word for word in series.array.categories if not (isinstance(word, str) and word in self.missing)]
            return series.array if len(kept) == len(series.array.categories) else series.array.set_categories(kept)
        if types.is_bool_dtype(dtype):
            return _booleans(series.fillna(False).to_numpy(dtype=bool), series.isna().to_numpy(dtype=bool))
        if types.is_integer_dtype(dtype):
            unknown = series.isna().to_numpy(dtype=bool)
            values = (series.fillna(0) if unknown.any() else series).to_numpy()
            fits = values.dtype != np.uint64 or values.max(initial=0) < 2**63
            self._note_counting(values, unknown, name, kind)
            return _integers(values.astype(np.int64) if fits else values, unknown)
        if types.is_float_dtype(dtype):
            return self.finite(series.to_numpy(dtype=np.float64, na_value=np.nan), name)
        if is_date:
            return pd.to_datetime(series).array  # Arrow's types too, which pandas wraps
        if types.is_string_dtype(series) or types.is_object_dtype(dtype):
            return self._from_objects(series.astype(object), name, kind)
        self.refuse(NOT_UNDERSTOOD.format(name=name, kind=dtype))

    def _from_objects(self, series: pd.Series, name: str, kind: Kind) -> Any:
        found = types.infer_dtype(series, skipna=True)
        unknown = series.isna().to_numpy(dtype=bool)
        if found == "empty":
            return np.full(len(series), np.nan)
        if found == "boolean":
            return _booleans(series.where(~unknown, False).to_numpy(dtype=bool), unknown)
        if found in ("floating", "mixed-integer-float", "decimal"):
            return self.finite(series.where(~unknown, np.nan).to_numpy(dtype=np.float64), name)
        if found == "integer" and all(-(2**63) <= value < 2**63 for value in series[~unknown]):
            return _integers(series.where(~unknown, 0).to_numpy(dtype=np.int64), unknown)
        if found in ("datetime", "datetime64", "date"):
            return dates_of_objects(series, unknown)
        for value in series[~unknown]:
            if not isinstance(value, SCALARS):
                self.refuse(NOT_UNDERSTOOD.format(name=name, kind=type(value).__name__))
        if found == "string" and kind not in ("number", "date"):
            return self._as_written(series, kind)
        return self.from_strings(series.where(unknown, series.map(_string)), name)  # numbers and words together

    def _as_written(self, series: pd.Series, kind: Kind) -> Any:
        cells = [None if lost else _string(value) for value, lost in zip(series, series.isna(), strict=True)]
        cells = [None if cell in self.missing else cell for cell in cells]
        return pd.array(cells, dtype="string") if kind == "text" else categorical(cells)

    def _numbers(self, words: list[str], codes: np.ndarray, name: str, kind: Kind) -> Any:
        """Return numbers if all cells but a few strays are such; None for a column of something else."""
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        plain = self.numbers.plain(words)
        if kind in ("any", "label") and not any(map(NUMERIC.fullmatch, _sample(words + plain, np.tile(counts, 2)))):
            return None  # most tables have far more words than strays
        is_number = np.array([NUMBER.fullmatch(word) is not None for word in plain])
        n_known, n_numbers = int(counts.sum()), int(counts[is_number].sum())
        if self.numbers.thousands is None and kind != "number":
            commas = np.array(["," in word and NUMBER_WITH_COMMA.fullmatch(word) is not None for word in words])
            if (commas & ~is_number).any() and (commas | is_number).all():
                row = int(np.argmax(np.append(commas, False)[codes]))
                self.refuse(COMMA.format(name=name, cell=words[codes[row]]), row)
        is_infinite = np.array([INFINITE.fullmatch(word) is not None for word in plain])
        is_stray = ~(is_number | is_infinite)
        if kind == "label" and is_stray.any():
            return None
        if kind != "number":
            numbers = [word for word, found in zip(plain, is_number, strict=True) if found]
            if counts[is_stray].sum() > MOST_STRAYS * n_known or (not numbers and not is_infinite.any()):
                if n_numbers >= NEARLY * n_known and len(numbers) > FEW_ROWS:
                    self._note(is_stray, codes, words, name, "numbers", "the column is read as words.")
                return None
            if any(CODE.fullmatch(word) or _is_too_long(word) for word in numbers):
                return None
        if is_stray.any():
            self._note(is_stray, codes, words, name, "numbers", None)
        values = [float(word) if good else np.nan for word, good in zip(plain, ~is_stray, strict=True)]
        infinite = np.flatnonzero(np.isin(codes, np.flatnonzero(np.isinf(values))))
        if len(infinite):
            cell = _shown(words[codes[infinite[0]]])
            message = f"column {name!r} holds {cell}, which is infinite or larger than the largest float."
            self.refuse(f"{message} {CURE.format(name=name)}", int(infinite[0]))
        unknown = np.append(is_stray, True)[codes]
        if all(WHOLE.fullmatch(word) for word, good in zip(plain, ~is_stray, strict=True) if good):
            whole = np.array([int(word) if good else 0 for word, good in zip(plain, ~is_stray, strict=True)] + [0])
            if whole.dtype == np.int64:
                self._note_counting(whole[codes], unknown, name, kind)
                return _integers(whole[codes], unknown)
        return self.whole_if_gaps(np.array([*values, np.nan])[codes])

    @staticmethod
    def whole_if_gaps(numbers: np.ndarray) -> Any:
        """Return whole numbers with missing cells as Int64, even if written as 1.0, which is what pandas does."""
        unknown = np.isnan(numbers)
        if not unknown.any() or unknown.all():
            return numbers
        known = np.where(unknown, 0, numbers)
        is_whole = (known == np.floor(known)).all() and np.abs(known).max() < LARGEST_WHOLE
        return _integers(known.astype(np.int64), unknown) if is_whole else numbers

    def _dates(self, words: list[str], codes: np.ndarray, name: str, kind: Kind) -> Any:
        """Return dates if all cells but a few strays are such, in one format; None otherwise."""
        if kind == "label" or not (kind == "date" or any(map(DATE_LIKE.match, words[:3]))):
            return None
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        most = counts.sum() if kind == "date" else MOST_STRAYS * counts.sum()
        found = recognise_dates(words, counts, most, self.date_formats.get(name))
        if found is None:
            if kind == "date":
                self.refuse(f"column {name!r} should hold dates, but holds {words[0]!r}.", int(np.argmax(codes == 0)))
            return None
        form, moments = found
        if moments is None:
            self.notes.append(
                f"column {name!r} looks like dates, but {words[0]!r} can be read with the day or the month first, so "
                "it is read as words. Write such dates as 2024-12-31."
            )
            return None
        if moments.isna().any():
            self._note(moments.isna().to_numpy(), codes, words, name, "dates", None)
        elif kind != "date":
            self.notes.append(f"column {name!r} holds dates, such as {words[0]!r} ({form}).")
        self.date_formats[name] = form
        return moments.array.take(codes, allow_fill=True)

    def _note(
        self, is_stray: np.ndarray, codes: np.ndarray, words: list[str], name: str, what: str, outcome: str | None
    ) -> None:
        """Say that a few cells are not what the others are; an error, if strays are errors and nothing else is done."""
        strays = np.flatnonzero(np.append(is_stray, False)[codes])
        n_known = int((codes >= 0).sum())
        row = int(strays[0])
        message = f"{n_known - len(strays)} of {n_known} values are {what}; "
        more = f", and {len(strays) - 1} more like it" if len(strays) > 1 else ""
        if outcome is None and self.stray == "error":
            what_to_do = "Correct or empty the cell, or treat such cells as missing with stray='missing'."
            self.refuse(
                f"column {name!r}: {message}this one holds {_shown(words[codes[row]])}{more}. {what_to_do}", row
            )
        where = f"row {row + 1}" if self.line_of is None else f"line {self.line_of(row)}"
        outcome = outcome or ("which is treated as missing." if len(strays) == 1 else "which are treated as missing.")
        joint = "; " if outcome.startswith("the column") else ", "
        self.notes.append(f"column {name!r}: {message}{where} holds {_shown(words[codes[row]])}{more}{joint}{outcome}")

    def _note_counting(self, values: np.ndarray, unknown: np.ndarray, name: str, kind: Kind) -> None:
        is_counted = len(values) >= FEW_ROWS and not unknown.any() and bool((np.diff(values) == 1).all())
        if is_counted and kind == "any" and self.note_identifiers:
            self.notes.append(
                f"column {name!r} counts the rows. Leave it out with drop=[{name!r}] if it is an identifier."
            )

    def _note_many_words(self, n_words: int, n_known: int, name: str, kind: Kind) -> None:
        if not self.note_identifiers or kind != "any" or n_known < FEW_ROWS:
            return
        if n_words == n_known:
            self.notes.append(
                f"column {name!r} looks like an identifier: each of its {n_known} values occurs once. Leave it out "
                f"with drop=[{name!r}], or name it as text with text=[{name!r}]."
            )
        elif n_words > MANY_WORDS and n_words * 10 > n_known:
            self.notes.append(f"column {name!r} has {n_words} different words in {n_known} rows.")

    def finite(self, numbers: np.ndarray, name: str) -> np.ndarray:
        """Return the numbers, or refuse infinite ones."""
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            self.refuse(f"column {name!r} is infinite in row {infinite[0] + 1}. {CURE.format(name=name)}")
        return numbers


def _sample(words: list[str], counts: np.ndarray) -> list[str]:
    """Return some of the words: the most common ones, and some from everywhere."""
    if len(words) <= SAMPLED:
        return words
    common = np.argpartition(counts, -SAMPLED)[-SAMPLED:]
    return [*words[:: len(words) // SAMPLED], *(words[place] for place in common)]


def _is_too_long(word: str) -> bool:
    """Return whether a whole number does not fit into 64 bits."""
    digits = word.lstrip("+-")
    return len(digits) > 18 and digits.isdigit() and (len(digits) > 19 or not -(2**63) <= int(word) < 2**63)


def _booleans(values: np.ndarray, unknown: np.ndarray) -> Any:
    return pd.arrays.BooleanArray(values, unknown) if unknown.any() else values


def _integers(values: np.ndarray, unknown: np.ndarray) -> Any:
    return pd.arrays.IntegerArray(values, unknown) if unknown.any() else values


def _string(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if is_day else value.isoformat()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:40]}…")
