"""Inputs for a chain made by other classifiers, without leaks.

A chain that learns from the predictions of a classifier must not see predictions for rows that the classifier has
learned from: they look better than they are. `OutOfBagForestFeatures` asks for each training row only the trees grown
without it, `CrossFittedFeatures` only the classifier of the fold that leaves it out. New rows get the average of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from montechain._messages import (
    check_choice,
    check_positive_integer,
    check_seed,
    check_time_limit,
    explained_input,
    noted,
)
from montechain._rows import split_folds, take_rows
from montechain._threads import one_blas_thread, run_tasks
from montechain.label_forest import LabelForest, label_logits
from montechain.links.base import checked_proba
from montechain.seen_vectors import count_vectors
from montechain.targets import UNKNOWN, TargetCodec, named_labels

CLIP = 5.0
N_COUNTS = 300.0
"""Number of counts that probabilities are assumed to come from, for smoothing before taking logarithms."""

ROUNDS_AT_ONCE, PATIENCE = 20, 40
"""Rounds of boosting between two looks at the held-out rows, and rounds without progress after which a race ends."""
MOST_INPUTS, SMALL_LEAF = 64, 5
"""Number of inputs up to which boosting is tried without some of them; rows in the smaller leaves that are tried."""
LEAST_PROBABILITY = 1e-6


class ClippedScaler(StandardScaler):
    """Standardise columns, and move values beyond five standard deviations to that limit."""

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Return the scaled columns."""
        return np.clip(super().transform(X, copy=copy), -CLIP, CLIP)


class _LabelFeatures(TransformerMixin, BaseEstimator):
    """What the transformers share: checking X and encoding y."""

    random_state: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from X and from y, in which no label may be unknown."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Learn from X and y, and return features of the same rows that are distributed like those of new rows.

        These are log-odds for labels with two classes, and centred log-probabilities for others.
        """
        X = self._check_X(X, reset=True)
        self.codec_, codes = TargetCodec.fit_encode(y, n_rows=X.shape[0])
        if (codes == UNKNOWN).any():
            raise ValueError("y has unknown labels. Leave these rows out, or fill the labels in.")
        return self._learn(X, codes, sample_weight, check_seed(self.random_state))

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any, seed: int) -> np.ndarray:
        raise NotImplementedError  # abstract

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
        with explained_input():
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


@dataclass(eq=False, repr=False)
class OutOfBagForestFeatures(_LabelFeatures):
    """Turn x into a forest's log-odds of the labels; for training rows, from the trees grown without them.

    Half of the trees look for the best threshold, half draw it at random. All labels share the trees.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    split_on : {"labels", "vectors"}, default="labels"
        Whether splits make the labels purer on average, or whole label vectors.
    max_rows : int, default=None
        Maximum number of rows per tree. None: all rows.
    time_limit : float, default=None
        Seconds after which no more trees are grown, once there are sixteen.
    n_jobs : int, default=None
        Number of trees grown in parallel.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    forest_ : LabelForest
    vectors_ : int32 ndarray of shape (V, L)
        The label vectors seen in training, in codes.
    out_of_bag_ : CSR array of shape (n, V)
        The share of each label vector in the leaves of each training row, over the trees grown without it.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_samples=100, n_classes=3, random_state=0)
    >>> features = OutOfBagForestFeatures(20, random_state=0)
    >>> features.fit_transform(X, Y).shape, features.transform(X[:2]).shape
    ((100, 3), (2, 3))
    """

    n_estimators: int = 300
    _: KW_ONLY
    split_on: str = "labels"
    max_rows: int | None = None
    time_limit: float | None = None
    n_jobs: int | None = None
    random_state: Any = None

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any, seed: int) -> np.ndarray:
        check_choice(self, "split_on", ("labels", "vectors"))
        check_positive_integer(self, "n_estimators", 300)
        check_time_limit(self.time_limit)
        if self.max_rows is not None:
            check_positive_integer(self, "max_rows", 10_000)
        self.vectors_, numbers, _ = count_vectors(codes, None)
        self.forest_, self.out_of_bag_ = LabelForest.grow(
            X, codes, numbers, n_trees=self.n_estimators, split_on=self.split_on,
            max_rows=self.max_rows, time_limit=self.time_limit, weight=sample_weight, seed=seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        return self.of_shares(self.out_of_bag_)

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of new rows, from all trees."""
        return self.of_shares(self.forest_.shares(self._check_X(X, reset=False)))

    def of_shares(self, shares: sp.csr_array) -> np.ndarray:
        """Return features from the shares of the label vectors, of shape (n, V)."""
        proba = [
            np.asarray(shares @ (self.vectors_[:, j, None] == np.arange(k)).astype(np.float64))
            for j, k in enumerate(self.codec_.n_classes)
        ]
        # The same count for any number of trees: out-of-bag rows have a third of them, and must look like new ones.
        return label_logits(proba, N_COUNTS)


@dataclass(eq=False, repr=False)
class CrossFittedFeatures(_LabelFeatures):
    """Turn x into a classifier's log-odds of each label; for training rows, by classifiers fitted without them.

    Parameters
    ----------
    estimator : classifier with `predict_proba`, or list with one for each label
    columns : list of int arrays, default=None
        For each label, the columns of X that its classifier sees. None: all of them.
    cv : int or list of (training rows, other rows), default=4
        Number of folds, or the folds themselves; each row must be left out once.
    n_jobs : int, default=None
        Number of classifiers fitted in parallel.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    estimators_ : list of lists
        For each label, the classifier of each fold; a class number where only one class occurs.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = make_multilabel_classification(n_samples=100, n_classes=3, random_state=0)
    >>> features = CrossFittedFeatures(DecisionTreeClassifier(max_depth=2), random_state=0)
    >>> features.fit_transform(X, Y).shape, features.transform(X[:2]).shape
    ((100, 3), (2, 3))
    """

    estimator: Any
    _: KW_ONLY
    columns: Any = None
    cv: Any = 4
    n_jobs: int | None = None
    random_state: Any = None

    def _learn(self, X: Any, codes: np.ndarray, sample_weight: Any, seed: int) -> np.ndarray:
        n_rows, n_labels = codes.shape
        models = list(self.estimator) if isinstance(self.estimator, Sequence) else [self.estimator] * n_labels
        if len(models) != n_labels:
            raise ValueError(f"`estimator` lists {len(models)} classifiers for {n_labels} labels: give one each.")
        if not all(hasattr(model, "predict_proba") and not isinstance(model, type) for model in models):
            raise TypeError(
                f"`estimator={self.estimator!r}` of CrossFittedFeatures must be a classifier with `predict_proba`, or "
                "a list with one for each label, e.g. CrossFittedFeatures(LogisticRegression())."
            )
        if self.columns is not None and not (isinstance(self.columns, Sequence) and len(self.columns) == n_labels):
            raise ValueError(
                f"`columns={self.columns!r}` of CrossFittedFeatures must list the columns of X for each of the "
                f"{n_labels} labels, e.g. {[[0]] * n_labels}, or be None."
            )
        folds = split_folds(self, codes, seed)
        tasks = [(label, f, models[label], rows) for label in range(n_labels) for f, (rows, _) in enumerate(folds)]
        with one_blas_thread():  # boosting runs many short loops, in which OpenMP threads would mostly wait
            fitted = run_tasks(self._fit_one, tasks, self.n_jobs, X, codes, sample_weight)
        self.estimators_ = [fitted[j * len(folds) : (j + 1) * len(folds)] for j in range(n_labels)]
        proba = [np.zeros((n_rows, k)) for k in self.codec_.n_classes]
        for label, models in enumerate(self.estimators_):
            for fold, (model, (_, others)) in enumerate(zip(models, folds, strict=True)):
                with noted(f"It was in fold {fold}."):
                    proba[label][others] = self._proba(model, take_rows(X, others), label)
        return label_logits(proba, N_COUNTS)

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of new rows: the mean over the classifiers of all folds."""
        X = self._check_X(X, reset=False)
        by_fold = [
            label_logits([self._proba(model, X, j) for j, model in enumerate(models)], N_COUNTS)
            for models in zip(*self.estimators_, strict=True)
        ]
        return np.mean(by_fold, axis=0)

    def _proba(self, model: Any, X: Any, label: int) -> np.ndarray:
        """Return the probabilities of all classes of a label; those that the classifier has not seen get zero."""
        proba = np.zeros((X.shape[0], self.codec_.n_classes[label]))
        if isinstance(model, int):
            proba[:, model] = 1.0
        else:
            with one_blas_thread():
                found = model.predict_proba(self._inputs(X, label, model))
            proba[:, model.classes_] = checked_proba(found, model, self._name(label))
        return proba

    def _fit_one(self, task: tuple[Any, ...], X: Any, codes: np.ndarray, sample_weight: np.ndarray | None) -> Any:
        """Return a classifier of one label, fitted to the rows of a fold; the class if there is only one."""
        label, fold, model, train = task
        own = codes[train, label]
        if (own == own[0]).all():
            return int(own[0])
        options = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        inputs = self._inputs(take_rows(X, train), label, model)
        with noted(f"It was raised by the classifier of label {self._name(label)!r} in fold {fold}."):
            return clone(model).fit(inputs, own, **options)

    def _name(self, label: int) -> Any:
        return named_labels(self.codec_.names, label + 1)[label]

    def _inputs(self, X: Any, label: int, model: Any) -> Any:
        return acceptable(X if self.columns is None else X[:, self.columns[label]], model)


def acceptable(X: Any, model: Any) -> Any:
    """Return X, as an array if the classifier does not accept sparse containers."""
    return X.toarray() if sp.issparse(X) and not get_tags(model).input_tags.sparse else X


class BoostingRace:
    """Find the number of rounds, the inputs and the size of leaves with which boosting predicts a label best.

    Attributes
    ----------
    booster : HistGradientBoostingClassifier
        The best one found so far, not fitted.
    columns : int ndarray
        The inputs that it should see.
    log_proba : ndarray of shape (n,)
        Of the label in the rows held out of the `fold`.
    """

    def __init__(self, codes, X, fold, n_rounds, weight, seed):
        self.X, self.codes, self.n_rounds, self.seed = X, codes, n_rounds, seed
        self.train, self.rows = fold
        self.weight = None if weight is None else weight[self.train]
        self.booster, self.columns = self._booster(), np.arange(X.shape[1])
        self.fitted, self.log_proba = None, np.full(len(self.rows), -np.inf)
        self._try(self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without X, so that it is not copied between workers."""
        return {**self.__dict__, "X": None}

    def refine(self, X: np.ndarray) -> BoostingRace:
        """Try without the inputs that the held-out rows do not need, and with smaller leaves; return itself."""
        self.X = X
        n_columns = len(self.columns)
        if 1 < n_columns <= MOST_INPUTS and self.fitted is not None:
            plain = self._scored(self.fitted)
            is_needed = [is_clear(plain - self._scored(self.fitted, shuffled=j)) for j in range(n_columns)]
            if any(is_needed) and not all(is_needed):
                self._try(self.columns[is_needed])
        self._try(self.columns, min_samples_leaf=SMALL_LEAF)
        return self

    def _booster(self, **options: Any) -> Any:
        # Without a penalty, boosting diverges on rare classes.
        return HistGradientBoostingClassifier(
            l2_regularization=1.0, early_stopping=False, random_state=self.seed, **options
        )

    def _try(self, columns: np.ndarray, **options: Any) -> None:
        """Boost for as long as the held-out rows become more probable; keep the result if it is clearly the best."""
        codes, best, best_rounds = self.codes[self.train], np.full(len(self.rows), -np.inf), 0
        if (codes == codes[0]).all():
            self.log_proba = np.zeros(len(self.rows))
            return
        fitted = self._booster(warm_start=True, **options)
        X = self.X[np.ix_(self.train, columns)]
        for n_rounds in range(min(ROUNDS_AT_ONCE, self.n_rounds), self.n_rounds + 1, ROUNDS_AT_ONCE):
            fitted.set_params(max_iter=n_rounds).fit(X, codes, sample_weight=self.weight)
            log_proba = self._scored(fitted, columns)
            if log_proba.mean() > best.mean():
                best, best_rounds = log_proba, n_rounds
            elif n_rounds >= best_rounds + PATIENCE:
                break
        if self.fitted is None or is_clear(best - self.log_proba):
            self.booster, self.columns = self._booster(max_iter=best_rounds, **options), columns
            self.fitted, self.log_proba = fitted, best

    def _scored(self, model: Any, columns: np.ndarray | None = None, shuffled: int | None = None) -> np.ndarray:
        """Return the log-probabilities of the held-out rows, with the values of one input shuffled if wanted."""
        X = self.X[np.ix_(self.rows, self.columns if columns is None else columns)]
        if shuffled is not None:
            X[:, shuffled] = np.random.default_rng(shuffled).permutation(X[:, shuffled])
        is_own = self.codes[self.rows][:, None] == model.classes_
        return np.log(np.maximum((model.predict_proba(X) * is_own).sum(axis=1), LEAST_PROBABILITY))


def is_clear(gain: np.ndarray) -> bool:
    """Return whether the mean of a gain is larger than its standard error."""
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))
