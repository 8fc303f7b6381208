"""Algorithms 1 and 2: the loop on payoffs from a table, and `OrderSearch` on data."""

import math
from itertools import islice, pairwise
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification

from montechain.links import LogisticLink
from montechain.ordering import AllOrders, OrderSearch, OrderStep, Swap, TemperedSwap, search
from reference import ordering as reference

PROPOSALS = [Swap(), TemperedSwap(), Swap(reach=2)]
INF, NAN = math.inf, math.nan


def walk(payoffs, start, proposal, n_iterations, seed=0, **options):
    steps = search(payoffs.__getitem__, start, proposal, np.random.default_rng(seed), **options)
    return list(islice(steps, n_iterations + 1))


def table(seed, n_labels, values=None):
    return reference.all_payoffs(reference.TableEvaluator.random(np.random.default_rng(seed), n_labels, values))


@pytest.mark.parametrize("proposal", PROPOSALS, ids=str)
@pytest.mark.parametrize("values", [None, [0.0, 1.0]], ids=["distinct", "ties"])
def test_agrees_with_the_pseudocode(proposal, values):
    for seed in range(5):
        payoffs, start = table(seed, 5, values), tuple(range(5))
        expected = reference.algorithm_1(payoffs.get, start, proposal, 80, np.random.default_rng(seed))
        steps = walk(payoffs, start, proposal, 80, seed)
        assert [step.order for step in steps] == expected
        assert steps[0] == OrderStep(0, start, payoffs[start], start, payoffs[start], True)
        for before, step in pairwise(steps):
            assert step.iteration == before.iteration + 1
            assert step.payoff == payoffs[step.order]
            assert step.candidate_payoff == payoffs[step.candidate]
            assert step.order == (step.candidate if step.accepted else before.order)
        orders, weights = reference.algorithm_2(payoffs.get, start, proposal, 80, np.random.default_rng(seed))
        steps = walk(payoffs, start, proposal, 80, seed, accept_ties=True)[1:]
        assert [step.order for step in steps] == orders
        assert [step.payoff for step in steps] == weights


@pytest.mark.parametrize(
    ("candidate", "current", "tolerance", "strict", "not_worse"),
    [
        # Payoffs are logarithms as often as not: the tolerance is a share of the size.
        (-99.95, -100.0, 1e-3, False, True),
        (-100.05, -100.0, 1e-3, False, True),
        (-99.85, -100.0, 1e-3, True, True),
        (-100.15, -100.0, 1e-3, False, False),
        (1e-9, 0.0, 1e-3, True, True),
        # A product of probabilities may be zero, and a scorer may fail.
        (-1.0, -INF, 1e-3, True, True),
        (-INF, -1.0, 1e-3, False, False),
        (-INF, -INF, 1e-3, False, True),
        (NAN, -1.0, 0.0, False, False),
        (-1.0, NAN, 1e-3, True, True),
    ],
)
def test_what_is_accepted(candidate, current, tolerance, strict, not_worse):
    payoffs = {(0, 1): current, (1, 0): candidate}
    assert walk(payoffs, (0, 1), Swap(), 1, tolerance=tolerance)[1].accepted is strict
    assert walk(payoffs, (0, 1), Swap(), 1, tolerance=tolerance, accept_ties=True)[1].accepted is not_worse


def test_a_strict_climb_ends_where_no_swap_improves():
    payoffs, ends = table(7, 5), set()
    for seed in range(60):
        start = tuple(np.random.default_rng([1, seed]).permutation(5).tolist())
        ends.add(walk(payoffs, start, Swap(), 400, seed)[-1].order)
    assert ends <= reference.local_optima(payoffs)
    # This table has several, and starts decide which: one climb is not enough.
    assert len(ends) > 1
    assert max(payoffs, key=payoffs.get) in ends


def test_the_seed_decides_and_longer_searches_begin_alike():
    payoffs, start = table(1, 6), tuple(range(6))
    long = walk(payoffs, start, Swap(), 100, seed=5)
    assert walk(payoffs, start, Swap(), 40, seed=5) == long[:41]
    assert walk(payoffs, start, Swap(), 100, seed=6) != long
    assert [step.order for step in walk({(0,): 1.0}, (0,), Swap(), 5)] == [(0,)] * 6


def problem(n_labels=6, n_rows=150, seed=0):
    X, Y = make_multilabel_classification(n_rows, n_features=12, n_classes=n_labels, n_labels=2, random_state=seed)
    return X, Y.astype(np.int32), [2] * n_labels


def run(order_search, n_labels=6, learner=None, seed=0, **options):
    evaluator = order_search.evaluator(learner or LogisticLink(), *problem(n_labels), **options)
    return order_search.find(evaluator, start=tuple(range(n_labels)), rng=np.random.default_rng(seed)), evaluator


def test_algorithm_1_returns_where_it_ends():
    result, evaluator = run(OrderSearch(n_iterations=30, record=["J_EM_prod", "exact_match"]))
    trace = pd.DataFrame(result.trace)
    assert set(trace) == {
        *("restart", "iteration", "order", "payoff", "candidate", "candidate_payoff", "accepted", "n_links_fitted"),
        *("seconds", "J_EM", "J_EM_prod", "exact_match"),
    }
    assert (result.orders, result.payoffs) == ([trace["order"].iloc[-1]], [trace["payoff"].iloc[-1]])
    assert trace["iteration"].tolist() == list(range(31))
    assert trace["payoff"].is_monotonic_increasing
    assert trace["seconds"].is_monotonic_increasing
    assert (trace["J_EM"] == trace["payoff"]).all()
    assert trace["n_links_fitted"].iloc[[0, -1]].tolist() == [6, evaluator.n_links_fitted]
    for before, row in pairwise(result.trace):
        assert row["accepted"] == (row["candidate_payoff"] > before["payoff"] * (1 + 2e-5))
        assert row["exact_match"] == evaluator.payoffs(row["order"])["exact_match"]


def test_algorithm_2_keeps_the_best_of_the_orders_it_stood_at():
    result, _ = run(OrderSearch(n_iterations=60, keep=4))
    visited = {row["order"]: row["payoff"] for row in result.trace if row["iteration"] > 0}
    assert len(set(result.orders)) == 4
    assert set(result.orders) <= set(visited)
    assert result.payoffs == sorted(visited.values(), reverse=True)[:4]


def test_orders_that_are_the_same_chain_are_kept_once():
    with pytest.warns(UserWarning, match="only 1 order was found"):
        result, _ = run(OrderSearch(n_iterations=10, keep=3), parents="none")
    assert len(result.orders) == 1


def test_restarts_reach_the_best_of_all_orders():
    evaluator = OrderSearch().evaluator(LogisticLink(), *problem(4), seed=1)
    start = {"start": (3, 2, 1, 0)}
    best = AllOrders().find(evaluator, rng=np.random.default_rng(0), **start).payoffs[0]
    result = OrderSearch(n_iterations=50, n_restarts=10).find(evaluator, rng=np.random.default_rng(0), **start)
    assert result.payoffs[0] == best
    starts = [row["order"] for row in result.trace if row["iteration"] == 0]
    assert starts[0] == (3, 2, 1, 0)
    assert len(set(starts)) > 3
    assert len(result.trace) == 10 * 51


@pytest.mark.parametrize("n_labels", [5, 12])
@pytest.mark.parametrize("warm_start", [True, False])
def test_results_do_not_depend_on_the_number_of_jobs(n_labels, warm_start):
    found = []
    for n_jobs in (1, 2, 3):
        order_search = OrderSearch(n_iterations=6, n_restarts=3, keep=2)
        result, _ = run(order_search, n_labels, n_jobs=n_jobs, inference="greedy", warm_start=warm_start)
        found.append((result.orders, result.payoffs, [row["candidate_payoff"] for row in result.trace]))
    assert found[0] == found[1] == found[2]


def test_an_interrupt_while_links_are_fitted_keeps_the_best_so_far():
    class Slow(LogisticLink):
        def prepared(self, *args, **options):
            fit_links = super().prepared(*args, **options)
            return lambda problems, **own: turn() or fit_links(problems, **own)

    turn = Mock(side_effect=[*[None] * 7, KeyboardInterrupt, *[None] * 100])
    with pytest.warns(UserWarning, match=r"interrupted after \d+ of 31 steps"):
        result, evaluator = run(OrderSearch(n_iterations=30), learner=Slow())
    assert 7 <= len(result.trace) < 31  # a step may need no new link
    assert result.payoffs[0] == max(row["payoff"] for row in result.trace)
    assert evaluator.payoff(result.orders[0]) == result.payoffs[0]  # the evaluator can still be used
    turn.side_effect = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        run(OrderSearch(n_iterations=30), learner=Slow())


class Toy(reference.TableEvaluator):
    """An evaluator whose payoffs come from a function; nothing is learned."""

    def __init__(self, value, n_labels=4):
        super().__init__(n_labels, {})
        self.value = value
        self.seen = []

    def payoff(self, order):
        self.seen.append(order)
        return float(self.value(order))


def find(order_search, toy, **options):
    return order_search.find(toy, start=tuple(range(toy.n_labels)), rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize(("sign", "expected"), [(1, (1, 0)), (-1, (0, 1))], ids=["moved", "stayed"])
def test_the_start_counts_only_if_the_search_stayed_there(sign, expected):
    with pytest.warns(UserWarning, match="only 1 order was found"):
        result = find(OrderSearch(n_iterations=1, keep=2), Toy(lambda order: sign * order[0], n_labels=2))
    assert result.orders == [expected]


def test_the_pool_of_all_evaluated_orders():
    order_search, toy = OrderSearch(n_iterations=40, keep=24, pool="evaluated"), Toy(lambda order: -order[0])
    with pytest.warns(UserWarning, match="different orders were found"):
        assert set(find(order_search, toy).orders) == set(toy.seen)
    with pytest.warns(UserWarning, match="different orders were found"):
        visited = find(clone(order_search).set_params(pool="visited"), toy)
    assert {order[0] for order in visited.orders} == {0}


def test_a_payoff_that_is_not_a_number_is_never_kept():
    assert find(OrderSearch(n_iterations=50), Toy(lambda order: NAN if order[0] == 0 else order[0])).payoffs == [3.0]


def test_progress_is_a_line_for_every_tenth(capsys):
    toy = Toy(lambda order: float(len(toy.seen) % 30))
    find(OrderSearch(n_iterations=39, proposal="swap"), toy, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0] == "order search: 4 of 40, payoff 4"
    assert lines[-1] == "order search: 40 of 40, payoff 29"  # the best so far, not the last
