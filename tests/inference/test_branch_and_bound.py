"""`BranchAndBound` and what all strategies share of the enumeration, on both kinds of chains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from montechain.chain import Chain, PrefixTree
from montechain.inference import Greedy
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.inference.enumeration import Effort, evidence, sum_product, top_k
from montechain.inference.marginals import marginals
from montechain.links.linear import SOFTMAX, FittedLinearLink
from montechain.losses import check_loss
from random_chains import (
    as_generic,
    log_proba_table,
    random_given,
    random_linear_chain,
    random_table_chain,
)

SEEDS = st.integers(0, 2**32 - 1)
PARENTS = st.sampled_from(["all", "none", "tree", 2])
NO_LIMIT = 10**6
N_ROWS = 4


def make_case(seed, parents, is_known, is_generic):
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([0.3, 1.0, 3.0]))
    chain = random_linear_chain(rng, int(rng.integers(1, 6)), int(rng.integers(2, 5)), parents, scale=scale)
    X = rng.normal(size=(N_ROWS, 3))
    known = random_given(rng, N_ROWS, chain.n_classes) if is_known else None
    vectors, table = log_proba_table(chain, X, known)
    return (as_generic(chain) if is_generic else chain), X, known, vectors, table, rng


def true_marginals(chain, vectors, table):
    proba = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    return [
        np.column_stack([proba[:, vectors[:, k] == c].sum(axis=1) for c in range(n)])
        for k, n in enumerate(chain.n_classes)
    ]


def bound_loss(chain, name):
    return check_loss(name, classes=[np.arange(n) for n in chain.n_classes], order=range(chain.n_labels))


def test_generic_search_calls_each_link_a_few_times_for_all_rows():
    chain, X = random_table_chain(np.random.default_rng(0), [2, 3, 2, 2, 3], n_rows=50)
    BranchAndBound().most_probable(chain, X, rng=np.random.default_rng(0))
    assert chain.n_calls <= 2 * chain.n_labels
    chain.n_calls = 0
    top_k(PrefixTree(chain, X), 3)
    assert chain.n_calls <= 2 * chain.n_labels


def test_top_k_of_a_generic_chain_is_not_certified_when_the_budget_cuts_prefixes_off():
    chain, X = random_table_chain(np.random.default_rng(1), [3] * 5, n_rows=30, concentration=5.0)
    top = top_k(PrefixTree(chain, X), 2, max_nodes=1)
    assert not top.certified.all()
    _, table = log_proba_table(chain, X)
    best = -np.sort(-table, axis=1)[:, :2]
    np.testing.assert_allclose(top.log_proba[top.certified], best[top.certified], atol=1e-9)


@pytest.mark.parametrize("is_generic", [False, True])
def test_draws_from_the_frontier_estimate_without_bias(is_generic):
    rng = np.random.default_rng(0)
    chain = random_linear_chain(rng, 5, 3, scale=0.7)
    X = rng.normal(size=(1, 3))
    known = np.array([[-1, -1, -1, 1, -1]], dtype=np.int32)
    vectors, table = log_proba_table(chain, X, known)
    view = as_generic(chain) if is_generic else chain
    found = marginals(PrefixTree(view, X, known), Effort(0.0, 4, 20_000), rng=rng)
    assert found.estimated.all()
    for proba, exact in zip(found.proba, true_marginals(chain, vectors, table), strict=True):
        np.testing.assert_allclose(proba, exact, atol=0.015)
    found, _ = evidence(PrefixTree(view, X, known), Effort(1e-6, 4, 20_000), rng=rng)
    np.testing.assert_allclose(found, np.logaddexp.reduce(table, axis=1), atol=0.02)


@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1", "jaccard"])
def test_a_row_is_decided_alike_alone_and_in_a_batch(monkeypatch, is_generic, loss):
    rng = np.random.default_rng(4)
    chain = random_linear_chain(rng, 5, 2, scale=0.5)
    view = as_generic(chain) if is_generic else chain
    X = rng.normal(size=(9, 3))
    strategy = BranchAndBound(max_nodes=6, residual=0.0, frontier_samples=10)
    loss = bound_loss(chain, loss)
    # Small blocks, so that the rows do not all share one.
    monkeypatch.setattr("montechain.inference.branch_and_bound.ROWS_AT_ONCE", 4)
    together = strategy.decide(view, X, loss=loss, rng=np.random.default_rng(7)).labels
    for i in range(9):
        alone = strategy.decide(view, X[[i]], loss=loss, rng=np.random.default_rng(7)).labels
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize("is_generic", [False, True])
def test_marginals_in_blocks_equal_those_at_once(monkeypatch, is_generic):
    rng = np.random.default_rng(5)
    chain = random_linear_chain(rng, 4, 3)
    view = as_generic(chain) if is_generic else chain
    X = rng.normal(size=(9, 3))
    at_once = BranchAndBound().marginals(view, X, rng=np.random.default_rng(0)).proba
    monkeypatch.setattr("montechain.inference.marginals.ROWS_AT_ONCE", 4)
    for a, b in zip(at_once, BranchAndBound().marginals(view, X, rng=np.random.default_rng(0)).proba, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_generic", [False, True])
def test_known_classes_that_are_impossible_are_kept(is_generic):
    never = FittedLinearLink.constant(np.array([0.0, -np.inf]), 1, ())
    free = FittedLinearLink.constant(np.log([0.3, 0.7]), 1, (2,))
    chain = Chain([0, 1], [(), (0,)], [never, free])
    if is_generic:
        chain = impossible_table()
    X = np.zeros((1, 1))
    known = np.array([[1, -1]], dtype=np.int32)
    rng = np.random.default_rng(0)
    for loss in ("exact_match", "hamming", "f1"):
        decision = BranchAndBound().decide(chain, X, loss=bound_loss(chain, loss), given=known, rng=rng)
        assert decision.labels[0, 0] == 1
        assert decision.log_proba[0] == -np.inf
    first, second = BranchAndBound().marginals(chain, X, given=known, rng=rng).proba
    np.testing.assert_array_equal(first, [[0.0, 1.0]])
    np.testing.assert_allclose(second.sum(axis=1), 1.0)
    assert evidence(PrefixTree(chain, X, known), rng=rng)[0][0] == -np.inf


def impossible_table():
    from random_chains import TableChain

    class Quiet(TableChain):
        def conditional(self, X, prefix):
            with np.errstate(divide="ignore"):
                return super().conditional(X, prefix)

    return Quiet([2, 2], [{(): [1.0, 0.0], (0,): [0.3, 0.7], (1,): [0.3, 0.7]}])


def test_every_strategy_has_marginals_and_top_k():
    rng = np.random.default_rng(2)
    chain = random_linear_chain(rng, 3, 3)
    X = rng.normal(size=(2, 3))
    vectors, table = log_proba_table(chain, X)
    found = Greedy().marginals(chain, X, rng=rng).proba
    for proba, exact in zip(found, true_marginals(chain, vectors, table), strict=True):
        np.testing.assert_allclose(proba, exact, atol=0.01)
    np.testing.assert_allclose(Greedy().top_k(chain, X, 2).log_proba, -np.sort(-table, axis=1)[:, :2], atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_nodes": 0}, r"`max_nodes=0` .* Try `BranchAndBound\(max_nodes="),
        ({"max_nodes": -3}, "`max_nodes=-3`"),
        ({"max_nodes": 2.5}, r"`max_nodes=2.5` is not a positive integer"),
        ({"max_nodes": True}, "`max_nodes=True`"),
        ({"residual": 1.0}, r"`residual=1.0` .* \[0, 1\)"),
        ({"residual": -0.1}, "`residual=-0.1`"),
        ({"residual": float("nan")}, "`residual=nan`"),
        ({"residual": "small"}, "`residual='small'`"),
        ({"frontier_samples": 0}, "`frontier_samples=0`"),
    ],
)
@pytest.mark.parametrize("method", ["most_probable", "distribution", "marginals"])
def test_bad_parameters_are_refused_with_advice(parameters, message, method):
    rng = np.random.default_rng(0)
    chain = random_linear_chain(rng, 2)
    with pytest.raises(ValueError, match=message):
        getattr(BranchAndBound(**parameters), method)(chain, np.zeros((1, 3)), rng=rng)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_bad_k_is_refused(k):
    chain = random_linear_chain(np.random.default_rng(0), 2)
    with pytest.raises(ValueError, match=f"`k={k}` is not a positive integer"):
        BranchAndBound().top_k(chain, np.zeros((1, 3)), k)


@pytest.mark.parametrize("parents", ["none", "tree"])
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("is_generic", [False, True])
def test_marginals_of_forests_are_exact_whatever_the_budget(parents, is_known, is_generic):
    for seed in range(10):
        chain, X, known, vectors, table, rng = make_case(seed, parents, is_known, is_generic)
        found = marginals(PrefixTree(chain, X, known), Effort(0.5, max_nodes=1), rng=rng)
        for proba, wanted in zip(found.proba, true_marginals(chain, vectors, table), strict=True):
            np.testing.assert_allclose(proba, wanted, rtol=0, atol=1e-10)
        assert (found.unresolved == 0.0).all()
        if known is not None:
            found, _ = evidence(PrefixTree(chain, X, known), Effort(1e-6, max_nodes=1, n_samples=1), rng=rng)
            np.testing.assert_allclose(found, np.logaddexp.reduce(table, axis=1), rtol=0, atol=1e-9)


@pytest.mark.parametrize("is_generic", [False, True])
def test_known_labels_that_are_next_to_impossible_still_count(is_generic):
    # 2^12 free prefixes come before what is known, whose probability of e^-840 vanishes beside their mass.
    n_free, n_known = 12, 60
    free = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([0.3]))
    effects = (np.array([[0.0], [0.02]]), np.array([[0.0], [0.0]]))
    rare = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-14.0]), effects)
    n_labels = n_free + n_known
    chain = Chain(range(n_labels), [()] * n_free + [(0, 1)] * n_known, [free] * n_free + [rare] * n_known)
    known = np.full((1, n_labels), -1, dtype=np.int32)
    known[0, n_free:] = 1
    X, rng = np.zeros((1, 1)), np.random.default_rng(0)
    decision = BranchAndBound(max_nodes=500).decide(
        as_generic(chain) if is_generic else chain, X, loss=bound_loss(chain, "hamming"), given=known, rng=rng
    )
    assert (decision.labels[:, n_free:] == 1).all()
    view = as_generic(chain) if is_generic else chain
    proba = BranchAndBound(max_nodes=500).marginals(view, X, given=known, rng=rng).proba
    for own in proba[n_free:]:
        np.testing.assert_allclose(own, [[0.0, 1.0]])
    # The first label raises the odds of each known one by e^0.02.
    np.testing.assert_allclose(proba[0][0, 1], 1 / (1 + np.exp(-0.3 - 0.02 * n_known)), atol=0.05)
    np.testing.assert_allclose(proba[5][0, 1], 1 / (1 + np.exp(-0.3)), atol=0.05)


def test_many_labels_known_to_be_rare_do_not_underflow():
    rare = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-50.0]), (np.array([[0.0], [0.5]]),))
    root = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([0.0]))
    chain = Chain(range(41), [(), *[(0,)] * 40], [root, *[rare] * 40])
    known = np.array([[-1, *[1] * 40]], dtype=np.int32)
    proba, log_evidence = sum_product(PrefixTree(chain, np.zeros((1, 1)), known))
    # Each of the forty makes the root's second class exp(0.5) times as probable.
    assert proba[0, 1] == pytest.approx(1 / (1 + np.exp(-20)), abs=1e-12)
    assert log_evidence[0] == pytest.approx(np.log(0.5) - 2000 + np.logaddexp(0, 20), abs=1e-8)
