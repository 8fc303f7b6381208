"""The exhaustive kernels, against a dictionary of all vectors."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.exhaustive import all_vectors, exhaustive
from montechain.chain import no_knowledge
from random_chains import random_given, random_linear_chain
from reference import exhaustive as reference


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), parents=st.sampled_from(["all", "none", "tree", 2]))
@settings(deadline=None, max_examples=50)
def test_equals_the_reference(seed, is_known, parents):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4, parents)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, chain.n_classes) if is_known else None
    known_array = no_knowledge(chain.n_labels) if known is None else known
    arrays = chain.scores(X).arrays
    labels, log_proba = exhaustive(*arrays, known_array)
    for i, (vector, value) in enumerate(reference.exhaustive(chain, X, known)):
        np.testing.assert_array_equal(labels[i], vector)
        np.testing.assert_allclose(log_proba[i], value, rtol=0, atol=1e-10)
    expected = reference.all_vectors(chain, X, known)
    n_vectors = np.array([len(vectors) for vectors in expected])
    labels, log_proba = all_vectors(*arrays, known_array, n_vectors)
    np.testing.assert_array_equal(labels, [y for vectors in expected for y in vectors])
    np.testing.assert_allclose(
        log_proba, [value for vectors in expected for value in vectors.values()], rtol=0, atol=1e-10
    )
