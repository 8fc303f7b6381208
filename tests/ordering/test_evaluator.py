import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from montechain.chain import Chain
from montechain.inference import Beam, Greedy, MonteCarlo
from montechain.links import EstimatorLink, LinkProblem, LogisticLink, SVMLink
from montechain.ordering.evaluator import LinkCache, OrderEvaluator, hold_out, split_rows
from montechain.parents import arrange
from random_chains import log_proba_table

PAPER = ("J_EM", "J_EM_prod", "J_Ham", "J_Ham_prod")


def data(n_rows=90, n_labels=4, n_classes=(2, 3, 2, 2), unknown=0.0, seed=0):
    """Return inputs and codes of labels with two or three classes, some of them unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    codes = np.zeros((n_rows, n_labels), dtype=np.int32)
    for label in range(n_labels):
        score = X @ rng.normal(size=5) + (codes[:, :label].sum(axis=1) - 1 if label else 0) + rng.normal(size=n_rows)
        codes[:, label] = np.digitize(score, np.quantile(score, np.arange(1, n_classes[label]) / n_classes[label]))
    codes[rng.random(codes.shape) < unknown] = -1
    return X, codes, list(n_classes)


def reference(X, codes, n_classes, order, splits, on, learner, parents="all"):
    """Return the four payoffs as printed, from tables of all label vectors."""
    order, graph = arrange(parents, order, codes, n_classes)
    total = dict.fromkeys(PAPER, 0.0)
    for train, test in splits:
        chain = Chain.learn(learner, X[train], codes[train], n_classes, order, graph)
        vectors, log_table = log_proba_table(chain, X[test])
        table = np.exp(log_table)
        for n, row in enumerate(table):
            y = vectors[row.argmax()] if on == "prediction" else codes[test[n], list(order)]
            known = y >= 0
            joint = row[(vectors[:, known] == y[known]).all(axis=1)].sum()
            labels = [row[vectors[:, k] == y[k]].sum() for k in np.flatnonzero(known)]
            total["J_EM"] += joint
            total["J_EM_prod"] += np.log(joint)
            total["J_Ham"] += sum(labels)
            total["J_Ham_prod"] += np.log(sum(labels)) if labels else 0.0
    return total


def evaluator_of(learner=None, *, unknown=0.0, **options):
    return OrderEvaluator(learner or LogisticLink(), *data(unknown=unknown), **options)


@pytest.mark.parametrize("on", ["prediction", "truth"])
@pytest.mark.parametrize("validation", [1 / 3, None, KFold(3)], ids=["share", "none", "folds"])
@pytest.mark.parametrize("learner", [LogisticLink(tol=1e-9), EstimatorLink(GaussianNB())], ids=["linear", "generic"])
def test_payoffs_of_the_paper(on, validation, learner):
    X, codes, n_classes = data()
    evaluator = evaluator_of(learner, payoff="J_EM_prod", on=on, record=PAPER, validation=validation, seed=3)
    splits = split_rows(validation, X, codes, np.random.default_rng([3, 0]))
    for order in ((2, 0, 3, 1), (1, 2, 0, 3)):
        expected = reference(X, codes, n_classes, order, splits, on, learner)
        got = evaluator.payoffs(order)
        assert got["J_EM_prod"] == evaluator.payoff(order)
        # Marginals are enumerated up to a residual.
        for name in PAPER:
            np.testing.assert_allclose(got[name], expected[name], rtol=1e-3 if "Ham" in name else 1e-6)


def test_payoffs_on_unknown_true_labels(monkeypatch):
    X, codes, n_classes = data(unknown=0.15)
    # Without parents nothing has to be filled, so that the reference fits the same links.
    options = {"on": "truth", "record": PAPER, "parents": "none", "validation": None}
    splits, order, learner = split_rows(None, X, codes, None), (0, 1, 2, 3), LogisticLink(tol=1e-9)
    expected = reference(X, codes, n_classes, order, splits, "truth", learner, parents="none")
    for cells, rows in ((2**21, 64), (5 * 20, 1)):  # at once, or in chunks
        monkeypatch.setattr("montechain.ordering.payoffs.CHUNK_CELLS", cells)
        monkeypatch.setattr("montechain.ordering.payoffs.MIN_CHUNK_ROWS", rows)
        got = evaluator_of(learner, unknown=0.15, **options).payoffs(order)
        for name in PAPER:
            np.testing.assert_allclose(got[name], expected[name], rtol=1e-6)


@pytest.mark.parametrize("validation", [1 / 3, KFold(2), None])
@pytest.mark.parametrize("learner", [LogisticLink(), EstimatorLink(DecisionTreeClassifier(max_depth=2), 0)])
def test_unknown_labels_are_filled_once_for_all_orders(validation, learner):
    options = {"validation": validation, "on": "truth", "record": ["exact_match", "J_Ham"], "start": (3, 2, 1, 0)}
    evaluator, again = (evaluator_of(learner, unknown=0.2, **options) for _ in range(2))
    for fold, other in zip(evaluator._folds, again._folds, strict=True):
        assert (fold.filled >= 0).all()
        assert (fold.codes < 0).any()
        assert ((fold.filled == fold.codes) | (fold.codes < 0)).all()
        np.testing.assert_array_equal(fold.filled, other.filled)
    for order in itertools.permutations(range(4)):
        assert np.isfinite(list(evaluator.payoffs(order).values())).all()


@pytest.mark.parametrize("learner", [LogisticLink(), SVMLink(), EstimatorLink(DecisionTreeClassifier(max_depth=3), 1)])
@pytest.mark.parametrize("parents", ["all", "tree", 2])
def test_cached_payoffs_are_those_of_fitting_everything_anew(learner, parents, monkeypatch):
    options = {"record": PAPER, "warm_start": False, "parents": parents}
    cached = evaluator_of(learner, **options)
    monkeypatch.setattr("montechain.ordering.evaluator.MAX_BYTES", 0)
    afresh = evaluator_of(learner, **options)
    assert cached.tolerance == 0.0
    for order in itertools.permutations(range(4)):
        assert cached.payoffs(order) == afresh.payoffs(order)  # to the last bit
    # The payoffs that are recorded need no more fits than the main one: the orders' payoffs are asked for together.
    n_chains = len({afresh.distinct(order) for order in itertools.permutations(range(4))})
    assert afresh.n_links_fitted == 4 * n_chains
    assert parents != "all" or (n_chains, cached.n_links_fitted) == (24, 32)


def test_warm_starts_keep_payoffs_within_the_tolerance():
    X, Y = make_multilabel_classification(n_samples=300, n_features=20, n_classes=6, random_state=0)
    arguments = (LogisticLink(), X, Y.astype(np.int32), [2] * 6)
    warm, cold = (OrderEvaluator(*arguments, record=PAPER, warm_start=is_warm) for is_warm in (True, False))
    assert warm.tolerance == 2e-5
    rng = np.random.default_rng(0)
    for _ in range(10):
        order = tuple(rng.permutation(6).tolist())
        left, right = warm.payoffs(order), cold.payoffs(order)
        for name in PAPER:
            np.testing.assert_allclose(left[name], right[name], rtol=2e-5)


def test_scorers_judge_the_held_out_rows():
    arguments = (LogisticLink(), *data(n_classes=(2, 2, 2, 2)))
    evaluator = OrderEvaluator(*arguments, payoff="accuracy", record=["exact_match", "f1_micro", "joint_log_loss"])
    values = evaluator.payoffs((0, 1, 2, 3))
    assert values["accuracy"] == values["exact_match"]
    assert 0.0 < values["f1_micro"] <= 1.0
    truth = OrderEvaluator(*arguments, payoff="J_EM_prod", on="truth").payoff((0, 1, 2, 3))
    np.testing.assert_allclose(values["joint_log_loss"], truth / len(evaluator._folds[0].codes))


def test_a_scorer_of_ones_own_sees_a_fitted_classifier():
    classes = [np.array(["no", "yes"]), np.array(["high", "low", "middle"]), np.array([0, 1]), np.array([0, 1])]
    seen = []

    def scorer(estimator, X, Y):
        seen.append(Y)
        part = estimator.predict(X[:7])
        np.testing.assert_array_equal(part, estimator.predict(X)[:7])
        for left, right in zip(estimator.predict_proba(X), estimator.predict_proba(X[:7]), strict=True):
            np.testing.assert_allclose(left.sum(axis=1), 1.0)
            np.testing.assert_allclose(left[:7], right)
        np.testing.assert_allclose(estimator.log_joint(X, estimator.predict(X)), estimator.decide(X).log_proba)
        return (estimator.predict(X) == Y).all(axis=1).mean()

    evaluator = evaluator_of(payoff=scorer, record=["exact_match"], classes=classes, validation=KFold(3))
    values = evaluator.payoffs((2, 1, 0, 3))
    np.testing.assert_allclose(values["scorer"], values["exact_match"])
    assert len(seen) == 3
    assert set(seen[0][:, 1]) <= {"high", "low", "middle"}


@pytest.mark.parametrize("inference", [Greedy(), Beam(2), MonteCarlo(20), "exhaustive"])
@pytest.mark.parametrize("learner", [LogisticLink(), EstimatorLink(GaussianNB())])
def test_labels_are_those_of_the_estimators_own_inference(inference, learner):
    order = (3, 1, 0, 2)
    exact, other = (evaluator_of(learner, inference=own).payoff(order) for own in ("branch_and_bound", inference))
    assert 0.5 * exact <= other <= exact * (1 + 1e-9)
    if inference == "exhaustive":
        np.testing.assert_allclose(other, exact)


def test_the_loss_decides_what_is_predicted():
    joint, single = (
        evaluator_of(record=["J_Ham"], loss=loss).payoffs((0, 1, 2, 3)) for loss in ("exact_match", "hamming")
    )
    assert joint["J_EM"] > single["J_EM"]
    assert joint["J_Ham"] < single["J_Ham"]


@pytest.mark.parametrize("learner", [LogisticLink(), SVMLink(), EstimatorLink(GaussianNB())])
def test_link_payoffs_sum_up_to_the_log_likelihood(learner):
    evaluator = evaluator_of(learner, payoff="J_EM_prod", on="truth", validation=KFold(2))
    order = (2, 0, 3, 1)
    evaluator.prefetch([order])
    total = sum(evaluator.link_payoffs([(label, frozenset(order[:k])) for k, label in enumerate(order)]))
    np.testing.assert_allclose(total, evaluator.payoff(order), rtol=1e-9)
    assert evaluator.n_links_fitted == 2 * 4


def test_link_payoffs_with_unknown_labels_count_known_ones():
    X, codes, _ = data(unknown=0.3)
    evaluator = evaluator_of(unknown=0.3, validation=None)
    (fold,) = evaluator._folds
    (link,) = fold.cache.links([LinkProblem(2, (1, 3))])
    known = np.flatnonzero(codes[:, 2] >= 0)
    expected = link.log_proba(X, fold.filled[:, [1, 3]])[known, codes[known, 2]].sum()
    np.testing.assert_allclose(evaluator.link_payoffs([(2, {1, 3})]), [expected], rtol=1e-9)


def test_chains_with_other_parents_share_more_links():
    none = evaluator_of(parents="none")
    assert none.payoff((0, 1, 2, 3)) == none.payoff((3, 1, 0, 2))
    assert none.n_links_fitted == 4
    assert none.distinct((0, 1, 2, 3)) == none.distinct((3, 1, 0, 2))
    tree = evaluator_of(parents="tree")
    for order in itertools.permutations(range(4)):
        tree.payoff(order)
    assert len({tree.distinct(order) for order in itertools.permutations(range(4))}) == 4  # one for each root
    assert tree.n_links_fitted <= 4 + 2 * 3  # a label may be a root or hang on any neighbour
    with pytest.raises(ValueError, match="built link by link"):
        tree.link_payoffs([(0, frozenset())])
    two = evaluator_of(parents=2)
    two.prefetch(itertools.permutations(range(4)))
    assert two.n_links_fitted < 32 == 4 * 2**3
    assert two.distinct((0, 1, 2, 3)) == arrange(2, (0, 1, 2, 3), *data()[1:])[1]
    graph = evaluator_of(parents={0: [3]})
    assert graph.payoff((0, 1, 2, 3)) == graph.payoff((3, 2, 1, 0))


def test_weights_are_repetitions_of_rows():
    X, codes, n_classes = data()
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    weighted = evaluator_of(record=PAPER, validation=None, sample_weight=weight.astype(float))
    repeated = OrderEvaluator(LogisticLink(), X[rows], codes[rows], n_classes, record=PAPER, validation=None)
    for name, value in weighted.payoffs((1, 0, 3, 2)).items():
        np.testing.assert_allclose(value, repeated.payoffs((1, 0, 3, 2))[name], rtol=1e-5)


def test_the_learner_sees_columns_by_name_and_the_weights_and_parameters_of_its_rows():
    X, codes, n_classes = data()
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None, row_number=None):
            seen.append((tuple(X.columns[5:]), len(X), len(sample_weight), len(row_number)))
            return super().fit(X, y, sample_weight)

    frame, options = pd.DataFrame(X, columns=list("abcde")), {"sample_weight": np.ones(len(X))}
    evaluator = OrderEvaluator(
        EstimatorLink(Spy()), frame, codes, n_classes, names=["w", "x", "y", "z"], row_number=np.arange(len(X)),
        **options,
    )  # fmt: skip
    plain = evaluator_of(EstimatorLink(GaussianNB()), **options)
    np.testing.assert_allclose(evaluator.payoff((0, 2, 1, 3)), plain.payoff((0, 2, 1, 3)))
    expected = [(), ("w",), ("w", "y"), ("w", "x=0", "x=1", "x=2", "y")]
    assert seen == [(columns, 60, 60, 60) for columns in expected]


N_LABELS = 5


def cache_of(learner=None, **options):
    X, Y = make_multilabel_classification(n_samples=120, n_features=8, n_classes=N_LABELS, random_state=1)
    learner, codes = learner or LogisticLink(tol=1e-8), Y.astype(np.int32)
    return LinkCache(learner, learner.prepared(X, codes, codes, [2] * N_LABELS), N_LABELS, **options)


def problems_of(order):
    return [LinkProblem(label, tuple(order[:k])) for k, label in enumerate(order)]


def test_a_link_is_fitted_once_whatever_the_order_of_its_parents():
    cache = cache_of()
    first = cache.links([LinkProblem(0, (2, 1)), LinkProblem(0, (1, 2)), LinkProblem(3, ())])
    again = cache.links([LinkProblem(3, ()), LinkProblem(0, (1, 2))])
    assert cache.n_fitted == 2
    assert first[0] is first[1] is again[1]
    for link in first:  # not a piece of an array that it shares with others
        assert link.coef.base is link.intercept.base is None


def test_missing_links_are_fitted_together_and_start_from_the_nearest_parents():
    calls = []

    class Spy(LogisticLink):
        def prepared(self, *args, **options):
            fit_links = super().prepared(*args, **options)
            return lambda problems, **own: calls.append((len(problems), own)) or fit_links(problems, **own)

    cache = cache_of(Spy())
    cache.links([LinkProblem(0, ()), LinkProblem(0, (1, 2, 3)), LinkProblem(1, ())])
    cache.links([LinkProblem(0, (1, 2)), LinkProblem(2, ())])
    assert calls[0] == (3, {"initial": [None, None, None]})
    assert calls[1][1]["initial"][0][0] == LinkProblem(0, (1, 2, 3))
    assert calls[1][1]["initial"][1] is None
    calls.clear()
    cache_of(Spy(), warm_start=False).links(problems_of(range(N_LABELS)))
    assert calls == [(1, {})] * 5


class Odd(DecisionTreeClassifier):
    def __getstate__(self):
        raise RuntimeError("cannot be pickled, and still counts for something")


@pytest.mark.parametrize("learner", [LogisticLink(), EstimatorLink(Odd(max_depth=2), 0)])
def test_memory_is_bounded_and_the_links_used_last_are_kept(learner):
    cache = cache_of(learner)
    cache.links([LinkProblem(0, ())])
    size = cache._n_bytes[0]
    small = cache_of(learner, max_bytes=int(2.5 * size * N_LABELS))
    for parents in [(), (1,), (2,), (3,), (2,)]:
        small.links([LinkProblem(0, parents)])
        assert size <= small._n_bytes[0] <= 2.5 * size
    assert small.n_fitted == 4
    small.links([LinkProblem(0, ())])
    assert small.n_fitted == 5


@settings(max_examples=100)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 80),
    st.integers(1, 4),
    st.integers(2, 4),
    st.floats(0.05, 0.95),
    st.sampled_from([0.0, 0.3]),
)
def test_held_out_rows(seed, n_rows, n_labels, n_classes, share, unknown):
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.5, size=(n_rows, n_labels)) - 1, n_classes - 1)
    codes[rng.random(codes.shape) < unknown] = -1
    train, test = hold_out(codes, share, np.random.default_rng(seed))
    np.testing.assert_array_equal(hold_out(codes, share, np.random.default_rng(seed))[1], test)
    if n_rows == 1:
        assert train.tolist() == test.tolist() == [0]
        return
    assert sorted([*train, *test]) == list(range(n_rows))
    assert len(train) > 0
    assert 0 < len(test) <= min(max(round(share * n_rows), 1), n_rows - 1)
    if len(test) > 1:
        for label in codes.T:
            assert set(label[test]) - {-1} <= set(label[train])


def test_label_sets_are_stratified():
    codes = np.minimum(np.random.default_rng(0).geometric(0.5, size=(3000, 3)) - 1, 1)
    _, test = hold_out(codes, 1 / 3, np.random.default_rng(0))
    sets, which, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    held_out = np.bincount(which.ravel()[test], minlength=len(sets))
    assert (np.abs(held_out - counts / 3) <= 1.5).all()


def test_splitters_pairs_and_none():
    codes, X, rng = np.zeros((12, 2), dtype=int), np.zeros((12, 1)), np.random.default_rng(0)
    for validation in (KFold(3), list(KFold(3).split(X))):
        folds = split_rows(validation, X, codes, rng)
        assert [test.tolist() for _, test in folds] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    ((train, test),) = split_rows(None, X, codes, rng)
    assert train.tolist() == test.tolist() == list(range(12))
