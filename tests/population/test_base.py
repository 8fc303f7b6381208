"""Populations: what all combinations share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from montechain.inference.branch_and_bound import BranchAndBound
from montechain.inference.exhaustive import Exhaustive
from montechain.inference.greedy import Greedy
from montechain.population import COMBINATIONS, Algorithm4, Mixture, Population, Vote, check_combine
from random_chains import random_given
from random_populations import as_generic_population, bound_loss, random_chain, random_population
from reference import mixture as reference

EXACT = BranchAndBound(residual=0.0, max_nodes=10**6)


def seeded(seed=0):
    return np.random.default_rng(seed)


@given(seed=st.integers(0, 2**32 - 1), is_generic=st.booleans())
@settings(max_examples=40)
def test_log_joint_is_the_weighted_sum(seed, is_generic):
    rng = seeded(seed)
    population = random_population(rng)
    X = rng.normal(size=(2, 3))
    view = as_generic_population(population) if is_generic else population
    for i in range(2):
        table = reference.table(population, X, i)
        assert sum(table.values()) == pytest.approx(1.0)
        vectors = np.array(list(table), dtype=np.int32)
        found = view.log_joint(np.tile(X[i], (len(vectors), 1)), vectors)
        np.testing.assert_allclose(found, np.log(list(table.values())), rtol=0, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), is_generic=st.booleans(),
       parents=st.sampled_from(["all", "tree"]))  # fmt: skip
@settings(max_examples=50)
def test_marginals_are_those_of_the_mixture(seed, is_known, is_generic, parents):
    rng = seeded(seed)
    population = random_population(rng, parents=parents)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    view = as_generic_population(population) if is_generic else population
    expected = reference.marginals(population, X, known)
    for combination, inference in ((Mixture(), EXACT), (Algorithm4(), EXACT), (Mixture(), Exhaustive())):
        found = combination.marginals(view, X, inference=inference, given=known, rng=seeded()).proba
        for proba, truth in zip(found, expected, strict=True):
            # With labels known, each chain's probability of them is found to a millionth.
            np.testing.assert_allclose(proba, truth, rtol=0, atol=1e-5 if is_known else 1e-9)


@pytest.mark.parametrize("is_generic", [False, True])
def test_evidence_re_weights_the_chains(is_generic):
    rng = seeded(2)
    population = random_population(rng, n_labels=4, n_chains=3, scale=1.0)
    view = as_generic_population(population) if is_generic else population
    X = rng.normal(size=(5, 3))
    known = random_given(rng, 5, population.n_classes, 0.5)
    weights, error = view.weights_given(X, known, rng=seeded())
    for i in range(5):
        each = [
            weight * sum(reference.table(Population([chain]), X, i, known).values())
            for chain, weight in zip(population.chains, population.weights, strict=True)
        ]
        np.testing.assert_allclose(weights[i], np.array(each) / sum(each), rtol=0, atol=error[i] + 1e-12)
        assert view.log_evidence(X, known, rng=seeded())[i] == pytest.approx(np.log(sum(each)), abs=1e-5)
    assert (error <= 2e-6).all()
    weights, error = view.weights_given(X, None, rng=seeded())
    np.testing.assert_array_equal(weights, np.tile(population.weights, (5, 1)))
    assert (error == 0).all()


@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("is_shared", [False, True])
def test_draws_have_the_frequencies_of_the_mixture(is_shared, is_generic):
    rng = seeded(3)
    population = random_population(rng, n_labels=3, max_classes=3, n_chains=3, scale=1.0)
    view = as_generic_population(population) if is_generic else population
    X = rng.normal(size=(2, 3))
    n_samples, n_tables = 4000, 1 if is_shared else 2
    labels, log_weight = view.sample(X, rng.random((n_tables, n_samples)), rng.random((n_tables, n_samples, 3)))
    assert labels.shape == (2, n_samples, 3)
    assert (log_weight == 0).all()
    for i in range(2):
        table = reference.table(population, X, i)
        observed = [(labels[i] == vector).all(axis=1).sum() for vector in table]
        assert chisquare(observed, n_samples * np.array(list(table.values()))).pvalue > 1e-4


def test_weighted_draws_have_the_frequencies_of_the_mixture_given_what_is_known():
    rng = seeded(4)
    population = random_population(rng, n_labels=3, max_classes=2, n_chains=3, scale=1.0)
    X = rng.normal(size=(1, 3))
    known = np.array([[-1, 1, -1]], dtype=np.int32)
    labels, log_weight = population.sample(X, rng.random((1, 40000)), rng.random((1, 40000, 3)), known)
    weights = np.exp(log_weight[0]) / np.exp(log_weight[0]).sum()
    table = reference.table(population, X, 0, known)
    for vector, proba in table.items():
        share = weights[(labels[0] == vector).all(axis=1)].sum()
        assert share == pytest.approx(proba / sum(table.values()), abs=0.02)


def test_a_row_is_drawn_alike_alone():
    rng = seeded(5)
    population = random_population(rng, n_labels=4, n_chains=3)
    X = rng.normal(size=(6, 3))
    choice, uniforms = rng.random((6, 9)), rng.random((6, 9, 4))
    whole, _ = population.sample(X, choice, uniforms)
    for i in range(6):
        alone, _ = population.sample(X[i : i + 1], choice[i : i + 1], uniforms[i : i + 1])
        np.testing.assert_array_equal(alone[0], whole[i])


def test_chains_of_weight_zero_are_left_out():
    rng = seeded(6)
    chains = [random_chain(rng, [2, 3]) for _ in range(3)]
    population = Population(chains, [2, 0, 6])
    assert population.chains == (chains[0], chains[2])
    np.testing.assert_allclose(population.weights, [0.25, 0.75])
    np.testing.assert_allclose(Population(chains).weights, 1 / 3)
    np.testing.assert_allclose(Population(chains[:2], [1e-320, 1e-320]).weights, 0.5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"`weights` has shape \(1,\) for 2 chains"),
        ([1.0, -1.0], "must be finite, not negative and not all zero"),
        ([0.0, 0.0], "must be finite, not negative and not all zero"),
        ([1.0, np.nan], "must be finite, not negative and not all zero"),
    ],
)
def test_bad_weights(weights, message):
    rng = seeded()
    with pytest.raises(ValueError, match=message):
        Population([random_chain(rng, [2, 2]) for _ in range(2)], weights)


def test_bad_chains():
    rng = seeded()
    with pytest.raises(ValueError, match="at least one chain"):
        Population([])
    with pytest.raises(ValueError, match="must have the same labels and classes"):
        Population([random_chain(rng, [2, 3]), random_chain(rng, [3, 2])])
    chain = random_chain(rng, [2, 2])
    chain.order = (0, 0)
    with pytest.raises(ValueError, match=r"the order \[0, 0\] of a chain is not a permutation of its 2 labels"):
        Population([chain])


@pytest.mark.parametrize("name", COMBINATIONS)
def test_combinations_by_name(name):
    assert type(check_combine(name)) is COMBINATIONS[name]
    combination = COMBINATIONS[name]()
    assert check_combine(combination) is combination


@pytest.mark.parametrize(
    ("combine", "message"),
    [
        ("algorithm_4", "`combine='algorithm_4'` is not known; did you mean 'algorithm-4'? Allowed are 'algorithm-4'"),
        (3, "`combine=3` is not known. Allowed are 'algorithm-4', 'mixture', 'vote', or a combination such as"),
    ],
)
def test_unknown_combinations(combine, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        check_combine(combine)


@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("combination", [Algorithm4(4, 20), Algorithm4(3, 5, "random"), Mixture(), Mixture(5), Vote()])
def test_what_every_combination_satisfies(combination, is_generic, loss):
    rng = seeded(7)
    population = random_population(rng, n_labels=4, max_classes=2, n_chains=3, scale=1.0)
    view = as_generic_population(population) if is_generic else population
    X = rng.normal(size=(6, 3))
    for known in (None, random_given(rng, 6, population.n_classes, 0.4)):
        for inference in (Greedy(), BranchAndBound()):
            arguments = {"loss": bound_loss(loss, population), "inference": inference}
            found = combination.decide(view, X, given=known, rng=seeded(), **arguments)
            assert found.labels.dtype == np.int32
            assert found.labels.shape == (6, 4)
            np.testing.assert_allclose(found.log_proba, population.log_joint(X, found.labels), rtol=0, atol=1e-9)
            for i in range(6):
                table = reference.table(population, X, i, known)
                assert tuple(found.labels[i].tolist()) in table  # agrees with what is known
                best = np.log(max(table.values()))
                assert best <= found.upper_bound[i] + 1e-9
                if loss == "exact_match":
                    assert not found.certified[i] or found.log_proba[i] == pytest.approx(best, abs=1e-8)
                    regret = (np.exp(best) - np.exp(found.log_proba[i])) / sum(table.values())
                    assert regret <= found.regret[i] + 1e-9
                alone_known = None if known is None else known[i : i + 1]
                alone = combination.decide(view, X[i : i + 1], given=alone_known, rng=seeded(), **arguments)
                np.testing.assert_array_equal(alone.labels[0], found.labels[i])
