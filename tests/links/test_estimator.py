"""Links from any classifier: unknown rows, constants, missing classes, seeds, fit parameters."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from montechain.links.base import LinkProblem
from montechain.links.estimator import EstimatorLink, FittedEstimatorLink
from montechain.links.linear import FittedLinearLink


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    def fit(self, X, y, **fit_params):
        self.X_, self.y_, self.fit_params_ = X, y, fit_params
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def fit(estimator, X, codes, n_classes, problem, **options):
    return EstimatorLink(estimator, random_state=options.pop("random_state", None)).fit_links(
        X, codes, np.maximum(codes, 0), n_classes, [problem], **options
    )[0]


X = np.arange(8.0).reshape(4, 2)


def test_a_link_is_fitted_on_the_rows_whose_label_is_known():
    codes = np.array([[0, 0], [1, -1], [1, 1], [0, 1]], dtype=np.int32)
    link = fit(Recorder(), X, codes, [2, 2], LinkProblem(1, (0,)), sample_weight=np.array([1.0, 2, 3, 4]), tag="t")
    assert link.estimator.X_.tolist() == [[0, 1, 0], [4, 5, 1], [6, 7, 0]]
    assert link.estimator.y_.tolist() == [0, 1, 1]
    assert link.estimator.fit_params_["sample_weight"].tolist() == [1.0, 3.0, 4.0]
    assert link.estimator.fit_params_["tag"] == "t"


@pytest.mark.parametrize(
    ("codes", "n_classes", "expected", "kind"),
    [
        ([0, 0, 0, 0], 1, [1.0], FittedLinearLink),
        ([0, 0, 0, 0], 2, [0.9, 0.1], FittedLinearLink),
        ([0, 2, 0, 2], 3, [5 / 11, 1 / 11, 5 / 11], FittedEstimatorLink),
    ],
)
def test_a_class_that_does_not_occur_is_improbable_but_not_impossible(codes, n_classes, expected, kind):
    codes = np.array(codes, dtype=np.int32)[:, None]
    link = fit(Recorder(), X, codes, [n_classes], LinkProblem(0, ()))
    assert isinstance(link, kind)
    np.testing.assert_allclose(np.exp(link.log_proba(X, codes[:, :0])), [expected] * 4)


def test_seeds_depend_on_the_link_alone():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(60, 3)), rng.integers(2, size=(60, 3)).astype(np.int32)
    forest = RandomForestClassifier(n_estimators=4)
    learner = EstimatorLink(forest, random_state=5)
    one, two, other = (
        learner.fit_links(X, codes, codes, [2, 2, 2], [LinkProblem(label, parents)])[0]
        for label, parents in [(2, (0, 1)), (2, (0, 1)), (2, (0,))]
    )
    assert one.estimator.random_state == two.estimator.random_state != other.estimator.random_state
    np.testing.assert_array_equal(one.log_proba(X, codes[:, :2]), two.log_proba(X, codes[:, :2]))
    assert forest.random_state is None


def test_a_seed_the_user_chose_is_kept():
    codes = np.array([[0], [1], [0], [1]], dtype=np.int32)
    link = fit(DecisionTreeClassifier(random_state=7), X, codes, [2], LinkProblem(0, ()), random_state=1)
    assert link.estimator.random_state == 7


class NanClassifier(Recorder):
    """Answers NaN, or something as bad, where the first column is negative."""

    answer = np.nan

    def predict_proba(self, X):
        return np.where(np.asarray(X)[:, :1] < 0, self.answer, super().predict_proba(X))


@pytest.mark.parametrize("answer", [np.nan, np.inf, -0.5])
def test_numbers_that_are_no_probabilities_are_an_error_that_names_the_label(answer, monkeypatch):
    monkeypatch.setattr(NanClassifier, "answer", answer)
    codes = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], dtype=np.int32)
    link = fit(NanClassifier(), X, codes, [2, 2], LinkProblem(1, (0,)), names=["colour", "size"])
    assert np.isfinite(link.log_proba(X, codes[:, :1])).all()
    with pytest.raises(ValueError, match=r"NanClassifier, the classifier of label 'size', returns NaN, .* for 2 of 4"):
        link.log_proba(X * [[-1], [1], [-2], [1]] - 0.5 * (X == 0), codes[:, :1])
