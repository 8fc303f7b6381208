"""LP against a dictionary of the vectors seen, RF-PCT against scikit-learn's forest, majority against a counter."""

from collections import Counter
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from montechain import F1, ClusteringForestClassifier, Hamming, Jaccard, LabelPowersetClassifier, MajorityClassifier
from montechain.links.svm import MAX_PAIRED
from montechain.seen_vectors import PowersetModel
from reference import losses

CLASSES = (["a", "b"], ["x", "y", "z"], ["no", "yes"])


def make_data(seed=0, n_rows=90, n_vectors=7):
    """Return inputs, and label vectors of three labels (2, 3, 2 classes), `n_vectors` of which occur."""
    rng = np.random.default_rng(seed)
    vectors = rng.permutation(list(product(*CLASSES)))[:n_vectors]
    X = rng.normal(size=(n_rows, 4))
    number = (X @ rng.normal(size=(4, n_vectors)) * 2 + rng.gumbel(size=(n_rows, n_vectors))).argmax(axis=1)
    number[:n_vectors] = np.arange(n_vectors)
    return X, vectors[number]


def distributions(model, X):
    """Return for each row a dictionary from label vectors to their fitted probabilities."""
    proba = np.exp(model.model_.link.log_proba(X, np.empty((len(X), 0), dtype=np.int32)))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    return [dict(zip(map(tuple, model.vectors_.tolist()), row, strict=True)) for row in proba]


def hide(Y, share, seed=1):
    known = Y.astype(object)
    known[np.random.default_rng(seed).random(Y.shape) < share] = None
    return known


@pytest.fixture(scope="module")
def fitted():
    X, Y = make_data()
    return X, Y, LabelPowersetClassifier(random_state=0).fit(X, Y)


def test_the_problem_is_one_multinomial_regression_of_the_vectors_seen(fitted):
    X, Y, model = fitted
    counts = Counter(map(tuple, Y.tolist()))
    assert dict(zip(map(tuple, model.vectors_.tolist()), model.vector_counts_, strict=True)) == counts
    expected = LogisticRegression(tol=1e-8, max_iter=10000).fit(X, ["|".join(row) for row in Y])
    rows = distributions(model, X)
    for row, proba in zip(rows, expected.predict_proba(X), strict=True):
        np.testing.assert_allclose([row[tuple(name.split("|"))] for name in expected.classes_], proba, atol=1e-4)


@pytest.mark.parametrize("loss", ["hamming", "f1", "jaccard", "callable"])
@pytest.mark.parametrize("with_knowledge", [False, True])
def test_other_losses_are_minimised_over_all_vectors(loss, with_knowledge):
    X, Y = make_data(n_rows=40)
    negative = ["a", "x", "no"]

    def weighted(y, y_hat):
        return float(((np.array(y) != np.array(y_hat)) * [1, 2, 3]).sum()) / 6

    chosen, cost = {
        "hamming": (Hamming(), losses.hamming),
        "f1": (F1(negative), partial(losses.f1, negative=negative)),
        "jaccard": (Jaccard(negative), partial(losses.jaccard, negative=negative)),
        "callable": (weighted, weighted),
    }[loss]
    model = LabelPowersetClassifier(loss=chosen).fit(X, Y)
    known = hide(Y, 0.7) if with_knowledge else np.full(Y.shape, None)
    decision = model.decide(X, given=known if with_knowledge else None)
    for i, distribution in enumerate(distributions(model, X)):
        candidates = [y for y in product(*CLASSES) if all(k in (None, c) for c, k in zip(y, known[i], strict=True))]
        mass = sum(distribution.get(y, 0.0) for y in candidates)
        agreeing = [(y, distribution.get(y, 0.0) / mass) for y in candidates]
        least = losses.least_expected_loss(cost, agreeing, candidates)
        found = losses.expected_loss(cost, agreeing, tuple(decision.labels[i]))
        assert found == pytest.approx(least, abs=1e-12)
        assert decision.expected_loss[i] == pytest.approx(least, abs=1e-12)
    assert decision.certified.all()


def test_where_nothing_agrees_the_nearest_vectors_stand_in(fitted):
    X, Y, model = fitted
    unseen = sorted(set(product(*CLASSES)) - set(map(tuple, Y.tolist())))[0]
    complete = model.decide(X[:5], given=[unseen] * 5)
    assert (complete.labels == np.array(unseen)).all()
    assert not complete.certified.any()
    assert np.isneginf(complete.log_proba).all()
    assert model.predict_top_k(X[:1], k=1, given=[unseen]).labels[0, 0].tolist() == [None] * 3
    # With two labels of a combination that does not occur, the third follows the vectors that share one of them.
    X, Y = np.zeros((6, 1)), np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1], [2, 2, 0]])
    small = LabelPowersetClassifier().fit(X, Y)
    known = [[0, 1, None]]
    p = {vector: np.exp(small.log_joint(X[:1], [vector]))[0] for vector in ((0, 0, 0), (1, 1, 1))}
    expected = p[1, 1, 1] / (p[0, 0, 0] + p[1, 1, 1])
    np.testing.assert_allclose(small.predict_proba(X[:1], given=known)[2], [[1 - expected, expected]])
    assert small.predict(X[:1], given=known).tolist() == [[0, 1, 0]]
    assert (small.sample(X[:1], 20, given=known)[0, :, :2] == [0, 1]).all()


def test_many_vectors_and_support_vector_machines():
    rng = np.random.default_rng(0)
    vectors = np.array(list(product(range(2), repeat=7)))[: MAX_PAIRED + 8]
    Y = np.repeat(vectors, 3, axis=0)
    X = Y + 0.1 * rng.normal(size=Y.shape)
    model = LabelPowersetClassifier("svm").fit(X, Y)
    assert model.model_.link.coef.shape == (7, MAX_PAIRED + 8)
    assert model.score(X, Y) > 0.95


@pytest.mark.parametrize(
    "model", [LabelPowersetClassifier(random_state=0), ClusteringForestClassifier(50, random_state=0)]
)
def test_unknown_labels_are_completed(model):
    X, Y = make_data(n_rows=2000)
    partly = hide(Y[:150], 0.3)
    is_known = ~np.equal(partly, None)
    complete = is_known.all(axis=1)

    def squared_error(fitted):
        wrong = [
            ((proba - (y[:, None] == c)) ** 2).sum(axis=1)
            for proba, y, c in zip(fitted.predict_proba(X[150:]), Y[150:].T, fitted.classes_, strict=True)
        ]
        return np.mean(wrong)

    of_complete_rows = squared_error(clone(model).fit(X[:150][complete], Y[:150][complete]))
    model.fit(X[:150], partly)
    assert squared_error(model) < of_complete_rows
    assert model.vector_counts_.sum() == is_known.any(axis=1).sum()
    assert {tuple(own) for own in Y[:150][complete].tolist()} <= set(map(tuple, model.vectors_.tolist()))
    again = clone(model).fit(X[:150], partly)
    np.testing.assert_array_equal(again.log_joint(X, Y), model.log_joint(X, Y))


@pytest.mark.parametrize("make", [LabelPowersetClassifier, ClusteringForestClassifier, MajorityClassifier])
def test_incomplete_rows_keep_what_they_know(make):
    X = np.arange(6.0)[:, None]
    Y = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [2, None], [None, None]], dtype=object)
    model = make(random_state=0).fit(X, Y)
    assert model.vectors_[:2].tolist() == [[0, 0], [1, 1]]
    assert model.vectors_[2, 0] == 2
    assert model.vector_counts_.tolist() == [2, 2, 1]
    nothing_complete = make().fit(X[:3], [[0, None], [0, None], [None, 1]])
    assert nothing_complete.vectors_.tolist() == [[0, 1]]
    assert nothing_complete.predict(X[:1]).tolist() == [[0, 1]]


@pytest.mark.parametrize("loss", ["exact_match", "hamming", "f1"])
def test_probabilities_of_the_vectors_are_computed_once(loss):
    X, Y = make_data(n_rows=60)
    model = LabelPowersetClassifier(loss=F1(["a", "x", "no"]) if loss == "f1" else loss).fit(X, Y)
    with patch.object(PowersetModel, "log_proba", autospec=True, side_effect=PowersetModel.log_proba) as log_proba:
        model.decide(X)
    assert log_proba.call_count == 1


def test_the_published_method_answers_as_the_forest_of_scikit_learn():
    X, Y = make_data(n_rows=600)
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in Y.T])
    model = ClusteringForestClassifier(301, max_features=2, random_state=3).fit(X[:300], codes[:300])
    forest = RandomForestClassifier(301, max_features=2, random_state=3).fit(X[:300], codes[:300])
    for own, other in zip(model.predict_proba(X[300:]), forest.predict_proba(X[300:]), strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=0.15)
        assert np.abs(own - other).mean() < 0.03
    decided = np.column_stack([proba.argmax(axis=1) for proba in model.predict_proba(X[300:])])
    np.testing.assert_array_equal(model.predict(X[300:]), decided)


def test_what_is_in_no_leaf_counts_by_frequency():
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    Y = np.array([[0, 0]] * 20 + [[1, 1]] * 5 + [[1, 2]] * 15)
    model = ClusteringForestClassifier(20, random_state=0).fit(X, Y)
    known = [[1, np.nan]]
    np.testing.assert_allclose(model.predict_proba(X[:1], given=known)[1], [[0, 0.25, 0.75]])
    assert not np.isfinite(model.decide(X[:1], given=known).log_proba).any()


@pytest.mark.parametrize(("n_features", "n_tried"), [(5, 1), (9, 1), (10, 2), (72, 8)])
def test_a_tenth_of_the_inputs_is_tried(n_features, n_tried):
    X = np.random.default_rng(0).normal(size=(20, n_features))
    Y = (X[:, :2] > 0).astype(int)
    tenth, given_number = (
        ClusteringForestClassifier(5, max_features=tried, random_state=0).fit(X, Y) for tried in ("tenth", n_tried)
    )
    np.testing.assert_array_equal(tenth.model_.forest.feature, given_number.model_.forest.feature)


TARGETS = arrays(np.int64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(0, 2))


@settings(max_examples=100)
@given(TARGETS)
def test_the_commonest_vector_and_the_commonest_class_of_each_label(Y):
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

    model.set_params(loss="hamming")
    frequencies = [Counter(column) for column in Y.T.tolist()]
    by_label = [min(c, key=lambda value: (-c[value], value)) for c in frequencies]
    assert model.predict(X).tolist() == [by_label] * len(Y)
    np.testing.assert_allclose(model.decide(X).expected_loss, (np.array(by_label) != Y).mean(), atol=1e-12)


def test_the_majority_takes_weights_frames_and_missing_inputs():
    X = pd.DataFrame({"x": [np.nan, 1, 2], "word": ["p", "q", "r"]})
    Y = pd.DataFrame({"one": ["a", "b", "a"], "two": ["c", "d", "c"]})
    model = MajorityClassifier().fit(X, Y, sample_weight=[1, 3, 1])
    predicted = model.predict(X)
    pd.testing.assert_frame_equal(predicted, pd.DataFrame({"one": ["b"] * 3, "two": ["d"] * 3}))
    assert model.predict(X, given=pd.DataFrame({"two": ["c"] * 3}))["one"].tolist() == ["a"] * 3
