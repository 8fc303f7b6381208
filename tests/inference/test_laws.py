"""The laws of `laws.py`, on thousands of small random chains, for both kinds of links."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import random_chains as chains
from montechain.chain import Chain
from montechain.errors import NonFiniteError
from montechain.inference import Beam, BranchAndBound, EpsilonApproximate, Exhaustive, Greedy, MonteCarlo
from montechain.inference.enumeration import evidence, top_k
from montechain.links.linear import FittedLinearLink
from montechain.losses import F1, CallableLoss, Jaccard
from montechain.prefix_tree import PrefixTree
from tests.inference.laws import DISTRIBUTIONS, EXACT, STRATEGIES

TOLERANCE = 1e-9
N_ROWS = 4
SHORT_OF_NODES = BranchAndBound(3, residual=0.0)

# Each with the largest error and regret that it may have under any loss in [0, 1].
WITH_ERRORS = [
    *[(strategy, 1.0) for strategy in [*STRATEGIES, SHORT_OF_NODES]],
    *[(strategy, 0.0) for strategy in DISTRIBUTIONS],
    *[(BranchAndBound(residual=residual), residual) for residual in (0.01, 0.1, 0.5)],
]


@st.composite
def problems(draw, max_labels=5, max_classes=5):
    """Return (chain, X, what is known): label-linear, the same with hidden scores, or typed tables."""
    rng = np.random.default_rng(draw(chains.SEEDS))
    n_labels = draw(st.integers(1, max_labels))
    n_most = draw(st.integers(2, max_classes))
    while n_most**n_labels > 700:
        n_most -= 1
    kind = draw(st.sampled_from(["linear", "generic", "table"]))
    if kind == "table":
        chain, X = chains.random_table_chain(rng, rng.integers(2, n_most + 1, n_labels), N_ROWS)
    else:
        parents = draw(chains.PARENTS)
        scale = draw(st.sampled_from([0.2, 1.0, 4.0]))
        chain = chains.random_linear_chain(rng, n_labels, n_most, parents, scale=scale)
        X = rng.normal(size=(N_ROWS, 3))
        chain = chains.as_generic(chain) if kind == "generic" else chain
    known = chains.random_given(rng, N_ROWS, chain.n_classes, share=draw(st.sampled_from([0.3, 0.8])))
    return chain, X, draw(st.sampled_from([None, known]))


def generator():
    return np.random.default_rng(7)


def of_labels(table, labels, n_classes):
    """Return the entry of each row's label vector in a table of all vectors."""
    return table[np.arange(len(labels)), np.ravel_multi_index(labels.T, n_classes)]


@pytest.mark.parametrize("strategy", [*STRATEGIES, *EXACT], ids=repr)
@given(problem=problems())
def test_nothing_beats_the_enumeration_and_every_bound_holds(strategy, problem):
    chain, X, known = problem
    _, table = chains.log_proba_table(chain, X, known)
    best = table.max(axis=1)
    decision = strategy.search(PrefixTree(chain, X, known), generator())
    assert decision.labels.shape == (N_ROWS, len(chain.n_classes))
    assert known is None or ((known < 0) | (known == decision.labels)).all()
    np.testing.assert_allclose(
        decision.log_proba, of_labels(table, decision.labels, chain.n_classes), rtol=0, atol=TOLERANCE
    )
    assert (decision.log_proba <= best + TOLERANCE).all()
    assert (decision.upper_bound >= best - TOLERANCE).all()
    np.testing.assert_allclose(decision.log_proba[decision.certified], best[decision.certified], atol=1e-8)
    if strategy in EXACT:
        np.testing.assert_allclose(decision.log_proba, best, atol=TOLERANCE)
        assert decision.certified.all()


@given(problem=problems())
def test_a_beam_of_one_is_greedy_and_so_is_a_large_epsilon_with_two_classes(problem):
    chain, X, known = problem
    greedy, beam, epsilon = (
        strategy.search(PrefixTree(chain, X, known), generator())
        for strategy in (Greedy(), Beam(width=1), EpsilonApproximate(epsilon=0.5))
    )
    np.testing.assert_array_equal(beam.labels, greedy.labels)
    np.testing.assert_allclose(beam.log_proba, greedy.log_proba, atol=TOLERANCE)
    if set(chain.n_classes) == {2} and known is None:
        np.testing.assert_array_equal(epsilon.labels, greedy.labels)


@given(problem=problems(), few=st.integers(1, 10), more=st.integers(1, 30))
def test_more_samples_never_hurt(problem, few, more):
    chain, X, known = problem
    small = MonteCarlo(n_samples=few).search(PrefixTree(chain, X, known), generator())
    large = MonteCarlo(n_samples=few + more).search(PrefixTree(chain, X, known), generator())
    assert (large.log_proba >= small.log_proba - TOLERANCE).all()


@given(problem=problems(), budgets=st.lists(st.integers(1, 60), min_size=2, max_size=5))
def test_a_larger_budget_never_raises_the_bound(problem, budgets):
    chain, X, known = problem
    bounds = [
        BranchAndBound(max_nodes=budget).search(PrefixTree(chain, X, known), generator()).upper_bound
        for budget in sorted(budgets)
    ]
    assert (np.diff(bounds, axis=0) <= TOLERANCE).all()


@settings(max_examples=50)
@given(problem=problems(), k=st.integers(1, 12))
def test_top_k_is_the_head_of_the_sorted_enumeration(problem, k):
    chain, X, known = problem
    _, table = chains.log_proba_table(chain, X, known)
    top = Greedy().top_k(PrefixTree(chain, X, known), k)  # the same for every strategy
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
    short = top_k(PrefixTree(chain, X, known), k, max_nodes=1)
    np.testing.assert_allclose(short.log_proba[short.certified], expected[short.certified], atol=TOLERANCE)


@pytest.mark.parametrize(("strategy", "largest_error"), WITH_ERRORS, ids=repr)
@given(problem=problems())
def test_no_marginal_is_off_by_more_than_its_error_bound(strategy, largest_error, problem):
    chain, X, known = problem
    found = strategy.marginals(PrefixTree(chain, X, known), generator())
    for k, expected in enumerate(chains.exact_marginals(chain, X, known)):
        upper = found.lower[k] + found.unresolved[:, [k]]
        assert (found.lower[k] <= expected + TOLERANCE).all()
        assert (expected <= upper + TOLERANCE).all()
        assert (np.abs(found.proba[k] - expected) <= found.error_bound[:, None] + TOLERANCE).all()
        assert (np.abs(found.proba[k] - expected) <= largest_error + TOLERANCE).all()
        np.testing.assert_allclose(found.proba[k].sum(axis=1), 1.0, atol=1e-9)
        if not strategy.is_sampling:  # an estimate is proven only as far as its bounds, but lies between them
            assert (found.lower[k] - TOLERANCE <= found.proba[k]).all()
            assert (found.proba[k] <= upper + TOLERANCE).all()


def hamming(y, y_hat):
    return np.mean(y != y_hat, axis=-1)


def f1(y, y_hat):
    hits = ((y == y_hat) & (y > 0)).sum(axis=-1)
    total = (y > 0).sum(axis=-1) + (y_hat > 0).sum(axis=-1)
    return 1 - np.where(total > 0, 2 * hits / np.maximum(total, 1), 1.0)


def jaccard(y, y_hat):
    hits = ((y == y_hat) & (y > 0)).sum(axis=-1)
    union = (y > 0).sum(axis=-1) + (y_hat > 0).sum(axis=-1) - hits  # as sets of (label, class)
    return 1 - np.where(union > 0, hits / np.maximum(union, 1), 1.0)


def lopsided(y, y_hat):
    """An odd loss in [0, 1]: the first label counts as much as all others."""
    return 0.5 * (y[..., 0] != y_hat[..., 0]) + 0.5 * np.mean(np.abs(np.sign(y - y_hat)), axis=-1)


def costly(y, y_hat):
    """A loss that is far above one and whose maximum is not stated."""
    return 7.0 * lopsided(y, y_hat) * (1 + y.sum(axis=-1))


def exact_match(y, y_hat):
    return (y != y_hat).any(axis=-1).astype(float)


# By definition, and as the library takes them.
LOSSES = {
    "hamming": (hamming, "hamming"),
    "f1": (f1, F1(negative=0)),
    "jaccard": (jaccard, Jaccard(negative=0)),
    "lopsided": (lopsided, CallableLoss(lopsided, maximum=1.0)),
    "exact_match": (exact_match, "exact_match"),
    "costly": (costly, costly),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("strategy", "largest_regret"), WITH_ERRORS, ids=repr)
@settings(max_examples=20)
@given(problem=problems(max_labels=4, max_classes=3))
def test_expected_loss_and_regret_are_conditional_on_what_is_known(strategy, largest_regret, name, problem):
    chain, X, known = problem
    vectors, proba = chains.posterior(chain, X, known)
    definition, loss = LOSSES[name]
    losses = proba @ definition(vectors[:, None], vectors[None])  # of each vector as a decision
    decision = strategy.decide(PrefixTree(chain, X, known), chains.bind_loss(loss, chain.n_classes), generator())
    assert known is None or ((known < 0) | (known == decision.labels)).all()
    # A decision that contradicts what is known is not allowed.
    best = np.where(proba == 0.0, np.inf, losses).min(axis=1)
    truth = of_labels(losses, decision.labels, chain.n_classes)
    assert (truth - best <= decision.regret + TOLERANCE).all()
    assert (truth[decision.certified] - best[decision.certified] <= 1e-8).all()
    if name == "exact_match":
        if known is not None:
            sharper = decision.relative_to(*evidence(PrefixTree(chain, X, known), rng=generator()))
            assert (sharper.regret <= decision.regret).all()
            assert (truth - best <= sharper.regret + TOLERANCE).all()
            decision = sharper
        np.testing.assert_allclose(decision.expected_loss, truth, atol=1e-5)
    elif name != "costly":
        assert (truth - losses.min(axis=1) <= largest_regret + TOLERANCE).all()
        if not isinstance(strategy, MonteCarlo):
            # Off by no more than the mass that was not enumerated; NaN where one vector is all that was looked at.
            error = strategy.weigh(PrefixTree(chain, X, known), generator()).residual
            is_open = np.isnan(decision.expected_loss)
            assert is_open.all() == isinstance(strategy, Greedy | EpsilonApproximate)
            assert (is_open | (np.abs(decision.expected_loss - truth) <= error + TOLERANCE)).all()


@pytest.mark.parametrize("strategy", [*STRATEGIES, SHORT_OF_NODES], ids=repr)
@pytest.mark.parametrize("is_generic", [False, True])
def test_a_row_is_decided_alike_alone_and_in_a_batch(monkeypatch, strategy, is_generic):
    # Small blocks, so that the rows do not all share one.
    monkeypatch.setattr("montechain.inference.branch_and_bound.ROWS_AT_ONCE", 4)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 3))
    for max_classes in (2, 3):
        chain = chains.random_linear_chain(rng, 5, max_classes, scale=0.5)
        view = chains.as_generic(chain) if is_generic else chain
        for loss in ("exact_match", "hamming", "f1", "jaccard")[: 4 if max_classes == 2 else 2]:
            loss = chains.bind_loss(loss, chain.n_classes)
            together = strategy.decide(PrefixTree(view, X), loss, generator())
            for row in range(9):
                alone = strategy.decide(PrefixTree(view, X[[row]]), loss, generator())
                np.testing.assert_array_equal(alone.labels[0], together.labels[row])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_every_link_is_called_a_few_times_for_all_rows(strategy):
    chain, X = chains.random_table_chain(np.random.default_rng(0), (2, 3, 2, 2, 3), n_rows=20)
    once, twice = chain.n_labels, 2 * chain.n_labels
    asked = [(lambda: strategy.top_k(PrefixTree(chain, X), 3), twice)]
    is_level_by_level = isinstance(strategy, Greedy | Beam | Exhaustive)
    asked.append((lambda: strategy.search(PrefixTree(chain, X), generator()), once if is_level_by_level else twice))
    if isinstance(strategy, Beam | Exhaustive | MonteCarlo):
        asked.append((lambda: strategy.weigh(PrefixTree(chain, X), generator()), once))
    for ask, at_most in asked:
        chain.n_calls = 0
        ask()
        assert chain.n_calls <= at_most


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("is_forest", [False, True])
def test_links_that_are_not_finite_are_an_error_that_names_the_label(strategy, is_forest):
    chain, X = chains.random_table_chain(np.random.default_rng(0), (2, 2, 2), 3)
    for prefix in itertools.product(range(2), repeat=2):
        chain.tables[1][prefix] = np.array([np.nan, 0.5])
    if is_forest:
        chain.parents = ((), (0,), (1,))
    for ask in (
        lambda: strategy.search(PrefixTree(chain, X), generator()),
        lambda: strategy.weigh(PrefixTree(chain, X), generator()),
        lambda: strategy.marginals(PrefixTree(chain, X), generator()),
        lambda: strategy.top_k(PrefixTree(chain, X), 2),
        lambda: chain.log_joint(X, np.zeros((3, 3), dtype=np.int32)),
    ):
        with pytest.raises(NonFiniteError, match="The score of label 2 is not finite"):
            ask()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("huge", [1e308, -1e308])
def test_scores_that_overflow_are_an_error_that_names_label_and_column(strategy, huge):
    link = FittedLinearLink(3, np.array([[0.1, 0.2, 0.3], [30.0, -20.0, 10.0]]), np.zeros(3))
    still = FittedLinearLink(2, np.zeros((2, 1)), np.array([-np.inf]))
    X = np.array([[1.0, 1.0], [1.0, huge]])
    for form in (np.asarray, sp.csr_array):
        chain = Chain([1, 0], [(), ()], [still, link])
        assert strategy.search(PrefixTree(chain, form(X)[:1]), generator()).certified.all()
        with pytest.raises(NonFiniteError, match=r"The score of label 0 is not finite: column 1 of X"):
            strategy.search(PrefixTree(chain, form(X)), generator())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize("impossible", [0, 1])
def test_what_is_known_is_kept_where_it_is_impossible_and_nothing_is_certified(strategy, impossible):
    never = FittedLinearLink.constant(np.array([0.0, -np.inf]), 1, (2,) * impossible)
    fair = FittedLinearLink.constant(np.log([0.4, 0.6]), 1, (2,) * (1 - impossible))
    chain = Chain([0, 1], [(), (0,)], [never, fair] if impossible == 0 else [fair, never])
    X, known = np.zeros((1, 1)), np.full((1, 2), -1, dtype=np.int32)
    known[0, impossible] = 1
    for view in (chain, chains.as_generic(chain)):
        for loss in ("exact_match", "hamming", "f1"):
            found = strategy.decide(PrefixTree(view, X, known), chains.bind_loss(loss, (2, 2)), generator())
            assert found.labels[0, impossible] == 1
            assert found.log_proba[0] == -np.inf
            assert not found.certified[0]
            assert found.regret[0] > 0
        proba = strategy.marginals(PrefixTree(view, X, known), generator()).proba
        np.testing.assert_array_equal(proba[impossible], [[0.0, 1.0]])
        np.testing.assert_allclose(proba[1 - impossible].sum(axis=1), 1.0)
        assert evidence(PrefixTree(view, X, known), rng=generator())[0][0] == -np.inf


def test_certain_conditionals_are_no_trouble():
    """Probabilities of exactly zero and one cause no division by zero and no invalid logarithm."""
    rng = np.random.default_rng(0)
    chain, X = chains.random_table_chain(rng, (2, 3, 2), 3)
    for table in chain.tables:
        for prefix, proba in table.items():
            table[prefix] = np.eye(len(proba))[int(rng.integers(len(proba)))]
    with np.errstate(divide="ignore"):
        best = Exhaustive().search(PrefixTree(chain, X), generator())
        for strategy in STRATEGIES:
            found = strategy.search(PrefixTree(chain, X), generator())
            np.testing.assert_array_equal(found.labels, best.labels)
