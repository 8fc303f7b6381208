"""Find out what each column of a table holds, and convert its cells to numbers, days or words."""

from __future__ import annotations

import datetime
import re
import warnings
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api import types as dtypes

from montechain._savable import savable

__all__ = ["Column", "as_series", "cycles", "kind_of", "stray_words", "to_days", "to_numbers", "to_words"]

BOOLEAN = ("False", "True")
"""Categories of a boolean column."""
SPELLINGS = {"0": "False", "1": "True", "false": "False", "true": "True"}
"""Other ways to write them."""
MOSTLY_NUMBERS = 0.95
"""Share of numbers from which the other words of a column count as stray."""
TIMES = (datetime.time, datetime.timedelta, np.timedelta64)
DATES = (datetime.date, np.datetime64)
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?!\d)")


@savable
@dataclass(frozen=True)
class Column:
    """What a column of a table holds.

    Attributes
    ----------
    name : str or other
        Its name; its position if the columns have no names.
    place : int
        Its position.
    kind : {"number", "date", "duration", "nominal", "words", "text", "dropped", "identifier", "empty"}
        "words" are nominal with many categories. The last three kinds are not used.
    categories : tuple of str
        Categories with a 0/1 column of their own.
    reference : str or None
        The category without a column of its own, if there are only two, or one.
    format : str
        Format of dates that are written as strings.
    cycles : tuple of str
        Calendar cycles that vary in a date column.
    repaired : bool
        Whether words among the numbers counted as missing at `fit`.
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

    def wrong(self, cells: pd.Series, bad: Any, held: str, advice: str) -> ValueError:
        """Return the error for the first cell that is not what the column held at `fit`."""
        row = int(np.argmax(bad))
        cell = cells.iloc[row]
        text = repr(cell.item() if isinstance(cell, np.generic) else cell)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        return ValueError(
            f"column {self.name!r} of `X` held {held} when the encoder was fitted, but now row {row} holds {text}: "
            f"{advice}."
        )


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
        raise TypeError(
            f"column {name!r} of `X` holds values of type {dtype}, not single numbers or words: encode it first, or "
            f"leave it out with drop=[{name!r}]."
        )
    if dtype.is_numeric():
        return pd.Series(series.cast(nw.Float64).to_numpy())
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if isinstance(dtype, nw.Datetime | nw.Date | nw.Duration):
        return pd.Series((series.cast(nw.Datetime("us")) if isinstance(dtype, nw.Date) else series).to_numpy())
    if isinstance(dtype, nw.Enum):
        return pd.Series(pd.Categorical(series.to_list(), categories=series.to_native().dtype.categories.to_list()))
    return pd.Series(series.to_list(), dtype=object)


def kind_of(cells: pd.Series) -> tuple[str, str]:
    """Return "number", "date", "duration", "nominal" or "empty", and the format of dates written as strings.

    >>> kind_of(pd.Series(["31/12/2024", "01/02/2025", None])), kind_of(pd.Series([1, "2.5", None]))
    (('date', '%d/%m/%Y'), ('number', ''))
    """
    present = cells.dropna()
    if len(present) == 0:
        return "empty", ""
    dtype = cells.dtype
    if dtypes.is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return "nominal", ""
    if dtypes.is_numeric_dtype(dtype):
        return "number", ""
    if dtypes.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        return "date", "ISO8601"
    if dtypes.is_timedelta64_dtype(dtype):
        return "duration", ""
    kinds = {str} if isinstance(dtype, pd.StringDtype) else set(map(type, present))
    for kind, allowed in (("duration", TIMES), ("date", DATES)):
        if all(issubclass(one, allowed) for one in kinds):
            return kind, "ISO8601"
    if kinds & {bool, np.bool_}:
        return "nominal", ""
    if kinds == {str} and (found := _date_format(present.drop_duplicates())):
        return "date", found
    numbers = pd.to_numeric(present.astype(object), errors="coerce").notna()
    if (numbers.all() and kinds != {str}) or (MOSTLY_NUMBERS <= numbers.mean() < 1 and not _padded(present).any()):
        return "number", ""
    return "nominal", ""


def _padded(present: pd.Series) -> pd.Series:
    """Return which cells are codes such as "02139", whose zeros would be lost in a number."""
    return present.astype(str).str.match(r"0\d")


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


def stray_words(cells: pd.Series) -> np.ndarray:
    """Return which cells are neither numbers nor missing.

    >>> stray_words(pd.Series([3, "4.5", "heavy", None])).tolist()
    [False, False, True, False]
    """
    if dtypes.is_numeric_dtype(cells.dtype):
        return np.zeros(len(cells), dtype=bool)
    if not isinstance(cells.dtype, pd.CategoricalDtype) and kind_of(cells)[0] in ("date", "duration"):
        return cells.notna().to_numpy()
    return (cells.notna() & pd.to_numeric(cells.astype(object), errors="coerce").isna()).to_numpy()


def to_numbers(cells: pd.Series, column: Column, *, tolerant: bool = False) -> np.ndarray:
    """Return the cells as float64, NaN where missing; if `tolerant`, a few words count as missing."""
    if (bad := stray_words(cells)).any():
        error = column.wrong(cells, bad, "numbers", "give numbers, or NaN where a value is missing")
        if not tolerant or not (column.repaired or bad.sum() <= (1 - MOSTLY_NUMBERS) * cells.notna().sum()):
            raise error
        if not column.repaired:
            warnings.warn(f"{error} Words in this column count as missing.", stacklevel=2)
    if not dtypes.is_numeric_dtype(cells.dtype):
        cells = pd.to_numeric(cells.astype(object), errors="coerce")
    numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(numbers).any():
        raise ValueError(
            f"column {column.name!r} of `X` contains infinity: give finite numbers, or NaN where a value is missing."
        )
    return numbers


def to_days(cells: pd.Series, column: Column) -> np.ndarray:
    """Return dates as days since 1970-01-01 (UTC), and durations and times of day as days; NaN where missing."""
    present, dtype = cells.notna().to_numpy(), cells.dtype
    advice = "give dates, or strings such as '2024-03-31'"
    if isinstance(dtype, pd.PeriodDtype):
        cells = cells.dt.to_timestamp()
    elif dtypes.is_numeric_dtype(dtype) and present.any():
        raise column.wrong(cells, present, "dates", advice)
    elif column.kind == "duration" and not dtypes.is_timedelta64_dtype(dtype):
        texts = cells.map(lambda cell: str(cell) if isinstance(cell, datetime.time) else cell, na_action="ignore")
        cells = pd.to_timedelta(texts, errors="coerce")
    elif column.kind == "date" and not dtypes.is_datetime64_any_dtype(dtype):
        texts = cells.astype(object).map(
            lambda cell: cell if isinstance(cell, DATES) else str(cell), na_action="ignore"
        )
        cells = pd.to_datetime(texts, format=column.format, errors="coerce", utc=True)
    if (bad := present & cells.isna().to_numpy()).any():
        raise column.wrong(texts, bad, f"{column.kind}s", advice)
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        cells = cells.dt.tz_convert("UTC").dt.tz_localize(None)
    since = cells.to_numpy() - np.datetime64(0, "D") if column.kind == "date" else cells.to_numpy()
    return np.where(np.isnat(since), np.nan, since / np.timedelta64(1, "D"))


def cycles(days: np.ndarray) -> dict[str, np.ndarray]:
    """Return how far each calendar cycle is at some days since 1970-01-01, as shares in [0, 1).

    >>> {name: share.round(2).tolist() for name, share in cycles(np.array([0.25, 31.0])).items()}
    {'year': [0.0, 0.08], 'month': [0.01, 0.0], 'week': [0.46, 0.86], 'day': [0.25, 0.0]}
    """
    whole = np.floor(np.nan_to_num(days)).astype("datetime64[D]")
    month_start = whole.astype("datetime64[M]").astype("datetime64[D]")
    year_start = whole.astype("datetime64[Y]").astype("datetime64[D]")
    time = np.mod(days, 1.0)
    return {
        "year": ((whole - year_start).astype(float) + time) / 366,
        "month": ((whole - month_start).astype(float) + time) / 31,
        "week": np.mod(days + 3, 7) / 7,  # 1970-01-01 was a Thursday
        "day": time,
    }


def to_words(cells: pd.Series, name: Any) -> tuple[np.ndarray, list[str]]:
    """Return a code for each cell, -1 where missing, and the distinct cells as strings; 2.0 and 2 are the same.

    >>> codes, words = to_words(pd.Series(["b", 2.0, None, "b"]), "x")
    >>> codes.tolist(), words
    ([0, 1, -1, 0], ['b', '2'])
    """
    try:
        codes, distinct = pd.factorize(cells)
    except TypeError:
        raise TypeError(
            f"column {name!r} of `X` holds cells that are not single numbers or words, such as "
            f"{type(cells.dropna().iloc[0]).__name__}: encode it first, or leave it out with drop=[{name!r}]."
        ) from None
    words = [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in distinct.tolist()]
    return np.asarray(codes, dtype=np.int64), words
