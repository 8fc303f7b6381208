"""Mixtures of joint models of different kinds: a chain, a model over seen vectors, frequencies, another mixture."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.joint import ChainModel
from montechain.links.linear import SOFTMAX, FittedLinearLink, n_scores
from montechain.population import Algorithm4, Mixture, Population, Vote
from montechain.seen_vectors import FrequencyModel, PowersetModel
from random_chains import random_given
from random_populations import EXACT, as_generic_population, bound_loss, random_chain, random_population

LOSSES = {
    "hamming": lambda y, z: float((y != z).mean()),
    "f1": lambda y, z: 1 - (2 * (y & z).sum() / (y.sum() + z.sum()) if y.any() or z.any() else 1),
}


def all_vectors(n_classes):
    return np.array(list(itertools.product(*map(range, n_classes))), dtype=np.int32)


def mixed_population(rng, max_classes=3, combine=None):
    """Return a population of five kinds of models over the same labels."""
    n_classes = rng.integers(2, max_classes + 1, size=int(rng.integers(1, 4)))
    vectors = all_vectors(n_classes)
    seen = vectors[np.sort(rng.choice(len(vectors), size=int(rng.integers(1, len(vectors) + 1)), replace=False))]
    counts = rng.integers(1, 9, size=len(seen)).astype(float)
    width = n_scores(SOFTMAX, len(seen))
    link = FittedLinearLink(len(seen), SOFTMAX, rng.normal(size=(3, width)), rng.normal(size=width))
    inner = random_chain(rng, n_classes), random_chain(rng, n_classes)
    general = as_generic_population(Population([ChainModel(random_chain(rng, n_classes), EXACT)])).models[0]
    models = [
        ChainModel(random_chain(rng, n_classes), EXACT),
        PowersetModel(seen, counts, n_classes, link),
        FrequencyModel(seen, counts, n_classes),
        Population([ChainModel(chain, EXACT) for chain in inner], [0.3, 0.7]),
        general,
    ]
    return Population(models, rng.dirichlet(np.ones(5)) + 1e-3, combine=combine)


def table(population, X, known=None):
    """Return all vectors that may be, and their probability in each row, by summing over the models."""
    vectors = all_vectors(population.n_classes)
    columns = []
    for vector in vectors:
        each = [model.log_joint(X, np.tile(vector, (len(X), 1))) for model in population.models]
        columns.append(sum(w * np.exp(log_proba) for w, log_proba in zip(population.weights, each, strict=True)))
    proba = np.column_stack(columns)
    if known is not None:
        agrees = ((known[:, None] < 0) | (known[:, None] == vectors)).all(axis=2)
        proba = np.where(agrees, proba, 0.0)
    return vectors, proba


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans())
@settings(max_examples=60)
def test_every_query_equals_the_enumeration(seed, is_known):
    rng = np.random.default_rng(seed)
    population = mixed_population(rng)
    X = rng.normal(size=(3, 3))
    known = random_given(rng, 3, population.n_classes) if is_known else None
    vectors, proba = table(population, X, known)
    rows, total = np.arange(3), proba.sum(axis=1)
    best = population.most_probable(X, given=known, rng=rng)
    np.testing.assert_allclose(np.exp(best.log_proba), proba.max(axis=1), rtol=1e-8)
    assert best.certified.all()
    index = np.ravel_multi_index(best.labels.T, population.n_classes)
    np.testing.assert_allclose(proba[rows, index], proba.max(axis=1), rtol=1e-8)
    k = min(4, len(vectors))
    top = population.top_k(X, k, given=known)
    np.testing.assert_allclose(np.exp(top.log_proba), -np.sort(-proba, axis=1)[:, :k], rtol=1e-8, atol=1e-12)
    assert top.certified.all()
    marginals = population.marginals(X, given=known, rng=rng)
    for label, share in enumerate(marginals.proba):
        expected = [proba[:, vectors[:, label] == c].sum(axis=1) / total for c in range(share.shape[1])]
        np.testing.assert_allclose(share, np.column_stack(expected), rtol=0, atol=1e-5 if is_known else 1e-9)
    if known is not None:
        np.testing.assert_allclose(np.exp(population.log_evidence(X, known, rng=rng)[0]), total, rtol=1e-5)


@given(seed=st.integers(0, 2**32 - 1), is_known=st.booleans(), name=st.sampled_from(sorted(LOSSES)))
@settings(max_examples=30)
def test_losses_are_minimised_within_the_regret(seed, is_known, name):
    rng = np.random.default_rng(seed)
    population = mixed_population(rng, max_classes=2)
    X = rng.normal(size=(2, 3))
    known = random_given(rng, 2, population.n_classes) if is_known else None
    vectors, proba = table(population, X, known)
    found = population.decide(X, loss=bound_loss(name, population), given=known, rng=rng)
    for i in range(2):
        share = proba[i] / proba[i].sum()
        risk = {tuple(z): sum(p * LOSSES[name](y, z) for y, p in zip(vectors, share, strict=True)) for z in vectors}
        allowed = [risk[tuple(z)] for z in vectors[proba[i] > 0]]
        assert risk[tuple(found.labels[i])] - min(allowed) <= found.regret[i] + 1e-5


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_tiny_budgets_are_honest(seed):
    rng = np.random.default_rng(seed)
    population = mixed_population(rng, combine=Mixture(max_nodes=1))
    X = rng.normal(size=(3, 3))
    found = population.most_probable(X, rng=rng)
    best = np.log(table(population, X)[1].max(axis=1))
    assert (found.upper_bound >= best - 1e-9).all()
    np.testing.assert_allclose(found.log_proba[found.certified], best[found.certified], rtol=0, atol=1e-8)


def test_votes_may_come_from_any_kind_and_algorithm_4_needs_chains():
    rng = np.random.default_rng(0)
    population = mixed_population(rng)
    X, loss = rng.normal(size=(3, 3)), bound_loss("exact_match", population)
    assert Vote().decide(population, X, loss=loss, rng=rng).labels.shape == (3, population.n_labels)
    with pytest.raises(TypeError, match="needs a population of chains, but one of its models is a PowersetModel"):
        Algorithm4().decide(population, X, loss=loss, rng=rng)
    assert population.sample(X, 7, rng=rng).shape == (3, 7, population.n_labels)


def test_a_population_of_chains_is_searched_by_the_kernel_and_agrees_with_the_lists():
    rng = np.random.default_rng(1)
    chains = random_population(rng, n_labels=4, n_chains=3)
    X = rng.normal(size=(20, 3))
    nested = Population([Population([model]) for model in chains.models], chains.weights)
    np.testing.assert_allclose(
        nested.most_probable(X, rng=rng).log_proba, chains.most_probable(X, rng=rng).log_proba, atol=1e-9
    )
