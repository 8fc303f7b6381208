from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from link_problems import N_CLASSES, PROBLEMS
from montechain.links import svm
from montechain.links.base import LinkProblem
from montechain.links.svm import OFFSET_RIDGE, SVMLink, fit_softmax
from reference.solver import inputs


def scaled_inputs(X, codes, problem, rows):
    """Return [X, parents] with every column scaled to [0, 1] by the values in `rows`."""
    Z = inputs(X, codes[:, list(problem.parents)], [N_CLASSES[j] for j in problem.parents])
    low, high = Z[rows].min(axis=0), Z[rows].max(axis=0)
    return (Z - low) / np.where(high > low, high - low, np.inf)


def machine_scores(Z, rows, is_positive, weight):
    """Return the scores of all rows by `SVC` on the chosen rows; zeros if the best machine has equal scores."""
    scores = SVC(kernel="linear", C=1.0, tol=1e-7).fit(Z[rows], is_positive, sample_weight=weight).decision_function(Z)
    return np.zeros(len(Z)) if scores[rows].std() < 1e-5 else scores


def fit_sigmoid(scores, is_positive, weight):
    """Return slope and offset of the log-odds."""
    targets = weight[:, None] * np.column_stack([~is_positive, is_positive])
    slope, offsets = fit_softmax(0.5 * np.column_stack([-scores, scores]), targets)
    return slope, offsets[1] - offsets[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_svc_and_a_logistic_model(data, weighted):
    X, codes = data
    weight = np.random.default_rng(5).uniform(0.3, 2.0, len(X)) if weighted else np.ones(len(X))
    links = SVMLink(tol=1e-6).fit_links(
        X, codes, codes, N_CLASSES, PROBLEMS, sample_weight=weight if weighted else None
    )
    for problem, link in zip(PROBLEMS, links, strict=True):
        n_classes = N_CLASSES[problem.label]
        if n_classes == 1:
            continue
        own, everything = codes[:, problem.label], np.arange(len(X))
        Z = scaled_inputs(X, codes, problem, everything)
        found = link.log_proba(X, codes[:, list(problem.parents)])
        if n_classes == 2:
            scores = machine_scores(Z, everything, own == 1, weight)
            slope, offset = fit_sigmoid(scores, own == 1, weight)
            np.testing.assert_allclose(found[:, 1] - found[:, 0], slope * scores + offset, atol=1e-3)
            continue
        scores = np.zeros((len(X), n_classes))
        for i, j in combinations(range(n_classes), 2):
            rows = np.flatnonzero((own == i) | (own == j))
            of_pair = machine_scores(Z, rows, own[rows] == i, weight[rows])
            scores[:, i] += of_pair / n_classes
            scores[:, j] -= of_pair / n_classes
        slope, offsets = fit_softmax(
            scores, weight[:, None] * (own[:, None] == np.arange(n_classes)), offset_ridge=OFFSET_RIDGE
        )
        np.testing.assert_allclose(found, log_softmax(slope * scores + offsets, axis=1), atol=1e-3)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("offset_ridge", [0.0, 1.0])
def test_softmax_is_the_best_slope_and_offsets(n_classes, offset_ridge):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, n_classes)) * 2.0 + rng.normal(size=n_classes)
    chosen = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    targets = rng.uniform(0.5, 1.5, (300, 1)) * (chosen[:, None] == np.arange(n_classes))
    slope, offsets = fit_softmax(scores, targets, offset_ridge=offset_ridge)
    centre = targets.sum(axis=1) @ scores / targets.sum()

    def objective(position):
        logits = position[0] * (scores - centre) + position[1:]
        return 0.5 * offset_ridge * (position[1:] ** 2).sum() - (targets * log_softmax(logits, axis=1)).sum()

    best = minimize(objective, np.zeros(1 + n_classes), tol=1e-9)
    assert slope == pytest.approx(best.x[0], abs=1e-4)
    assert objective(np.append(slope, offsets + slope * centre)) <= best.fun + 1e-6


def test_more_classes_than_machines_in_pairs(monkeypatch, data):
    X, codes = data
    (paired,) = SVMLink().fit_links(X, codes, codes, N_CLASSES, [LinkProblem(1, (0,))])
    monkeypatch.setattr(svm, "MAX_PAIRED", 2)
    (against_rest,) = SVMLink().fit_links(X, codes, codes, N_CLASSES, [LinkProblem(1, (0,))])
    own = codes[:, 1]
    Z = scaled_inputs(X, codes, LinkProblem(1, (0,)), np.arange(len(X)))
    scores = np.column_stack([machine_scores(Z, np.arange(len(X)), own == i, np.ones(len(X))) for i in range(3)])
    slope, offsets = fit_softmax(scores, 1.0 * (own[:, None] == np.arange(3)), offset_ridge=OFFSET_RIDGE)
    found = against_rest.log_proba(X, codes[:, [0]])
    np.testing.assert_allclose(found, log_softmax(slope * scores + offsets, axis=1), atol=0.02)
    assert not np.allclose(found, paired.log_proba(X, codes[:, [0]]), atol=0.02)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separable_classes_give_finite_and_sure_probabilities(n_classes):
    X = np.arange(30.0)[:, None]
    codes = (np.arange(30) * n_classes // 30).astype(np.int32)[:, None]
    (link,) = SVMLink(C=1e6).fit_links(X, codes, codes, [n_classes], [LinkProblem(0, ())])
    log_proba = link.log_proba(X, codes[:, :0])
    assert np.isfinite(log_proba).all()
    assert (log_proba.argmax(axis=1) == codes[:, 0]).all()
    if n_classes == 2:
        assert (np.exp(log_proba)[np.arange(30), codes[:, 0]] > 0.999).all()


def test_absent_classes_are_improbable_but_possible(data):
    X, codes = data
    codes = codes.copy()
    codes[codes[:, 4] == 1, 4] = 0
    (link,) = SVMLink().fit_links(X, codes, codes, [2, 3, 2, 1, 5], [LinkProblem(4, (0,))])
    log_proba = link.log_proba(X, codes[:, [0]])
    assert np.isfinite(log_proba).all()
    assert np.exp(log_proba[:, [1, 4]]).max() < 0.05
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, atol=1e-12)


def test_rare_class_that_no_score_betrays_has_its_frequency(data):
    X, codes = data
    codes = np.zeros((len(X), 1), dtype=np.int32)
    codes[::40] = 1
    (link,) = SVMLink().fit_links(X, codes, codes, [2], [LinkProblem(0, ())])
    np.testing.assert_allclose(np.exp(link.log_proba(X, codes[:, :0]))[:, 1], codes.mean())


def test_constant_columns_have_no_effect(data):
    X, codes = data
    X = np.column_stack([X, np.full(len(X), 7.0)])
    links = SVMLink().fit_links(X, codes, codes, N_CLASSES, PROBLEMS)
    assert all((link.coef[4] == 0.0).all() for link in links)


def test_sigmoid_is_an_unpenalised_logistic_regression():
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=200) * 3.0 + 1.0, rng.uniform(0.5, 1.5, 200)
    is_positive = rng.random(200) < 1.0 / (1.0 + np.exp(-scores))
    slope, offset = fit_sigmoid(scores, is_positive, weight)
    model = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(scores[:, None], is_positive, sample_weight=weight)
    assert slope == pytest.approx(model.coef_[0, 0], abs=1e-5)
    assert offset == pytest.approx(model.intercept_[0], abs=1e-5)
    # If all scores are equal, only the frequency is left.
    slope, offset = fit_sigmoid(np.full(4, 2.5), np.array([True, False, False, False]), np.ones(4))
    assert slope == 0.0
    assert offset == pytest.approx(np.log(1 / 3))


@pytest.mark.parametrize("gap", [1e-6, 1.0, 1e6])
def test_sigmoid_of_separated_scores_is_finite(gap):
    scores = gap * np.array([-1.0, -1.2, -1.0, 1.0, 1.5])
    slope, offset = fit_sigmoid(scores, scores > 0, np.ones(5))
    assert np.isfinite([slope, offset]).all()
    log_odds = slope * scores + offset
    assert ((log_odds > 0) == (scores > 0)).all()
    assert np.abs(log_odds).max() < 100.0
    # The units of the scores do not matter.
    np.testing.assert_allclose(
        log_odds, fit_sigmoid(scores / gap, scores > 0, np.ones(5)) @ np.array([scores / gap, np.ones(5)]), rtol=1e-3
    )
