"""Saved models load again, even in another process, and give the same answers in the same types."""

import functools
import importlib
import inspect
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import montechain
from command import run_program
from montechain import Beam, ChainClassifier, ChainPopulationClassifier
from montechain._savable import is_savable
from montechain.errors import ModelFileError
from montechain.estimators.table import TableClassifier
from montechain.persistence import describe, load, save
from montechain.preparation import TableEncoder
from tests.saved_models import data, fitted, table, unfitted

UNFITTED = dict(unfitted())


def assert_same_answers(one, other, X):
    """Labels are the same, and probabilities to the last bit."""
    for method in ("decide", "predict_proba", "predict"):
        if not hasattr(one, method):
            continue
        answers = [getattr(model, method)(X) for model in (one, other)]
        if method == "decide":
            np.testing.assert_array_equal(answers[0].log_proba, answers[1].log_proba)
            answers = [answer.labels for answer in answers]
        if method == "predict_proba":
            answers = [np.hstack(answer) for answer in answers]
        np.testing.assert_array_equal(*map(np.asarray, answers))


@pytest.mark.parametrize("name", UNFITTED)
def test_every_kind_of_model_comes_back(name, tmp_path):
    model = fitted(UNFITTED[name])
    X, Y = data()
    save(model, tmp_path / "model.mchain")
    same = load(tmp_path / "model.mchain")
    save(same, tmp_path / "again.mchain")
    assert (tmp_path / "again.mchain").read_bytes() == (tmp_path / "model.mchain").read_bytes()
    assert type(same) is type(model)
    assert vars(same).keys() == vars(model).keys()
    if name == "random state":  # it restarts
        assert same.random_state.randint(2**31) == np.random.RandomState(0).randint(2**31)
        return
    assert repr(same) == repr(model)
    assert_same_answers(model, same, X)
    if hasattr(model, "log_joint"):
        np.testing.assert_array_equal(model.log_joint(X, Y), same.log_joint(X, Y))
    for attribute in ("search_trace_", "parents_"):
        assert getattr(same, attribute, None) == getattr(model, attribute, None)
    if isinstance(same, ChainClassifier):
        given = np.full(Y.shape, np.nan)
        given[:, 1] = Y[:, 1]
        np.testing.assert_array_equal(model.predict(X, given=given), same.predict(X, given=given))


@pytest.mark.parametrize("name", ["order None", "combine mixture", "network", "estimator RandomForest", "forest"])
def test_joblib_works_as_well(name, tmp_path):
    joblib.dump(fitted(UNFITTED[name]), tmp_path / "model.joblib", compress=3)
    assert_same_answers(fitted(UNFITTED[name]), joblib.load(tmp_path / "model.joblib"), data()[0])


def test_another_process_answers_the_same_and_saves_the_same_bytes(tmp_path):
    X, _ = data()
    names = ["order None", "combine mixture", "network", "powerset", "forest", "estimator RandomForest"]
    for i, name in enumerate(names):
        save(fitted(UNFITTED[name]), tmp_path / f"{i}.mchain")
    inputs, targets = table()
    whole = TableClassifier(ChainClassifier(random_state=0)).fit(inputs, targets)
    save(whole, tmp_path / "table.mchain")
    inputs.to_pickle(tmp_path / "inputs.pkl")
    np.save(tmp_path / "X.npy", X)
    code = """
import sys, numpy as np, pandas as pd
from pathlib import Path
from montechain.persistence import load, save
folder = Path(sys.argv[1])
X = np.load(folder / "X.npy")
for path in sorted(folder.glob("[0-9]*.mchain")):
    model = load(path)
    save(model, path.with_suffix(".again"))
    np.savez(path.with_suffix(".npz"), labels=model.predict(X), proba=np.hstack(model.predict_proba(X)))
load(folder / "table.mchain").predict(pd.read_pickle(folder / "inputs.pkl")).to_pickle(folder / "answer.pkl")
"""
    run_program(code, tmp_path, PYTHONHASHSEED="1")
    for i, name in enumerate(names):
        model = fitted(UNFITTED[name])
        assert (tmp_path / f"{i}.again").read_bytes() == (tmp_path / f"{i}.mchain").read_bytes()
        with np.load(tmp_path / f"{i}.npz") as answer:
            np.testing.assert_array_equal(model.predict(X), answer["labels"])
            np.testing.assert_array_equal(np.hstack(model.predict_proba(X)), answer["proba"])
    pd.testing.assert_frame_equal(pd.read_pickle(tmp_path / "answer.pkl"), whole.predict(inputs))


def round_trip(model, tmp_path):
    save(model, tmp_path / "model.mchain")
    return load(tmp_path / "model.mchain")


@pytest.mark.parametrize("options", [{}, {"text": ("remarks",)}, {"max_categories": 2}])
@pytest.mark.parametrize("link", [None, RandomForestClassifier(2, max_depth=3)])
def test_a_table_comes_back_with_its_types(options, link, tmp_path):
    inputs, targets = table()
    chain = ChainClassifier(link, random_state=0, inference=Beam(width=2))
    model = TableClassifier(chain, encoder=TableEncoder(**options)).fit(inputs, targets)
    same = round_trip(model, tmp_path)
    answer = same.predict(inputs)
    pd.testing.assert_frame_equal(answer, model.predict(inputs))
    assert answer.dtypes.tolist() == targets.dtypes.tolist()
    assert answer["kind"].cat.categories.tolist() == ["low", "mid", "high"]
    assert answer["kind"].cat.ordered
    assert same.encoder_.get_feature_names_out().tolist() == model.encoder_.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "column",
    [
        *(pd.Series(["a", "b"] * 30, dtype=dtype) for dtype in (None, "string", object)),
        *(pd.Series([1, 2] * 30, dtype=dtype) for dtype in ("Int8", "uint16", "int32[pyarrow]", "float32")),
        *(pd.Series([True, False] * 30, dtype=dtype) for dtype in ("bool", "boolean")),
        pd.Series(pd.Categorical(["b", "a"] * 30, categories=["b", "a", "c"])),
        pd.Series(pd.Categorical([3, 1] * 30, categories=[3, 2, 1], ordered=True)),
        *(pd.Series(cells * 30).astype("category") for cells in ([True, False], [1.0, 2.0])),
        pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01"] * 30))),
        pd.Series(pd.Categorical(["a", 1] * 30, categories=["a", 1])),
        pd.Series(np.array(["2020-01-01", "2021-01-01"] * 30, dtype="datetime64[s]")),
        *(pl.Series(["a", "b"] * 30, dtype=dtype) for dtype in (pl.String, pl.Categorical, pl.Enum(["b", "c", "a"]))),
        *(pl.Series([1, 0] * 30).cast(dtype) for dtype in (pl.Int8, pl.UInt64, pl.Boolean)),
    ],
    ids=lambda column: f"{type(column).__module__} {column.dtype}",
)
def test_types_of_columns_come_back(column, tmp_path):
    X, Y = data()
    make = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
    targets = make({"one": column, "two": Y[:, 1]})
    model = ChainClassifier(order=None).fit(X, targets)
    answer = round_trip(model, tmp_path).predict(X)
    assert answer.equals(model.predict(X))
    assert type(answer) is type(targets)
    if make is pd.DataFrame:
        assert answer.dtypes.tolist() == targets.dtypes.tolist()
    else:
        assert answer.schema == targets.schema
    series = ChainClassifier().fit(X, column)
    np.testing.assert_array_equal(round_trip(series, tmp_path).predict(X), series.predict(X))


def test_a_type_without_a_name_is_left_to_the_library(tmp_path):
    words = pd.Series(["a", "b"] * 30, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    X, Y = data()
    model = ChainClassifier(order=None).fit(X, pd.DataFrame({"one": words, "two": Y[:, 1]}))
    loaded, expected = round_trip(model, tmp_path).predict(X), model.predict(X)
    assert loaded["two"].equals(expected["two"])
    assert loaded["one"].tolist() == expected["one"].tolist()


def test_unknown_cells_names_and_sparse_inputs(tmp_path):
    X, Y = data()
    targets = pd.DataFrame(Y, columns=pd.Index(["a", ("b", 1), 3], tupleize_cols=False)).astype(object)
    targets.iloc[0, 0] = None
    model = ChainClassifier(RandomForestClassifier(2), random_state=0).fit(sp.csr_array(X), targets)
    same = round_trip(model, tmp_path)
    assert same.target_names_ == ["a", ("b", 1), 3]
    pd.testing.assert_frame_equal(same.predict(sp.csr_array(X)), model.predict(sp.csr_array(X)))


def module_level_loss(y, y_hat):
    return float((y != y_hat).mean())


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (lambda y, y_hat: 0.0, "this ChainClassifier cannot be saved .*joblib.dump"),
        (functools.partial(module_level_loss), r"functools.partial.*module_level_loss"),
    ],
)
def test_functions_that_have_no_name_are_refused(loss, message, tmp_path):
    X, Y = data()
    with pytest.raises(TypeError, match=message):
        save(ChainClassifier(loss=loss).fit(X, Y), tmp_path / "model.mchain")
    assert list(tmp_path.iterdir()) == []


NEIGHBORS = "sklearn.neighbors._classification.KNeighborsClassifier"


class OwnClassifier(GaussianNB):
    """A classifier of another package."""


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"loss": module_level_loss}, [f"{__name__}.module_level_loss"]),
        ({"estimator": OwnClassifier()}, [f"{__name__}.OwnClassifier"]),
        ({"estimator": CalibratedClassifierCV(SVC(), cv=2)}, ["sklearn.svm._classes.SVC"]),
        ({"estimator": KNeighborsClassifier(algorithm="brute")}, [NEIGHBORS]),
    ],
)
def test_what_is_trusted_by_name(options, names, tmp_path):
    """Functions and classes of others, and compiled parts of scikit-learn that are not checked."""
    X, Y = data()
    path = tmp_path / "model.mchain"
    model = ChainClassifier(**options, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match=rf"{names[0]}.* which load\(\) does not trust by itself"):
        save(model, path)
    save(model, path, allow_untrusted=True)
    assert describe(path)["untrusted"] == names
    for trusted in ([], ["os.system"]):
        with pytest.raises(ModelFileError, match=rf"types that are not trusted: .*{names[0]}.*load\(path, trusted="):
            load(path, trusted=trusted)
    np.testing.assert_array_equal(load(path, trusted=names).predict(X), model.predict(X))


def test_a_grid_search_is_saved_by_its_best_estimator(tmp_path):
    X, Y = data()
    search = GridSearchCV(ChainClassifier(random_state=0), {"parents": ["none", "all"]}, cv=2).fit(X, Y)
    with pytest.raises(TypeError, match=r"use save\(model\.best_estimator_, path\)"):
        save(search, tmp_path / "model.mchain")
    save(search.best_estimator_, tmp_path / "model.mchain")


def test_wrong_arguments(tmp_path):
    path = tmp_path / "x.mchain"
    for model in (ChainClassifier(), ChainPopulationClassifier(), TableClassifier()):
        with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
            save(model, path)
    with pytest.raises(TypeError, match="is not an estimator"):
        save({"a": 1}, path)
    for about in ({"rows": np.arange(3)}, ["rows"], {"rows": float("nan")}):
        with pytest.raises((TypeError, ValueError)):
            save(fitted(UNFITTED["order None"]), path, about=about)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def classes_of_the_package() -> list[type]:
    root = Path(montechain.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in ("cli", "evaluation", "__main__"):  # these use models and hold none
            name = ".".join(["montechain", *(part for part in parts if part != "__init__")])
            members = vars(importlib.import_module(name)).values()
            found += [member for member in members if inspect.isclass(member) and member.__module__ == name]
    return found


def test_every_public_estimator_is_savable_and_only_plain_classes_are():
    savable = {cls for cls in classes_of_the_package() if is_savable(cls)}
    public = [getattr(montechain, name) for name in montechain.__all__]
    assert savable.issuperset(cls for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator))
    assert montechain.chain.Chain in savable
    for cls in savable:
        # The objects that are built must not be callable.
        assert not any("__call__" in vars(base) for base in cls.__mro__), cls
