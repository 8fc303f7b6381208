"""Epsilon-approximate inference."""

from __future__ import annotations

import numpy as np
import pytest

import montechain.inference.level_by_level as module
from montechain.inference import EpsilonApproximate, Greedy
from random_chains import as_generic, log_proba_table, random_given, random_linear_chain, random_table_chain
from reference import epsilon as reference

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("epsilon", [0, 0.05, 0.25, 0.5, 1])
@pytest.mark.parametrize("share", [None, 0.4, 1.0])
def test_both_paths_agree_with_the_reference(epsilon, share):
    rng = np.random.default_rng(1)
    for _ in range(15):
        chain = random_linear_chain(rng, int(rng.integers(1, 6)), 4)
        X = rng.normal(size=(4, 3))
        known = None if share is None else random_given(rng, 4, chain.n_classes, share)
        expected = reference.epsilon_approximate(chain, X, known, epsilon)
        _, table = log_proba_table(chain, X, known)
        for view in (chain, as_generic(chain)):
            decision = EpsilonApproximate(epsilon=epsilon).most_probable(view, X, given=known, rng=RNG)
            np.testing.assert_array_equal(decision.labels, [vector for vector, _, _ in expected])
            np.testing.assert_allclose(decision.log_proba, [value for _, value, _ in expected], rtol=0, atol=1e-10)
            assert (decision.upper_bound >= table.max(axis=1) - 1e-10).all()
            if view is chain:
                bounds = [bound for _, _, bound in expected]
                np.testing.assert_allclose(decision.upper_bound, bounds, rtol=0, atol=1e-10)


def test_finds_every_vector_more_probable_than_epsilon():
    rng = np.random.default_rng(2)
    for _ in range(30):
        chain, X = random_table_chain(rng, (2, 3, 2, 2), 4)
        _, table = log_proba_table(chain, X)
        decision = EpsilonApproximate(epsilon=0.2).most_probable(chain, X, rng=RNG)
        probable = table.max(axis=1) > np.log(0.2)
        np.testing.assert_allclose(decision.log_proba[probable], table.max(axis=1)[probable], rtol=0, atol=1e-10)


def test_extremes():
    rng = np.random.default_rng(3)
    chain = random_linear_chain(rng, 6, 2)
    X = rng.normal(size=(40, 3))
    greedy = Greedy().most_probable(chain, X, rng=RNG)
    np.testing.assert_array_equal(
        EpsilonApproximate(epsilon=0.5).most_probable(chain, X, rng=RNG).labels, greedy.labels
    )
    exact = EpsilonApproximate(epsilon=0).most_probable(chain, X, rng=RNG)
    _, table = log_proba_table(chain, X)
    np.testing.assert_allclose(exact.log_proba, table.max(axis=1), rtol=0, atol=1e-10)
    assert exact.certified.all()


def test_conditionals_are_asked_for_level_by_level():
    chain, X = random_table_chain(np.random.default_rng(4), (2, 3, 2), 5)
    EpsilonApproximate().most_probable(chain, X, rng=RNG)
    assert chain.n_calls <= 6


def test_too_many_prefixes(monkeypatch):
    monkeypatch.setattr(module, "MAX_NODES", 30)
    chain = random_linear_chain(np.random.default_rng(0), 10, 2, "none", scale=0.001)
    for view in (chain, as_generic(chain)):
        with pytest.raises(RuntimeError, match=r"more than 30 label prefixes.*BranchAndBound\(\)"):
            EpsilonApproximate(epsilon=0).most_probable(view, np.zeros((2, 3)), rng=RNG)


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan"), "small", None, True])
def test_bad_epsilon(epsilon):
    chain, X = random_table_chain(np.random.default_rng(0), (2, 2), 1)
    with pytest.raises(ValueError, match=r"`epsilon=.*` of EpsilonApproximate must be a number from 0 to 1"):
        EpsilonApproximate(epsilon=epsilon).most_probable(chain, X, rng=RNG)
