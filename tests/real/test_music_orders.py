"""All 720 orders of Music: the optimum of each payoff, where a strict climb can end, and how often it gets there."""

import itertools

import numpy as np
import pytest

from montechain import LogisticLink, OrderSearch
from montechain.ordering import AllOrders, OrderEvaluator, Swap, search
from reference.ordering import local_optima
from tests.real_data import load_split

PAYOFFS = ("J_EM", "J_EM_prod", "J_Ham", "J_Ham_prod")
N_STARTS = 100

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def music(data_folder):
    """Return the payoffs of every order on all 593 rows, as in the paper's trace, and the evaluator."""
    split = load_split("music", data_folder)
    X = np.vstack([split.X_train, split.X_test])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    codes = np.vstack([split.Y_train, split.Y_test])
    evaluator = OrderEvaluator(
        LogisticLink(), X, codes, [2] * 6, payoff="J_EM", record=PAYOFFS[1:], validation=None, warm_start=False
    )
    table = {order: evaluator.payoffs(order) for order in itertools.permutations(range(6))}
    return evaluator, table


def test_exhaustive_search_takes_192_links_and_finds_the_optimum(music):
    evaluator, table = music
    assert (len(table), evaluator.n_links_fitted) == (720, 192)
    result = AllOrders(keep=3).find(evaluator, start=tuple(range(6)), rng=np.random.default_rng(0))
    ranked = sorted((row["J_EM"] for row in table.values()), reverse=True)
    assert result.payoffs == ranked[:3]
    assert table[result.orders[0]]["J_EM"] == ranked[0]


@pytest.mark.parametrize("payoff", PAYOFFS)
def test_a_strict_climb_ends_where_no_swap_improves(music, payoff):
    _, table = music
    payoffs = {order: row[payoff] for order, row in table.items()}
    optima = local_optima(payoffs)
    optimum = max(payoffs, key=payoffs.get)
    assert optimum in optima
    hits = 0
    for seed in range(N_STARTS):
        rng = np.random.default_rng(seed)
        start = tuple(int(label) for label in rng.permutation(6))
        steps = search(payoffs.__getitem__, start, Swap(), rng)
        end = list(itertools.islice(steps, 400))[-1].order
        assert end in optima
        hits += end == optimum
    assert hits > 0


def test_with_restarts_the_search_reaches_the_optimum(music):
    evaluator, table = music
    best = max(row["J_EM"] for row in table.values())
    finder = OrderSearch(n_iterations=200, n_restarts=12)
    result = finder.find(evaluator, start=tuple(range(6)), rng=np.random.default_rng(1))
    assert result.payoffs[0] == best
    keys = {"iteration", "order", "payoff", "accepted", "n_links_fitted", "seconds"}
    assert keys <= set(result.trace[0])
    assert evaluator.n_links_fitted == 192
