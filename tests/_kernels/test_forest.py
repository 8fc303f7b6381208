"""Sum-product over forests, against sums over all vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain._kernels.forest import marginals
from montechain.chain import no_knowledge
from montechain.links.linear import FittedLinearLink, LinearScorer
from random_chains import random_given, random_linear_chain
from reference import forest as reference


@given(seed=st.integers(0, 2**32 - 1), parents=st.sampled_from(["none", "tree", 1]), is_known=st.booleans())
@settings(deadline=None, max_examples=150)
def test_equals_the_reference(seed, parents, is_known):
    rng = np.random.default_rng(seed)
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), 5, parents, scale=float(rng.choice([0.3, 1.0, 3.0])))
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, chain.n_classes) if is_known else None
    parent = np.array([p[0] if p else -1 for p in chain.parents])
    proba, log_evidence = marginals(
        *chain.scores(X).arrays, no_knowledge(chain.n_labels) if known is None else known, parent
    )
    np.testing.assert_allclose(proba, np.hstack(reference.marginals(chain, X, known)), rtol=0, atol=1e-9)
    expected = np.zeros(3) if known is None else reference.log_evidence(chain, X, known)
    np.testing.assert_allclose(log_evidence, expected, rtol=0, atol=1e-9)


def test_many_labels_known_to_be_rare_do_not_underflow():
    rare = FittedLinearLink(2, 0, np.zeros((1, 1)), np.array([-50.0]), (np.array([[0.0], [0.5]]),))
    root = FittedLinearLink(2, 0, np.zeros((1, 1)), np.array([0.0]))
    arrays = LinearScorer([root, *[rare] * 40], [(), *[(0,)] * 40]).scores(np.zeros((1, 1))).arrays
    known = np.array([[-1, *[1] * 40]], dtype=np.int32)
    proba, log_evidence = marginals(*arrays, known, np.array([-1, *[0] * 40]))
    # Each of the forty makes the root's second class exp(0.5) times as probable.
    assert proba[0, 1] == pytest.approx(1 / (1 + np.exp(-20)), abs=1e-12)
    assert log_evidence[0] == pytest.approx(np.log(0.5) - 2000 + np.logaddexp(0, 20), abs=1e-8)
