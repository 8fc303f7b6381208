import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import make_multilabel_classification
from sklearn.utils.estimator_checks import parametrize_with_checks

from montechain import AutoChainClassifier, ChainClassifier, assembly, load, recipe, save
from montechain.errors import InterruptedFitWarning
from random_chains import all_vectors

SMALL = {
    "N_FOLDS": 2,
    "N_TREES": 12,
    "N_KERNEL": 15,
    "CS": {False: (0.5, 8.0), True: (0.5, 8.0)},
    "N_ORDERS": 2,
    "BOOSTING_PLANS": ((6, 2, 60.0),),
}

LOSE_TO_FORESTS = recipe.Recipe._lose_to_forests


@pytest.fixture(scope="module", autouse=True)
def small():
    """Make every step small; all of them are still taken."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(recipe, name, value)
        patch.setattr(assembly, "N_REPEATS", 1)
        patch.setattr(assembly, "N_GROUPS", 2)
        patch.setattr(recipe.Recipe, "_lose_to_forests", lambda self, races: False)
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 4))
    score = X @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(160, 3))
    Y = np.column_stack([score[:, 0] > 0, score.argmax(axis=1), score[:, 2] > score[:, 0]]).astype(int)
    return X, Y


@pytest.fixture(scope="module")
def model(data, small):
    X, Y = data
    return AutoChainClassifier(random_state=0).fit(X[:120], Y[:120])


EVERY_VECTOR = all_vectors([2, 3, 2])


def log_table(model, X):
    """Return log p(y | x) of all label vectors, of shape (n, 12), one at a time."""
    return np.column_stack([model.log_joint(X, np.tile(vector, (len(X), 1))) for vector in EVERY_VECTOR])


@pytest.mark.slow
def test_all_queries_agree_with_enumeration(model, data):
    X = data[0][140:]
    vectors, logs = EVERY_VECTOR, log_table(model, X)
    np.testing.assert_allclose(logsumexp(logs, axis=1), 0.0, atol=1e-9)
    decision = model.decide(X)
    assert decision.certified.all()
    np.testing.assert_array_equal(decision.labels, vectors[logs.argmax(axis=1)])
    np.testing.assert_allclose(decision.log_proba, logs.max(axis=1), atol=1e-9)
    top = model.predict_top_k(X, 3)
    np.testing.assert_allclose(top.log_proba, -np.sort(-logs, axis=1)[:, :3], atol=1e-9)
    proba = np.exp(logs)
    for j, marginal in enumerate(model.predict_proba(X)):
        expected = np.column_stack([proba[:, vectors[:, j] == c].sum(axis=1) for c in range(marginal.shape[1])])
        np.testing.assert_allclose(marginal, expected, atol=0.011)
    draws = model.sample(X[:2], 4000)
    for i in range(2):
        share = [(draws[i] == vector).all(axis=1).mean() for vector in vectors]
        np.testing.assert_allclose(share, proba[i], atol=0.04)


def test_known_labels_condition_the_answer(model, data):
    X = data[0][140:]
    vectors, logs = EVERY_VECTOR, log_table(model, X)
    given = np.full((len(X), 3), np.nan)
    given[:, 1] = np.arange(len(X)) % 3
    logs[vectors[:, 1] != given[:, [1]]] = -np.inf
    np.testing.assert_array_equal(model.predict(X, given=given), vectors[logs.argmax(axis=1)])
    proba = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    found = model.predict_proba(X, given=given)[2][:, 1]
    np.testing.assert_allclose(found, proba[:, vectors[:, 2] == 1].sum(axis=1), atol=0.011)


@pytest.mark.parametrize("loss", ["hamming", lambda y, y_hat: float(np.mean(y != y_hat) ** 2)])
def test_one_fit_serves_every_loss(model, data, loss):
    X = data[0][120:130]
    vectors, proba = EVERY_VECTOR, np.exp(log_table(model, X))
    score = (lambda y, y_hat: np.mean(y != y_hat)) if loss == "hamming" else loss
    cost = np.array([[score(y, y_hat) for y_hat in vectors] for y in vectors])
    found = copy.copy(model).set_params(loss=loss).predict(X)
    places = [int(np.flatnonzero((vectors == labels).all(axis=1))[0]) for labels in found]
    expected = proba @ cost
    assert (expected[np.arange(10), places] <= expected.min(axis=1) + 0.011).all()


def test_the_leaderboard_says_what_was_tried(model):
    board = pd.DataFrame(model.leaderboard_).set_index("model")
    wanted = {"linear", "forests", "forests, independent", "union", "kernel", "boosting", "union with boosting"}
    assert set(board.index) == wanted | {"pool", "mixture"}
    np.testing.assert_allclose(board["weight"].drop("mixture").sum(), 1.0)
    others = board["log_likelihood"].drop(["pool", "mixture"])
    assert board.loc["mixture", "log_likelihood"] >= others.max() - 1e-6


def test_learning_the_pool_with_the_mixture_costs_no_likelihood(data, monkeypatch):
    X, Y = data
    likelihoods = []
    for n_repeats in (0, 3):
        monkeypatch.setattr(assembly, "N_REPEATS", n_repeats)
        board = AutoChainClassifier(random_state=0).fit(X, Y).leaderboard_
        likelihoods += [row["log_likelihood"] for row in board if row["model"] == "mixture"]
    assert likelihoods[1] != likelihoods[0]
    assert likelihoods[1] > likelihoods[0] - 0.02


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(data):
    X, Y = data
    first, second = (AutoChainClassifier(random_state=3, n_jobs=n).fit(X, Y).log_joint(X, Y) for n in (1, 2))
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_vectors_never_seen_stay_possible():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    Y = np.repeat((X[:, :1] > 0).astype(int), 3, axis=1)
    model = AutoChainClassifier(random_state=0).fit(X, Y)
    assert np.isfinite(model.log_joint(X, np.tile([1, 0, 1], (100, 1)))).all()
    assert (model.predict(X) == Y).mean() > 0.9


def test_sparse_counts_unknown_labels_and_weights(data):
    rng = np.random.default_rng(2)
    counts = sp.csr_array(rng.poisson(0.4, size=(120, 30)).astype(float))
    Y = np.column_stack([counts[:, [0]].toarray()[:, 0] > 0, counts[:, [1]].toarray()[:, 0] > 0]).astype(float)
    Y[::7, 1] = np.nan
    model = AutoChainClassifier(random_state=0).fit(counts, Y, sample_weight=rng.random(120))
    assert "tf-idf" in {row["model"] for row in model.leaderboard_}
    assert model.predict(counts).shape == (120, 2)
    dense = AutoChainClassifier(random_state=0).fit(counts.toarray(), np.nan_to_num(Y))
    assert dense.score(counts.toarray(), np.nan_to_num(Y)) > 0.6


def test_a_time_limit_leaves_steps_out(data):
    X, Y = data
    with pytest.warns(InterruptedFitWarning, match="too short for some steps, .*: forests, kernel, boosting, orders"):
        model = AutoChainClassifier(time_limit=1e-6, random_state=0).fit(X, Y)
    assert {row["model"] for row in model.leaderboard_} == {"linear", "pool", "mixture"}
    assert model.decide(X).certified.all()


def test_boosting_is_left_out_where_forests_clearly_win(monkeypatch):
    monkeypatch.setattr(recipe.Recipe, "_lose_to_forests", LOSE_TO_FORESTS)
    monkeypatch.setattr(recipe, "N_FOLDS", 4)  # two leave too few rows to tell
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 10)), rng.integers(0, 2, size=(200, 2))
    for codes, expected in ((Y, False), ((X[:, :2] * X[:, 2:4] > 0).astype(int), True)):
        own = recipe.Recipe(X, codes, [2, 2], seed=0, n_jobs=None)
        own.add_linear()
        own.add_forests(None)
        own.add_boosting(60, 2, lambda step, seconds: True)
        assert ("boosting" in own.blocks) == expected


def test_ctrl_c_keeps_what_was_learned(data):
    def interrupt(name, left):
        if name == when:
            raise KeyboardInterrupt

    when = "union"
    with pytest.warns(InterruptedFitWarning, match="'linear', 'forests'"):
        model = AutoChainClassifier(random_state=0, verbose=interrupt).fit(*data)
    assert model.predict(data[0]).shape == data[1].shape
    when = "linear"
    with pytest.raises(KeyboardInterrupt):
        AutoChainClassifier(random_state=0, verbose=interrupt).fit(*data)


def test_saved_and_loaded_it_answers_the_same(model, data, tmp_path):
    X, Y = data
    save(model, tmp_path / "auto.mchain")
    again = load(tmp_path / "auto.mchain")
    np.testing.assert_array_equal(again.log_joint(X, Y), model.log_joint(X, Y))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_it_beats_a_linear_chain_where_the_truth_is_not_linear():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, (X**2).sum(axis=1) > 0.6]).astype(int)
    auto = AutoChainClassifier(random_state=0).fit(X[:300], Y[:300])
    linear = ChainClassifier(random_state=0).fit(X[:300], Y[:300])
    assert auto.score(X[300:], Y[300:]) > linear.score(X[300:], Y[300:]) + 0.2


def test_large_tables_are_learned_from_samples(monkeypatch, data):
    monkeypatch.setattr(recipe, "MOST_ROWS", {"chain": 40, "tree": 30, "held out": 30, "order": 30})
    monkeypatch.setattr(recipe, "MAX_CROSS_VALIDATED_ROWS", 100)
    X, Y = data
    model = AutoChainClassifier(random_state=0).fit(X, Y, sample_weight=np.linspace(0.5, 1.5, len(X)))
    assert model.decide(X).certified.all()
    assert model.score(X, Y) > 0.4
    n_each = {row["rows"] for row in model.leaderboard_ if "rows" in row}
    assert n_each == {len(X[:: -(-len(X) // 40)])}


def test_more_labels_than_rows():
    X, Y = make_multilabel_classification(n_samples=12, n_classes=20, random_state=0)
    model = AutoChainClassifier(random_state=0).fit(X, Y)
    assert np.isfinite(model.log_joint(X, Y)).all()


def test_a_single_row_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="only 1 row"):
        AutoChainClassifier().fit([[1.0, 2.0]], [[0, 1]])
    model = AutoChainClassifier(random_state=0).fit([[0.0], [1.0], [0.0]], [[0, 1], [1, 1], [0, 0]])
    assert model.predict([[1.0]]).shape == (1, 2)


@pytest.mark.filterwarnings("ignore:.time_limit=1e-06")
def test_penalties_and_scores_are_those_of_the_rows_that_weigh():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    Y = (X[:, :2] + 0.2 * rng.normal(size=(400, 2)) > 0).astype(int)
    Y[::2] = rng.integers(0, 2, size=(200, 2))
    weight = np.where(np.arange(400) % 2 == 0, 1e-6, 1.0)
    plain, weighted = (
        pd.DataFrame(AutoChainClassifier(time_limit=1e-6, random_state=0).fit(X, Y, **options).leaderboard_)
        .set_index("model")
        .loc["linear"]
        for options in ({}, {"sample_weight": weight})
    )
    assert weighted["exact_match"] > 0.8 > plain["exact_match"]


WEIGHTS = "which rows are drawn depends on how many there are, so repeating a row is not weighting it"


@parametrize_with_checks(
    [AutoChainClassifier("hamming", random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
