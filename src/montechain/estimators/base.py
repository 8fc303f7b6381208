"""What the scikit-learn classes share: the user's tables in, the user's classes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain import metrics
from montechain._frames import is_frame
from montechain._targets import TargetTable, as_columns, encode
from montechain.estimators.display import DisplayMixin
from montechain.estimators.output import FramesMixin
from montechain.estimators.state import StateMixin
from montechain.links.base import UNKNOWN

__all__ = ["TargetsClassifier", "concatenate", "map_chunks"]


class TargetsClassifier(DisplayMixin, FramesMixin, StateMixin, ClassifierMixin, BaseEstimator):
    """Base class of classifiers that predict several targets at once.

    A subclass has the parameters `unknown` and `random_state`.
    """

    unknown: Any
    random_state: Any

    @contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Keep what was learned before if a new fit fails half-way: classes and chains must belong together."""

        def learned() -> dict[str, Any]:
            return {name: value for name, value in vars(self).items() if name.endswith("_") or name == "_target_format"}

        before = learned()
        try:
            yield
        except BaseException:
            for name in learned():
                delattr(self, name)
            self.__dict__.update(before)
            raise

    # -- inputs -------------------------------------------------------------------------------

    def _check_X(self, X: Any, *, reset: bool, keep_frames: bool = False, allow_nan: bool = False) -> Any:
        """Return X as an array or CSR container, or as the frame it is where columns keep their meaning."""
        if keep_frames and is_frame(X):
            if X.shape[0] == 0:
                raise ValueError(f"`X` has 0 rows (shape {tuple(X.shape)}): at least 1 is needed.")
            return validate_data(self, X, reset=reset, skip_check_array=True)
        try:
            return validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype="numeric" if keep_frames else [np.float64, np.float32],
                ensure_all_finite="allow-nan" if allow_nan else True,
            )
        except ValueError as error:
            raise ValueError(f"{error}{_advice(X, str(error))}") from error

    def _learn_classes(self, y: Any, n_rows: int) -> np.ndarray:
        """Set `classes_` from y and return its codes."""
        table = as_columns(y, unknown=self.unknown, name="y")
        self._check_rows(table.shape[0], n_rows, "y")
        codes, classes = encode(table)
        self._target_format = table.format
        if table.names is not None:
            self.target_names_ = list(table.names)
        else:
            self.__dict__.pop("target_names_", None)
        self.classes_ = classes[0] if table.is_1d else classes
        return codes

    def _encode(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the codes of complete or partly unknown label vectors."""
        table = as_columns(y, unknown=self.unknown, name="y")
        self._check_rows(table.shape[0], n_rows, "y")
        columns = self._match_columns(table)
        if len(columns) != len(self._classes):
            raise ValueError(f"y has {len(columns)} columns for {len(self._classes)} labels: give one for each.")
        codes = np.empty((n_rows, len(columns)), dtype=np.int32)
        codes[:, columns] = encode(table, [self._classes[j] for j in columns])[0]
        return codes

    def _encode_given(self, given: Any, n_rows: int) -> np.ndarray | None:
        """Return the codes of what is known beforehand, `UNKNOWN` elsewhere; None if nothing is.

        A data frame may hold some of the targets only, in any order: its columns are matched by name.
        """
        if given is None:
            return None
        names = self._target_format.names
        if names is not None and is_frame(given):
            # Before their values are looked at: other columns need not hold classes at all.
            self._refuse_other_names(list(given.columns), names, "given")
        table = as_columns(given, unknown=self.unknown, name="given")
        self._check_rows(table.shape[0], n_rows, "given")
        columns = self._match_columns(table)
        by_name = table.is_frame and self._target_format.names is not None
        if not by_name and len(columns) != len(self._classes):
            raise ValueError(
                f"`given` has {len(columns)} columns for {len(self._classes)} labels: give one column per label, "
                "with NaN or None where nothing is known."
            )
        known = np.full((n_rows, len(self._classes)), UNKNOWN, dtype=np.int32)
        known[:, columns] = encode(table, [self._classes[j] for j in columns])[0]
        return known if (known != UNKNOWN).any() else None

    def _match_columns(self, table: TargetTable) -> list[int]:
        """Return the target that each column stands for: by name if both are data frames, else by place."""
        names = self._target_format.names
        if not table.is_frame or names is None or table.names == names:
            return list(range(table.shape[1]))
        own = table.names or []
        self._refuse_other_names(own, names, table.name)
        repeated = [name for name in own if own.count(name) > 1 or names.count(name) > 1]
        if repeated:
            raise ValueError(
                f"`{table.name}` has a column {repeated[0]!r}, but more than one column bears this name. Give all "
                "targets in the order of the training data, or different names."
            )
        return [names.index(name) for name in own]

    @staticmethod
    def _refuse_other_names(own: Sequence[Any], names: Sequence[Any], what: str) -> None:
        strange = [name for name in own if name not in names]
        if strange:
            raise ValueError(
                f"`{what}` has a column {strange[0]!r}, which is no target: the targets are {list(names)}."
            )

    @staticmethod
    def _check_rows(n_given: int, n_rows: int, name: str) -> None:
        if n_given != n_rows:
            raise ValueError(f"`X` has {n_rows} rows but `{name}` has {n_given}: they must be as many.")

    # -- outputs ------------------------------------------------------------------------------

    @property
    def _classes(self) -> list[np.ndarray]:
        """The classes of each label, a list for one label too."""
        return self.classes_ if isinstance(self.classes_, list) else [self.classes_]

    def _decode(self, codes: np.ndarray, X: Any) -> Any:
        """Return codes (one column per label) in the user's classes, as a frame if y was one or one was asked for."""
        return self._in_container(codes, self._classes, self._target_format, X)

    def _seed(self) -> int:
        # The common cases need no Mersenne twister, whose making takes longer than many a prediction.
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def predict(self, X: Any, *, given: Any = None) -> Any:
        """Predict; see the subclasses."""
        raise NotImplementedError  # abstract

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the exact match: the share of rows in which every known label is predicted right.

        Parameters
        ----------
        X : array, sparse container or data frame of shape (n, n_features)
        y : array, sparse container or data frame of shape (n, L)
        sample_weight : array of shape (n,), optional
        """
        check_is_fitted(self)
        n_given, predicted = as_columns(y, unknown=self.unknown, name="y").shape[0], self.predict(X)
        self._check_rows(n_given, len(predicted), "y")
        return metrics.exact_match(y, predicted, unknown=self.unknown, sample_weight=sample_weight)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


def _advice(X: Any, message: str) -> str:
    """Return what to type instead where X has text in it or lacks values."""
    if "NaN" in message:
        return (
            "\nFill the missing values of `X` first, as TableClassifier(ChainClassifier()) does, or use an estimator "
            "that takes them, such as ChainClassifier(HistGradientBoostingClassifier())."
        )
    if "could not convert string" not in message:
        return ""
    which = ""
    if is_frame(X):
        schema = nw.from_native(X, eager_only=True).schema
        which = f" (columns {[name for name, dtype in schema.items() if not dtype.is_numeric()]})"
    return (
        f"\n`X` holds text{which}. TableClassifier(ChainClassifier()) takes such tables. Or encode it in the links, "
        "for example ChainClassifier(make_pipeline(make_column_transformer(("
        'OneHotEncoder(handle_unknown="ignore"), [...]), remainder="passthrough"), LogisticRegression())).'
    )


def map_chunks(
    function: Callable[[Any, np.ndarray | None, int], Any],
    X: Any,
    given: np.ndarray | None,
    *,
    n_rows_each: int,
    n_jobs: int | None,
) -> list[Any]:
    """Return ``function(rows of X, rows of given, first row)`` for consecutive chunks of rows.

    The chunks bound the memory; threads work on several of them at a time. The chunks are the same
    for any number of jobs, and so are the results.
    """
    n_rows = X.shape[0]
    if n_rows <= n_rows_each:
        return [function(X, given, 0)]
    starts = range(0, n_rows, n_rows_each)

    def piece(start: int) -> Any:
        rows = slice(start, start + n_rows_each)
        return function(X.iloc[rows] if hasattr(X, "iloc") else X[rows], None if given is None else given[rows], start)

    if effective_n_jobs(n_jobs) == 1:
        return [piece(start) for start in starts]
    return Parallel(n_jobs=n_jobs, prefer="threads")(delayed(piece)(start) for start in starts)


def concatenate(parts: Sequence[Any]) -> Any:
    """Join results of the same kind, arrays or dataclasses of arrays, along their rows."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if isinstance(first, list):
        return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return type(first)(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(first)))
