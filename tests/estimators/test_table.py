"""Encoder and classifier in one: the same answers as the two by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from montechain import Beam, ChainClassifier, ChainPopulationClassifier, metrics, recipe
from montechain.estimators.table import TableClassifier
from montechain.preparation import TableEncoder

SEEDED = ChainClassifier(random_state=0)


def make_table():
    rng = np.random.default_rng(0)
    n = 160
    X = pd.DataFrame(
        {
            "identity": [f"row {i}" for i in range(n)],
            "length": rng.normal(1000, 300, n),
            "river": rng.choice(["A", "M", "O"], n),
            "opened": pd.to_datetime("1900-01-01") + pd.to_timedelta(rng.integers(0, 9999, n), unit="D"),
        },
        index=np.arange(n) + 500,
    )
    is_long = X["length"] + 400 * (X["river"] == "A") > 1200
    material = np.where(is_long, "steel", np.where(X["river"] == "M", "wood", "iron"))
    lanes = np.where((material == "steel") ^ (rng.random(n) < 0.1), 4, 2)
    X.loc[X.index[::7], "length"] = np.nan
    return X, pd.DataFrame({"material": pd.Categorical(material), "lanes": lanes, "toll": lanes > 2}, index=X.index)


X, Y = make_table()
ENCODER = TableEncoder(drop=["identity"])


def table(classifier=None):
    return TableClassifier(classifier, encoder=clone(ENCODER))


CLASSIFIERS = [
    SEEDED,
    ChainClassifier(LogisticRegression(), order=None, loss="hamming"),
    ChainClassifier(DecisionTreeClassifier(max_depth=4, random_state=0), order=None),
    ChainPopulationClassifier(n_chains=3, random_state=0),
    make_pipeline(StandardScaler(), SEEDED),
    RandomForestClassifier(n_estimators=10, random_state=0),
    MultiOutputClassifier(LogisticRegression()),
    KNeighborsClassifier(),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def test_predictions_are_frames_in_the_users_classes(classifier):
    model = table(classifier).fit(X, Y)
    predicted = model.predict(X)
    assert predicted.columns.tolist() == Y.columns.tolist()
    assert predicted.dtypes.tolist() == Y.dtypes.tolist()
    pd.testing.assert_index_equal(predicted.index, X.index)
    assert [classes.tolist() for classes in model.classes_] == [["iron", "steel", "wood"], [2, 4], [False, True]]
    assert model.target_names_ == Y.columns.tolist()
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert model.n_features_in_ == X.shape[1]
    assert model.score(X, Y) == metrics.exact_match(Y, predicted) > 0.5
    marginals = model.predict_proba(X)
    assert [marginal.shape for marginal in marginals] == [(len(X), 3), (len(X), 2), (len(X), 2)]
    for marginal in marginals:
        np.testing.assert_allclose(marginal.sum(axis=1), 1.0)


def test_the_same_as_encoder_and_classifier_by_hand():
    model = table(SEEDED).fit(X, Y)
    encoded = clone(ENCODER).fit_transform(X)
    chain = clone(SEEDED).fit(encoded, Y)
    known = Y[["lanes"]].copy()
    known.iloc[::2] = 4
    for given in (None, known):
        predicted = chain.predict(encoded, given=given).set_index(X.index)
        pd.testing.assert_frame_equal(model.predict(X, given=given), predicted)
        decision, expected = model.decide(X, given=given), chain.decide(encoded, given=given)
        pd.testing.assert_frame_equal(decision.labels, predicted)
        np.testing.assert_array_equal(decision.log_proba, expected.log_proba)
        marginals = model.predict_proba(X, given=given)
        np.testing.assert_array_equal(np.hstack(marginals), np.hstack(chain.predict_proba(encoded, given=given)))
        found = model.predict_marginals(X, given=given)
        np.testing.assert_array_equal(found.error_bound, chain.predict_marginals(encoded, given=given).error_bound)
        top = model.predict_top_k(X, k=3, given=given)
        np.testing.assert_array_equal(top.labels, chain.predict_top_k(encoded, 3, given=given).labels)
        np.testing.assert_array_equal(
            model.sample(X, n_samples=5, given=given), chain.sample(encoded, n_samples=5, given=given)
        )
    np.testing.assert_array_equal(model.log_joint(X, Y), chain.log_joint(encoded, Y))
    assert model.score(X, Y) == chain.score(encoded, Y)


def test_one_column_of_probabilities_per_label_becomes_a_list():
    model = table(ClassifierChain(LogisticRegression())).fit(X, Y[["lanes", "toll"]])
    first, second = model.predict_proba(X)
    assert first.shape == second.shape == (len(X), 2)
    chosen = model.predict(X)
    np.testing.assert_array_equal(chosen["lanes"], np.where(first[:, 1] > 0.5, 4, 2))


def test_a_single_target():
    for classifier in (SEEDED, RandomForestClassifier(n_estimators=5, random_state=0)):
        model = table(classifier)
        one_dimensional = model.fit(X, Y["material"].to_numpy()).predict(X)
        assert one_dimensional.shape == (len(X),)
        assert model.predict_proba(X).shape == (len(X), 3)
        framed = model.fit(X, Y[["material"]]).predict(X)
        assert framed.columns.tolist() == ["material"]
        assert [marginal.shape for marginal in model.predict_proba(X)] == [(len(X), 3)]
        np.testing.assert_array_equal(framed["material"].to_numpy(), one_dimensional)


def test_only_methods_that_the_classifier_has():
    of_chain, of_forest = TableClassifier(), TableClassifier(RandomForestClassifier())
    for method in ("decide", "predict_top_k", "log_joint", "sample", "predict_proba"):
        assert hasattr(of_chain, method)
        assert hasattr(of_forest, method) == (method == "predict_proba")
    assert not hasattr(TableClassifier(MultiOutputClassifier(DecisionTreeClassifier())), "decide")


def test_encodings_that_the_classifier_takes():
    tree = ChainClassifier(DecisionTreeClassifier(), order=None)
    for encoder in (None, TableEncoder(drop="identity")):
        taking = TableClassifier(tree, encoder=encoder).fit(X, Y)
        assert np.isnan(taking.encoder_.transform(X)).any()
        assert taking.score(X, Y) > 0.8
    for encoder in (
        TableEncoder(missing="impute"),
        TableEncoder(text="identity"),
    ):  # sparse containers must not hold NaN
        filling = TableClassifier(tree, encoder=encoder).fit(X, Y)
        assert not np.isnan(filling.encoder_.transform(X).sum())
    assert not np.isnan(TableClassifier(SEEDED).fit(X, Y).encoder_.transform(X)).any()
    words = X.assign(identity=X["identity"].str.replace("row", "bridge number"))
    for classifier in (SEEDED, ChainClassifier(GaussianNB(), order=None)):  # the second takes no sparse containers
        model = TableClassifier(classifier, encoder=TableEncoder(text="identity")).fit(words, Y)
        assert model.encoder_.is_sparse_
        assert model.predict(words).shape == Y.shape


@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_containers_reach_the_classifier_with_their_gaps_filled(container):
    gaps = np.array([[0.0, 2.0], [np.nan, np.nan], [0.0, 4.0], [5.0, 9.0]] * 10)
    filled = np.where(np.isnan(gaps), [0.0, 4.0], gaps)
    labels = (filled > 1).astype(int)
    model = TableClassifier(SEEDED).fit(container(gaps), labels)
    direct = clone(SEEDED).fit(sp.csr_array(filled), labels)
    for X in (container(gaps), gaps):
        np.testing.assert_allclose(model.log_joint(X, labels), direct.log_joint(filled, labels))


def test_unknown_labels():
    partly = Y.assign(lanes=Y["lanes"].astype("Int64").where(np.arange(len(Y)) % 3 > 0))
    for classifier in (SEEDED, make_pipeline(StandardScaler(), SEEDED)):
        assert table(classifier).fit(X, partly).predict(X)["lanes"].isin([2, 4]).all()
    marked = Y["lanes"].to_numpy(dtype=float).reshape(-1, 1).repeat(2, axis=1)
    marked[::3, 0] = np.nan
    own = table(ChainClassifier(random_state=0)).fit(X, marked)
    assert [classes.tolist() for classes in own.classes_] == [[2, 4], [2, 4]]
    with pytest.raises(ValueError, match=r"(?s)NaN.*use TableClassifier\(ChainClassifier\(KNeighborsClassifier\(\)\)"):
        table(KNeighborsClassifier()).fit(X, partly)


def test_columns_in_another_order_and_in_polars():
    model = table(SEEDED).fit(X, Y)
    expected = model.predict(X)
    pd.testing.assert_frame_equal(model.predict(X[X.columns[::-1]].drop(columns="identity")), expected)
    in_polars = pl.DataFrame({name: X[name].tolist() for name in X}).with_columns(pl.col("length").fill_nan(None))
    np.testing.assert_array_equal(model.predict(in_polars).to_numpy(), expected.to_numpy())


def test_grid_search_reaches_through():
    model = table(ChainClassifier(inference=Beam(), random_state=0))
    # Not cv=2: scikit-learn would then compare the targets' classes with each other, words with numbers.
    grid = {"classifier__inference__width": [1, 2], "encoder__max_categories": [2, 100]}
    search = GridSearchCV(model, grid, cv=KFold(2)).fit(X, Y)
    assert search.best_estimator_.classifier_.inference.width == search.best_params_["classifier__inference__width"]
    assert search.predict(X).index.equals(X.index)
    inner = TableClassifier(GridSearchCV(ChainClassifier(inference=Beam()), {"inference__width": [1, 2]}, cv=KFold(2)))
    assert inner.fit(X.drop(columns="identity"), Y).predict(X).dtypes.tolist() == Y.dtypes.tolist()
    assert cross_val_score(model, X, Y, cv=KFold(2)).min() > 0.4
    default = clone(TableClassifier().set_params(classifier__loss="hamming", encoder__drop="identity"))
    assert default.get_params().items() >= {"classifier__loss": "hamming", "encoder__drop": "identity"}.items()


def test_weights_reach_the_classifier(monkeypatch):
    monkeypatch.setattr(recipe, "N_TREES", 12)
    monkeypatch.setattr(recipe, "BOOSTING_PLANS", ((6, 2, 60.0),))
    weight = np.linspace(0.1, 2.0, len(X))
    encoded = clone(ENCODER).fit_transform(X)
    expected = clone(SEEDED).fit(encoded, Y, sample_weight=weight).log_joint(encoded, Y)
    direct = table(SEEDED).fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(direct.log_joint(X, Y), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = clone(SEEDED).set_fit_request(sample_weight=True)
        routed = table(requesting).fit(X, Y, sample_weight=weight)
        default = table().fit(X, Y, sample_weight=weight)
        assert default.predict(X).shape == Y.shape
    np.testing.assert_array_equal(routed.log_joint(X, Y), expected)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier.fit does not take it"):
        table(KNeighborsClassifier()).fit(X, Y, sample_weight=weight)


def test_notes_about_columns_and_targets():
    strange = Y.assign(single="a", name=X["identity"], day=["2024-01-01", "2024-02-01"] * 80)
    model = TableClassifier(SEEDED).fit(X, strange.assign(day=pd.to_datetime(strange["day"])))
    assert model.notes_ == [
        "column 'identity' looks like an identifier (160 different values in 160 rows) and is left out.",
        "target 'single' has only one class, 'a', which is predicted for every row.",
        "target 'name' has 160 classes in 160 rows: with so few rows for each class, expect poor predictions.",
    ]
    assert table(SEEDED).fit(X, Y).notes_ == []


def test_tags_that_another_sign_seems_to_separate_get_a_note():
    tags = pd.DataFrame({"genres": ["jazz,folk", "pop", "jazz,rock", "folk,pop"] * 40})
    model = TableClassifier(SEEDED, tags="genres").fit(X, tags)
    said = "most tags of 'genres' contain ',', such as 'folk,pop'. If it separates them, use separator=','."
    assert said in model.notes_
    assert said not in TableClassifier(SEEDED, tags="genres", separator=",").fit(X, tags).notes_


@pytest.mark.parametrize("as_objects", [False, True])
def test_targets_that_are_dates_are_refused(as_objects):
    day = X["opened"].dt.date if as_objects else X["opened"]
    with pytest.raises(ValueError, match=r"target 'day' holds \d+ different dates.* convert it to strings"):
        TableClassifier(SEEDED).fit(X, Y.assign(day=day))
    model = TableClassifier(SEEDED).fit(X, Y.assign(day=X["opened"].astype(str)))
    assert "target 'day' has" in model.notes_[-1]
