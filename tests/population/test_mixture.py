"""The mixture of chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.chain import Chain
from montechain.inference.beam import Beam
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.inference.exhaustive import Exhaustive
from montechain.inference.greedy import Greedy
from montechain.inference.monte_carlo import MonteCarlo
from montechain.links.linear import SOFTMAX, FittedLinearLink
from montechain.population import Algorithm4, Mixture, Population, Vote
from random_chains import random_given, random_table_chain
from random_populations import (
    EXACT,
    as_generic_population,
    bound_loss,
    population_of,
    random_population,
    with_inference,
)
from reference import mixture as reference


def seeded(seed=0):
    return np.random.default_rng(seed)


def decide(population, X, loss="exact_match", inference=EXACT, known=None, **parameters):
    loss = bound_loss(loss, population) if isinstance(loss, str) else loss
    models = with_inference(population, inference).models
    mixture = Population(models, population.weights, combine=Mixture(**parameters))
    return mixture.decide(X, loss=loss, given=known, rng=seeded())


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), is_generic=st.booleans())
@settings(max_examples=80)
def test_exact_match_equals_the_enumeration(seed, is_known, is_generic):
    rng = seeded(seed)
    population = random_population(rng)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, population.n_classes) if is_known else None
    view = as_generic_population(population) if is_generic else population
    found = decide(view, X, known=known, max_nodes=10**6)
    best = reference.mixture(population, X, known, 1)
    np.testing.assert_allclose(found.log_proba, [row[0][1] for row in best], rtol=0, atol=1e-9)
    assert found.certified.all()
    for i in range(3):
        table = reference.table(population, X, i, known)
        assert math.log(table[tuple(found.labels[i].tolist())]) == pytest.approx(best[i][0][1], abs=1e-9)


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), is_generic=st.booleans())
@settings(max_examples=60)
def test_certificates_are_honest_under_tiny_budgets(seed, is_known, is_generic):
    rng = seeded(seed)
    population = random_population(rng, n_labels=5, max_classes=3)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes, 0.2) if is_known else None
    view = as_generic_population(population) if is_generic else population
    best = np.array([row[0][1] for row in reference.mixture(population, X, known, 1)])
    before = np.full(2, np.inf)
    for max_nodes in (1, 30, 100, 10**6):
        found = decide(view, X, known=known, max_nodes=max_nodes)
        assert (found.upper_bound >= best - 1e-9).all()
        assert (found.upper_bound >= found.log_proba).all()
        assert (found.upper_bound <= before + 1e-12).all()
        before = found.upper_bound
        np.testing.assert_allclose(found.log_proba[found.certified], best[found.certified], rtol=0, atol=1e-8)


@given(seed=st.integers(0, 2**32 - 1), k=st.sampled_from([1, 2, 7, 10**9]), is_known=st.booleans(),
       is_generic=st.booleans())  # fmt: skip
@settings(max_examples=60)
def test_top_k_equals_the_enumeration(seed, k, is_known, is_generic):
    rng = seeded(seed)
    population = random_population(rng, n_labels=int(rng.integers(1, 4)))
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    view = as_generic_population(population) if is_generic else population
    top = Population(view.models, view.weights, combine=Mixture(max_nodes=10**6)).top_k(X, k, given=known)
    places = min(k, math.prod(population.n_classes))
    assert top.labels.shape == (2, places, population.n_labels)
    assert top.certified.all()
    for i, expected in enumerate(reference.mixture(population, X, known, places)):
        n = len(expected)
        np.testing.assert_allclose(top.log_proba[i, :n], [value for _, value in expected], rtol=0, atol=1e-9)
        assert (top.log_proba[i, n:] == -np.inf).all()
        assert (top.labels[i, n:] == -1).all()
        assert len({tuple(vector) for vector in top.labels[i, :n].tolist()}) == n


def test_all_combinations_give_the_mixtures_top_k():
    rng = seeded(1)
    population = random_population(rng, n_labels=4, n_chains=3)
    X = rng.normal(size=(3, 3))
    top = population.top_k(X, 3)
    for combination in (Algorithm4(), Vote()):
        combined = Population(population.models, population.weights, combine=combination)
        np.testing.assert_array_equal(combined.top_k(X, 3).labels, top.labels)


@pytest.mark.parametrize("k", [0, 1.5, True])
def test_bad_k(k):
    population = random_population(seeded())
    with pytest.raises(ValueError, match=r"is not a positive integer. Try `k=5`"):
        population.top_k(np.zeros((1, 3)), k)


def weighted_errors(y, y_hat):
    return float(((y != y_hat) * (1 + np.arange(len(y)))).sum() / (len(y) * (len(y) + 1) / 2))


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), is_generic=st.booleans())
@settings(max_examples=25)
def test_other_losses_are_minimised_within_the_regret(seed, is_known, is_generic):
    rng = seeded(seed)
    population = random_population(rng, n_labels=3, max_classes=2)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    view = as_generic_population(population) if is_generic else population
    losses = {
        "hamming": lambda y, z: float((y != z).mean()),
        "f1": lambda y, z: 1 - (2 * (y & z).sum() / (y.sum() + z.sum()) if y.any() or z.any() else 1),
        "jaccard": lambda y, z: 1 - ((y & z).sum() / (y | z).sum() if y.any() or z.any() else 1),
        "weighted": weighted_errors,
    }
    strategies = [EXACT, Exhaustive(), BranchAndBound(residual=0.3), BranchAndBound(max_nodes=3), MonteCarlo(30),
                  Beam(2), Greedy()]  # fmt: skip
    tables = [reference.table(population, X, i, known) for i in range(2)]
    for name, function in losses.items():
        risks = [
            {
                z: sum(p * function(np.array(y), np.array(z)) for y, p in table.items()) / sum(table.values())
                for z in table
            }
            for table in tables
        ]
        loss = bound_loss(function if name == "weighted" else name, population)
        for inference in strategies:
            found = decide(view, X, loss, inference, known)
            for i, risk in enumerate(risks):
                excess = risk[tuple(found.labels[i].tolist())] - min(risk.values())
                assert excess <= found.regret[i] + 1e-9
                assert not found.certified[i] or excess <= 1e-9
                if inference in strategies[:2]:
                    assert excess <= 1e-5
                    assert found.expected_loss[i] == pytest.approx(min(risk.values()), abs=1e-5)
                    if known is None:
                        assert found.regret[i] <= 1e-9


def test_large_batches_are_decided_in_blocks_alike():
    rng = seeded(3)
    population = random_population(rng, n_labels=4, max_classes=2, n_chains=3, scale=0.5)
    X = rng.normal(size=(300, 3))
    inference = BranchAndBound(max_nodes=4, frontier_samples=7)
    whole = decide(population, X, "f1", inference)
    for i in (0, 255, 256, 299):
        alone = decide(population, X[i : i + 1], "f1", inference)
        np.testing.assert_array_equal(alone.labels[0], whole.labels[i])


@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
def test_impossible_knowledge_is_answered_all_the_same(loss, is_generic):
    fair = FittedLinearLink.constant(np.log([0.5, 0.5]), 1, ())
    never = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-np.inf]))
    population = population_of([Chain([0, 1], [(), ()], [fair, never]), Chain([1, 0], [(), ()], [never, fair])])
    view = as_generic_population(population) if is_generic else population
    known = np.array([[-1, 1], [1, 0]], dtype=np.int32)
    for combination in (Mixture(), Vote(), Algorithm4(3, 4)):
        arguments = {"given": known, "rng": seeded()}
        found = combination.decide(view, np.zeros((2, 1)), loss=bound_loss(loss, population), **arguments)
        assert found.labels[0, 1] == 1
        np.testing.assert_array_equal(found.labels[1], [1, 0])
        assert found.log_proba[0] == -np.inf
        assert not np.isnan(found.regret).any()
        for proba in combination.marginals(view, np.zeros((2, 1)), **arguments).proba:
            np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    top = view.top_k(np.zeros((2, 1)), 2, given=known)
    assert (top.labels[0] == -1).all()
    assert top.certified.all()


def test_links_of_any_kind_are_asked_for_level_by_level():
    rng = seeded(4)
    chain, X = random_table_chain(rng, (2, 3, 2), 20)
    other, _ = random_table_chain(rng, (2, 3, 2), 20)
    chain.order = other.order = (0, 1, 2)
    decide(population_of([chain, other]), X)
    # Two sweeps and twice the scores of what they found, each of three calls.
    assert chain.n_calls <= 12
    assert other.n_calls <= 12


@pytest.mark.parametrize("max_nodes", [0, 2.5, None])
def test_bad_parameters(max_nodes):
    population = random_population(seeded())
    with pytest.raises(ValueError, match=r"is not a positive integer. Try `Mixture\(max_nodes=20_000\)`"):
        decide(population, np.zeros((1, 3)), max_nodes=max_nodes)
