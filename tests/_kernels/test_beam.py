"""The beam kernel, against its plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.beam import beam
from montechain.chain import no_knowledge
from random_chains import random_given, random_linear_chain
from reference import beam as reference


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), width=st.integers(1, 9))
@settings(deadline=None, max_examples=100)
def test_equals_the_reference(seed, is_known, width):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 7)), 4)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, chain.n_classes) if is_known else None
    known_array = no_knowledge(chain.n_labels) if known is None else known
    labels, log_proba, dropped_log, dropped_mass = beam(*chain.scores(X).arrays, known_array, width, width)
    for i, (kept, expected_log, expected_mass) in enumerate(reference.beam(chain, X, known, width)):
        np.testing.assert_array_equal(labels[i, : len(kept)], [vector for vector, _ in kept])
        np.testing.assert_allclose(log_proba[i, : len(kept)], [value for _, value in kept], rtol=0, atol=1e-10)
        assert (log_proba[i, len(kept) :] == -np.inf).all()
        np.testing.assert_allclose(dropped_log[i], expected_log, rtol=0, atol=1e-10)
        np.testing.assert_allclose(dropped_mass[i], expected_mass, rtol=0, atol=1e-10)


def test_returns_as_many_as_are_wanted():
    rng = np.random.default_rng(0)
    chain = random_linear_chain(rng, 5, 3)
    arrays = chain.scores(rng.normal(size=(4, 3))).arrays
    all_labels, all_log, *dropped = beam(*arrays, no_knowledge(5), 6, 6)
    labels, log_proba, *still_dropped = beam(*arrays, no_knowledge(5), 6, 2)
    np.testing.assert_array_equal(labels, all_labels[:, :2])
    np.testing.assert_array_equal(log_proba, all_log[:, :2])
    np.testing.assert_array_equal(dropped, still_dropped)
