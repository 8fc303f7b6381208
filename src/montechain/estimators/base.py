"""What the scikit-learn classes share: the user's tables in, the user's classes out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from numbers import Integral
from operator import is_
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain import metrics
from montechain._frames import is_frame
from montechain._targets import Decoder, TargetTable, as_columns, encode
from montechain._threads import count_threads, one_blas_thread, run_in_threads
from montechain.estimators.display import DisplayMixin
from montechain.estimators.output import FramesMixin
from montechain.estimators.state import StateMixin
from montechain.links.base import UNKNOWN

__all__ = ["TargetsClassifier", "is_finite", "map_chunks", "remembered"]

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


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
        if not reset and self._is_plain(X) and is_finite(X):
            return X
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
            # scikit-learn's own advice on NaN is long, and does not know TableClassifier.
            found = str(error).split("\n")[0] if "contains NaN" in str(error) else str(error)
            raise ValueError(f"{found}{_advice(X, found)}") from error

    def _is_plain(self, X: Any) -> bool:
        """Return whether there is nothing to check about X but its cells: a matrix of as many floats as in training.

        scikit-learn's checks take longer than many a prediction; they are left to inputs that need them.
        """
        return (
            type(X) is np.ndarray
            and X.dtype in FLOATS
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and "feature_names_in_" not in vars(self)
        )

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
        layout = self._target_format
        if self._is_array(layout):
            return self._decoder(codes, is_1d=layout.is_1d)
        return self._in_frame(codes, self._classes, layout, X)

    @property
    def _decoder(self) -> Decoder:
        return remembered(self, "decoder", self._classes, Decoder)

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
            " Use TableClassifier(ChainClassifier()), which fills in missing values, or links that accept them, such "
            "as ChainClassifier(HistGradientBoostingClassifier())."
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


def is_finite(X: np.ndarray) -> bool:
    """Return whether all cells of an array of floats are finite; now and then False though they are, if some are huge.

    >>> is_finite(np.array([[1.0, np.nan]])), is_finite(np.ones((2, 2)))
    (False, True)
    """
    # One pass without a mask: a sum is finite only if all of its terms are, and so is one of squares.
    with np.errstate(over="ignore", invalid="ignore"):
        if X.flags.c_contiguous:
            cells = X.reshape(-1)
            return math.isfinite(cells.dot(cells))
        return math.isfinite(np.add.reduce(X, axis=None))


_MEMORY: WeakKeyDictionary[Any, dict[str, tuple[list[Any], Any]]] = WeakKeyDictionary()
"""What was made from an object's attributes. Not an attribute itself, so that it is neither saved nor compared."""


def remembered(owner: Any, name: str, sources: Sequence[Any], make: Callable[[list[Any]], Any]) -> Any:
    """Return ``make(sources)``, made anew only when one of the sources is another object than the last time."""
    own = _MEMORY.get(owner)
    if own is None:
        own = _MEMORY[owner] = {}
    entry = own.get(name)
    if entry is None or len(entry[0]) != len(sources) or not all(map(is_, entry[0], sources)):
        kept = list(sources)
        entry = own[name] = (kept, make(kept))
    return entry[1]


def map_chunks(
    function: Callable[[Any, np.ndarray | None, int], Any],
    X: Any,
    given: np.ndarray | None,
    *,
    n_rows_each: int,
    n_jobs: int | None,
    in_kernels: bool,
) -> Any:
    """Return ``function(rows of X, rows of given, first row)`` for consecutive chunks of rows, joined along the rows.

    The chunks bound the memory; threads work on several of them at a time. The chunks are the same for any number of
    jobs, and so are the results: BLAS, which rounds differently with more threads, has one thread in each.

    Parameters
    ----------
    function : callable
        Returns an array, a list of arrays or a dataclass of arrays, always of the same kind.
    X : array, CSR container or data frame of n rows
    given : ndarray of n rows, or None
    n_rows_each : int
    n_jobs : int or None
    in_kernels : bool
        Whether `function` leaves the interpreter for most of its time. Otherwise joblib sees to it that classifiers
        with threads of their own use fewer of them.
    """
    n_rows = X.shape[0]
    if n_rows <= n_rows_each:
        return function(X, given, 0)
    joined = _Joined(n_rows)

    def piece(start: int) -> None:
        rows = slice(start, start + n_rows_each)
        part = some_rows(X, rows)
        joined.put(start, function(part, None if given is None else given[rows], start))

    starts = range(0, n_rows, n_rows_each)
    if in_kernels:
        with one_blas_thread():
            run_in_threads(piece, starts, n_jobs)
    elif count_threads(n_jobs) == 1:
        for start in starts:
            piece(start)
    else:
        Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(piece)(start) for start in starts)
    return joined.whole


def some_rows(X: Any, rows: slice) -> Any:
    """Return consecutive rows; those of a CSR container share its numbers: copies would keep other threads waiting."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if not sp.issparse(X) or X.format != "csr":
        return X[rows]
    indptr = X.indptr[rows.start : rows.stop + 1]
    own = slice(indptr[0], indptr[-1])
    part = type(X)((len(indptr) - 1, X.shape[1]), dtype=X.dtype)
    part.data, part.indices, part.indptr = X.data[own], X.indices[own], indptr - indptr[0]
    return part


class _Joined:
    """Results of chunks of rows, each put into its place when it is there."""

    def __init__(self, n_rows: int):
        self.n_rows = n_rows
        self.whole: Any = None
        self.lock = Lock()

    def put(self, start: int, part: Any) -> None:
        arrays = _arrays(part)
        with self.lock:
            if self.whole is None:
                room = [np.empty((self.n_rows, *array.shape[1:]), dtype=array.dtype) for array in arrays]
                if isinstance(part, np.ndarray):
                    self.whole = room[0]
                else:
                    self.whole = room if isinstance(part, list) else type(part)(*room)
        for array, whole in zip(arrays, _arrays(self.whole), strict=True):
            whole[start : start + len(array)] = array


def _arrays(result: Any) -> list[np.ndarray]:
    """Return the arrays of an array, a list of them, or a dataclass of them."""
    if isinstance(result, np.ndarray):
        return [result]
    return result if isinstance(result, list) else [getattr(result, field.name) for field in fields(result)]
