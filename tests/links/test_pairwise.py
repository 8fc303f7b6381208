"""Pairwise coupling, against the updates of its inventors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from montechain.links.pairwise import couple
from reference import coupling as reference


def random_pairs(seed, scale):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 7))
    n_pairs = n_classes * (n_classes - 1) // 2
    return rng.normal(scale=scale, size=n_pairs), rng.choice([0.5, 1.0, 20.0, 500.0], n_pairs), n_classes


def coupled(scores, weights, n_classes):
    return couple(scores[None], weights, n_classes)[0]


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1.0, 2.0]))
@settings(max_examples=40)
def test_equals_the_updates_one_class_at_a_time(seed, scale):
    scores, weights, n_classes = random_pairs(seed, scale)
    found = coupled(scores, weights, n_classes)
    np.testing.assert_allclose(found, reference.couple_pairs(scores, weights, n_classes), rtol=0, atol=1e-8)


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([3.0, 10.0, 30.0, 100.0]))
@settings(max_examples=50)
def test_odds_that_contradict_each_other_are_fitted_at_least_as_well(seed, scale):
    scores, weights, n_classes = random_pairs(seed, scale)
    found = coupled(scores, weights, n_classes)
    assert np.isfinite(found).all()
    assert np.logaddexp.reduce(found) == pytest.approx(0.0, abs=1e-12)
    slow = reference.divergence(scores, weights, reference.couple_pairs(scores, weights, n_classes, n_sweeps=500))
    assert reference.divergence(scores, weights, found) <= slow + 1e-6 * (1.0 + slow)


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1.0, 30.0, 300.0]))
@settings(max_examples=40)
def test_odds_that_agree_are_taken_as_they_are(seed, scale):
    rng = np.random.default_rng(seed)
    position = rng.normal(scale=scale, size=int(rng.integers(2, 7)))
    first, second = np.triu_indices(len(position), 1)
    found = coupled(position[first] - position[second], rng.uniform(0.1, 10.0, len(first)), len(position))
    expected = position - np.logaddexp.reduce(position)
    np.testing.assert_allclose(np.exp(found), np.exp(expected), rtol=0, atol=1e-9)
    is_likely = expected > -40.0
    np.testing.assert_allclose(found[is_likely], expected[is_likely], rtol=1e-9, atol=1e-9)


def test_rows_are_coupled_as_if_alone():
    rng = np.random.default_rng(0)
    scores = rng.normal(scale=np.array([[0.1], [1.0], [5.0], [20.0]]), size=(4, 6))
    weights = rng.uniform(1.0, 9.0, 6)
    together = couple(scores, weights, 4)
    alone = [coupled(own, weights, 4) for own in scores]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)
