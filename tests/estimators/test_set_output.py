"""Predictions in the container that the user asked for."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from montechain import ChainClassifier, ChainPopulationClassifier
from montechain.estimators.table import TableClassifier

CHAIN = ChainClassifier(random_state=0)
MODELS = [CHAIN, ChainPopulationClassifier(n_chains=2, random_state=0), TableClassifier(CHAIN)]


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(n_samples=80, n_features=6, n_classes=3, random_state=0)
    X = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(80)[::-1])
    return X, pd.DataFrame(Y, columns=["rain", "wind", "snow"], index=X.index)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_frames_of_the_kind_asked_for(data, model):
    X, Y = data
    fitted = clone(model).fit(X, Y.to_numpy())
    plain = fitted.predict(X)
    assert isinstance(plain, np.ndarray)
    expected = pd.DataFrame(plain, index=X.index).add_prefix("label_")
    fitted.set_output(transform="pandas")
    pd.testing.assert_frame_equal(fitted.predict(X), expected)
    pd.testing.assert_frame_equal(fitted.decide(X).labels, expected)
    assert fitted.score(X, Y.to_numpy()) == (plain == Y).all(axis=1).mean()
    in_polars = clone(model).set_output(transform="polars").fit(X, Y).predict(X)
    assert isinstance(in_polars, pl.DataFrame)
    assert in_polars.columns == Y.columns.tolist()
    np.testing.assert_array_equal(in_polars.to_numpy(), plain)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_it_survives_clone_pickle_and_failed_fits_and_can_be_taken_back(data, model):
    X, Y = data
    with sklearn.config_context(transform_output="polars"):
        predicted = clone(model).fit(X, Y).predict(X)
        assert isinstance(predicted, pd.DataFrame)
        assert isinstance(clone(model).fit(X.to_numpy(), Y.to_numpy()).predict(X.to_numpy()), np.ndarray)
    fitted = clone(clone(model).set_output(transform="polars")).fit(X, Y)
    assert isinstance(pickle.loads(pickle.dumps(fitted)).predict(X), pl.DataFrame)
    with pytest.raises(ValueError, match="rows"):
        fitted.fit(X, Y.iloc[:3])
    assert isinstance(fitted.set_output().predict(X), pl.DataFrame)  # None changes nothing
    pd.testing.assert_frame_equal(fitted.set_output(transform="default").predict(X), predicted)


def test_types_of_another_library_are_left_behind(data):
    X, Y = data
    kind, hot = pd.Categorical(np.where(Y["rain"], "wet", "dry")), Y["snow"] > 0
    mixed = pd.DataFrame({"kind": kind, "count": Y["wind"].astype("Int64"), "hot": hot})
    same = clone(CHAIN).set_output(transform="pandas").fit(X, mixed).predict(X)
    assert same.dtypes.tolist() == mixed.dtypes.tolist()
    other = clone(CHAIN).set_output(transform="polars").fit(X, mixed).predict(X)
    assert other.schema == {"kind": pl.String, "count": pl.Int64, "hot": pl.Boolean}
    in_polars = pl.DataFrame({name: mixed[name].tolist() for name in mixed})
    back = clone(CHAIN).set_output(transform="pandas").fit(X, in_polars).predict(X)
    assert back["kind"].tolist() == same["kind"].tolist()
    pd.testing.assert_index_equal(back.index, X.index)


def test_one_target_is_a_frame_of_one_column(data):
    X, Y = data
    model = clone(CHAIN).set_output(transform="pandas")
    assert model.fit(X, Y["rain"]).predict(X).columns.tolist() == ["rain"]
    assert model.fit(X, Y["rain"].to_numpy()).predict(X).columns.tolist() == ["label_0"]


def test_a_pipeline_reaches_its_transformers_only(data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), clone(CHAIN)).set_output(transform="pandas").fit(X, Y.to_numpy())
    assert pipeline[-1].feature_names_in_.tolist() == X.columns.tolist()
    assert isinstance(pipeline.predict(X), np.ndarray)
    pipeline[-1].set_output(transform="pandas")
    pd.testing.assert_index_equal(pipeline.predict(X).index, X.index)


def test_bad_containers(monkeypatch):
    with pytest.raises(ValueError, match=r"`transform='panda'` of set_output is not known; did you mean 'pandas'\?"):
        ChainClassifier().set_output(transform="panda")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="polars"):
        ChainClassifier().set_output(transform="polars")
