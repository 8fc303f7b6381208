"""X with the parents' columns appended, in every container."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier

from montechain import LogisticLink, SVMLink
from montechain.links.base import LinkProblem
from montechain.links.design import as_matrix, augment, parent_columns, parent_names, split_effects
from montechain.links.estimator import EstimatorLink

CODES = np.array([[1, 2, 0], [0, 0, 0]], dtype=np.int32)
N_CLASSES = (2, 3, 1)


def test_binary_parents_have_one_column_others_one_per_class_constants_none():
    assert parent_columns(CODES, N_CLASSES).tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
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
    assert augment(X.astype(np.float32), np.ones((2, 1))).dtype == np.float32
    assert augment(X, np.empty((2, 0))) is X  # without parents nothing is copied


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


def duplicated(X):
    """Return X as CSR, each entry in two parts that stand apart, and columns in no order."""
    parts = sp.csr_matrix(np.hstack([0.25 * X[:, ::-1], 0.75 * np.roll(X, 1, axis=1)]))
    # Built directly: scipy's own conversions would add up the duplicates.
    columns = np.hstack([np.arange(X.shape[1])[::-1], np.roll(np.arange(X.shape[1]), 1)])[parts.indices]
    return sp.csr_matrix((parts.data, columns, parts.indptr), shape=X.shape)


@pytest.mark.parametrize(
    "learner",
    [
        LogisticLink(),
        SVMLink(),
        EstimatorLink(make_pipeline(MaxAbsScaler(), LogisticRegression())),
        EstimatorLink(DecisionTreeClassifier(max_depth=3, random_state=0)),
    ],
    ids=lambda learner: type(getattr(learner, "estimator", learner)).__name__,
)
def test_duplicate_entries_of_sparse_inputs_are_summed(learner):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.6)
    codes = (dense[:, :2] + rng.normal(size=(60, 2)) > 0).astype(np.int32)
    twofold = duplicated(dense)
    before = twofold.data.copy()
    problem = LinkProblem(1, (0,))
    (expected,) = learner.fit_links(sp.csr_matrix(dense), codes, codes, [2, 2], [problem])
    (link,) = learner.fit_links(twofold, codes, codes, [2, 2], [problem])
    np.testing.assert_array_equal(twofold.data, before)
    for X in (sp.csr_matrix(dense), twofold):
        np.testing.assert_allclose(
            link.log_proba(X, codes[:, :1]), expected.log_proba(sp.csr_matrix(dense), codes[:, :1]), atol=1e-6
        )
