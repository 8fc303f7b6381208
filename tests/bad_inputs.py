"""One table of bad input: for every public estimator, function and command, and what the error must say.

`PARAMETERS` holds wrong parameters by class, `INPUTS` and `TARGETS` wrong tables for every estimator, `CALLS` wrong
arguments of methods and functions, and `COMMANDS` wrong command lines.
"""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import montechain as mc
from bridge_table import TARGETS as NAMES
from montechain.evaluation import evaluate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X + 0.5 * RNG.normal(size=(30, 3)) > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


def with_cell(value: Any) -> np.ndarray:
    table = X.astype(object if value is None else float).copy()
    table[0, 0] = value
    return table


SEEDS = [("one", "random_state=0"), (-1, "whole number, 0 or more"), (2.5, "random_state=0"), ([], "RandomState")]
JOBS = [(0, "n_jobs=2"), ("two", "n_jobs=2"), (1.5, "whole number other than 0"), (True, "n_jobs=-1")]
LOSSES = [
    ("haming", r"`loss='haming'` is not known; did you mean 'hamming'\? Allowed are 'exact_match', 'hamming'"),
    ("zzz", r"`loss='zzz'` is not known\. Allowed are"),
    (3, r"`loss=3` is not known\..* or a function loss\(y, y_hat\)"),
    (mc.Hamming, r"pass an instance, Hamming\(\)"),
]
POSITIVE = [(value, "positive integer") for value in (0, -5, 2.5, "2", True)]
HUGE = [*POSITIVE, (10**12, "GB of memory.*fewer"), (10**30, "positive integer")]
FINDER = [
    *((share, "must be a share of the rows between 0 and 1") for share in (0, 1, -0.5, 5, "third", True, object())),
    ("third", "a splitter, e.g. KFold"),
    ([1, 2], "pairs of row numbers"),
    *((pairs, "leaves no rows.*such as 1/3") for pairs in ([], [([0, 1], [])])),
]
LINK = [(value, "positive number") for value in (0, -1.0, "1", np.nan, np.inf)]
SHARE = [(value, "from 0 to (less than )?1") for value in (-0.1, 1.1, np.nan, "small", None, True)]
ESTIMATORS = [
    ("logstic", "did you mean 'logistic'"),
    (3, "is of type int"),
    (LogisticRegression, r"pass an instance, LogisticRegression\(\)"),
    (LinearSVC(), r"no `predict_proba`.*CalibratedClassifierCV\(LinearSVC"),
]
LINKED = {"estimator": ESTIMATORS, "loss": LOSSES, "n_jobs": JOBS, "random_state": SEEDS}
PARENTS = [
    ({0: [1], 1: [2], 2: [0]}, r"cycle: (0 -> 2 -> 1 -> 0|1 -> 0 -> 2 -> 1|2 -> 1 -> 0 -> 2)"),
    ({0: [0]}, "cycle: 0 -> 0"),
    ({0: [7]}, r"label 7: allowed are 0 to 2"),
    ([[2], [0, 2], []], "of type list"),
    (np.zeros((2, 2), dtype=bool), "of type ndarray"),
    ("al", "did you mean 'all'"),
    ("trees", "did you mean 'tree'"),
    ({0: 1}, r"give a list, such as \[1\]"),
    (-1, "must not be negative"),
    (1.5, "of type float"),
]
INFERENCE = [
    ("brnch_and_bound", "did you mean 'branch_and_bound'"),
    (3, "`inference=3` is not known"),
    (mc.Beam, r"pass an instance, Beam\(\)"),
]
ORDERS = [
    ([0, 2, 2], r"`order=\[0, 2, 2\]` is not a permutation of 3 labels: 1 is missing, 2 is repeated"),
    ([0, 1], "2 is missing"),
    ([0, 1, 3], "3 is out of range"),
    ("randm", "did you mean 'random'"),
    (["a", "b", "c"], "`order` holds 'a'"),
    (3.5, "`order=3.5` is of type float"),
    ([[0, 1, 2]], r"`order` holds \[0, 1, 2\]"),
]

PARAMETERS: dict[type, dict[str, list[tuple[Any, str]]]] = {
    mc.ChainClassifier: LINKED | {"order": ORDERS, "parents": PARENTS, "inference": INFERENCE},
    mc.ChainPopulationClassifier: {
        "order": [([0, 1, 2], "a sequence of orders"), (None, "OrderSearch")],
        "n_chains": POSITIVE,
        "combine": [("mixtur", "did you mean 'mixture'"), (mc.Vote, r"pass an instance, Vote\(\)")],
        "weights": [
            ([1.0], r"`weights` has shape \(1,\) for 10 models: give one number per model"),
            ("heavy", "list of 10 numbers"), ([0.0] * 10, "not negative and not all zero"),
            ([np.nan] * 10, "must be finite"),
            ([-1.0] * 10, "not negative.*If these are the payoffs of orders, give other weights"),
        ],
    },
    mc.LabelPowersetClassifier: LINKED,
    mc.DependencyNetworkClassifier: {
        "n_iterations": HUGE, "loss": LOSSES,
        "n_collected": [
            *POSITIVE, (2000, "`n_collected=2000` must not exceed `n_iterations=1000`: try n_collected=100"),
        ],
    },
    mc.ClusteringForestClassifier: {
        "n_estimators": POSITIVE, "n_jobs": JOBS, "random_state": SEEDS,
        "max_features": [("half", "max_features"), (0, "max_features")],
        "max_depth": [(0, "max_depth"), ("deep", "max_depth")],
        "min_samples_leaf": [(0, "min_samples_leaf")],
    },
    mc.MajorityClassifier: {"loss": LOSSES, "random_state": SEEDS},
    mc.AutoChainClassifier: {
        "loss": LOSSES, "random_state": SEEDS,
        "time_limit": [(0, "e.g. time_limit=60"), (-1, "positive number of seconds"), ("1 h", "positive number")],
    },
    mc.StackedMixtureClassifier: {
        "estimators": [
            ([], "at least one"), (3, "list of pairs"), ([mc.ChainClassifier()], "list of pairs"),
            ([("a", LogisticRegression())], r"Use ChainClassifier\(estimator=...\) around it"),
        ],
        "cv": [(1, "cv=5"), ("five", "cv=5"), (2.5, "cv=5"), ([], "cv=5"), (None, "cv=5")],
    },
    mc.TableClassifier: {
        "classifier": [(3, "pass an instance"), (mc.ChainClassifier, "pass an instance")],
        "encoder": [("none", "pass an instance")],
        "tags": [(3, "a data frame"), (2.5, "a data frame"), (["z"], "a data frame")],
    },
    mc.TableEncoder: {
        "missing": [("inpute", r"did you mean 'impute'\? Allowed are 'impute' and 'keep'")], "max_categories": POSITIVE,
        "text": [("z", "Its columns are"), (2.5, "a name or a list")], "drop": [(9, "not a column"), (None, "a list")],
    },
    mc.CrossFittedFeatures: {
        "estimator": [
            (3, r"CrossFittedFeatures\(LogisticRegression"), (LinearSVC(), "with `predict_proba`"),
            ([LogisticRegression()], "give one each"),
        ],
        "columns": [([[0]], "for each of the 3 labels"), (2, "or be None")],
        "cv": [(1, "cv=5"), ("five", "cv=5"), ([1, 2], "cv=5")], "random_state": SEEDS,
    },
    mc.OutOfBagForestFeatures: {
        "n_estimators": POSITIVE, "max_rows": POSITIVE, "random_state": SEEDS,
        "time_limit": [(0, "time_limit=60"), ("long", "time_limit=60")], "split_on": [("label", "'labels'")],
    },
    mc.LogisticLink: {
        "C": LINK, "tol": LINK, "max_iter": POSITIVE, "parent_C": LINK,
        "class_weight": [
            ("balance", "balanced"), ([None] * 2, "2 entries for 3 labels. Give one entry for each label"),
            ({0: -1.0}, "not positive"),
        ],
        "centre": [([np.zeros((9, 2))] * 3, r"centre\[(\d)\] has the shape \(9, 2\).*'label_\1': \(3, 2\)")],
    },
    mc.SVMLink: {"C": LINK, "tol": LINK, "max_iter": POSITIVE},
    mc.BranchAndBound: {"max_nodes": [*POSITIVE, (10**30, "max_nodes")], "residual": [*SHARE, (1.0, "0.01")]},
    mc.Beam: {"width": POSITIVE},
    mc.MonteCarlo: {"n_samples": HUGE, "decision": [("marginal", "'marginals'"), (None, "'best_sampled'")]},
    mc.EpsilonApproximate: {"epsilon": SHARE},
    mc.Exhaustive: {"max_vectors": [*POSITIVE, (4, r"(?s)8 label vectors.*BranchAndBound.*max_vectors=8")]},
    mc.Mixture: {"max_nodes": [*POSITIVE, (10**30, "max_nodes")]},
    mc.Algorithm4: {"n_orders": HUGE, "n_samples": HUGE},
    mc.OrderSearch: {
        "proposal": [
            ("tempered", r"did you mean 'tempered_swap'\? Allowed are 'swap', 'tempered_swap', or a"),
            ("xyz", r"is not known\. Allowed"), (None, r"is not known\. Allowed"),
            (mc.Swap, r"`proposal` is the class Swap: pass an instance, Swap\(\)"),
        ],
        "payoff": [
            ("j_em", "did you mean 'J_EM'"), ("acuracy", "did you mean 'accuracy'"),
            (3, "`payoff=3` is not known. Allowed are 'J_EM', "),
        ],
        "on": [("truths", "did you mean 'truth'")], "keep": POSITIVE, "n_restarts": POSITIVE, "validation": FINDER,
        "n_iterations": [(value, "positive integer or 0, e.g. .*n_iterations=50") for value in (-1, 2.5)],
        "pool": [("visitd", "did you mean 'visited'")],
        "record": [(["J_Hamm"], "J_Ham"), ([lambda e, X, Y: 0.0, lambda e, X, Y: 1.0], "two different payoffs")],
        "time_limit": [(0, "time_limit=60"), ("long", "time_limit=60")],
    },
    mc.AllOrders: {"keep": POSITIVE, "validation": FINDER},
    mc.BeamOrder: {"width": POSITIVE, "validation": FINDER},
    mc.Swap: {"reach": POSITIVE},
    mc.TemperedSwap: {
        "beta": [(value, "`beta=.* a positive number") for value in (0, -0.1, np.inf, np.nan, True, None, "0.03")],
        "warmup": [(value, "`warmup=.* a positive integer or 0") for value in (-1, 1.5, True, None, "2")],
    },
    mc.F1: {"negative": [([0], "there are 3 labels"), (7, "negative")]},
    mc.Jaccard: {"max_candidates": POSITIVE, "negative": [([0], "there are 3 labels")]},
    mc.CallableLoss: {
        "function": [(3, "must be a function")], "max_candidates": POSITIVE, "maximum": LINK,
    },
}  # fmt: skip

TABLE = r"as a table: one row per sample"
NUMBERS = r"must hold numbers; TableClassifier"
INPUTS: dict[str, tuple[Any, str]] = {
    "lengths": (X[:-1], "`X` has 29 rows but `y` has 30"),
    "no rows": (X[:0], "0 sample|0 rows"),
    "no columns": (np.empty((30, 0)), "0 feature"),
    "one dimension": (X[:, 0], TABLE),
    "three dimensions": (X[:, :, None], TABLE),
    "a number": (3.0, TABLE),
    "a file name": ("data.csv", f"{TABLE}|holds text"),
    "a dictionary": ({"a": [1, 2]}, f"{TABLE}|{NUMBERS}"),
    "nothing": (None, TABLE),
    "a series": (pd.Series(X[:, 0]), TABLE),
    "rows of different lengths": ([[1.0, 2.0], [3.0]] * 15, TABLE),
    "complex numbers": (X + 1j, "Complex data not supported: give the real"),
    "infinity": (with_cell(np.inf), "contains infinity.*Replace these cells"),
}
"""Tables that no estimator takes."""
NUMERIC_INPUTS: dict[str, tuple[Any, str]] = {
    "nan": (with_cell(np.nan), r"X contains NaN\. Use TableClassifier\(OWN\(.*\)\), which"),
    "none": (with_cell(None), r"NaN\. Use TableClassifier|" + NUMBERS),
    "text": (FRAME.assign(kind=["big", "small"] * 15), "(?s)holds text.*TableClassifier"),
    "dates": (FRAME.assign(t=pd.Timestamp("2020")), NUMBERS),
    "periods": (FRAME.assign(t=pd.period_range("2020", periods=30)), NUMBERS),
    "objects": (np.array([[object()] * 3] * 30, dtype=object), NUMBERS),
    "huge integers": (np.array([[10**400] * 3] * 30, dtype=object), NUMBERS),
    "sparse nan": (sp.csr_array(with_cell(np.nan)), "contains NaN"),
}
"""Tables that only `TableClassifier` and classifiers around others take."""
TARGETS: dict[str, tuple[Any, str]] = {
    "nothing": (None, "Expected array-like .* got None"),
    "a word": ("yes", "must be an array of shape .* got str"),
    "three dimensions": (Y[:, :, None], "3 dimensions"),
    "lengths": (Y[:-1], "`X` has 30 rows but `y` has 29"),
    "no columns": (np.empty((30, 0)), "y has no columns"),
    "continuous": (X, "(?s)continuous.*column 0 of y.*KBinsDiscretizer"),
    "fractions": ([[Decimal("1.5"), 0]] * 29 + [[0.5, 1]], "continuous"),
    "infinity": (np.where(Y == 1, np.inf, 0), "Input contains infinity: column . of y"),
    "all unknown": (np.column_stack([Y, np.full(30, np.nan)]), "column 3 of y is all unknown"),
    "lists in cells": (pd.DataFrame({"u": [[1, 2]] * 30}), "a cell must hold one class|sets"),
    "complex": (Y + 1j, "Complex data not supported: y"),
    "no tags": ([set()] * 30, "y has no tags"),
}


def fitted(model: Any = None, named: bool = False) -> Any:
    model = mc.ChainClassifier(random_state=0) if model is None else model
    return model.fit(FRAME, pd.DataFrame(Y, columns=["u", "v", "w"])) if named else model.fit(X, Y)


def ask(method: str, *arguments: Any, named: bool = False, **options: Any) -> Any:
    """Return a call of a method of a fitted chain; the first argument is X unless `arguments` begin with another."""
    return lambda: getattr(fitted(named=named), method)(*arguments, **options)


NETWORK = mc.DependencyNetworkClassifier(n_iterations=20, n_collected=5)
CALLS: dict[str, tuple[Any, str]] = {
    "features": (ask("predict", X[:, :2]), "X has 2 features, but ChainClassifier is expecting 3"),
    "names": (ask("predict", FRAME.rename(columns={"c": "d"}), named=True), "(?s)feature names.*d"),
    "order of names": (ask("predict", FRAME[["b", "a", "c"]], named=True), "same order"),
    "duplicate names": (
        lambda: mc.TableClassifier().fit(FRAME.set_axis(list("aab"), axis=1), Y),
        "more than one column named 'a'.*different names",
    ),
    "lacking columns": (
        lambda: fitted(mc.TableClassifier(mc.ChainClassifier()), named=True).predict(FRAME[["a"]]),
        "lacks columns .* fitted with: 'b', 'c'",
    ),
    "a row": (lambda: mc.TableClassifier(mc.ChainClassifier()).fit(X[:1], Y[:1]), "only 1 row .* at least 2 rows"),
    "given for others": (
        lambda: fitted(mc.TableClassifier(KNeighborsClassifier())).predict(X, given=Y),
        r"`given` takes a classifier of montechain: ChainClassifier\(KNeighborsClassifier\(\)\)",
    ),
    "given class": (ask("predict", X, given=np.full((30, 3), 2)), r"column 0 of given holds 2.*\[0, 1\]"),
    "given rows": (ask("predict", X, given=Y[:5]), "`X` has 30 rows but `given` has 5"),
    "given columns": (ask("decide", X, given=Y[:, :2]), "`given` has 2 columns for 3 labels"),
    "given inputs": (ask("predict_proba", FRAME, named=True, given=FRAME), "'a', which is not a target"),
    "log_joint rows": (ask("log_joint", X, Y[:2]), "`X` has 30 rows but `y` has 2"),
    "log_joint fractions": (ask("log_joint", X, X), "continuous"),
    "score rows": (ask("score", X, Y[:2]), "shape"),
    "score weights": (ask("score", X, Y, sample_weight=["a"] * 30), "30 numbers"),
    "k": (ask("predict_top_k", X, 0), "k=0.*k=5"),
    "k of words": (ask("predict_top_k", X, "two"), "k='two'.*k=5"),
    "n_samples": (ask("sample", X, -3), "n_samples=-3.*n_samples=100"),
    "too many samples": (ask("sample", X, 10**13), "GB of memory.*fewer"),
    "samples beyond counting": (ask("sample", X, 10**30), "n_samples=100"),
    "weights of the wrong length": (ask("fit", X, Y, sample_weight=np.ones(3)), "`sample_weight`.*30 in all"),
    "negative weights": (ask("fit", X, Y, sample_weight=-np.ones(30)), "`sample_weight`.*none of them negative"),
    "weights that are words": (ask("fit", X, Y, sample_weight=["a"] * 30), "`sample_weight`.*one number per row"),
    "weights that are nan": (ask("fit", X, Y, sample_weight=np.full(30, np.nan)), "`sample_weight`.*NaN"),
    "weights of all rows zero": (ask("fit", X, Y, sample_weight=np.zeros(30)), "`sample_weight`"),
    "weights in a dictionary": (ask("fit", X, Y, sample_weight={}), "`sample_weight`"),
    "weights for a classifier": (
        lambda: mc.ChainClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=np.ones(30)), "KNeighbors",
    ),
    "weights of unknown labels alone": (
        lambda: mc.LabelPowersetClassifier().fit(X, np.where(X[:, :1] > 0, np.nan, Y), sample_weight=X[:, 0] > 0),
        "nothing to learn from: y has no known label in any row with a positive weight",
    ),
    "features of unknown labels": (
        lambda: mc.OutOfBagForestFeatures(5).fit(X, np.where(Y == 1, np.nan, Y)), "y has unknown labels",
    ),
    "fit parameters": (ask("fit", X, Y, groups=X), "takes no fit parameters|groups"),
    "parent after child": (
        lambda: mc.ChainClassifier(parents={0: [2]}, order=[0, 1, 2]).fit(X, Y),
        r"label 2 a parent of label 0, but 2 comes after it in `order=\[0, 1, 2\]`",
    ),
    "fit parameters of a forest": (
        lambda: mc.ClusteringForestClassifier(2).fit(X, Y, check_input=False), "fit parameters .* but got check_input",
    ),
    "a graph against the order": (
        lambda: mc.ChainPopulationClassifier(order=[[2, 1, 0]], parents={1: [0]}).fit(X, Y), "comes after it",
    ),
    "f1 of many classes": (lambda: mc.ChainClassifier(loss="f1").fit(X, Y + (X > 1)), r"F1\(negative="),
    "all orders of many labels": (
        lambda: mc.ChainClassifier(order=mc.AllOrders()).fit(X, np.tile(Y, 3)),
        r"AllOrders\(\) would score 362880 orders of 9 labels. Try OrderSearch\(\)",
    ),
    "sweeps of a fitted network": (
        lambda: fitted(clone(NETWORK)).set_params(n_collected=21).predict(X),
        "must not exceed",
    ),
    "loss of a fitted network": (
        lambda: fitted(clone(NETWORK)).set_params(loss="haming").predict(X),
        "did you mean 'hamming'",
    ),
    "metric shapes": (lambda: mc.metrics.exact_match(Y, Y[:, :2]), "shape"),
    "metric of nothing": (lambda: mc.metrics.hamming_score(None, Y), "Y_true"),
    "metric of fractions": (lambda: mc.metrics.f1_score(Y, X), "continuous"),
    "metric of many classes": (lambda: mc.metrics.jaccard_score(Y + 1 + (X > 1), Y), "negative"),
    "no such file": (lambda: mc.read_dataset("no.csv"), "no such file"),
    "a model that is a table": (lambda: mc.load(__file__), "is not a model. Give a file written by montechain.save"),
    "a model nowhere": (lambda: mc.save(fitted(), "no/such/m.mchain"), "no/such"),
    "a model that is none": (lambda: mc.save(3, "m.mchain"), "m.mchain|model|estimator"),
    "columns as text": (lambda: mc.read_dataset(FRAME, targets=["a"], drop="b"), r"drop=\['b'\]"),
    "targets among the inputs": (
        lambda: mc.TableClassifier(mc.ChainClassifier()).fit(FRAME.assign(d=Y[:, 0]), FRAME.assign(d=Y[:, 0])[["d"]]),
        r"`X` holds the targets themselves: \['d'\]. Leave them out: X.drop\(columns=\['d'\]\)",
    ),
    "notes that JSON cannot hold": (lambda: mc.save(fitted(), "m.mchain", about={"a": X}), "`about` must be"),
    "notes that are a word": (lambda: mc.save(fitted(), "m.mchain", about="hello"), "`about` must be a dictionary"),
    "knowledge in a dictionary": (lambda: fitted().predict(X, given={"a": [1]}), "use a data frame, given="),
    "a data set by name": (lambda: evaluate("penguins.csv", ["CC"]), r"is a str: use read_dataset\("),
    "a nominal number": (
        lambda: mc.read_dataset(FRAME, targets=["a"], nominal=["b"], numeric=["b"]), "`nominal` and in `numeric`",
    ),
    "targets that are not there": (lambda: mc.read_dataset(FRAME, targets=["z"]), "'z' not found"),
}  # fmt: skip

MISUSE, DATA, MODEL, OUTPUT = 2, 3, 4, 5
FIT = f"fit bridges.csv -t {NAMES} --drop id -m Default"
"""A small chain: what is tested does not depend on the model."""
EVALUATE = f"evaluate bridges.csv -t {NAMES} --drop id"
PREDICT = "predict bridges.mchain bridges.csv"
COMMANDS: list[tuple[str, int, str]] = [
    ("fit bridges.csv -o x.mchain", DATA, "--targets"),
    ("fit bridges.csv --targets material,spam -o x.mchain", DATA, "'span'"),
    (FIT, MISUSE, "--output"),
    (f"{FIT} -o no/such/x.mchain", OUTPUT, "no/such"),
    (f"fit q.csv -t {NAMES} -o x.mchain", DATA, "q.csv: there is no such file. "),
    ("fit music -o x.mchain", DATA, "music: there is no such file. "),
    (f"fit bridges.csv -t {NAMES} --method PMCC -o x.mchain", MISUSE, "'PMsCC'"),
    (f"{FIT} -m CC --set inference=baem -o x.mchain", MISUSE, "'beam'"),
    (f"{FIT} --loss haming -o x.mchain", MISUSE, "'hamming'"),
    (f"{FIT} -m CC --set inferrence=beam -o x.mchain", MISUSE, "'inference'"),
    (f"{FIT} -m CC --set beam -o x.mchain", MISUSE, "--set parents=2"),
    (f"{FIT} -t span -o x.mchain", MISUSE, "`-t` is given more than once. Join the names with commas: -t a,b."),
    ("fit bridges.csv -t material -l f1 -o x.mchain", MISUSE, "targets with two classes, but 'material' has 3"),
    (f"{EVALUATE} --loss jaccard", MISUSE, "`--loss jaccard` takes targets with two classes"),
    ("fit https://a.org/b.csv -t span -o x.mchain", DATA, "is a URL: download the file first."),
    ("fit bridges.csv --targets '' -o x.mchain", MISUSE, "`--targets` is empty: name columns"),
    (
        f"fit bridges.csv -t {NAMES} --time-limit -5 -o x.mchain",
        MISUSE,
        "positive number of seconds, e.g. --time-limit 60. ",
    ),
    ("fit bridges.csv -t span --separator , -o x.mchain", MISUSE, "is for tags: name their columns, as in --tags"),
    ("fit bridges.csv --tags spam -o x.mchain", DATA, "`--tags`: column 'spam' not found; did you mean 'span'?"),
    (f"{FIT} -e lojistic -o x.mchain", MISUSE, "'logistic'"),
    (f"{FIT} -e lightgbm -o x.mchain", MISUSE, "hist_gradient_boosting"),
    ("predict nothing.mchain bridges.csv", MODEL, "nothing.mchain"),
    ("predict bridges.csv bridges.csv", MODEL, "bridges.csv"),
    ("predict bridges.mchain nothing.csv", DATA, "nothing.csv: there is no such file. "),
    (f"{PREDICT} --keep idd", MISUSE, "did you mean 'id'?"),
    (f"{PREDICT} -o out.docx", MISUSE, ".csv"),
    (f"{PREDICT} -o no/such/out.csv", OUTPUT, "no/such/out.csv"),
    (f"{PREDICT} --top-k 0", MISUSE, "--top-k"),
    (f"{EVALUATE} --methods CC,MCCC", MISUSE, "'MCC'"),
    (f"{EVALUATE} --loss haming", MISUSE, "'hamming'"),
    (f"{EVALUATE} --methods ,", MISUSE, "--methods"),
    (f"{EVALUATE} --cv many", MISUSE, "--cv"),
    (f"{EVALUATE} --cv 1", MISUSE, "--cv 2"),
    (f"{EVALUATE} -o scores.xlsx", MISUSE, ".csv"),
    (f"{EVALUATE} --time-limit 0", MISUSE, "--time-limit 0"),
    ("inspect nothing.mchain", MODEL, "nothing.mchain"),
    ("data export music -o p.csv", MISUSE, "data export digits"),
    ("data export digits -o no/such/digits.csv", OUTPUT, "no/such"),
    ("ftt", MISUSE, "'fit'"),
    ("fit bridges.csv --targets material span -o x.mchain", MISUSE, "commas"),
    (f"fit bridges.csv --tragets {NAMES} -o x.mchain", MISUSE, "--targets"),
    (f"fit . -t {NAMES} -o x.mchain", DATA, "is a folder, not a file"),
    (f"{FIT} -o .", OUTPUT, "is a folder"),
    ("predict bridges.mchain .", DATA, "is a folder without .parquet files"),
    (f"fit bridges.csv -t {NAMES} -m ECC --set n_chains=0 -o x.mchain", MISUSE, "n_chains=10"),
    (f"{FIT} --time-limit 5 -o x", MISUSE, "--time-limit"),
    ("fit bridges.csv --targets last:99 -o x.mchain", DATA, "--targets last:1"),
]
"""Commands, their exit code, and what they must say, in a folder with a table and a model."""
