"""Exhaustive inference."""

from __future__ import annotations

import re

import numpy as np
import pytest

import montechain.inference.level_by_level as module
from montechain.inference import Exhaustive
from montechain.losses import check_loss
from random_chains import as_generic, log_proba_table, random_given, random_linear_chain, random_table_chain

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_both_paths_find_the_best_and_list_all(share):
    rng = np.random.default_rng(1)
    for _ in range(15):
        chain = random_linear_chain(rng, int(rng.integers(1, 5)), 4)
        X = rng.normal(size=(4, 3))
        known = None if share is None else random_given(rng, 4, chain.n_classes, share)
        vectors, table = log_proba_table(chain, X, known)
        proba = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
        for view in (chain, as_generic(chain)):
            decision = Exhaustive().most_probable(view, X, given=known, rng=RNG)
            np.testing.assert_array_equal(decision.labels, vectors[table.argmax(axis=1)])
            np.testing.assert_allclose(decision.log_proba, table.max(axis=1), rtol=0, atol=1e-10)
            assert decision.certified.all()
            distribution = Exhaustive().distribution(view, X, given=known, rng=RNG)
            for i in range(4):
                row = slice(distribution.indptr[i], distribution.indptr[i + 1])
                agrees = np.isfinite(table[i])
                np.testing.assert_array_equal(distribution.labels[row], vectors[agrees])
                np.testing.assert_allclose(distribution.weights[row], proba[i, agrees], rtol=0, atol=1e-10)
            assert (distribution.residual == 0).all()
            assert not distribution.estimated.any()


@pytest.mark.parametrize("share", [None, 0.4])
@pytest.mark.parametrize("block", [20, 2**20])
def test_marginals_are_exact(monkeypatch, share, block):
    monkeypatch.setattr(module, "BLOCK", block)
    rng = np.random.default_rng(4)
    for _ in range(10):
        chain = random_linear_chain(rng, int(rng.integers(1, 5)), 4)
        X = rng.normal(size=(5, 3))
        known = None if share is None else random_given(rng, 5, chain.n_classes, share)
        vectors, table = log_proba_table(chain, X, known)
        proba = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
        for view in (chain, as_generic(chain)):
            for k, found in enumerate(Exhaustive().marginals(view, X, given=known, rng=RNG).proba):
                truth = [proba[:, vectors[:, k] == c].sum(axis=1) for c in range(chain.n_classes[k])]
                np.testing.assert_allclose(found, np.column_stack(truth), rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
def test_working_in_blocks_changes_nothing(monkeypatch, loss):
    rng = np.random.default_rng(2)
    chain, X = random_table_chain(rng, (2, 2, 2), 7)
    known = random_given(rng, 7, chain.n_classes)
    loss = check_loss(loss, classes=[np.arange(2)] * 3, order=range(3))
    whole = Exhaustive().decide(chain, X, loss=loss, given=known, rng=RNG)
    monkeypatch.setattr(module, "BLOCK", 20)
    parts = Exhaustive().decide(chain, X, loss=loss, given=known, rng=RNG)
    np.testing.assert_array_equal(whole.labels, parts.labels)
    np.testing.assert_array_equal(whole.certified, parts.certified)
    np.testing.assert_allclose(whole.expected_loss, parts.expected_loss, rtol=0, atol=1e-12)


def test_refuses_and_says_what_to_use_instead():
    rng = np.random.default_rng(3)
    chain = random_linear_chain(rng, 24, 2)
    X = rng.normal(size=(2, 3))
    message = (
        "Exhaustive() would score 16777216 label vectors per row, more than `max_vectors=65536`. Try BranchAndBound(), "
        "Beam(width=...) or MonteCarlo(n_samples=...), or allow it with Exhaustive(max_vectors=16777216)."
    )
    for method in ("most_probable", "distribution"):
        with pytest.raises(ValueError, match=re.escape(message)):
            getattr(Exhaustive(), method)(chain, X, rng=RNG)
    # Known labels are no choices: with all but three of them known, there are eight vectors.
    known = np.zeros((2, 24), dtype=np.int32)
    known[:, :3] = -1
    assert Exhaustive(max_vectors=8).most_probable(chain, X, given=known, rng=RNG).certified.all()
    with pytest.raises(ValueError, match="would score 8 label vectors"):
        Exhaustive(max_vectors=7).most_probable(chain, X, given=known, rng=RNG)


@pytest.mark.parametrize("max_vectors", [0, -5, 1.5, None, True])
def test_bad_max_vectors(max_vectors):
    chain, X = random_table_chain(np.random.default_rng(0), (2, 2), 1)
    with pytest.raises(ValueError, match=r"`max_vectors=.*` of Exhaustive must be a positive integer"):
        Exhaustive(max_vectors=max_vectors).most_probable(chain, X, rng=RNG)
