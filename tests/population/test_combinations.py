"""Votes and Algorithm 4, and what all combinations share."""

import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain.chain import Chain
from montechain.inference import Exhaustive, Greedy
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.links.linear import FittedLinearLink
from montechain.losses import check_loss
from montechain.population import Algorithm4, Mixture, Vote
from montechain.prefix_tree import PrefixTree
from random_chains import bind_loss, random_given
from random_populations import as_generic_population, population_of, random_population, seeded, with_inference
from reference import algorithm_4 as reference
from reference import mixture as mixture_reference


@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("combination", [Algorithm4(4, 20), Algorithm4(3, 5), Mixture(), Mixture(5), Vote()])
def test_what_every_combination_satisfies(combination, is_generic, loss):
    rng = seeded(7)
    population = random_population(rng, n_labels=4, max_classes=2, n_chains=3, scale=1.0)
    view = as_generic_population(population) if is_generic else population
    X = rng.normal(size=(6, 3))
    for known in (None, random_given(rng, 6, population.n_classes, 0.4)):
        for inference in (Greedy(), BranchAndBound()):
            arguments = {"loss": bind_loss(loss, population.n_classes), "rng": seeded()}
            asked = with_inference(view, inference)
            found = combination.decide(asked, X, given=known, **arguments)
            assert found.labels.dtype == np.int32
            assert found.labels.shape == (6, 4)
            np.testing.assert_allclose(found.log_proba, population.log_joint(X, found.labels), rtol=0, atol=1e-9)
            for i in range(6):
                table = mixture_reference.table(population, X, i, known)
                assert tuple(found.labels[i].tolist()) in table  # agrees with what is known
                best = np.log(max(table.values()))
                assert best <= found.upper_bound[i] + 1e-9
                if loss == "exact_match":
                    assert not found.certified[i] or found.log_proba[i] == pytest.approx(best, abs=1e-8)
                    regret = (np.exp(best) - np.exp(found.log_proba[i])) / sum(table.values())
                    assert regret <= found.regret[i] + 1e-9
                alone_known = None if known is None else known[i : i + 1]
                arguments["rng"] = seeded()
                alone = combination.decide(asked, X[i : i + 1], given=alone_known, **arguments)
                np.testing.assert_array_equal(alone.labels[0], found.labels[i])


def first_errors_weigh_more(y, y_hat):
    return float((y != y_hat) @ (0.5 ** np.arange(len(y)))) / 2


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), is_generic=st.booleans(),
       loss=st.sampled_from(["exact_match", "hamming", first_errors_weigh_more]))  # fmt: skip
def test_equals_counting_votes(seed, is_known, is_generic, loss):
    rng = seeded(seed)
    population = random_population(rng, n_labels=int(rng.integers(1, 4)), max_classes=3)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, population.n_classes) if is_known else None
    view = as_generic_population(population) if is_generic else population
    classes = [np.arange(k) for k in population.n_classes]
    for inference in (Greedy(), Exhaustive()):
        arguments = {"loss": bind_loss(loss, population.n_classes), "given": known}
        asked = with_inference(view, inference)
        found = Vote().decide(asked, X, rng=seeded(), **arguments)
        shares = Vote().marginals(asked, X, rng=seeded(), **arguments).proba
        votes = collections.defaultdict(float)
        for chain, weight in zip(population.chains, population.weights, strict=True):
            order = list(chain.order)
            own_loss = check_loss(loss, classes=classes, order=order)
            own_known = None if known is None else np.ascontiguousarray(known[:, order])
            decision = inference.decide(PrefixTree(chain, X, own_known), own_loss, seeded())
            for i in range(3):
                for k, label in enumerate(order):
                    votes[i, label, int(decision.labels[i, k])] += weight
        for i in range(3):
            for label, n in enumerate(population.n_classes):
                counted = [votes[i, label, c] for c in range(n)]
                np.testing.assert_allclose(shares[label][i], counted, rtol=0, atol=1e-12)
                assert counted[found.labels[i, label]] >= max(counted) - 1e-9


def constant_chain(order, classes):
    """Return a chain of three-class labels that is sure of these classes, by label."""
    links = [
        FittedLinearLink.constant(np.log(np.where(np.arange(3) == classes[label], 0.98, 0.01)), 1, ())
        for label in order
    ]
    return Chain(order, [()] * len(order), links)


@pytest.mark.parametrize(
    ("weights", "votes", "expected"),
    [
        ([1, 1, 1], [1, 2, 0], 0),  # one vote for each class: the first
        ([0.1, 0.2, 0.3], [1, 1, 0], 0),  # 0.1 + 0.2 is not 0.3 in binary, and yet a tie
        ([0.1, 0.2, 0.4], [1, 2, 0], 0),
        ([0.4, 0.1, 0.1], [1, 2, 0], 1),
    ],
)
def test_ties_go_to_the_first_class(weights, votes, expected):
    chains = [constant_chain([0], [vote]) for vote in votes]
    population = population_of(chains, weights, Greedy())
    loss = bind_loss("exact_match", population.n_classes)
    found = Vote().decide(population, np.zeros((1, 1)), loss=loss, rng=seeded())
    assert found.labels.tolist() == [[expected]]


def test_a_row_on_which_all_chains_agree_with_proof_is_certified():
    agreeing = population_of([constant_chain([0, 1], [2, 1]), constant_chain([1, 0], [2, 1])])
    arguments = {"loss": bind_loss("exact_match", agreeing.n_classes), "rng": seeded()}
    assert Vote().decide(agreeing, np.zeros((1, 1)), **arguments).certified.all()
    split = population_of([constant_chain([0, 1], [2, 1]), constant_chain([1, 0], [0, 0])])
    found = Vote().decide(split, np.zeros((1, 1)), **arguments)
    assert found.labels[0].tolist() == [0, 0]
    assert found.certified.all() == (found.upper_bound[0] <= found.log_proba[0] + 1e-9)
    arguments["loss"] = bind_loss("hamming", split.n_classes)
    assert not Vote().decide(split, np.zeros((1, 1)), **arguments).certified.any()


# Algorithm 4


def decide(combination, population, X, loss="exact_match", known=None):
    loss = bind_loss(loss, population.n_classes)
    return combination.decide(population, X, loss=loss, given=known, rng=seeded())


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans())
def test_both_paths_equal_the_pseudocode(seed, is_known):
    rng = seeded(seed)
    population = random_population(rng)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    combination = Algorithm4(n_orders=3, n_samples=8)
    # One table for all rows: first the orders, by their weights, then the vectors.
    draws = seeded()
    steps = [int((np.cumsum(population.weights)[:-1] <= u).sum()) for u in draws.random(3)]
    uniforms = draws.random((3, 8, population.n_labels))
    expected = reference.algorithm_4(population, X, known, steps, uniforms)
    for view in (population, as_generic_population(population)):
        found = decide(combination, view, X, known=known)
        np.testing.assert_array_equal(found.labels, expected)
        assert (found.upper_bound == 0).all()


def test_orders_are_drawn_by_their_weights():
    population = random_population(seeded(1), n_labels=3, n_chains=4)
    chosen = population.draw_models(seeded().random(20000))
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / 20000, population.weights, rtol=0, atol=0.015)
    assert population.draw_models(np.array([1.0 - 2**-53]))[0] == 3


@pytest.mark.parametrize("share", [None, 0.4])
@pytest.mark.parametrize("is_generic", [False, True])
def test_other_losses_are_minimised_under_the_mixture(is_generic, share):
    rng = seeded(2)
    population = random_population(rng, n_labels=3, max_classes=3, n_chains=3, scale=1.0)
    view = as_generic_population(population) if is_generic else population
    X = rng.normal(size=(30, 3))
    known = None if share is None else random_given(rng, 30, population.n_classes, share)
    found = decide(Algorithm4(n_orders=100, n_samples=60), view, X, "hamming", known)
    marginals = mixture_reference.marginals(population, X, known)
    for label, proba in enumerate(marginals):
        ranked = np.sort(proba, axis=1)
        clear = ranked[:, -1] - ranked[:, -2] > 0.2
        assert clear.any()
        np.testing.assert_array_equal(found.labels[clear, label], proba.argmax(axis=1)[clear])
    expected_loss = 1 - np.mean([proba.max(axis=1) for proba in marginals], axis=0)
    np.testing.assert_allclose(found.expected_loss, expected_loss, rtol=0, atol=0.08)
