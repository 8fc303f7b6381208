"""Runs of minutes, to show that they finish: the paper's largest sets, its longest searches, a thousand labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks import THREADS
from benchmarks.generated import delicious_like
from benchmarks.peers import MEDIAMILL_LIKE, trainable_split
from benchmarks.report import Measurement
from benchmarks.timing import seconds, timed
from montechain import BranchAndBound, ChainClassifier, MonteCarlo, OrderSearch
from montechain.methods import make_method

LARGE = ("tmc2007", MEDIAMILL_LIKE)
MANY_ITERATIONS = 10_000


def measure_methods(n_runs: int) -> Iterator[Measurement]:
    """MsCC and PtMsCC, with the paper's parameters, where the paper's own did not finish in 24 hours."""
    for name in LARGE:
        split = trainable_split(name)
        for method in ("MsCC", "PtMsCC"):
            model = make_method(method, random_state=0, n_jobs=THREADS)
            fit = seconds(partial(model.fit, split.X_train, split.Y_train))
            predict, predicted = timed(partial(model.predict, split.X_test))
            exact_match = (predicted == split.Y_test).all(axis=1).mean()
            note = f"exact match {exact_match:.3f} on {len(split.Y_test):,} test rows; the paper's: not in 24 h"
            yield Measurement(f"{method} fit", name, fit, threads=THREADS, note=note)
            yield Measurement(f"{method} predict", name, predict, threads=THREADS)


def measure_many_labels(n_runs: int) -> Iterator[Measurement]:
    """Fit and predict data of Delicious' shape: 12,920 rows, 983 labels, each with at most 20 parents."""
    X, Y, _ = delicious_like()
    name = f"delicious-like, {X.shape[0]:,} × {X.shape[1]}, {Y.shape[1]} labels"
    model = ChainClassifier(parents=20, random_state=0, n_jobs=THREADS)
    yield Measurement("fit, parents=20", name, seconds(partial(model.fit, X, Y)), threads=THREADS)
    for what, strategy, n_rows in (
        ("MonteCarlo(100)", MonteCarlo(n_samples=100), X.shape[0]),
        ("exact predict", BranchAndBound(), 100),
    ):
        few = X[:n_rows]
        taken, decision = timed(partial(model.set_params(inference=strategy).decide, few))
        gap = np.median(decision.upper_bound - decision.log_proba)
        # Where nothing is proven, the vectors must at least be as probable as those that the data were drawn with.
        likelier = (decision.log_proba >= model.log_joint(few, Y[:n_rows]) - 1e-9).mean()
        note = (
            f"{n_rows:,} rows, {decision.certified.mean():.1%} certified, median gap of log-probability {gap:.2f}; as "
            f"probable as the true labels in {likelier:.1%}"
        )
        yield Measurement(f"{what}, parents=20", name, taken, correct=bool(likelier > 0.99), threads=THREADS, note=note)


def measure_searches(n_runs: int) -> Iterator[Measurement]:
    """10,000 iterations, as in the paper's figures."""
    for name in ("yeast", "enron"):
        split = trainable_split(name)
        model = ChainClassifier(order=OrderSearch(n_iterations=MANY_ITERATIONS), random_state=0)
        taken = seconds(partial(model.fit, split.X_train, split.Y_train))
        trace = model.search_trace_
        note = (
            f"J_EM {trace[0]['payoff']:.2f} to {trace[-1]['payoff']:.2f}, "
            f"{sum(row['accepted'] for row in trace[1:])} accepted, {trace[-1]['n_links_fitted']:,} links fitted"
        )
        yield Measurement(f"{MANY_ITERATIONS:,} iterations", name, taken, note=note)
