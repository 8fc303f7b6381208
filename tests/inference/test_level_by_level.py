"""Greedy, beam, exhaustive and epsilon-approximate search: which prefixes they keep, against their slow twins."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

import montechain.inference.level_by_level as module
import random_chains as chains
from benchmarks.peers import same_links
from montechain.inference import Beam, EpsilonApproximate, Exhaustive, Greedy
from montechain.prefix_tree import PrefixTree
from reference import beam, epsilon, greedy

RNG = np.random.default_rng(0)
CLOSE = {"rtol": 0, "atol": 1e-10}


def problems(n, share):
    for seed in range(n):
        chain, X, _, rng = chains.random_case(seed, n_rows=4, most_classes=4)
        yield chain, X, None if share is None else chains.random_given(rng, 4, chain.n_classes, share)


def rows_of(distribution):
    for start, stop in zip(distribution.indptr[:-1], distribution.indptr[1:], strict=True):
        yield distribution.labels[start:stop], distribution.weights[start:stop]


@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_greedy_agrees_with_the_reference(share):
    for chain, X, known in problems(20, share):
        labels, log_proba, upper_bound = greedy.greedy(chain, X, known)
        for view in (chain, chains.as_generic(chain)):
            decision = Greedy().search(PrefixTree(view, X, known), RNG)
            np.testing.assert_array_equal(decision.labels, labels)
            np.testing.assert_allclose(decision.log_proba, log_proba, **CLOSE)
            np.testing.assert_allclose(decision.upper_bound, upper_bound, **CLOSE)


@pytest.mark.parametrize("width", [1, 2, 5, 1000])
@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_beam_agrees_with_the_reference_and_its_residual_bounds_every_probability(width, share):
    for chain, X, known in problems(10, share):
        expected = beam.beam(chain, X, known, width)
        vectors, truth = chains.posterior(chain, X, known)
        for view in (chain, chains.as_generic(chain)):
            decision = Beam(width=width).search(PrefixTree(view, X, known), RNG)
            distribution = Beam(width=width).weigh(PrefixTree(view, X, known), RNG)
            for i, (labels, weights) in enumerate(rows_of(distribution)):
                kept, dropped_log, dropped_mass = expected[i]
                np.testing.assert_array_equal(decision.labels[i], kept[0][0])
                np.testing.assert_allclose(decision.log_proba[i], kept[0][1], **CLOSE)
                np.testing.assert_allclose(decision.upper_bound[i], max(kept[0][1], dropped_log), **CLOSE)
                found = np.exp([value for _, value in kept])
                total = found.sum() + dropped_mass
                np.testing.assert_array_equal(labels, [vector for vector, _ in kept])
                np.testing.assert_allclose(weights, found / total, **CLOSE)
                np.testing.assert_allclose(distribution.residual[i], dropped_mass / total, **CLOSE)
                # Weights are never too large, so the worst set is that of all vectors.
                estimate = dict(zip(map(tuple, labels.tolist()), weights, strict=True))
                missing = truth[i] - [estimate.get(tuple(y), 0.0) for y in vectors.tolist()]
                assert (missing >= -1e-10).all()
                assert missing.sum() <= distribution.residual[i] + 1e-10


@pytest.mark.parametrize("threshold", [0, 0.05, 0.25, 0.5, 1])
@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_epsilon_agrees_with_the_reference_and_finds_every_vector_more_probable(threshold, share):
    for chain, X, known in problems(15, share):
        labels, log_proba, bounds = zip(*epsilon.epsilon_approximate(chain, X, known, threshold), strict=True)
        best = chains.log_proba_table(chain, X, known)[1].max(axis=1)
        probable = best > np.log(max(threshold, 1e-300))
        for view in (chain, chains.as_generic(chain)):
            decision = EpsilonApproximate(epsilon=threshold).search(PrefixTree(view, X, known), RNG)
            np.testing.assert_array_equal(decision.labels, labels)
            np.testing.assert_allclose(decision.log_proba, log_proba, **CLOSE)
            np.testing.assert_allclose(decision.log_proba[probable], best[probable], **CLOSE)
            assert (decision.upper_bound >= best - 1e-10).all()
            if view is chain:
                np.testing.assert_allclose(decision.upper_bound, bounds, **CLOSE)


@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_exhaustive_search_lists_all_vectors_best_first_of_equals(share):
    for chain, X, known in problems(15, share):
        vectors, proba = chains.posterior(chain, X, known)
        for view in (chain, chains.as_generic(chain)):
            decision = Exhaustive().search(PrefixTree(view, X, known), RNG)
            np.testing.assert_array_equal(decision.labels, vectors[proba.argmax(axis=1)])
            distribution = Exhaustive().weigh(PrefixTree(view, X, known), RNG)
            for i, (labels, weights) in enumerate(rows_of(distribution)):
                np.testing.assert_array_equal(labels, vectors[proba[i] > 0])
                np.testing.assert_allclose(weights, proba[i, proba[i] > 0], **CLOSE)
            assert (distribution.residual == 0).all()
            assert not distribution.estimated.any()


def test_exhaustive_search_in_blocks_changes_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    chain, X = chains.random_table_chain(rng, (2, 2, 2), 7)
    known = chains.random_given(rng, 7, chain.n_classes)

    def ask(loss):
        found = Exhaustive().decide(PrefixTree(chain, X, known), chains.bind_loss(loss, chain.n_classes), RNG)
        proba = Exhaustive().marginals(PrefixTree(chain, X, known), RNG).proba
        return found.labels, found.certified, found.expected_loss, *proba

    losses = ("exact_match", "hamming", "f1")
    whole = [ask(loss) for loss in losses]
    monkeypatch.setattr(module, "BLOCK", 20)
    for loss, expected in zip(losses, whole, strict=True):
        for found, answer in zip(ask(loss), expected, strict=True):
            np.testing.assert_allclose(found, answer, rtol=0, atol=1e-12)


def test_too_many_vectors_are_refused_with_advice(monkeypatch):
    rng = np.random.default_rng(3)
    chain = chains.random_linear_chain(rng, 24, 2)
    X = rng.normal(size=(2, 3))
    message = (
        "Exhaustive() would score 16777216 label vectors per row, more than `max_vectors=65536`. Try BranchAndBound(), "
        "Beam(width=...) or MonteCarlo(n_samples=...), or allow it with Exhaustive(max_vectors=16777216)."
    )
    for ask in (Exhaustive().search, Exhaustive().weigh):
        with pytest.raises(ValueError, match=re.escape(message)):
            ask(PrefixTree(chain, X), RNG)
    # Known labels are not choices: with all but three of them known, eight vectors remain.
    known = np.zeros((2, 24), dtype=np.int32)
    known[:, :3] = -1
    assert Exhaustive(max_vectors=8).search(PrefixTree(chain, X, known), RNG).certified.all()
    with pytest.raises(ValueError, match="would score 8 label vectors"):
        Exhaustive(max_vectors=7).search(PrefixTree(chain, X, known), RNG)
    monkeypatch.setattr(module, "MAX_NODES", 30)
    chain = chains.random_linear_chain(rng, 10, 2, "none", scale=0.001)
    for view in (chain, chains.as_generic(chain)):
        with pytest.raises(RuntimeError, match=r"more than 30 label prefixes.*BranchAndBound\(\)"):
            EpsilonApproximate(epsilon=0).search(PrefixTree(view, np.zeros((2, 3))), RNG)


def test_a_wider_beam_certifies_more_and_greedy_certifies_labels_without_parents():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 3))
    chain = chains.random_linear_chain(rng, 6, 2, scale=0.5)
    shares = [Beam(width=w).search(PrefixTree(chain, X), RNG).certified.mean() for w in (1, 4, 64)]
    assert shares[0] < shares[1] < shares[2] == 1
    chain = chains.random_linear_chain(rng, 4, 2, "none")
    for view in (chain, chains.as_generic(chain)):
        decision = Greedy().search(PrefixTree(view, X), RNG)
        assert decision.certified.all()
        np.testing.assert_allclose(decision.log_proba, chains.log_proba_table(chain, X)[1].max(axis=1), atol=1e-10)


def test_greedy_predicts_what_scikit_learns_chain_predicts():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 5))
    Y = (X[:, :4] + rng.normal(size=(200, 4)) > 0).astype(int)
    peer = ClassifierChain(LogisticRegression()).fit(X, Y)
    np.testing.assert_array_equal(Greedy().search(PrefixTree(same_links(peer), X), RNG).labels, peer.predict(X))
