"""`BranchAndBound` and the enumeration that all strategies share, on both kinds of chains, beyond the laws."""

import numpy as np
import pytest

import random_chains as chains
from montechain.chain import Chain
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.inference.enumeration import Effort, evidence, marginals, sum_product, top_k
from montechain.links.linear import FittedLinearLink
from montechain.prefix_tree import PrefixTree


def test_top_k_of_a_generic_chain_is_not_certified_when_the_budget_cuts_prefixes_off():
    chain, X = chains.random_table_chain(np.random.default_rng(1), [3] * 5, n_rows=30, concentration=5.0)
    assert not top_k(PrefixTree(chain, X), 2, max_nodes=1).certified.all()


@pytest.mark.parametrize("is_generic", [False, True])
def test_draws_from_the_frontier_estimate_without_bias(is_generic):
    rng = np.random.default_rng(0)
    chain = chains.random_linear_chain(rng, 5, 3, scale=0.7)
    X = rng.normal(size=(1, 3))
    known = np.array([[-1, -1, -1, 1, -1]], dtype=np.int32)
    _, table = chains.log_proba_table(chain, X, known)
    view = chains.as_generic(chain) if is_generic else chain
    found = marginals(PrefixTree(view, X, known), Effort(0.0, 4, 20_000), rng=rng)
    assert found.estimated.all()
    for proba, exact in zip(found.proba, chains.exact_marginals(chain, X, known), strict=True):
        np.testing.assert_allclose(proba, exact, atol=0.015)
    found, _ = evidence(PrefixTree(view, X, known), Effort(1e-6, 4, 20_000), rng=rng)
    np.testing.assert_allclose(found, np.logaddexp.reduce(table, axis=1), atol=0.02)


@pytest.mark.parametrize("is_generic", [False, True])
def test_marginals_in_blocks_equal_those_at_once(monkeypatch, is_generic):
    rng = np.random.default_rng(5)
    chain = chains.random_linear_chain(rng, 4, 3)
    view = chains.as_generic(chain) if is_generic else chain
    X = rng.normal(size=(9, 3))
    at_once = BranchAndBound().marginals(PrefixTree(view, X), np.random.default_rng(0)).proba
    monkeypatch.setattr("montechain.inference.enumeration.ROWS_AT_ONCE", 4)
    for a, b in zip(
        at_once, BranchAndBound().marginals(PrefixTree(view, X), np.random.default_rng(0)).proba, strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("parents", ["none", "tree"])
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("is_generic", [False, True])
def test_marginals_of_forests_are_exact_whatever_the_budget(parents, is_known, is_generic):
    rng = np.random.default_rng(0)
    for _ in range(10):
        chain = chains.random_linear_chain(rng, int(rng.integers(1, 6)), 4, parents, scale=rng.choice([0.3, 1.0, 3.0]))
        X = rng.normal(size=(4, 3))
        known = chains.random_given(rng, 4, chain.n_classes) if is_known else None
        tree = PrefixTree(chains.as_generic(chain) if is_generic else chain, X, known)
        found = marginals(tree, Effort(0.5, max_nodes=1), rng=rng)
        for proba, wanted in zip(found.proba, chains.exact_marginals(chain, X, known), strict=True):
            np.testing.assert_allclose(proba, wanted, rtol=0, atol=1e-10)
        assert (found.unresolved == 0.0).all()
        if known is not None:
            _, table = chains.log_proba_table(chain, X, known)
            found, _ = evidence(tree, Effort(1e-6, max_nodes=1, n_samples=1), rng=rng)
            np.testing.assert_allclose(found, np.logaddexp.reduce(table, axis=1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("is_generic", [False, True])
def test_known_labels_that_are_next_to_impossible_still_count(is_generic):
    # 2^12 free prefixes come before what is known, whose probability of e^-840 vanishes beside their mass.
    n_free, n_known = 12, 60
    free = FittedLinearLink(2, np.zeros((1, 1)), np.array([0.3]))
    effects = (np.array([[0.0], [0.02]]), np.array([[0.0], [0.0]]))
    rare = FittedLinearLink(2, np.zeros((1, 1)), np.array([-14.0]), effects)
    n_labels = n_free + n_known
    chain = Chain(range(n_labels), [()] * n_free + [(0, 1)] * n_known, [free] * n_free + [rare] * n_known)
    known = np.full((1, n_labels), -1, dtype=np.int32)
    known[0, n_free:] = 1
    X, rng = np.zeros((1, 1)), np.random.default_rng(0)
    view = chains.as_generic(chain) if is_generic else chain
    hamming = chains.bind_loss("hamming", chain.n_classes)
    decision = BranchAndBound(max_nodes=500).decide(PrefixTree(view, X, known), hamming, rng)
    assert (decision.labels[:, n_free:] == 1).all()
    proba = BranchAndBound(max_nodes=500).marginals(PrefixTree(view, X, known), rng).proba
    for own in proba[n_free:]:
        np.testing.assert_allclose(own, [[0.0, 1.0]])
    # The first label raises the odds of each known one by e^0.02.
    np.testing.assert_allclose(proba[0][0, 1], 1 / (1 + np.exp(-0.3 - 0.02 * n_known)), atol=0.05)
    np.testing.assert_allclose(proba[5][0, 1], 1 / (1 + np.exp(-0.3)), atol=0.05)


def test_many_labels_known_to_be_rare_do_not_underflow():
    rare = FittedLinearLink(2, np.zeros((1, 1)), np.array([-50.0]), (np.array([[0.0], [0.5]]),))
    root = FittedLinearLink(2, np.zeros((1, 1)), np.array([0.0]))
    chain = Chain(range(41), [(), *[(0,)] * 40], [root, *[rare] * 40])
    known = np.array([[-1, *[1] * 40]], dtype=np.int32)
    proba, log_evidence = sum_product(PrefixTree(chain, np.zeros((1, 1)), known))
    # Each of the forty makes the root's second class exp(0.5) times as probable.
    assert proba[0, 1] == pytest.approx(1 / (1 + np.exp(-20)), abs=1e-12)
    assert log_evidence[0] == pytest.approx(np.log(0.5) - 2000 + np.logaddexp(0, 20), abs=1e-8)
