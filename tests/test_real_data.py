"""The loader of real data, against what is published about the data sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.real_data import OFFICIAL_SPLITS, load_split

# rows of the training and the test part, inputs, labels, mean number of labels in both parts
PUBLISHED = {
    "music": (391, 202, 72, 6, 1.813, 1.975),
    "scene": (1211, 1196, 294, 6, 1.062, 1.086),
    "yeast": (1500, 917, 103, 14, 4.228, 4.252),
    "genbase": (463, 199, 1185, 27, 1.261, 1.231),
    "medical": (333, 645, 1449, 45, 1.255, 1.240),
    "enron": (1123, 579, 1001, 53, 3.386, 3.363),
    "tmc2007": (21519, 7077, 500, 22, 2.226, 1.952),
    "mediamill": (1500, 500, 120, 101, 4.437, 4.264),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", OFFICIAL_SPLITS)
def test_official_split(name, data_folder):
    split = load_split(name, data_folder)
    n_train, n_test, n_features, n_labels, *cardinality = PUBLISHED[name]
    assert split.X_train.shape == (n_train, n_features)
    assert split.X_test.shape == (n_test, n_features)
    assert split.Y_train.shape == (n_train, n_labels)
    assert split.Y_test.shape == (n_test, n_labels)
    assert np.isin(split.Y_train, (0, 1)).all()
    means = [Y.sum(axis=1).mean() for Y in (split.Y_train, split.Y_test)]
    np.testing.assert_allclose(means, cardinality, atol=5.1e-4)
    values = split.X_train.data if sp.issparse(split.X_train) else split.X_train
    assert np.isfinite(values).all()
    assert values.any()


@pytest.mark.real_data
def test_reuters_is_split_without_loss(data_folder):
    split = load_split("reuters", data_folder)
    assert split.X_train.shape == (4000, 500)
    assert split.X_test.shape == (2000, 500)
    assert round((split.Y_train.sum() + split.Y_test.sum()) / 6000, 3) == 1.462
    empty_rows = sum((X.sum(axis=1) == 0).sum() for X in (split.X_train, split.X_test))
    assert empty_rows == 117


@pytest.mark.real_data
def test_labels_stand_in_the_order_of_the_file(data_folder):
    # The label list of Yeast names Class6 fourth; in the file Class4 is the fourth label. Their counts differ.
    split = load_split("yeast", data_folder)
    assert (split.Y_train.sum(axis=0)[:4] == [476, 645, 598, 532]).all()
