"""Monte Carlo inference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from montechain.chain import Chain
from montechain.inference import Beam, EpsilonApproximate, Exhaustive
from montechain.inference.monte_carlo import MonteCarlo
from montechain.links.linear import SOFTMAX, FittedLinearLink
from montechain.losses import check_loss
from random_chains import as_generic, log_proba_table, random_given, random_linear_chain, random_table_chain
from reference import monte_carlo as reference


def seeded(seed=0):
    return np.random.default_rng(seed)


def hamming(chain):
    return check_loss("hamming", classes=[np.arange(k) for k in chain.n_classes], order=range(chain.n_labels))


def problems(n, share, max_labels=5):
    rng = seeded(1)
    for _ in range(n):
        chain = random_linear_chain(rng, int(rng.integers(1, max_labels)), 4, scale=rng.choice([0.5, 1, 3]))
        X = rng.normal(size=(3, 3))
        yield chain, X, None if share is None else random_given(rng, 3, chain.n_classes, share)


@pytest.mark.parametrize("initial", ["greedy", "random"])
@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_both_paths_are_algorithm_3(initial, share):
    for chain, X, known in problems(15, share):
        uniforms = seeded().random((12, chain.n_labels))
        labels, log_proba = reference.monte_carlo(chain, X, known, uniforms, initial == "greedy")
        _, table = log_proba_table(chain, X, known)
        for view in (chain, as_generic(chain)):
            decision = MonteCarlo(n_samples=12, initial=initial).most_probable(view, X, given=known, rng=seeded())
            np.testing.assert_array_equal(decision.labels, labels)
            np.testing.assert_allclose(decision.log_proba, log_proba, rtol=0, atol=1e-10)
            assert (decision.upper_bound >= table.max(axis=1) - 1e-10).all()
            assert (decision.upper_bound >= decision.log_proba).all()


@pytest.mark.parametrize("share", [None, 0.4])
def test_distribution_and_marginals_are_those_of_the_draws(share):
    for chain, X, known in problems(10, share):
        uniforms = seeded().random((25, chain.n_labels))
        expected = reference.drawn_vectors(chain, X, known, uniforms)
        for view in (chain, as_generic(chain)):
            sampler = MonteCarlo(n_samples=25)
            distribution = sampler.distribution(view, X, given=known, rng=seeded())
            marginals = sampler.marginals(view, X, given=known, rng=seeded()).proba
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
    chain = random_linear_chain(rng, 4, 3)
    X = rng.normal(size=(3, 3))
    known = np.array([[-1, -1, 1, -1], [-1, 0, -1, 1], [-1, -1, -1, 0]], dtype=np.int32)
    vectors, table = log_proba_table(chain, X, known)
    proba = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
    marginals = MonteCarlo(n_samples=20000).marginals(chain, X, given=known, rng=seeded()).proba
    for k, marginal in enumerate(marginals):
        truth = np.column_stack([proba[:, vectors[:, k] == c].sum(axis=1) for c in range(chain.n_classes[k])])
        np.testing.assert_allclose(marginal, truth, rtol=0, atol=0.03)


@pytest.mark.parametrize("share", [None, 0.3])
@pytest.mark.parametrize("decision", ["marginals", "best_sampled"])
def test_hamming(decision, share):
    n_certified = 0
    for chain, X, known in problems(20, share, max_labels=4):
        vectors, table = log_proba_table(chain, X, known)
        proba = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
        # risk[i, v]: expected share of wrong labels of vector v in row i.
        risk = proba @ (vectors[:, None] != vectors[None]).mean(axis=2)
        risk[table == -np.inf] = np.inf
        for view in (chain, as_generic(chain)):
            sampler = MonteCarlo(n_samples=60, decision=decision)
            found = sampler.decide(view, X, loss=hamming(chain), given=known, rng=seeded())
            marginals = sampler.marginals(view, X, given=known, rng=seeded()).proba
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
        chain, X = random_table_chain(rng, (2, 2, 2, 2), 3, concentration=0.3)
        draws = reference.drawn_vectors(chain, X, None, seeded(seed).random((10, 4)))
        sampler = MonteCarlo(n_samples=10, decision="best_sampled")
        found = sampler.decide(chain, X, loss=hamming(chain), rng=seeded(seed))
        marginals = sampler.marginals(chain, X, rng=seeded(seed)).proba
        by_label = MonteCarlo(n_samples=10).decide(chain, X, loss=hamming(chain), rng=seeded(seed))
        for i, vectors in enumerate(draws):
            sums = {y: sum(marginal[i, y[k]] for k, marginal in enumerate(marginals)) for y, _, _, _ in vectors}
            assert sums[tuple(found.labels[i].tolist())] == pytest.approx(max(sums.values()))
        differ += (found.labels != by_label.labels).any(axis=1).sum()
    assert differ > 0


def test_more_samples_never_hurt_and_in_the_end_certify():
    rng = seeded(5)
    chain = random_linear_chain(rng, 7, 3, scale=0.5)
    X = rng.normal(size=(30, 3))
    found = [MonteCarlo(n_samples=n).most_probable(chain, X, rng=seeded()) for n in (1, 10, 100, 20000)]
    for fewer, more in itertools.pairwise(found):
        assert (more.log_proba >= fewer.log_proba - 1e-12).all()
    assert found[0].certified.mean() < found[-1].certified.mean()
    _, table = log_proba_table(chain, X)
    for decision in found:
        np.testing.assert_allclose(
            decision.log_proba[decision.certified], table.max(axis=1)[decision.certified], rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("is_generic", [False, True])
def test_a_row_alone_gets_the_same_labels(is_generic):
    rng = seeded(6)
    chain = random_linear_chain(rng, 5, 3)
    view = as_generic(chain) if is_generic else chain
    X = rng.normal(size=(6, 3))
    for loss in (
        check_loss("exact_match", classes=[np.arange(k) for k in chain.n_classes], order=range(5)),
        hamming(chain),
    ):
        whole = MonteCarlo(n_samples=9).decide(view, X, loss=loss, rng=seeded())
        for i in range(6):
            alone = MonteCarlo(n_samples=9).decide(view, X[i : i + 1], loss=loss, rng=seeded())
            np.testing.assert_array_equal(alone.labels[0], whole.labels[i])


@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
def test_impossible_knowledge_is_answered_all_the_same(loss):
    fair = FittedLinearLink.constant(np.log([0.5, 0.5]), 1, ())
    impossible = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-np.inf]))
    chain = Chain(range(2), [(), ()], [fair, impossible])
    known = np.array([[-1, 1]], dtype=np.int32)
    loss = check_loss(loss, classes=[np.arange(2)] * 2, order=range(2))
    for strategy in (MonteCarlo(), Exhaustive(), Beam(), EpsilonApproximate()):
        found = strategy.decide(chain, np.zeros((1, 1)), loss=loss, given=known, rng=seeded())
        assert found.labels[0, 1] == 1
        assert found.log_proba[0] == -np.inf
        assert not np.isnan(found.regret).any()


def test_conditionals_are_asked_for_level_by_level():
    chain, X = random_table_chain(seeded(4), (2, 3, 2), 5)
    MonteCarlo(n_samples=30).most_probable(chain, X, rng=seeded())
    assert chain.n_calls <= 6
    chain.n_calls = 0
    MonteCarlo(n_samples=30).distribution(chain, X, rng=seeded())
    assert chain.n_calls == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 0}, r"`n_samples=0` of MonteCarlo must be a positive integer, e.g. MonteCarlo\(n_samples=100\)"),
        ({"n_samples": 2.5}, "`n_samples=2.5` of MonteCarlo must be a positive integer"),
        ({"initial": "gredy"}, "`initial='gredy'` of MonteCarlo is not known; did you mean 'greedy'?"),
        ({"decision": None}, "`decision=None` of MonteCarlo is not known. Allowed are 'marginals' and 'best_sampled'"),
    ],
)
def test_bad_parameters(parameters, message):
    chain, X = random_table_chain(seeded(), (2, 2), 1)
    with pytest.raises(ValueError, match=message):
        MonteCarlo(**parameters).most_probable(chain, X, rng=seeded())
