"""The epsilon-approximate kernel, against its plain twin."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.epsilon import epsilon_approximate
from montechain.chain import no_knowledge
from random_chains import random_given, random_linear_chain
from reference import epsilon as reference


@given(
    seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), epsilon=st.sampled_from([0.0, 0.01, 0.1, 0.25, 0.5, 1.0])
)
@settings(deadline=None, max_examples=100)
def test_equals_the_reference(seed, is_known, epsilon):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, chain.n_classes) if is_known else None
    labels, log_proba, upper_bound, overfull = epsilon_approximate(
        *chain.scores(X).arrays,
        no_knowledge(chain.n_labels) if known is None else known,
        math.log(epsilon) if epsilon > 0 else -math.inf,
        10**6,
    )
    assert overfull == -1
    for i, (vector, value, bound) in enumerate(reference.epsilon_approximate(chain, X, known, epsilon)):
        np.testing.assert_array_equal(labels[i], vector)
        np.testing.assert_allclose(log_proba[i], value, rtol=0, atol=1e-10)
        np.testing.assert_allclose(upper_bound[i], bound, rtol=0, atol=1e-10)


def test_stops_when_it_would_store_too_much():
    rng = np.random.default_rng(0)
    chain = random_linear_chain(rng, 12, 2, "none", scale=0.01)
    scores = chain.scores(rng.normal(size=(3, 3)))
    *_, overfull = epsilon_approximate(*scores.arrays, no_knowledge(12), -math.inf, 50)
    assert overfull == 0
