"""Monte Carlo inference."""

import numpy as np
import pytest

import random_chains as chains
from montechain.inference import MonteCarlo
from montechain.prefix_tree import PrefixTree
from random_populations import seeded
from reference import monte_carlo as reference


def problems(n, share, most_labels=4):
    for seed in range(n):
        chain, X, _, rng = chains.random_case(seed, most_labels=most_labels, most_classes=4)
        yield chain, X, None if share is None else chains.random_given(rng, 3, chain.n_classes, share)


@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_both_paths_are_algorithm_3(share):
    for chain, X, known in problems(15, share):
        uniforms = seeded().random((12, chain.n_labels))
        labels, log_proba = reference.monte_carlo(chain, X, known, uniforms)
        for view in (chain, chains.as_generic(chain)):
            decision = MonteCarlo(n_samples=12).search(PrefixTree(view, X, known), seeded())
            np.testing.assert_array_equal(decision.labels, labels)
            np.testing.assert_allclose(decision.log_proba, log_proba, rtol=0, atol=1e-10)
            assert (decision.upper_bound >= decision.log_proba).all()


@pytest.mark.parametrize("share", [None, 0.4])
def test_distribution_and_marginals_are_those_of_the_draws(share):
    for chain, X, known in problems(10, share):
        uniforms = seeded().random((25, chain.n_labels))
        expected = reference.drawn_vectors(chain, X, known, uniforms)
        for view in (chain, chains.as_generic(chain)):
            sampler = MonteCarlo(n_samples=25)
            distribution = sampler.weigh(PrefixTree(view, X, known), seeded())
            marginals = sampler.marginals(PrefixTree(view, X, known), seeded()).proba
            assert (distribution.residual == 1).all()
            assert distribution.estimated.all()
            for i, vectors in enumerate(expected):
                row = slice(distribution.indptr[i], distribution.indptr[i + 1])
                weights = np.array([count * np.exp(log_weight) for _, count, _, log_weight in vectors])
                weights /= weights.sum()
                np.testing.assert_array_equal(distribution.labels[row], [y for y, _, _, _ in vectors])
                np.testing.assert_allclose(distribution.weights[row], weights, rtol=0, atol=1e-10)
                for k, marginal in enumerate(marginals):
                    assert marginal.shape == (3, chain.n_classes[k])
                    for c in range(chain.n_classes[k]):
                        share_of_class = sum(w for w, v in zip(weights, vectors, strict=True) if v[0][k] == c)
                        if known is None or (known[i] < 0).all():
                            share_of_class = estimate(chain, X[i : i + 1], k, c, weights, vectors)
                        assert marginal[i, c] == pytest.approx(share_of_class, abs=1e-10)


def estimate(chain, x, k, c, weights, vectors):
    """The vectors drawn with their own probability; the rest by the mean conditional over the draws."""
    drawn = sum(np.exp(log_proba) for y, _, log_proba, _ in vectors if y[k] == c)
    left = 1 - sum(np.exp(log_proba) for _, _, log_proba, _ in vectors)
    mean = sum(
        weight * np.exp(chain.conditional(x, np.array([y[:k]], dtype=np.int32).reshape(1, k))[0, c])
        for weight, (y, _, _, _) in zip(weights, vectors, strict=True)
    )
    return drawn + left * mean


def test_marginals_converge_to_the_truth_under_knowledge():
    rng = seeded(3)
    chain = chains.random_linear_chain(rng, 4, 3)
    X = rng.normal(size=(3, 3))
    known = np.array([[-1, -1, 1, -1], [-1, 0, -1, 1], [-1, -1, -1, 0]], dtype=np.int32)
    marginals = MonteCarlo(n_samples=20000).marginals(PrefixTree(chain, X, known), seeded()).proba
    for marginal, truth in zip(marginals, chains.exact_marginals(chain, X, known), strict=True):
        np.testing.assert_allclose(marginal, truth, rtol=0, atol=0.03)


@pytest.mark.parametrize("share", [None, 0.3])
@pytest.mark.parametrize("decision", ["marginals", "best_sampled"])
def test_decisions_for_hamming_loss_are_within_their_regret(decision, share):
    n_certified = 0
    for chain, X, known in problems(20, share, most_labels=3):
        vectors, proba = chains.posterior(chain, X, known)
        # risk[i, v]: expected share of wrong labels of vector v in row i.
        risk = proba @ (vectors[:, None] != vectors[None]).mean(axis=2)
        risk[proba == 0] = np.inf
        for view in (chain, chains.as_generic(chain)):
            sampler = MonteCarlo(n_samples=60, decision=decision)
            found = sampler.decide(PrefixTree(view, X, known), chains.bind_loss("hamming", chain.n_classes), seeded())
            marginals = sampler.marginals(PrefixTree(view, X, known), seeded()).proba
            n_certified += found.certified.sum()
            for i, y in enumerate(found.labels):
                at = int(np.flatnonzero((vectors == y).all(axis=1))[0])
                assert risk[i, at] - risk[i].min() <= found.regret[i] + 1e-10
                sums = sum(marginal[i, y[k]] for k, marginal in enumerate(marginals))
                assert found.expected_loss[i] == pytest.approx(1 - sums / chain.n_labels, abs=1e-10)
                if found.certified[i]:
                    assert found.regret[i] == 0
                elif decision == "marginals":
                    assert y.tolist() == [
                        int(marginal[i].argmax()) if known is None or known[i, k] < 0 else known[i, k]
                        for k, marginal in enumerate(marginals)
                    ]
    assert n_certified > 0


def test_best_sampled_is_the_draw_with_the_largest_sum_of_marginals():
    differ = 0
    for seed in range(40):
        rng = seeded(seed)
        chain, X = chains.random_table_chain(rng, (2, 2, 2, 2), 3, concentration=0.3)
        draws = reference.drawn_vectors(chain, X, None, seeded(seed).random((10, 4)))
        sampler, loss = MonteCarlo(n_samples=10, decision="best_sampled"), chains.bind_loss("hamming", chain.n_classes)
        found = sampler.decide(PrefixTree(chain, X), loss, seeded(seed))
        marginals = sampler.marginals(PrefixTree(chain, X), seeded(seed)).proba
        by_label = MonteCarlo(n_samples=10).decide(PrefixTree(chain, X), loss, seeded(seed))
        for i, vectors in enumerate(draws):
            sums = {y: sum(marginal[i, y[k]] for k, marginal in enumerate(marginals)) for y, _, _, _ in vectors}
            assert sums[tuple(found.labels[i].tolist())] == pytest.approx(max(sums.values()))
        differ += (found.labels != by_label.labels).any(axis=1).sum()
    assert differ > 0
