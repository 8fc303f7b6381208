"""One column of a table as people have it: what it is, and its cells as numbers, days, words or codes.

A column may belong to a frame of any library that narwhals reads, or to an array. Cells that are NaN,
None, NaT or NA are missing. Nothing here learns: `montechain.preparation` does.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np

__all__ = [
    "Column",
    "as_cells",
    "as_days",
    "as_numbers",
    "as_words",
    "codes_in",
    "commonest",
    "declared_categories",
    "factors",
    "is_missing",
    "kind_of",
]

DAY_IN_MICROSECONDS = 86_400_000_000
EPOCH = datetime.datetime(1970, 1, 1)
BOOLEAN = ("False", "True")
"""The categories of a column of truth values."""
SPELLINGS = {"0": "False", "1": "True", "false": "False", "true": "True"}
"""Other ways to write them, as in a file that was written and read again."""


@dataclass(frozen=True)
class Column:
    """What a column was taken for.

    Attributes
    ----------
    name : str or other
        Its name; its place, a whole number, where columns have no names.
    place : int
        Where it stood in the table.
    kind : {"number", "date", "nominal", "text", "dropped", "empty"}
        "empty": without a single value, and so left out.
    categories : tuple of str
        Of a nominal column.
    reference : str or None
        The category that has no column of its own because there are only two, or one.
    """

    name: Any
    place: int
    kind: str
    categories: tuple[str, ...] = ()
    reference: str | None = None

    @property
    def is_binary(self) -> bool:
        """Whether it is nominal and one column of zeros and ones."""
        return self.kind == "nominal" and self.reference is not None

    @property
    def label(self) -> str:
        """How an error calls it."""
        return f"column {self.name!r} of `X`"


def as_cells(values: Any) -> Any:
    """Return a native series as a narwhals series, an array of objects as an array of its natural type.

    >>> as_cells(np.array([1, 2.5, None], dtype=object))
    array([1. , 2.5, nan])
    """
    if not isinstance(values, np.ndarray):
        series = nw.from_native(values, series_only=True)
        if isinstance(series.dtype, nw.Object | nw.Unknown):
            return as_cells(np.array([*series.to_list(), None], dtype=object)[:-1])
        return series
    if values.dtype.kind != "O":
        return values
    present = [cell for cell, missing in zip(values, is_missing(values), strict=True) if not missing]
    if present and all(isinstance(cell, Real | Decimal) and not isinstance(cell, bool | np.bool_) for cell in present):
        return _parsed(values, "")
    return values


def kind_of(cells: Any) -> str:
    """Return "number", "date" or "nominal".

    >>> kind_of(np.array([3, 4])), kind_of(np.array(["3", "x"])), kind_of(np.array([True, False]))
    ('number', 'nominal', 'nominal')
    """
    if not isinstance(cells, np.ndarray):
        dtype = cells.dtype
        if dtype.is_numeric():
            return "number"
        if isinstance(dtype, nw.Datetime | nw.Date | nw.Duration | nw.Time):
            return "date"
        if dtype.is_nested() or isinstance(dtype, nw.Binary):
            raise TypeError(
                f"column {cells.name!r} of `X` holds values of type {dtype}, which are no single numbers or words: "
                f"encode it first, or leave it out with drop=[{cells.name!r}]."
            )
        return "nominal"
    if cells.dtype.kind in "iuf":
        return "number"
    if cells.dtype.kind in "mM":
        return "date"
    if cells.dtype.kind in "US":  # an array of texts made texts of its numbers, too
        try:
            cells.astype(np.float64)
        except ValueError:
            return "nominal"
        return "number"
    present = cells[~is_missing(cells)]
    times = datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64
    return "date" if len(present) and all(isinstance(cell, times) for cell in present) else "nominal"


def is_missing(values: np.ndarray) -> np.ndarray:
    """Return which cells of an array are missing."""
    if values.dtype.kind in "biuUS":
        return np.zeros(len(values), dtype=bool)
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=bool)


def as_numbers(cells: Any, where: str) -> np.ndarray:
    """Return the cells as float64, NaN where missing; `where` names the column if one of them is no number.

    >>> as_numbers(np.array(["1.5", None, 3], dtype=object), "x")
    array([1.5, nan, 3. ])
    """
    if not isinstance(cells, np.ndarray):
        dtype = cells.dtype
        if dtype.is_numeric() or isinstance(dtype, nw.Boolean):
            numbers = np.array(cells.cast(nw.Float64).to_numpy(), dtype=np.float64)
        else:
            numbers = _parsed(np.array([*cells.to_list(), None], dtype=object)[:-1], where)
    elif cells.dtype.kind in "biuf":
        numbers = cells.astype(np.float64)
    else:
        numbers = _parsed(cells.astype(object), where)
    if np.isinf(numbers).any():
        raise ValueError(f"{where} contains infinity: give finite numbers, or NaN where a value is not known.")
    return numbers


def _parsed(values: np.ndarray, where: str) -> np.ndarray:
    numbers = np.full(len(values), np.nan)
    for i in np.flatnonzero(~is_missing(values)):
        cell = values[i]
        try:
            if isinstance(cell, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64):
                raise TypeError
            numbers[i] = float(cell)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where} held numbers when the encoder was fitted, but {_shown(cell)} stands in it now: give numbers, "
                "or NaN where a value is not known."
            ) from None
    return numbers


def as_days(cells: Any, where: str) -> np.ndarray:
    """Return dates as days since 1970-01-01 (UTC), durations and times of day as days; NaN where missing.

    >>> as_days(np.array(["1970-01-02T12:00"], dtype="datetime64[m]"), "x")
    array([1.5])
    """
    if not isinstance(cells, np.ndarray):
        dtype = cells.dtype
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
            cells = cells.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        if isinstance(dtype, nw.Date):
            cells = cells.cast(nw.Datetime("us"))
        if isinstance(dtype, nw.Datetime | nw.Date | nw.Duration):
            cells = np.asarray(cells.to_numpy())
        elif dtype.is_numeric():
            raise _no_date(where, next(iter(cells.drop_nulls().to_list()), None))
        else:
            cells = np.array([*cells.to_list(), None], dtype=object)[:-1]
    if cells.dtype.kind in "mM":
        missing = np.isnat(cells)
        since = cells - np.datetime64(0, "D") if cells.dtype.kind == "M" else cells
        days = since / np.timedelta64(1, "D")
        return np.where(missing, np.nan, days)
    days = np.full(len(cells), np.nan)
    for i in np.flatnonzero(~is_missing(cells)):
        days[i] = _day(cells[i], where)
    return days


def _day(cell: Any, where: str) -> float:
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return float(as_days(np.array([cell]), where)[0])
    try:
        moment = datetime.datetime.fromisoformat(cell) if isinstance(cell, str) else cell
    except ValueError:
        raise _no_date(where, cell) from None
    if isinstance(moment, datetime.time):
        moment = datetime.datetime.combine(EPOCH, moment)
    elif isinstance(moment, datetime.date) and not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time())
    if isinstance(moment, datetime.datetime):
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        moment = moment - EPOCH
    if not isinstance(moment, datetime.timedelta):
        raise _no_date(where, cell)
    return moment / datetime.timedelta(microseconds=DAY_IN_MICROSECONDS)


def _no_date(where: str, cell: Any) -> ValueError:
    return ValueError(
        f"{where} held dates when the encoder was fitted, but {_shown(cell)} stands in it now: give dates, or texts "
        "such as '2024-03-31'."
    )


def as_words(cells: Any) -> np.ndarray:
    """Return the cells as texts, None where missing.

    >>> as_words(np.array(["fair", None, 2.0], dtype=object)).tolist()
    ['fair', None, '2']
    """
    codes, words = factors(cells)
    return np.array([*words, None], dtype=object)[codes]


def factors(cells: Any) -> tuple[np.ndarray, list[str]]:
    """Return a code for each cell, -1 where missing, and the distinct cells as texts.

    >>> codes, words = factors(np.array(["b", "a", None, "b"], dtype=object))
    >>> codes.tolist(), words
    ([0, 1, -1, 0], ['b', 'a'])
    """
    import pandas as pd

    values: Any = cells
    if not isinstance(cells, np.ndarray):
        native = cells.to_native()
        if isinstance(native, pd.Series):
            if isinstance(native.dtype, pd.CategoricalDtype):
                return _occurring(native.cat.codes.to_numpy(), native.cat.categories.tolist())
            values = native
        elif cells.dtype.is_numeric():
            values = as_numbers(cells, "")
        else:
            values = np.array([*cells.to_list(), None], dtype=object)[:-1]
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:  # cells that cannot be hashed, such as dictionaries
        present = ~is_missing(values)
        texts = np.full(len(values), None, dtype=object)
        texts[present] = [_word(cell) for cell in values[present]]
        codes, distinct = pd.factorize(texts)
    return np.asarray(codes, dtype=np.int64), [_word(value) for value in distinct.tolist()]


def _occurring(codes: np.ndarray, categories: list[Any]) -> tuple[np.ndarray, list[str]]:
    """Return codes that count only the categories that occur, and these as texts."""
    occurring = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(categories)))
    place = np.full(len(categories) + 1, -1)
    place[occurring] = np.arange(len(occurring))
    return place[codes], [_word(categories[code]) for code in occurring]


def declared_categories(cells: Any) -> list[str] | None:
    """Return the categories of a categorical type, in their order, or of truth values; None for other types.

    A polars `Categorical` declares nothing: its categories are those of all frames together.
    """
    if isinstance(cells, np.ndarray):
        is_boolean = cells.dtype.kind == "b" or (
            cells.dtype.kind == "O" and all(isinstance(c, bool | np.bool_) for c in cells[~is_missing(cells)])
        )
        return list(BOOLEAN) if is_boolean else None
    if isinstance(cells.dtype, nw.Boolean):
        return list(BOOLEAN)
    if isinstance(cells.dtype, nw.Categorical | nw.Enum):
        native = cells.to_native()
        if isinstance(cells.dtype, nw.Enum) or nw.dependencies.is_pandas_like_series(native):
            return list(dict.fromkeys(_word(value) for value in native.dtype.categories.to_list()))
    return None


def codes_in(cells: Any, column: Column) -> np.ndarray:
    """Return the place of each cell among the categories of a nominal column: -1 if missing, -2 if not there."""
    codes, words = factors(cells)
    place = {category: code for code, category in enumerate(column.categories)}
    if column.categories == BOOLEAN:
        words = [SPELLINGS.get(word.lower(), word) for word in words]
    elif (number := _first_number(cells)) is not None and not any(map(_is_number, column.categories)):
        raise ValueError(
            f"{column.label} held words when the encoder was fitted, such as {column.categories[0]!r}, but the number "
            f"{number} stands in it now: give words, or None where nothing is known."
        )
    # The last entry is looked up by code -1.
    return np.array([*(place.get(word, -2) for word in words), -1], dtype=np.int64)[codes]


def _first_number(cells: Any) -> str | None:
    """Return a number that stands in the column, None if there is none."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "O":
        return next((_word(c) for c in cells if isinstance(c, Real) and not isinstance(c, bool) and c == c), None)
    if cells.dtype.kind in "iuf" if isinstance(cells, np.ndarray) else cells.dtype.is_numeric():
        return next(iter(factors(cells)[1]), None)
    return None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _word(value: Any) -> str:
    """Return a category as text: 2 and 2.0 are the same one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _shown(cell: Any) -> str:
    text = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return text if len(text) <= 60 else f"{text[:57]}..."


def commonest(codes: np.ndarray, categories: Sequence[str]) -> str:
    """Return the category that most cells have, the first of them if several have as many."""
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    return categories[int(counts.argmax())]
