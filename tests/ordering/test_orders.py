"""All orders, and orders built link by link."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.ordering import AllOrders, BeamOrder
from reference import ordering as reference

EXACT = [AllOrders(keep=5), BeamOrder(width=None, keep=5), BeamOrder(width=10**6, keep=5)]


def find(finder, evaluator, seed=0):
    rng = np.random.default_rng(seed)
    return finder.find(evaluator, start=reference.random_order(rng, evaluator.n_labels), rng=rng)


def evaluator_of(seed, n_labels, values=None):
    return reference.TableEvaluator.random(np.random.default_rng(seed), n_labels, values)


@pytest.mark.parametrize("finder", EXACT, ids=str)
@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(3, 6), has_ties=st.booleans())
@settings(max_examples=20)
def test_the_best_orders_are_found_and_of_equal_ones_the_first(finder, seed, n_labels, has_ties):
    # Whole numbers: sums are exact, in whatever order they are taken.
    evaluator = evaluator_of(seed, n_labels, values=[0, 1] if has_ties else None)
    payoffs = reference.all_payoffs(evaluator)
    expected = sorted(payoffs, key=lambda order: (-payoffs[order], order))[:5]
    result = find(finder, evaluator, seed)
    assert result.orders == expected
    np.testing.assert_allclose(result.payoffs, [payoffs[order] for order in expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_labels", [1, 4, 6])
@pytest.mark.parametrize("finder", [*EXACT, BeamOrder(width=2)], ids=str)
@pytest.mark.filterwarnings("ignore:`keep=5`, but only")
def test_each_link_is_announced_and_asked_for_once(finder, n_labels):
    evaluator = evaluator_of(0, n_labels)
    result = find(finder, evaluator)
    announced = [link for batch in evaluator.batches for link in batch]
    assert len(announced) == len(set(announced))
    assert set(announced) == evaluator.asked
    assert max(map(len, evaluator.batches)) <= 128
    assert result.trace[-1]["n_links_fitted"] == evaluator.n_links_fitted
    if finder in EXACT:
        assert evaluator.n_links_fitted == n_labels * 2 ** (n_labels - 1)


def test_all_orders_takes_any_payoff():
    class Arbitrary(reference.TableEvaluator):
        def payoff(self, order):
            return math.nan if order[0] == 3 else math.sin(sum(2**k * label for k, label in enumerate(order)))

    evaluator = Arbitrary(4, {})
    result = find(AllOrders(keep=24), evaluator)
    expected = {order: evaluator.payoff(order) for order in permutations(range(4))}
    assert [row["order"] for row in result.trace] == list(expected)
    assert sorted(result.orders) == sorted(expected)
    assert all(a >= b for a, b in pairwise(result.payoffs[:18]))
    assert all(math.isnan(payoff) for payoff in result.payoffs[18:]), "what is not a number comes last"


def test_width_one_is_greedy():
    for seed in range(20):
        evaluator = evaluator_of(seed, 6)
        order: tuple[int, ...] = ()
        while len(order) < 6:
            left = [label for label in range(6) if label not in order]
            values = {label: evaluator.link_payoffs[label, frozenset(order)] for label in left}
            order += (max(values, key=values.get),)
        result = find(BeamOrder(), evaluator)
        assert result.orders == [order]
        assert result.payoffs == pytest.approx([evaluator.payoff(order)], abs=1e-12)
        assert [row["order"] for row in result.trace] == [order[:k] for k in range(1, 7)]


def test_a_beam_never_does_better_than_all_and_costs_little():
    n_labels, found = 7, {width: [] for width in (1, 3, 10, 35)}
    for seed in range(20):
        best = find(BeamOrder(width=None), evaluator_of(seed, n_labels)).payoffs[0]
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
    links = dict.fromkeys(evaluator_of(0, 4).link_payoffs, 0.0)
    links |= {(label, frozenset(earlier)): value for (label, earlier), value in (first | second | third).items()}
    evaluator = reference.TableEvaluator(4, links)
    assert find(BeamOrder(width=3), evaluator).orders == find(AllOrders(), evaluator).orders == [(2, 3, 0, 1)]
    assert find(BeamOrder(width=2), evaluator).orders != [(2, 3, 0, 1)]


def test_many_labels():
    class Near(reference.TableEvaluator):
        def link_payoff(self, label, earlier):
            return float(label - 1 in earlier) - 0.001 * label

    assert find(BeamOrder(width=2), Near(103, {})).orders == [tuple(range(103))]


def test_not_a_number_is_the_worst():
    evaluator = evaluator_of(0, 3)
    evaluator.link_payoffs = {link: math.nan if link[0] == 0 and link[1] else 0.0 for link in evaluator.link_payoffs}
    for finder in (AllOrders(), BeamOrder(width=None), BeamOrder()):
        assert find(finder, evaluator).orders == [(0, 1, 2)]


def test_fewer_orders_than_asked_for_are_announced():
    for finder in (AllOrders(keep=10), BeamOrder(width=None, keep=10), BeamOrder(width=100, keep=10)):
        with pytest.warns(UserWarning, match="`keep=10`, but only 6 different orders were found"):
            result = find(finder, evaluator_of(0, 3))
        assert len(set(result.orders)) == 6
    with pytest.warns(UserWarning, match="`keep=2`, but only 1 order was found"):
        find(BeamOrder(width=1, keep=2), evaluator_of(0, 3))


def test_too_many_labels():
    with pytest.raises(ValueError, match=r"AllOrders\(\) would score 362880 orders of 9 labels. Try OrderSearch"):
        find(AllOrders(), reference.TableEvaluator(9, {}))
    with pytest.raises(ValueError, match=r"would fit 524288 links of 16 labels. Try a limit, e.g. BeamOrder\(width"):
        find(BeamOrder(width=None), reference.TableEvaluator(16, {}))


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "3"])
@pytest.mark.parametrize(("kind", "name"), [(AllOrders, "keep"), (BeamOrder, "width"), (BeamOrder, "keep")])
def test_bad_parameters(kind, name, value):
    with pytest.raises(ValueError, match=rf"`{name}=.*` of {kind.__name__} must be a positive integer, e.g."):
        find(kind(**{name: value}), evaluator_of(0, 2))
