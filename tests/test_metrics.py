"""Metrics agree with scikit-learn where it has them, with plain loops elsewhere, and ignore unknown labels."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from montechain import ChainClassifier
from montechain.metrics import (
    SCORERS,
    exact_match,
    f1_score,
    hamming_score,
    jaccard_score,
    joint_log_loss,
    set_calibration_error,
)
from tests.reference import metrics as reference

AVERAGES = {"instance": "samples", "micro": "micro", "macro": "macro"}


def binary(seed, n_rows=12, n_labels=4):
    rng = np.random.default_rng(seed)
    Y_true, Y_pred = (rng.integers(0, 2, (n_rows, n_labels)) * (rng.random((n_rows, 1)) < 0.8) for _ in range(2))
    # Both classes occur in every column: scikit-learn knows that 1 is the relevant one, we look.
    Y_true[0], Y_true[1] = 0, 1
    return Y_true, Y_pred, rng.random(n_rows) + 0.1


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_binary_labels_agree_with_scikit_learn(seed, weighted):
    Y_true, Y_pred, weight = binary(seed)
    options = {"sample_weight": weight if weighted else None}
    exact = sklearn.metrics.accuracy_score(Y_true, Y_pred, **options)
    assert exact_match(Y_true, Y_pred, **options) == pytest.approx(exact)
    loss = sklearn.metrics.hamming_loss(Y_true, Y_pred, **options)
    assert hamming_score(Y_true, Y_pred, **options) == pytest.approx(1 - loss)
    for average, theirs in AVERAGES.items():
        for ours, their_function in ((f1_score, "f1_score"), (jaccard_score, "jaccard_score")):
            expected = getattr(sklearn.metrics, their_function)(
                Y_true, Y_pred, average=theirs, zero_division=1.0, **options
            )
            result = ours(Y_true, Y_pred, average=average, **options)
            assert result == pytest.approx(expected), (their_function, average)


CLASSES = [["none", "red", "tan"], [0, 1], [7, 8, 9], [False, True]]
NEGATIVE = ["none", 0, 8, False]


def draw_table(rng, n_rows, unknown_share):
    table = [[c[rng.integers(len(c))] for c in CLASSES] for _ in range(n_rows)]
    return [[None if rng.random() < unknown_share else cell for cell in row] for row in table]


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 12),
    unknown_share=st.sampled_from([0.0, 0.3, 0.9]),
    kind=st.sampled_from(["list", "object", "pandas", "polars", "codes"]),
)
def test_classes_of_any_kind_agree_with_loops(seed, n_rows, unknown_share, kind):
    rng = np.random.default_rng(seed)
    Y_true, Y_pred = draw_table(rng, n_rows, unknown_share), draw_table(rng, n_rows, 0.0)
    Y_true[0] = [c[0] for c in CLASSES]
    weight = rng.random(n_rows) + 0.1
    negative = list(NEGATIVE)
    given_true, given_pred = Y_true, Y_pred
    if kind == "object":
        given_true, given_pred = np.array(Y_true, dtype=object), np.array(Y_pred, dtype=object)
    elif kind == "pandas":
        given_true, given_pred = pd.DataFrame(Y_true), pd.DataFrame(Y_pred)
        given_true[0] = given_true[0].astype("category")
    elif kind == "polars":
        given_true, given_pred = (pl.DataFrame(Y, schema=list("abcd"), orient="row") for Y in (Y_true, Y_pred))
    elif kind == "codes":
        given_true, given_pred = (
            np.array([[np.nan if v is None else c.index(v) for v, c in zip(row, CLASSES, strict=True)] for row in Y])
            for Y in (Y_true, Y_pred)
        )
        negative = [c.index(v) for v, c in zip(NEGATIVE, CLASSES, strict=True)]
    options = {"sample_weight": weight}
    for ours, theirs in ((exact_match, reference.exact_match), (hamming_score, reference.hamming_score)):
        assert ours(given_true, given_pred, **options) == pytest.approx(theirs(Y_true, Y_pred, weight))
    for average in AVERAGES:
        for ours, measure in ((f1_score, reference.f1), (jaccard_score, reference.jaccard)):
            expected = reference.set_score(measure, average, Y_true, Y_pred, weight, NEGATIVE)
            result = ours(given_true, given_pred, average=average, negative=negative, **options)
            assert result == pytest.approx(expected), (ours.__name__, average)


def test_all_shapes_of_input_mean_the_same():
    Y_true, Y_pred, _ = binary(5)
    expected = f1_score(Y_true, Y_pred)
    kinds = sp.csr_matrix, sp.csc_array, np.asfortranarray, pd.DataFrame, np.ndarray.tolist
    for convert in (*kinds, lambda Y: Y.astype(float)):
        assert f1_score(convert(Y_true), convert(Y_pred)) == expected
        assert f1_score(convert(Y_true), Y_pred) == expected
    assert f1_score(Y_true.astype(bool), Y_pred) == expected
    assert f1_score(np.where(Y_true, "yes", "no"), np.where(Y_pred, "yes", "no").astype(object)) == expected
    assert exact_match(Y_true[:, 0], Y_pred[:, 0]) == hamming_score(Y_true[:, :1], Y_pred[:, :1])


def test_default_negative_classes():
    # A lone 1 is relevant, so the one that is shared makes up for the miss; a lone 0 is not.
    assert f1_score([[1, 1]] * 2, [[1, 0]] * 2) == pytest.approx(2 / 3)
    assert f1_score([[0, 1]] * 2, [[0, 0]] * 2) == 0.0
    assert f1_score([[-1], [1]], [[1], [1]]) == 0.5
    # One class for all labels: labels that have not seen it have only relevant classes.
    assert f1_score([["a", "none"]], [["b", "none"]], negative="none") == 0.0


def test_a_label_that_is_never_known_does_not_count():
    Y_true, Y_pred = [[1, None], [0, None]], [[0, 1], [1, 0]]
    assert f1_score(Y_true, Y_pred, average="macro") == 0.0


def test_joint_log_loss():
    assert joint_log_loss(np.log([0.5, 0.25]), [3.0, 1.0]) == pytest.approx((3 * np.log(2) + np.log(4)) / 4)
    assert joint_log_loss([0.0, -np.inf]) == np.inf
    assert joint_log_loss([0.0, -np.inf], [1.0, 0.0]) == 0.0


@settings(max_examples=50)
@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30),
    n_bins=st.sampled_from([1, 3, 10]),
)
def test_set_calibration_error_agrees_with_loops(rows, n_bins):
    proba, correct = map(list, zip(*rows, strict=True))
    expected = reference.set_calibration_error(proba, correct, n_bins)
    assert set_calibration_error(proba, correct, n_bins) == pytest.approx(expected, abs=1e-12)
    doubled = set_calibration_error(proba, correct, n_bins, sample_weight=[2.0] * len(rows))
    assert doubled == pytest.approx(expected, abs=1e-12)


FRAME = pd.DataFrame({"a": [0, 1], "b": [1, 1]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: exact_match(FRAME, FRAME[["b", "a"]]), r"columns .* differ: \['a', 'b'\] and \['b', 'a'\]"),
        (lambda: exact_match([[0, 1]], [[0]]), r"Y_true has shape \(1, 2\), but Y_pred has shape \(1, 1\)"),
        (lambda: exact_match(np.zeros((2, 2), int), np.zeros((3, 2), int)), r"\(2, 2\), but Y_pred has shape \(3, 2\)"),
        (lambda: exact_match([[None]], [[1]]), "Y_true has no known label"),
        (lambda: exact_match([[1, 0]], [[1, None]]), "column 1 of Y_pred has no value in row 0"),
        (
            lambda: exact_match([["1"]], [[1]]),
            r"column 0 of Y_true and column 0 of Y_pred cannot be compared.*'1' and 1",
        ),
        (lambda: exact_match([[0.5]], [[1]]), "continuous. column 0 of Y_true holds 0.5"),
        (lambda: exact_match([[1]], [[1]], sample_weight=[1, 2]), r"shape \(2,\), but there are 1 rows"),
        (lambda: exact_match([[1]], [[1]], sample_weight=[-1]), "not negative"),
        (lambda: f1_score([[0]], [[1]], average="mikro"), r"average='mikro' is not known; did you mean 'micro'\?"),
        (lambda: f1_score([[0]], [[1]], average="samples"), r"Allowed: 'instance', 'micro', 'macro'"),
        (lambda: f1_score([[0], [1]], [[1], [2]]), r"label 0 has 3 classes, \[0, 1, 2\].*negative=0"),
        (lambda: jaccard_score([[0]], [[1]], negative=[0, 1]), "names 2 classes, but there are 1 labels"),
        (lambda: joint_log_loss([0.5]), "logarithms of probabilities"),
        (lambda: joint_log_loss([]), r"shape \(n,\)"),
        (lambda: set_calibration_error([0.5], [True, False]), r"\(1,\) and \(2,\)"),
        (lambda: set_calibration_error([-0.5], [True]), r"np.exp\(proba\)"),
        (lambda: set_calibration_error([0.5], [3]), "booleans"),
        (lambda: set_calibration_error([0.5], [True], n_bins=0), "n_bins=0"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((60, 1)) < 0.4, [1, 1, 0], rng.integers(0, 2, (60, 3)))  # the commonest is not empty
    return rng.normal(size=(60, 2)), Y


@pytest.mark.parametrize("weight", [None, np.arange(60.0)], ids=["no weight", "weight"])
def test_scorers_give_their_metrics(data, weight):
    X, Y = data
    model = ChainClassifier(order=None).fit(X, Y)
    predicted, decision = model.predict(X), model.decide(X)
    options = {"sample_weight": weight}
    confidence, correct = np.exp(decision.log_proba), (predicted == Y).all(axis=1)
    expected = {
        "exact_match": exact_match(Y, predicted, **options),
        "hamming": hamming_score(Y, predicted, **options),
        "f1_instance": f1_score(Y, predicted, **options),
        "f1_micro": f1_score(Y, predicted, average="micro", **options),
        "f1_macro": f1_score(Y, predicted, average="macro", **options),
        "jaccard": jaccard_score(Y, predicted, **options),
        "joint_log_loss": -joint_log_loss(model.log_joint(X, Y), **options),
        "set_calibration_error": -set_calibration_error(confidence, correct, **options),
    }
    assert set(expected) == set(SCORERS)
    search = GridSearchCV(model, {"order": [None]}, cv=2, scoring=SCORERS["joint_log_loss"])
    for name, scorer in SCORERS.items():
        assert pickle.loads(pickle.dumps(scorer)) == scorer
        for estimator in (model, make_pipeline(FunctionTransformer(), search).fit(X, Y)):
            assert scorer(estimator, X, Y, **options) == pytest.approx(expected[name])


def test_scorers_leave_out_unknown_labels(data):
    X, Y = data
    holes = Y.astype(float)
    holes[::3, 1] = np.nan
    holes[0] = np.nan
    model = ChainClassifier(order=None).fit(X, holes)
    predicted = model.predict(X)
    assert SCORERS["exact_match"](model, X, holes) == exact_match(holes, predicted)
    assert SCORERS["hamming"](model, X, holes) == hamming_score(holes, predicted)
    assert SCORERS["f1_macro"](model, X, holes) == f1_score(holes, predicted, average="macro")
    complete = ~np.isnan(holes).any(axis=1)
    expected = -joint_log_loss(model.log_joint(X[complete], Y[complete]))
    assert SCORERS["joint_log_loss"](model, X, holes) == pytest.approx(expected)
    assert SCORERS["set_calibration_error"](model, X, holes) <= 0.0
    with pytest.raises(ValueError, match="no row whose labels are all known"):
        SCORERS["joint_log_loss"](model, X, np.full(Y.shape, np.nan))


def test_scorers_take_negative_classes_from_the_estimator():
    # Only class "a" is in these rows; the estimator knows that it is the first of two, hence negative.
    Y, both = np.array([["a"], ["a"]]), np.array([["a"], ["b"]])
    model = SimpleNamespace(loss=SimpleNamespace(), classes_=[np.array(["a", "b"])], predict=lambda X: Y)
    for negative, expected in (("b", 2 / 3), (None, 0.0)):
        model.loss.negative = negative
        assert SCORERS["f1_micro"](model, Y, both) == pytest.approx(expected)
    model.classes_ = [np.array(["a", "b", "c"])]
    with pytest.raises(ValueError, match=r"label 0 has 3 classes.*F1\(negative='a'\)"):
        SCORERS["f1_micro"](model, Y, Y)


def test_scorers_name_the_method_they_miss(data):
    model = DummyClassifier().fit(*data)
    assert SCORERS["exact_match"](model, *data) == exact_match(data[1], model.predict(data[0]))
    for scorer, method in (("joint_log_loss", "log_joint"), ("set_calibration_error", "decide")):
        with pytest.raises(TypeError, match=f"DummyClassifier has no method {method}"):
            SCORERS[scorer](model, *data)
