"""The mixture: label-linear chains, chains with links of any kind, and joint models of different kinds together."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.chain import Chain
from montechain.inference import Beam, Exhaustive, Greedy
from montechain.inference.branch_and_bound import BranchAndBound
from montechain.inference.monte_carlo import MonteCarlo
from montechain.joint import ChainModel
from montechain.links.linear import FittedLinearLink, n_scores
from montechain.population import Algorithm4, Mixture, Population, Vote
from montechain.seen_vectors import FrequencyModel, PowersetModel
from random_chains import SEEDS, all_vectors, bind_loss, random_given
from random_populations import (
    EXACT,
    as_generic_population,
    population_of,
    random_chain,
    random_population,
    seeded,
    with_inference,
)
from reference import mixture as reference

KINDS = st.sampled_from(["linear", "generic", "mixed"])


def mixed_population(rng, n_labels=None, max_classes=3):
    """Return a population of five kinds of models over the same labels."""
    n_classes = rng.integers(2, max_classes + 1, size=int(rng.integers(1, 4)) if n_labels is None else n_labels)
    vectors = all_vectors(n_classes)
    seen = vectors[np.sort(rng.choice(len(vectors), size=int(rng.integers(1, len(vectors) + 1)), replace=False))]
    counts = rng.integers(1, 9, size=len(seen)).astype(float)
    width = n_scores(len(seen))
    link = FittedLinearLink(len(seen), rng.normal(size=(3, width)), rng.normal(size=width))
    inner = population_of([random_chain(rng, n_classes), random_chain(rng, n_classes)], [0.3, 0.7])
    models = [
        ChainModel(random_chain(rng, n_classes), EXACT),
        PowersetModel(seen, counts, n_classes, link),
        FrequencyModel(seen, counts, n_classes),
        inner,
        as_generic_population(population_of([random_chain(rng, n_classes)])).models[0],
    ]
    return Population(models, rng.dirichlet(np.ones(5)) + 1e-3)


def population_and_table(rng, kind, X, is_known, share=0.5, max_nodes=10**6, **options):
    """Return a random population, what is known, all label vectors, and their joint probabilities with what is known.

    The probabilities are sums over the models. Those of chains are also computed by the reference.
    """
    population = mixed_population(rng, **options) if kind == "mixed" else random_population(rng, **options)
    known = random_given(rng, len(X), population.n_classes, share) if is_known else None
    vectors = all_vectors(population.n_classes)
    proba = np.zeros((len(X), len(vectors)))
    for weight, model in zip(population.weights, population.models, strict=True):
        each = [model.log_joint(X, np.tile(vector, (len(X), 1))) for vector in vectors]
        proba += weight * np.exp(np.column_stack(each))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    if known is not None:
        proba = np.where(((known[:, None] < 0) | (known[:, None] == vectors)).all(axis=2), proba, 0.0)
    if kind != "mixed":
        for i, row in enumerate(proba):
            table = reference.table(population, X, i, known)
            np.testing.assert_allclose(row, [table.get(tuple(vector), 0.0) for vector in vectors.tolist()], atol=1e-12)
    view = as_generic_population(population) if kind == "generic" else population
    return Population(view.models, view.weights, combine=Mixture(max_nodes)), known, vectors, proba


@given(seed=SEEDS, kind=KINDS, is_known=st.booleans(), k=st.sampled_from([1, 2, 7, 10**9]))
@settings(max_examples=150)
def test_every_query_equals_the_enumeration(seed, kind, is_known, k):
    rng = seeded(seed)
    X = rng.normal(size=(3, 3))
    population, known, vectors, proba = population_and_table(rng, kind, X, is_known)
    total, n_labels = proba.sum(axis=1), population.n_labels
    best = population.most_probable(X, given=known, rng=rng)
    np.testing.assert_allclose(np.exp(best.log_proba), proba.max(axis=1), rtol=1e-8)
    assert best.certified.all()
    chosen = np.ravel_multi_index(best.labels.T, population.n_classes)
    np.testing.assert_allclose(proba[np.arange(3), chosen], proba.max(axis=1), rtol=1e-8)
    np.testing.assert_allclose(population.log_joint(X, best.labels), best.log_proba, rtol=0, atol=1e-9)

    top = population.top_k(X, k, given=known)
    n_places = min(k, math.prod(population.n_classes))
    assert top.labels.shape == (3, n_places, n_labels)
    assert top.certified.all()
    np.testing.assert_allclose(np.exp(top.log_proba), -np.sort(-proba, axis=1)[:, :n_places], rtol=1e-8, atol=1e-12)
    for labels, log_proba in zip(top.labels, top.log_proba, strict=True):
        n_listed = int((log_proba > -np.inf).sum())
        assert (labels[n_listed:] == -1).all()
        assert len({tuple(vector) for vector in labels[:n_listed].tolist()}) == n_listed

    # With labels known, each model's probability of them is found to a millionth.
    tolerance = 1e-5 if is_known else 1e-9
    for combination in (Mixture(), Algorithm4()):
        marginals = combination.marginals(population, X, given=known, rng=seeded())
        for label, share in enumerate(marginals.proba):
            expected = [proba[:, vectors[:, label] == c].sum(axis=1) / total for c in range(share.shape[1])]
            np.testing.assert_allclose(share, np.column_stack(expected), rtol=0, atol=tolerance)
    if known is not None:
        np.testing.assert_allclose(np.exp(population.log_evidence(X, known, rng=rng)[0]), total, rtol=1e-5)


@given(seed=SEEDS, kind=KINDS, is_known=st.booleans())
@settings(max_examples=50)
def test_certificates_are_honest_under_tiny_budgets(seed, kind, is_known):
    rng = seeded(seed)
    X = rng.normal(size=(2, 3))
    options = {"n_labels": 3 if kind == "mixed" else 5, "max_classes": 3}
    population, known, _, proba = population_and_table(rng, kind, X, is_known, 0.2, **options)
    best, before = np.log(proba.max(axis=1)), np.full(2, np.inf)
    for max_nodes in (1, 30, 100, 10**6):
        view = Population(population.models, population.weights, combine=Mixture(max_nodes))
        found = view.most_probable(X, given=known, rng=seeded())
        assert (found.upper_bound >= best - 1e-9).all()
        assert (found.upper_bound >= found.log_proba).all()
        assert (found.upper_bound <= before + 1e-12).all()
        before = found.upper_bound
        np.testing.assert_allclose(found.log_proba[found.certified], best[found.certified], rtol=0, atol=1e-8)


def weighted_errors(y, y_hat):
    return float(((y != y_hat) * (1 + np.arange(len(y)))).sum() / (len(y) * (len(y) + 1) / 2))


LOSSES = {
    "hamming": lambda y, z: float((y != z).mean()),
    "f1": lambda y, z: 1 - (2 * (y & z).sum() / (y.sum() + z.sum()) if y.any() or z.any() else 1),
    "jaccard": lambda y, z: 1 - ((y & z).sum() / (y | z).sum() if y.any() or z.any() else 1),
    "weighted": weighted_errors,
}
STRATEGIES = [EXACT, Exhaustive(), BranchAndBound(residual=0.3), BranchAndBound(max_nodes=3), MonteCarlo(30), Beam(2),
              Greedy()]  # fmt: skip


@given(seed=SEEDS, kind=KINDS, is_known=st.booleans())
@settings(max_examples=35)
def test_other_losses_are_minimised_within_the_regret(seed, kind, is_known):
    rng = seeded(seed)
    X = rng.normal(size=(2, 3))
    population, known, vectors, proba = population_and_table(rng, kind, X, is_known, n_labels=3, max_classes=2)
    share = proba / proba.sum(axis=1, keepdims=True)
    for name, function in LOSSES.items():
        risks = share @ np.array([[function(y, z) for z in vectors] for y in vectors])
        risks[proba == 0] = np.inf  # what contradicts the known labels
        loss = bind_loss(function if name == "weighted" else name, population.n_classes)
        for inference in [EXACT] if kind == "mixed" else STRATEGIES:
            view = population if kind == "mixed" else with_inference(population, inference)
            found = view.decide(X, loss=loss, given=known, rng=seeded())
            chosen = np.ravel_multi_index(found.labels.T, population.n_classes)
            excess = risks[np.arange(2), chosen] - risks.min(axis=1)
            possible = np.isfinite(excess)  # a decision may be a vector that no model has seen
            assert (excess <= found.regret + 1e-5)[possible].all()
            if kind != "mixed":
                assert possible.all()
                assert (excess <= found.regret + 1e-9).all()
                assert (excess[found.certified] <= 1e-9).all()
            if inference in STRATEGIES[:2]:
                assert (excess <= 1e-5)[possible].all()
                np.testing.assert_allclose(found.expected_loss[possible], risks.min(axis=1)[possible], atol=1e-5)
                assert known is not None or (found.regret <= 1e-9).all()


def test_votes_may_come_from_any_kind_and_algorithm_4_needs_chains():
    rng = seeded()
    population = mixed_population(rng)
    X, loss = rng.normal(size=(3, 3)), bind_loss("exact_match", population.n_classes)
    assert Vote().decide(population, X, loss=loss, rng=rng).labels.shape == (3, population.n_labels)
    with pytest.raises(TypeError, match="needs a population of chains, but one of its models is a PowersetModel"):
        Algorithm4().decide(population, X, loss=loss, rng=rng)
    assert population.sample(X, 7, rng=rng).shape == (3, 7, population.n_labels)


def test_all_combinations_give_the_mixtures_top_k():
    rng = seeded(1)
    population = random_population(rng, n_labels=4, n_chains=3)
    X = rng.normal(size=(20, 3))
    top = population.top_k(X, 3)
    nested = Population([Population([model]) for model in population.models], population.weights)
    np.testing.assert_allclose(nested.top_k(X, 3).log_proba, top.log_proba, atol=1e-9)
    for combination in (Algorithm4(), Vote()):
        combined = Population(population.models, population.weights, combine=combination)
        np.testing.assert_array_equal(combined.top_k(X, 3).labels, top.labels)


def test_large_batches_are_decided_in_blocks_alike():
    rng = seeded(3)
    population = random_population(rng, n_labels=4, max_classes=2, n_chains=3, scale=0.5)
    X = rng.normal(size=(300, 3))
    inference = BranchAndBound(max_nodes=4)
    view, loss = with_inference(population, inference), bind_loss("f1", population.n_classes)
    whole = view.decide(X, loss=loss, rng=seeded())
    for i in (0, 255, 256, 299):
        alone = view.decide(X[i : i + 1], loss=loss, rng=seeded())
        np.testing.assert_array_equal(alone.labels[0], whole.labels[i])


@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
def test_impossible_knowledge_is_answered_all_the_same(loss, is_generic):
    fair = FittedLinearLink.constant(np.log([0.5, 0.5]), 1, ())
    never = FittedLinearLink(2, np.zeros((1, 1)), np.array([-np.inf]))
    population = population_of([Chain([0, 1], [(), ()], [fair, never]), Chain([1, 0], [(), ()], [never, fair])])
    view = as_generic_population(population) if is_generic else population
    known = np.array([[-1, 1], [1, 0]], dtype=np.int32)
    for combination in (Mixture(), Vote(), Algorithm4(3, 4)):
        arguments = {"given": known, "rng": seeded()}
        found = combination.decide(view, np.zeros((2, 1)), loss=bind_loss(loss, population.n_classes), **arguments)
        assert found.labels[0, 1] == 1
        np.testing.assert_array_equal(found.labels[1], [1, 0])
        assert found.log_proba[0] == -np.inf
        assert not np.isnan(found.regret).any()
        for proba in combination.marginals(view, np.zeros((2, 1)), **arguments).proba:
            np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    top = view.top_k(np.zeros((2, 1)), 2, given=known)
    assert (top.labels[0] == -1).all()
    assert top.certified.all()
