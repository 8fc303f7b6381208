"""`TableEncoder`: turn a table with numbers, words, dates and missing cells into a matrix of numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from montechain._columns import (
    BOOLEAN,
    SPELLINGS,
    Column,
    as_series,
    cycles,
    kind_of,
    stray_words,
    to_days,
    to_numbers,
    to_words,
)
from montechain._frames import is_frame
from montechain._messages import check_positive_integer, nearest
from montechain._transformers import QuantileClip, WordSpelling

__all__ = ["TableEncoder"]

WIDE = 1000
"""With more 0/1 columns than this the result is sparse."""
MANY_VALUES = 50
"""A column with more distinct values than this may be an identifier."""
N_GRAM_COLUMNS = 30
"""Number of columns that describe the spelling of a column with many different words."""
UNUSED = ("dropped", "identifier", "empty")
CHOICES: dict[str, tuple[str | None, ...]] = {
    "missing": ("impute", "keep"),
    "scale": ("standard", None),
    "identifiers": ("drop", "keep"),
    "stray": ("missing", "error"),
}


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table with numbers, words, dates, text and missing cells into a matrix of numbers.

    - Numbers: clip outliers, fill missing values with the median, standardise. All three are learned from the
      training rows. A constant column becomes zero. Where nearly all cells are numbers, a stray word counts as missing.
    - Dates: days since 1970-01-01, and the position in the year, month, week and day as points on circles, each only
      if it varies. Durations and times of day: days.
    - Words, categoricals and booleans: a 0/1 column for each category, those of a categorical whether they occur or
      not. Two categories make one column, which marks the rarer one. A missing cell or a category that did not occur
      at `fit` is zero in all columns.
    - Columns with more than `max_categories` different words: a 0/1 column for each of the commonest, and 30 columns
      that describe the spelling (character n-grams, reduced by singular value decomposition).
    - Text columns, which you name in `text`: TF-IDF of their words.
    - Identifiers are left out with a note: columns of words with hardly any value twice, and row numbers.

    A data frame's columns are matched by name at `transform`. Their order does not matter, and the frame may have
    other columns. Arrays of numbers are tables of numbers. Sparse containers are passed through, except for their
    missing values.

    Parameters
    ----------
    missing : {"impute", "keep"}, default="impute"
        Whether to fill missing numbers, or to leave them as NaN for classifiers that accept it. With "keep", a missing
        cell of a nominal column with two categories is NaN as well.
    scale : {"standard", None}, default="standard"
        Whether to bring numbers to mean zero and variance one.
    clip : float or None, default=0.001
        Maximum share of a column's numbers to move to the outermost quantiles on each side. A table with fewer than
        1/`clip` rows is left as it is. None turns clipping off. See `QuantileClip`.
    text : str or sequence of str, default=()
        Names of columns that hold running text; positions if the columns have no names.
    drop : str or sequence of str, default=()
        Names of columns to leave out; positions if the columns have no names.
    max_text_features : int, default=1000
        Maximum number of words to keep for each text column, the most frequent first.
    max_categories : int, default=100
        Maximum number of 0/1 columns for each column of words.
    identifiers : {"drop", "keep"}, default="drop"
        Whether to leave out columns that look like identifiers.
    stray : {"missing", "error"}, default="missing"
        What to do with words in a column of which at least 95 % are numbers. At `transform`, other words among numbers
        are an error.

    Attributes
    ----------
    columns_ : list of Column
        What each column holds: its name, its kind, its categories.
    notes_ : list of str
        What you should know about the table: columns that are left out, stray words.
    transformer_ : ColumnTransformer, or SimpleImputer for sparse containers
    is_sparse_ : bool
        Whether the result is a CSR container: with text, with more than a thousand 0/1 columns, and for sparse
        containers. Otherwise it is an array of float64.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X is a data frame whose names are strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from montechain.preparation import TableEncoder
    >>> bridges = pd.DataFrame({
    ...     "river": ["A", "M", "O", "A"],
    ...     "length": [1000.0, None, 1200.0, 1100.0],
    ...     "clear": ["G", "G", None, "N"],
    ... })
    >>> encoder = TableEncoder(scale=None).fit(bridges)
    >>> encoder.get_feature_names_out().tolist()
    ['length', 'clear_N', 'river_A', 'river_M', 'river_O']
    >>> encoder.transform(bridges).astype(int)
    array([[1000,    0,    1,    0,    0],
           [1100,    0,    0,    1,    0],
           [1200,    0,    0,    0,    1],
           [1100,    1,    1,    0,    0]])
    """

    def __init__(
        self,
        missing: str = "impute",
        scale: str | None = "standard",
        clip: float | None = 0.001,
        text: str | Sequence[Any] = (),
        drop: str | Sequence[Any] = (),
        max_text_features: int = 1000,
        max_categories: int = 100,
        identifiers: str = "drop",
        stray: str = "missing",
    ):
        self.missing = missing
        self.scale = scale
        self.clip = clip
        self.text = text
        self.drop = drop
        self.max_text_features = max_text_features
        self.max_categories = max_categories
        self.identifiers = identifiers
        self.stray = stray

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find out what the columns hold, and learn how to turn them into numbers.

        Parameters
        ----------
        X : data frame, array or sparse container of shape (n, n_features)
        y : ignored
        """
        self._check_parameters()
        table = self._read(X, reset=True)
        names = list(range(table.shape[1])) if sp.issparse(table) else list(table)
        text, dropped = self._chosen("text", names), self._chosen("drop", names)
        if both := [name for name in text if name in dropped]:
            raise ValueError(f"{both[0]!r} is in `text` and in `drop`: name it in one of them.")
        self.notes_: list[str] = []
        if sp.issparse(table):
            if text:
                raise ValueError(f"`text={self.text!r}`, but `X` is a sparse container of numbers: leave `text` out.")
            self.columns_ = [Column(name, name, "dropped" if name in dropped else "number") for name in names]
        else:
            self.columns_ = [
                Column(name, j, "dropped") if name in dropped else self._learn_column(name, j, table, name in text)
                for j, name in enumerate(names)
            ]
        used = self._used
        if not used:
            raise ValueError("no column of `X` is left to learn from: all are dropped or without a value.")
        wide = sum(len(column.categories) for column in used if not column.is_binary) > WIDE
        self.is_sparse_ = sp.issparse(table) or wide or any(column.kind == "text" for column in used)
        with config_context(transform_output="default"):  # whatever the user's setting, this is not the output yet
            if sp.issparse(table):
                imputer = SimpleImputer(strategy="median", keep_empty_features=True)
                self.transformer_: Any = imputer.fit(table[:, [column.place for column in used]])
            else:
                self.transformer_ = self._blocks().fit(self._frame(table))
        return self

    def transform(self, X: Any) -> Any:
        """Return the table as numbers.

        Parameters
        ----------
        X : data frame, array or sparse container of shape (n, n_features)

        Returns
        -------
        float64 ndarray or CSR container of shape (n, n_features_out)
        """
        check_is_fitted(self)
        table = self._read(X, reset=False)
        of_sparse = isinstance(self.transformer_, SimpleImputer)
        with config_context(transform_output="default"):
            if not of_sparse:
                result = self.transformer_.transform(self._frame(table))
            else:
                if not sp.issparse(table):
                    table = sp.csr_array(np.column_stack([to_numbers(table[c.name], c) for c in self.columns_]))
                result = table[:, [column.place for column in self._used]]
                if self.missing == "impute" and np.isnan(result.data).any():
                    result = self.transformer_.transform(result)
        if not sp.issparse(result):
            return result
        # scikit-learn makes no data frames of sparse containers.
        framed = _get_output_config("transform", self)["dense"] != "default"
        return result.toarray() if framed else result if of_sparse else sp.csr_array(result)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result: ``length``, ``river_A``, ``remarks_word``.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the inputs, if X had none; x0, x1, ... otherwise.
        """
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features)
        used = [(inputs[column.place], column) for column in self._used]
        names = []
        for name, column in used:
            if column.kind in ("number", "date", "duration"):
                names += [name, *(f"{name}_{cycle}_{part}" for cycle in column.cycles for part in ("sin", "cos"))]
        for name, column in used:
            if column.is_binary:
                names.append("_".join([name, *(c for c in column.categories if c != column.reference)]))
        for name, column in used:
            if not column.is_binary:
                names += [f"{name}_{category}" for category in column.categories]
        for name, column in used:
            if column.kind == "words":
                names += [f"{name}_spelling_{n}" for n in range(N_GRAM_COLUMNS)]
        for name, column in used:
            if column.kind == "text":
                terms = self.transformer_.named_transformers_[f"text_{column.place}"].get_feature_names_out()
                names += [f"{name}_{term}" for term in terms]
        return np.array(_made_unique(names), dtype=object)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        for name in ("sparse", "allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, True)
        tags.transformer_tags.preserves_dtype = []
        return tags

    # -- reading ------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> Any:
        """Return the columns that are needed, by name or position; a sparse container as it is."""
        if reset:
            self._named = is_frame(X)
        if is_frame(X):
            return self._read_frame(X, reset)
        if sp.issparse(X):
            X = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
            )
            if reset or isinstance(self.transformer_, SimpleImputer):
                return X
            X = X.toarray()
        else:
            if isinstance(X, list | tuple):  # numpy would make strings of all numbers if there is one string
                X = np.array(X, dtype=object)
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return dict(zip(self._places(X.shape[1], reset), (as_series(c, j) for j, c in enumerate(X.T)), strict=True))

    def _places(self, n_columns: int, reset: bool) -> list[Any]:
        """Return names for columns without: their positions, or the names at `fit`."""
        return list(range(n_columns)) if reset else [column.name for column in self.columns_]

    def _read_frame(self, X: Any, reset: bool) -> dict[Any, Any]:
        if X.shape[0] == 0:
            raise ValueError(
                f"Found array with 0 sample(s): `X` has shape {tuple(X.shape)}, a minimum of 1 is required."
            )
        frame = None if hasattr(X, "iloc") else nw.from_native(X, eager_only=True)
        names: list[Any] = list(X.columns) if frame is None else frame.columns
        wanted = names
        if reset:
            if not names:
                raise ValueError(f"0 feature(s): `X` has shape {tuple(X.shape)}, a minimum of 1 is required.")
            self.n_features_in_ = len(names)
            self.__dict__.pop("feature_names_in_", None)
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(names, dtype=object)
        elif not self._named:
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            wanted = [column.name for column in self._used]
            if absent := [name for name in wanted if name not in names]:
                more = f", ... ({len(absent)} in all)" if len(absent) > 10 else ""
                hint = nearest(str(absent[0]), [str(name) for name in names if name not in wanted]) or "."
                raise ValueError(
                    f"`X` lacks columns that the encoder was fitted with: {str(absent[:10])[1:-1]}{more}{hint}"
                )
        repeated = next((name for name in wanted if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(f"`X` has more than one column named {repeated!r}: give them different names.")
        columns = {
            name: as_series(X.iloc[:, names.index(name)] if frame is None else frame[name].to_native(), name)
            for name in wanted
        }
        return (
            columns
            if reset or self._named
            else dict(zip(self._places(len(names), reset), columns.values(), strict=True))
        )

    def _chosen(self, parameter: str, names: list[Any]) -> list[Any]:
        """Return the columns that a parameter names."""
        given = getattr(self, parameter)
        chosen = [given] if isinstance(given, str | Integral) else list(given)
        for name in chosen:
            if name not in names:
                listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
                hint = nearest(str(name), [str(column) for column in names]) or "."
                raise ValueError(
                    f"`{parameter}` names {name!r}, which is not a column of `X`{hint} Its columns are {listed}."
                )
        return chosen

    # -- learning -----------------------------------------------------------------------------

    @property
    def _used(self) -> list[Column]:
        return [column for column in self.columns_ if column.kind not in UNUSED]

    def _learn_column(self, name: Any, place: int, table: dict[Any, pd.Series], is_text: bool) -> Column:
        cells = table[name]
        kind, date_format = kind_of(cells)
        column = Column(name, place, "text" if is_text and kind != "empty" else kind, format=date_format)
        if kind == "empty":
            self.notes_.append(f"column {name!r} has no value and is left out.")
            return column
        if is_text:
            analyse = self._vectorizer().build_analyzer()
            if any(analyse(word) for word in to_words(cells, name)[1]):
                return column
            self.notes_.append(f"column {name!r} has no word of two letters or more and is left out.")
            return Column(name, place, "empty")
        if kind == "date":
            shares = cycles(to_days(cells, column))
            varying = tuple(cycle for cycle, share in shares.items() if np.nanmax(share) > np.nanmin(share))
            return Column(name, place, kind, format=date_format, cycles=varying)
        if kind == "number" and self._repair(cells, column):
            column = Column(name, place, kind, repaired=True)
        if self.identifiers == "drop" and (why := _looks_like_identifier(cells, kind, self._named)):
            self.notes_.append(f"column {name!r} looks like an identifier ({why}) and is left out.")
            return Column(name, place, "identifier")
        return column if kind in ("number", "duration") else self._learn_categories(cells, name, place)

    def _learn_categories(self, cells: pd.Series, name: Any, place: int) -> Column:
        codes, words = to_words(cells, name)
        if isinstance(cells.dtype, pd.CategoricalDtype):
            declared = to_words(pd.Series(cells.dtype.categories), name)[1]
        else:
            is_boolean = pd.api.types.is_bool_dtype(cells.dropna().infer_objects().dtype)
            declared = list(BOOLEAN) if is_boolean else sorted(set(words))
        counts = pd.Series(np.bincount(codes[codes >= 0], minlength=len(words)), words).groupby(level=0).sum()
        counts = counts.reindex(list(dict.fromkeys(declared)), fill_value=0)
        if len(counts) > self.max_categories:
            commonest = counts.sort_values(ascending=False, kind="stable").index[: self.max_categories]
            self.notes_.append(
                f"column {name!r} has {len(counts)} different words: the {self.max_categories} commonest get a column "
                f"each, and {N_GRAM_COLUMNS} columns describe how the words are spelled."
            )
            return Column(name, place, "words", tuple(sorted(commonest)))
        reference = str(counts.idxmax()) if len(counts) <= 2 else None
        return Column(name, place, "nominal", tuple(counts.index), reference)

    def _repair(self, cells: pd.Series, column: Column) -> bool:
        """Return whether there are words among the numbers, and say so."""
        rows = np.flatnonzero(stray_words(cells))
        if len(rows) == 0:
            return False
        known, more = int(cells.notna().sum()), len(rows) - 3
        said = f"{known - len(rows)} of {known} values of column {column.name!r} are numbers; "
        said += ", ".join(f"row {row} holds {cells.iloc[row]!r}" for row in rows[:3])
        said += f", and {more} more rows hold words" if more > 0 else ""
        if self.stray == "error":
            raise ValueError(f'{said}. Correct the table, or count words as missing with stray="missing".')
        self.notes_.append(f"{said}. These count as missing.")
        return True

    def _vectorizer(self) -> TfidfVectorizer:
        return TfidfVectorizer(max_features=self.max_text_features)

    def _blocks(self) -> ColumnTransformer:
        """Return what makes numbers of a prepared frame, in which the names of columns are positions."""
        used, each = self._used, {}
        for column in used:
            if column.kind == "words":
                each[f"spelling_{column.place}"] = WordSpelling(N_GRAM_COLUMNS)
        for column in used:
            if column.kind == "text":
                each[f"text_{column.place}"] = self._vectorizer()
        numbers = [name for column in used for name in _number_names(column)]
        nominal = [column for column in used if column.categories and not column.is_binary]
        steps = [
            *([] if self.clip is None else [QuantileClip(self.clip)]),
            *([SimpleImputer(strategy="median")] if self.missing == "impute" else []),
            *([StandardScaler()] if self.scale == "standard" else []),
        ]
        one_hot = OneHotEncoder(
            categories=[np.arange(len(column.categories), dtype=np.float64) for column in nominal],
            handle_unknown="ignore",
            sparse_output=self.is_sparse_,
        )
        blocks: list[tuple[str, Any, Any]] = [
            ("numbers", make_pipeline(*steps) if steps else "passthrough", numbers),
            ("binary", "passthrough", [str(column.place) for column in used if column.is_binary]),
            ("nominal", one_hot, [str(column.place) for column in nominal]),
            *((name, transformer, name) for name, transformer in each.items()),
        ]
        return ColumnTransformer(
            [block for block in blocks if block[2]], sparse_threshold=1.0 if self.is_sparse_ else 0.0
        )

    def _frame(self, table: dict[Any, pd.Series]) -> pd.DataFrame:
        """Return the used columns as numbers, codes and strings."""
        frame: dict[str, np.ndarray] = {}
        for column in self._used:
            cells, place = table[column.name], str(column.place)
            if column.kind == "number":
                frame[place] = to_numbers(cells, column, tolerant=self.stray == "missing")
            elif column.kind in ("date", "duration"):
                frame[place] = days = to_days(cells, column)
                shares = cycles(days) if column.cycles else {}
                for cycle in column.cycles:
                    frame[f"{place}_{cycle}_sin"] = np.sin(2 * np.pi * shares[cycle])
                    frame[f"{place}_{cycle}_cos"] = np.cos(2 * np.pi * shares[cycle])
            else:
                frame |= self._words(cells, column)
        return pd.DataFrame(frame)

    def _words(self, cells: pd.Series, column: Column) -> dict[str, np.ndarray]:
        codes, words = to_words(cells, column.name)
        place = str(column.place)
        if column.kind in ("text", "words"):
            name = f"{'text' if column.kind == 'text' else 'spelling'}_{place}"
            prepared = {name: np.array([*words, ""], dtype=object)[codes]}  # the last one is for code -1
            if column.kind == "text":
                return prepared
        else:
            prepared = {}
            if column.categories == BOOLEAN:
                words = [SPELLINGS.get(word.lower(), word) for word in words]
            elif not any(map(_is_number, column.categories)):
                numbers = cells.map(lambda cell: isinstance(cell, Real) and not isinstance(cell, bool)).to_numpy(bool)
                if (numbers := numbers & cells.notna().to_numpy()).any():
                    held = f"words such as {column.categories[0]!r}"
                    raise column.wrong(cells, numbers, held, "give words, or None where a value is missing")
        known = pd.Index(column.categories).get_indexer(pd.Index(words, dtype=object))
        found = np.append(known, -1).astype(np.float64)[codes]  # -1: missing, or no category with a column
        if column.is_binary:
            marked = np.where(found >= 0, found != column.categories.index(str(column.reference)), 0.0)
            found = np.where(codes < 0, np.nan, marked) if self.missing == "keep" else marked
        return {place: found, **prepared}

    def _check_parameters(self) -> None:
        for parameter, allowed in CHOICES.items():
            value = getattr(self, parameter)
            if not isinstance(value, Hashable) or value not in allowed:
                hint = nearest(str(value), [choice for choice in allowed if choice is not None])
                raise ValueError(
                    f"`{parameter}={value!r}` of TableEncoder is not known{hint or '.'} "
                    f"Allowed are {' and '.join(map(repr, allowed))}."
                )
        number = isinstance(self.clip, Real) and not isinstance(self.clip, bool)
        if self.clip is not None and not (number and 0 <= self.clip < 0.5):
            raise ValueError(
                f"`clip={self.clip!r}` of TableEncoder must be a share in [0, 0.5), e.g. TableEncoder(clip=0.001), or "
                "None for no clipping."
            )
        check_positive_integer(self, "max_text_features", 1000)
        check_positive_integer(self, "max_categories", 100)


def _number_names(column: Column) -> list[str]:
    """Return what the numbers of a column are called in a prepared frame."""
    if column.kind not in ("number", "date", "duration"):
        return []
    parts = [f"{column.place}_{cycle}_{part}" for cycle in column.cycles for part in ("sin", "cos")]
    return [str(column.place), *parts]


def _looks_like_identifier(cells: pd.Series, kind: str, named: bool) -> str:
    """Return why a column is likely an identifier, "" if it is not.

    >>> _looks_like_identifier(pd.Series(range(1, 101)), "number", True)
    'the row number'
    """
    present = cells.dropna()
    if not named or len(present) <= MANY_VALUES or present.nunique() < 0.95 * len(present):
        return ""
    if kind == "number":
        if not pd.api.types.is_integer_dtype(cells.dtype) or len(present) < len(cells):
            return ""
        low, high = int(present.min()), int(present.max())
        return "the row number" if low in (0, 1) and high - low == len(cells) - 1 else ""
    # Running text, too, is different in each row.
    if kind != "nominal" or present.astype(str).str.count(" ").mean() > 2:
        return ""
    return f"{present.nunique()} different values in {len(present)} rows"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _made_unique(names: list[str]) -> list[str]:
    """Return the names, numbered where they recur: a category's column may be named like another input.

    >>> _made_unique(["a_b", "c", "a_b"])
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
