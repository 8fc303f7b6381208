"""Voting."""

from __future__ import annotations

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.chain import Chain, PrefixTree
from montechain.inference import Exhaustive, Greedy
from montechain.links.linear import FittedLinearLink
from montechain.losses import check_loss
from montechain.population import Vote
from random_chains import random_given
from random_populations import as_generic_population, bound_loss, population_of, random_population, with_inference


def seeded(seed=0):
    return np.random.default_rng(seed)


def first_errors_weigh_more(y, y_hat):
    return float((y != y_hat) @ (0.5 ** np.arange(len(y)))) / 2


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), is_generic=st.booleans(),
       loss=st.sampled_from(["exact_match", "hamming", first_errors_weigh_more]))  # fmt: skip
@settings(max_examples=60)
def test_equals_counting_votes(seed, is_known, is_generic, loss):
    rng = seeded(seed)
    population = random_population(rng, n_labels=int(rng.integers(1, 4)), max_classes=3)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, population.n_classes) if is_known else None
    view = as_generic_population(population) if is_generic else population
    classes = [np.arange(k) for k in population.n_classes]
    for inference in (Greedy(), Exhaustive()):
        arguments = {"loss": bound_loss(loss, population), "given": known}
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
    loss = bound_loss("exact_match", population)
    found = Vote().decide(population, np.zeros((1, 1)), loss=loss, rng=seeded())
    assert found.labels.tolist() == [[expected]]


def test_a_row_on_which_all_chains_agree_with_proof_is_certified():
    agreeing = population_of([constant_chain([0, 1], [2, 1]), constant_chain([1, 0], [2, 1])])
    arguments = {"loss": bound_loss("exact_match", agreeing), "rng": seeded()}
    assert Vote().decide(agreeing, np.zeros((1, 1)), **arguments).certified.all()
    split = population_of([constant_chain([0, 1], [2, 1]), constant_chain([1, 0], [0, 0])])
    found = Vote().decide(split, np.zeros((1, 1)), **arguments)
    assert found.labels[0].tolist() == [0, 0]
    assert found.certified.all() == (found.upper_bound[0] <= found.log_proba[0] + 1e-9)
    arguments["loss"] = bound_loss("hamming", split)
    assert not Vote().decide(split, np.zeros((1, 1)), **arguments).certified.any()
