import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

from montechain.chain import Chain
from montechain.links import LogisticLink
from montechain.population import Population, pool

N_CLASSES = [2, 3, 2, 1]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    codes = rng.integers(0, N_CLASSES, size=(60, 4)).astype(np.int32)
    return X, codes, np.unique(codes, axis=0)


def learned(X, codes, order, C=1.0):
    parents = [tuple(order[: order.index(label)]) for label in range(4)]
    return Chain.learn(LogisticLink(C), X, codes, N_CLASSES, order, parents)


def test_candidates_have_the_probability_that_the_chain_gives_them(data):
    X, codes, vectors = data
    chain = learned(X, codes, [2, 3, 0, 1])
    candidates = np.random.default_rng(1).integers(0, len(vectors), size=(len(X), 5))
    found = pool.candidate_log_proba(chain, X, vectors, candidates)
    for s in range(5):
        expected = chain.log_joint(X, np.ascontiguousarray(vectors[candidates[:, s]][:, list(chain.order)]))
        np.testing.assert_allclose(found[:, s], expected, atol=1e-10)


def test_many_binary_labels_do_not_overflow():
    rng = np.random.default_rng(0)
    X, n_labels = rng.normal(size=(40, 2)), 1500
    codes = (rng.random((40, n_labels)) < 0.5).astype(np.int32)
    chain = Chain.learn(LogisticLink(), X, codes, [2] * n_labels, list(range(n_labels)), [()] * n_labels)
    found = pool.candidate_log_proba(chain, X[:3], codes, np.array([[0, 1], [1, 2], [2, 3]]))
    expected = [[chain.log_joint(X[[i]], codes[[u]])[0] for u in (i, i + 1)] for i in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def make_pool(data, weights=(0.7, 0.2, 0.4, 0.3)):
    X, codes, vectors = data
    shares = np.abs(np.random.default_rng(2).normal(size=(len(X), len(vectors))))
    Z = np.hstack([X, shares])
    padded = [
        learned(np.hstack([X, np.zeros_like(shares)]), codes, order)
        for order in ([0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2])
    ]
    counts = np.arange(1.0, len(vectors) + 1)
    return Z, pool.VectorPool(vectors, counts, N_CLASSES, [padded[:2], padded[2:]], [4], np.array(weights), padded[0])


def test_the_pool_is_the_formula(data):
    Z, model = make_pool(data)
    vectors, found = model.vectors, model.log_proba(Z)
    for i in (0, 7):
        logs = []
        for u, vector in enumerate(vectors):
            each = [[c.log_joint(Z[[i]], vector[None, list(c.order)].copy())[0] for c in own] for own in model.sources]
            means = [np.log(np.mean(np.exp(own))) for own in each]
            logs.append(0.7 * means[0] + 0.2 * means[1] + 0.4 * Z[i, 4 + u] + 0.3 * np.log(u + 1))
        np.testing.assert_allclose(found[i], np.array(logs) - logsumexp(logs), atol=1e-9)


def test_a_search_evaluates_the_pool_once(data, monkeypatch):
    Z, model = make_pool(data)
    calls, log_proba = [], model.log_proba
    expected = log_proba(Z)[:, 0]
    monkeypatch.setattr(model, "log_proba", lambda X: calls.append(len(X)) or log_proba(X))
    top = Population([model]).top_k(Z, len(model.vectors))
    assert calls == [len(Z)]
    assert top.certified.all()
    place = (top.labels == model.vectors[0]).all(axis=2)
    np.testing.assert_allclose(top.log_proba[place], expected, atol=1e-12)


def test_the_mean_of_probabilities_as_logarithms():
    parts = np.log(np.random.default_rng(0).random((3, 4, 5)))
    np.testing.assert_allclose(pool.log_mean(list(parts)), np.log(np.exp(parts).mean(axis=0)), atol=1e-12)


def test_a_shortlist_holds_the_best_and_the_rest_is_impossible(data, monkeypatch):
    Z, model = make_pool(data)
    every = model.log_proba(Z)
    monkeypatch.setattr(pool, "SHORTLIST", 4)
    some = model.log_proba(Z)
    assert (np.isfinite(some).sum(axis=1) == 4).all()
    np.testing.assert_allclose(logsumexp(some, axis=1), 0.0, atol=1e-12)
    # Scores without the effects of parents are only a guide, but mostly a good one.
    best = np.take_along_axis(some, every.argmax(axis=1)[:, None], axis=1)
    assert np.isfinite(best).mean() > 0.75
    assert (np.diff(pool.shortlist(model.guide, Z, model.vectors, np.zeros(len(model.vectors))), axis=1) > 0).all()


def test_weights_are_the_optimum_of_the_likelihood():
    rng = np.random.default_rng(3)
    parts, target = rng.normal(size=(3, 50, 6)), rng.integers(0, 6, 50)
    parts[0, np.arange(50), target] += 2.0
    parts[1, np.arange(50), target] -= 1.0  # would get a negative weight
    allowed = rng.random((50, 6)) < 0.8
    allowed[np.arange(50), target] = True
    found = pool.pool_weights(parts, allowed, target)
    assert found[0] > 0.5
    assert found[1] == 0.0

    def loss(weights):
        scores = np.where(allowed, np.tensordot(weights, parts, axes=1), -np.inf)
        ridge = 5e-4 * (weights**2).sum() + 0.5 / 50 * weights[-1] ** 2
        return (logsumexp(scores, axis=1) - scores[np.arange(50), target]).mean() + ridge

    slow = minimize(loss, np.ones(3), method="Nelder-Mead", bounds=[(0, 9), (0, 9), (-9, 9)], options={"maxiter": 4000})
    np.testing.assert_allclose(found, slow.x, atol=5e-3)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_stacking_weights_maximise_the_likelihood(seed, n_models):
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(40, n_models)) * 2.0
    share = rng.random(40)
    found = pool.stacking_weights(logs, sample_weight=share)
    np.testing.assert_allclose(found.sum(), 1.0)

    def loss(values):
        weights = np.exp(values - np.logaddexp.reduce(values))
        return -(share * pool.mixture_log_proba(logs, weights)).sum()

    best = min(
        minimize(loss, rng.normal(size=n_models), method="Nelder-Mead", options={"maxiter": 5000}).fun for _ in range(2)
    )
    assert -(share * pool.mixture_log_proba(logs, found)).sum() <= best + 1e-3


def test_rows_that_a_model_finds_impossible():
    logs = np.array([[-np.inf, -5.0], [-1.0, -4.0], [-1.0, -4.0]])
    weights = pool.stacking_weights(logs)
    assert 0.2 < weights[1] < 0.6
    assert np.isfinite(pool.mixture_log_proba(logs, weights)).all()
