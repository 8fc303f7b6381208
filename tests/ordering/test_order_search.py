from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import KFold

from montechain.links import LogisticLink
from montechain.ordering import AllOrders, Metropolis, OrderSearch, TemperedSwap, local_optima

COLUMNS = (
    "restart", "iteration", "order", "payoff", "candidate", "candidate_payoff", "accepted", "n_links_fitted", "seconds",
)  # fmt: skip


def problem(n_labels=6, n_rows=150, seed=0):
    X, Y = make_multilabel_classification(n_rows, n_features=12, n_classes=n_labels, n_labels=2, random_state=seed)
    return X, Y.astype(np.int32), [2] * n_labels


def run(order_search, n_labels=6, learner=None, seed=0, start=None, **options):
    evaluator = order_search.evaluator(learner or LogisticLink(), *problem(n_labels), **options)
    start = tuple(range(n_labels)) if start is None else start
    return order_search.find(evaluator, start=start, rng=np.random.default_rng(seed)), evaluator


@dataclass
class Toy:
    """Orders are worth what a function says; nothing is learned."""

    value: object
    n_labels: int = 4
    tolerance: float = 0.0
    is_logarithmic: bool = False
    n_links_fitted: int = 0
    seen: list = field(default_factory=list)

    def payoff(self, order):
        self.seen.append(order)
        return float(self.value(order))

    def distinct(self, order):
        return order


def test_algorithm_1_returns_where_it_ends():
    result, _ = run(OrderSearch(n_iterations=30))
    assert len(result.orders) == 1
    last = result.trace[-1]
    assert (result.orders[0], result.payoffs[0]) == (last["order"], last["payoff"])
    payoffs = [row["payoff"] for row in result.trace]
    assert payoffs == sorted(payoffs)
    for before, row in itertools.pairwise(result.trace):
        assert row["accepted"] == (row["candidate_payoff"] > before["payoff"] * (1 + 2e-5))
        assert row["order"] == (row["candidate"] if row["accepted"] else before["order"])


def test_the_trace_is_a_table():
    result, evaluator = run(OrderSearch(n_iterations=8, record=["J_EM_prod", "J_Ham", "exact_match"]))
    table = pd.DataFrame(result.trace)
    assert set(table) == {*COLUMNS, "J_EM", "J_EM_prod", "J_Ham", "exact_match"}
    assert table["iteration"].tolist() == list(range(9))
    np.testing.assert_array_equal(table["J_EM"], table["payoff"])
    assert table["n_links_fitted"].iloc[0] == 6
    assert table["n_links_fitted"].iloc[-1] == evaluator.n_links_fitted
    assert table["seconds"].is_monotonic_increasing
    for row in result.trace:
        assert row["J_Ham"] == evaluator.payoffs(row["order"])["J_Ham"]
    plain, _ = run(OrderSearch(n_iterations=2))
    assert set(plain.trace[0]) == set(COLUMNS)


def test_algorithm_2_keeps_the_best_of_the_orders_it_stood_at():
    result, _ = run(OrderSearch(n_iterations=60, keep=4))
    visited = {row["order"]: row["payoff"] for row in result.trace if row["iteration"] > 0}
    assert len(set(result.orders)) == 4
    assert set(result.orders) <= set(visited)
    assert result.payoffs == sorted(visited.values(), reverse=True)[:4]


def test_the_start_counts_only_if_the_search_stayed_there():
    better = OrderSearch(n_iterations=1, keep=2, start=(0, 1))
    with pytest.warns(UserWarning, match="only 1 order was found"):
        moved = better.find(Toy(lambda order: order[0], n_labels=2), start=(0, 1), rng=np.random.default_rng(0))
    assert moved.orders == [(1, 0)]
    with pytest.warns(UserWarning, match="only 1 order was found"):
        stayed = better.find(Toy(lambda order: -order[0], n_labels=2), start=(0, 1), rng=np.random.default_rng(0))
    assert stayed.orders == [(0, 1)]


def test_the_pool_of_all_evaluated_orders():
    toy = Toy(lambda order: -order[0])
    order_search = OrderSearch(n_iterations=40, keep=24, pool="evaluated", start=(0, 1, 2, 3), acceptance="strict")
    with pytest.warns(UserWarning, match="different orders were found"):
        result = order_search.find(toy, start=(0, 1, 2, 3), rng=np.random.default_rng(0))
    assert set(result.orders) == set(toy.seen)
    with pytest.warns(UserWarning, match="only 1 order was found"):
        visited = clone(order_search).set_params(pool="visited").find(toy, start=(0,), rng=np.random.default_rng(0))
    assert visited.orders == [(0, 1, 2, 3)]


def test_orders_that_are_the_same_chain_are_kept_once():
    with pytest.warns(UserWarning, match="only 1 order was found"):
        result, _ = run(OrderSearch(n_iterations=10, keep=3), parents="none")
    assert len(result.orders) == 1


def test_a_swap_fits_the_links_between_its_positions_at_most():
    result, _ = run(OrderSearch(n_iterations=40), n_labels=9)
    order = result.trace[0]["order"]
    for before, row in itertools.pairwise(result.trace):
        changed = [k for k, (left, right) in enumerate(zip(order, row["candidate"], strict=True)) if left != right]
        assert row["n_links_fitted"] - before["n_links_fitted"] <= max(changed) - min(changed) + 1
        order = row["order"]


def test_restarts_reach_the_best_of_all_orders():
    evaluator = OrderSearch().evaluator(LogisticLink(), *problem(4), seed=1)
    everything = AllOrders().find(evaluator, start=(0, 1, 2, 3), rng=np.random.default_rng(0))
    ends = local_optima({row["order"]: row["payoff"] for row in everything.trace}, evaluator.tolerance)
    for seed in range(5):
        result = OrderSearch(n_iterations=200).find(evaluator, start=(3, 2, 1, 0), rng=np.random.default_rng(seed))
        assert result.orders[0] in ends
    result = OrderSearch(n_iterations=50, n_restarts=10).find(
        evaluator, start=(3, 2, 1, 0), rng=np.random.default_rng(0)
    )
    assert result.payoffs[0] == everything.payoffs[0]
    starts = [row["order"] for row in result.trace if row["iteration"] == 0]
    assert starts[0] == (3, 2, 1, 0)
    assert len(set(starts)) > 3
    assert len(result.trace) == 10 * 51


@pytest.mark.parametrize("n_labels", [5, 12])
@pytest.mark.parametrize("warm_start", [True, False])
def test_results_do_not_depend_on_the_number_of_jobs(n_labels, warm_start):
    found = []
    for n_jobs in (1, 2, 3):
        order_search = OrderSearch(n_iterations=6, n_restarts=3, keep=2, warm_start=warm_start)
        result, _ = run(order_search, n_labels=n_labels, n_jobs=n_jobs, inference="greedy")
        found.append((result.orders, result.payoffs, [row["candidate_payoff"] for row in result.trace]))
    assert found[0] == found[1] == found[2]


def test_the_same_seed_finds_the_same():
    first, _ = run(OrderSearch(n_iterations=10), seed=4)
    second, _ = run(OrderSearch(n_iterations=10), seed=4)
    other, _ = run(OrderSearch(n_iterations=10), seed=5)
    assert [row["candidate"] for row in first.trace] == [row["candidate"] for row in second.trace]
    assert [row["candidate"] for row in first.trace] != [row["candidate"] for row in other.trace]


def test_starts():
    toy = Toy(lambda order: 0.0)
    for start, expected in ((None, (3, 2, 1, 0)), ([1, 0, 2, 3], (1, 0, 2, 3))):
        result = OrderSearch(n_iterations=0, start=start).find(toy, start=(3, 2, 1, 0), rng=np.random.default_rng(0))
        assert result.orders == [expected]
    starts = {
        OrderSearch(n_iterations=0, start="random").find(toy, start=(0,), rng=np.random.default_rng(seed)).orders[0]
        for seed in range(10)
    }
    assert len(starts) > 3
    with pytest.raises(ValueError, match="not a permutation of 4 labels"):
        OrderSearch(start=[0, 0, 1, 2]).find(toy, start=(0, 1, 2, 3), rng=np.random.default_rng(0))


def test_metropolis_keeps_the_best_it_met():
    result, _ = run(OrderSearch(n_iterations=40, acceptance=Metropolis(temperature=5.0)))
    assert result.payoffs[0] == max(row["payoff"] for row in result.trace if row["iteration"] > 0)
    assert any(row["accepted"] and row["candidate_payoff"] < before["payoff"]
               for before, row in itertools.pairwise(result.trace))  # fmt: skip


@pytest.mark.parametrize(
    "order_search",
    [
        OrderSearch(payoff="exact_match", n_iterations=5),
        OrderSearch(payoff="J_EM_prod", on="truth", validation=None, n_iterations=5),
        OrderSearch(payoff="J_Ham", validation=KFold(2), n_iterations=5),
    ],
)
def test_unknown_labels(order_search):
    X, codes, n_classes = problem()
    codes = np.where(np.random.default_rng(0).random(codes.shape) < 0.1, -1, codes).astype(np.int32)
    evaluator = order_search.evaluator(LogisticLink(), X, codes, n_classes)
    result = order_search.find(evaluator, start=tuple(range(6)), rng=np.random.default_rng(0))
    assert np.isfinite(result.payoffs).all()
    assert result.logarithmic == (order_search.payoff == "J_EM_prod")


def test_an_interrupt_keeps_the_best_so_far():
    toy = Toy(lambda order: order[0])
    done = []

    def on_step(row):
        done.append(row)
        if len(done) == 12:
            raise KeyboardInterrupt

    order_search = OrderSearch(n_iterations=10**6, n_restarts=2)
    with pytest.warns(UserWarning, match="interrupted after"):
        result = order_search.find(toy, start=(0, 1, 2, 3), rng=np.random.default_rng(0), on_step=on_step)
    assert len(result.trace) == 12
    assert result.payoffs[0] == max(row["payoff"] for row in result.trace if row["iteration"] > 0)


def test_an_interrupt_while_links_are_fitted():
    class Slow(LogisticLink):
        def prepared(self, *args, **options):
            fit_links = super().prepared(*args, **options)

            def fit_some(problems, **own):
                nonlocal n_calls
                n_calls += 1
                if n_calls == 8:
                    raise KeyboardInterrupt
                return fit_links(problems, **own)

            return fit_some

    n_calls = 0
    with pytest.warns(UserWarning, match=r"interrupted after \d+ of 31 steps"):
        result, evaluator = run(OrderSearch(n_iterations=30), learner=Slow())
    assert 7 <= len(result.trace) < 31  # a step may need no new link
    assert result.payoffs[0] == max(row["payoff"] for row in result.trace)
    assert evaluator.payoff(result.orders[0]) == result.payoffs[0]  # the evaluator is still good for something
    n_calls = 7
    with pytest.raises(KeyboardInterrupt):
        run(OrderSearch(n_iterations=30), learner=Slow())


def test_steps_are_told():
    rows = []
    toy = Toy(lambda order: order[0])
    order_search = OrderSearch(n_iterations=5, n_restarts=2)
    result = order_search.find(toy, start=(0, 1, 2, 3), rng=np.random.default_rng(0), on_step=rows.append)
    assert rows == result.trace
    assert len(rows) == order_search.n_steps


def test_a_payoff_that_is_not_a_number_is_never_kept():
    toy = Toy(lambda order: np.nan if order[0] == 0 else order[0])
    result = OrderSearch(n_iterations=50).find(toy, start=(0, 1, 2, 3), rng=np.random.default_rng(0))
    assert result.payoffs[0] == 3.0


def test_it_is_made_of_parameters():
    order_search = OrderSearch(TemperedSwap(beta=0.1), keep=3)
    assert clone(order_search).get_params()["proposal__beta"] == 0.1
    assert order_search.set_params(proposal__beta=0.2).proposal.beta == 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": 0}, "keep"),
        ({"n_restarts": 0}, "n_restarts"),
        ({"n_iterations": -1}, "whole number"),
        ({"n_iterations": 2.5}, "whole number"),
        ({"pool": "visitd"}, "did you mean 'visited'"),
        ({"proposal": "swop"}, "did you mean 'swap'"),
        ({"acceptance": "strikt"}, "did you mean 'strict'"),
        ({"payoff": "J_em"}, "did you mean 'J_EM'"),
    ],
)
def test_faults(options, message):
    with pytest.raises(ValueError, match=message):
        OrderSearch(**options).evaluator(LogisticLink(), *problem())
