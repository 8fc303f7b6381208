"""Learning from the blocks of Dask collections: the same links as in memory."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from montechain import (
    AllOrders,
    ChainClassifier,
    ChainPopulationClassifier,
    LabelPowersetClassifier,
    LogisticLink,
    SVMLink,
)
from tests.dask_tables import blocks, make

pytestmark = pytest.mark.usefixtures("one_thread")
N = 400


def assert_same_links(found, expected, tol=1e-6):
    listed = [getattr(model, "chains_", None) or [model.chain_] for model in (found, expected)]
    for own, other in zip(*listed, strict=True):
        assert (own.order, own.parents) == (other.order, other.parents)
        for link, of in zip(own.links, other.links, strict=True):
            np.testing.assert_allclose(link.coef, of.coef, atol=tol)
            np.testing.assert_allclose(link.intercept, of.intercept, atol=tol)
            for a, b in zip(link.parent_effects, of.parent_effects, strict=True):
                np.testing.assert_allclose(a, b, atol=tol)


MODELS = {
    "chain": ChainClassifier(random_state=0),
    "far from the default": ChainClassifier(LogisticLink(C=30.0, parent_C=0.1, class_weight="balanced"), order=None),
    "independent": ChainClassifier(parents="none", order=None),
    "tree": ChainClassifier(parents="tree", order=None),
    "two parents": ChainClassifier(parents=2, order=None),
    "population": ChainPopulationClassifier(n_chains=3, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_classes", [(2, 2, 2), (2, 4, 3)], ids=["binary", "multi"])
def test_links_are_those_learned_in_memory(name, n_classes):
    X, Y = make(n_classes)
    model = MODELS[name]
    expected, found = clone(model).fit(X, Y), clone(model).fit(*blocks(X, Y))
    assert_same_links(found, expected)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.n_samples_seen_ == N


def test_larger_problems_begin_in_single_precision_and_end_in_double():
    X, Y = make(n_features=40, n=3000)
    expected, found = ChainClassifier(order=None).fit(X, Y), ChainClassifier(order=None).fit(*blocks(X, Y, rows=700))
    assert_same_links(found, expected, tol=3e-4)
    # The objective is what matters: the same to more than six digits.
    values = [objective(model, X, Y) for model in (found, expected)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)


def objective(model, X, Y):
    """Return the sum of all links' objectives, at C = 1."""
    penalty = sum(
        (link.coef**2).sum() + sum((own[1] ** 2).sum() for own in link.parent_effects) for link in model.chain_.links
    )
    return penalty / 2 - model.log_joint(X, Y).sum()


def test_weights_unknown_labels_and_unusual_columns():
    X, Y = make((2, 3, 2))
    rng = np.random.default_rng(1)
    X[:, 0] += 2000.0  # such as years
    X[:, 1] *= 1e13
    weight = rng.integers(0, 3, size=N).astype(float)
    unknown = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    expected = ChainClassifier(random_state=0).fit(X, unknown, sample_weight=weight)
    found = ChainClassifier(random_state=0).fit(*blocks(X, unknown), sample_weight=da.from_array(weight, chunks=150))
    assert_same_links(found, expected, tol=1e-5)
    # Weights and labels in memory will do if they fit there.
    again = ChainClassifier(random_state=0).fit(blocks(X)[0], unknown, sample_weight=weight)
    assert_same_links(again, found, tol=0.0)


def test_sparse_blocks():
    X, Y = make(n_features=20)
    X[np.abs(X) < 1.3] = 0.0
    lazy, labels = blocks(X, Y)
    expected = ChainClassifier(random_state=0).fit(sp.csr_array(X), Y)
    found = ChainClassifier(random_state=0).fit(lazy.map_blocks(sp.csr_array, dtype=float), labels)
    assert_same_links(found, expected)


def test_data_frames_with_words_as_classes():
    X, Y = make()
    frame = pd.DataFrame(X, columns=list("abcde"), index=np.arange(N) * 2)
    labels = pd.DataFrame(
        {"u": np.array(["x", "y"])[Y[:, 0]], "v": pd.Categorical(Y[:, 1]), "w": Y[:, 2]}, index=frame.index
    )
    labels.iloc[:100, 0] = "x"  # no block of its own has all classes
    expected = ChainClassifier(order=["w", "u", "v"]).fit(frame, labels)
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = [dd.from_pandas(own, npartitions=4) for own in (frame, labels)]
        found = ChainClassifier(order=["w", "u", "v"]).fit(*lazy)
    assert_same_links(found, expected)
    assert found.feature_names_in_.tolist() == list("abcde")
    assert found.target_names_ == ["u", "v", "w"]
    for own, other in zip(found.classes_, expected.classes_, strict=True):
        np.testing.assert_array_equal(own, other)
    pd.testing.assert_frame_equal(found.predict(frame), expected.predict(frame))


def test_a_class_and_a_block_without_weight_and_a_label_with_one_class():
    X, Y = make((2, 3, 2))
    Y[:, 2] = 1
    weight = np.where(Y[:, 1] == 2, 0.0, 1.0)
    weight[150:300] = 0.0  # all of a block
    expected = ChainClassifier(order=None).fit(X, Y, sample_weight=weight)
    found = ChainClassifier(order=None).fit(*blocks(X, Y), sample_weight=weight)
    assert_same_links(found, expected)


def test_rows_that_a_cluster_keeps_are_not_changed(monkeypatch):
    monkeypatch.setattr("montechain.links.row_blocks._has_cluster", lambda: True)
    X, Y = make((3,))
    weight = np.where(Y[:, 0] == 1, 0.0, 1.0)
    expected = ChainClassifier().fit(X, Y, sample_weight=weight)
    assert_same_links(ChainClassifier().fit(*blocks(X, Y), sample_weight=weight), expected)


def test_what_cannot_learn_from_blocks_says_what_to_do():
    lazy = blocks(*make())
    with pytest.raises(TypeError, match=r"LabelPowersetClassifier learns from rows in memory.*ChainClassifier\(\)"):
        LabelPowersetClassifier().fit(*lazy)
    with pytest.raises(TypeError, match=r"leave it out, or use LogisticLink\(\)"):
        ChainClassifier(SVMLink()).fit(*lazy)
    with pytest.raises(TypeError, match="Fit to a sample first, and give the order"):
        ChainClassifier(order=AllOrders()).fit(*lazy)
    with pytest.raises(TypeError, match="bootstrapping take rows in memory"):
        ChainPopulationClassifier(bootstrap=True).fit(*lazy)
    with pytest.raises(TypeError, match="takes no fit parameters"):
        ChainClassifier().fit(*lazy, extra=1)


def test_bad_blocks_are_refused_and_leave_the_model_as_it_was():
    X, Y = make()
    model = ChainClassifier(order=None).fit(X, Y)
    before = model.predict(X)
    bad = X.copy()
    bad[N // 2, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(*blocks(bad, Y))
    with pytest.raises(ValueError, match="column 1 of y is all unknown"):
        model.fit(*blocks(X, np.where([True, False, True], Y, np.nan)))
    with pytest.raises(ValueError, match="`sample_weight` is zero everywhere"):
        model.fit(*blocks(X, Y), sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match="the blocks of `y` are not those of `X`"):
        model.fit(blocks(X)[0], blocks(Y[1:])[0])
    np.testing.assert_array_equal(model.predict(X), before)
