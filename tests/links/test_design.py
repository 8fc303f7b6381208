"""X with the parents' columns beside it, in every container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from montechain.links.design import as_matrix, augment, parent_columns, parent_names, split_effects

CODES = np.array([[1, 2, 0], [0, 0, 0]], dtype=np.int32)
N_CLASSES = (2, 3, 1)


def test_binary_parents_have_one_column_others_one_per_class_constants_none():
    assert parent_columns(CODES, N_CLASSES).tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]


def test_split_effects_undoes_parent_columns():
    rng = np.random.default_rng(0)
    coefficients = rng.normal(size=(4, 2))
    effects = split_effects(coefficients, N_CLASSES)
    assert [block.shape for block in effects] == [(2, 2), (3, 2), (1, 2)]
    expected = parent_columns(CODES, N_CLASSES) @ coefficients
    found = sum(block[codes] for block, codes in zip(effects, CODES.T, strict=True))
    np.testing.assert_allclose(found, expected)


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_arrays_keep_their_kind(container):
    joined = augment(container(X), np.ones((2, 2)))
    assert isinstance(joined, sp.sparray) == isinstance(container(X), sp.sparray)
    assert sp.issparse(joined) == sp.issparse(container(X))
    np.testing.assert_array_equal(as_matrix(joined) @ np.eye(5), np.hstack([X, np.ones((2, 2))]))


def test_float32_stays_float32():
    assert augment(X.astype(np.float32), np.ones((2, 1))).dtype == np.float32


def test_no_parents_no_copy():
    assert augment(X, np.empty((2, 0))) is X


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_get_named_columns(frame):
    data = frame({"a": [1.0, 2.0], "material": ["x", "y"]})
    names = parent_names(data, ["material", "span", "lone"], N_CLASSES)
    assert names == ["material_", "span=0", "span=1", "span=2"]
    joined = augment(data, parent_columns(CODES, N_CLASSES), names)
    assert list(joined.columns) == ["a", "material", *names]
    assert type(joined) is type(data)
    assert list(joined["span=2"]) == [1.0, 0.0]


def test_pandas_index_is_kept_and_numbered_columns_stay_numbers():
    data = pd.DataFrame(X, index=["r", "s"])
    names = parent_names(data, ["p"], (2,))
    joined = augment(data, np.ones((2, 1)), names)
    assert names == [3]
    assert list(joined.index) == ["r", "s"]
