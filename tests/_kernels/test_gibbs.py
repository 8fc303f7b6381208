"""The Gibbs kernel, against one conditional at a time with the same uniform numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.gibbs import gibbs
from montechain.prefix_tree import no_knowledge
from random_chains import random_given
from random_networks import random_linear_network
from reference import gibbs as reference


@given(seed=st.integers(0, 2**32 - 1), is_binary=st.booleans(), is_known=st.booleans(), is_shared=st.booleans())
def test_equals_one_conditional_at_a_time(seed, is_binary, is_known, is_shared):
    rng = np.random.default_rng(seed)
    network = random_linear_network(
        rng,
        int(rng.integers(1, 6)),
        2 if is_binary else int(rng.integers(2, 5)),
        scale=rng.choice([0.3, 1, 3]),
        constant=[int(rng.integers(6))],  # of fewer labels than six, often none
    )
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, network.n_classes) if is_known else None
    n_sweeps = int(rng.integers(1, 20))
    n_collected = int(rng.integers(1, n_sweeps + 1))
    uniforms = rng.random((1 if is_shared else 2, n_sweeps, network.n_labels))
    given_codes = no_knowledge(network.n_labels) if known is None else known
    labels = gibbs(*network.scorer.scores(X), given_codes, uniforms, n_collected)
    np.testing.assert_array_equal(labels, reference.gibbs(network, X, known, uniforms, n_collected))


@pytest.mark.parametrize("max_classes", [2, 3])
def test_scores_do_not_drift_over_many_sweeps(max_classes):
    rng = np.random.default_rng(0)
    network = random_linear_network(rng, 8, max_classes, scale=3.0)
    X = rng.normal(size=(1, 3))
    uniforms = rng.random((1, 1000, 8))
    labels = gibbs(*network.scorer.scores(X), no_knowledge(8), uniforms, 300)
    np.testing.assert_array_equal(labels, reference.gibbs(network, X, None, uniforms, 300))


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_the_extreme_uniform_numbers_draw_the_outermost_classes(uniform):
    network = random_linear_network(np.random.default_rng(1), 4, 3)
    uniforms = np.full((1, 2, 4), uniform)
    labels = gibbs(*network.scorer.scores(np.zeros((1, 3))), no_knowledge(4), uniforms, 1)
    expected = np.zeros(4) if uniform == 0.0 else np.array(network.n_classes) - 1
    np.testing.assert_array_equal(labels[0, 0], expected)
