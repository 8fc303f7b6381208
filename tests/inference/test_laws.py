"""The laws of `laws.py`, on thousands of small random chains, for both kinds of links."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.chain import Chain, PrefixTree
from montechain.errors import NonFiniteError
from montechain.inference import Beam, BranchAndBound, EpsilonApproximate, Exhaustive, Greedy, MonteCarlo
from montechain.inference.enumeration import evidence, top_k
from montechain.links.linear import SOFTMAX, FittedLinearLink
from montechain.losses import F1, CallableLoss, Jaccard, check_loss
from random_chains import (
    all_vectors,
    as_generic,
    log_proba_table,
    random_given,
    random_linear_chain,
    random_table_chain,
)
from tests.inference.laws import DISTRIBUTIONS, EXACT, STRATEGIES

TOLERANCE = 1e-9
N_ROWS = 4


@st.composite
def problems(draw, max_labels=5, max_classes=5):
    """Return (chain, X, what is known): label-linear, the same with hidden scores, or typed tables."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(1, max_labels))
    n_most = draw(st.integers(2, max_classes))
    while n_most**n_labels > 700:
        n_most -= 1
    kind = draw(st.sampled_from(["linear", "generic", "table"]))
    if kind == "table":
        chain, X = random_table_chain(rng, rng.integers(2, n_most + 1, n_labels), N_ROWS)
    else:
        parents = draw(st.sampled_from(["all", "none", "tree", 1, 2]))
        scale = draw(st.sampled_from([0.2, 1.0, 4.0]))
        chain = random_linear_chain(rng, n_labels, n_most, parents, scale=scale)
        X = rng.normal(size=(N_ROWS, 3))
        chain = as_generic(chain) if kind == "generic" else chain
    known = random_given(rng, N_ROWS, chain.n_classes, share=draw(st.sampled_from([0.3, 0.8])))
    return chain, X, draw(st.sampled_from([None, known]))


def table_of(chain, X, known):
    vectors, table = log_proba_table(chain, X, known)
    return vectors, table, table.max(axis=1)


def generator():
    return np.random.default_rng(7)


def is_agreeing(labels, known):
    return known is None or ((known < 0) | (known == labels)).all()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@settings(deadline=None, max_examples=80)
@given(problem=problems())
def test_nothing_beats_the_enumeration_and_every_bound_holds(strategy, problem):
    chain, X, known = problem
    _, table, best = table_of(chain, X, known)
    decision = strategy.most_probable(chain, X, given=known, rng=generator())
    assert decision.labels.shape == (N_ROWS, len(chain.n_classes))
    assert is_agreeing(decision.labels, known)
    index = np.ravel_multi_index(decision.labels.T, chain.n_classes)
    np.testing.assert_allclose(decision.log_proba, table[np.arange(N_ROWS), index], atol=TOLERANCE)
    assert (decision.log_proba <= best + TOLERANCE).all()
    assert (decision.upper_bound >= best - TOLERANCE).all()
    np.testing.assert_allclose(decision.log_proba[decision.certified], best[decision.certified], atol=1e-8)


@pytest.mark.parametrize("strategy", EXACT, ids=repr)
@settings(deadline=None, max_examples=120)
@given(problem=problems())
def test_exact_strategies_find_the_best_and_prove_it(strategy, problem):
    chain, X, known = problem
    _, _, best = table_of(chain, X, known)
    decision = strategy.most_probable(chain, X, given=known, rng=generator())
    np.testing.assert_allclose(decision.log_proba, best, atol=TOLERANCE)
    assert decision.certified.all()


@settings(deadline=None, max_examples=150)
@given(problem=problems())
def test_a_beam_of_one_is_greedy(problem):
    chain, X, known = problem
    greedy = Greedy().most_probable(chain, X, given=known, rng=generator())
    beam = Beam(width=1).most_probable(chain, X, given=known, rng=generator())
    np.testing.assert_allclose(beam.log_proba, greedy.log_proba, atol=TOLERANCE)


@settings(deadline=None, max_examples=150)
@given(problem=problems(), few=st.integers(1, 10), more=st.integers(1, 30))
def test_more_samples_never_hurt(problem, few, more):
    chain, X, known = problem
    small = MonteCarlo(n_samples=few).most_probable(chain, X, given=known, rng=generator())
    large = MonteCarlo(n_samples=few + more).most_probable(chain, X, given=known, rng=generator())
    assert (large.log_proba >= small.log_proba - TOLERANCE).all()


@settings(deadline=None, max_examples=150)
@given(problem=problems(), budgets=st.lists(st.integers(1, 60), min_size=2, max_size=5))
def test_a_larger_budget_never_raises_the_bound(problem, budgets):
    chain, X, known = problem
    bounds = [
        BranchAndBound(max_nodes=budget).most_probable(chain, X, given=known, rng=generator()).upper_bound
        for budget in sorted(budgets)
    ]
    assert (np.diff(bounds, axis=0) <= TOLERANCE).all()


@settings(deadline=None, max_examples=150)
@given(problem=problems(), k=st.integers(1, 12))
def test_top_k_is_the_head_of_the_sorted_enumeration(problem, k):
    chain, X, known = problem
    _, table, _ = table_of(chain, X, known)
    top = top_k(PrefixTree(chain, X, known), k)
    width = top.log_proba.shape[1]
    expected = -np.sort(-table, axis=1)[:, :width]
    assert width == min(k, table.shape[1])  # rows with fewer vectors that agree are padded
    np.testing.assert_allclose(top.log_proba, expected, atol=TOLERANCE)
    assert top.certified.all()
    for row in range(N_ROWS):
        real = top.log_proba[row] > -np.inf
        found = top.labels[row][real]
        assert len(np.unique(found, axis=0)) == real.sum()
        index = np.ravel_multi_index(found.T, chain.n_classes)
        np.testing.assert_allclose(table[row, index], top.log_proba[row][real], atol=TOLERANCE)


@pytest.mark.parametrize("strategy", DISTRIBUTIONS, ids=repr)
@settings(deadline=None, max_examples=120)
@given(problem=problems())
def test_marginals_equal_sums_over_the_joint(strategy, problem):
    chain, X, known = problem
    vectors, table, _ = table_of(chain, X, known)
    joint = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    marginals = strategy.marginals(chain, X, given=known, rng=generator()).proba
    for k, n_classes in enumerate(chain.n_classes):
        expected = np.column_stack([joint[:, vectors[:, k] == c].sum(axis=1) for c in range(n_classes)])
        np.testing.assert_allclose(marginals[k], expected, atol=1e-8)


@settings(deadline=None, max_examples=120)
@given(problem=problems(), residual=st.sampled_from([0.01, 0.1, 0.5]))
def test_marginals_are_within_the_residual(problem, residual):
    chain, X, known = problem
    vectors, table, _ = table_of(chain, X, known)
    joint = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    marginals = BranchAndBound(residual=residual).marginals(chain, X, given=known, rng=generator()).proba
    for k, n_classes in enumerate(chain.n_classes):
        expected = np.column_stack([joint[:, vectors[:, k] == c].sum(axis=1) for c in range(n_classes)])
        assert (np.abs(marginals[k] - expected) <= residual + TOLERANCE).all()
        np.testing.assert_allclose(marginals[k].sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("strategy", [*STRATEGIES, BranchAndBound(3, residual=0.0, frontier_samples=20)], ids=repr)
@settings(deadline=None, max_examples=50)
@given(problem=problems())
def test_no_marginal_is_off_by_more_than_its_error_bound(strategy, problem):
    chain, X, known = problem
    vectors, table, _ = table_of(chain, X, known)
    joint = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    found = strategy.marginals(chain, X, given=known, rng=generator())
    for k, n_classes in enumerate(chain.n_classes):
        expected = np.column_stack([joint[:, vectors[:, k] == c].sum(axis=1) for c in range(n_classes)])
        assert (found.lower[k] <= expected + TOLERANCE).all()
        assert (expected <= found.lower[k] + found.unresolved[:, [k]] + TOLERANCE).all()
        assert (np.abs(found.proba[k] - expected) <= found.error_bound[:, None] + TOLERANCE).all()
        if not strategy.is_sampling:  # an estimate is no better proven than its bounds, but it lies between them
            assert (found.lower[k] - TOLERANCE <= found.proba[k]).all()
            assert (found.proba[k] <= found.lower[k] + found.unresolved[:, [k]] + TOLERANCE).all()


def expected_losses(loss_of, vectors, joint):
    """Return the expected loss of each vector as a decision, of shape (n, number of vectors)."""
    table = np.array([[loss_of(y, y_hat) for y_hat in vectors] for y in vectors])
    return joint @ table


def hamming(y, y_hat):
    return np.mean(y != y_hat)


def f1(y, y_hat):
    hits = ((y == y_hat) & (y > 0)).sum()
    total = (y > 0).sum() + (y_hat > 0).sum()
    return 1 - (2 * hits / total if total else 1.0)


def jaccard(y, y_hat):
    hits = ((y == y_hat) & (y > 0)).sum()
    union = (y > 0).sum() + (y_hat > 0).sum() - hits  # as sets of (label, class)
    return 1 - (hits / union if union else 1.0)


def lopsided(y, y_hat):
    """An odd loss in [0, 1]: the first label counts as much as all others."""
    return 0.5 * float(y[0] != y_hat[0]) + 0.5 * np.mean(np.abs(np.sign(y - y_hat)))


def costly(y, y_hat):
    """A loss far above one, of which nobody says how far."""
    return 7.0 * lopsided(y, y_hat) * (1 + y.sum())


def by_name(name, chain):
    parameters = {"f1": F1(negative=0), "jaccard": Jaccard(negative=0), "costly": costly}
    loss = parameters.get(name, CallableLoss(lopsided, maximum=1.0) if name == "lopsided" else name)
    classes = [np.arange(k) for k in chain.n_classes]
    return check_loss(loss, classes=classes, order=np.arange(len(classes)))


LOSSES = {"hamming": hamming, "f1": f1, "jaccard": jaccard, "lopsided": lopsided}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("strategy", DISTRIBUTIONS, ids=repr)
@settings(deadline=None, max_examples=40)
@given(problem=problems(max_labels=4, max_classes=3))
def test_each_decision_has_the_least_expected_loss(strategy, name, problem):
    chain, X, known = problem
    vectors, table, _ = table_of(chain, X, known)
    joint = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    losses = expected_losses(LOSSES[name], vectors, joint)
    decision = strategy.decide(chain, X, loss=by_name(name, chain), given=known, rng=generator())
    assert is_agreeing(decision.labels, known)
    index = np.ravel_multi_index(decision.labels.T, chain.n_classes)
    np.testing.assert_allclose(losses[np.arange(N_ROWS), index], losses.min(axis=1), atol=TOLERANCE)
    np.testing.assert_allclose(decision.expected_loss, losses.min(axis=1), atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=80)
@given(problem=problems(max_labels=4, max_classes=3), residual=st.sampled_from([0.02, 0.2, 0.6]))
def test_regret_is_at_most_the_residual_and_the_bound_holds(name, problem, residual):
    chain, X, known = problem
    vectors, table, _ = table_of(chain, X, known)
    joint = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    losses = expected_losses(LOSSES[name], vectors, joint)
    strategy = BranchAndBound(residual=residual)
    decision = strategy.decide(chain, X, loss=by_name(name, chain), given=known, rng=generator())
    index = np.ravel_multi_index(decision.labels.T, chain.n_classes)
    regret = losses[np.arange(N_ROWS), index] - losses.min(axis=1)
    assert (regret <= residual + TOLERANCE).all()
    assert (regret <= decision.regret + TOLERANCE).all()
    assert (regret[decision.certified] <= 1e-8).all()


def exact_match(y, y_hat):
    return float((y != y_hat).any())


@pytest.mark.parametrize("name", [*LOSSES, "exact_match", "costly"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@settings(deadline=None, max_examples=20)
@given(problem=problems(max_labels=4, max_classes=3))
def test_expected_loss_and_regret_are_conditional_on_what_is_known(strategy, name, problem):
    chain, X, known = problem
    vectors, table, _ = table_of(chain, X, known)
    joint = np.exp(table - np.logaddexp.reduce(table, axis=1, keepdims=True))
    losses = expected_losses({**LOSSES, "exact_match": exact_match, "costly": costly}[name], vectors, joint)
    decision = strategy.decide(chain, X, loss=by_name(name, chain), given=known, rng=generator())
    # A decision that contradicts what is known is not allowed.
    best = np.where(np.isneginf(table), np.inf, losses).min(axis=1)
    truth = losses[np.arange(N_ROWS), np.ravel_multi_index(decision.labels.T, chain.n_classes)]
    assert (truth - best <= decision.regret + TOLERANCE).all()
    assert (truth[decision.certified] - best[decision.certified] <= 1e-8).all()
    if name == "exact_match":
        if known is not None:
            sharper = decision.relative_to(*evidence(PrefixTree(chain, X, known), rng=generator()))
            assert (sharper.regret <= decision.regret).all()
            assert (truth - best <= sharper.regret + TOLERANCE).all()
            decision = sharper
        np.testing.assert_allclose(decision.expected_loss, truth, atol=1e-5)
    elif not isinstance(strategy, MonteCarlo) and name != "costly":
        # Off by no more than the mass that was not enumerated; NaN where one vector is all that was looked at.
        error = strategy.distribution(chain, X, given=known, rng=generator()).residual
        is_open = np.isnan(decision.expected_loss)
        assert is_open.all() == isinstance(strategy, Greedy | EpsilonApproximate)
        assert (is_open | (np.abs(decision.expected_loss - truth) <= error + TOLERANCE)).all()


def test_regret_is_divided_by_the_probability_of_what_is_known():
    """Two labels, the greedy first one all but contradicted by the second, which is known."""
    first = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([0.1]))
    second = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([0.0]), (np.array([[3.0], [-3.0]]),))
    chain = Chain([0, 1], [(), (0,)], [first, second])
    X, known = np.zeros((2, 1)), np.array([[-1, 1], [-1, -1]], dtype=np.int32)
    decision = Greedy().decide(chain, X, loss=by_name("exact_match", chain), given=known, rng=generator())
    p = 1 / (1 + np.exp(-0.1))
    right, wrong = (1 - p) / (1 + np.exp(-3.0)), p / (1 + np.exp(3.0))
    decision = decision.relative_to(*evidence(PrefixTree(chain, X, known), rng=generator()))
    np.testing.assert_array_equal(decision.labels[:, 0], 1)
    assert decision.regret[0] >= (right - wrong) / (right + wrong) - 1e-9
    assert decision.expected_loss[0] == pytest.approx(right / (right + wrong))


@settings(deadline=None, max_examples=120)
@given(problem=problems())
def test_the_probability_of_what_is_known_is_the_mass_that_agrees(problem):
    chain, X, known = problem
    if known is None:
        known = np.full((N_ROWS, len(chain.n_classes)), -1, dtype=np.int32)
    _, table, _ = table_of(chain, X, known)
    expected = np.logaddexp.reduce(table, axis=1)
    np.testing.assert_allclose(evidence(PrefixTree(chain, X, known), rng=generator())[0], expected, atol=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("generic", [False, True])
def test_a_row_is_decided_alike_alone_and_in_a_batch(strategy, generic):
    rng = np.random.default_rng(3)
    chain = random_linear_chain(rng, 6, max_classes=3)
    chain = as_generic(chain) if generic else chain
    X = rng.normal(size=(9, 3))
    together = strategy.most_probable(chain, X, rng=generator())
    for row in range(9):
        alone = strategy.most_probable(chain, X[row : row + 1], rng=generator())
        np.testing.assert_array_equal(alone.labels[0], together.labels[row])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("is_forest", [False, True])
def test_links_that_are_not_finite_are_an_error_that_names_the_label(strategy, is_forest):
    chain, X = random_table_chain(np.random.default_rng(0), (2, 2, 2), 3)
    for prefix in itertools.product(range(2), repeat=2):
        chain.tables[1][prefix] = np.array([np.nan, 0.5])
    if is_forest:
        chain.parents = ((), (0,), (1,))
    for ask in (
        lambda: strategy.most_probable(chain, X, rng=generator()),
        lambda: strategy.distribution(chain, X, rng=generator()),
        lambda: strategy.marginals(chain, X, rng=generator()),
        lambda: strategy.top_k(chain, X, 2),
        lambda: chain.log_joint(X, np.zeros((3, 3), dtype=np.int32)),
    ):
        with pytest.raises(NonFiniteError, match="The score of label 2 is not finite"):
            ask()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("huge", [1e308, -1e308])
def test_scores_that_overflow_are_an_error_that_names_label_and_column(strategy, huge):
    link = FittedLinearLink(3, SOFTMAX, np.array([[0.1, 0.2, 0.3], [30.0, -20.0, 10.0]]), np.zeros(3))
    still = FittedLinearLink(2, SOFTMAX, np.zeros((2, 1)), np.array([-np.inf]))
    X = np.array([[1.0, 1.0], [1.0, huge]])
    for form in (np.asarray, sp.csr_array):
        chain = Chain([1, 0], [(), ()], [still, link])
        assert strategy.most_probable(chain, form(X)[:1], rng=generator()).certified.all()
        with pytest.raises(NonFiniteError, match=r"The score of label 0 is not finite: column 1 of X"):
            strategy.most_probable(chain, form(X), rng=generator())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("loss", ["exact_match", "hamming"])
def test_nothing_impossible_is_certified(strategy, loss):
    """No label vector agrees with what is known."""
    never = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-np.inf]))
    fair = FittedLinearLink.constant(np.log([0.4, 0.6]), 1, (2,))
    chain = Chain([0, 1], [(), (0,)], [never, fair])
    known = np.array([[1, -1]], dtype=np.int32)
    for view in (chain, as_generic(chain)):
        with np.errstate(divide="ignore"):
            found = strategy.decide(view, np.zeros((1, 1)), loss=by_name(loss, chain), given=known, rng=generator())
        assert found.log_proba[0] == -np.inf
        assert not found.certified[0]
        assert found.regret[0] > 0


def test_certain_conditionals_are_no_trouble():
    """Probabilities of exactly zero and one: nothing divides by them or takes their logarithm in vain."""
    rng = np.random.default_rng(0)
    chain, X = random_table_chain(rng, (2, 3, 2), 3)
    for table in chain.tables:
        for prefix, proba in table.items():
            table[prefix] = np.eye(len(proba))[int(rng.integers(len(proba)))]
    with np.errstate(divide="ignore"):
        best = Exhaustive().most_probable(chain, X, rng=generator())
        for strategy in STRATEGIES:
            found = strategy.most_probable(chain, X, rng=generator())
            np.testing.assert_array_equal(found.labels, best.labels)
    assert len(all_vectors((2, 3, 2))) == 12
