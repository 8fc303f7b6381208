"""Proposals: laws for all of them, then the distribution of each."""

from collections import Counter
from itertools import permutations, product
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from montechain.ordering.proposals import Swap, TemperedSwap
from reference import ordering as reference

ALL = [Swap(), Swap(reach=1), TemperedSwap(), TemperedSwap(beta=0.5, warmup=3)]

SIGNIFICANCE = 1e-5
"""Of one test: there are about fifty, and none of them should fail by chance when draws change."""


def draws(proposal, order, t, n_draws, seed=0):
    rng = np.random.default_rng(seed)
    return Counter(proposal.propose(order, t, rng) for _ in range(n_draws))


def assert_distributed(counts, probabilities):
    """Chi-square test, with rare outcomes put together."""
    assert set(counts) <= {outcome for outcome, p in probabilities.items() if p > 0}
    n_draws = sum(counts.values())
    frequent = [outcome for outcome, p in probabilities.items() if p * n_draws >= 5]
    observed = np.array([counts[outcome] for outcome in frequent], dtype=float)
    expected = np.array([probabilities[outcome] * n_draws for outcome in frequent])
    rest = n_draws - expected.sum()
    if rest > 1e-6 * n_draws:
        observed, expected = np.r_[observed, n_draws - observed.sum()], np.r_[expected, rest]
    if len(expected) > 1:
        assert chisquare(observed, expected * (n_draws / expected.sum())).pvalue > SIGNIFICANCE
    else:
        assert observed[0] == n_draws


@pytest.mark.parametrize("proposal", ALL, ids=str)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(2, 30), t=st.integers(1, 10**6))
@settings(max_examples=50)
def test_a_candidate_is_another_permutation(proposal, seed, n_labels, t):
    rng = np.random.default_rng(seed)
    order = tuple(rng.permutation(n_labels).tolist())
    candidate = proposal.propose(order, t, rng)
    assert type(candidate) is tuple
    assert all(type(label) is int for label in candidate)
    assert sorted(candidate) == list(range(n_labels))
    assert candidate != order


@pytest.mark.parametrize("proposal", ALL, ids=str)
def test_one_label_stays_and_two_are_exchanged(proposal):
    rng = np.random.default_rng(0)
    assert proposal.propose((0,), 1, rng) == (0,)
    assert all(proposal.propose((0, 1), t, rng) == (1, 0) for t in (1, 10, 10**9))


@pytest.mark.parametrize("proposal", ALL, ids=str)
@pytest.mark.parametrize("n_labels", [2, 3, 4, 5])
def test_every_order_is_reached(proposal, n_labels):
    def neighbours(order):
        return draws(proposal, order, 1, 60)

    start = tuple(range(n_labels))
    assert reference.reachable(start, neighbours) == set(permutations(start))


@pytest.mark.parametrize("proposal", ALL, ids=str)
def test_a_step_and_its_return_are_equally_likely(proposal):
    order, n_draws = (0, 1, 2, 3), 4000
    there = draws(proposal, order, 40, n_draws, seed=1)
    for candidate, count in there.items():
        back = draws(proposal, candidate, 40, n_draws, seed=2)[order]
        assert abs(count - back) <= 4 * np.sqrt(count + back + 1)


@pytest.mark.parametrize("n_labels", [2, 3, 6, 14])
@pytest.mark.parametrize("beta", [0.001, 0.03, 0.5])
@pytest.mark.parametrize("t", [1, 20, 300])
def test_tempered_swap_follows_the_formula(n_labels, beta, t):
    order = tuple(range(n_labels))
    expected = Counter()
    for (first, second), probability in reference.tempered_pairs(n_labels, t, beta).items():
        expected[reference.exchange(order, first - 1, second - 1)] += probability
    counts = draws(TemperedSwap(beta=beta), order, t, 6000, seed=[n_labels, t, round(1000 * beta)])
    assert_distributed(counts, expected)


def test_tempered_swap_is_uniform_during_warmup():
    order = tuple(range(5))
    uniform = dict.fromkeys(reference.swaps(order), 1 / 10)
    proposal = TemperedSwap(beta=10.0, warmup=7)
    assert_distributed(draws(proposal, order, 7, 10_000), uniform)
    assert set(draws(proposal, order, 8, 200)) == {(0, 1, 2, 4, 3)}


@pytest.mark.parametrize(("beta", "t"), [(1e4, 1), (0.03, 10**7), (1e308, 10**6), (1e-3, 10**12)])
def test_great_beta_or_time_leaves_the_last_positions(beta, t):
    for n_labels in (3, 10, 40):
        order = tuple(range(n_labels))
        expected = (*order[:-2], order[-1], order[-2])
        assert set(draws(TemperedSwap(beta=beta), order, t, 100)) == {expected}


def test_extreme_uniforms_draw_positions_that_have_weight():
    order, nearly_one = tuple(range(5)), np.nextafter(1.0, 0.0)
    for uniforms in product((0.0, nearly_one), repeat=2):
        assert TemperedSwap(beta=1e9).propose(order, 1, Mock(**{"random.side_effect": uniforms})) == (0, 1, 2, 4, 3)
    assert TemperedSwap().propose(order, 1, Mock(**{"random.return_value": 0.0})) == (1, 0, 2, 3, 4)


@pytest.mark.parametrize(("n_labels", "reach"), [(2, None), (6, None), (2, 1), (6, 1), (6, 3), (6, 100), (10, 2)])
def test_swaps_are_uniform_over_pairs_within_reach(n_labels, reach):
    order, swaps = tuple(range(n_labels)), Counter()
    pairs = [(i, j) for i in order for j in order if 0 < abs(i - j) <= (reach or n_labels)]
    for i, j in pairs:
        swaps[reference.exchange(order, i, j)] += 1 / len(pairs)
    assert_distributed(draws(Swap(reach), order, 1, 10_000), swaps)
