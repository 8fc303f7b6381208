"""All orders, and orders built link by link."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.ordering import AllOrders, BeamOrder
from reference import ordering as reference


def find(finder, evaluator):
    return finder.find(evaluator, start=tuple(range(evaluator.n_labels)), rng=np.random.default_rng(0))


def evaluator_of(seed, n_labels, values=None):
    return reference.TableEvaluator.random(np.random.default_rng(seed), n_labels, values)


@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(3, 6), has_ties=st.booleans())
@settings(max_examples=30)
def test_the_best_orders_are_found_and_of_equal_ones_the_first(seed, n_labels, has_ties):
    # Whole numbers: sums are exact, in whatever order they are taken.
    evaluator = evaluator_of(seed, n_labels, values=[0, 1] if has_ties else None)
    payoffs = reference.all_payoffs(evaluator)
    expected = sorted(payoffs, key=lambda order: (-payoffs[order], order))[:5]
    for finder, n_kept in ((AllOrders(keep=5), 5), (BeamOrder(width=10**6), 1)):
        result = find(finder, evaluator)
        assert result.orders == expected[:n_kept]
        np.testing.assert_allclose(result.payoffs, [payoffs[order] for order in result.orders], rtol=0, atol=1e-12)
    assert evaluator.n_links_fitted == n_labels * 2 ** (n_labels - 1)


def test_all_orders_takes_any_payoff_and_not_a_number_is_the_worst():
    class Arbitrary(reference.TableEvaluator):
        def payoff(self, order):
            return math.nan if order[0] == 3 else math.sin(sum(2**k * label for k, label in enumerate(order)))

    evaluator = Arbitrary(4, {})
    result = find(AllOrders(keep=24), evaluator)
    assert [row["order"] for row in result.trace] == list(permutations(range(4)))
    assert sorted(result.orders) == sorted(permutations(range(4)))
    assert result.payoffs[:18] == sorted(result.payoffs[:18], reverse=True)
    assert all(math.isnan(payoff) for payoff in result.payoffs[18:])
    evaluator = evaluator_of(0, 3)
    evaluator.table = {link: math.nan if link[0] == 0 and link[1] else 0.0 for link in evaluator.table}
    assert find(BeamOrder(), evaluator).orders == [(0, 1, 2)]


def test_width_one_is_greedy_and_wider_beams_are_better():
    n_labels, found = 7, {width: [] for width in (1, 3, 10, 35)}
    for seed in range(20):
        order: tuple[int, ...] = ()
        while len(order) < n_labels:
            left = [label for label in range(n_labels) if label not in order]
            values = {label: evaluator_of(seed, n_labels).table[label, frozenset(order)] for label in left}
            order += (max(values, key=values.get),)
        greedy = find(BeamOrder(), evaluator_of(seed, n_labels))
        assert greedy.orders == [order]
        assert [row["order"] for row in greedy.trace] == [order[:k] for k in range(1, n_labels + 1)]
        best = find(BeamOrder(width=10**6), evaluator_of(seed, n_labels)).payoffs[0]
        for width, payoffs in found.items():
            evaluator = evaluator_of(seed, n_labels)
            payoffs.append(best - find(BeamOrder(width=width), evaluator).payoffs[0])
            assert payoffs[-1] >= -1e-12
            assert evaluator.n_links_fitted <= width * n_labels * (n_labels + 1) / 2
    means = [np.mean(payoffs) for payoffs in found.values()]
    assert means[0] > means[1] > means[2] > means[3]
    # There are no more than 35 sets of the same size.
    assert means[3] == pytest.approx(0.0, abs=1e-12)


def test_a_place_in_the_beam_is_not_taken_twice():
    # 01, 10, 03 and 23 are the best beginnings, in this order, and only the last has a good end. Three prefixes would
    # not reach so far; three sets do.
    first = {(0, ()): 5.0, (1, ()): 5.0, (2, ()): 4.0, (3, ()): -10.0}
    second = {(1, (0,)): 5.0, (0, (1,)): 4.9, (3, (0,)): 4.8, (3, (2,)): 5.0}
    third = {(label, earlier): -20.0 for earlier in [(0, 1), (0, 3)] for label in range(4) if label not in earlier}
    links = dict.fromkeys(evaluator_of(0, 4).table, 0.0)
    links |= {(label, frozenset(earlier)): value for (label, earlier), value in (first | second | third).items()}
    evaluator = reference.TableEvaluator(4, links)
    assert find(BeamOrder(width=3), evaluator).orders == find(AllOrders(), evaluator).orders == [(2, 3, 0, 1)]
    assert find(BeamOrder(width=2), evaluator).orders != [(2, 3, 0, 1)]
