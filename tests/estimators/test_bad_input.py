"""Bad input gets an error that says what is wrong and what to type instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import montechain as mc
from montechain.chain import Chain
from montechain.errors import NonFiniteError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X[:, [0, 1, 2]] + 0.5 * RNG.normal(size=(30, 3)) > 0).astype(int)


def with_cell(table, value):
    table = table.astype(object if value is None else float).copy()
    table[0, 0] = value
    return table


CHAIN = mc.ChainClassifier()
FIT = {
    "lengths": (CHAIN, X, Y[:-1], r"`X` has 30 rows but `y` has 29"),
    "empty": (CHAIN, X[:0], Y[:0], r"0 sample"),
    "nan": (CHAIN, with_cell(X, np.nan), Y, r"X contains NaN\. Use TableClassifier\(ChainClassifier\(\)\)"),
    "inf": (CHAIN, with_cell(X, np.inf), Y, r"X contains infinity"),
    "nan for a link": (mc.ChainClassifier(LogisticRegression()), with_cell(X, np.nan), Y, r"X contains NaN"),
    "continuous": (CHAIN, X, X, r"continuous.*column 0 of y"),
    "all unknown": (CHAIN, X, np.column_stack([Y, np.full(30, np.nan)]), r"column 3 of y is all unknown"),
    "order": (
        mc.ChainClassifier(order=[0, 2, 2]), X, Y,
        r"`order=\[0, 2, 2\]` is not a permutation of 3 labels: 1 is missing, 2 is repeated",
    ),
    "short order": (mc.ChainClassifier(order=[0, 1]), X, Y, r"2 is missing"),
    "order out of range": (mc.ChainClassifier(order=[0, 1, 3]), X, Y, r"3 is out of range"),
    "order name": (mc.ChainClassifier(order="randm"), X, Y, r"did you mean 'random'"),
    "order of names": (mc.ChainClassifier(order=["a", "b", "c"]), X, Y, r"`order` holds 'a'"),
    "order type": (mc.ChainClassifier(order=3.5), X, Y, r"`order=3.5` is of type float"),
    "cycle": (mc.ChainClassifier(parents={0: [1], 1: [0]}), X, Y, r"cycle"),
    "parent after child": (mc.ChainClassifier(parents={0: [2]}, order=[0, 1, 2]), X, Y, r"comes after it"),
    "parents name": (mc.ChainClassifier(parents="al"), X, Y, r"did you mean 'all'"),
    "estimator": (mc.ChainClassifier(LinearSVC()), X, Y, r"no `predict_proba`.*CalibratedClassifierCV\(LinearSVC"),
    "estimator class": (mc.ChainClassifier(LogisticRegression), X, Y, r"pass an instance, LogisticRegression\(\)"),
    "estimator name": (mc.ChainClassifier("logstic"), X, Y, r"did you mean 'logistic'"),
    "inference": (mc.ChainClassifier(inference="brnch_and_bound"), X, Y, r"did you mean 'branch_and_bound'"),
    "inference type": (mc.ChainClassifier(inference=3), X, Y, r"`inference=3` is not known"),
    "loss": (mc.ChainClassifier(loss="haming"), X, Y, r"did you mean 'hamming'"),
    "f1 for many classes": (mc.ChainClassifier(loss="f1"), X, Y + (X > 1), r"F1\(negative="),
    "C": (mc.ChainClassifier(mc.LogisticLink(C=-1.0)), X, Y, r"C=-1"),
    "C of the svm": (mc.ChainClassifier(mc.SVMLink(C=0)), X, Y, r"C=0"),
    "inference class": (mc.ChainClassifier(inference=mc.Beam), X, Y, r"pass an instance, Beam\(\)"),
    "estimator type": (mc.ChainClassifier(3), X, Y, "is of type int"),
    "order of orders": (mc.ChainClassifier(order=[[0, 1, 2]]), X, Y, r"`order` holds \[0, 1, 2\]"),
    "parents that are not a list": (mc.ChainClassifier(parents={0: 1}), X, Y, r"give a list, such as \[1\]"),
    "weights": (mc.ChainClassifier(KNeighborsClassifier()), X, Y, r"`sample_weight` was given, but KNeighbors"),
}  # fmt: skip


@pytest.mark.parametrize("case", FIT)
def test_fit(case):
    model, X, Y, message = FIT[case]
    options = {"sample_weight": np.ones(30)} if case == "weights" else {}
    with pytest.raises((ValueError, TypeError), match=r"(?s)" + message):
        model.fit(X, Y, **options)


FITTED = mc.ChainClassifier(random_state=0).fit(X, Y)
TABLE = pd.DataFrame(X, columns=["a", "b", "c"])
NAMED = mc.ChainClassifier(random_state=0).fit(TABLE, pd.DataFrame(Y, columns=["u", "v", "w"]))

USE = {
    "features": (lambda: FITTED.predict(X[:, :2]), r"X has 2 features, but ChainClassifier is expecting 3"),
    "names": (lambda: NAMED.predict(pd.DataFrame(X, columns=["a", "b", "d"])), r"(?s)feature names.*d"),
    "nan": (lambda: FITTED.predict(with_cell(X, np.nan)), r"X contains NaN"),
    "given class": (lambda: FITTED.predict(X, given=np.full((30, 3), 2)), r"column 0 of given holds 2.*\[0, 1\]"),
    "given rows": (lambda: FITTED.predict(X, given=Y[:5]), r"`X` has 30 rows but `given` has 5"),
    "given columns": (lambda: FITTED.predict(X, given=Y[:, :2]), r"`given` has 2 columns for 3 labels"),
    "given name": (lambda: NAMED.predict(TABLE, given=pd.DataFrame({"z": Y[:, 0]})), r"'z', which is not a target"),
    "given inputs": (lambda: NAMED.predict(TABLE, given=TABLE), "'a', which is not a target"),
    "unseen class": (lambda: FITTED.predict(X, given=np.where(Y == 1, 9, Y)), "holds 9, which is not one of"),
    "log_joint rows": (lambda: FITTED.log_joint(X, Y[:2]), r"`X` has 30 rows but `y` has 2"),
    "k": (lambda: FITTED.predict_top_k(X, 0), r"k=0"),
    "n_samples": (lambda: FITTED.sample(X, -3), r"n_samples=-3"),
}  # fmt: skip


@pytest.mark.parametrize("case", USE)
def test_use(case):
    call, message = USE[case]
    with pytest.raises(ValueError, match=message):
        call()


BUDGETS = [
    *(mc.BranchAndBound(**one) for one in ({"max_nodes": 0}, {"max_nodes": -5}, {"residual": -0.1}, {"residual": 1.0})),
    *(mc.Beam(width=width) for width in (0, 2.5)),
    *(mc.MonteCarlo(**one) for one in ({"n_samples": -1}, {"decision": "marginal"})),
    *(mc.EpsilonApproximate(epsilon=epsilon) for epsilon in (-0.1, 1.5)),
    mc.Exhaustive(max_vectors=0),
]


@pytest.mark.parametrize("strategy", BUDGETS, ids=repr)
def test_budgets(strategy):
    (name,) = set(strategy.get_params()) & set(repr(strategy).split("(")[1].split("=")[0].split())
    model = mc.ChainClassifier(inference=strategy, random_state=0)
    with pytest.raises((ValueError, TypeError), match=rf"{name}=.*{type(strategy).__name__}"):
        model.fit(X, Y).decide(X)
    with pytest.raises((ValueError, TypeError), match=name):
        model.set_params(loss="hamming").fit(X, Y).decide(X)


def test_exhaustive_refuses_what_would_take_for_ever():
    many = (np.random.default_rng(0).random((30, 20)) < 0.5).astype(int)
    model = mc.ChainClassifier(inference="exhaustive").fit(X, many)
    with pytest.raises(ValueError, match=r"(?s)1048576.*BranchAndBound.*max_vectors"):
        model.predict(X)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "decide", "predict_top_k", "sample", "log_joint", "score"]
)
def test_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(CHAIN, method)(X, *([Y] if method in ("log_joint", "score") else []))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decide"])
def test_given_is_keyword_only(method):
    with pytest.raises(TypeError):
        getattr(FITTED, method)(X, Y)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = mc.ChainClassifier(random_state=0)
    with pytest.raises(ValueError, match="loss"):
        model.set_params(loss="nope").fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    before = model.set_params(loss="exact_match").fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="order"):
        model.set_params(order="x").fit(X[:, :2], np.where(Y == 1, "yes", "no"))
    np.testing.assert_array_equal(model.predict(X), before)


def test_text_in_x_says_what_to_do():
    frame = pd.DataFrame({"a": X[:, 0], "kind": ["big", "small"] * 15})
    with pytest.raises(ValueError, match=r"(?s)holds text.*TableClassifier"):
        mc.ChainClassifier().fit(frame, Y)


def test_scores_that_overflow_name_the_label_and_the_column():
    frame = pd.DataFrame(X, columns=["age", "income", "height"])
    model = mc.ChainClassifier(order=[0, 1, 2]).fit(frame, pd.DataFrame(Y, columns=["p", "q", "r"]))
    link = model.chain_.links[0]
    model.chain_ = Chain(
        [0, 1, 2], model.chain_.parents, [replace(link, coef=link.coef * 100), *model.chain_.links[1:]]
    )
    frame.loc[4, "income"] = 1.7e308
    with pytest.raises(NonFiniteError, match=r"score of label 'p' is not finite: column 'income' of X holds 1.7e"):
        model.decide(frame)
