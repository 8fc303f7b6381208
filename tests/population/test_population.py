"""Populations: their models and weights."""

import numpy as np
import pytest

from montechain.population import Population
from random_populations import population_of, random_chain, seeded


def test_chains_of_weight_zero_are_left_out():
    rng = seeded(6)
    chains = [random_chain(rng, [2, 3]) for _ in range(3)]
    population = population_of(chains, [2, 0, 6])
    assert population.chains == [chains[0], chains[2]]
    np.testing.assert_allclose(population.weights, [0.25, 0.75])
    np.testing.assert_allclose(population_of(chains).weights, 1 / 3)
    np.testing.assert_allclose(population_of(chains[:2], [1e-320, 1e-320]).weights, 0.5)


def test_models_that_do_not_fit_together_are_refused():
    rng = seeded()
    with pytest.raises(ValueError, match="at least one model"):
        Population([])
    with pytest.raises(ValueError, match="must have the same labels and classes"):
        population_of([random_chain(rng, [2, 3]), random_chain(rng, [3, 2])])
    chain = random_chain(rng, [2, 2])
    chain.order = (0, 0)
    with pytest.raises(ValueError, match=r"the order \[0, 0\] of a chain is not a permutation of its 2 labels"):
        population_of([chain])
