"""Equally probable vectors: the first one wins, whatever the rounding."""

from functools import partial

import numpy as np
import pytest

from montechain.chain import Chain
from montechain.inference import Exhaustive, MonteCarlo
from montechain.inference.enumeration import top_k
from montechain.links.linear import FittedLinearLink
from montechain.losses import F1
from montechain.population import Algorithm4, Mixture
from montechain.prefix_tree import PrefixTree
from random_chains import as_generic, bind_loss
from random_populations import as_generic_population, population_of
from reference import algorithm_4, monte_carlo
from tests.inference.laws import STRATEGIES

DECIMALS = np.round(np.arange(-0.4, 0.5, 0.1), 1)


def seeded():
    return np.random.default_rng(5)


def handmade_chain(rng, n_labels=4, order=None, n_features=5, n_classes=2, scale=1.0):
    """Return a chain whose coefficients are tenths: many scores are zero, but for rounding."""
    width = 1 if n_classes == 2 else n_classes
    links = [
        FittedLinearLink(
            n_classes,
            scale * rng.choice(DECIMALS, (n_features, width)),
            scale * rng.choice(DECIMALS, width),
            tuple(scale * rng.choice(DECIMALS, (n_classes, width)) for _ in range(k)),
        )
        for k in range(n_labels)
    ]
    return Chain(range(n_labels) if order is None else order, [tuple(range(k)) for k in range(n_labels)], links)


def symmetric_chain(order):
    """Return a chain in which several vectors share the largest probability, and others have less."""
    links = [FittedLinearLink.constant(np.log([0.2, 0.4, 0.4]), 5, (3,) * k) for k in range(4)]
    return Chain(order, [tuple(range(k)) for k in range(4)], links)


def equal_chains():
    """Return a chain of each kind; in the first two, every vector has the same probability."""
    return [*(handmade_chain(seeded(), 6, n_classes=n, scale=0.0) for n in (2, 3)), symmetric_chain(range(4))]


@pytest.mark.parametrize("generic", [False, True])
def test_monte_carlo_keeps_the_first_of_equals(generic):
    for chain in equal_chains():
        for seed in range(20):
            found = MonteCarlo(n_samples=20).search(
                PrefixTree(as_generic(chain) if generic else chain, np.ones((1, 5))), np.random.default_rng(seed)
            )
            uniforms = np.random.default_rng(seed).random((20, chain.n_labels))
            expected, _ = monte_carlo.monte_carlo(chain, np.ones((1, 5)), None, uniforms)
            np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("generic", [False, True])
def test_algorithm_4_keeps_the_first_of_equals(generic):
    rng = seeded()
    population = population_of([symmetric_chain(rng.permutation(4)) for _ in range(3)], inference=Exhaustive())
    shown = as_generic_population(population) if generic else population
    X, loss = np.zeros((1, 5)), bind_loss("exact_match", population.n_classes)
    for seed in range(20):
        combination = Algorithm4(n_orders=3, n_samples=8)
        found = combination.decide(shown, X, loss=loss, rng=np.random.default_rng(seed))
        draw = np.random.default_rng(seed)
        steps = population.draw_models(draw.random(3))
        expected = algorithm_4.algorithm_4(population, X, None, steps, draw.random((3, 8, 4)))
        np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if not isinstance(s, MonteCarlo)], ids=repr)
@pytest.mark.parametrize("generic", [False, True])
def test_where_all_is_equal_every_label_has_its_first_class(strategy, generic):
    for n_classes in (2, 3):
        chain = handmade_chain(seeded(), 5, n_classes=n_classes, scale=0.0)
        found = strategy.search(PrefixTree(as_generic(chain) if generic else chain, np.ones((3, 5))), seeded())
        assert not found.labels.any()


def in_tenths(rng, n_rows=120, n_features=40):
    """Return inputs in tenths, most of them zero: with coefficients in tenths, rounding depends on the batch."""
    return rng.choice(DECIMALS, (n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.2)


def check_that_rounding_decides_nothing(decide, n_classes, X):
    for loss in ("exact_match", "hamming", F1(negative=0)):
        loss = bind_loss(loss, n_classes)
        together = decide(X, loss=loss, rng=seeded()).labels
        backwards = decide(np.asfortranarray(X[::-1]), loss=loss, rng=seeded()).labels[::-1]
        np.testing.assert_array_equal(backwards, together)
        for row in range(0, len(X), 10):
            np.testing.assert_array_equal(decide(X[[row]], loss=loss, rng=seeded()).labels, together[[row]])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_rounding_of_the_product_decides_nothing(strategy, generic, n_classes):
    rng = seeded()
    chain = handmade_chain(rng, n_classes=n_classes, n_features=40)
    view = as_generic(chain) if generic else chain

    def decide(X, *, loss, rng):
        return strategy.decide(PrefixTree(view, X), loss, rng)

    check_that_rounding_decides_nothing(decide, chain.n_classes, in_tenths(rng))


@pytest.mark.parametrize("combination", [Mixture(), Algorithm4(n_orders=4, n_samples=10)], ids=repr)
@pytest.mark.parametrize("generic", [False, True])
def test_rounding_of_the_product_decides_nothing_in_a_population(combination, generic):
    rng = seeded()
    chains = [handmade_chain(rng, 4, rng.permutation(4), n_features=40) for _ in range(3)]
    population = population_of(chains, inference=Exhaustive())
    decide = partial(combination.decide, as_generic_population(population) if generic else population)
    check_that_rounding_decides_nothing(decide, population.n_classes, in_tenths(rng))


def test_top_k_lists_equals_in_the_order_found():
    chain = handmade_chain(seeded(), 3, scale=0.0)
    top = top_k(PrefixTree(chain, np.ones((1, 5))), 8)
    assert top.labels[0].tolist() == [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
