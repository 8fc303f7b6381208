"""Compare methods on the folds of a data set."""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from numbers import Integral
from pathlib import Path
from types import FunctionType
from typing import Any

import joblib
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from montechain._messages import nearest
from montechain.datasets import Dataset
from montechain.estimators.table import TableClassifier
from montechain.evaluation.folds import LabelStratifiedKFold
from montechain.evaluation.jobs import DNF, OK, Job, Limits, ResultStore, digest, run_jobs
from montechain.evaluation.measures import MEASURES, FoldWork, check_measures
from montechain.methods import Method, find_method, make_method

__all__ = ["describe_parameters", "evaluate", "fingerprint", "fold_jobs", "fold_seed", "results_table", "summarise"]

COLUMNS = ["dataset", "method", "fold", "measure", "value", "status", "reason", "seed", "parameters", "protocol"]


def evaluate(
    dataset: Dataset,
    methods: Any,
    *,
    folds: Any = 5,
    seed: int = 0,
    estimator: Any = None,
    loss: Any = None,
    measures: Iterable[str] | None = None,
    encoder: Any = None,
    store: ResultStore | str | Path | None = None,
    retry: bool = False,
    limits: Limits | None = None,
    n_jobs: int = 1,
    on_result: Callable[[pd.DataFrame], object] = lambda rows: None,
) -> pd.DataFrame:
    """Train and test methods on every fold of a data set.

    The encoding of the inputs is learned from the training part of each fold. Each method predicts once per fold, and
    all measures come from that prediction. Times do not include compilation. A method that fails or exceeds a
    limit gets the status DNF with the reason, and the others go on.

    Parameters
    ----------
    dataset : Dataset
    methods : str, sequence of str, or mapping of str to methods or estimators
        Names that `make_method` knows; or your own names, each with a `Method` or an unfitted estimator. A
        `random_state` of None is replaced by the seed of the fold.
    folds : int, "official", "random", or splitter, default=5
        A number of `LabelStratifiedKFold`; the split the data set was published with; a hundred random splits, two
        thirds for training; or any scikit-learn splitter. A splitter whose `random_state` is None gets `seed`.
    seed : int, default=0
        The seed of a fold is derived from it, the data and the fold's number. All methods share it, so a result does
        not depend on what else is run, and methods that draw an order draw the same one.
    estimator : {"logistic", "svm"}, estimator or None, default=None
        The base classifier of named methods; see `make_method`.
    loss : str, Loss or callable, optional
        The loss that named methods minimise; see `make_method`.
    measures : iterable of str, optional
        Names from `MEASURES`; all of them by default.
    encoder : transformer, "passthrough" or None, default=None
        Turns the inputs into numbers; None is a `TableEncoder`. With ``"passthrough"`` methods get the inputs as
        they are.
    store : ResultStore or path, optional
        A folder of results. Finished folds are written as they come and are not computed again, so an interrupted
        run resumes where it stopped. Results of another version of montechain are not used.
    retry : bool, default=False
        Run again what failed before. Otherwise only what exceeded a limit that is now wider.
    limits : Limits, optional
        Time and memory for one method on one fold. With limits, work is done in child processes.
    n_jobs : int, default=1
        Number of processes that share the folds.
    on_result : callable, optional
        Called with the rows of each method and fold as soon as they are known.

    Returns
    -------
    data frame
        One row for each fold, method and measure, in this order, with the columns `dataset`, `method`, `fold`,
        `measure`, `value`, `status` ("ok", "undefined" or "DNF"), `reason`, `seed`, `parameters` and `protocol`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = pd.DataFrame({"x": np.arange(40.0)})
    >>> Y = pd.DataFrame({"low": (X["x"] < 20).astype(int), "high": (X["x"] > 30).astype(int)})
    >>> data = Dataset(X, Y, ["x"], [[0, 1], [0, 1]], name="numbers")
    >>> results = evaluate(data, {"tree": DecisionTreeClassifier()}, folds=2, measures=["jaccard"])
    >>> results[["method", "fold", "measure", "value"]].round(2).to_numpy().tolist()
    [['tree', 0, 'jaccard', 0.9], ['tree', 1, 'jaccard', 0.9]]
    """
    wanted = check_measures(measures)
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"`limits={limits!r}` must be Limits, e.g. limits=Limits(seconds=3600, memory_gb=8).")
    if isinstance(store, str | Path):
        store = ResultStore(store)
    # A stored result has all measures, so that it serves whoever asks next.
    measured = wanted if store is None else list(MEASURES)
    jobs = fold_jobs(
        dataset, methods, folds=folds, seed=seed, estimator=estimator, loss=loss, measures=measured, encoder=encoder
    )

    def on_done(number: int, outcome: dict[str, Any]) -> None:
        on_result(results_table([jobs[number]], [outcome], wanted))

    outcomes = run_jobs(jobs, store=store, limits=limits, n_jobs=n_jobs, retry=retry, on_done=on_done)
    return results_table(jobs, outcomes, wanted)


def fold_jobs(
    dataset: Dataset,
    methods: Any,
    *,
    folds: Any = 5,
    seed: int = 0,
    estimator: Any = None,
    loss: Any = None,
    measures: Sequence[str] | None = None,
    encoder: Any = None,
) -> list[Job]:
    """Return the jobs of `evaluate`, fold by fold, for `run_jobs`; parameters as there."""
    wanted, named = check_measures(measures), _check_methods(methods)
    published = dataset.split if isinstance(folds, str) and folds == "official" else None
    if published is not None:
        contents = "".join(fingerprint(part)[:8] for part in published)
        splits = [(np.arange(len(published.train.Y)), np.arange(len(published.test.Y)))]
    elif isinstance(folds, str) and folds == "official":
        raise ValueError(f"the data set {dataset.name!r} was published without a split. Pass a number, as in folds=5.")
    else:
        folds = _check_folds(folds, seed)
        contents = fingerprint(dataset)
        splits = [(np.asarray(train), np.asarray(test)) for train, test in folds.split(dataset.X, dataset.Y)]
    rows = hashlib.sha256(b"|".join(np.int64(part).tobytes() for split in splits for part in split)).hexdigest()[:16]
    described = encoder if encoder == "passthrough" or encoder is None else describe_parameters(encoder)
    protocol = f"{' '.join(repr(folds).split())}, rows {rows}, encoder {described or 'default'}"

    def method_of(name: str, seed: int | None) -> Any:
        given = named[name]
        if isinstance(given, Method):
            return make_method(given, estimator, loss=loss, random_state=seed)
        return clone(given) if seed is None else _with_seed(clone(given), seed)

    def work(name: str, fold: int) -> FoldWork:
        model = method_of(name, fold_seed(seed, contents, fold))
        if encoder != "passthrough":
            model = TableClassifier(model, encoder=None if encoder is None else clone(encoder))
        train, test = published or map(dataset.take, splits[fold])
        return FoldWork(model, train, test, wanted)

    jobs = []
    parameters = {name: describe_parameters(method_of(name, None)) for name in named}
    for fold in range(len(splits)):
        for name in named:
            known = {"method": name, "fold": fold, "seed": seed, "parameters": parameters[name], "protocol": protocol}
            jobs.append(Job({"data": contents, **known}, partial(work, name, fold), {"dataset": dataset.name, **known}))
    return jobs


def results_table(
    jobs: Sequence[Job], outcomes: Sequence[dict[str, Any]], measures: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return the outcomes of `fold_jobs` as the tidy table that `evaluate` returns."""
    rows = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        for measure in check_measures(measures):
            row = {**job.labels, "measure": measure, "value": None, "status": DNF, "reason": outcome.get("reason", "")}
            if outcome["status"] == OK:
                found = outcome["values"]
                row["value"] = found["values"].get(measure)
                row["status"] = "undefined" if row["value"] is None else OK
                row["reason"] = found["notes"].get(measure, "")
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"value": "float64"})


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, standard deviation and rank of every method, by data set and measure.

    Parameters
    ----------
    results : data frame
        What `evaluate` returned; or several of them, concatenated.

    Returns
    -------
    data frame
        One row for each data set, measure and method, with the columns `mean`, `std` (NaN for a single value), `n`,
        `rank` (1 is best; ties share the mean of their ranks), `status` and `reason`. A method that did not
        finish on some fold has no mean, since a mean over the other folds would not compare.

    Examples
    --------
    >>> rows = [["music", method, fold, "exact_match", value, "ok", "", 0, "{}", ""] for method, fold, value in
    ...         [("CC", 0, 0.2), ("CC", 1, 0.4), ("MCC", 0, 0.3), ("MCC", 1, 0.5)]]
    >>> summarise(pd.DataFrame(rows, columns=COLUMNS))[["method", "mean", "std", "rank"]].round(3).to_numpy().tolist()
    [['CC', 0.3, 0.141, 2.0], ['MCC', 0.4, 0.141, 1.0]]
    """
    where = ["dataset", "protocol", "measure"]

    def one(group: pd.DataFrame) -> pd.Series:
        failed = group[group["status"] != OK]
        worst = failed[failed["status"] == DNF] if (failed["status"] == DNF).any() else failed
        values = group["value"] if failed.empty else pd.Series(dtype="float64")
        status, reason = (OK, "") if failed.empty else (worst["status"].iloc[0], worst["reason"].iloc[0])
        counted = int(group["value"].notna().sum())
        std = values.std() if np.isfinite(values).all() else np.nan
        return pd.Series({"mean": values.mean(), "std": std, "n": counted, "status": status, "reason": reason})

    columns = [*where, "method", "parameters", "mean", "std", "n", "status", "reason", "rank"]
    if results.empty:
        return pd.DataFrame(columns=columns)
    found = results.groupby([*where, "method", "parameters"], sort=False)[["value", "status", "reason"]].apply(one)
    found = found.reset_index().astype({"mean": "float64", "std": "float64", "n": "int64"})
    # Rounded, so that means that differ by rounding errors only are tied.
    sign = found["measure"].map(lambda name: -1.0 if name not in MEASURES or MEASURES[name].greater_is_better else 1.0)
    found["rank"] = (sign * found["mean"].round(12)).groupby([found[name] for name in where]).rank()
    return found[columns]


def fold_seed(seed: int, fingerprint: str, fold: int) -> int:
    """Return the seed that all methods share on one fold, whatever else is run and in whatever order."""
    found = hashlib.sha256(json.dumps([int(seed), fingerprint, int(fold)]).encode()).digest()
    return int.from_bytes(found[:4], "big") >> 1


def fingerprint(dataset: Dataset) -> str:
    """Return a hash of the contents of a data set: inputs, labels and their names."""
    found = hashlib.sha256()
    for table, names in ((dataset.X, dataset.feature_names), (dataset.Y, dataset.label_names)):
        found.update(json.dumps([str(name) for name in names]).encode())
        found.update(json.dumps([int(size) for size in table.shape]).encode())
        if isinstance(table, pd.DataFrame):
            found.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
        else:
            canonical = sp.csr_array(table, copy=True)
            canonical.sum_duplicates()
            canonical.eliminate_zeros()
            for part, kind in (("indptr", np.int64), ("indices", np.int64), ("data", np.float64)):
                found.update(np.ascontiguousarray(getattr(canonical, part), dtype=kind).tobytes())
    return found.hexdigest()[:16]


def describe_parameters(model: Any) -> str:
    """Return the type and parameters of an estimator as JSON.

    Functions are described by their code, so a changed function of the same name gives another text. Parameters
    that do not change predictions (`n_jobs`, `verbose`, a `random_state` of None) are left out.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> describe_parameters(Ridge(alpha=2, random_state=0))  # doctest: +ELLIPSIS
    '{"alpha": 2, ..., "random_state": 0, "solver": "auto", "tol": 0.0001, "type": "Ridge"}'
    """
    found: dict[str, Any] = {"type": type(model).__name__}
    for name, value in model.get_params(deep=True).items() if hasattr(model, "get_params") else ():
        last = name.rsplit("__", 1)[-1]
        if last not in ("n_jobs", "verbose") and not (last == "random_state" and value is None):
            found[name] = _described(value)
    return json.dumps(found, sort_keys=True)


def _described(value: Any) -> Any:
    """Return something that JSON can hold and that differs between different values."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "get_params"):  # the parameters of parts are listed under their own names
        return type(value).__name__
    if isinstance(value, list | tuple):
        return [_described(part) for part in value]
    if isinstance(value, partial):
        return ["partial", *map(_described, (value.func, value.args, sorted(value.keywords.items())))]
    value = getattr(value, "__wrapped__", value)  # compiled by numba, for example
    if isinstance(value, FunctionType):
        closure = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        # Version 2 of the format has no references, which depend on what else the process holds.
        parts = [marshal.dumps(value.__code__, 2).hex(), _described(value.__defaults__), _described(closure)]
        return [f"{value.__module__}.{value.__qualname__}", digest(parts)]
    try:
        return [type(value).__qualname__, joblib.hash(value)]
    except Exception:  # whatever pickling raises: nothing more is known about it
        return type(value).__qualname__


def _with_seed(method: Any, seed: int) -> Any:
    """Set every seed that is None: the estimator's own or, if it has none, those of its parts."""
    parameters = method.get_params(deep=True)
    names = [name for name in parameters if name.endswith("__random_state")]
    names = ["random_state"] if "random_state" in parameters else names
    return method.set_params(**{name: seed for name in names if parameters[name] is None})


def _check_methods(methods: Any) -> dict[str, Any]:
    if isinstance(methods, Mapping):
        found = {str(name): given for name, given in methods.items()}
        for name, given in found.items():
            if not isinstance(given, Method) and not all(hasattr(given, p) for p in ("fit", "predict", "get_params")):
                raise TypeError(f"`methods` has {name!r}: {given!r}, which is not an estimator with fit and predict.")
    else:
        chosen = map(find_method, [methods] if isinstance(methods, str) else methods)
        found = {method.name: method for method in chosen}
    if not found:
        raise ValueError("`methods` is empty: name at least one, e.g. methods=['MCC'].")
    return found


def _check_folds(folds: Any, seed: int) -> Any:
    if isinstance(folds, str):
        if folds == "random":
            return ShuffleSplit(100, test_size=1 / 3, random_state=seed)
        hint = nearest(folds, ("official", "random")) or "."
        raise ValueError(f"`folds={folds!r}` is not known{hint} Pass a number, 'official', 'random' or a splitter.")
    if isinstance(folds, Integral) and not isinstance(folds, bool):
        return LabelStratifiedKFold(int(folds), random_state=seed)
    if not hasattr(folds, "split"):
        raise TypeError(
            f"`folds={folds!r}` is not a splitter. Pass a number, e.g. folds=5, or LabelStratifiedKFold(5)."
        )
    if getattr(folds, "random_state", 0) is None and getattr(folds, "shuffle", True):
        folds = copy(folds)  # without a seed of its own, a run that resumes would get other folds
        folds.random_state = seed
    return folds
