"""ChainClassifier: every kind of table in, the user's own classes out, and each public method."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from montechain import BranchAndBound, ChainClassifier, ChainPopulationClassifier, LogisticLink, MonteCarlo
from montechain.errors import EstimateWarning


def make_bridges(n=160, seed=0):
    """Return a table of strings, categories and numbers that depend on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    material = np.array(["iron", "steel", "wood"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])]
    span = (X[:, 1] + (material == "steel") + 0.5 * rng.normal(size=n) > 0.5).astype(int)
    lanes = np.clip(np.round(2 + X[:, 2] + span), 1, 4).astype(int)
    return X, pd.DataFrame({"material": pd.Categorical(material), "span": span, "lanes": lanes})


def test_a_search_takes_unknown_labels(bridges):
    X, Y = bridges
    codes = np.column_stack([np.unique(Y[c], return_inverse=True)[1] for c in Y]).astype(float)
    codes[::5, 0] = np.nan
    # With cv=2, scikit-learn itself would look at y, and refuse NaN.
    search = GridSearchCV(ChainClassifier(random_state=0), {"parents": ["all", "none"]}, cv=KFold(2)).fit(X, codes)
    assert search.best_score_ > 0.3


def test_a_column_transformer_inside_the_link_sees_the_column_names(bridges):
    X, Y = bridges
    for frame in (
        pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "big", "small")}),
        pl.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "big", "small")}),
    ):
        # Older versions of scikit-learn cannot join a sparse part with one of polars.
        encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough")
        link = make_pipeline(encoder, LogisticRegression())
        model = ChainClassifier(link, order=["material", "span", "lanes"]).fit(frame, Y)
        assert model.chain_.links[2].names == ["material=0", "material=1", "material=2", "span"]
        assert model.score(frame, Y) > 0.2


def test_samples_of_different_rows_are_independent(binary):
    X, Y = binary
    model = ChainClassifier(random_state=0).fit(X, Y)
    same = np.repeat(X[:1], 2, axis=0)
    draws = model.sample(same, 50)
    assert (draws[0] != draws[1]).any()


def test_order_and_parents_are_as_asked(bridges):
    X, Y = bridges
    model = ChainClassifier(order=["lanes", "material", "span"]).fit(X, Y)
    assert model.order_.tolist() == [2, 0, 1]
    assert model.parents_ == [(2,), (0, 2), ()]
    model = ChainClassifier(parents={"span": ["lanes"]}, order=None).fit(X, Y)
    assert model.parents_ == [(), (2,), ()]
    assert model.order_.tolist().index(2) < model.order_.tolist().index(1)
    assert sorted(ChainClassifier(random_state=1).fit(X, Y).order_) == [0, 1, 2]
    tree = ChainClassifier(parents="tree", random_state=0).fit(X, Y)
    assert sorted(map(len, tree.parents_)) == [0, 1, 1]


def test_class_weight_by_the_users_classes(bridges):
    X, Y = bridges
    plain = ChainClassifier(parents="none").fit(X, Y[["material"]])
    heavy = ChainClassifier(LogisticLink(class_weight={"wood": 20.0}), parents="none").fit(X, Y[["material"]])
    assert heavy.predict_proba(X)[0][:, 2].mean() > plain.predict_proba(X)[0][:, 2].mean() + 0.05


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_frame_for_a_linear_classifier_holds_numbers(binary, value):
    X, Y = binary
    frame = pd.DataFrame(X.copy(), columns=[f"x{j}" for j in range(X.shape[1])])
    model = ChainClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(frame, Y)
    frame.iloc[0, 0] = value
    with pytest.raises(ValueError, match="X contains"):
        model.predict(frame)


@pytest.mark.parametrize("loss", ["hamming", "f1"])
def test_rows_without_knowledge_do_not_depend_on_those_with_some(binary, loss):
    X, Y = binary
    model = ChainClassifier(inference=MonteCarlo(n_samples=10), loss=loss, random_state=0).fit(X, Y)
    known = np.full(Y.shape, np.nan)
    known[0] = Y[0]
    np.testing.assert_array_equal(model.predict(X, given=known)[1:], model.predict(X)[1:])


def test_draws_of_many_rows_are_not_held_together():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 3)), (rng.random((2000, 12)) < 0.4).astype(int)
    model = ChainClassifier(inference="monte_carlo", loss="hamming", random_state=0).fit(X, Y)
    known = np.full(Y.shape, np.nan)
    known[:, 0] = 1
    # All at once, they would take twice as much.
    for limit, ask in (
        (40e6, model.predict),
        (120e6, lambda X: model.sample(X, 1, given=known[: len(X)])),
        (40e6, lambda X: model.set_params(inference="branch_and_bound").predict(X)),
    ):
        ask(X[:2])  # compiled before memory is looked at
        tracemalloc.start()
        ask(X)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < limit


def test_marginals_whose_budget_ends_are_marked_and_bounded():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, [0]] + rng.normal(size=(60, 12)) > 0).astype(int)
    for make in (ChainClassifier, ChainPopulationClassifier):
        model = make(inference=BranchAndBound(max_nodes=3, residual=0.001), random_state=0).fit(X, Y)
        with pytest.warns(EstimateWarning, match=r"probabilities of \d+ of 60 rows are estimates.* raise `max_nodes`"):
            proba = model.predict_proba(X)
        found = model.predict_marginals(X)
        exact = model.set_params(inference=BranchAndBound(residual=0.0, max_nodes=10**6)).predict_marginals(X)
        assert found.estimated.any()
        assert (found.error_bound[found.estimated] > 0.001).all()
        assert not exact.estimated.any()
        assert (exact.error_bound < 1e-6).all()
        for label in range(12):
            np.testing.assert_array_equal(proba[label], found.proba[label])
            error = np.abs(found.proba[label] - exact.proba[label]).max(axis=1)
            assert (error <= found.error_bound + 1e-9).all()
        # This strategy always draws, so it does not warn.
        model.set_params(inference="monte_carlo").predict_proba(X)
        assert model.predict_marginals(X).estimated.any()


def test_a_class_never_seen_is_improbable_not_an_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    Y = np.column_stack([X[:, 0] > 0, np.zeros(50)]).astype(int)
    model = ChainClassifier(random_state=0).fit(X, Y)
    new = np.column_stack([Y[:, 0], np.ones(50, dtype=int)])
    np.testing.assert_allclose(model.log_joint(X, new), model.log_joint(X, Y) - np.log(101.0))
