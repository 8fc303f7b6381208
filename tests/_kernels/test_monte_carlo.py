"""The Monte Carlo kernels, against Algorithm 3 with the same draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.monte_carlo import monte_carlo
from montechain.prefix_tree import PrefixTree
from random_chains import log_proba_table, random_case, random_linear_chain
from reference import monte_carlo as reference


@pytest.mark.parametrize("is_binary", [True, False])
@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans())
def test_equals_algorithm_3(is_binary, seed, is_known):
    kind = {"most_classes": 2} if is_binary else {"most_classes": 4}
    chain, X, known, rng = random_case(seed, is_known=is_known, n_rows=2, **kind)
    uniforms = rng.random((int(rng.choice([1, 2, 7, 40])), chain.n_labels))
    labels, log_proba, upper_bound = monte_carlo(*PrefixTree(chain, X, known).arrays, uniforms)
    expected_labels, expected = reference.monte_carlo(chain, X, known, uniforms)
    np.testing.assert_array_equal(labels, expected_labels)
    np.testing.assert_allclose(log_proba, expected, rtol=0, atol=1e-10)
    # The bound holds, and is at least as sharp as that of the classes that no draw entered.
    _, table = log_proba_table(chain, X, known)
    assert (upper_bound >= table.max(axis=1) - 1e-10).all()
    unvisited = reference.unvisited_bound(chain, X, known, uniforms)
    assert (upper_bound <= np.maximum(expected, unvisited) + 1e-10).all()


def test_probabilities_that_underflow_are_compared_by_their_logarithms():
    rng = np.random.default_rng(0)
    chain = random_linear_chain(rng, 6, scale=900.0)
    X, uniforms = rng.normal(size=(4, 3)), rng.random((10, 6))
    known = np.where(rng.random((4, 6)) < 0.5, 1, -1).astype(np.int32)
    labels, log_proba, _ = monte_carlo(*chain.scores(X), known, uniforms)
    expected, values = reference.monte_carlo(chain, X, known, uniforms)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(log_proba, values, rtol=1e-12, atol=1e-12)
    assert (values < -700.0).any()
