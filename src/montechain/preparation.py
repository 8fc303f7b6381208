"""From a table as people have it to numbers: `TableEncoder`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any

import narwhals as nw
import numpy as np
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
    Column,
    as_cells,
    as_days,
    as_numbers,
    as_words,
    codes_in,
    commonest,
    declared_categories,
    factors,
    is_missing,
    kind_of,
)
from montechain._frames import is_frame
from montechain._messages import check_positive_integer, nearest
from montechain._quantile_clip import QuantileClip

__all__ = ["TableEncoder"]

WIDE = 1000
"""With more columns of nominal inputs than this the result is sparse."""
MANY_VALUES = 50
"""A nominal column with more values than this, most of them different, is likely an identifier or a text."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table as people have it into numbers.

    - Numbers: outliers are clipped, what is missing is filled by the median, and the column is standardised. All
      three are learned from the training rows. A constant column becomes zero.
    - Dates: days since 1970-01-01, then as numbers. Durations and times of day: days.
    - Nominal columns (texts, categoricals, truth values): a 0/1 column for each category. A categorical's
      declared categories count, whether they occur or not. Two categories make one column, which marks the rarer
      one. A missing cell, or a category that was not there at `fit`, is zero in all columns: as
      "none of these" among three and more categories, as the commoner one of two.
    - Text columns, those named in `text`: TF-IDF of their words.

    A data frame's columns are found by name at `transform`: their order does not matter, and others may
    stand beside them. Arrays of numbers are taken as tables of numbers. Sparse containers are passed on as they
    are, but for their missing values.

    Parameters
    ----------
    missing : {"impute", "keep"}, default="impute"
        Whether missing numbers are filled, or left as NaN for classifiers that take it. With "keep", what is missing
        in a nominal column of two categories is NaN, too.
    scale : {"standard", None}, default="standard"
        Whether numbers are brought to mean zero and variance one.
    clip : float or None, default=0.001
        At most this share of a column's numbers is moved to the outermost quantiles on each side, so a table of
        less than 1/`clip` rows is left as it is. Where more than half of a column is one value, the quantiles are
        those of its other values: in a column that is mostly zero the rest is no outlier. None: no clipping.
    text : str or sequence of str, default=()
        Names of columns that hold running text; places, as whole numbers, if the columns have no names.
    drop : str or sequence of str, default=()
        Names of columns to leave out, such as identifiers; places if the columns have no names.
    max_text_features : int, default=1000
        The most frequent words of each text column that are kept.

    Attributes
    ----------
    columns_ : list of Column
        What each column was taken for: its name, its kind, its categories.
    notes_ : list of str
        What a person should know: columns without a value, which are left out, and columns that look
        like identifiers.
    transformer_ : ColumnTransformer, or SimpleImputer for sparse containers
        What turns the columns into numbers.
    is_sparse_ : bool
        Whether the result is a CSR container: with text, with more than a thousand columns of nominal inputs, and
        for sparse containers. Else it is an array of float64.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X is a data frame with names that are strings.

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
    ):
        self.missing = missing
        self.scale = scale
        self.clip = clip
        self.text = text
        self.drop = drop
        self.max_text_features = max_text_features

    # -- the public face ----------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn what the columns are, and how to make numbers of them.

        Parameters
        ----------
        X : data frame, array or sparse container of shape (n, n_features)
        y : ignored
        """
        self._check_parameters()
        names, table = self._read(X, reset=True)
        text, dropped = self._chosen("text", names), self._chosen("drop", names)
        both = [name for name in text if name in dropped]
        if both:
            raise ValueError(f"{both[0]!r} is in `text` and in `drop`: name it in one of them.")
        if sp.issparse(table):
            return self._fit_sparse(table, names, text, dropped)
        self.notes_: list[str] = []
        self.columns_ = [
            Column(name, j, "dropped") if name in dropped else self._learn_column(name, j, cells, name in text)
            for j, (name, cells) in enumerate(zip(names, table, strict=True))
        ]
        used = self._used
        if not used:
            raise ValueError("no column of `X` is left to learn from: all are dropped or without a value.")
        n_indicators = sum(
            len(column.categories) for column in used if column.kind == "nominal" and not column.is_binary
        )
        self.is_sparse_ = any(column.kind == "text" for column in used) or n_indicators > WIDE
        prepared = self._frame([table[column.place] for column in used])
        with config_context(transform_output="default"):  # whatever the user's setting, this is no output yet
            self.transformer_ = self._blocks(used).fit(prepared)
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
        names, table = self._read(X, reset=False)
        if isinstance(self.transformer_, SimpleImputer):
            result = self._transform_sparse(table)
        else:
            place = {name: j for j, name in enumerate(names)}
            cells = [table[place[column.name]] for column in self._used]
            with config_context(transform_output="default"):
                result = self.transformer_.transform(self._frame(cells))
            result = sp.csr_array(result) if sp.issparse(result) else result
        if sp.issparse(result) and _get_output_config("transform", self)["dense"] != "default":
            return result.toarray()  # scikit-learn makes no frames of sparse containers
        return result

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result: ``length``, ``river_A``, ``remarks_word``.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the inputs, if X had none; x0, x1, ... otherwise.
        """
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features)
        if isinstance(self.transformer_, SimpleImputer):
            return inputs[[column.place for column in self._used]]
        found: list[str] = []
        for block, transformer, columns in self.transformer_.transformers_:
            if block == "remainder":
                continue
            chosen = [self.columns_[int(place)] for place in ([columns] if isinstance(columns, str) else columns)]
            for column in chosen:
                name = inputs[column.place]
                if column.kind == "text":
                    found += [f"{name}_{term}" for term in transformer.get_feature_names_out()]
                elif column.is_binary:
                    other = [category for category in column.categories if category != column.reference]
                    found.append("_".join([name, *other]))
                elif column.kind == "nominal":
                    found += [f"{name}_{category}" for category in column.categories]
                else:
                    found.append(name)
        return np.array(_made_unique(found), dtype=object)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    # -- reading ------------------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool) -> tuple[list[Any], Any]:
        """Return names of the columns, and the columns themselves or a CSR container."""
        if reset:
            self._named = is_frame(X)
        if is_frame(X):
            return self._read_frame(X, reset)
        if sp.issparse(X):
            X = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
            )
            table: Any = X if reset or isinstance(self.transformer_, SimpleImputer) else list(X.toarray().T)
        else:
            if isinstance(X, list | tuple):  # numpy would make texts of all its numbers if there is one text
                X = np.array(X, dtype=object)
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
            table = [as_cells(column) for column in X.T]
        return self._places(X.shape[1], reset), table

    def _places(self, n_columns: int, reset: bool) -> list[Any]:
        """Return the names of columns that come without: their places, or those of the training data."""
        return list(range(n_columns)) if reset else [column.name for column in self.columns_]

    def _read_frame(self, X: Any, reset: bool) -> tuple[list[Any], list[Any]]:
        if X.shape[0] == 0:
            raise ValueError(
                f"Found array with 0 sample(s): `X` has shape {tuple(X.shape)}, a minimum of 1 is required."
            )
        frame = nw.from_native(X, eager_only=True) if not hasattr(X, "iloc") else None
        names: list[Any] = list(X.columns) if frame is None else frame.columns
        if reset:
            if not names:
                raise ValueError(f"0 feature(s): `X` has shape {tuple(X.shape)}, a minimum of 1 is required.")
            self.n_features_in_ = len(names)
            self.__dict__.pop("feature_names_in_", None)
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(names, dtype=object)
            wanted = names
        elif not self._named:
            validate_data(self, X, reset=False, skip_check_array=True)
            names = wanted = self._places(len(names), reset)
        else:
            wanted = [column.name for column in self._used]
            absent = [name for name in wanted if name not in names]
            if absent:
                shown = ", ".join(map(repr, absent[:10])) + (
                    f", ... ({len(absent)} in all)" if len(absent) > 10 else ""
                )
                hint = nearest(str(absent[0]), [str(name) for name in names if name not in wanted])
                raise ValueError(f"`X` lacks columns that the encoder was fitted with: {shown}{hint or '.'}")
        repeated = next((name for name in wanted if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(f"`X` has more than one column named {repeated!r}: give them different names.")
        needed = set(wanted)
        columns = [
            None if name not in needed else as_cells(X.iloc[:, j] if frame is None else frame[name].to_native())
            for j, name in enumerate(names)
        ]
        return names, columns

    def _chosen(self, parameter: str, names: list[Any]) -> list[Any]:
        """Return the columns that a parameter names."""
        given = getattr(self, parameter)
        chosen = [given] if isinstance(given, str | Integral) else list(given)
        for name in chosen:
            if name not in names:
                known = [str(column) for column in names]
                listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
                raise ValueError(
                    f"`{parameter}` names {name!r}, which is no column of `X`{nearest(str(name), known) or '.'} "
                    f"Its columns are {listed}."
                )
        return chosen

    # -- learning -----------------------------------------------------------------------------

    @property
    def _used(self) -> list[Column]:
        return [column for column in self.columns_ if column.kind not in ("dropped", "empty")]

    def _learn_column(self, name: Any, place: int, cells: Any, is_text: bool) -> Column:
        kind = "text" if is_text else kind_of(cells)
        column = Column(name, place, kind)
        if kind in ("number", "date"):
            values = self._values(column, cells)
            if np.isnan(values).all():
                return self._left_out(column, "has no value")
            return column
        codes, words = factors(cells)
        if not (codes >= 0).any():
            return self._left_out(column, "has no value")
        if is_text:
            analyse = self._vectorizer().build_analyzer()
            if not any(analyse(word) for word in words):
                return self._left_out(column, "has no word of two letters or more")
            return column
        categories = tuple(declared_categories(cells) or sorted(set(words)))
        n_known = int((codes >= 0).sum())
        if len(set(words)) > max(MANY_VALUES, n_known // 2):
            self.notes_.append(
                f"column {name!r} has {len(set(words))} different values in {n_known} rows: if it is an identifier, "
                f"leave it out with drop=[{name!r}]; if it is text, say text=[{name!r}]."
            )
        column = Column(name, place, kind, categories)
        if len(categories) <= 2:
            reference = commonest(codes_in(cells, column), categories)
            column = Column(name, place, kind, categories, reference)
        return column

    def _left_out(self, column: Column, why: str) -> Column:
        self.notes_.append(f"column {column.name!r} {why}: it is left out.")
        return Column(column.name, column.place, "empty")

    def _blocks(self, used: list[Column]) -> ColumnTransformer:
        """Return what makes numbers of a prepared frame, whose columns bear their places as names."""
        numbers = [str(column.place) for column in used if column.kind in ("number", "date")]
        binary = [str(column.place) for column in used if column.is_binary]
        nominal = [column for column in used if column.kind == "nominal" and not column.is_binary]
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
            ("binary", "passthrough", binary),
            ("nominal", one_hot, [str(column.place) for column in nominal]),
        ]
        blocks = [block for block in blocks if block[2]]
        blocks += [
            (f"text_{column.place}", self._vectorizer(), str(column.place)) for column in used if column.kind == "text"
        ]
        return ColumnTransformer(blocks, sparse_threshold=1.0 if self.is_sparse_ else 0.0)

    def _vectorizer(self) -> TfidfVectorizer:
        return TfidfVectorizer(max_features=self.max_text_features)

    def _frame(self, cells: list[Any]) -> Any:
        """Return the used columns as a pandas frame of numbers, codes and texts."""
        import pandas as pd

        return pd.DataFrame(
            {str(column.place): self._values(column, values) for column, values in zip(self._used, cells, strict=True)},
        )

    def _values(self, column: Column, cells: Any) -> np.ndarray:
        if column.kind == "number":
            return as_numbers(cells, column.label)
        if column.kind == "date":
            return as_days(cells, column.label)
        if column.kind == "text":
            words = as_words(cells)
            words[is_missing(words)] = ""
            return words
        codes = codes_in(cells, column)
        if not column.is_binary:
            return codes.astype(np.float64)
        marked = (codes >= 0) & (codes != column.categories.index(str(column.reference)))
        return np.where(codes == -1, np.nan, marked) if self.missing == "keep" else marked.astype(np.float64)

    def _fit_sparse(self, X: Any, names: list[Any], text: list[Any], dropped: list[Any]) -> TableEncoder:
        if text:
            raise ValueError(f"`text={self.text!r}`, but `X` is a sparse container of numbers: leave `text` out.")
        self.notes_ = []
        self.is_sparse_ = True
        self.columns_ = [Column(name, j, "dropped" if name in dropped else "number") for j, name in enumerate(names)]
        if not self._used:
            raise ValueError("no column of `X` is left to learn from: all are dropped.")
        imputer = SimpleImputer(strategy="median", keep_empty_features=True).set_output(transform="default")
        self.transformer_ = imputer.fit(self._without_dropped(X))
        return self

    def _transform_sparse(self, table: Any) -> Any:
        if not sp.issparse(table):
            columns = [as_numbers(cells, column.label) for cells, column in zip(table, self.columns_, strict=True)]
            table = sp.csr_array(np.column_stack(columns))
        table = self._without_dropped(table)
        if self.missing == "keep" or not np.isnan(table.data).any():
            return table
        return self.transformer_.transform(table)

    def _without_dropped(self, X: Any) -> Any:
        used = self._used
        return X if len(used) == X.shape[1] else X[:, [column.place for column in used]]

    def _check_parameters(self) -> None:
        for parameter, allowed in (("missing", ("impute", "keep")), ("scale", ("standard", None))):
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


def _made_unique(names: list[str]) -> list[str]:
    """Return the names, numbered where they recur: a category's column may be called as another input is.

    >>> _made_unique(["a_b", "c", "a_b"])
    ['a_b', 'c', 'a_b_2']
    """
    taken: set[str] = set()
    result = []
    for name in names:
        unique, n = name, 1
        while unique in taken:
            n += 1
            unique = f"{name}_{n}"
        taken.add(unique)
        result.append(unique)
    return result
