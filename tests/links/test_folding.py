"""Fitted scikit-learn linear models become label-linear links that answer as they do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from montechain.links.base import LinkProblem
from montechain.links.estimator import EstimatorLink, FittedEstimatorLink
from montechain.links.linear import FittedLinearLink

LINEAR = [
    LogisticRegression(),
    LogisticRegressionCV(Cs=3, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss"),
    SGDClassifier(loss="log_loss", random_state=0),
    LinearDiscriminantAnalysis(),
    CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=3),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), StandardScaler(with_std=False), "passthrough", SGDClassifier(loss="log_loss")),
    make_pipeline(MaxAbsScaler(), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
]
NOT_LINEAR = [
    RandomForestClassifier(n_estimators=3),
    GaussianNB(),
    CalibratedClassifierCV(LinearSVC(), ensemble=True, cv=3),
    CalibratedClassifierCV(LinearSVC(), ensemble=False, method="isotonic", cv=3),
    make_pipeline(Nystroem(n_components=5), LogisticRegression()),
]


def make_problem(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4))
    parents = np.column_stack([rng.integers(2, size=120), rng.integers(3, size=120)])
    noisy = X[:, 0] + parents[:, 0] - (parents[:, 1] == 2) + rng.normal(size=120)
    own = np.digitize(noisy, np.quantile(noisy, np.arange(1, n_classes) / n_classes))
    codes = np.column_stack([parents, own]).astype(np.int32)
    return X, codes, [2, 3, n_classes]


def fit_one(estimator, X, codes, n_classes):
    (link,) = EstimatorLink(estimator, random_state=0).fit_links(X, codes, codes, n_classes, [LinkProblem(2, (0, 1))])
    return link


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", LINEAR, ids=lambda e: type(e).__name__)
def test_linear_models_are_folded_and_answer_alike(estimator, n_classes):
    X, codes, all_classes = make_problem(n_classes)
    link = fit_one(estimator, X, codes, all_classes)
    assert isinstance(link, FittedLinearLink)
    own = EstimatorLink(estimator, random_state=0)._seeded(estimator, LinkProblem(2, (0, 1)))
    columns = np.column_stack([codes[:, 0], codes[:, 1, None] == np.arange(3)])
    expected = own.fit(np.hstack([X, columns]), codes[:, 2]).predict_proba(np.hstack([X, columns]))
    np.testing.assert_allclose(np.exp(link.log_proba(X, codes[:, :2])), expected, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", NOT_LINEAR, ids=lambda e: type(e).__name__)
def test_other_models_are_left_as_they_are(estimator, n_classes):
    X, codes, all_classes = make_problem(n_classes)
    link = fit_one(estimator, X, codes, all_classes)
    assert isinstance(link, FittedEstimatorLink)
    np.testing.assert_allclose(np.exp(link.log_proba(X, codes[:, :2])).sum(axis=1), 1.0)


def test_sparse_inputs_are_folded_too():
    X, codes, all_classes = make_problem(2)
    dense = fit_one(LogisticRegression(), X, codes, all_classes)
    for container in (sp.csr_matrix, sp.csr_array):
        sparse = fit_one(LogisticRegression(), container(X), codes, all_classes)
        assert isinstance(sparse, FittedLinearLink)
        np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-4)


def test_a_subclass_with_other_probabilities_is_not_folded():
    class Shy(LogisticRegression):
        def predict_proba(self, X):
            return 0.5 * super().predict_proba(X) + 0.25

    X, codes, all_classes = make_problem(2)
    assert isinstance(fit_one(Shy(), X, codes, all_classes), FittedEstimatorLink)
