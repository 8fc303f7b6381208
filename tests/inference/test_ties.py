"""Equally probable vectors: the first one counts, and rounding decides nothing."""

from __future__ import annotations

import numpy as np
import pytest

from montechain.chain import Chain, PrefixTree
from montechain.inference import Exhaustive, MonteCarlo
from montechain.inference.enumeration import top_k
from montechain.links.linear import SOFTMAX, FittedLinearLink
from montechain.losses import F1, check_loss
from montechain.population import Algorithm4, Mixture
from random_chains import as_generic
from random_populations import population_of
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
            SOFTMAX,
            scale * rng.choice(DECIMALS, (n_features, width)),
            scale * rng.choice(DECIMALS, width),
            tuple(scale * rng.choice(DECIMALS, (n_classes, width)) for _ in range(k)),
        )
        for k in range(n_labels)
    ]
    return Chain(range(n_labels) if order is None else order, [tuple(range(k)) for k in range(n_labels)], links)


def bound_loss(name, n_classes):
    return check_loss(
        F1(negative=0) if name == "f1" else name, classes=[np.arange(k) for k in n_classes], order=range(len(n_classes))
    )


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("start_greedy", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_monte_carlo_keeps_the_first_of_equals(generic, start_greedy, n_classes):
    """Every vector has the same probability, so the start is never replaced."""
    chain = handmade_chain(seeded(), 6, n_classes=n_classes, scale=0.0)
    X, initial = np.ones((1, 5)), "greedy" if start_greedy else "random"
    for seed in range(50):
        found = MonteCarlo(n_samples=40, initial=initial).most_probable(
            as_generic(chain) if generic else chain, X, rng=np.random.default_rng(seed)
        )
        uniforms = np.random.default_rng(seed).random((40, 6))
        expected, _ = monte_carlo.monte_carlo(chain, X, None, uniforms, start_greedy)
        np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("start_greedy", [True, False])
def test_monte_carlo_keeps_the_first_of_equals_among_others(generic, start_greedy):
    """Symmetric chains: several vectors share the largest probability, others have less."""
    rng = seeded()
    links = [FittedLinearLink.constant(np.log([0.2, 0.4, 0.4]), 1, (3,) * k) for k in range(4)]
    chain = Chain(range(4), [tuple(range(k)) for k in range(4)], links)
    X = np.zeros((1, 1))
    for _ in range(50):
        seed = int(rng.integers(2**32))
        found = MonteCarlo(n_samples=9, initial="greedy" if start_greedy else "random").most_probable(
            as_generic(chain) if generic else chain, X, rng=np.random.default_rng(seed)
        )
        uniforms = np.random.default_rng(seed).random((9, 4))
        expected, _ = monte_carlo.monte_carlo(chain, X, None, uniforms, start_greedy)
        np.testing.assert_array_equal(found.labels, expected)


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("initial", ["greedy", "random"])
def test_algorithm_4_keeps_the_first_of_equals(generic, initial):
    rng = seeded()
    links = [FittedLinearLink.constant(np.log([0.2, 0.4, 0.4]), 1, (3,) * k) for k in range(4)]
    chains = [Chain(rng.permutation(4), [tuple(range(k)) for k in range(4)], links) for _ in range(3)]
    population = population_of(chains, inference=Exhaustive())
    X = np.zeros((1, 1))
    loss = bound_loss("exact_match", population.n_classes)
    for seed in range(40):
        shown = population
        if generic:
            shown = population_of([ordered_view(chain) for chain in chains], inference=Exhaustive())
        combination = Algorithm4(n_orders=3, n_samples=8, initial=initial)
        found = combination.decide(shown, X, loss=loss, rng=np.random.default_rng(seed))
        draw = np.random.default_rng(seed)
        steps = population.draw_models(draw.random(3))
        expected = algorithm_4.algorithm_4(population, X, None, steps, draw.random((3, 8, 4)), initial == "greedy")
        np.testing.assert_array_equal(found.labels, expected)


def ordered_view(chain):
    view = as_generic(chain)
    view.order = chain.order
    return view


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if not isinstance(s, MonteCarlo)], ids=repr)
@pytest.mark.parametrize("generic", [False, True])
def test_where_all_is_equal_every_label_has_its_first_class(strategy, generic):
    for n_classes in (2, 3):
        chain = handmade_chain(seeded(), 5, n_classes=n_classes, scale=0.0)
        found = strategy.most_probable(as_generic(chain) if generic else chain, np.ones((3, 5)), rng=seeded())
        assert not found.labels.any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_rounding_of_the_product_decides_nothing(strategy, generic, n_classes):
    """With coefficients and inputs in tenths, many scores are zero but for rounding, which depends on the batch."""
    rng = seeded()
    chain = handmade_chain(rng, n_classes=n_classes, n_features=40)
    X = rng.choice(DECIMALS, (400, 40)) * (rng.random((400, 40)) < 0.2)
    shown = as_generic(chain) if generic else chain
    for name in ("exact_match", "hamming", "f1"):
        loss = bound_loss(name, chain.n_classes)
        together = strategy.decide(shown, X, loss=loss, rng=seeded()).labels
        reversed_ = strategy.decide(shown, np.asfortranarray(X[::-1]), loss=loss, rng=seeded()).labels[::-1]
        np.testing.assert_array_equal(reversed_, together)
        for rows in (slice(i, i + 1) for i in range(0, 400, 10)):
            np.testing.assert_array_equal(
                strategy.decide(shown, X[rows], loss=loss, rng=seeded()).labels, together[rows]
            )


@pytest.mark.parametrize("combination", [Mixture(), Algorithm4(n_orders=4, n_samples=10)], ids=repr)
@pytest.mark.parametrize("generic", [False, True])
def test_rounding_of_the_product_decides_nothing_in_a_population(combination, generic):
    rng = seeded()
    chains = [handmade_chain(rng, 4, rng.permutation(4), n_features=40) for _ in range(3)]
    shown = [ordered_view(chain) for chain in chains] if generic else chains
    population = population_of(shown, inference=Exhaustive())
    X = rng.choice(DECIMALS, (400, 40)) * (rng.random((400, 40)) < 0.2)
    for name in ("exact_match", "hamming", "f1"):
        arguments = {"loss": bound_loss(name, population.n_classes)}
        together = combination.decide(population, X, rng=seeded(), **arguments).labels
        for rows in (slice(i, i + 1) for i in range(0, 400, 10)):
            alone = combination.decide(population, X[rows], rng=seeded(), **arguments).labels
            np.testing.assert_array_equal(alone, together[rows])


def test_top_k_lists_equals_in_the_order_found():
    chain = handmade_chain(seeded(), 3, scale=0.0)
    top = top_k(PrefixTree(chain, np.ones((1, 5))), 8)
    assert top.labels[0].tolist() == [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
