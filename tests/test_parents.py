"""Parents: names, graphs, mutual information, and the orders they ask for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from montechain import ChainClassifier, ChainPopulationClassifier, LogisticLink
from montechain.ordering.evaluator import OrderEvaluator
from montechain.parents import arrange, mutual_information


def random_codes(seed, n_rows, n_labels, max_classes, unknown_share):
    rng = np.random.default_rng(seed)
    n_classes = rng.integers(1, max_classes + 1, n_labels)
    codes = np.column_stack([rng.integers(k, size=n_rows) for k in n_classes]).astype(np.int32)
    codes[rng.random(codes.shape) < unknown_share] = -1
    return codes, n_classes


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), unknown=st.sampled_from([0.0, 0.3]))
def test_mutual_information_agrees_with_scikit_learn_and_counts_weights(seed, unknown):
    codes, n_classes = random_codes(seed, 30, 4, 4, unknown)
    information = mutual_information(codes, n_classes)
    for j, k in np.ndindex(4, 4):
        both = (codes[:, j] >= 0) & (codes[:, k] >= 0)
        expected = mutual_info_score(codes[both, j], codes[both, k])
        assert information[j, k] == pytest.approx(expected, abs=1e-9)
    # Whole weights are repetitions.
    times = np.random.default_rng(seed).integers(0, 4, 30)
    again = np.repeat(codes, times, axis=0)
    for scale in (1.0, 0.1, 1e-6):
        weighted = mutual_information(codes, n_classes, scale * times)
        np.testing.assert_allclose(weighted, mutual_information(again, n_classes), atol=1e-9)


@pytest.mark.parametrize("parents", ["tree", 1])
@pytest.mark.parametrize("searched", [False, True])
def test_rows_of_weight_zero_do_not_choose_parents(parents, searched):
    # Labels 1 and 2 agree in the rows that count, labels 0 and 2 in those that do not.
    rng = np.random.default_rng(0)
    Y = rng.integers(2, size=(80, 3))
    Y[:40, 2], Y[40:, 2] = Y[:40, 1], Y[40:, 0]
    X, weight = rng.normal(size=(80, 2)), np.repeat([1.0, 0.0], 40)
    if searched:
        # The payoffs are left alone: this is about the graphs that the search sees.
        evaluator = OrderEvaluator(
            LogisticLink(), X, Y.astype(np.int32), [2] * 3, parents=parents, sample_weight=weight
        )
        assert evaluator.arranged((0, 1, 2))[1][2] == (1,)
        return
    model = ChainClassifier(order=[0, 1, 2], parents=parents).fit(X, Y, sample_weight=weight)
    assert model.parents_[2] == (1,)
    population = ChainPopulationClassifier(order=[[0, 1, 2]], parents=parents).fit(X, Y, sample_weight=weight)
    assert population.chains_[0].parents[2] == (1,)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_labels=st.integers(1, 7))
def test_tree_is_the_heaviest_spanning_tree_directed_from_the_first_label(seed, n_labels):
    codes, n_classes = random_codes(seed, 25, n_labels, 3, 0.0)
    order = np.random.default_rng(seed).permutation(n_labels).tolist()
    new_order, graph = arrange("tree", order, codes, n_classes)
    assert sorted(new_order) == list(range(n_labels))
    assert new_order[0] == order[0]
    assert graph[order[0]] == ()
    information = mutual_information(codes, n_classes)
    weight = sum(information[label, parents[0]] for label, parents in enumerate(graph) if parents)
    assert all(len(graph[label]) == 1 for label in range(n_labels) if label != order[0])
    assert weight == pytest.approx(prim_weight(information), abs=1e-9)
    rank = {label: k for k, label in enumerate(new_order)}
    assert all(rank[p] < rank[label] for label, parents in enumerate(graph) for p in parents)


def prim_weight(information):
    inside, total = {0}, 0.0
    while len(inside) < len(information):
        edge = max((information[i, j], j) for i in inside for j in range(len(information)) if j not in inside)
        total += edge[0]
        inside.add(edge[1])
    return total


def test_integer_takes_the_most_informative_earlier_labels():
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=200)
    noise = rng.integers(2, size=200)
    codes = np.column_stack([noise, a, 1 - a]).astype(np.int32)
    order, graph = arrange(1, [0, 1, 2], codes, [2, 2, 2])
    assert order == (0, 1, 2)
    assert graph[2] == (1,)
    assert arrange(5, [0, 1, 2], codes, [2, 2, 2])[1] == ((), (0,), (0, 1))
    assert arrange(0, [0, 1, 2], codes, [2, 2, 2])[1] == ((), (), ())


CODES = np.zeros((3, 3), dtype=np.int32)


def test_explicit_graphs_are_put_into_a_fitting_order():
    order, parents = arrange({0: [2], 1: [0, 2]}, [0, 1, 2], CODES, [2, 2, 2])
    assert order == (2, 0, 1)
    assert parents == ((2,), (0, 2), ())
    assert arrange({"b": ["c"]}, [0, 1, 2], CODES, [2, 2, 2], names=["a", "b", "c"])[1] == ((), (2,), ())
