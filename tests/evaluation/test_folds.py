"""Folds: every row once, rare labels everywhere, and agreement with the algorithm as printed."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from montechain.evaluation import LabelStratifiedKFold
from montechain.evaluation.folds import assign_folds
from tests.reference.stratification import iterative_stratification


def deviation(Y: np.ndarray, fold: np.ndarray, n_folds: int) -> float:
    """Return the sum over labels and folds of how far the number of ones is from an even share."""
    return sum(np.abs(Y[fold == j].sum(axis=0) - Y.sum(axis=0) / n_folds).sum() for j in range(n_folds))


def plain_folds(n_rows: int, n_folds: int, seed: int) -> np.ndarray:
    fold = np.empty(n_rows, dtype=int)
    for number, (_, test) in enumerate(KFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(n_rows))):
        fold[test] = number
    return fold


@st.composite
def codes_and_draws(draw):
    n_rows = draw(st.integers(2, 30))
    n_classes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    codes = np.column_stack(
        [draw(st.lists(st.integers(-1, k - 1), min_size=n_rows, max_size=n_rows)) for k in n_classes]
    )
    n_folds = draw(st.integers(2, min(n_rows, 6)))
    return codes, n_classes, n_folds, draw(st.integers(0, 2**16))


@settings(max_examples=100)
@given(codes_and_draws())
def test_agrees_with_the_algorithm_as_printed(problem):
    codes, n_classes, n_folds, seed = problem
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(n_classes)])
    pairs = np.where(codes >= 0, codes + starts[:-1], -1)
    order, priority = rng.permutation(len(codes)), rng.permutation(starts[-1])
    uniforms = rng.random(len(codes))
    found = assign_folds(pairs, n_folds, order, priority, uniforms)
    sets = [{pair for pair in row if pair >= 0} for row in pairs.tolist()]
    by_pair = dict(enumerate(priority.tolist()))
    expected = iterative_stratification(sets, n_folds, order.tolist(), by_pair, uniforms.tolist())
    assert found.tolist() == expected


@settings(max_examples=100)
@given(codes_and_draws())
def test_every_row_is_tested_once_and_sizes_differ_by_at_most_one(problem):
    codes, _, n_folds, seed = problem
    Y = np.where(codes < 0, np.nan, codes)
    folds = LabelStratifiedKFold(n_folds, random_state=seed)
    tested = []
    for train, test in folds.split(Y, Y):
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(Y)))
        tested.append(test)
    assert np.array_equal(np.sort(np.concatenate(tested)), np.arange(len(Y)))
    sizes = [len(test) for test in tested]
    assert max(sizes) - min(sizes) <= 1


def test_rare_labels_are_balanced_better_than_by_plain_folds():
    rng = np.random.default_rng(0)
    Y = (rng.random((400, 30)) < 2.0 / np.arange(2, 32)[::-1] * 0.3).astype(int)
    fold = LabelStratifiedKFold(5, random_state=0).assign(Y)
    assert deviation(Y, fold, 5) < 0.5 * deviation(Y, plain_folds(400, 5, 0), 5)


def test_classes_of_any_kind_are_balanced_and_unknown_cells_ignored():
    rng = np.random.default_rng(0)
    colours = np.array(["red", "tan", "tan", "blue", None], dtype=object)[rng.integers(5, size=200)]
    Y = pd.DataFrame({"colour": colours, "size": rng.choice([1.0, 2.0, np.nan], 200), "none": np.full(200, np.nan)})
    fold = LabelStratifiedKFold(4, random_state=0).assign(Y)
    for column, values in (("colour", ["red", "tan", "blue"]), ("size", [1.0, 2.0])):
        for value in values:
            counts = [int((Y[column][fold == j] == value).sum()) for j in range(4)]
            assert max(counts) - min(counts) <= 2


def test_folds_are_fixed_by_their_seed_whatever_the_container():
    Y = (np.random.default_rng(0).random((60, 8)) < 0.2).astype(int)
    folds = LabelStratifiedKFold(3, random_state=1)
    for same in (Y, Y.tolist(), sp.csr_array(Y), pd.DataFrame(Y), Y.astype(float)):
        assert np.array_equal(folds.assign(same), folds.assign(Y))
    one, other = (LabelStratifiedKFold(3, random_state=seed).assign(Y) for seed in (1, 2))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("Y", [np.ones((10, 3), int), np.full((10, 3), np.nan), np.zeros(10, int)])
def test_labels_that_tell_nothing_give_even_folds(Y):
    sizes = np.bincount(LabelStratifiedKFold(4, random_state=0).assign(Y))
    assert sorted(sizes.tolist()) == [2, 2, 3, 3]


def test_bad_arguments_say_what_to_type():
    five, two = LabelStratifiedKFold(5), LabelStratifiedKFold(2)
    for call, message in (
        (lambda: next(five.split(np.zeros((3, 1)), [[0], [1], [0]])), "number of samples: n_samples=3"),
        (lambda: LabelStratifiedKFold(1), "got n_splits=1"),
        (lambda: next(five.split(np.zeros((9, 1)))), r"Pass split\(X, Y\)"),
        (lambda: next(two.split(np.zeros((9, 1)), np.zeros(8, int))), r"inconsistent numbers of samples: \[9, 8\]"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_it_is_a_splitter_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    Y = (X[:, :2] > 0).astype(int)
    folds = LabelStratifiedKFold(3, random_state=0)
    assert folds.get_n_splits() == 3
    assert repr(folds) == "LabelStratifiedKFold(n_splits=3, random_state=0)"
    assert cross_val_score(DecisionTreeClassifier(), X, Y, cv=folds).min() > 0.8
