"""How often the classifiers of a chain are called: once per level for all rows and prefixes together."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import montechain as mc

N_ROWS, N_LABELS, N_CHAINS = 200, 5, 3


class CountingTree(DecisionTreeClassifier):
    """A tree that records the rows it was called with; it is the link itself, so no row may occur twice."""

    calls: ClassVar[list[int]] = []
    asked: ClassVar[set[tuple[int, bytes]]] = set()
    n_repeated: ClassVar[int] = 0

    def predict_proba(self, X, check_input=True):
        kind = type(self)
        kind.calls.append(len(X))
        for row in np.ascontiguousarray(X):
            question = (id(self), row.tobytes())
            kind.n_repeated += question in kind.asked
            kind.asked.add(question)
        return super().predict_proba(X, check_input)


def count(function, *arguments) -> tuple[int, int, int]:
    """Return the number of calls, of rows in all of them, and of rows that the same tree had been asked for before."""
    CountingTree.calls, CountingTree.asked, CountingTree.n_repeated = [], set(), 0
    function(*arguments)
    return len(CountingTree.calls), sum(CountingTree.calls), CountingTree.n_repeated


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    Y = np.zeros((N_ROWS, N_LABELS), dtype=int)
    for k in range(N_LABELS):
        Y[:, k] = X[:, k % 4] + 0.7 * Y[:, max(k - 1, 0)] + 0.7 * rng.logistic(size=N_ROWS) > 0.3
    return X, Y


@pytest.fixture(scope="module")
def chain(data) -> mc.ChainClassifier:
    return mc.ChainClassifier(CountingTree(max_depth=5, min_samples_leaf=5), random_state=0).fit(*data)


@pytest.fixture(scope="module")
def population(data) -> mc.ChainPopulationClassifier:
    tree = CountingTree(max_depth=5, min_samples_leaf=5)
    # No label has the same parents in two of these, so the chains have no link in common.
    orders = [np.roll(range(N_LABELS), -j) for j in range(N_CHAINS)]
    return mc.ChainPopulationClassifier(tree, order=orders, random_state=0).fit(*data)


# A first vector and then the search, both by level; other losses also ask for the probability of the decision.
MOST_CALLS = {
    "greedy": (1, 2),
    mc.Beam(width=5): (1, 2),
    mc.MonteCarlo(n_samples=100): (2, 2),
    mc.EpsilonApproximate(epsilon=0.1): (2, 3),
    mc.Exhaustive(): (1, 2),
}


@pytest.mark.parametrize("inference", MOST_CALLS, ids=repr)
@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
def test_a_decision_takes_one_or_two_calls_per_label(chain, data, inference, loss):
    chain.set_params(inference=inference, loss=loss)
    n_calls, n_rows, n_repeated = count(chain.predict, data[0])
    assert n_calls <= N_LABELS * MOST_CALLS[inference][loss != "exact_match"]
    # Of all that is asked for, only the decisions' own probabilities may have been known.
    assert n_repeated <= (0 if loss == "exact_match" else N_LABELS * N_ROWS)
    assert n_rows <= N_ROWS * (2**N_LABELS - 1) + n_repeated


@pytest.mark.parametrize("method", ["predict_proba", "predict_top_k", "log_joint", "sample"])
def test_other_answers_take_a_handful_of_calls_per_label(chain, data, method):
    chain.set_params(inference=mc.BranchAndBound(), loss="exact_match")
    X, Y = data
    n_calls, _, n_repeated = count(getattr(chain, method), X, *([Y] if method == "log_joint" else []))
    assert n_calls <= N_LABELS * {"log_joint": 1, "sample": 1, "predict_top_k": 2, "predict_proba": 5}[method]
    assert n_repeated == 0


@pytest.mark.parametrize("loss", ["exact_match", "hamming"])
def test_marginals_from_draws_take_one_call_per_label(chain, data, loss):
    chain.set_params(inference=mc.MonteCarlo(n_samples=100), loss=loss)
    assert count(chain.predict_proba, data[0])[::2] == (N_LABELS, 0)
    if loss == "hamming":
        assert count(chain.predict, data[0])[::2] == (N_LABELS, 0)


def test_a_mixture_asks_each_chain_by_level(population, data):
    population.set_params(combine="mixture", loss="exact_match")
    n_calls, _, n_repeated = count(population.predict, data[0])
    assert n_calls <= 4 * N_CHAINS * N_LABELS
    assert n_repeated == 0


def test_algorithm_4_does_not_ask_again_in_each_step(population, data):
    population.set_params(combine=mc.Algorithm4(n_orders=30, n_samples=100), loss="exact_match")
    n_calls, n_rows, n_repeated = count(population.predict, data[0])
    # The last step needs the mixture's probability of the answer as well.
    assert n_repeated <= N_CHAINS * N_LABELS * N_ROWS
    assert n_rows - n_repeated <= N_CHAINS * N_ROWS * (2**N_LABELS - 1)
    assert n_calls < 30 * N_LABELS


def test_rows_are_cut_into_chunks_only_when_there_are_many(chain, data, monkeypatch):
    chain.set_params(inference="greedy", loss="exact_match")
    monkeypatch.setattr("montechain.estimators.base.GENERAL_CHUNK_ROWS", 64)
    assert count(chain.predict, data[0])[0] == 4 * N_LABELS
