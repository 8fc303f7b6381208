from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from montechain.ordering.validation import hold_out, split_rows


def random_codes(seed, n_rows, n_labels, n_classes, unknown=0.0):
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.5, size=(n_rows, n_labels)) - 1, n_classes - 1).astype(np.int32)
    return np.where(rng.random(codes.shape) < unknown, -1, codes).astype(np.int32)


@settings(max_examples=100)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 80),
    st.integers(1, 4),
    st.integers(2, 4),
    st.floats(0.05, 0.95),
    st.sampled_from([0.0, 0.3]),
)
def test_held_out_rows(seed, n_rows, n_labels, n_classes, share, unknown):
    codes = random_codes(seed, n_rows, n_labels, n_classes, unknown)
    train, test = hold_out(codes, share, np.random.default_rng(seed))
    assert sorted([*train, *test]) == list(range(n_rows))
    assert len(train) > 0
    assert len(test) > 0
    n_wanted = min(max(round(share * n_rows), 1), n_rows - 1)
    assert len(test) <= n_wanted
    if len(test) > 1:
        for label in codes.T:
            assert set(label[test]) - {-1} <= set(label[train])
    again = hold_out(codes, share, np.random.default_rng(seed))
    np.testing.assert_array_equal(again[1], test)


def test_label_sets_are_stratified():
    codes = random_codes(0, 3000, 3, 2)
    _, test = hold_out(codes, 1 / 3, np.random.default_rng(0))
    sets, which, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    held_out = np.bincount(which.ravel()[test], minlength=len(sets))
    assert (np.abs(held_out - counts / 3) <= 1.5).all()


def test_a_rare_class_stays_among_the_rows_to_learn_from():
    codes = np.zeros((30, 2), dtype=np.int32)
    codes[7, 1] = 1
    for seed in range(20):
        train, test = hold_out(codes, 0.9, np.random.default_rng(seed))
        assert 7 in train
        assert len(test) >= 26


def test_a_single_row_is_in_both_parts():
    train, test = hold_out(np.zeros((1, 2), dtype=np.int32), 0.5, np.random.default_rng(0))
    assert train.tolist() == test.tolist() == [0]


def test_splitters_pairs_and_none():
    codes, X, rng = random_codes(0, 12, 2, 2), np.zeros((12, 1)), np.random.default_rng(0)
    folds = split_rows(KFold(3), X, codes, rng)
    assert [test.tolist() for _, test in folds] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert [test.tolist() for _, test in split_rows(list(KFold(3).split(X)), X, codes, rng)] == [
        test.tolist() for _, test in folds
    ]
    ((train, test),) = split_rows(None, X, codes, rng)
    assert train.tolist() == test.tolist() == list(range(12))


@pytest.mark.parametrize("validation", [0, 1, 0.0, 1.0, -0.5, 5])
def test_shares_out_of_range(validation):
    with pytest.raises(ValueError, match="must be a share of the rows between 0 and 1"):
        split_rows(validation, np.zeros((4, 1)), np.zeros((4, 1), int), np.random.default_rng(0))


@pytest.mark.parametrize("validation", ["third", True, object()])
def test_other_types(validation):
    with pytest.raises(TypeError, match="Allowed are a share of the rows"):
        split_rows(validation, np.zeros((4, 1)), np.zeros((4, 1), int), np.random.default_rng(0))


def test_no_rows():
    with pytest.raises(ValueError, match="leaves no rows"):
        split_rows([([0, 1], [])], np.zeros((4, 1)), np.zeros((4, 1), int), np.random.default_rng(0))
    with pytest.raises(ValueError, match="leaves no rows"):
        split_rows([], np.zeros((4, 1)), np.zeros((4, 1), int), np.random.default_rng(0))
