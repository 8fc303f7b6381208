"""The kernel of the mixture, against enumeration under all chains."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain._kernels.mixture import mixture
from montechain.population.search import stacked_scores
from montechain.prefix_tree import no_knowledge
from random_chains import random_given
from random_populations import population_of, random_population
from reference import mixture as reference


def run(population, X, known, k=1, first_nodes=500, max_nodes=10**6):
    return mixture(
        *stacked_scores(population.models, X),
        no_knowledge(population.n_labels) if known is None else known,
        population.orders,
        np.log(population.weights),
        k,
        first_nodes,
        max_nodes,
    )


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), k=st.sampled_from([1, 1, 2, 5, 30]),
       first_nodes=st.sampled_from([1, 500]))  # fmt: skip
def test_equals_the_enumeration(seed, is_known, k, first_nodes):
    rng = np.random.default_rng(seed)
    population = random_population(rng)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, population.n_classes) if is_known else None
    k = min(k, math.prod(population.n_classes))
    labels, log_proba, upper_bound, _ = run(population, X, known, k, first_nodes)
    for i, expected in enumerate(reference.mixture(population, X, known, k)):
        np.testing.assert_allclose(log_proba[i, : len(expected)], [value for _, value in expected], rtol=0, atol=1e-9)
        assert (log_proba[i, len(expected) :] == -np.inf).all()
        assert (labels[i, len(expected) :] == -1).all()
        found = [tuple(vector) for vector in labels[i, : len(expected)].tolist()]
        assert len(set(found)) == len(found)
        probabilities = reference.table(population, X, i, known)
        for vector, value in zip(found, log_proba[i], strict=False):
            assert math.log(probabilities[vector]) == pytest.approx(value, abs=1e-9)
        assert upper_bound[i] <= log_proba[i, k - 1] + 1e-9


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), k=st.sampled_from([1, 3]))
def test_the_bound_holds_under_any_budget_and_never_rises(seed, is_known, k):
    rng = np.random.default_rng(seed)
    population = random_population(rng, n_labels=5, max_classes=3)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, population.n_classes, 0.2) if is_known else None
    best = reference.mixture(population, X, known, k)
    before = np.full(3, np.inf)
    for max_nodes in (1, 2, 3, 5, 8, 13, 40, 150, 10**6):
        labels, log_proba, upper_bound, nodes = run(population, X, known, k, first_nodes=3, max_nodes=max_nodes)
        assert (nodes <= max_nodes).all()
        assert (upper_bound <= before + 1e-12).all()
        before = upper_bound
        for i, expected in enumerate(best):
            found = {tuple(vector) for vector in labels[i].tolist()}
            missed = [value for vector, value in expected if vector not in found]
            assert max([*missed, log_proba[i, -1]]) <= upper_bound[i] + 1e-9


def test_agreeing_chains_need_no_nodes_and_disagreeing_ones_do():
    rng = np.random.default_rng(0)
    population = random_population(rng, n_labels=6, n_chains=4, scale=1.0)
    alike = population_of([population.chains[0]] * 4)
    X = rng.normal(size=(20, 3))
    assert (run(alike, X, None)[3] == 0).all()
    assert (run(population, X, None)[3] > 0).any()


def test_tiny_probabilities_do_not_vanish():
    # Almost all labels are known, and improbable: joint probabilities far below the smallest positive number.
    rng = np.random.default_rng(1)
    population = random_population(rng, n_labels=60, max_classes=2, n_chains=3, parents="none", scale=60.0)
    X = rng.normal(size=(4, 3))
    known = np.zeros((4, 60), dtype=np.int32)
    known[:, 57:] = -1
    labels, log_proba, upper_bound, _ = run(population, X, known)
    assert (log_proba < -745).all()
    np.testing.assert_allclose(upper_bound, log_proba[:, 0], rtol=0, atol=1e-9)
    candidates = np.repeat(known[:, None], 8, axis=1)
    candidates[:, :, 57:] = list(itertools.product((0, 1), repeat=3))
    values = np.column_stack([population.log_joint(X, candidates[:, v]) for v in range(8)])
    np.testing.assert_allclose(log_proba[:, 0], values.max(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(labels[:, 0], candidates[np.arange(4), values.argmax(axis=1)])
