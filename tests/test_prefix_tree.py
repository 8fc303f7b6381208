"""The tree of prefixes over chains of any kind: what it evaluates, remembers and returns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from montechain.prefix_tree import ChainBase, PrefixTree, distinct


class TableChain(ChainBase):
    """A chain with links from a function of x and the parents; it notes what it is asked."""

    def __init__(self, n_classes: tuple[int, ...], parents: tuple[tuple[int, ...], ...]):
        self.n_classes = n_classes
        self.order = range(len(n_classes))
        self.parents = parents
        self.asked: list[tuple[int, int, tuple[int, ...]]] = []

    def conditional(self, X, prefix):
        k = prefix.shape[1]
        own = prefix[:, list(self.parents[k])]
        self.asked += [(k, int(x), tuple(codes)) for x, codes in zip(X[:, 0], own.tolist(), strict=True)]
        scores = np.sin(X + own.sum(axis=1, keepdims=True) * 3.0 + np.arange(self.n_classes[k]) * (k + 1.0))
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


@given(st.integers(0, 10**6), st.sampled_from([[2, 3], [2] * 61, [5] * 40, []]))
def test_distinct_pairs_are_those_of_numpy(seed, n_classes):
    rng = np.random.default_rng(seed)
    # Few different vectors, so that many pairs are equal; some with 61 columns, which no number of 62 bits holds.
    vectors = rng.integers(n_classes, size=(3, len(n_classes))) if n_classes else np.empty((3, 0), dtype=int)
    codes, rows = vectors[rng.integers(3, size=40)], rng.integers(5, size=40)
    _, first, inverse = distinct(rows, codes, n_classes)
    table = np.column_stack([rows, codes])
    _, expected_first, expected_inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, expected_first)
    np.testing.assert_array_equal(inverse, expected_inverse.ravel())


@pytest.mark.parametrize("remembered", [0, 7, 10**6])
@pytest.mark.parametrize("is_given", [False, True])
def test_what_is_remembered_changes_nothing(monkeypatch, remembered, is_given):
    monkeypatch.setattr("montechain.prefix_tree.MAX_CACHED", remembered)
    rng = np.random.default_rng(0)
    n_rows, n_classes = 6, (2, 3, 2, 2)
    chain = TableChain(n_classes, ((), (0,), (0, 1), (2,)))
    X = np.arange(n_rows, dtype=float)[:, None]
    known = np.full((n_rows, 4), -1, dtype=np.int32)
    known[::2, 2] = 1
    tree = PrefixTree(chain, X, known if is_given else None)
    for _ in range(12):
        k = rng.integers(4)
        rows = rng.integers(n_rows, size=rng.integers(9))
        prefix = (
            rng.integers(n_classes[:k], size=(len(rows), k)).astype(np.int32) if k else np.empty((len(rows), 0), int)
        )
        found = tree.expand(rows, prefix)
        expected = chain.conditional(X[rows], prefix) if len(rows) else np.empty((0, n_classes[k]))
        if is_given and k == 2:
            expected[rows % 2 == 0, 0] = -np.inf
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_no_link_is_asked_twice():
    chain = TableChain((2, 2, 3), ((), (0,), (1,)))
    tree = PrefixTree(chain, np.arange(4.0)[:, None])
    vectors = np.array([[0, 0, 0], [0, 1, 2], [1, 1, 1], [0, 0, 0]])
    rows = np.array([0, 0, 3, 2])
    total = tree.log_joint(vectors, rows)
    assert len(chain.asked) == len(set(chain.asked)) == 3 + 3 + 4
    chain.asked.clear()
    np.testing.assert_array_equal(tree.log_joint(vectors, rows), total)
    assert chain.asked == []
    # Position 2 looks at position 1 only: row 3 with a 1 there is known, whatever is at position 0.
    tree.expand(np.array([3, 1]), np.array([[0, 1], [0, 1]]))
    assert chain.asked == [(2, 1, (1,))]


def test_a_chain_with_very_many_parents_is_evaluated_too():
    n_labels = 80
    chain = TableChain((2,) * n_labels, tuple(tuple(range(k)) for k in range(n_labels)))
    X = np.arange(3.0)[:, None]
    Y = np.random.default_rng(0).integers(2, size=(3, n_labels))
    rows = np.array([0, 1, 2, 1])
    total = PrefixTree(chain, X).log_joint(Y[rows], rows)
    np.testing.assert_allclose(total[:3], chain.log_joint(X, Y))
    assert total[3] == total[1]
