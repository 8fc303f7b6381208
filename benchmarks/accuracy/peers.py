"""What people would use otherwise: independent models, chains, label powersets and ML-kNN, on scikit-learn.

LightGBM and CatBoost are included if they are installed.
Each peer gets inputs in the form that suits it, and answers for each loss as well as its probabilities allow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors

from benchmarks.accuracy.answers import Answers, Clock, from_product, from_seen_vectors
from benchmarks.accuracy.data import TABLES, UNKNOWN, Task
from benchmarks.accuracy.inputs import Inputs, encode

N_TREES = 300
TREE_BYTES = 5e8
"""Approximate maximum memory for the leaves of a batch of trees; each batch is used, then dropped."""
N_NEIGHBOURS = 10


class Base(NamedTuple):
    """A classifier for one label.

    Attributes
    ----------
    inputs : {"scaled", "one-hot", "native"}
    make : callable
        Takes the seed and, for native categories, which columns hold them.
    epsilon : float
        Weight of the class frequencies that its probabilities are mixed with, so that none is zero.
    """

    inputs: str
    make: Callable[[int, Any], Any]
    epsilon: float = 1e-6


def _logistic(seed: int, _: Any) -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def _forest(seed: int, _: Any, n_trees: int = N_TREES) -> RandomForestClassifier:
    return RandomForestClassifier(n_trees, random_state=seed)


def _boosting(seed: int, categorical: Any, l2: float) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(l2_regularization=l2, categorical_features=categorical, random_state=seed)


def _lightgbm(seed: int, categorical: Any) -> Any:
    model = import_module("lightgbm").LGBMClassifier(reg_lambda=1.0, random_state=seed, n_jobs=1, verbose=-1)
    columns = [] if categorical is None else np.flatnonzero(categorical).tolist()
    model.fit = partial(model.fit, categorical_feature=columns)
    return model


def _catboost(seed: int, _: Any) -> Any:
    options = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return import_module("catboost").CatBoostClassifier(iterations=N_TREES, random_seed=seed, **options)


PRIOR = Base("scaled", lambda seed, _: DummyClassifier(strategy="prior"))
LOGISTIC = Base("scaled", _logistic)
FOREST = Base("one-hot", _forest, 0.5 / N_TREES)  # half a tree's vote
BOOSTING = Base("native", partial(_boosting, l2=0.0))
BOOSTING_L2 = Base("native", partial(_boosting, l2=1.0))
LIGHTGBM = Base("native", _lightgbm)
CATBOOST = Base("one-hot", _catboost)


def frequencies(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return class frequencies with half a row more of each class; unknown cells do not count."""
    counts = np.bincount(codes[codes != UNKNOWN], minlength=n_classes) + 0.5
    return counts / counts.sum()


@dataclass(frozen=True)
class FittedLink:
    """A fitted classifier for one label, or its only class."""

    model: Any
    classes: np.ndarray
    prior: np.ndarray
    epsilon: float

    @classmethod
    def fit(cls, base: Base, X: Any, y: np.ndarray, n_classes: int, seed: int, categorical: Any) -> FittedLink:
        known = np.flatnonzero(y != UNKNOWN)
        classes = np.unique(y[known])
        model = None
        if len(classes) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = base.make(seed, categorical).fit(X[known], y[known])
        return cls(model, classes, frequencies(y, n_classes), base.epsilon)

    def proba(self, X: Any) -> np.ndarray:
        own = np.zeros((X.shape[0], len(self.prior)))
        own[:, self.classes] = 1.0 if self.model is None else self.model.predict_proba(X)
        return (1.0 - self.epsilon) * own + self.epsilon * self.prior


def independent(base: Base) -> Callable[[Task, int, Clock], Answers]:
    """Return the peer with one classifier per label, fitted to the rows where it is known."""

    def run(task: Task, seed: int, clock: Clock) -> Answers:
        with clock("fit"):
            inputs = encode(task, base.inputs)
        marginals = []
        for j, k in enumerate(task.n_classes):
            with clock("fit"):
                link = FittedLink.fit(base, inputs.train, task.Y_train[:, j], k, seed, inputs.categorical)
            with clock("predict"):
                marginals.append(link.proba(inputs.test))
            clock.check((j + 1) / len(task.n_classes))
        return from_product(marginals, task)

    return run


def filled(Y: np.ndarray) -> np.ndarray:
    """Return codes with unknown cells filled in by the most common class."""
    modes = [np.bincount(column[column != UNKNOWN]).argmax() for column in Y.T]
    return np.where(Y == UNKNOWN, modes, Y)


def _append(X: Any, labels: np.ndarray, n_classes: tuple[int, ...]) -> Any:
    """Return inputs with parents as further columns: one if binary, one per class otherwise."""
    columns = [labels[:, [j]] if k == 2 else np.eye(k)[labels[:, j]] for j, k in enumerate(n_classes)]
    if not columns:
        return X
    parents = np.hstack(columns).astype(float)
    return sp.csr_array(sp.hstack([X, parents])) if sp.issparse(X) else np.hstack([X, parents])


def chain(base: Base) -> Callable[[Task, int, Clock], Answers]:
    """Return scikit-learn's chain: labels in the given order, trained on true labels, predicted greedily.

    It is written out here because scikit-learn's own takes neither labels with one class in training nor more than two
    classes, and does not return the probability of a label vector.
    """

    def run(task: Task, seed: int, clock: Clock) -> Answers:
        n_classes, Y = task.n_classes, filled(task.Y_train)
        truth = np.where(task.Y_test == UNKNOWN, 0, task.Y_test)  # rows with unknown labels have no log-loss
        with clock("fit"):
            inputs = encode(task, base.inputs)
        rows = np.arange(len(truth))
        chosen, log_chosen, log_truth = np.zeros_like(truth), np.zeros(len(truth)), np.zeros(len(truth))
        for j, k in enumerate(n_classes):
            with clock("fit"):
                X = _append(inputs.train, Y[:, :j], n_classes[:j])
                categorical = inputs.categorical
                if categorical is not None:
                    categorical = np.pad(categorical, (0, X.shape[1] - len(categorical)))
                link = FittedLink.fit(base, X, task.Y_train[:, j], k, seed, categorical)
            with clock("predict"):
                proba = link.proba(_append(inputs.test, chosen[:, :j], n_classes[:j]))
                chosen[:, j] = proba.argmax(axis=1)
                log_chosen += np.log(proba.max(axis=1))
            log_truth += np.log(link.proba(_append(inputs.test, truth[:, :j], n_classes[:j]))[rows, truth[:, j]])
            clock.check((j + 1) / len(n_classes))
        return Answers(dict.fromkeys(("exact_match", "hamming", "f1"), chosen), log_truth, np.exp(log_chosen))

    return run


def powerset(base: Base) -> Callable[[Task, int, Clock], Answers]:
    """Return the peer with one classifier whose classes are the label vectors seen in training."""

    def run(task: Task, seed: int, clock: Clock) -> Answers:
        vectors, ids, counts = np.unique(filled(task.Y_train), axis=0, return_inverse=True, return_counts=True)
        with clock("fit"):
            inputs = encode(task, base.inputs)
        proba = 0.0
        for share, model in _fitted(base, inputs, ids.ravel(), 8 * len(vectors), seed, clock):
            with clock("predict"):
                proba = proba + share * model.predict_proba(inputs.test)
        # Good-Turing: the share of label vectors that occur once estimates how often a new one will occur.
        unseen = (np.sum(counts == 1) + 0.5) / (len(ids) + 1)
        priors = [frequencies(task.Y_train[:, j], k) for j, k in enumerate(task.n_classes)]
        return from_seen_vectors(np.asarray(proba), vectors, unseen, priors, task)

    return run


def _fitted(
    base: Base, inputs: Inputs, y: np.ndarray, leaf_bytes: int, seed: int, clock: Clock
) -> Iterator[tuple[float, Any]]:
    """Yield fitted models with their shares: a forest in batches of trees that fit into memory, others as a whole."""
    if base is not FOREST:
        with clock("fit"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = base.make(seed, inputs.categorical).fit(inputs.train, y)
        yield 1.0, model
        return
    size = int(np.clip(TREE_BYTES // (leaf_bytes * inputs.train.shape[0]), 1, 50))
    for start in range(0, N_TREES, size):
        n_trees = min(size, N_TREES - start)
        with clock("fit"):
            forest = _forest(seed * N_TREES + start, None, n_trees).fit(inputs.train, y)
        yield n_trees / N_TREES, forest
        clock.check((start + n_trees) / N_TREES)


def multi_output_forest(task: Task, seed: int, clock: Clock) -> Answers:
    """One forest for all labels, whose trees share their splits."""
    with clock("fit"):
        inputs = encode(task, FOREST.inputs)
    Y = filled(task.Y_train)
    marginals = [np.zeros((len(task.Y_test), k)) for k in task.n_classes]
    for share, forest in _fitted(FOREST, inputs, Y, 8 * sum(task.n_classes), seed, clock):
        with clock("predict"):
            for j, (proba, classes) in enumerate(zip(forest.predict_proba(inputs.test), forest.classes_, strict=True)):
                marginals[j][:, classes.astype(int)] += share * proba
    for j, k in enumerate(task.n_classes):
        marginals[j] = (1.0 - FOREST.epsilon) * marginals[j] + FOREST.epsilon * frequencies(task.Y_train[:, j], k)
    return from_product(marginals, task)


def ml_knn(task: Task, seed: int, clock: Clock) -> Answers:
    """Ten nearest neighbours vote, and Bayes' rule weighs their votes label by label (Zhang and Zhou 2007)."""
    with clock("fit"):
        inputs = encode(task, LOGISTIC.inputs)
        Y = filled(task.Y_train).astype(float)
        n_rows, n_labels = Y.shape
        k = min(N_NEIGHBOURS, n_rows - 1)
        search = NearestNeighbors(n_neighbors=k).fit(inputs.train)
        votes = Y[search.kneighbors(return_distance=False)].sum(axis=1).astype(int)
        prior = (1.0 + Y.sum(axis=0)) / (2.0 + n_rows)
        labels = np.arange(n_labels)
        counts = np.ones((2, n_labels, k + 1))  # Laplace smoothing
        for code in (0, 1):
            np.add.at(counts[code], (np.broadcast_to(labels, votes.shape), votes), Y.astype(int) == code)
        likelihood = counts / counts.sum(axis=2, keepdims=True)
    with clock("predict"):
        votes = Y[search.kneighbors(inputs.test, return_distance=False)].sum(axis=1).astype(int)
        positive, negative = prior * likelihood[1][labels, votes], (1.0 - prior) * likelihood[0][labels, votes]
        relevant = positive / (positive + negative)
        marginals = [np.stack([1.0 - p, p], axis=1) for p in relevant.T]
    return from_product(marginals, task)


@dataclass(frozen=True)
class Method:
    """A method: how it predicts, whether it is randomised, and whether it takes only binary labels or real tables."""

    run: Callable[[Task, int, Clock], Answers]
    uses_chance: bool = True
    only_binary: bool = False
    only_tables: bool = False

    def takes(self, task: Task) -> bool:
        """Return whether the method can be run on these data."""
        return (task.is_binary or not self.only_binary) and (task.name in TABLES or not self.only_tables)


PEERS: dict[str, Method] = {
    "commonest_vector": Method(powerset(PRIOR), uses_chance=False),
    "logistic": Method(independent(LOGISTIC), uses_chance=False),
    "logistic_chain": Method(chain(LOGISTIC), uses_chance=False),
    "ml_knn": Method(ml_knn, uses_chance=False, only_binary=True),
    "multi_output_forest": Method(multi_output_forest),
    "powerset_forest": Method(powerset(FOREST)),
    "powerset_logistic": Method(powerset(LOGISTIC), uses_chance=False),
    "forest": Method(independent(FOREST)),
    "boosting_l2": Method(independent(BOOSTING_L2), uses_chance=False),
    "boosting": Method(independent(BOOSTING), uses_chance=False),
    "boosting_l2_chain": Method(chain(BOOSTING_L2), uses_chance=False),
}
for _name, _base in {"lightgbm": LIGHTGBM, "catboost": CATBOOST}.items():
    if find_spec(_name) is not None:
        PEERS[_name] = Method(independent(_base))
