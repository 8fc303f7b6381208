"""RF-PCT against scikit-learn's own forest, and its joint distribution against the rows in the leaves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from montechain.estimators import ClusteringForestClassifier


def make_data(seed=0, n_rows=80):
    """Return inputs and the codes of three labels with 2, 3 and 4 classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 12))
    Y = np.column_stack(
        [np.digitize(X[:, j] + 0.5 * rng.normal(size=n_rows), np.arange(j + 1) - j / 2) for j in range(3)]
    )
    return X, Y


def grown(X, Y, **options):
    return RandomForestClassifier(15, max_features=2, random_state=3, **options).fit(X, Y)


def joint(forest, X_train, Y_train, X):
    """Return p(y | x) of each row as a dictionary: the mean over trees of the shares of y in the leaf of x."""
    rows = []
    train_leaves, leaves = forest.apply(X_train), forest.apply(X)
    for own in leaves:
        found = Counter()
        for t, drawn in enumerate(forest.estimators_samples_):
            together = [tuple(Y_train[i]) for i in drawn if train_leaves[i, t] == own[t]]
            for vector in together:
                found[vector] += 1.0 / len(together) / forest.n_estimators
        rows.append(found)
    return rows


@pytest.fixture(scope="module")
def fitted():
    X, Y = make_data()
    return X, Y, ClusteringForestClassifier(15, random_state=3).fit(X, Y), grown(X, Y)


def test_the_published_method_is_the_forest_of_scikit_learn(fitted):
    _, _, model, forest = fitted
    X = make_data(1, 300)[0]
    np.testing.assert_array_equal(model.predict(X), forest.predict(X))
    for own, other in zip(model.predict_proba(X), forest.predict_proba(X), strict=True):
        np.testing.assert_array_equal(own, other)


def test_strings_frames_and_one_label():
    X, Y = make_data()
    words = np.array(["ant", "bee", "cow", "dog"])
    frame = pd.DataFrame(words[Y], columns=["one", "two", "three"])
    model = ClusteringForestClassifier(15, random_state=3).fit(pd.DataFrame(X).add_prefix("x"), frame)
    predicted = model.predict(pd.DataFrame(X).add_prefix("x"))
    assert list(predicted.columns) == ["one", "two", "three"]
    np.testing.assert_array_equal(predicted.to_numpy(), words[grown(X, Y).predict(X)])
    single = ClusteringForestClassifier(15, random_state=3).fit(X, Y[:, 2])
    np.testing.assert_array_equal(single.predict(X), grown(X, Y[:, 2]).predict(X))
    np.testing.assert_array_equal(single.predict_proba(X), grown(X, Y[:, 2]).predict_proba(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_joint_distribution_is_that_of_the_leaves(weighted):
    X, Y = make_data()
    weight = np.random.default_rng(0).random(len(X)) if weighted else None
    model = ClusteringForestClassifier(15, min_samples_leaf=4, random_state=3).fit(X, Y, sample_weight=weight)
    new = make_data(1, 20)[0]
    for own, proba in zip(model.predict_proba(new), model.forest_.predict_proba(new), strict=True):
        np.testing.assert_array_equal(own, proba)
    top = model.predict_top_k(new, k=100)
    np.testing.assert_allclose(top.proba.sum(axis=1), 1.0)
    if not weighted:
        for i, expected in enumerate(joint(model.forest_, X, Y, new)):
            listed = top.proba[i] > 0
            found = {tuple(v): p for v, p in zip(top.labels[i, listed].tolist(), top.proba[i, listed], strict=True)}
            assert set(found) == set(expected)
            np.testing.assert_allclose([found[v] for v in expected], list(expected.values()))
            assert top.labels[i, ~listed].tolist() == [[None] * 3] * int((~listed).sum())
    # Its marginals are those of the forest.
    for j, marginal in enumerate(model.predict_proba(new)):
        for k in range(marginal.shape[1]):
            known = np.full((len(new), 3), np.nan)
            known[:, j] = k
            np.testing.assert_allclose(np.exp(model.log_joint(new, known)), marginal[:, k], atol=1e-12)


def test_given_labels(fitted):
    X, Y, model, forest = fitted
    new, truth = make_data(1, 30)
    known = np.column_stack([truth[:, 0].astype(float), np.full((30, 2), np.nan)])
    marginals = model.predict_proba(new, given=known)
    assert (model.predict(new, given=known)[:, 0] == truth[:, 0]).all()
    frequency = Counter(map(tuple, Y.tolist()))
    for i, distribution in enumerate(joint(forest, X, Y, new)):
        agreeing = {v: p for v, p in distribution.items() if v[0] == truth[i, 0]}
        if not agreeing:  # in none of the leaves: by frequency
            agreeing = {v: n for v, n in frequency.items() if v[0] == truth[i, 0]}
        for j, marginal in enumerate(marginals):
            expected = [sum(p for v, p in agreeing.items() if v[j] == c) for c in model.classes_[j]]
            np.testing.assert_allclose(marginal[i], np.array(expected) / sum(agreeing.values()), atol=1e-12)


@pytest.mark.parametrize(("n_features", "n_tried"), [(5, 1), (9, 1), (10, 2), (72, 8)])
def test_a_tenth_of_the_inputs_is_tried(n_features, n_tried):
    X = np.random.default_rng(0).normal(size=(20, n_features))
    model = ClusteringForestClassifier(2, random_state=0).fit(X, (X[:, :2] > 0).astype(int))
    assert model.forest_.max_features == n_tried


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_unknown_labels_are_drawn(seed):
    X, Y = make_data(seed, n_rows=1000)
    partly = Y[:200].astype(float)
    partly[np.random.default_rng(seed).random(partly.shape) < 0.4] = np.nan
    partly[0] = np.nan
    model = ClusteringForestClassifier(50, random_state=0).fit(X[:200], partly)
    complete = ~np.isnan(partly).any(axis=1)
    fewer = ClusteringForestClassifier(50, random_state=0).fit(X[:200][complete], partly[complete])
    assert model.vector_counts_.sum() == pytest.approx((~np.isnan(partly).all(axis=1)).sum())

    def squared_error(fitted):
        marginals = fitted.predict_proba(X[200:])
        return np.mean(
            [
                ((p - (y[:, None] == c)) ** 2).sum(axis=1)
                for p, y, c in zip(marginals, Y[200:].T, fitted.classes_, strict=True)
            ]
        )

    assert squared_error(model) < squared_error(fewer)


def test_missing_inputs_are_allowed():
    X, Y = make_data()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = ClusteringForestClassifier(15, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), grown(X, Y).predict(X))


def test_bad_parameters():
    X, Y = make_data()
    with pytest.raises(ValueError, match=r"`max_features='tnth'` is not known; did you mean 'tenth'\?"):
        ClusteringForestClassifier(max_features="tnth").fit(X, Y)
    with pytest.raises(ValueError, match=r"`n_estimators=0` of ClusteringForestClassifier must be a positive integer"):
        ClusteringForestClassifier(0).fit(X, Y)
    with pytest.raises(TypeError, match="takes no fit parameters besides sample_weight, but got check_input"):
        ClusteringForestClassifier(2).fit(X, Y, check_input=False)
