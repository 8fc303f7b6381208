"""Time a row against other libraries with probabilistic chains, and against a plain one in numpy; the same links.

These peers are slow, so they get only a few rows. A library that is not installed is skipped with a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import classifier_with_links, fitted_peer, same_links, trainable_split
from benchmarks.reference import Enumerated
from benchmarks.report import Measurement
from benchmarks.timing import median_seconds, timed
from montechain import BranchAndBound, MonteCarlo

SAMPLES = 100
RIVER_TARGET = 1000.0


def measure(n_runs: int) -> Iterator[Measurement]:
    """Monte Carlo and exact prediction on Yeast, 14 labels; scikit-multilearn-ng on Music, 6 labels."""
    monte_carlo, exact = MonteCarlo(n_samples=SAMPLES), BranchAndBound()
    yield _compare("MonteCarlo(100) a row", "yeast", "river MonteCarloClassifierChain", _river_mcc, 40, monte_carlo,
                   n_runs, RIVER_TARGET)  # fmt: skip
    yield _compare("exact predict a row", "yeast", "river ProbabilisticClassifierChain", _river_pcc, 2, exact, n_runs)
    yield _compare("exact predict a row", "yeast", "naive PCC in numpy", _naive, 100, exact, n_runs)
    row = _compare("exact predict a row", "music", "scikit-multilearn-ng PCC", _multilearn, 5, exact, n_runs)
    if row.peer is not None:
        growth = (2**14 * 14) / (2**6 * 6)  # it evaluates every link for every vector, one at a time
        row = replace(row, note=f"{row.note}; its 14 labels of Yeast would take about {growth * row.peer:.0f} s a row")
    yield row


def _compare(
    what: str,
    name: str,
    against: str,
    predictor: Callable[[str], Callable[[Any], np.ndarray]],
    n_rows: int,
    strategy: Any,
    n_runs: int,
    target: float | None = None,
) -> Measurement:
    """Return seconds a row of both sides: the peer on its first rows, ours on all test rows.

    Where the search is exact on both sides, the predictions must be the same; where it draws, ours must find nothing
    more probable than the optimum and the peer's vectors must not be better than that either.
    """
    split = trainable_split(name)
    chain = same_links(fitted_peer(name))
    ours = classifier_with_links(chain, split, inference=strategy)
    our_seconds = median_seconds(partial(ours.predict, split.X_test), n_runs) / split.X_test.shape[0]
    try:
        predict = predictor(name)
    except ImportError as error:
        return Measurement(what, name, our_seconds, None, against, note=f"not measured: {error}")
    few = split.X_test[:n_rows]
    taken, answers = timed(partial(predict, few))
    peer_seconds, codes = taken / n_rows, answers.astype(np.int32)
    best = classifier_with_links(chain, split).decide(few)
    if isinstance(strategy, BranchAndBound):
        correct = np.array_equal(codes, best.labels) and np.array_equal(ours.predict(few), best.labels)
        note = f"the peer on {n_rows} rows, same predictions" if correct else "predictions DIFFER"
    else:
        reached = np.isclose(chain.log_joint(few, codes), best.log_proba, atol=1e-9).mean()
        ours_reached = np.isclose(ours.decide(few).log_proba, best.log_proba, atol=1e-9).mean()
        correct = bool((chain.log_joint(few, codes) <= best.log_proba + 1e-9).all() and ours_reached >= reached - 0.1)
        note = f"the peer on {n_rows} rows; the optimum found in {ours_reached:.0%}, by the peer in {reached:.0%}"
    return Measurement(what, name, our_seconds, peer_seconds, against, target, correct=bool(correct), note=note)


def _river(kind: str, name: str, **choices: Any) -> Callable[[Any], np.ndarray]:
    """Return river's chain with scikit-learn's coefficients instead of those that it would learn by SGD."""
    from river import linear_model, multioutput, utils

    model = getattr(multioutput, kind)(linear_model.LogisticRegression(), **choices)
    links = fitted_peer(name).estimators_
    n_features = len(links[0].coef_[0])
    labels = [f"y{k}" for k in range(len(links))]
    inputs = [f"x{j}" for j in range(n_features)]
    model.order = labels
    for label, link in zip(labels, links, strict=True):
        names = [*inputs, *labels][: len(link.coef_[0])]
        model[label]._weights = utils.VectorDict(dict(zip(names, link.coef_[0].tolist(), strict=True)))
        model[label].intercept = float(link.intercept_[0])

    def predict(X: np.ndarray) -> np.ndarray:
        found = [model.predict_one(dict(zip(inputs, row, strict=True))) for row in X.tolist()]
        return np.array([[int(vector[label]) for label in labels] for vector in found])

    return predict


def _river_mcc(name: str) -> Callable[[Any], np.ndarray]:
    return _river("MonteCarloClassifierChain", name, m=SAMPLES, seed=0)


def _river_pcc(name: str) -> Callable[[Any], np.ndarray]:
    return _river("ProbabilisticClassifierChain", name)


def _naive(name: str) -> Callable[[Any], np.ndarray]:
    return Enumerated(same_links(fitted_peer(name))).most_probable


def _multilearn(name: str) -> Callable[[Any], np.ndarray]:
    from skmultilearn.problem_transform import ProbabilisticClassifierChain

    split, peer = trainable_split(name), fitted_peer(name)
    model = ProbabilisticClassifierChain(peer.estimators_[0])
    rows = np.unique(np.concatenate([split.Y_train.argmin(axis=0), split.Y_train.argmax(axis=0)]))
    model.fit(split.X_train[rows], split.Y_train[rows])  # for its bookkeeping
    model.classifiers_ = peer.estimators_
    return lambda X: model.predict(X).toarray()
