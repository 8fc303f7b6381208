"""DependencyNetworkClassifier: the sweeps collected, every kind of table, and what is known beforehand."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from montechain.estimators import DependencyNetworkClassifier
from tests.real_data import load_split


def make_network(**parameters):
    """Return a classifier with 30 sweeps, of which 10 are collected, unless said otherwise."""
    return DependencyNetworkClassifier(**{"n_iterations": 30, "n_collected": 10, "random_state": 0, **parameters})


def test_each_label_is_its_most_probable_class_or_the_vector_collected_most_often(binary):
    X, Y = binary
    model = make_network().fit(X, Y)
    by_label = np.column_stack([proba.argmax(axis=1) for proba in model.predict_proba(X)])
    np.testing.assert_array_equal(model.predict(X), by_label)
    assert model.score(X, Y) == (by_label == Y).all(axis=1).mean()
    model.set_params(loss="exact_match")
    collected = model._model()._collect(X, None, np.random.default_rng(0))
    for vectors, predicted in zip(collected, model.predict(X), strict=True):
        distinct, counts = np.unique(vectors, axis=0, return_counts=True)
        assert (vectors == predicted).all(axis=1).sum() == counts.max()
        np.testing.assert_array_equal(predicted, distinct[counts.argmax()])


def test_there_is_no_joint_probability(binary):
    model = make_network().fit(*binary)
    for name in ("log_joint", "decide", "predict_top_k"):
        with pytest.raises(AttributeError, match="no joint probability"):
            getattr(model, name)


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)])
@pytest.mark.parametrize("loss", ["hamming", "exact_match", "f1"])
def test_known_labels_stay_as_they_are(binary, estimator, loss):
    X, Y = binary
    model = make_network(estimator=estimator, loss=loss).fit(X, Y)
    rng = np.random.default_rng(0)
    known = np.where(rng.random(Y.shape) < 0.4, 1 - Y, np.nan)
    known[-5:] = np.nan
    is_known = ~np.isnan(known)
    np.testing.assert_array_equal(model.predict(X, given=known)[is_known], known[is_known])
    drawn = model.sample(X, 3, given=known)
    for s in range(3):
        np.testing.assert_array_equal(drawn[:, s][is_known], known[is_known])
    for k, proba in enumerate(model.predict_proba(X, given=known)):
        rows = np.flatnonzero(is_known[:, k])
        np.testing.assert_array_equal(proba[rows, known[rows, k].astype(int)], 1.0)
    # Rows about which nothing is known do not depend on the others.
    np.testing.assert_array_equal(model.predict(X, given=known)[-5:], model.predict(X)[-5:])


@pytest.mark.real_data
def test_music_is_predicted_as_well_as_by_the_published_implementation(data_folder):
    # Exact match 0.277 and Hamming score 0.789 in five folds, as measured with MEKA.
    split = load_split("music", data_folder)
    X, Y = np.vstack([split.X_train, split.X_test]), np.vstack([split.Y_train, split.Y_test])
    exact, hamming = [], []
    for seed in range(3):
        for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
            model = DependencyNetworkClassifier("svm", random_state=seed).fit(X[train], Y[train])
            is_right = model.predict(X[test]) == Y[test]
            exact.append(is_right.all(axis=1).mean())
            hamming.append(is_right.mean())
    assert abs(np.mean(exact) - 0.277) < 0.03
    assert abs(np.mean(hamming) - 0.789) < 0.015
