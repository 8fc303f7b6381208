"""The bundled data set: its facts, what is hidden, its split, and what it teaches."""

import pickle

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from montechain import load_digits_facts

# Written down independently of the code: parity, size, prime, square, loops, strokes.
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


def test_facts_are_those_written_down():
    dataset = load_digits_facts()
    expected = np.array([row.split() for row in FACTS.strip().splitlines()])[load_digits().target]
    np.testing.assert_array_equal(dataset.Y.astype(str).to_numpy(), expected)
    assert dataset.label_names == ["parity", "size", "prime", "square", "loops", "strokes"]
    assert dataset.classes[1] == list(dataset.Y["size"].cat.categories) == ["small", "medium", "large"]
    assert dataset.classes[4] == [0, 1, 2]
    assert dataset.Y["loops"].dtype == np.int64
    assert dataset.Y.dtypes.drop("loops").map(lambda kind: isinstance(kind, pd.CategoricalDtype)).all()


def test_the_left_half_is_hidden_and_the_right_one_is_as_it_was():
    dataset = load_digits_facts()
    seen, whole = dataset.X.to_numpy().reshape(-1, 8, 8), load_digits().images / 16
    assert not seen[:, :, :4].any()
    np.testing.assert_array_equal(seen[:, :, 4:], whole[:, :, 4:])
    assert dataset.feature_names == list(dataset.X.columns)
    assert dataset.feature_names[7:9] == ["pixel_0_7", "pixel_1_0"]
    assert dataset.name == "digits"


def test_split_holds_every_row_once():
    dataset = load_digits_facts()
    train, test = dataset.split
    assert (len(train.Y), len(test.Y)) == (899, 898)
    assert sorted([*train.Y.index, *test.Y.index]) == list(range(1797))
    assert train.Y.index[:4].tolist() == [0, 2, 4, 6]
    pd.testing.assert_frame_equal(train.X, dataset.X.loc[train.Y.index])
    again = pickle.loads(pickle.dumps(dataset)).split
    pd.testing.assert_frame_equal(again.test.Y, test.Y)
