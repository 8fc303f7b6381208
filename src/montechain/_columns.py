"""One column of a table: find out what it holds, and convert its cells to numbers, codes and strings."""

from __future__ import annotations

import datetime
import re
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api import types as dtypes

from montechain._savable import savable

__all__ = [
    "Column",
    "as_series",
    "describe_strays",
    "identifier",
    "learn_categories",
    "learn_kind",
    "made_unique",
    "to_words",
]

BOOLEAN = ("False", "True")
"""Categories of a boolean column."""
SPELLINGS = {"0": "False", "1": "True", "false": "False", "true": "True"}
"""Other ways to write them."""
MOSTLY_NUMBERS = 0.95
"""Share of numbers from which the other words of a column count as stray."""
MANY_VALUES = 50
"""A column with more distinct values than this may be an identifier."""
TIMES = (datetime.time, datetime.timedelta, np.timedelta64)
DATES = (datetime.date, np.datetime64)
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?!\d)")


@savable
@dataclass(frozen=True)
class Column:
    """What a column of a table holds.

    `kind` is "number", "date", "duration", "nominal", "words" (nominal with many categories), "text", or one of those
    that are not used: "dropped", "identifier", "empty". `categories` have a 0/1 column of their own each, but for a
    single column if there are only two, or one, of which `reference` is the commoner. `format` is that of dates written
    as strings, `cycles` are the calendar cycles that vary in a column of dates. `repaired` says that words among the
    numbers counted as missing at `fit`.
    """

    name: Any
    place: int
    kind: str
    categories: tuple[str, ...] = ()
    reference: str | None = None
    format: str = "ISO8601"
    cycles: tuple[str, ...] = ()
    repaired: bool = False

    @property
    def is_binary(self) -> bool:
        """Whether it becomes a single column of zeros and ones."""
        return self.kind == "nominal" and self.reference is not None

    @property
    def suffixes(self) -> list[str]:
        """What its numbers add to its name: the first nothing, those of calendar cycles "_week_sin" and so on."""
        if self.kind not in ("number", "date", "duration"):
            return []
        return ["", *(f"_{cycle}_{part}" for cycle in self.cycles for part in ("sin", "cos"))]

    def prepare(self, cells: pd.Series, *, keep_missing: bool, tolerant: bool) -> dict[str, np.ndarray]:
        """Return the column as numbers, codes and strings, by the names that `TableEncoder` gives to its blocks.

        Missing cells of a binary column stay NaN if `keep_missing`. A few words among numbers count as missing if
        `tolerant`.
        """
        if self.kind == "number":
            return {str(self.place): self._numbers(cells, tolerant)}
        if self.kind in ("date", "duration"):
            days = self._days(cells)
            shares = [cycles(days)[cycle] for cycle in self.cycles]
            waves = [wave(2 * np.pi * share) for share in shares for wave in (np.sin, np.cos)]
            return {f"{self.place}{suffix}": v for suffix, v in zip(self.suffixes, [days, *waves], strict=True)}
        codes, words = to_words(cells, self.name)
        prepared = {}
        if self.kind in ("text", "words"):
            prepared[f"{self.kind}_{self.place}"] = np.array([*words, ""], dtype=object)[codes]  # "" is for code -1
        elif self.categories == BOOLEAN:
            words = [SPELLINGS.get(word.lower(), word) for word in words]
        else:
            self._refuse_numbers(cells)
        if self.categories:
            place = {category: code for code, category in enumerate(self.categories)}
            # -1: missing, or a category without a column
            found = np.array([*(place.get(word, -1) for word in words), -1], dtype=np.float64)[codes]
            if self.is_binary:
                marked = np.where(found >= 0, found != self.categories.index(str(self.reference)), 0.0)
                found = np.where(codes < 0, np.nan, marked) if keep_missing else marked
            prepared[str(self.place)] = found
        return prepared

    def _wrong(self, cells: pd.Series, bad: Any, held: str, advice: str) -> ValueError:
        """Return the error for the first cell that is not what the column held at `fit`."""
        row = int(np.argmax(bad))
        cell = cells.iloc[row]
        text = repr(cell.item() if isinstance(cell, np.generic) else cell)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        return ValueError(
            f"column {self.name!r} of `X` held {held} when the encoder was fitted, but now row {row} holds {text}: "
            f"{advice}."
        )

    def _numbers(self, cells: pd.Series, tolerant: bool) -> np.ndarray:
        if (bad := stray_words(cells)).any():
            error = self._wrong(cells, bad, "numbers", "give numbers, or NaN where a value is missing")
            if not tolerant or not (self.repaired or bad.sum() <= (1 - MOSTLY_NUMBERS) * cells.notna().sum()):
                raise error
            if not self.repaired:
                warnings.warn(f"{error} Words in this column count as missing.", stacklevel=2)
        if not dtypes.is_numeric_dtype(cells.dtype):
            cells = pd.to_numeric(cells.astype(object), errors="coerce")
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(numbers).any():
            raise ValueError(
                f"column {self.name!r} of `X` contains infinity: give finite numbers, or NaN where a value is missing."
            )
        return numbers

    def _days(self, cells: pd.Series) -> np.ndarray:
        """Return dates as days since 1970-01-01 (UTC), and durations and times of day as days; NaN where missing."""
        given, present, dtype = cells, cells.notna().to_numpy(), cells.dtype
        if isinstance(dtype, pd.PeriodDtype):
            cells = cells.dt.to_timestamp()
        elif dtypes.is_numeric_dtype(dtype):
            cells = pd.Series(pd.NaT, cells.index)
        elif self.kind == "duration" and not dtypes.is_timedelta64_dtype(dtype):
            texts = cells.map(lambda cell: str(cell) if isinstance(cell, datetime.time) else cell, na_action="ignore")
            cells = pd.to_timedelta(texts, errors="coerce")
        elif self.kind == "date" and not dtypes.is_datetime64_any_dtype(dtype):
            texts = cells.astype(object).map(lambda c: c if isinstance(c, DATES) else str(c), na_action="ignore")
            cells = pd.to_datetime(texts, format=self.format, errors="coerce", utc=True)
        if (bad := present & cells.isna().to_numpy()).any():
            raise self._wrong(given, bad, f"{self.kind}s", "give dates, or strings such as '2024-03-31'")
        if isinstance(cells.dtype, pd.DatetimeTZDtype):
            cells = cells.dt.tz_convert("UTC").dt.tz_localize(None)
        since = cells.to_numpy()
        since = since - np.datetime64(0, "D") if since.dtype.kind == "M" and self.kind == "date" else since
        return np.where(np.isnat(since), np.nan, since / np.timedelta64(1, "D"))

    def _refuse_numbers(self, cells: pd.Series) -> None:
        """Refuse numbers in a column of words, unless words look like numbers."""
        values = cells.dtype.categories if isinstance(cells.dtype, pd.CategoricalDtype) else cells
        if isinstance(values.dtype, pd.StringDtype) or any(map(_is_number, self.categories)):
            return
        numbers = cells.map(lambda cell: isinstance(cell, Real) and not isinstance(cell, bool)).to_numpy(bool)
        if (numbers := numbers & cells.notna().to_numpy()).any():
            held = f"words such as {self.categories[0]!r}"
            raise self._wrong(cells, numbers, held, "give words, or None where a value is missing")


def as_series(values: Any, name: Any) -> pd.Series:
    """Return a column of an array or of a data frame of any library as a pandas series.

    >>> as_series(np.array(["1.5", "2"]), 0).tolist()
    [1.5, 2.0]
    """
    if isinstance(values, pd.Series):
        return values
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "US":  # an array of strings has made strings of its numbers, too
            try:
                return pd.Series(values.astype(np.float64))
            except ValueError:
                return pd.Series(values.astype(object))
        return pd.Series(values)
    series = nw.from_native(values, series_only=True)
    dtype = series.dtype
    if dtype.is_nested() or isinstance(dtype, nw.Binary):
        raise _not_single(name, str(dtype))
    if dtype.is_numeric():
        return pd.Series(series.cast(nw.Float64).to_numpy())
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if isinstance(dtype, nw.Datetime | nw.Date | nw.Duration):
        return pd.Series((series.cast(nw.Datetime("us")) if isinstance(dtype, nw.Date) else series).to_numpy())
    if isinstance(dtype, nw.Enum):
        return pd.Series(pd.Categorical(series.to_list(), categories=series.to_native().dtype.categories.to_list()))
    return pd.Series(series.to_list(), dtype=object)


def _not_single(name: Any, kind: str) -> TypeError:
    return TypeError(
        f"column {name!r} of `X` holds values of type {kind}, not single numbers or words: encode it first, or leave "
        f"it out with drop=[{name!r}]."
    )


def to_words(cells: pd.Series, name: Any) -> tuple[np.ndarray, list[str]]:
    """Return a code for each cell, -1 where missing, and the distinct cells as strings; 2.0 and 2 are the same.

    >>> codes, words = to_words(pd.Series(["b", 2.0, None, "b"]), "x")
    >>> codes.tolist(), words
    ([0, 1, -1, 0], ['b', '2'])
    """
    try:
        is_categorical = isinstance(cells.dtype, pd.CategoricalDtype)
        codes, distinct = (cells.cat.codes, cells.cat.categories) if is_categorical else pd.factorize(cells)
    except TypeError:
        raise _not_single(name, type(cells.dropna().iloc[0]).__name__) from None
    words = [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in distinct.tolist()]
    return np.asarray(codes, dtype=np.int64), words


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def stray_words(cells: pd.Series) -> np.ndarray:
    """Return which cells are neither numbers nor missing.

    >>> stray_words(pd.Series([3, "4.5", "heavy", None])).tolist()
    [False, False, True, False]
    """
    if dtypes.is_numeric_dtype(cells.dtype):
        return np.zeros(len(cells), dtype=bool)
    if not isinstance(cells.dtype, pd.CategoricalDtype) and _kind_of(cells)[0] in ("date", "duration"):
        return cells.notna().to_numpy()
    return (cells.notna() & pd.to_numeric(cells.astype(object), errors="coerce").isna()).to_numpy()


def cycles(days: np.ndarray) -> dict[str, np.ndarray]:
    """Return how far each calendar cycle is at some days since 1970-01-01, as shares in [0, 1).

    >>> {name: share.round(2).tolist() for name, share in cycles(np.array([0.25, 31.0])).items()}
    {'year': [0.0, 0.08], 'month': [0.01, 0.0], 'week': [0.46, 0.86], 'day': [0.25, 0.0]}
    """
    whole, time = np.floor(np.nan_to_num(days)).astype("datetime64[D]"), np.mod(days, 1.0)
    since = {unit: (whole - whole.astype(f"datetime64[{unit}]")).astype(float) + time for unit in "YM"}
    # 1970-01-01 was a Thursday.
    return {"year": since["Y"] / 366, "month": since["M"] / 31, "week": np.mod(days + 3, 7) / 7, "day": time}


# -- learning what a column holds -------------------------------------------------------------


def learn_kind(cells: pd.Series, name: Any, place: int) -> Column:
    """Return a column of numbers, dates, durations or nominal values, without its categories, or an empty one.

    >>> column = learn_kind(pd.Series(["31/12/2024", "01/02/2025", None]), "when", 0)
    >>> column.kind, column.format, column.cycles
    ('date', '%d/%m/%Y', ('year', 'month', 'week'))
    """
    kind, date_format = _kind_of(cells)
    column = Column(name, place, kind, format=date_format)
    if kind == "number":
        return replace(column, repaired=bool(stray_words(cells).any()))
    if kind == "date":
        shares = cycles(column._days(cells))
        varying = tuple(cycle for cycle, share in shares.items() if np.nanmax(share) > np.nanmin(share))
        return replace(column, cycles=varying)
    return column


def _kind_of(cells: pd.Series) -> tuple[str, str]:
    dtype = cells.dtype
    if not cells.notna().any():
        return "empty", ""
    if dtypes.is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return "nominal", ""
    if dtypes.is_numeric_dtype(dtype):
        return "number", ""
    if dtypes.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return "date", "ISO8601"
    if dtypes.is_timedelta64_dtype(dtype):
        return "duration", ""
    present = cells.dropna()
    kinds = {str} if isinstance(dtype, pd.StringDtype) else set(map(type, present))
    for kind, allowed in (("duration", TIMES), ("date", DATES)):
        if all(issubclass(one, allowed) for one in kinds):
            return kind, "ISO8601"
    if kinds & {bool, np.bool_}:
        return "nominal", ""
    if kinds == {str} and (found := _date_format(present.drop_duplicates())):
        return "date", found
    numbers = pd.to_numeric(present.astype(object), errors="coerce").notna()
    padded = present.astype(str).str.match(r"0\d").any()  # codes such as "02139", which would lose their zeros
    is_number = (numbers.all() and kinds != {str}) or (MOSTLY_NUMBERS <= numbers.mean() < 1 and not padded)
    return "number" if is_number else "nominal", ""


def _date_format(present: pd.Series) -> str:
    """Return the format that fits all strings of a column, "" if they are not dates."""
    first = str(present.iloc[0])
    if not DATE.match(first) or not present.str.match(DATE).all():
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about days that cannot be months
        guesses = [pd.tseries.api.guess_datetime_format(first.strip(), dayfirst=dayfirst) for dayfirst in (False, True)]
    for candidate in ["ISO8601", *guesses]:
        if candidate and pd.to_datetime(present, format=candidate, errors="coerce", utc=True).notna().all():
            return candidate
    return ""


def learn_categories(column: Column, cells: pd.Series, max_categories: int) -> Column:
    """Return the column with its categories: all of them, or the commonest of too many."""
    codes, words = to_words(cells, column.name)
    declared = words
    if not isinstance(cells.dtype, pd.CategoricalDtype):
        is_boolean = dtypes.is_bool_dtype(cells.dropna().infer_objects().dtype)
        declared = list(BOOLEAN) if is_boolean else sorted(set(words))
    counts = dict.fromkeys(declared, 0)
    for word, count in zip(words, np.bincount(codes[codes >= 0], minlength=len(words)).tolist(), strict=True):
        counts[word] += count
    commonest = sorted(counts, key=lambda word: -counts[word])
    if len(counts) > max_categories:
        return replace(column, kind="words", categories=tuple(sorted(commonest[:max_categories])))
    return replace(column, categories=tuple(counts), reference=commonest[0] if len(counts) <= 2 else None)


def identifier(column: Column, cells: pd.Series) -> str:
    """Return why a column is likely an identifier, "" if it is not.

    >>> identifier(Column("id", 0, "number"), pd.Series(range(1, 101)))
    'the row number'
    """
    n_present = int(cells.notna().sum())
    if n_present <= MANY_VALUES or cells.nunique() < 0.95 * n_present:
        return ""
    present = cells.dropna()
    if column.kind == "number":
        is_integer = dtypes.is_integer_dtype(cells.dtype) and len(present) == len(cells)
        is_count = is_integer and present.min() in (0, 1) and present.max() - present.min() == len(cells) - 1
        return "the row number" if is_count else ""
    if column.kind != "nominal" or present.astype(str).str.count(" ").mean() > 2:  # running text differs, too
        return ""
    return f"{present.nunique()} different values in {len(present)} rows"


def describe_strays(column: Column, cells: pd.Series) -> str:
    """Return which rows of a column of numbers hold words."""
    rows, known = np.flatnonzero(stray_words(cells)), int(cells.notna().sum())
    examples = ", ".join(f"row {row} holds {cells.iloc[row]!r}" for row in rows[:3])
    more = f", and {len(rows) - 3} more rows hold words" if len(rows) > 3 else ""
    return f"{known - len(rows)} of {known} values of column {column.name!r} are numbers; {examples}{more}."


def made_unique(names: list[str]) -> list[str]:
    """Return the names, numbered where they recur: a category's column may be named like another input.

    >>> made_unique(["a_b", "c", "a_b"])
    ['a_b', 'c', 'a_b_2']
    """
    taken: dict[str, None] = {}
    for name in names:
        unique, n = name, 1
        while unique in taken:
            n += 1
            unique = f"{name}_{n}"
        taken[unique] = None
    return list(taken)
