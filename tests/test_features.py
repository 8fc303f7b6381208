import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from montechain.features import BoostingRace, ClippedScaler, CrossFittedFeatures, OutOfBagForestFeatures
from montechain.label_forest import label_logits


@pytest.fixture
def noise():
    """Labels that are independent of x: features that predict them have leaked."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 6)), rng.integers(0, [2, 3], size=(200, 2))


MAPS = [
    OutOfBagForestFeatures(40, random_state=0),
    OutOfBagForestFeatures(40, split_on="vectors", random_state=0),
    CrossFittedFeatures(DecisionTreeClassifier(random_state=0), random_state=0),
]


@pytest.mark.parametrize("features", MAPS, ids=lambda own: f"{type(own).__name__}")
def test_features_of_training_rows_do_not_know_their_labels(features, noise):
    X, Y = noise
    own = clone(features).fit(X, Y)
    honest, leaked = own.fit_transform(X, Y), own.transform(X)
    assert honest.shape == leaked.shape == (200, 4)

    def accuracy(values):
        return np.mean([(values[:, 0] > 0) == Y[:, 0], values[:, 1:].argmax(axis=1) == Y[:, 1]])

    assert accuracy(honest) < 0.55
    assert accuracy(leaked) > 0.9
    np.testing.assert_array_equal(honest, clone(features).fit_transform(X, Y))


def test_cross_fitting_is_what_one_would_write_by_hand(noise):
    X, Y = noise
    folds = [(np.arange(100, 200), np.arange(100)), (np.arange(100), np.arange(100, 200))]
    features = CrossFittedFeatures(LogisticRegression(), cv=folds)
    found = features.fit_transform(X, Y)
    models = [[LogisticRegression().fit(X[train], Y[train, j]) for train, _ in folds] for j in range(2)]
    expected = np.vstack(
        [label_logits([own[f].predict_proba(X[rows]) for own in models], 300) for f, (_, rows) in enumerate(folds)]
    )
    np.testing.assert_allclose(found, expected)
    new = [label_logits([own[f].predict_proba(X[:5] + 1) for own in models], 300) for f in range(2)]
    np.testing.assert_allclose(features.transform(X[:5] + 1), np.mean(new, axis=0))


def test_a_classifier_sees_only_the_columns_of_its_label(noise):
    X, Y = noise
    columns = [np.array([4, 0]), np.array([2])]
    some = CrossFittedFeatures(LogisticRegression(), columns=columns, random_state=0)
    alone = [CrossFittedFeatures(LogisticRegression(), random_state=0) for _ in range(2)]
    expected = [own.fit_transform(X[:, columns[j]], Y[:, [j]]) for j, own in enumerate(alone)]
    np.testing.assert_allclose(some.fit_transform(X, Y), np.hstack(expected))
    expected = [own.transform(X[:5, columns[j]]) for j, own in enumerate(alone)]
    np.testing.assert_allclose(some.transform(X[:5]), np.hstack(expected))


def test_a_race_finds_the_inputs_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    fold = np.arange(300), np.arange(300, 400)
    race = BoostingRace((X[:, 0] * X[:, 1] > 0).astype(int), X, fold, 120, None, 0)
    plain = race.log_proba.mean()
    race.refine(X)
    assert race.columns.tolist() == [0, 1]
    assert race.log_proba.mean() > plain
    constant = BoostingRace(np.zeros(400, dtype=int), X, fold, 120, np.ones(400), 0)
    constant.refine(X)
    assert (constant.log_proba == 0.0).all()


def test_a_class_that_a_fold_lacks_gets_a_small_probability(noise):
    X, Y = noise
    Y = Y.copy()
    Y[:, 0] = 0
    Y[0, 0] = 1
    values = CrossFittedFeatures(LogisticRegression(), cv=4, random_state=0).fit_transform(X, Y)
    assert np.isfinite(values).all()


def test_the_scaler_clips():
    values = ClippedScaler().fit_transform(np.r_[np.zeros(999), 1e9][:, None])
    assert values.max() == 5.0
