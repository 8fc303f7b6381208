import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import KFold

import montechain as mc
from montechain.population.pool import stacking_weights


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    Y = np.column_stack([X[:, 0] + 0.3 * rng.normal(size=120) > 0, X[:, 0] + X[:, 1] > 0]).astype(int)
    return X, np.array(["no", "yes"])[Y]


MODELS = [
    ("chain", mc.ChainClassifier(order=None, random_state=0)),
    ("powerset", mc.LabelPowersetClassifier(random_state=0)),
    ("majority", mc.MajorityClassifier()),
]


def test_weights_and_answers_are_those_of_the_mixture(data, tmp_path):
    X, Y = data
    folds = KFold(4)
    model = mc.StackedMixtureClassifier(MODELS, cv=folds, random_state=0).fit(X, Y)
    logs = np.empty((len(X), 3))
    for train, rows in folds.split(X):
        for m, (_, one) in enumerate(MODELS):
            logs[rows, m] = np.maximum(
                clone(one).fit(X[train], Y[train]).log_joint(X[rows], Y[rows]), -10 * np.log(182.0)
            )
    np.testing.assert_allclose(model.weights_, stacking_weights(logs), atol=1e-6)
    assert model.weights_[2] < 0.1
    np.testing.assert_allclose(model.log_likelihoods_, logs.mean(axis=0))
    each = np.column_stack([clone(one).fit(X, Y).log_joint(X, Y) for _, one in MODELS])
    np.testing.assert_allclose(model.log_joint(X, Y), logsumexp(each + np.log(model.weights_), axis=1), atol=1e-9)
    assert model.decide(X).certified.all()
    mc.save(model.set_params(cv=4), tmp_path / "mixture.mchain")
    np.testing.assert_array_equal(mc.load(tmp_path / "mixture.mchain").predict(X), model.predict(X))


def test_parameters_of_the_models_can_be_set(data):
    model = mc.StackedMixtureClassifier(MODELS, cv=3, random_state=0)
    assert clone(model).set_params(chain__loss="hamming").get_params()["chain__loss"] == "hamming"


def test_a_class_that_a_fold_lacks_is_improbable_not_an_error(data):
    X, Y = data
    Y = Y.astype(object)
    Y[0, 0] = "maybe"
    model = mc.StackedMixtureClassifier(MODELS, cv=3, random_state=0).fit(X, Y)
    assert np.isfinite(model.log_likelihoods_).all()
