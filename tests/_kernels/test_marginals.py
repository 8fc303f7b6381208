"""The marginals' kernels, against sums over all vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.marginals import bounded_marginals
from montechain.inference import Exhaustive
from montechain.inference.enumeration import Effort, marginals
from montechain.links.linear import FittedLinearLink, LinearScorer
from montechain.prefix_tree import PrefixTree, no_knowledge
from random_chains import NO_LIMIT, PARENTS, SEEDS, exact_marginals, random_case, random_linear_chain

RESIDUALS = st.sampled_from([0.0, 1e-4, 0.01, 0.1, 0.4])
BINARY = {"most_classes": 2}


def long_chain(n_labels, n_rows, scale=0.7):
    rng = np.random.default_rng(n_labels)
    chain = random_linear_chain(rng, n_labels, 2, scale=scale)
    return chain, rng.normal(size=(n_rows, 3))


@given(seed=SEEDS, parents=PARENTS, residual=RESIDUALS)
def test_the_truth_lies_within_bounds_as_close_as_asked(seed, parents, residual):
    chain, X, *_ = random_case(seed, parents, most_labels=6, **BINARY)
    base, (effects, *_) = chain.scores(X)
    proba, lower, unresolved, settled, _ = bounded_marginals(
        base, effects, no_knowledge(chain.n_labels), residual, NO_LIMIT
    )
    assert settled.all()
    expected = np.hstack(exact_marginals(chain, X))
    upper = lower + np.repeat(unresolved, 2, axis=1)
    assert (lower <= expected + 1e-12).all()
    assert (expected <= upper + 1e-12).all()
    assert (unresolved <= 2.0 * residual).all()
    np.testing.assert_allclose(proba, 0.5 * (lower + upper), rtol=0, atol=1e-15)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=residual + 1e-12)
    np.testing.assert_allclose(proba.reshape(len(X), -1, 2).sum(axis=2), 1.0, rtol=0, atol=1e-15)


@given(seed=SEEDS, parents=PARENTS, residual=RESIDUALS, max_nodes=st.integers(0, 12))
def test_beyond_the_budget_or_with_knowledge_the_bounds_still_hold(seed, parents, residual, max_nodes):
    chain, X, known, rng = random_case(seed, parents, is_known=True, n_rows=4, most_labels=6, **BINARY)
    known[::2] = -1
    effort = Effort(residual, max(1, max_nodes), 20)
    found = marginals(PrefixTree(chain, X, known), effort, rng=rng)
    expected, lower = np.hstack(exact_marginals(chain, X, known)), np.hstack(found.lower)
    assert (lower <= expected + 1e-9).all()
    assert (expected <= lower + np.repeat(found.unresolved, 2, axis=1) + 1e-9).all()
    assert (np.abs(np.hstack(found.proba) - expected)[~found.estimated] <= residual + 1e-9).all()
    scores = chain.scores(X)
    settled, nodes = bounded_marginals(scores.base, scores.links.effects, known, 0.0, max(1, max_nodes))[3:]
    assert not settled[(known >= 0).any(axis=1)].any()
    assert not found.estimated[settled].any()
    assert (nodes[settled] <= max(1, max_nodes)).all()


@pytest.mark.parametrize("n_labels", [9, 12, 13])
def test_a_longer_chain_agrees_with_the_enumeration(n_labels):
    chain, X = long_chain(n_labels, 4)
    free, arrays = no_knowledge(n_labels), (chain.scores(X).base, chain.scores(X).links.effects)
    rng = np.random.default_rng(0)
    expected = np.hstack(Exhaustive().marginals(PrefixTree(chain, X), rng).proba)
    exact, _, unresolved, _, every = bounded_marginals(*arrays, free, 0.0, NO_LIMIT)
    np.testing.assert_allclose(exact, expected, rtol=0, atol=1e-12)
    assert (unresolved == 0.0).all()
    for residual in (0.1, 0.01, 0.001):
        proba, lower, unresolved, settled, nodes = bounded_marginals(*arrays, free, residual, NO_LIMIT)
        assert settled.all()
        assert residual < 0.1 or (nodes < every).all()
        assert (np.abs(proba - expected) <= residual + 1e-12).all()
        assert (lower <= expected + 1e-12).all()
        assert (expected <= lower + np.repeat(unresolved, 2, axis=1) + 1e-12).all()


def test_a_row_does_not_depend_on_its_neighbours():
    chain, X = long_chain(11, 7)
    base, effects = chain.scores(X).base, chain.scores(X).links.effects
    together = bounded_marginals(base, effects, no_knowledge(11), 0.01, NO_LIMIT)
    for i in range(len(base)):
        alone = bounded_marginals(base[[i]], effects, no_knowledge(11), 0.01, NO_LIMIT)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_array_equal(a[i], b[0])


def test_labels_without_effect_on_others_cost_nothing():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(3, 60))
    proba, _, unresolved, settled, nodes = bounded_marginals(base, np.zeros((60, 60)), no_knowledge(60), 0.0, 0)
    np.testing.assert_allclose(proba[:, 1::2], 1.0 / (1.0 + np.exp(-base)), rtol=1e-14)
    assert settled.all()
    assert (unresolved == 0.0).all()
    assert (nodes == 0).all()


def test_classes_of_probability_zero_and_one():
    never = FittedLinearLink.constant(np.array([0.0, -np.inf]), 1, ())
    always = FittedLinearLink.constant(np.array([-np.inf, 0.0]), 1, ())
    last = FittedLinearLink(2, np.zeros((1, 1)), np.zeros(1), (np.array([[0.0], [5.0]]),) * 2)
    scores = LinearScorer([never, always, last], [(), (), (0, 1)]).scores(np.zeros((1, 1)))
    for residual in (0.0, 0.01):
        proba = bounded_marginals(scores.base, scores.links.effects, no_knowledge(3), residual, NO_LIMIT)[0]
        np.testing.assert_allclose(
            proba[0, 1::2], [0.0, 1.0, 1.0 / (1.0 + np.exp(-5.0))], rtol=0, atol=max(residual, 1e-15)
        )
