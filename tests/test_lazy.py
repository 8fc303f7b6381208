"""Dask arrays and data frames: answers are lazy, and the same as in memory."""

from dataclasses import fields

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from montechain import ChainClassifier, LabelPowersetClassifier, TableClassifier
from montechain._lazy import import_dask
from tests.dask_tables import make

pytestmark = pytest.mark.usefixtures("one_thread")
N = 90


@pytest.fixture(scope="module")
def data():
    return make(n_features=4, n=N)


@pytest.fixture(scope="module")
def frames(data):
    X, Y = data
    index = pd.Index(np.arange(N) + 1000, name="key")
    labels = {
        "size": pd.Categorical(np.array(["s", "l"])[Y[:, 0]]),
        "n": Y[:, 1] * 5,
        "is": np.array(["no", "yes"])[Y[:, 2]],
    }
    return pd.DataFrame(X, columns=list("abcd"), index=index), pd.DataFrame(labels, index=index)


@pytest.fixture(scope="module", params=[ChainClassifier(random_state=0), LabelPowersetClassifier()], ids=["CC", "LP"])
def model(request, data):
    return request.param.fit(*data)


def test_an_array_is_answered_block_by_block(model, data):
    X, Y = data
    lazy = da.from_array(X, chunks=(40, 3))
    found = model.predict(lazy)
    assert (found.chunks, found.dtype) == (((40, 40, 10), (3,)), Y.dtype)
    np.testing.assert_array_equal(found.compute(), model.predict(X))
    for own, whole in zip(model.predict_proba(lazy), model.predict_proba(X), strict=True):
        np.testing.assert_allclose(own.compute(), whole, rtol=1e-12)
    marginals, whole = model.predict_marginals(lazy), model.predict_marginals(X)
    np.testing.assert_allclose(marginals.unresolved.compute(), whole.unresolved, atol=1e-12)
    np.testing.assert_array_equal(marginals.estimated.compute(), whole.estimated)
    decision, whole = model.decide(lazy), model.decide(X)
    for field in fields(whole):
        own, expected = getattr(decision, field.name), getattr(whole, field.name)
        assert (own.dtype, own.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(own.compute(), expected, atol=1e-12)
    for labels in (Y, Y.tolist(), da.from_array(Y, chunks=(17, 2))):
        np.testing.assert_allclose(model.log_joint(lazy, labels).compute(), model.log_joint(X, Y), rtol=1e-12)


def test_known_labels_may_be_lazy_too(model, data):
    X, Y = data
    given = np.where(np.random.default_rng(1).random(Y.shape) < 0.5, Y, np.nan)
    lazy = da.from_array(X, chunks=(40, 4))
    for known in (given, da.from_array(given, chunks=(30, 3))):
        np.testing.assert_array_equal(model.predict(lazy, given=known).compute(), model.predict(X, given=given))


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_data_frame_keeps_index_names_and_types(wrapped, frames):
    X, Y = frames
    chain = ChainClassifier(random_state=0)
    model = (TableClassifier(chain) if wrapped else chain).fit(X, Y)
    lazy, whole = dd.from_pandas(X, npartitions=3), model.predict(X)
    found = model.predict(lazy)
    assert found.divisions == lazy.divisions
    pd.testing.assert_series_equal(found.dtypes, whole.dtypes)
    pd.testing.assert_frame_equal(found.compute(), whole)
    decision = model.decide(lazy, given=dd.from_pandas(Y[["n"]], npartitions=3))
    pd.testing.assert_frame_equal(decision.labels.compute(), model.decide(X, given=Y[["n"]]).labels)
    np.testing.assert_allclose(model.log_joint(lazy, dd.from_pandas(Y, npartitions=3)).compute(), model.log_joint(X, Y))
    # Some partitions are left without a row.
    chosen = model.predict(lazy[lazy["a"] > X["a"].nlargest(2).min()])
    pd.testing.assert_frame_equal(chosen.compute(), whole.loc[[X["a"].idxmax()]])


def test_arrays_and_frames_may_be_mixed(data, frames):
    X, Y = data
    model = ChainClassifier(random_state=0).fit(X, frames[1])
    found = model.predict(da.from_array(X, chunks=(40, 4)))
    assert found.divisions == (0, 40, 80, 89)
    pd.testing.assert_frame_equal(found.compute(), model.predict(X))
    model = ChainClassifier(random_state=0).fit(frames[0], Y)
    found = model.predict(dd.from_pandas(frames[0], npartitions=2))
    assert found.dtype == Y.dtype
    np.testing.assert_array_equal(found.compute(), model.predict(frames[0]))


def test_targets_may_have_any_name_and_differ_between_blocks(data):
    X, Y = data
    labels = pd.DataFrame({"labels": np.repeat(["a", "b", "c"], 30), "mixed": [*Y[:45, 0], *["x", "y", "x"] * 15]})
    lazy = da.from_array(X, chunks=(30, 4))
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(labels, npartitions=3).astype({"labels": "category"})
        found = ChainClassifier(random_state=0).fit(lazy, frame).predict(lazy).compute()
    assert found.index.tolist() == list(range(N))
    assert {"a", "c"} <= set(found["labels"]) <= {"a", "b", "c"}
    assert set(found["mixed"]) <= {0, 1, "x", "y"}


def test_answers_that_cannot_be_lazy_are_refused(model, data):
    for ask in (model.predict_top_k, model.sample):
        with pytest.raises(TypeError, match=r"take rows in memory: ask for some, as in X.head\(100\)"):
            ask(da.from_array(data[0], chunks=(40, 4)))


def test_blocks_may_be_sparse(model, data):
    X = data[0]
    lazy = da.from_array(X, chunks=(40, 4)).map_blocks(sp.csr_array, dtype=float)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))


def test_one_dimension_in_one_dimension_out(data):
    X, Y = data
    model = ChainClassifier().fit(X, np.array(["a", "b"])[Y[:, 0]])
    lazy = da.from_array(X, chunks=(40, 4))
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
    assert model.predict_proba(lazy).shape == (N, 2)


def test_nothing_is_computed_before_it_is_wanted(data):
    X, Y = data
    model = ChainClassifier(random_state=0).fit(X, Y)

    def fail(block):
        raise RuntimeError("computed")

    lazy = da.from_array(X, chunks=(40, 4)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    answers = [model.predict(lazy), *model.predict_proba(lazy), model.decide(lazy).log_proba, model.log_joint(lazy, Y)]
    for answer in answers:
        with pytest.raises(RuntimeError, match="computed"):
            answer.compute()


def test_tables_that_do_not_match_are_refused(data, frames):
    X, Y = data
    model = ChainClassifier(random_state=0).fit(X, Y)
    lazy = da.from_array(X, chunks=(40, 4))
    with pytest.raises(ValueError, match="`X` has 90 rows but `y` has 89"):
        model.log_joint(lazy, Y[1:])
    with pytest.raises(ValueError, match="the blocks of `given` are not those of `X`"):
        model.predict(lazy, given=da.from_array(Y[1:], chunks=(40, 3)))
    model.fit(*frames)
    with pytest.raises(ValueError, match="`given` must be a Dask collection with the partitions of `X`"):
        model.predict(dd.from_pandas(frames[0], npartitions=2), given=frames[1])
    with pytest.raises(ValueError, match="X has 3 features"):
        ChainClassifier().fit(X, Y).predict(lazy[:, :3])


def test_what_is_missing_is_named():
    with pytest.raises(ImportError, match=r"pip install 'montechain\[dask\]'"):
        import_dask("dask.no_such_part")
