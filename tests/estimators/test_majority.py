"""The commonest, against a counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from montechain.estimators import MajorityClassifier

TARGETS = arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(0, 2))


@given(TARGETS)
def test_the_commonest_vector(Y):
    X = np.zeros((len(Y), 1))
    counts = Counter(map(tuple, Y.tolist()))
    model = MajorityClassifier().fit(X, Y)
    decision = model.decide(X)
    expected = min(counts, key=lambda vector: (-counts[vector], vector))
    assert all(tuple(row) == expected for row in decision.labels.tolist())
    np.testing.assert_allclose(decision.expected_loss, 1 - counts[expected] / len(Y), atol=1e-12)
    np.testing.assert_allclose(model.log_joint(X, Y), [np.log(counts[tuple(row)] / len(Y)) for row in Y.tolist()])
    assert decision.certified.all()
    for column, proba in zip(Y.T, model.predict_proba(X), strict=True):
        np.testing.assert_allclose(proba[0], np.unique(column, return_counts=True)[1] / len(Y))
    assert model.score(X, Y) == pytest.approx(counts[expected] / len(Y))


@given(TARGETS)
def test_the_commonest_class_of_each_label(Y):
    X = np.zeros((len(Y), 1))
    model = MajorityClassifier(strategy="label").fit(X, Y)
    frequencies = [Counter(column) for column in Y.T.tolist()]
    expected = [min(c, key=lambda value: (-c[value], value)) for c in frequencies]
    assert model.predict(X).tolist() == [expected] * len(Y)
    for column, proba in zip(Y.T, model.predict_proba(X), strict=True):
        np.testing.assert_allclose(proba[0], np.unique(column, return_counts=True)[1] / len(Y))
    logs = [sum(np.log(c[value] / len(Y)) for c, value in zip(frequencies, row, strict=True)) for row in Y.tolist()]
    np.testing.assert_allclose(model.log_joint(X, Y), logs)
    np.testing.assert_allclose(model.decide(X).expected_loss, (np.array(expected) != Y).mean(), atol=1e-12)


@pytest.mark.parametrize("strategy", ["vector", "label"])
def test_given_labels(strategy):
    Y = [["a", 0], ["a", 0], ["a", 1], ["b", 1], ["b", 1]]
    X = np.zeros((5, 1))
    model = MajorityClassifier(strategy).fit(X, Y)
    known = [["b", None], ["a", None], [None, 1]]
    expected = {"vector": [["b", 1], ["a", 0], ["b", 1]], "label": [["b", 1], ["a", 1], ["a", 1]]}[strategy]
    assert model.predict(X[:3], given=known).tolist() == expected
    second = {"vector": [[0, 1], [2 / 3, 1 / 3], [0, 1]], "label": [[0.4, 0.6], [0.4, 0.6], [0, 1]]}[strategy]
    np.testing.assert_allclose(model.predict_proba(X[:3], given=known)[1], second)
    np.testing.assert_allclose(np.exp(model.log_joint(X[:3], known)), [0.4, 0.6, 0.6])


def test_what_was_never_seen():
    X, Y = np.zeros((3, 1)), [[0, 0], [0, 0], [1, 1]]
    model = MajorityClassifier().fit(X, Y)
    assert np.isneginf(model.log_joint(X[:1], [[0, 1]])).all()
    decision = model.decide(X[:1], given=[[0, 1]])
    assert decision.labels.tolist() == [[0, 1]]
    assert not decision.certified.any()
    assert MajorityClassifier("label").fit(X, Y).log_joint(X[:1], [[0, 1]]) == pytest.approx(np.log(2 / 9))


def test_unknown_labels_are_shared_out():
    X = np.zeros((6, 1))
    Y = [[0, 0], [0, 0], [0, 1], [1, 1], [0, None], [None, None]]
    model = MajorityClassifier().fit(X, Y)
    assert model.model_.vectors.tolist() == [[0, 0], [0, 1], [1, 1]]
    np.testing.assert_allclose(model.vector_counts_, [2 + 2 / 3, 1 + 1 / 3, 1])
    np.testing.assert_allclose(model.frequencies_[0], [0.8, 0.2])
    nothing_complete = MajorityClassifier().fit(X[:3], [[0, None], [1, None], [None, 5]])
    assert nothing_complete.predict(X[:1]).tolist() == [[0, 5]]


def test_weights_frames_and_missing_inputs():
    X = pd.DataFrame({"x": [np.nan, 1, 2], "word": ["p", "q", "r"]})
    Y = pd.DataFrame({"one": ["a", "b", "a"], "two": ["c", "d", "c"]})
    model = MajorityClassifier().fit(X, Y, sample_weight=[1, 3, 1])
    predicted = model.predict(X)
    pd.testing.assert_frame_equal(predicted, pd.DataFrame({"one": ["b"] * 3, "two": ["d"] * 3}))
    assert model.predict(X, given=pd.DataFrame({"two": ["c"] * 3}))["one"].tolist() == ["a"] * 3


def test_bad_strategy():
    with pytest.raises(ValueError, match=r"`strategy='vektor'` of Majority.* is not known; did you mean 'vector'\?"):
        MajorityClassifier("vektor").fit(np.zeros((2, 1)), [[0], [1]])
