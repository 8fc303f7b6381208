"""`AutoChainClassifier`, `TableClassifier` and `TableEncoder` on Dask collections."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from montechain import AutoChainClassifier, ChainClassifier, TableClassifier, TableEncoder
from montechain import preparation as encoding
from montechain._lazy import draw_rows
from montechain.estimators import auto
from tests.dask_tables import blocks

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.filterwarnings("ignore:.time_limit=1e-06")]
N = 600


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    Y = (X[:, :3] + 0.7 * rng.normal(size=(N, 3)) > 0).astype(int)
    Y[:4, 2] = 2  # a rare class
    return X, Y


def table(X, Y):
    """Return a table of numbers with gaps, numbers as words, dates and words; and labels that are words."""
    inputs = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).mask(np.abs(X[:, :3]) > 2)
    inputs["code"] = inputs["b"].round(3).map(str)
    inputs["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N) % 400, unit="D")).strftime("%Y-%m-%d")
    inputs["kind"] = np.array(["x", "y", "z"])[Y[:, 2]]
    return inputs, pd.DataFrame({"u": np.array(["no", "yes"])[Y[:, 0]], "v": Y[:, 1]})


def test_a_table_that_fits_into_the_sample_gives_the_model_of_memory(data):
    X, Y = data
    here, there = (AutoChainClassifier(random_state=0, time_limit=1e-6).fit(*own) for own in (data, blocks(X, Y)))
    np.testing.assert_array_equal(there.predict_proba(X)[2], here.predict_proba(X)[2])
    inputs, labels = table(X, Y)
    models = [TableClassifier(AutoChainClassifier(random_state=0, time_limit=1e-6)) for _ in range(2)]
    models[0].fit(inputs, labels)
    models[1].fit(dd.from_pandas(inputs, npartitions=3), dd.from_pandas(labels, npartitions=3))
    np.testing.assert_allclose(*(model.predict_proba(inputs)[0] for model in models), atol=1e-12)
    found = models[1].predict(dd.from_pandas(inputs, npartitions=2)).compute()
    pd.testing.assert_frame_equal(found, models[0].predict(inputs), check_dtype=False)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_chains_over_inputs_learn_from_all_rows_and_others_from_a_sample(data, monkeypatch, is_sparse):
    X, Y = data
    X = np.maximum(X + 0.5, 0.0) if is_sparse else X
    lazy, labels = blocks(X, Y)
    lazy = lazy.map_blocks(sp.csr_array, dtype=float) if is_sparse else lazy
    monkeypatch.setattr(auto, "SAMPLE", 200)
    model = AutoChainClassifier(random_state=0).fit(lazy, labels)
    board = pd.DataFrame(model.leaderboard_).set_index("model")
    assert 150 < board.loc["forests", "rows"] < 300
    assert (board["rows"] == N).any()
    assert model.n_samples_seen_ == N
    assert model.score(X, Y) > 0.4
    assert model.predict(lazy).compute().shape == Y.shape


def test_a_sample_has_every_class_and_is_not_biased(data, monkeypatch):
    drawn = []
    monkeypatch.setattr(auto, "SAMPLE", 100)
    monkeypatch.setattr(auto, "informative_rows", lambda *rows: drawn.append(rows) or (_ for _ in ()).throw(KeyError))
    with pytest.raises(KeyError):
        AutoChainClassifier(random_state=0).fit(*blocks(*data))
    _, codes, options = drawn[0]
    weight = options["sample_weight"]
    assert (codes[:, 2] == 2).sum() == 4
    assert weight.min() == pytest.approx(100 / N)
    assert weight.sum() == pytest.approx(100, rel=0.3)


def test_an_encoder_learns_from_rows_drawn_in_one_pass(data, monkeypatch):
    inputs = table(*data)[0]
    lazy = dd.from_pandas(inputs, npartitions=5)
    whole = TableEncoder().fit(inputs)
    found = TableEncoder().fit(lazy)
    np.testing.assert_array_equal(found.transform(lazy).compute(), whole.transform(inputs))
    monkeypatch.setattr(encoding, "SAMPLE", 250)
    some = TableEncoder().fit(lazy)
    assert some.notes_[0] == "the encoding was learned from 250 of 600 rows, drawn at random."
    np.testing.assert_allclose(some.transform(lazy)[:, :3].compute(), whole.transform(inputs)[:, :3], atol=0.5)


def test_a_sample_may_come_from_blocks_of_any_length():
    rows = pd.DataFrame({"a": np.arange(1000)})
    lazy = dd.concat([dd.from_pandas(own, npartitions=1) for own in (rows[:0], rows[:990], rows[990:])])
    found, n_rows = draw_rows(lazy, 100)
    assert (len(found), n_rows, found["a"].is_monotonic_increasing) == (100, 1000, True)
    assert found["a"].mean() == pytest.approx(500, rel=0.2)
    with pytest.raises(ValueError, match="`X` has 0 rows"):
        draw_rows(lazy[lazy["a"] < 0], 100)


def test_what_cannot_learn_from_blocks_says_so(data):
    lazy = blocks(*data)
    for model in (TableClassifier(DecisionTreeClassifier()), TableClassifier(ChainClassifier(), tags="a")):
        with pytest.raises(TypeError, match="take rows in memory, not Dask collections: fit to a sample"):
            model.fit(*lazy)
