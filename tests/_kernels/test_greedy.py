"""The greedy kernel, against its plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.greedy import greedy
from montechain.chain import no_knowledge
from random_chains import random_given, random_linear_chain
from reference import greedy as reference


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), parents=st.sampled_from(["all", "none", "tree", 2]))
@settings(deadline=None, max_examples=100)
def test_equals_the_reference(seed, is_known, parents):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 7)), 4, parents)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, chain.n_classes) if is_known else None
    found = greedy(*chain.scores(X).arrays, no_knowledge(chain.n_labels) if known is None else known)
    expected = reference.greedy(chain, X, known)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found[2], expected[2], rtol=0, atol=1e-10)
