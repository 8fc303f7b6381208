"""What a second core gains: the same work with `n_jobs=1` and `n_jobs=2`, with results identical to the last bit.

BLAS has one thread in both, so this measures our own division of the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.peers import MEDIAMILL_LIKE, trainable_split
from benchmarks.report import Measurement
from benchmarks.timing import interleaved
from montechain import BranchAndBound, ChainClassifier, MonteCarlo
from montechain.chain import Chain

FIT_DATA = ("enron", "reuters", "tmc2007", MEDIAMILL_LIKE)
PREDICT_DATA = ("yeast", *FIT_DATA)
FIT_TARGET, PREDICT_TARGET = 1.7, 1.8
LEAST_ROWS = 20_000
"""Minimum number of test rows; they are repeated to reach it, since a few milliseconds are not worth a thread."""


def measure(
    n_runs: int, fit_data: Sequence[str] = FIT_DATA, data: Sequence[str] = PREDICT_DATA
) -> Iterator[Measurement]:
    """Fit, exact prediction and Monte Carlo."""
    with threadpool_limits(limits=1):
        for name in fit_data:
            yield _fit(name, n_runs)
        for name in data:
            yield from _predict(name, n_runs)


def _row(what: str, name: str, taken: tuple[float, float], target: float, same: bool) -> Measurement:
    one, two = taken
    note = "bit-identical" if same else "results DIFFER"
    return Measurement(f"{what}, second core", name, two, one, "one thread", target, correct=same, threads=2, note=note)


def _fit(name: str, n_runs: int) -> Measurement:
    X, Y = trainable_split(name)[:2]
    models = [ChainClassifier(order=None, random_state=0, n_jobs=n_jobs) for n_jobs in (1, 2)]
    taken = interleaved(partial(models[0].fit, X, Y), partial(models[1].fit, X, Y), min(n_runs, 5))
    return _row("fit", name, taken, FIT_TARGET, _same_links(models[0].chain_, models[1].chain_))


def _predict(name: str, n_runs: int) -> Iterator[Measurement]:
    split = trainable_split(name)
    n_times = -(-LEAST_ROWS // split.X_test.shape[0])
    X = split.X_test
    X = sp.vstack([X] * n_times, format="csr") if sp.issparse(X) else np.tile(X, (n_times, 1))
    one = ChainClassifier(order=None, random_state=0, n_jobs=1).fit(split.X_train, split.Y_train)
    two = copy(one).set_params(n_jobs=2)
    for what, strategy in (("exact predict", BranchAndBound()), ("MonteCarlo(100) predict", MonteCarlo(n_samples=100))):
        decisions = [model.set_params(inference=strategy).decide(X) for model in (one, two)]
        same = np.array_equal(decisions[0].labels, decisions[1].labels) and np.array_equal(
            decisions[0].log_proba, decisions[1].log_proba
        )
        taken = interleaved(partial(one.predict, X), partial(two.predict, X), n_runs)
        yield _row(what, name, taken, PREDICT_TARGET, same)


def _same_links(left: Chain, right: Chain) -> bool:
    return left.order == right.order and all(
        np.array_equal(a.coef, b.coef)  # type: ignore[attr-defined]
        and np.array_equal(a.intercept, b.intercept)  # type: ignore[attr-defined]
        and all(map(np.array_equal, a.parent_effects, b.parent_effects))  # type: ignore[attr-defined]
        for a, b in zip(left.links, right.links, strict=True)
    )
