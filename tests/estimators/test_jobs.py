"""Threads over rows: answers are identical to the last bit for any number of jobs."""

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from montechain import Algorithm4, Beam, ChainClassifier, ChainPopulationClassifier, MonteCarlo
from montechain._rows import map_chunks
from montechain.estimators import base
from montechain.estimators.checks import remembered

N_ROWS, N_FEATURES, N_LABELS = 301, 30, 4


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Let a few hundred rows be several chunks."""
    monkeypatch.setattr(base, "MIN_CHUNK_CELLS", 1)
    monkeypatch.setattr(base, "GENERAL_CHUNK_ROWS", 64)


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < 0.3)
    Y = np.zeros((N_ROWS, N_LABELS), dtype=int)
    for k in range(N_LABELS):
        Y[:, k] = X[:, 5 * k : 5 * k + 5].sum(axis=1) + 0.8 * Y[:, k - 1] + rng.logistic(size=N_ROWS) > 0.5
    return X, Y


NAMES = [f"x{j}" for j in range(N_FEATURES)]
CONTAINERS: dict[str, Any] = {
    "float64": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "csr": sp.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}


def answers(model, X, given) -> dict[str, list[np.ndarray]]:
    """Return all that a model answers, as arrays."""
    decision = model.decide(X)
    top = model.predict_top_k(X, k=3)
    return {
        "predict": [np.asarray(model.predict(X))],
        "decide": [np.asarray(getattr(decision, field.name)) for field in fields(decision)],
        "predict_proba": model.predict_proba(X),
        "given": [np.asarray(model.predict(X, given=given)), *model.predict_proba(X, given=given)],
        "top_k": [np.asarray(getattr(top, field.name)) for field in fields(top)],
        "log_joint": [model.log_joint(X, given)],
        "sample": [model.sample(X, n_samples=7), model.sample(X, n_samples=7, given=given)],
    }


@pytest.fixture(scope="module")
def given(data) -> np.ndarray:
    known = data[1].astype(float)
    known[:, 1:] = np.where(np.random.default_rng(1).random(known[:, 1:].shape) < 0.3, known[:, 1:], np.nan)
    known[:, 0] = np.nan
    known[0] = data[1][0]
    return known


TREES = ChainClassifier(DecisionTreeClassifier(max_depth=3), inference=MonteCarlo(10), random_state=0)
POPULATION = ChainPopulationClassifier(n_chains=3, random_state=0)
CASES = [
    *((model, c) for model in (ChainClassifier(random_state=0), POPULATION) for c in CONTAINERS),
    *((TREES, container) for container in ("float64", "csr", "pandas")),
    (ChainClassifier(inference="greedy", random_state=0), "float64"),
    (ChainClassifier(inference=Beam(2), loss="f1", random_state=0), "float64"),
    (ChainClassifier(inference=MonteCarlo(20), loss="hamming", random_state=0), "float64"),
    (clone(POPULATION).set_params(combine=Algorithm4(n_orders=3, n_samples=10)), "float64"),
    (clone(POPULATION).set_params(combine="vote"), "float64"),
]


@pytest.mark.parametrize(("model", "container"), CASES, ids=str)
def test_answers_do_not_depend_on_the_number_of_jobs(data, given, model, container):
    X, Y = data
    X = CONTAINERS[container](X)
    model = clone(model).fit(X, Y)
    by_jobs = [answers(model.set_params(n_jobs=n_jobs), X, given) for n_jobs in (1, 2, 3)]
    for other in by_jobs[1:]:
        for what, arrays in by_jobs[0].items():
            for one, two in zip(arrays, other[what], strict=True):
                np.testing.assert_array_equal(one, two, err_msg=what, strict=True)
    assert len(by_jobs[0]["predict"][0]) == X.shape[0]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_cell_that_is_not_finite_is_found_in_any_chunk(data, n_jobs, bad, order):
    X, Y = data
    model = ChainClassifier(random_state=0, n_jobs=n_jobs).fit(X, Y)
    X = X.copy(order=order)
    X[270, 17] = bad
    with pytest.raises(ValueError, match=f"Input X contains {'NaN' if np.isnan(bad) else 'infinity'}"):
        model.predict(X)
    # Numbers whose squares overflow are still valid numbers.
    X[270, 17] = 1e200
    assert model.predict(X).shape == Y.shape


def test_products_have_the_same_rounding_for_any_number_of_jobs():
    rng = np.random.default_rng(0)
    # With this many terms, OpenBLAS sums in a different order with two threads than with one.
    X, coef = rng.normal(size=(2048, 1001)), rng.normal(size=(1001, 20))
    with threadpool_limits(limits=2, user_api="blas"):
        products = [
            map_chunks(lambda rows, known, start: rows @ coef, X, None, n_rows_each=512, n_jobs=n, in_kernels=True)
            for n in (1, 2, 3)
        ]
    np.testing.assert_array_equal(products[0], products[1])
    np.testing.assert_array_equal(products[0], products[2])


def test_what_is_remembered_is_made_anew_from_other_sources(data):
    X, Y = data
    model = ChainClassifier(order=[3, 1, 0, 2], random_state=0).fit(X, Y)
    before = model.predict(X)
    model.fit(X, np.where(Y == 1, "yes", "no"))
    np.testing.assert_array_equal(model.predict(X), np.where(before == 1, "yes", "no"))
    model.set_params(order=[0, 1, 2, 3]).fit(X, Y[:, ::-1])
    np.testing.assert_array_equal(model.chain_.order, model.order_)
    assert (model.predict(X) == Y[:, ::-1]).mean() > 0.7
    made = []
    sources = [X, Y]
    for _ in range(2):
        remembered(model, "test", sources, made.append)
    remembered(model, "test", [X, Y.copy()], made.append)
    assert len(made) == 2
