"""scikit-learn's own checks, and the ways in which people combine estimators."""

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import montechain as mc

ESTIMATORS = [
    mc.ChainClassifier(),
    mc.ChainClassifier(loss="hamming", parents="tree", order=None),
    mc.ChainClassifier(inference="greedy", parents="none"),
    mc.ChainClassifier(inference=mc.MonteCarlo(n_samples=20), loss="hamming"),
    mc.ChainClassifier(inference=mc.Beam(width=2), parents=1),
    mc.ChainClassifier(estimator=mc.SVMLink(tol=1e-6), loss="hamming"),
    mc.ChainClassifier(estimator=LogisticRegression()),
    mc.ChainClassifier(estimator=DecisionTreeClassifier(max_depth=3), inference="monte_carlo", loss="hamming"),
    mc.ChainPopulationClassifier(n_chains=3),
    mc.ChainPopulationClassifier(n_chains=3, combine="vote", bootstrap=True, loss="hamming"),
    mc.ChainPopulationClassifier(
        order=mc.OrderSearch(n_iterations=3, keep=2, validation=None), combine="algorithm-4", loss="hamming"
    ),
    mc.ChainClassifier(order=mc.OrderSearch(n_iterations=3, validation=None)),
    mc.LabelPowersetClassifier(),
    mc.LabelPowersetClassifier(mc.SVMLink(tol=1e-6), loss="hamming"),
    mc.LabelPowersetClassifier(DecisionTreeClassifier(max_depth=3), loss="hamming"),
    mc.ClusteringForestClassifier(n_estimators=5),
    mc.ClusteringForestClassifier(n_estimators=5, max_features="sqrt", min_samples_leaf=2),
    mc.MajorityClassifier(),
    mc.MajorityClassifier("hamming"),
    mc.DependencyNetworkClassifier(n_iterations=60, n_collected=50, random_state=0),
    # For Hamming loss, since the checks want what `predict` says to be the most probable class of each label by itself.
    mc.DependencyNetworkClassifier(
        DecisionTreeClassifier(max_depth=3), n_iterations=20, n_collected=15, loss="hamming", random_state=0
    ),
    mc.TableClassifier(mc.ChainClassifier(random_state=0)),
    mc.TableClassifier(DecisionTreeClassifier(random_state=0), encoder=mc.TableEncoder(missing="keep")),
    mc.TableEncoder(),
    mc.TableEncoder(missing="keep"),
]


def expected_failures(estimator):
    """Return the checks that cannot hold, and why."""
    reason = ""
    if isinstance(estimator, mc.TableClassifier) and estimator.encoder is None:
        reason = "weights reach the classifier, not the medians and variances of the encoder"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    if getattr(estimator, "bootstrap", False) or isinstance(estimator, mc.ClusteringForestClassifier):
        reason = "which rows are drawn depends on how many there are, so repeating a row is not weighting it"
    if isinstance(getattr(estimator, "estimator", None), mc.SVMLink):
        reason = "SVC stops within its tolerance of the solution, which is not as close as the check wants it"
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    return dict.fromkeys(checks, reason) if reason else {}


# One label has one order only, and a search that was asked for two says so.
@pytest.mark.filterwarnings("ignore:`keep=2`, but only 1 order was found:UserWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("model", "parameter", "values"),
    [(mc.ChainClassifier(inference=mc.Beam()), "inference__width", [1, 3]),
     (mc.ChainClassifier(mc.LogisticLink()), "estimator__C", [0.01, 10.0])],
)  # fmt: skip
def test_grid_search_reaches_into_strategies_and_links(binary, model, parameter, values):
    X, Y = binary
    model.set_params(random_state=0)
    search = GridSearchCV(model, {parameter: values, "parents": ["all", "none"]}, cv=2).fit(X, Y)
    assert search.best_params_[parameter] in values
    assert search.best_estimator_.get_params()[parameter] == search.best_params_[parameter]
    assert 0.0 < search.best_score_ <= 1.0


def test_cross_val_predict_of_probabilities(binary):
    X, Y = binary
    marginals = cross_val_predict(mc.ChainClassifier(random_state=0), X, Y, cv=3, method="predict_proba")
    assert len(marginals) == Y.shape[1]
    for marginal in marginals:
        assert marginal.shape == (len(X), 2)
        np.testing.assert_allclose(marginal.sum(axis=1), 1.0)


def test_given_travels_through_a_pipeline(binary):
    X, Y = binary
    known = np.full(Y.shape, np.nan)
    known[:, 0] = 1 - Y[:, 0]
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), mc.ChainClassifier(random_state=0).set_predict_request(given=True))
        predicted = model.fit(X, Y).predict(X, given=known)
    np.testing.assert_array_equal(predicted[:, 0], 1 - Y[:, 0])


def test_sample_weight_is_routed_to_the_links(binary):
    X, Y = binary
    weight = np.linspace(0.1, 2.0, len(X))
    direct = mc.ChainClassifier(LogisticRegression(max_iter=1000), order=None).fit(X, Y, sample_weight=weight)
    plain = mc.ChainClassifier(LogisticRegression(max_iter=1000), order=None).fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LogisticRegression(max_iter=1000).set_fit_request(sample_weight=True)
        routed = mc.ChainClassifier(estimator, order=None).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(routed.log_joint(X, Y), direct.log_joint(X, Y))
    assert np.abs(plain.log_joint(X, Y) - direct.log_joint(X, Y)).max() > 1e-3


def test_metadata_nobody_asked_for_is_refused(binary):
    X, Y = binary
    with sklearn.config_context(enable_metadata_routing=True):
        model = mc.ChainClassifier(LogisticRegression())
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            model.fit(X, Y, sample_weight=np.ones(len(X)))
