"""What the scikit-learn classes share: the user's tables in, the user's classes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain import metrics
from montechain._targets import TargetFormat, as_columns, decode, decode_frame, encode
from montechain.links.base import UNKNOWN
from montechain.links.design import is_frame

__all__ = ["TargetsClassifier", "concatenate", "map_chunks"]


class TargetsClassifier(ClassifierMixin, BaseEstimator):
    """Base class of classifiers that predict several targets at once.

    A subclass has the parameters `unknown` and `random_state`.
    """

    unknown: Any
    random_state: Any

    # -- inputs -------------------------------------------------------------------------------

    def _check_X(self, X: Any, *, reset: bool, keep_frames: bool = False, allow_nan: bool = False) -> Any:
        """Return X as an array or CSR container, or as the frame it is where columns keep their meaning."""
        if keep_frames and is_frame(X):
            if X.shape[0] == 0:
                raise ValueError(f"`X` has 0 rows (shape {tuple(X.shape)}): at least 1 is needed.")
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric" if keep_frames else [np.float64, np.float32],
            ensure_all_finite="allow-nan" if allow_nan else True,
        )

    def _learn_classes(self, y: Any, n_rows: int) -> np.ndarray:
        """Set `classes_` from y and return its codes."""
        table = as_columns(y, unknown=self.unknown, name="y")
        self._check_rows(table.shape[0], n_rows, "y")
        codes, classes = encode(table)
        self._target_format = table.format
        self.classes_ = classes[0] if table.is_1d else classes
        return codes

    def _encode(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the codes of complete or partly unknown label vectors."""
        table = as_columns(y, unknown=self.unknown, name="y")
        self._check_rows(table.shape[0], n_rows, "y")
        return encode(table, self._classes)[0]

    def _encode_given(self, given: Any, n_rows: int) -> np.ndarray | None:
        """Return the codes of what is known beforehand, `UNKNOWN` elsewhere; None if nothing is.

        A data frame may hold some of the targets only, in any order: its columns are matched by name.
        """
        if given is None:
            return None
        table = as_columns(given, unknown=self.unknown, name="given")
        self._check_rows(table.shape[0], n_rows, "given")
        names = self._target_format.names
        columns = list(range(len(self._classes)))
        if table.is_frame and names is not None:
            strange = [name for name in table.names or () if name not in names]
            if strange:
                raise ValueError(f"`given` has a column {strange[0]!r}, which is no target: the targets are {names}.")
            columns = [names.index(name) for name in table.names or ()]
        elif table.shape[1] != len(columns):
            raise ValueError(
                f"`given` has {table.shape[1]} columns for {len(columns)} labels: give one column per label, "
                "with NaN or None where nothing is known."
            )
        known = np.full((n_rows, len(self._classes)), UNKNOWN, dtype=np.int32)
        known[:, columns] = encode(table, [self._classes[j] for j in columns])[0]
        return known if (known != UNKNOWN).any() else None

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
        """Return codes (one column per label) in the user's classes, as a frame if y was one."""
        layout: TargetFormat = self._target_format
        if not layout.is_frame:
            return decode(codes, self._classes, layout)
        index = X.index if layout.namespace == "pandas" and hasattr(X, "iloc") else None
        return decode_frame(codes, self._classes, layout.names or (), layout.namespace, index, layout.dtypes)

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
        self._check_rows(as_columns(y, unknown=self.unknown, name="y").shape[0], X.shape[0], "y")
        return metrics.exact_match(y, self.predict(X), unknown=self.unknown, sample_weight=sample_weight)

    def __sklearn_tags__(self):
        """Return scikit-learn's description of what this takes and gives."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


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
