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

from montechain.errors import DataError

__all__ = ["MISSING_VALUES", "ColumnTyper", "categorical"]

MISSING_VALUES = ("?", "NA", "N/A", "<NA>", "NaN", "nan", "None", "null", "NULL")
"""Cells that mean "unknown", besides an empty one."""
MOST_STRAYS = 0.05
"""Maximum share of cells that may be strays in a column of numbers or dates."""
NEARLY, FEW = 0.5, 20
"""A column of words gets a note if at least this share, and more than this many different ones, are numbers."""
LARGEST_WHOLE = 2**53
"""From here on a float cannot tell neighbouring whole numbers apart."""

Kind = Literal["any", "number", "date", "nominal", "text", "label"]

NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
CODE = re.compile(r"[+-]?0\d", re.ASCII)
NUMBER_WITH_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d*,\d+)")
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y"),
)
TIMES = [start + time + end for start in " T" for time in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f") for end in ("", "%z")]
DATE_FORMATS = [day + time for day in DAYS for time in ("", *TIMES)]
"""Formats of dates. Where day and month could be swapped, some cell must settle which is which."""
DATE_LIKE = re.compile(
    r"(?=.*\d{4})(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[ -]\w{3,9}[ -]\d{4}|\w{3,9} \d{1,2}, \d{4})"
)
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


def categorical(words: list[Any], codes: np.ndarray) -> pd.Categorical:
    """Return a categorical with sorted categories; `codes` point into distinct `words`, -1 where unknown."""
    order = sorted(range(len(words)), key=words.__getitem__)
    place = np.append(np.argsort(order), -1)
    categories = pd.Index([words[code] for code in order], dtype=None if words else object)
    return pd.Categorical.from_codes(place[codes], categories=categories)


@dataclass
class ColumnTyper:
    """Types the columns of one table, and collects notes about them.

    Parameters
    ----------
    missing_values : iterable of str
        Cells that mean "unknown", besides the empty one.
    decimal, thousands : str
        How numbers are written.
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

    Examples
    --------
    >>> typer = ColumnTyper()
    >>> typer.from_strings(pd.Series([*"1234567890" * 2, "heavy"]), "weight").isna().sum()
    np.int64(1)
    >>> typer.notes
    ["column 'weight': 20 of 21 values are numbers; row 21 holds 'heavy', which is treated as missing."]
    """

    missing_values: Iterable[str] = ()
    decimal: str = "."
    thousands: str | None = None
    stray: str = "missing"
    kinds: dict[str, Kind] = field(default_factory=dict)
    plan: Callable[[list[str]], dict[str, Kind]] = lambda names: {}
    date_formats: dict[str, str] = field(default_factory=dict)
    path: str | Path | None = None
    line_of: Callable[[int], int] | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if isinstance(self.missing_values, str):
            given = self.missing_values
            raise TypeError(f"`missing_values={given!r}` is a string; give a list, as in missing_values=[{given!r}].")
        self.missing = frozenset(self.missing_values) | {""}
        for parameter, value in (
            ("decimal", self.decimal),
            ("thousands", "'" if self.thousands is None else self.thousands),
        ):
            if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in "+-":
                raise ValueError(f"`{parameter}={value!r}` must be one sign, such as {parameter}=','.")
        if self.decimal == self.thousands:
            raise ValueError(f"`decimal` and `thousands` are both {self.decimal!r}; they must differ.")
        if self.stray not in ("missing", "error"):
            raise ValueError(f"`stray={self.stray!r}` must be 'missing' or 'error'.")

    def start(self, names: list[str]) -> None:
        """Check the names of the columns, and settle the kinds that depend on them."""
        if not names:
            self.refuse("the table has no columns.")
        if len(set(names)) < len(names):
            twice = next(name for position, name in enumerate(names) if name in names[:position])
            self.refuse(f"the column {twice!r} occurs more than once; rename one of them.")
        self.kinds = {**self.plan(names), **self.kinds}

    def refuse(self, message: str, row: int | None = None) -> NoReturn:
        """Raise an error that names the file and, if it is known, the line."""
        line = None if row is None or self.line_of is None else self.line_of(row)
        raise DataError(message, path=self.path, line=line)

    def from_strings(self, cells: pd.Series, name: str) -> Any:
        """Return a typed column from cells that are strings or missing."""
        kind = self.kinds.get(name, "any")
        codes, found = pd.factorize(cells)
        stripped = [word.strip() for word in found.tolist()]
        known = [None if word in self.missing else word for word in stripped]
        place, distinct = pd.factorize(np.array([*known, None], dtype=object))  # strings may now be equal
        codes, words = place[codes], list(distinct)
        if kind == "text":
            return pd.array(np.array([*words, None], dtype=object)[codes], dtype="string")
        if kind == "nominal":
            return categorical(words, codes)
        if not words:
            return np.full(len(codes), np.nan)
        column = self._numbers(words, codes, name, kind)
        if column is None:
            column = self._dates(words, codes, name, kind)
        if column is None and BOOLEANS.keys() >= set(words):
            column = _with_gaps(np.array([*map(BOOLEANS.__getitem__, words)])[codes], codes < 0)
        return categorical(words, codes) if column is None else column

    def from_typed(self, series: pd.Series, name: str) -> Any:
        """Return a typed column from one of a data frame, whose own type is kept."""
        kind, dtype = self.kinds.get(name, "any"), series.dtype
        if isinstance(dtype, pd.SparseDtype):
            return self.from_typed(pd.Series(np.asarray(series)), name)
        is_date = types.is_datetime64_any_dtype(dtype)
        unknown = series.isna().to_numpy(dtype=bool)
        if kind in ("text", "nominal") or (kind == "label" and is_date):
            return self._as_written(series, kind)
        if isinstance(dtype, pd.CategoricalDtype):
            kept = [word for word in series.array.categories if not (isinstance(word, str) and word in self.missing)]
            return series.array if len(kept) == len(series.array.categories) else series.array.set_categories(kept)
        if types.is_bool_dtype(dtype):
            return _with_gaps(series.fillna(False).to_numpy(dtype=bool), unknown)
        if types.is_integer_dtype(dtype):
            values = (series.fillna(0) if unknown.any() else series).to_numpy()
            fits = values.dtype != np.uint64 or values.max(initial=0) < 2**63
            return _with_gaps(values.astype(np.int64) if fits else values, unknown)
        if types.is_float_dtype(dtype):
            return self._finite(series.to_numpy(dtype=np.float64, na_value=np.nan), name)
        if is_date:
            return pd.to_datetime(series).array  # Arrow's types too, which pandas wraps
        if types.is_string_dtype(series) or types.is_object_dtype(dtype):
            return self._from_objects(series.astype(object), unknown, name, kind)
        self.refuse(NOT_UNDERSTOOD.format(name=name, kind=dtype))

    def _from_objects(self, series: pd.Series, unknown: np.ndarray, name: str, kind: Kind) -> Any:
        found = types.infer_dtype(series, skipna=True)
        if found == "empty":
            return np.full(len(series), np.nan)
        if found == "boolean":
            return _with_gaps(series.where(~unknown, False).to_numpy(dtype=bool), unknown)
        if found in ("floating", "mixed-integer-float", "decimal"):
            return self._finite(series.where(~unknown, np.nan).to_numpy(dtype=np.float64), name)
        if found == "integer" and all(-(2**63) <= value < 2**63 for value in series[~unknown]):
            return _with_gaps(series.where(~unknown, 0).to_numpy(dtype=np.int64), unknown)
        if found in ("datetime", "datetime64", "date"):
            zoned = [value for value in series[~unknown] if getattr(value, "tzinfo", None) is not None]
            values = [
                value.astimezone(datetime.UTC).replace(tzinfo=None) if getattr(value, "tzinfo", None) else value
                for value in series.where(~unknown, None)
            ]
            moments = pd.Series(np.array(values, dtype="datetime64[us]"))
            return (moments.dt.tz_localize("UTC") if zoned else moments).array
        for value in series[~unknown]:
            if not isinstance(value, SCALARS):
                self.refuse(NOT_UNDERSTOOD.format(name=name, kind=type(value).__name__))
        if found == "string" and kind not in ("number", "date"):
            return self._as_written(series, kind)
        return self.from_strings(series.where(unknown, series.map(_string)), name)  # numbers and words together

    def _as_written(self, series: pd.Series, kind: Kind) -> Any:
        cells = [None if lost else _string(value) for value, lost in zip(series, series.isna(), strict=True)]
        cells = [None if cell in self.missing else cell for cell in cells]
        if kind == "text":
            return pd.array(cells, dtype="string")
        codes, words = pd.factorize(np.array([*cells, None], dtype=object)[:-1])
        return categorical(list(words), codes)

    def _plain(self, cells: list[str]) -> list[str]:
        """Return the cells with numbers written as in Python."""
        if self.thousands is not None:
            mark, fraction = re.escape(self.thousands), re.escape(self.decimal)
            grouped = re.compile(rf"[+-]?[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{fraction}\d*)?\Z")
            cells = [cell.replace(self.thousands, "") if grouped.match(cell) else cell for cell in cells]
        if self.decimal == ".":
            return cells
        # The two signs change places, so that 1.5 is not a number where 1,5 is one.
        return [cell.translate({ord(self.decimal): ".", ord("."): self.decimal}) for cell in cells]

    def _numbers(self, words: list[str], codes: np.ndarray, name: str, kind: Kind) -> Any:
        """Return numbers if all cells but a few strays are such; None for a column of something else."""
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        plain = self._plain(words)
        is_stray = np.array([NUMBER.fullmatch(word) is None for word in plain])
        if self.thousands is None and kind != "number":
            commas = np.array(["," in word and NUMBER_WITH_COMMA.fullmatch(word) is not None for word in words])
            if (commas & is_stray).any() and (commas | ~is_stray).all():
                row = int(np.argmax(np.append(commas, False)[codes]))
                self.refuse(COMMA.format(name=name, cell=words[codes[row]]), row)
        numbers = [word for word, stray in zip(plain, is_stray, strict=True) if not stray]
        if kind == "label" and is_stray.any():
            return None
        if kind != "number":
            n_known, n_strays = counts.sum(), counts[is_stray].sum()
            if n_strays > MOST_STRAYS * n_known:
                if n_strays <= (1 - NEARLY) * n_known and len(numbers) > FEW:
                    self._note(is_stray, codes, words, name, "numbers", "; the column is read as words.")
                return None
            if any(CODE.match(word) or (len(word) > 18 and _is_too_long(word)) for word in numbers):
                return None
        if is_stray.any():
            self._note(is_stray, codes, words, name, "numbers")
        values = np.array([np.nan if stray else float(word) for word, stray in zip(plain, is_stray, strict=True)])
        for row in np.flatnonzero(np.append(np.isinf(values), False)[codes])[:1]:
            message = f"column {name!r} holds {_shown(words[codes[row]])}, which is infinite or larger than the largest"
            self.refuse(f"{message} float. {CURE.format(name=name)}", int(row))
        unknown = np.append(is_stray, True)[codes]
        if all(map(WHOLE.fullmatch, numbers)) and not any(map(_is_too_long, numbers)):
            whole = np.array([0 if stray else int(word) for word, stray in zip(plain, is_stray, strict=True)] + [0])
            return _with_gaps(whole[codes], unknown)
        return self.whole_if_gaps(np.append(values, np.nan)[codes])

    @staticmethod
    def whole_if_gaps(numbers: np.ndarray) -> Any:
        """Return whole numbers with missing cells as Int64, even if written as 1.0, which is what pandas does."""
        unknown = np.isnan(numbers)
        if not unknown.any() or unknown.all():
            return numbers
        known = np.where(unknown, 0, numbers)
        is_whole = (known == np.floor(known)).all() and np.abs(known).max() < LARGEST_WHOLE
        return _with_gaps(known.astype(np.int64), unknown) if is_whole else numbers

    def _finite(self, numbers: np.ndarray, name: str) -> np.ndarray:
        for row in np.flatnonzero(np.isinf(numbers))[:1]:
            self.refuse(f"column {name!r} is infinite in row {row + 1}. {CURE.format(name=name)}")
        return numbers

    def _dates(self, words: list[str], codes: np.ndarray, name: str, kind: Kind) -> Any:
        """Return dates if all cells but a few strays are such, in one format; None otherwise."""
        if kind == "label" or not (kind == "date" or any(map(DATE_LIKE.match, words[:3]))):
            return None
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        most = counts.sum() if kind == "date" else MOST_STRAYS * counts.sum()
        sample = next(filter(DATE_LIKE.match, words), "")
        known = self.date_formats.get(name)
        fitting: dict[str, pd.Series] = {}
        for form in [known] if known else [form for form in DATE_FORMATS if _is_date(sample, form)]:
            dates = pd.to_datetime(pd.Series(words, dtype=object), format=form, errors="coerce", utc=True)
            if counts[dates.isna()].sum() <= most:
                fitting[form] = dates
        if not fitting:
            if kind == "date":
                self.refuse(f"column {name!r} should hold dates, but holds {words[0]!r}.", int(np.argmax(codes == 0)))
            return None
        form = min(fitting, key=lambda form: int(counts[fitting[form].isna()].sum()))
        dates = fitting[form]
        swapped = fitting.get(form.translate(str.maketrans("dm", "md")))
        if not known and swapped is not None and (dates.isna() == swapped.isna()).all() and (dates != swapped).any():
            self.notes.append(
                f"column {name!r} looks like dates, but {words[0]!r} can be read with the day or the month first, so "
                "it is read as words. Write such dates as 2024-12-31."
            )
            return None
        if dates.isna().any():
            self._note(dates.isna().to_numpy(), codes, words, name, "dates")
        elif kind != "date":
            self.notes.append(f"column {name!r} holds dates, such as {words[0]!r} ({form}).")
        self.date_formats[name] = form
        dates = (dates if "%z" in form else dates.dt.tz_localize(None)).dt.as_unit("us")
        return dates.array.take(codes, allow_fill=True)

    def _note(
        self, is_stray: np.ndarray, codes: np.ndarray, words: list[str], name: str, what: str, outcome: str = ""
    ) -> None:
        """Say that a few cells are not what the others are; an error, if strays are errors and nothing else is done."""
        strays = np.flatnonzero(np.append(is_stray, False)[codes])
        row, n_known = int(strays[0]), int((codes >= 0).sum())
        found = f"column {name!r}: {n_known - len(strays)} of {n_known} values are {what}"
        cell = _shown(words[codes[row]]) + (f", and {len(strays) - 1} more like it" if len(strays) > 1 else "")
        if not outcome and self.stray == "error":
            what_to_do = "Correct or empty the cell, or treat such cells as missing with stray='missing'."
            self.refuse(f"{found}; this one holds {cell}. {what_to_do}", row)
        where = f"row {row + 1}" if self.line_of is None else f"line {self.line_of(row)}"
        outcome = outcome or f", which {'is' if len(strays) == 1 else 'are'} treated as missing."
        self.notes.append(f"{found}; {where} holds {cell}{outcome}")


def _is_too_long(word: str) -> bool:
    """Return whether a whole number does not fit into 64 bits."""
    return WHOLE.fullmatch(word) is not None and (len(word) > 20 or not -(2**63) <= int(word) < 2**63)


def _is_date(word: str, form: str) -> bool:
    try:
        datetime.datetime.strptime(word, form)
    except ValueError:
        return False
    return True


def _with_gaps(values: np.ndarray, unknown: np.ndarray) -> Any:
    """Return truth values or whole numbers, in pandas' nullable type if some are unknown."""
    if not unknown.any():
        return values
    return (pd.arrays.BooleanArray if values.dtype == bool else pd.arrays.IntegerArray)(values, unknown)


def _string(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        is_day = value.time() == datetime.time() and value.tzinfo is None
        return value.date().isoformat() if is_day else value.isoformat()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else f"{cell[:40]}…")
