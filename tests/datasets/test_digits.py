"""The embedded data set: its facts, what is hidden, its split, and what it teaches."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from montechain import ChainClassifier
from montechain.datasets.digits import HALVES, HIDDEN, load_digits_facts

# Written down apart from the code: parity, size, prime, square, loops, strokes.
FACTS = """
even small  no  yes 1 curved
odd  small  no  yes 0 straight
even small  yes no  0 mixed
odd  small  yes no  0 curved
even medium no  yes 0 straight
odd  medium yes no  0 mixed
even medium no  no  1 curved
odd  large  yes no  0 straight
even large  no  no  2 curved
odd  large  no  yes 1 mixed
"""


def test_facts():
    dataset = load_digits_facts()
    digits = load_digits().target
    expected = np.array([row.split() for row in FACTS.strip().splitlines()])[digits]
    np.testing.assert_array_equal(dataset.Y.astype(str).to_numpy(), expected)
    assert dataset.label_names == ["parity", "size", "prime", "square", "loops", "strokes"]
    assert dataset.classes[1] == list(dataset.Y["size"].cat.categories) == ["small", "medium", "large"]
    assert dataset.classes[4] == [0, 1, 2]
    assert dataset.Y["loops"].dtype == np.int64
    assert len(np.unique(expected, axis=0)) == 10
    assert dataset.Y.dtypes.drop("loops").map(lambda kind: isinstance(kind, pd.CategoricalDtype)).all()
    for classes, name in zip(dataset.classes, dataset.label_names, strict=True):
        assert set(classes) == set(dataset.Y[name])


def seen(hidden, random_state=0):
    return load_digits_facts(hidden=hidden, random_state=random_state).X.to_numpy().reshape(-1, 8, 8)


@pytest.mark.parametrize("hidden", list(HALVES))
def test_a_half_is_hidden_and_the_other_is_as_it_was(hidden):
    whole, part = seen("nothing"), seen(hidden)
    np.testing.assert_array_equal(whole, load_digits().images / 16)
    blank_parts = {"left half": part[:, :, :4], "right half": part[:, :, 4:], "top half": part[:, :4]}
    blank = blank_parts.get(hidden, part[:, 4:])
    assert blank.shape[1] * blank.shape[2] == 32
    assert not blank.any()
    changed = (part != whole).any(axis=0)
    assert changed.sum() <= 32
    np.testing.assert_array_equal(part[:, ~changed], whole[:, ~changed])
    assert part.any()


def test_random_halves_are_those_of_the_fixed_ones():
    random = seen("random half")
    fixed = np.stack([seen(half) for half in HALVES])
    matches = (random == fixed).all(axis=(2, 3))
    assert matches.any(axis=0).all()
    assert (matches.mean(axis=1) > 0.2).all()
    assert (seen("random half", random_state=1) != random).any()
    np.testing.assert_array_equal(seen("random half"), random)


def test_data_set():
    dataset = load_digits_facts()
    assert dataset.X.shape == (1797, 64)
    assert dataset.feature_names == list(dataset.X.columns)
    assert dataset.feature_names[:9][-2:] == ["pixel_0_7", "pixel_1_0"]
    assert dataset.X.to_numpy().min() == 0
    assert dataset.X.to_numpy().max() == 1
    assert dataset.name == "digits"
    assert "left half" in dataset.description
    assert "Alpaydin" in dataset.description


def test_split_holds_every_row_once():
    dataset = load_digits_facts()
    train, test = dataset.split
    assert (len(train.Y), len(test.Y)) == (899, 898)
    assert sorted([*train.Y.index, *test.Y.index]) == list(range(1797))
    pd.testing.assert_frame_equal(train.X, dataset.X.loc[train.Y.index])
    again = pickle.loads(pickle.dumps(dataset)).split
    pd.testing.assert_frame_equal(again.test.Y, test.Y)
    assert list(load_digits_facts(random_state=1).split.train.Y.index) != list(train.Y.index)


def test_each_step_from_separate_models_to_an_exact_chain_is_worth_it():
    train, test = load_digits_facts().split
    scores = [
        ChainClassifier(random_state=0, **choices).fit(train.X, train.Y).score(test.X, test.Y)
        for choices in ({"parents": "none"}, {"inference": "greedy"}, {})
    ]
    separate, greedy, exact = scores
    assert 0.45 < separate < greedy - 0.1
    assert greedy < exact - 0.03
    assert exact < 0.9


def test_bad_arguments():
    assert len(HIDDEN) == 6
    with pytest.raises(ValueError, match=r"`hidden='left'` is not one of 'left half', .*; did you mean 'left half'\?"):
        load_digits_facts(hidden="left")
