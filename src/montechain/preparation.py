"""`TableEncoder`: turn a table with numbers, words, dates and missing cells into a matrix of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain import _columns
from montechain._columns import Column, as_series
from montechain._compat import check_feature_names_in, get_output_config
from montechain._frames import is_frame
from montechain._messages import check_choice, check_positive_integer, nearest
from montechain._transformers import QuantileClip, WordSpelling

__all__ = ["TableEncoder"]

WIDE = 1000
"""With more 0/1 columns than this the result is sparse."""
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

    Columns of a data frame are matched by name at `transform`: their order does not matter, and there may be others.
    Sparse containers are passed through, except for their missing values.

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
        """Find out what the columns of a table hold, and learn how to turn them into numbers. `y` is ignored."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from the table and return it as numbers, with less work than `fit` and `transform`."""
        return self._output(self._learn(X))

    def transform(self, X: Any) -> Any:
        """Return the table as numbers: a float64 array, or a CSR container if `is_sparse_`."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        if isinstance(self.transformer_, SimpleImputer):
            places = [column.place for column in self._used]
            return self._output(table[:, places] if sp.issparse(table) else sp.csr_array(self._frame(table)))
        with config_context(transform_output="default"):  # whatever the user's setting, this is not the output yet
            return self._output(self.transformer_.transform(self._frame(table)))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result: ``length``, ``river_A``, ``remarks_word``."""
        check_is_fitted(self)
        inputs = check_feature_names_in(self, input_features)
        used = [(inputs[column.place], column) for column in self._used]
        names = [name + suffix for name, column in used for suffix in column.suffixes]
        for name, column in used:
            if column.is_binary:
                names.append("_".join([name, *(c for c in column.categories if c != column.reference)]))
        names += [f"{name}_{category}" for name, c in used if not c.is_binary for category in c.categories]
        for name, column in used:
            if column.kind in ("words", "text"):
                outputs = self.transformer_.named_transformers_[f"{column.kind}_{column.place}"].get_feature_names_out()
                names += [f"{name}_{output}" for output in outputs]
        return np.array(_columns.made_unique(names), dtype=object)

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
            options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
            X = validate_data(self, X, reset=reset, **options)
            if reset or isinstance(self.transformer_, SimpleImputer):
                return X
            X = X.toarray()
        else:
            if isinstance(X, list | tuple):  # numpy would make strings of all numbers if there is one string
                X = np.array(X, dtype=object)
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        names = range(X.shape[1]) if reset else [column.name for column in self.columns_]
        return {name: as_series(cells, name) for name, cells in zip(names, X.T, strict=True)}

    def _read_frame(self, X: Any, reset: bool) -> dict[Any, Any]:
        if X.shape[0] == 0:
            raise ValueError(f"Found 0 sample(s): `X` has shape {tuple(X.shape)}, a minimum of 1 is required.")
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
        own = wanted if reset or self._named else [column.name for column in self.columns_]
        return {
            key: as_series(X.iloc[:, names.index(name)] if frame is None else frame[name].to_native(), name)
            for key, name in zip(own, wanted, strict=True)
        }

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

    def _learn(self, X: Any) -> Any:
        """Learn what the columns hold, and return the table as numbers."""
        self._check_parameters()
        table = self._read(X, reset=True)
        names = list(range(table.shape[1])) if sp.issparse(table) else list(table)
        text, dropped = self._chosen("text", names), self._chosen("drop", names)
        if both := [name for name in text if name in dropped]:
            raise ValueError(f"{both[0]!r} is in `text` and in `drop`: name it in one of them.")
        if sp.issparse(table) and text:
            raise ValueError(f"`text={self.text!r}`, but `X` is a sparse container of numbers: leave `text` out.")
        self.notes_: list[str] = []
        self.columns_ = [
            Column(name, j, "dropped")
            if name in dropped
            else Column(name, j, "number")
            if sp.issparse(table)
            else self._learn_column(name, j, table[name], name in text)
            for j, name in enumerate(names)
        ]
        used = self._used
        if not used:
            raise ValueError("no column of `X` is left to learn from: all are dropped or without a value.")
        wide = sum(len(column.categories) for column in used if not column.is_binary) > WIDE
        self.is_sparse_ = sp.issparse(table) or wide or any(column.kind == "text" for column in used)
        with config_context(transform_output="default"):
            if sp.issparse(table):
                table = table[:, [column.place for column in used]]
                self.transformer_: Any = SimpleImputer(strategy="median", keep_empty_features=True).fit(table)
                return table
            self.transformer_ = self._blocks()
            return self.transformer_.fit_transform(self._frame(table))

    def _output(self, result: Any) -> Any:
        """Return the result in its final container, missing cells of a sparse one filled."""
        if not sp.issparse(result):
            return result
        if isinstance(self.transformer_, SimpleImputer):
            if self.missing == "impute" and np.isnan(result.data).any():
                with config_context(transform_output="default"):
                    result = self.transformer_.transform(result)
        else:
            result = sp.csr_array(result)
        # scikit-learn makes no data frames of sparse containers.
        return result.toarray() if get_output_config("transform", self)["dense"] != "default" else result

    @property
    def _used(self) -> list[Column]:
        return [column for column in self.columns_ if column.kind not in ("dropped", "identifier", "empty")]

    def _learn_column(self, name: Any, place: int, cells: pd.Series, is_text: bool) -> Column:
        column = _columns.learn_kind(cells, name, place)
        if column.kind == "empty":
            return self._left_out(column, "empty", "has no value")
        if is_text:
            analyse = self._vectorizer().build_analyzer()
            if not any(analyse(word) for word in _columns.to_words(cells, name)[1]):
                return self._left_out(column, "empty", "has no word of two letters or more")
            return Column(name, place, "text")
        if column.repaired:
            if self.stray == "error":
                advice = 'Correct the table, or count words as missing with stray="missing".'
                raise ValueError(f"{_columns.describe_strays(column, cells)} {advice}")
            self.notes_.append(f"{_columns.describe_strays(column, cells)} The words count as missing.")
        if self._named and self.identifiers == "drop" and (why := _columns.identifier(column, cells)):
            return self._left_out(column, "identifier", f"looks like an identifier ({why})")
        if column.kind == "nominal":
            column = _columns.learn_categories(column, cells, self.max_categories)
        if column.kind == "words":
            self.notes_.append(
                f"column {name!r} has {cells.nunique()} different words: the {self.max_categories} commonest get a "
                "column each, and 30 columns describe how the words are spelled."
            )
        return column

    def _left_out(self, column: Column, kind: str, why: str) -> Column:
        self.notes_.append(f"column {column.name!r} {why} and is left out.")
        return replace(column, kind=kind)

    def _vectorizer(self) -> TfidfVectorizer:
        return TfidfVectorizer(max_features=self.max_text_features)

    def _blocks(self) -> ColumnTransformer:
        """Return what makes numbers of a prepared frame, in which columns are named by their positions."""
        used = self._used
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
        numbers = [f"{column.place}{suffix}" for column in used for suffix in column.suffixes]
        blocks: list[tuple[str, Any, Any]] = [
            ("numbers", make_pipeline(*steps) if steps else "passthrough", numbers),
            ("binary", "passthrough", [str(column.place) for column in used if column.is_binary]),
            ("nominal", one_hot, [str(column.place) for column in nominal]),
        ]
        for column in used:
            if column.kind in ("words", "text"):
                name = f"{column.kind}_{column.place}"
                blocks.append((name, WordSpelling() if column.kind == "words" else self._vectorizer(), name))
        blocks = [block for block in blocks if block[2]]
        return ColumnTransformer(blocks, sparse_threshold=1.0 if self.is_sparse_ else 0.0)

    def _frame(self, table: dict[Any, pd.Series]) -> pd.DataFrame:
        """Return the used columns as numbers, codes and strings."""
        options = {"keep_missing": self.missing == "keep", "tolerant": self.stray == "missing"}
        prepared = [column.prepare(table[column.name], **options) for column in self._used]
        return pd.DataFrame({name: values for columns in prepared for name, values in columns.items()})

    def _check_parameters(self) -> None:
        for parameter, allowed in CHOICES.items():
            check_choice(self, parameter, allowed)
        number = isinstance(self.clip, Real) and not isinstance(self.clip, bool)
        if self.clip is not None and not (number and 0 <= self.clip < 0.5):
            advice = "e.g. TableEncoder(clip=0.001), or None for no clipping"
            raise ValueError(f"`clip={self.clip!r}` of TableEncoder must be a share in [0, 0.5), {advice}.")
        check_positive_integer(self, "max_text_features", 1000)
        check_positive_integer(self, "max_categories", 100)
