"""The loop of Algorithms 1 and 2, on payoffs from a table."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise, permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from montechain.ordering.acceptance import Metropolis, NotWorse, Strict
from montechain.ordering.proposals import Insertion, LocalSwap, Swap, TemperedSwap
from montechain.ordering.search import OrderStep, search
from reference import ordering as reference

PROPOSALS = [Swap(), TemperedSwap(), LocalSwap(), Insertion()]
RULES = [Strict(), NotWorse(), Metropolis()]


def run(payoffs, start, proposal, acceptance, n_iterations, seed=0, **options):
    steps = search(payoffs.__getitem__, start, proposal, acceptance, np.random.default_rng(seed), **options)
    return list(islice(steps, n_iterations + 1))


def table(seed, n_labels, values=None):
    return reference.all_payoffs(reference.TableEvaluator.random(np.random.default_rng(seed), n_labels, values))


@pytest.mark.parametrize("proposal", PROPOSALS, ids=str)
@pytest.mark.parametrize("acceptance", RULES, ids=str)
def test_steps_are_consistent(proposal, acceptance):
    payoffs, start = table(0, 5), (3, 1, 4, 0, 2)
    steps = run(payoffs, start, proposal, acceptance, 60)
    assert steps[0] == OrderStep(0, start, payoffs[start], start, payoffs[start], True)
    for before, step in pairwise(steps):
        assert step.iteration == before.iteration + 1
        assert step.payoff == payoffs[step.order]
        assert step.candidate_payoff == payoffs[step.candidate]
        assert step.candidate != before.order
        assert step.order == (step.candidate if step.accepted else before.order)


@pytest.mark.parametrize("proposal", PROPOSALS, ids=str)
@pytest.mark.parametrize("values", [None, [0.0, 1.0]], ids=["distinct", "ties"])
def test_agrees_with_the_pseudocode(proposal, values):
    for seed in range(5):
        payoffs, start = table(seed, 5, values), tuple(range(5))
        expected = reference.algorithm_1(payoffs.get, start, proposal, 80, np.random.default_rng(seed))
        assert [step.order for step in run(payoffs, start, proposal, Strict(), 80, seed)] == expected
        orders, weights = reference.algorithm_2(payoffs.get, start, proposal, 80, np.random.default_rng(seed))
        steps = run(payoffs, start, proposal, NotWorse(), 80, seed)[1:]
        assert [step.order for step in steps] == orders
        assert [step.payoff for step in steps] == weights


def test_a_strict_climb_ends_where_no_swap_improves():
    ends = set()
    for seed in range(60):
        payoffs = table(7, 5)
        start = reference.random_order(np.random.default_rng([1, seed]), 5)
        steps = run(payoffs, start, Swap(), Strict(), 400, seed)
        ends.add(steps[-1].order)
        assert steps[-1].order in reference.local_optima(payoffs)
    # This table has several, and starts decide which: one climb is not enough.
    assert len(ends) > 1
    assert max(payoffs, key=payoffs.get) in ends


@pytest.mark.parametrize("proposal", PROPOSALS, ids=str)
def test_payoffs_rise(proposal):
    payoffs = table(3, 6, values=[-1.0, 0.0, 0.5])
    strict = run(payoffs, tuple(range(6)), proposal, Strict(), 200)
    assert all((step.payoff > before.payoff) == step.accepted for before, step in pairwise(strict))
    relaxed = run(payoffs, tuple(range(6)), proposal, NotWorse(), 200)
    assert all(step.payoff >= before.payoff for before, step in pairwise(relaxed))
    sideways = [step for before, step in pairwise(relaxed) if step.accepted and step.payoff == before.payoff]
    assert sideways, "no tie was accepted: the test does not tell the rules apart"


def test_a_candidate_must_gain_more_than_the_tolerance():
    rng = np.random.default_rng(0)
    flat = {order: -100.0 * (1 + 1e-7 * rng.uniform(-1, 1)) for order in permutations(range(4))}
    start = (0, 1, 2, 3)
    assert not any(step.accepted for step in run(flat, start, Swap(), Strict(), 50, tolerance=1e-6)[1:])
    assert any(step.accepted for step in run(flat, start, Swap(), Strict(), 50)[1:])
    assert all(step.accepted for step in run(flat, start, Swap(), NotWorse(), 50, tolerance=1e-6))


@pytest.mark.parametrize("acceptance", RULES, ids=str)
def test_the_seed_decides_and_longer_searches_begin_alike(acceptance):
    payoffs, start = table(1, 6), tuple(range(6))
    long = run(payoffs, start, Swap(), acceptance, 100, seed=5)
    assert run(payoffs, start, Swap(), acceptance, 100, seed=5) == long
    assert run(payoffs, start, Swap(), acceptance, 40, seed=5) == long[:41]
    assert run(payoffs, start, Swap(), acceptance, 100, seed=6) != long


@pytest.mark.parametrize("proposal", [Swap(), LocalSwap(), Insertion()], ids=str)
def test_metropolis_visits_orders_in_proportion(proposal):
    # Every 25th step, so that visits are nearly independent, as the chi-square test assumes.
    payoffs = table(2, 3)
    steps = run(payoffs, (0, 1, 2), proposal, Metropolis(temperature=2.0), 75_000)
    visits = Counter(step.order for step in steps[100::25])
    weights = np.exp(np.array(list(payoffs.values())) / 2.0)
    observed = np.array([visits[order] for order in payoffs])
    assert chisquare(observed, weights / weights.sum() * observed.sum()).pvalue > 0.001


def test_nothing_is_computed_before_it_is_asked_for():
    asked = []

    def payoff(order):
        asked.append(order)
        return 0.0

    steps = search(payoff, (0, 1, 2), Swap(), Strict(), np.random.default_rng(0))
    assert not asked
    for n_steps in (1, 2, 3):
        next(steps)
        assert len(asked) == n_steps


def test_one_label():
    steps = run({(0,): 1.0}, (0,), Swap(), Strict(), 5)
    assert [step.order for step in steps] == [(0,)] * 6
