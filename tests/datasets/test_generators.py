"""Generated data: the truth that comes with them, against enumeration, a chain, and the draws themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generated import make_known_chain
from montechain import ChainClassifier
from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink
from tests.random_chains import all_vectors, marginals_of


def as_chain(truth):
    """The same distribution as a chain of label-linear links."""
    links = []
    for position, label in enumerate(truth.order):
        columns = truth.active[label]
        # A binary link has one score; any other has one for each class, the first of which is zero here.
        pad = ((0, 0), (0 if truth.n_classes[label] == 2 else 1, 0))
        links.append(
            FittedLinearLink(
                n_classes=truth.n_classes[label],
                coef=np.pad(truth.coef[:, columns], pad),
                intercept=np.pad(truth.intercept[columns], pad[1]),
                parent_effects=tuple(
                    np.pad(truth.effects[truth.active[other], columns], ((1, 0), pad[1]))
                    for other in truth.order[:position]
                ),
            )
        )
    return Chain(truth.order, [range(k) for k in range(len(links))], links)


def table_of(truth, X):
    """Return all label vectors and log p(y | x) of each, by `log_joint` alone."""
    vectors = all_vectors(truth.n_classes)
    return vectors, np.column_stack([truth.log_joint(X, np.tile(vector, (X.shape[0], 1))) for vector in vectors])


def best_labels(truth, X, loss="exact_match"):
    """The most probable label vectors or, for Hamming loss, the most probable class of each label."""
    vectors, table = truth.distribution(X)
    if loss == "exact_match":
        return vectors[table.argmax(axis=1)]
    return np.column_stack([proba.argmax(axis=1) for proba in marginals_of(truth.n_classes, vectors, np.exp(table))])


shapes = st.lists(st.integers(2, 3), min_size=1, max_size=4)


@settings(max_examples=100)
@given(n_classes=shapes, seed=st.integers(0, 2**32 - 1))
def test_log_joint_is_that_of_a_chain_and_sums_to_one(n_classes, seed):
    dataset, truth = make_known_chain(6, 3, len(n_classes), n_classes, random_state=seed)
    of_chain = as_chain(truth).log_joint(dataset.X, dataset.Y.to_numpy()[:, list(truth.order)])
    np.testing.assert_allclose(truth.log_joint(dataset.X, dataset.Y), of_chain, atol=1e-9)
    np.testing.assert_allclose(np.exp(table_of(truth, dataset.X)[1]).sum(axis=1), 1)


@settings(max_examples=100)
@given(n_classes=shapes, seed=st.integers(0, 2**32 - 1))
def test_the_distribution_and_the_scores_are_those_of_the_whole_table(n_classes, seed):
    dataset, truth = make_known_chain(5, 3, len(n_classes), n_classes, dependence=2, random_state=seed)
    vectors, log_proba = table_of(truth, dataset.X)
    proba = np.exp(log_proba)
    order = [vectors.tolist().index(vector) for vector in truth.distribution(dataset.X)[0].tolist()]
    np.testing.assert_allclose(truth.distribution(dataset.X)[1], log_proba[:, order])
    hamming = np.mean([marginal.max(axis=1) for marginal in marginals_of(n_classes, vectors, proba)])
    entropy = -(proba * log_proba).sum(axis=1).mean()
    assert truth.bayes_scores(dataset.X) == pytest.approx((proba.max(axis=1).mean(), hamming, entropy))


def test_a_data_set_is_a_draw_from_its_truth():
    dataset, truth = make_known_chain(5000, 10, 5, [2, 3, 2, 4, 2], random_state=3)
    scores = truth.bayes_scores(dataset.X)
    Y = dataset.Y.to_numpy()
    losses = -truth.log_joint(dataset.X, Y)
    vectors = (best_labels(truth, dataset.X) == Y).all(axis=1)
    cells = (best_labels(truth, dataset.X, "hamming") == Y).mean(axis=1)
    for observed, expected in zip((vectors, cells, losses), scores, strict=True):
        assert observed.mean() == pytest.approx(expected, abs=4 * observed.std() / np.sqrt(len(Y)))


@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (3, 1)])
def test_a_chain_classifier_comes_near_the_bayes_score_and_does_not_exceed_it(n_classes, seed):
    n_train, n_test = 8_000, 5_000
    dataset, truth = make_known_chain(n_train + n_test, 10, 4, n_classes, dependence=1.5, random_state=seed)
    train, test = dataset.take(range(n_train)), dataset.take(range(n_train, n_train + n_test))
    bayes = truth.bayes_scores(test.X)
    scores = {}
    for loss in ("exact_match", "hamming"):
        model = ChainClassifier(order=list(truth.order), loss=loss).fit(train.X, train.Y)
        right = np.asarray(model.predict(test.X)) == test.Y.to_numpy()
        scores[loss] = right.all(axis=1) if loss == "exact_match" else right.mean(axis=1)
    independent = ChainClassifier(parents="none").fit(train.X, train.Y).score(test.X, test.Y)
    for loss, optimum in zip(scores, bayes, strict=False):
        error = scores[loss].std() / np.sqrt(n_test)
        assert optimum - 0.01 - 3 * error < scores[loss].mean() < optimum + 3.5 * error
    assert independent < bayes.exact_match - 0.03


def test_bad_arguments_of_the_truth():
    dataset, truth = make_known_chain(30, 10, 40, random_state=0)
    with pytest.raises(ValueError, match=r"40 labels have too many combinations .* 30 rows"):
        truth.bayes_scores(dataset.X)
    dataset, truth = make_known_chain(10, 3, 3, random_state=0)
    with pytest.raises(ValueError, match=r"`Y` has the shape \(10, 2\); \(10, 3\) was expected"):
        truth.log_joint(dataset.X, dataset.Y.iloc[:, :2])
    with pytest.raises(ValueError, match=r"`Y` holds 2 .* label 1"):
        truth.log_joint(dataset.X, np.full((10, 3), [0, 2, 0]))
