"""Beam search."""

from __future__ import annotations

import numpy as np
import pytest

from montechain.inference import Beam, Greedy
from random_chains import as_generic, log_proba_table, random_given, random_linear_chain, random_table_chain
from reference import beam as reference

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("width", [1, 2, 5, 1000])
@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_both_paths_agree_with_the_reference(width, share):
    rng = np.random.default_rng(1)
    for _ in range(10):
        chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4)
        X = rng.normal(size=(4, 3))
        known = None if share is None else random_given(rng, 4, chain.n_classes, share)
        expected = reference.beam(chain, X, known, width)
        for view in (chain, as_generic(chain)):
            decision = Beam(width=width).most_probable(view, X, given=known, rng=RNG)
            distribution = Beam(width=width).distribution(view, X, given=known, rng=RNG)
            for i, (kept, dropped_log, dropped_mass) in enumerate(expected):
                np.testing.assert_array_equal(decision.labels[i], kept[0][0])
                np.testing.assert_allclose(decision.log_proba[i], kept[0][1], rtol=0, atol=1e-10)
                np.testing.assert_allclose(decision.upper_bound[i], max(kept[0][1], dropped_log), rtol=0, atol=1e-10)
                row = slice(distribution.indptr[i], distribution.indptr[i + 1])
                found = np.exp([value for _, value in kept])
                np.testing.assert_array_equal(distribution.labels[row], [vector for vector, _ in kept])
                total = found.sum() + dropped_mass
                np.testing.assert_allclose(distribution.weights[row], found / total, rtol=0, atol=1e-10)
                np.testing.assert_allclose(distribution.residual[i], dropped_mass / total, rtol=0, atol=1e-10)


def test_the_residual_bounds_every_probability_under_knowledge():
    rng = np.random.default_rng(2)
    for _ in range(30):
        chain = random_linear_chain(rng, 4, 3)
        X = rng.normal(size=(3, 3))
        known = random_given(rng, 3, chain.n_classes)
        distribution = Beam(width=3).distribution(chain, X, given=known, rng=RNG)
        vectors, table = log_proba_table(chain, X, known)
        truth = np.exp(table) / np.exp(table).sum(axis=1, keepdims=True)
        for i in range(3):
            row = slice(distribution.indptr[i], distribution.indptr[i + 1])
            estimate = dict(zip(map(tuple, distribution.labels[row].tolist()), distribution.weights[row], strict=True))
            missing = truth[i] - [estimate.get(tuple(y), 0.0) for y in vectors.tolist()]
            # Weights are never too large, so the worst set is that of all vectors.
            assert (missing >= -1e-10).all()
            assert missing.sum() <= distribution.residual[i] + 1e-10


def test_width_one_is_greedy_and_wider_certifies_more():
    rng = np.random.default_rng(3)
    chain = random_linear_chain(rng, 6, 2)
    X = rng.normal(size=(50, 3))
    one = Beam(width=1).most_probable(chain, X, rng=RNG)
    np.testing.assert_array_equal(one.labels, Greedy().most_probable(chain, X, rng=RNG).labels)
    shares = [Beam(width=w).most_probable(chain, X, rng=RNG).certified.mean() for w in (1, 4, 64)]
    assert shares[0] < shares[1] < shares[2] == 1


def test_conditionals_are_asked_for_level_by_level():
    chain, X = random_table_chain(np.random.default_rng(4), (2, 3, 2), 5)
    Beam(width=2).most_probable(chain, X, rng=RNG)
    assert chain.n_calls == 3


@pytest.mark.parametrize("width", [0, -1, 2.5, "wide", True, None])
def test_bad_width(width):
    chain, X = random_table_chain(np.random.default_rng(0), (2, 2), 1)
    with pytest.raises(ValueError, match=r"`width=.*` of Beam must be a positive integer, e.g. Beam\(width=5\)"):
        Beam(width=width).most_probable(chain, X, rng=RNG)
