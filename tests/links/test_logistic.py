import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from link_problems import N_CLASSES, PROBLEMS
from montechain.links.base import LinkProblem
from montechain.links.logistic import LogisticLink
from montechain.links.svm import SVMLink
from reference.solver import gradient, inputs, objective


def stacked(link):
    """Return coefficients as scikit-learn has them: one row per score, parents after X."""
    rows = [link.coef]
    for effects in link.parent_effects:
        if len(effects) == 2:
            assert (effects[0] == 0.0).all()
            rows.append(effects[1:])
        elif len(effects) > 2:
            rows.append(effects)
    return np.vstack(rows).T


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_links_are_those_of_scikit_learn(data, class_weight, weighted):
    X, codes = data
    weight = np.random.default_rng(1).uniform(0.1, 2.0, len(X)) if weighted else None
    learner = LogisticLink(C=0.5, class_weight=class_weight, tol=1e-9)
    links = learner.fit_links(X, codes, codes, N_CLASSES, PROBLEMS, sample_weight=weight)
    for problem, link in zip(PROBLEMS, links, strict=True):
        if N_CLASSES[problem.label] == 1:
            continue
        own_weight = class_weight
        if isinstance(class_weight, dict):
            own_weight = {c: class_weight.get(c, 1.0) for c in range(N_CLASSES[problem.label])}
        if class_weight == "balanced" and weighted:
            # Spelt out, because older versions of scikit-learn balance without the sample weights.
            counts = np.bincount(codes[:, problem.label], weights=weight)
            own_weight = dict(enumerate(counts.sum() / (len(counts) * counts)))
        Z = inputs(X, codes[:, list(problem.parents)], [N_CLASSES[j] for j in problem.parents])
        model = LogisticRegression(C=0.5, class_weight=own_weight, tol=1e-10, max_iter=10_000, solver="newton-cg")
        model.fit(Z, codes[:, problem.label], sample_weight=weight)
        np.testing.assert_allclose(stacked(link), model.coef_, atol=2e-5)
        np.testing.assert_allclose(link.intercept, model.intercept_, atol=5e-5)
        proba = np.exp(link.log_proba(X, codes[:, list(problem.parents)]))
        np.testing.assert_allclose(proba, model.predict_proba(Z), atol=1e-5)


@pytest.mark.parametrize(("occurring", "n_classes"), [([0, 2], 3), ([1, 2], 4), ([0, 2, 3], 4), ([1, 3, 4], 6)])
def test_absent_classes_are_improbable_but_possible(data, occurring, n_classes):
    X, codes = data
    rng = np.random.default_rng(0)
    scores = 0.5 * X @ rng.normal(size=(4, len(occurring))) + rng.gumbel(size=(len(X), len(occurring)))
    own = np.array(occurring)[scores.argmax(axis=1)]
    own[: len(occurring)] = occurring
    codes = codes.copy()
    codes[:, 0] = own
    K = [n_classes, *N_CLASSES[1:]]
    (link,) = LogisticLink(tol=1e-10).fit_links(X, codes, codes, K, [LinkProblem(0, (2, 1))])
    far = np.vstack([X, 50.0 * X])
    log_proba = link.log_proba(far, np.vstack([codes, codes])[:, [2, 1]])
    absent = np.setdiff1d(np.arange(n_classes), occurring)
    assert np.isfinite(log_proba).all()
    assert (np.exp(log_proba[:, absent]) <= 0.5 / (len(X) + n_classes / 2)).all()
    # Among the classes that occur the probabilities are those of a model that knows no others.
    Z = inputs(X, codes[:, [2, 1]], [2, 3])
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit(Z, np.searchsorted(occurring, own))
    proba = np.exp(log_proba[: len(X), occurring])
    np.testing.assert_allclose(proba / proba.sum(axis=1, keepdims=True), model.predict_proba(Z), atol=1e-4)


def test_class_of_weight_zero_counts_as_absent(data):
    X, codes = data
    weight = (codes[:, 1] != 2).astype(float)
    (link,) = LogisticLink().fit_links(X, codes, codes, N_CLASSES, [LinkProblem(1, ())], sample_weight=weight)
    assert (np.exp(link.log_proba(X, codes[:, :0]))[:, 2] <= 0.5 / weight.sum()).all()


def test_start_from_links_with_other_parents(data):
    X, codes = data
    links = LogisticLink(tol=1e-10).fit_links(X, codes, codes, N_CLASSES, PROBLEMS)
    wanted = [LinkProblem(0, (4,)), LinkProblem(1, (2, 0)), LinkProblem(2, (1, 0, 3)), LinkProblem(4, (1,))]
    expected = LogisticLink(tol=1e-10).fit_links(X, codes, codes, N_CLASSES, wanted)
    initial = [(PROBLEMS[4], links[4]), (PROBLEMS[1], links[1]), (PROBLEMS[2], links[2]), None]
    warm = LogisticLink(tol=1e-10).fit_links(X, codes, codes, N_CLASSES, wanted, initial=initial)
    for link, other in zip(warm, expected, strict=True):
        np.testing.assert_allclose(link.coef, other.coef, atol=1e-6)
    # Started where it ends, a single iteration is more than enough.
    finished = LogisticLink(tol=1e-9, max_iter=1).fit_links(
        X, codes, codes, N_CLASSES, PROBLEMS, initial=list(zip(PROBLEMS, links, strict=True))
    )
    for link, other in zip(finished, links, strict=True):
        np.testing.assert_allclose(link.coef, other.coef, atol=1e-7)


def test_class_weight_per_label(data):
    X, codes = data
    per_label = [{1: 3.0}, None, "balanced", None, None]
    links = LogisticLink(class_weight=per_label).fit_links(X, codes, codes, N_CLASSES, PROBLEMS[:3])
    for problem, link in zip(PROBLEMS[:3], links, strict=True):
        learner = LogisticLink(class_weight=per_label[problem.label])
        (alone,) = learner.fit_links(X, codes, codes, N_CLASSES, [problem])
        np.testing.assert_allclose(link.coef, alone.coef, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1e3, 1e5, 1e7, 1e9, 1e11])
@pytest.mark.parametrize("n_rows", [60, 3000])
def test_separable_classes_reach_the_optimum_at_any_penalty(C, n_classes, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    codes = np.digitize(X[:, 0], [0.1, 0.8][: n_classes - 1]).astype(np.int32)[:, None]
    (link,) = LogisticLink(C=C).fit_links(X, codes, codes, [n_classes], [LinkProblem(0, ())])
    model = LogisticRegression(
        C=C, tol=1e-13, max_iter=100_000, solver="newton-cholesky" if n_classes == 2 else "lbfgs"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, codes[:, 0])
    expected = objective(X, codes[:, 0], model.coef_.T, model.intercept_, C)
    assert objective(X, codes[:, 0], link.coef, link.intercept, C) <= 1.02 * expected


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, np.asfortranarray])
@pytest.mark.parametrize("learner", [LogisticLink(), SVMLink()], ids=["logistic", "svm"])
@pytest.mark.parametrize("wide", [False, True])
def test_inputs_of_any_size_give_finite_links(data, learner, container, wide):
    X, codes = data
    if wide:
        X, codes = np.hstack([X, np.random.default_rng(1).normal(size=(len(X), 200))]), codes
    large = X.copy()
    large[:, 1] *= 1e4  # the penalty hardly matters to this column any more
    expected = learner.fit_links(large, codes, codes, N_CLASSES, PROBLEMS)
    parts = [codes[:, list(problem.parents)] for problem in PROBLEMS]
    for factor in (1e13, 1e80, 1e154, 1e155, 1e200, 1e307):
        large[:, 1] = X[:, 1] / 100.0 * factor
        links = learner.fit_links(container(large), codes, codes, N_CLASSES, PROBLEMS)
        for link, other, parents in zip(links, expected, parts, strict=True):
            assert np.isfinite(getattr(link, "odds", link).coef).all()
            original = np.column_stack([X[:, 0], X[:, 1] * 1e4, X[:, 2:]])
            found = np.exp(link.log_proba(container(large), parents))
            np.testing.assert_allclose(found, np.exp(other.log_proba(original, parents)), atol=2e-3)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["music", "scene", "yeast", "enron", "medical"])
def test_gradients_on_real_data(name, data_folder):
    from real_data import load_split

    split = load_split(name, data_folder)
    X, Y = split.X_train, split.Y_train
    problems = [LinkProblem(j, tuple(range(j))) for j in range(Y.shape[1])]
    links = LogisticLink().fit_links(X, Y, Y, [2] * Y.shape[1], problems)
    for j, link in enumerate(links):
        if Y[:, j].min() == Y[:, j].max():
            continue
        Z = np.hstack([X.toarray() if sp.issparse(X) else X, Y[:, :j]])
        slopes = gradient(Z, Y[:, j], stacked(link).T, link.intercept)
        assert max(np.abs(part).max() for part in slopes) <= 1.001e-6 * len(Y)


@pytest.mark.parametrize(("n_rows", "n_features", "n_classes"), [(60, 3, 2), (30, 50, 2), (60, 3, 3)])
def test_the_penalty_may_be_centred_and_of_another_strength_for_parents(n_rows, n_features, n_classes):
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(n_rows, n_features))
    codes = np.column_stack([rng.integers(0, k, n_rows) for k in (2, n_classes)]).astype(np.int32)
    centre = [rng.normal(size=(n_features, k)) for k in (2, n_classes)]
    link = LogisticLink(C=0.7, parent_C=3.0, centre=centre, tol=1e-10).fit_links(
        X, codes, codes, [2, n_classes], [LinkProblem(1, (0,))]
    )[0]
    # The obvious objective in scores of the classes; for two classes a penalty of half the size on each of both
    # scores is one on their difference.
    share = 0.5 if n_classes == 2 else 1.0
    wanted = centre[1] - centre[1].mean(axis=1, keepdims=True)

    def penalised_loss(values):
        intercept, of_x, of_parent = np.split(values, [n_classes, n_classes * (1 + n_features)])
        of_x = of_x.reshape(n_features, n_classes)
        scores = intercept + X @ of_x + codes[:, :1] * of_parent
        loss = (logsumexp(scores, axis=1) - scores[np.arange(n_rows), codes[:, 1]]).sum()
        return loss + ((of_x - wanted) ** 2).sum() / (2 * 0.7 * share) + (of_parent**2).sum() / (2 * 3.0 * share)

    options = {"maxiter": 10_000, "maxfun": 10**7, "ftol": 1e-15, "gtol": 1e-9}
    best = minimize(penalised_loss, np.zeros(n_classes * (2 + n_features)), method="L-BFGS-B", options=options).x
    of_x = best[n_classes:-n_classes].reshape(n_features, n_classes)
    expected = of_x[:, 1:] - of_x[:, :1] if n_classes == 2 else of_x - of_x.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(link.coef, expected, atol=1e-4)
