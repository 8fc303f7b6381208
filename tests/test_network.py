"""The dependency network: its sampler reaches the right distribution, and links of any kind give the same draws."""

import numpy as np
import pytest

from montechain.chain import Chain
from montechain.links import LogisticLink
from montechain.network import DependencyNetwork
from montechain.targets import UNKNOWN
from random_chains import all_vectors, random_given
from random_networks import as_generic, pairwise_model, random_linear_network


@pytest.mark.parametrize("n_classes", [(2, 2, 2, 2), (2, 3, 2), (3, 4)])
@pytest.mark.parametrize("is_known", [False, True])
def test_the_vectors_approach_those_of_the_distribution(n_classes, is_known):
    rng = np.random.default_rng(len(n_classes))
    network, probabilities = pairwise_model(rng, n_classes, scale=0.7)
    X = rng.normal(size=(3, 2))
    vectors, proba = all_vectors(n_classes), probabilities(X)
    known = None
    if is_known:
        known = np.full((3, len(n_classes)), UNKNOWN, dtype=np.int32)
        known[0, 0], known[1, -1] = 1, 0
        proba = np.where(((known[:, None] >= 0) & (known[:, None] != vectors)).any(axis=2), 0.0, proba)
        proba /= proba.sum(axis=1, keepdims=True)
    n_sweeps, n_batches = 20_000, 50
    uniforms = rng.random((3, n_sweeps, len(n_classes)))
    labels = network.gibbs(X, uniforms, n_sweeps - 100, given=known)
    weight = np.array([1.0, *np.cumprod(n_classes[::-1])[:-1]])[::-1]
    numbers = (labels @ weight).astype(int)
    for i in range(3):
        # Standard errors by batches, since successive sweeps depend on each other.
        is_vector = numbers[i][:, None] == np.arange(len(vectors))
        share = is_vector.mean(axis=0)
        batches = np.array([batch.mean(axis=0) for batch in np.array_split(is_vector, n_batches)])
        error = batches.std(axis=0, ddof=1) / np.sqrt(n_batches)
        assert (np.abs(share - proba[i]) <= 5.0 * error + 1e-3).all()


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("is_shared", [False, True])
def test_links_of_any_kind_give_the_same_draws(is_known, is_shared):
    rng = np.random.default_rng(5)
    network = random_linear_network(rng, 4, 3, constant=[2])
    X = rng.normal(size=(6, 3))
    known = random_given(rng, 6, network.n_classes) if is_known else None
    uniforms = rng.random((1 if is_shared else 6, 30, 4))
    generic = as_generic(network)
    assert generic.n_scores == 0
    drawn = [own.gibbs(X, uniforms, 10, given=known) for own in (network, generic)]
    np.testing.assert_array_equal(*drawn)


def test_conditionals_met_before_are_not_asked_for_again():
    rng = np.random.default_rng(6)
    network = as_generic(random_linear_network(rng, 3))
    network.gibbs(rng.normal(size=(5, 3)), rng.random((1, 200, 3)), 200)
    # Two binary labels have four combinations, in each of five rows.
    assert all(0 < link.n_rows_asked <= 4 * 5 for link in network.links)


def test_unknown_labels_are_filled_by_a_chain_and_rows_of_unknown_labels_left_out():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 3))
    codes = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(120, 3)) > 0).astype(np.int32)
    codes[rng.random(codes.shape) < 0.2] = UNKNOWN
    asked = []

    class Recording(LogisticLink):
        def fit_links(self, X, codes, filled, n_classes, problems, **options):
            asked.append((codes.copy(), filled.copy(), list(problems)))
            return super().fit_links(X, codes, filled, n_classes, problems, **options)

    network = DependencyNetwork.learn(Recording(), X, codes, [2, 2, 2], seed=3)
    seen, filled, problems = asked[-1]
    assert [problem.parents for problem in problems] == [(1, 2), (0, 2), (0, 1)]
    np.testing.assert_array_equal(seen, codes)
    known = codes != UNKNOWN
    np.testing.assert_array_equal(filled[known], codes[known])
    chain = Chain.learn(LogisticLink(), X, codes, [2, 2, 2], range(3), [(), (0,), (0, 1)], seed=3)
    np.testing.assert_array_equal(filled, chain.complete(X, codes, np.random.default_rng([3, 3])))
    again = DependencyNetwork.learn(LogisticLink(), X, codes, [2, 2, 2], seed=3)
    for link, other in zip(network.links, again.links, strict=True):
        np.testing.assert_array_equal(link.coef, other.coef)
