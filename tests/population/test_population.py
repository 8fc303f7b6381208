"""Populations: what all combinations share."""

from __future__ import annotations

import numpy as np
import pytest

from montechain.inference import Greedy
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.population import Algorithm4, Mixture, Population, Vote
from random_chains import random_given
from random_populations import (
    as_generic_population,
    bound_loss,
    population_of,
    random_chain,
    random_population,
    seeded,
    with_inference,
)
from reference import mixture as reference


def test_chains_of_weight_zero_are_left_out():
    rng = seeded(6)
    chains = [random_chain(rng, [2, 3]) for _ in range(3)]
    population = population_of(chains, [2, 0, 6])
    assert population.chains == [chains[0], chains[2]]
    np.testing.assert_allclose(population.weights, [0.25, 0.75])
    np.testing.assert_allclose(population_of(chains).weights, 1 / 3)
    np.testing.assert_allclose(population_of(chains[:2], [1e-320, 1e-320]).weights, 0.5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"`weights` has shape \(1,\) for 2 models"),
        ([1.0, -1.0], "must be finite, not negative and not all zero"),
        ([0.0, 0.0], "must be finite, not negative and not all zero"),
        ([1.0, np.nan], "must be finite, not negative and not all zero"),
    ],
)
def test_bad_weights(weights, message):
    rng = seeded()
    with pytest.raises(ValueError, match=message):
        population_of([random_chain(rng, [2, 2]) for _ in range(2)], weights)


def test_bad_chains():
    rng = seeded()
    with pytest.raises(ValueError, match="at least one model"):
        Population([])
    with pytest.raises(ValueError, match="must have the same labels and classes"):
        population_of([random_chain(rng, [2, 3]), random_chain(rng, [3, 2])])
    chain = random_chain(rng, [2, 2])
    chain.order = (0, 0)
    with pytest.raises(ValueError, match=r"the order \[0, 0\] of a chain is not a permutation of its 2 labels"):
        population_of([chain])


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
            arguments = {"loss": bound_loss(loss, population), "rng": seeded()}
            asked = with_inference(view, inference)
            found = combination.decide(asked, X, given=known, **arguments)
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
                arguments["rng"] = seeded()
                alone = combination.decide(asked, X[i : i + 1], given=alone_known, **arguments)
                np.testing.assert_array_equal(alone.labels[0], found.labels[i])
