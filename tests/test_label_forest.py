import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from montechain._kernels.trees import find_leaves
from montechain.label_forest import LabelForest, label_logits


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)).round(1)
    codes = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0, rng.integers(0, 3, 80)]).astype(np.int32)
    vectors, numbers = np.unique(codes, axis=0, return_inverse=True)
    return X, codes, vectors, numbers.ravel()


def test_leaves_are_those_of_scikit_learn(data):
    X, codes, _, _ = data
    X = X.astype(np.float32)
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, codes).tree_ for depth in (1, 4, None)]
    first_node = np.cumsum([0, *(tree.node_count for tree in trees)])
    arrays = [
        np.concatenate([getattr(tree, name) for tree in trees]).astype(kind)
        for name, kind in (("feature", "i4"), ("threshold", "f8"), ("children_left", "i4"), ("children_right", "i4"))
    ]
    leaves = np.empty((len(X), 3), dtype=np.int64)
    find_leaves(X, *arrays, first_node, leaves)
    expected = np.column_stack([tree.apply(X) for tree in trees]) + first_node[:-1]
    np.testing.assert_array_equal(leaves, expected)


@pytest.mark.parametrize("split_on", ["labels", "vectors"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_are_those_of_a_classifier(split_on, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)).astype(np.float32)
    codes = rng.integers(0, [2, n_classes], (80, 2)).astype(np.int32)
    numbers = np.unique(codes, axis=0, return_inverse=True)[1].ravel()
    forest, _ = LabelForest.grow(X, codes, numbers, n_trees=2, split_on=split_on, max_features=None, seed=5)
    for t, splitter in enumerate(("best", "random")):
        draws = np.random.default_rng([5, t])
        counts = np.bincount(draws.choice(80, 80), minlength=80)
        tree = DecisionTreeClassifier(splitter=splitter, random_state=int(draws.integers(2**31)))
        rows = np.flatnonzero(counts)
        targets = codes if split_on == "labels" else numbers
        expected = tree.fit(X[rows], targets[rows], sample_weight=counts[rows]).tree_
        nodes = slice(*forest.first_node[t : t + 2])
        np.testing.assert_array_equal(forest.feature[nodes], expected.feature)
        np.testing.assert_array_equal(forest.threshold[nodes], expected.threshold)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_shares_are_means_over_the_leaves_of_the_rows_drawn(data, container):
    X, codes, vectors, numbers = data
    forest, out_of_bag = LabelForest.grow(container(X), codes, numbers, n_trees=7, seed=3)
    shares = forest.shares(container(X)).toarray()
    # The slow way: which rows were drawn is repeated, and each tree's leaf is looked up by hand.
    leaves = np.empty((len(X), 7), dtype=np.int64)
    find_leaves(
        X.astype(np.float32), forest.feature, forest.threshold, forest.left, forest.right, forest.first_node, leaves
    )
    expected, expected_out = np.zeros((2, len(X), len(vectors)))
    n_out = np.zeros(len(X))
    for t in range(7):
        drawn = np.random.default_rng([3, t]).choice(len(X), len(X))
        for i in range(len(X)):
            same = [numbers[j] for j in drawn if leaves[j, t] == leaves[i, t]]
            own = np.bincount(same, minlength=len(vectors)) / len(same)
            expected[i] += own / 7
            if i not in drawn:
                expected_out[i] += own
                n_out[i] += 1
    np.testing.assert_allclose(shares, expected)
    np.testing.assert_allclose(out_of_bag.toarray(), expected_out / np.maximum(n_out, 1)[:, None])


def test_a_small_forest_does_not_depend_on_threads_and_stops_in_time(data):
    X, codes, _, numbers = data
    alone = LabelForest.grow(X, codes, numbers, n_trees=6, seed=1)[0]
    shared = LabelForest.grow(X, codes, numbers, n_trees=6, seed=1, n_jobs=2)[0]
    np.testing.assert_array_equal(alone.shares(X).toarray(), shared.shares(X).toarray())
    late = LabelForest.grow(X, codes, numbers, n_trees=10_000, time_limit=0.0, seed=1)[0]
    assert late.n_trees == 16


def test_rows_of_weight_zero_are_never_drawn(data):
    X, codes, _, numbers = data
    weight = (numbers != 0).astype(float)
    forest, _ = LabelForest.grow(X, codes, numbers, n_trees=5, weight=weight)
    assert forest.shares(X)[:, [0]].sum() == 0.0


@pytest.mark.parametrize(("name", "value"), [("left", 10**6), ("left", 0), ("feature", 99), ("feature", -3)], ids=str)
def test_damaged_trees_are_refused(data, name, value):
    X, codes, _, numbers = data
    forest, _ = LabelForest.grow(X, codes, numbers, n_trees=2)
    forest._check_loaded()
    getattr(forest, name)[0] = value
    with pytest.raises(ValueError, match="tree"):
        forest._check_loaded()


def test_logits_are_smoothed_log_odds():
    proba = [np.array([[0.25, 0.75], [0.0, 1.0]]), np.array([[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]])]
    columns = label_logits(proba, n_counts=99.0)
    assert columns.shape == (2, 4)
    np.testing.assert_allclose(columns[:, 0], [np.log(74.75 / 25.25), np.log(99.5 / 0.5)])
    np.testing.assert_allclose(columns[:, 1:].sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(columns[0, 2] - columns[0, 1], np.log((49.5 + 1 / 3) / (1 / 3)))
