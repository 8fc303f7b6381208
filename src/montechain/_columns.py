"""One column of a table: find out what it holds, and encode its cells as numbers."""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api import types as dtypes
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from montechain._savable import savable

BOOLEAN = ("False", "True")
"""Categories of a boolean column."""
SPELLINGS = {"0": "False", "1": "True", "false": "False", "true": "True"}
"""Other ways to write them."""
MOSTLY_NUMBERS = 0.95
"""If at least this share of a column consists of numbers or dates, its words are treated as stray."""
LARGEST = 1e100
"""Larger numbers would overflow when they are standardised, and count as infinite."""
SOMEWHAT = 0.75
"""If at least this share of a column of words looks like numbers or dates, a note says so."""
SHOWN_STRAYS = 5
"""Maximum number of stray cells that a note lists."""
MANY_VALUES = 50
"""Columns with more distinct values than this may be identifiers."""
N_COMPONENTS = 30
"""Maximum number of columns that describe how words are spelled."""
MAX_WORDS = 5000
"""Maximum number of distinct words to learn the spelling from, the most frequent first."""
UNIT = re.compile(r"^\s*[$€£¥]\s*|\s*%\s*$")
"""Signs that may stand beside a number."""
DATES = (datetime.date, np.datetime64)
DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"  # 2024-12-31, 31/12/2024
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{4}|[A-Za-z]{3,9} \d{1,2}, \d{4})(?!\d)"  # 31 Dec 2024, December 31, 2024
)
NUMBERS, BINARY, NOMINAL, DESCRIBED = range(4)
"""Blocks of the encoded table, in order."""


@savable
@dataclass(frozen=True)
class Column:
    """What a column of a table holds.

    `kind` is "number", "date", "nominal", "words" (nominal with many categories), "text", or one of those
    that are not used: "dropped", "identifier", "empty". Each of the `categories` gets its own 0/1 column,
    except that one or two share a single column; `reference` is the more common one. `format` is that of dates written
    as strings, `cycles` are the calendar cycles that vary in a column of dates. `repaired` says that words among the
    numbers or dates counted as missing at `fit`. `vectorizer` describes words and text.
    """

    name: Any
    place: int
    kind: str
    categories: tuple[str, ...] = ()
    reference: str | None = None
    format: str = "ISO8601"
    cycles: tuple[str, ...] = ()
    repaired: bool = False
    vectorizer: Any = None

    @property
    def block(self) -> int:
        """The block of the encoded table that its columns belong to."""
        if self.kind == "nominal":
            return NOMINAL if self.reference is None else BINARY
        return NUMBERS if self.kind in ("number", "date") else DESCRIBED

    def outputs(self, name: str) -> list[str]:
        """Return names for what `encode` returns, if the column itself has this name."""
        if self.block == NUMBERS:
            return [name, *(f"{name}_{cycle}_{part}" for cycle in self.cycles for part in ("sin", "cos"))]
        if self.block == BINARY:
            return ["_".join([name, *(category for category in self.categories if category != self.reference)])]
        described = self.vectorizer.get_feature_names_out() if self.kind == "text" else []
        if self.kind == "words":
            described = [f"spelling_{n}" for n in range(len(self.vectorizer[-1].components_))]
        return [f"{name}_{output}" for output in [*self.categories, *described]]

    def encode(self, cells: pd.Series, *, keep_missing: bool) -> Any:
        """Return the cells as a matrix, which is sparse in the last two blocks.

        Missing numbers are NaN; so are missing cells of a binary column if `keep_missing`.
        """
        if self.block == NUMBERS:
            return self._encode_numbers(cells)
        codes, words = to_words(cells)
        if self.categories == BOOLEAN:
            words = [SPELLINGS.get(word.lower(), word) for word in words]
        elif self.kind == "nominal" and words and dtypes.is_any_real_numeric_dtype(cells.dtype):
            held, advice = f"words such as {self.categories[0]!r}", "give words, or None where a value is missing"
            if np.isnan(as_numbers(pd.Series(self.categories))).all():
                raise self._wrong(cells, cells.notna(), held, advice)
        code_of = {category: code for code, category in enumerate(self.categories)}
        # -1: missing, or a category without a column
        found = np.array([*(code_of.get(word, -1) for word in words), -1])[codes]
        if self.block == BINARY:
            rarer = np.where(found >= 0, found != self.categories.index(str(self.reference)), 0.0)
            return np.where(codes < 0, np.nan, rarer)[:, None] if keep_missing else rarer[:, None]
        rows = np.flatnonzero(found >= 0)
        places = np.stack([rows, found[rows]]).astype(np.int32)  # some classifiers do not accept 64-bit indices
        marks = sp.csr_array((np.ones(len(rows)), places), shape=(len(codes), len(self.categories)))
        if self.vectorizer is None:
            return marks
        described = sp.csr_array(self.vectorizer.transform([*words, ""]))[codes]  # "" is for code -1
        return sp.hstack([marks, described], format="csr")

    def _wrong(self, cells: pd.Series, bad: Any, held: str, advice: str) -> ValueError:
        """Return the error for the first cell that is not what the column held at `fit`."""
        row = int(np.argmax(bad))
        cell = cells.iloc[[row]].tolist()[0]  # a plain Python value
        before = cells.index.start if isinstance(cells.index, pd.RangeIndex) else 0  # of a part of a table
        return ValueError(
            f"column {self.name!r} of `X` held {held} when the encoder was fitted, but now row {before + row} holds "
            f"{cell!r:.60}: {advice}."
        )

    def read(self, cells: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Return cells as numbers, dates as days since 1970-01-01 (UTC), NaN where missing; and which are strays."""
        known = cells.notna().to_numpy()
        if self.kind == "number":
            numbers = as_numbers(cells)
        else:
            if cells.dtype.kind != "M":
                cells = cells.astype(object).map(lambda cell: cell if isinstance(cell, DATES) else str(cell), "ignore")
            since = pd.to_datetime(cells, format=self.format, errors="coerce", utc=True) - pd.Timestamp(0, tz="UTC")
            numbers = (since / pd.Timedelta(days=1)).to_numpy(np.float64)
        return numbers, np.isnan(numbers) & known

    def _encode_numbers(self, cells: pd.Series) -> np.ndarray:
        """Return numbers or dates; refuse those that are too large, and more than a few words."""
        numbers, strays = self.read(cells)
        if strays.any() and not self.repaired:
            example = datetime.datetime(2024, 3, 31).strftime(self.format.replace("ISO8601", "%Y-%m-%d"))
            more = f"strings such as {example!r}" if self.kind == "date" else "NaN where a value is missing"
            error = self._wrong(cells, strays, f"{self.kind}s", f"give {self.kind}s, or {more}")
            if strays.sum() > (1 - MOSTLY_NUMBERS) * cells.notna().sum():
                raise error
            warnings.warn(f"{error} Words in this column count as missing.", stacklevel=2)
        if (np.abs(numbers) > LARGEST).any():
            raise ValueError(f"column {self.name!r} of `X` contains infinity or numbers over {LARGEST}: use NaN.")
        shares = [cycles(numbers)[cycle] for cycle in self.cycles]
        return np.column_stack([numbers, *(wave(2 * np.pi * share) for share in shares for wave in (np.sin, np.cos))])


def as_series(values: np.ndarray) -> pd.Series:
    """Return a column of an array as a series; strings become numbers if all of them are.

    >>> as_series(np.array(["1.5", "2"])).tolist()
    [1.5, 2.0]
    """
    if values.dtype.kind not in "US":
        return pd.Series(values)
    try:
        return pd.Series(values.astype(np.float64))
    except ValueError:
        return pd.Series(values.astype(object))


def to_words(cells: pd.Series) -> tuple[np.ndarray, list[str]]:
    """Return a code for each cell, -1 where missing, and the distinct cells as strings; 2.0 and 2 are the same.

    >>> codes, words = to_words(pd.Series(["b", 2.0, None, "b"]))
    >>> codes.tolist(), words
    ([0, 1, -1, 0], ['b', '2'])
    """
    is_categorical = isinstance(cells.dtype, pd.CategoricalDtype)
    codes, distinct = (cells.cat.codes, cells.cat.categories) if is_categorical else pd.factorize(cells)
    words = [str(int(v) if isinstance(v, float) and v.is_integer() else v) for v in distinct.tolist()]
    return np.asarray(codes, dtype=np.int64), words


def as_numbers(cells: pd.Series) -> np.ndarray:
    """Return cells as numbers, durations as days; NaN where they are missing or words."""
    if cells.dtype.kind == "m":
        return (cells / pd.Timedelta(days=1)).to_numpy(np.float64)
    if not dtypes.is_numeric_dtype(cells.dtype):
        plain = cells.astype(object).map(lambda cell: UNIT.sub("", str(cell)), "ignore")
        cells = pd.to_numeric(plain, errors="coerce")
    return cells.to_numpy(np.float64, na_value=np.nan)


def cycles(days: np.ndarray) -> dict[str, np.ndarray]:
    """Return how far each calendar cycle is at some days since 1970-01-01, as shares in [0, 1).

    >>> {name: share.round(2).tolist() for name, share in cycles(np.array([0.25, 31.0])).items()}
    {'year': [0.0, 0.08], 'month': [0.01, 0.0], 'week': [0.46, 0.86], 'day': [0.25, 0.0]}
    """
    whole, time = np.floor(np.nan_to_num(days)).astype("datetime64[D]"), np.mod(days, 1.0)
    since = {unit: (whole - whole.astype(f"datetime64[{unit}]")).astype(float) + time for unit in "YM"}
    # 1970-01-01 was a Thursday.
    return {"year": since["Y"] / 366, "month": since["M"] / 31, "week": np.mod(days + 3, 7) / 7, "day": time}


def learn_kind(cells: pd.Series, name: Any, place: int) -> Column:
    """Return a column of numbers, dates or nominal values, without its categories, or an empty one.

    >>> column = learn_kind(pd.Series(["31/12/2024", "01/02/2025", None]), "when", 0)
    >>> column.kind, column.format, column.cycles
    ('date', '%d/%m/%Y', ('year', 'month', 'week'))
    """
    kind, date_format = _kind_of(cells, name)
    column = Column(name, place, kind, format=date_format)
    if column.block != NUMBERS:
        return column
    numbers, strays = column.read(cells)
    shares = cycles(numbers[~np.isnan(numbers)]) if kind == "date" else {}
    varying = tuple(cycle for cycle, share in shares.items() if (share != share[:1]).any())
    return replace(column, cycles=varying, repaired=bool(strays.any() and strays.mean() <= 1 - MOSTLY_NUMBERS))


def _kind_of(cells: pd.Series, name: Any) -> tuple[str, str]:
    """Return the kind of a column, and the format of its dates."""
    dtype, present = cells.dtype, cells.dropna()
    if present.empty:
        return "empty", ""
    if dtypes.is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return "nominal", ""
    if dtypes.is_numeric_dtype(dtype) or dtype.kind == "m":
        return "number", ""
    if dtype.kind == "M":
        return "date", "ISO8601"
    kinds = {str} if isinstance(dtype, pd.StringDtype) else set(map(type, present))
    if nested := [kind for kind in kinds if issubclass(kind, list | dict | set | np.ndarray)]:
        raise TypeError(
            f"column {name!r} of `X` holds values of type {nested[0].__name__}, not single numbers or words: encode it "
            f"first, or leave it out with TableEncoder(drop=[{name!r}])."
        )
    if all(issubclass(one, DATES) for one in kinds):
        return "date", "ISO8601"
    if kinds == {str} and (formats := date_formats(present)):
        return "date", formats[0]
    share = 1 - np.isnan(as_numbers(present)).mean()
    padded = present.astype(str).str.match(r"0\d").any()  # codes such as "02139", which would lose their leading zeros
    are_numbers = kinds != {str} or present.str.contains(UNIT).all()  # digits alone may be codes
    is_number = (share == 1 and are_numbers) or (MOSTLY_NUMBERS <= share < 1 and not padded)
    return "number" if is_number else "nominal", ""


def date_formats(present: pd.Series) -> list[str]:
    """Return the formats that fit all dates of a column of strings; none if more than a few are not dates.

    >>> date_formats(pd.Series(["05/05/2024", "01/02/2024"]))
    ['%m/%d/%Y', '%d/%m/%Y']
    """
    is_date = present.str.match(DATE)
    if is_date.mean() < MOSTLY_NUMBERS:
        return []
    dates = present[is_date].drop_duplicates()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about days that cannot be months
        guesses = [pd.tseries.api.guess_datetime_format(dates.iloc[0].strip(), dayfirst=own) for own in (False, True)]
    candidates = dict.fromkeys(["ISO8601", *filter(None, guesses)])
    return [one for one in candidates if pd.to_datetime(dates, format=one, errors="coerce", utc=True).notna().all()]


def learn_categories(column: Column, cells: pd.Series, max_categories: int) -> Column:
    """Return the column with its categories: all of them, or the commonest of too many."""
    codes, words = to_words(cells)
    is_boolean = dtypes.is_bool_dtype(cells.dropna().infer_objects().dtype)
    found = list(BOOLEAN) if is_boolean else sorted(set(words))
    declared = words if isinstance(cells.dtype, pd.CategoricalDtype) else found
    counts = dict.fromkeys(declared, 0)
    for word, count in zip(words, np.bincount(codes[codes >= 0], minlength=len(words)).tolist(), strict=True):
        counts[word] += count
    commonest = sorted(counts, key=lambda word: -counts[word])
    if len(counts) > max_categories:
        # What skrub's StringEncoder does, with hashing so that there are never fewer n-grams than components.
        spelling = make_pipeline(
            HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=2048, alternate_sign=False),
            TfidfTransformer(),
            TruncatedSVD(N_COMPONENTS, n_iter=3, random_state=0),
        ).fit(commonest[:MAX_WORDS])
        categories = tuple(sorted(commonest[:max_categories]))
        return replace(column, kind="words", categories=categories, vectorizer=spelling)
    return replace(column, categories=tuple(counts), reference=commonest[0] if len(counts) <= 2 else None)


def identifier(column: Column, cells: pd.Series) -> str:
    """Return why a column is likely an identifier, "" if it is not.

    >>> identifier(Column("id", 0, "number"), pd.Series(range(1, 101)))
    'the row number'
    """
    present = cells.dropna()
    if len(present) <= MANY_VALUES or cells.nunique() < 0.95 * len(present):
        return ""
    if column.kind == "number":
        is_count = dtypes.is_integer_dtype(cells.dtype) and len(present) == len(cells) and present.min() in (0, 1)
        return "the row number" if is_count and present.max() - present.min() == len(cells) - 1 else ""
    if column.kind != "nominal" or is_running_text(present.astype(str).tolist()):
        return ""
    return f"{present.nunique()} different values in {len(present)} rows"


def doubts(column: Column, cells: pd.Series) -> list[str]:
    """Return notes about a nominal column that may have been meant as something else.

    >>> doubts(Column("weight", 0, "nominal"), pd.Series(["1", "2", "heavy", "3"]))[0]
    "column 'weight': 3 of 4 values are numbers, but not 'heavy', so each value is a category. ..."
    """
    codes, words = to_words(cells)
    counts, said = np.bincount(codes[codes >= 0], minlength=len(words)), []
    is_number = ~np.isnan(as_numbers(pd.Series(words, dtype=object)))
    is_date = np.array([DATE.match(word) is not None for word in words])
    for kind, fits in (("numbers", is_number), ("dates", is_date)):
        n_fitting, n_known = int(counts[fits].sum()), int(counts.sum())
        if SOMEWHAT * n_known <= n_fitting < n_known:
            odd = [word for word, is_one in zip(words, fits, strict=True) if not is_one]
            shown = ", ".join([*(repr(word[:40]) for word in odd[:SHOWN_STRAYS]), *["..."] * (len(odd) > SHOWN_STRAYS)])
            said.append(
                f"column {column.name!r}: {n_fitting} of {n_known} values are {kind}, but not {shown}, so each value "
                "is a category. If these mean that a value is missing, leave their cells empty."
            )
    if column.kind == "words" and is_running_text(words):
        said.append(
            f"column {column.name!r} holds running text, of which only the commonest values and the spelling are used. "
            f"To use its words, use text=[{column.name!r}]."
        )
    return said


def is_running_text(words: Sequence[str]) -> bool:
    """Return whether values have more than three words on average."""
    return float(np.mean([word.count(" ") for word in words])) > 2.0


def describe_strays(name: Any, held: Sequence[tuple[str, Any]], n_known: int, kind: str = "number") -> str:
    """Return a note about the words in a column of numbers or dates, given their places and cells.

    >>> describe_strays("weight", [("row 3", "heavy")], 20)
    "column 'weight': 19 of 20 values are numbers; row 3 holds 'heavy'. What is not a number is treated as missing."
    """
    listed = ", ".join(f"{place} holds {str(cell)[:40]!r}" for place, cell in held[:SHOWN_STRAYS])
    more = f", and {len(held) - SHOWN_STRAYS} more are like them" if len(held) > SHOWN_STRAYS else ""
    return (
        f"column {name!r}: {n_known - len(held)} of {n_known} values are {kind}s; {listed}{more}. What is not a "
        f"{kind} is treated as missing."
    )
