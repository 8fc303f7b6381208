"""The Monte Carlo kernels, against Algorithm 3 with the same draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.monte_carlo import monte_carlo
from montechain.chain import no_knowledge
from montechain.inference.monte_carlo import draw
from montechain.links.linear import SOFTMAX
from montechain.prefix_tree import PrefixTree
from random_chains import log_proba_table, random_given, random_linear_chain
from reference import monte_carlo as reference


def random_problem(seed, is_known, is_binary=False):
    rng = np.random.default_rng(seed)
    n_classes, response = (2, SOFTMAX) if is_binary else (int(rng.integers(2, 5)), None)
    scale = rng.choice([0.3, 1, 3])
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), n_classes, scale=scale, response=response)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, chain.n_classes) if is_known else None
    uniforms = rng.random((int(rng.choice([1, 2, 7, 40])), chain.n_labels))
    return chain, X, known, no_knowledge(chain.n_labels) if known is None else known, uniforms


@pytest.mark.parametrize("is_binary", [True, False])
@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), start_greedy=st.booleans())
@settings(deadline=None, max_examples=60)
def test_equals_algorithm_3(is_binary, seed, is_known, start_greedy):
    chain, X, known, known_array, uniforms = random_problem(seed, is_known, is_binary)
    labels, log_proba, upper_bound = monte_carlo(*chain.scores(X).arrays, known_array, uniforms, start_greedy)
    expected_labels, expected = reference.monte_carlo(chain, X, known, uniforms, start_greedy)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(log_proba, expected, rtol=0, atol=1e-10)
    # The bound holds, and is at least as sharp as that of the classes that no draw entered.
    _, table = log_proba_table(chain, X, known)
    assert (upper_bound >= table.max(axis=1) - 1e-10).all()
    unvisited = reference.unvisited_bound(chain, X, known, uniforms)
    assert (upper_bound <= np.maximum(expected, unvisited) + 1e-10).all()


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans())
@settings(deadline=None, max_examples=60)
def test_drawn_vectors_are_the_distinct_draws(seed, is_known):
    chain, X, known, _, uniforms = random_problem(seed, is_known)
    found = draw(PrefixTree(chain, X, known), uniforms)
    for i, expected in enumerate(reference.drawn_vectors(chain, X, known, uniforms)):
        row = found.rows == i
        np.testing.assert_array_equal(found.labels[row], [y for y, _, _, _ in expected])
        np.testing.assert_array_equal(found.counts[row], [count for _, count, _, _ in expected])
        np.testing.assert_allclose(found.log_proba[row], [value for _, _, value, _ in expected], rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.log_weight[row], [weight for _, _, _, weight in expected], rtol=0, atol=1e-10)


def test_probabilities_that_underflow_are_compared_by_their_logarithms():
    rng = np.random.default_rng(0)
    chain = random_linear_chain(rng, 6, response=SOFTMAX, scale=900.0)
    X, uniforms = rng.normal(size=(4, 3)), rng.random((10, 6))
    known = np.where(rng.random((4, 6)) < 0.5, 1, -1).astype(np.int32)
    labels, log_proba, _ = monte_carlo(*chain.scores(X).arrays, known, uniforms, True)
    expected, values = reference.monte_carlo(chain, X, known, uniforms, True)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(log_proba, values, rtol=1e-12, atol=1e-12)
    assert (values < -700.0).any()
