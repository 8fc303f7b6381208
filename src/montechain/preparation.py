"""`TableEncoder`: turn a table with numbers, words, dates and missing cells into a matrix of numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain import _columns
from montechain._columns import Column, as_series
from montechain._compat import check_feature_names_in
from montechain._frames import as_pandas, column_names, is_frame
from montechain._lazy import draw_rows, is_lazy, lazy_answer
from montechain._messages import check_choice, check_names, check_positive_integer, explained_input, nearest
from montechain._rows import row_blocks

WIDE = 1000
"""Maximum number of 0/1 columns in a dense result."""
OUTLIERS = 0.001
"""Maximum share of a column's numbers to clip on each side; so none in a table of fewer than a thousand rows."""
MAX_TEXT_FEATURES = 1000
"""Maximum number of words to keep for each text column, the most frequent first."""

ROWS_AT_ONCE = 4096
SAMPLE = 100_000
"""Maximum number of rows of a Dask collection to learn from."""


def quantile_limits(X: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the outermost quantiles of each column, beyond which lies at most this share of its values on each side.

    Where more than half of a column is one value, such as zero in a column of counts, the quantiles are those of the
    other values: rare values are not outliers.

    >>> quantile_limits(np.array([[20.0], [31.0], [44.0], [65526.0], [38.0]]), 0.25)
    (array([31.]), array([44.]))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about columns without a value
        # A value that fills more than half of a column is its median, which lies between the quantiles anyway.
        usual = np.nanmedian(X, axis=0)
        is_usual = usual == X
        mostly_usual = 2 * is_usual.sum(axis=0) > (~np.isnan(X)).sum(axis=0)
        others = np.where(is_usual & mostly_usual, np.nan, X)
        low, high = (np.nanquantile(side, share, axis=0, method="lower") for side in (others, -others))
    return np.fmin(low, usual), np.fmax(-high, usual)


@dataclass(eq=False, repr=False)
class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table with numbers, words, dates, text and missing cells into a matrix of numbers.

    - Numbers: clip outliers (at most one in a thousand on each side), fill missing values with the median, standardise.
      All three are learned from the training rows. A constant column becomes zero. Where nearly all cells are numbers
      or dates, stray words count as missing.
    - Dates: days since 1970-01-01, and the position in the year, month, week and day as points on circles, each only
      if it varies. Durations: days.
    - Words, categoricals and booleans: a 0/1 column for each category, those of a categorical whether they occur or
      not. Two categories make one column, which marks the rarer one. A missing cell or a category that did not occur
      at `fit` is zero in all columns.
    - Columns with more than `max_categories` different words: a 0/1 column for each of the commonest, and up to 30 that
      describe the spelling (character n-grams, reduced by singular value decomposition).
    - Text columns, which you name in `text`: TF-IDF of their thousand most frequent words.
    - Identifiers are left out with a note: columns of words with hardly any value twice, and row numbers.

    Columns of a data frame are matched by name at `transform`: their order does not matter, and there may be others.
    From a Dask array or data frame, `fit` learns in one pass from up to 100,000 rows drawn at random, as a note says;
    `transform` returns a Dask array.

    Parameters
    ----------
    missing : {None, "impute", "keep"}, default=None
        Whether to fill missing numbers, or to leave them as NaN for classifiers that accept it. With "keep", a missing
        cell of a nominal column with two categories is NaN as well. None: fill them, unless the classifier of a
        `TableClassifier` accepts NaN.
    text : str or sequence of str, default=()
        Names of columns that hold running text; positions if the columns have no names.
    drop : str or sequence of str, default=()
        Names of columns to leave out; positions if the columns have no names.
    max_categories : int, default=100
        Maximum number of 0/1 columns for each column of words.

    Attributes
    ----------
    columns_ : list of Column
        What each column holds: its name, its kind, its categories.
    notes_ : list of str
        What you should know about the table: columns that are left out, stray words, ambiguous dates.
    limits_, pipeline_ : tuple of two arrays, Pipeline
        The numbers are clipped to these limits, and the pipeline does the rest.
    is_sparse_ : bool
        Whether the result is a CSR container: with text, and with more than a thousand 0/1 columns. Otherwise it is an
        array of float64.
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
    >>> encoder = TableEncoder().fit(bridges)
    >>> encoder.get_feature_names_out().tolist()
    ['length', 'clear_N', 'river_A', 'river_M', 'river_O']
    >>> encoder.transform(bridges).round(1)
    array([[-1.4,  0. ,  1. ,  0. ,  0. ],
           [ 0. ,  0. ,  0. ,  1. ,  0. ],
           [ 1.4,  0. ,  0. ,  0. ,  1. ],
           [ 0. ,  1. ,  1. ,  0. ,  0. ]])
    """

    missing: str | None = None
    text: str | Sequence[Any] = ()
    drop: str | Sequence[Any] = ()
    max_categories: int = 100

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find out what the columns of a table hold, and learn how to turn them into numbers. `y` is ignored."""
        rows, n_rows = draw_rows(X, SAMPLE) if is_lazy(X) else (X, 0)
        self._learn(rows)
        if n_rows and len(rows) < n_rows:
            self.notes_.insert(0, f"the encoding was learned from {len(rows):,} of {n_rows:,} rows, drawn at random.")
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from the table and return it as numbers, with less work than `fit` and `transform`."""
        return self.fit(X).transform(X) if is_lazy(X) else self._learn(X)

    def transform(self, X: Any) -> Any:
        """Return the table as numbers: a float64 array, or a CSR container if `is_sparse_`."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazy_answer(self, "transform", X)
        return self._encode(self._read(X, reset=False), "transform")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result: ``length``, ``river_A``, ``remarks_word``."""
        check_is_fitted(self)
        inputs = check_feature_names_in(self, input_features)
        names: dict[str, None] = {}
        for column in self._used:
            for name in column.outputs(inputs[column.place]):
                while name in names:  # a category's column may be named like another input
                    name += "_2"
                names[name] = None
        return np.array(list(names), dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        for name in ("allow_nan", "string", "categorical"):
            setattr(tags.input_tags, name, True)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _read(self, X: Any, *, reset: bool) -> dict[int, pd.Series]:
        """Return the columns that are needed, by their places."""
        if reset:
            self._named = is_frame(X)
        if is_frame(X):
            return self._read_frame(X, reset)
        if isinstance(X, list | tuple) and any(isinstance(row, dict) for row in X):
            raise TypeError("`X` is a list of dictionaries: use pandas.DataFrame(X).")
        if isinstance(X, list | tuple):  # numpy would make strings of all numbers if there is one string
            X = np.array(X, dtype=object)
        with explained_input():
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return {place: as_series(cells) for place, cells in enumerate(X.T)}

    def _read_frame(self, X: Any, reset: bool) -> dict[int, pd.Series]:
        names, shape = column_names(X), tuple(X.shape)
        if 0 in shape:
            empty = "0 sample(s)" if names else "0 feature(s)"
            raise ValueError(f"Found {empty}: `X` has shape {shape}, a minimum of 1 is required.")
        by_name = self._named and not reset
        wanted = {c.place: c.name for c in self._used} if by_name else dict(enumerate(names))
        for name in wanted.values():
            if names.count(name) > 1:
                raise ValueError(f"`X` has more than one column named {name!r}: give them different names.")
        if not by_name:
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif absent := [name for name in wanted.values() if name not in names]:
            more = f", ... ({len(absent)} in all)" if len(absent) > 10 else ""
            hint = nearest(str(absent[0]), [str(name) for name in names if name not in wanted.values()]) or "."
            raise ValueError(
                f"`X` lacks columns that the encoder was fitted with: {str(absent[:10])[1:-1]}{more}{hint}"
            )
        return dict(zip(wanted, as_pandas(X, list(wanted.values())), strict=True))

    def _learn(self, X: Any) -> Any:
        """Learn what the columns hold, and return the table as numbers."""
        if self.missing is not None:
            check_choice(self, "missing", ("impute", "keep"))
        check_positive_integer(self, "max_categories", 100)
        table = self._read(X, reset=True)
        names = column_names(X) if self._named else list(range(self.n_features_in_))
        text, dropped = (check_names(self, parameter, names, "X") for parameter in ("text", "drop"))
        if both := [name for name in text if name in dropped]:
            raise ValueError(f"{both[0]!r} is in `text` and in `drop`: name it in one of them.")
        self.notes_: list[str] = []
        self.columns_ = [
            Column(name, j, "dropped") if name in dropped else self._learn_column(name, j, table[j], name in text)
            for j, name in enumerate(names)
        ]
        used = self._used
        if not used:
            raise ValueError("no column of `X` is left to learn from: all are dropped or without a value.")
        n_marks = sum(len(column.categories) for column in used if column.block != _columns.BINARY)
        self.is_sparse_ = n_marks > WIDE or any(column.kind == "text" for column in used)
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        self.pipeline_ = make_pipeline(*([] if self.missing == "keep" else [imputer]), StandardScaler())
        return self._encode(table, "fit_transform")

    @property
    def _used(self) -> list[Column]:
        """The columns that are used, block by block."""
        used = [column for column in self.columns_ if column.kind not in ("dropped", "identifier", "empty")]
        return sorted(used, key=lambda column: column.block)

    def _learn_column(self, name: Any, place: int, cells: pd.Series, is_text: bool) -> Column:
        column = _columns.learn_kind(cells, name, place)
        if column.kind == "empty":
            return self._left_out(column, "empty", "has no value")
        if is_text:
            codes, texts = _columns.to_words(cells)
            vectorizer = TfidfVectorizer(max_features=MAX_TEXT_FEATURES)
            if not any(map(vectorizer.build_analyzer(), texts)):
                return self._left_out(column, "empty", "has no word of two letters or more")
            return Column(name, place, "text", vectorizer=vectorizer.fit(np.array([*texts, ""], dtype=object)[codes]))
        if column.repaired:
            held = [(f"row {row}", cells.iloc[row]) for row in np.flatnonzero(column.read(cells)[1]).tolist()]
            self.notes_.append(_columns.describe_strays(name, held, int(cells.notna().sum()), column.kind))
        if column.format.startswith("%m") and len(_columns.date_formats(cells.dropna())) > 1:
            self.notes_.append(
                f"column {name!r} holds dates that are read month first, but the day might come first: if so, convert "
                "it with pandas.to_datetime(..., dayfirst=True)."
            )
        if self._named and (why := _columns.identifier(column, cells)):
            return self._left_out(column, "identifier", f"looks like an identifier ({why})")
        if column.kind != "nominal":
            return column
        column = _columns.learn_categories(column, cells, self.max_categories)
        self.notes_ += _columns.doubts(column, cells)
        return column

    def _left_out(self, column: Column, kind: str, why: str) -> Column:
        self.notes_.append(f"column {column.name!r} {why} and is left out.")
        return replace(column, kind=kind)

    def _encode(self, table: Any, method: str) -> Any:
        """Return the table as numbers, those of its numeric columns by this method of the pipeline."""
        blocks: list[Any] = [
            column.encode(table[column.place], keep_missing=self.missing == "keep") for column in self._used
        ]
        n_numeric = sum(column.block == _columns.NUMBERS for column in self._used)
        if n_numeric:
            numbers = np.hstack(blocks[:n_numeric])
            if method == "fit_transform":
                self.limits_ = quantile_limits(numbers, OUTLIERS)
            with config_context(transform_output="default"):  # an intermediate result, whatever the user's setting
                blocks[:n_numeric] = [getattr(self.pipeline_, method)(np.clip(numbers, *self.limits_))]
        if self.is_sparse_:
            return sp.hstack(list(map(sp.csr_array, blocks)), format="csr")
        whole = np.empty((blocks[0].shape[0], sum(block.shape[1] for block in blocks)))
        for rows in row_blocks(len(whole), ROWS_AT_ONCE):  # few enough for a cache
            parts = [block[rows].toarray() if sp.issparse(block) else block[rows] for block in blocks]
            np.concatenate(parts, axis=1, out=whole[rows])
        return whole
