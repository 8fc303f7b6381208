"""Fitted scikit-learn linear models become label-linear links that answer as they do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from montechain.links.base import LinkProblem
from montechain.links.design import augment, parent_names
from montechain.links.estimator import EstimatorLink, FittedEstimatorLink
from montechain.links.linear import FittedLinearLink

LINEAR = [
    LogisticRegression(),
    LogisticRegressionCV(Cs=3, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss"),
    LinearDiscriminantAnalysis(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(MinMaxScaler(), StandardScaler(with_std=False), "passthrough", LogisticRegression()),
    make_pipeline(MaxAbsScaler(), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
]
# These compare each class with the rest, and are folded if there are two.
ONE_AGAINST_REST = [
    SGDClassifier(loss="log_loss", random_state=0),
    CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=3),
    CalibratedClassifierCV(RidgeClassifier(), ensemble=False, cv=3),
    CalibratedClassifierCV(RidgeClassifierCV(), ensemble=False, cv=3),
    CalibratedClassifierCV(SVC(kernel="linear"), ensemble=False, cv=3),
    CalibratedClassifierCV(NuSVC(kernel="linear", nu=0.1), ensemble=False, cv=3),
]
NOT_LINEAR = [
    RandomForestClassifier(n_estimators=3),
    HistGradientBoostingClassifier(max_iter=3),
    GaussianNB(),
    KNeighborsClassifier(),
    GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=2),
    CalibratedClassifierCV(LinearSVC(), ensemble=True, cv=3),
    CalibratedClassifierCV(LinearSVC(), ensemble=False, method="isotonic", cv=3),
    make_pipeline(Nystroem(n_components=5), LogisticRegression()),
    make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),  # linear on the training rows only
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
@pytest.mark.parametrize("estimator", [*LINEAR, *ONE_AGAINST_REST], ids=lambda e: type(e).__name__)
def test_linear_models_are_folded_and_answer_alike(estimator, n_classes):
    X, codes, all_classes = make_problem(n_classes)
    link = fit_one(estimator, X, codes, all_classes)
    assert isinstance(link, FittedLinearLink) == (estimator in LINEAR or n_classes == 2)
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


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("estimator", [LINEAR[0], *ONE_AGAINST_REST[1:]], ids=lambda e: type(e).__name__)
def test_sparse_inputs_are_folded_too(estimator, container):
    X, codes, all_classes = make_problem(2)
    link = fit_one(estimator, container(X), codes, all_classes)
    assert isinstance(link, FittedLinearLink)
    design = container(np.column_stack([X, codes[:, 0], codes[:, 1, None] == np.arange(3)]))
    expected = clone(estimator).fit(design, codes[:, 2]).predict_proba(design)
    np.testing.assert_allclose(np.exp(link.log_proba(container(X), codes[:, :2])), expected, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, sp.csr_array])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("first", [0.0, 1.0])
def test_every_row_is_answered_as_the_classifier_does_at_any_scale(scale, first, container):
    # Large scores of one class against the rest underflow, and scikit-learn then falls back to equal probabilities.
    X, codes, all_classes = make_problem(3, seed=1)
    X *= scale
    X[:20] *= first  # a comparison of the first rows alone sees nothing
    X = container(X)
    link = fit_one(SGDClassifier(loss="log_loss"), X, codes, all_classes)
    columns = np.column_stack([codes[:, 0], codes[:, 1, None] == np.arange(3)]).astype(float)
    names = parent_names(X, ["p", "q"], (2, 3)) if isinstance(X, pd.DataFrame) else None
    learner = EstimatorLink(SGDClassifier(loss="log_loss"), random_state=0)
    own = learner._seeded(clone(learner.estimator), LinkProblem(2, (0, 1)))
    for factor in (1.0, 10.0):
        design = augment(X * factor, columns, names)
        if factor == 1.0:
            own.fit(design, codes[:, 2])
        found = np.exp(link.log_proba(X * factor, codes[:, :2]))
        np.testing.assert_allclose(found, own.predict_proba(design), atol=1e-6)


def test_a_subclass_with_other_probabilities_is_not_folded():
    class Shy(LogisticRegression):
        def predict_proba(self, X):
            return 0.5 * super().predict_proba(X) + 0.25

    X, codes, all_classes = make_problem(2)
    assert isinstance(fit_one(Shy(), X, codes, all_classes), FittedEstimatorLink)
