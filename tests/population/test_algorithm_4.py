"""Algorithm 4."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.population import Algorithm4
from random_chains import random_given
from random_populations import as_generic_population, bound_loss, random_population, seeded
from reference import algorithm_4 as reference
from reference import mixture as mixture_reference


def decide(combination, population, X, loss="exact_match", known=None):
    loss = bound_loss(loss, population)
    return combination.decide(population, X, loss=loss, given=known, rng=seeded())


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), initial=st.sampled_from(["greedy", "random"]))
@settings(max_examples=40)
def test_both_paths_equal_the_pseudocode(seed, is_known, initial):
    rng = seeded(seed)
    population = random_population(rng)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    combination = Algorithm4(n_orders=3, n_samples=8, initial=initial)
    # One table for all rows: first the orders, by their weights, then the vectors.
    draws = seeded()
    steps = [int((np.cumsum(population.weights)[:-1] <= u).sum()) for u in draws.random(3)]
    uniforms = draws.random((3, 8, population.n_labels))
    expected = reference.algorithm_4(population, X, known, steps, uniforms, initial == "greedy")
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
def test_other_losses_are_minimised_over_draws_from_the_mixture(is_generic, share):
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


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_orders": 0}, r"`n_orders=0` is not a positive integer. Try `Algorithm4\(n_orders=50\)`"),
        ({"n_samples": 1.5}, r"`n_samples=1.5` is not a positive integer. Try `Algorithm4\(n_samples=100\)`"),
        ({"initial": "gredy"}, "`initial='gredy'` of Algorithm4 is not known; did you mean 'greedy'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        decide(Algorithm4(**parameters), random_population(seeded()), np.zeros((1, 3)))
