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
from uuid import uuid4

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone

from montechain.datasets import Dataset
from montechain.estimators.table import TableClassifier
from montechain.evaluation.folds import LabelStratifiedKFold
from montechain.evaluation.jobs import DNF, OK, Job, ResultStore, run_jobs
from montechain.evaluation.measures import MEASURES, check_measures, measure_fold
from montechain.methods import Method, find_method, make_method

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
    time_limit: float | None = None,
    n_jobs: int | None = None,
    on_result: Callable[[pd.DataFrame], object] = lambda rows: None,
) -> pd.DataFrame:
    """Train and test methods on every fold of a data set.

    The encoding of the inputs is learned from the training part of each fold. Each method predicts once per fold, and
    all measures come from that prediction. Times do not include compilation. A method that fails or exceeds the
    time limit gets the status DNF with the reason, and the others go on.

    Parameters
    ----------
    dataset : Dataset
    methods : str, sequence of str, or mapping of str to methods or estimators
        Names that `make_method` knows; or your own names, each with a `Method` or an unfitted estimator. A
        `random_state` of None is replaced by the seed of the fold.
    folds : int, "official" or splitter, default=5
        A number of `LabelStratifiedKFold`; the split the data set was published with; or any scikit-learn splitter.
        A splitter whose `random_state` is None gets `seed`.
    seed : int, default=0
        The seed of a fold is derived from it, the data and the fold's number. All methods share it, so a result does
        not depend on the other methods, and methods that draw an order draw the same one.
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
        A folder of results. Finished folds are written at once and are not computed again, so an interrupted
        run resumes where it stopped. Results of another version of montechain are not used.
    retry : bool, default=False
        Run again what failed before.
    time_limit : float, optional
        Seconds for one method on one fold. A method that is in compiled code is ended when that returns.
    n_jobs : int, optional
        Number of methods and folds that run at a time, by joblib. ``joblib.parallel_config`` chooses where.
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
    if store is not None and not isinstance(store, ResultStore):
        store = ResultStore(store)
    jobs = fold_jobs(dataset, methods, folds=folds, seed=seed, estimator=estimator, loss=loss, encoder=encoder)

    def on_done(number: int, outcome: dict[str, Any]) -> None:
        on_result(_results_table([jobs[number]], [outcome], wanted))

    outcomes = run_jobs(jobs, store=store, retry=retry, time_limit=time_limit, n_jobs=n_jobs, on_done=on_done)
    return _results_table(jobs, outcomes, wanted)


def fold_jobs(
    dataset: Dataset,
    methods: Any,
    *,
    folds: Any = 5,
    seed: int = 0,
    estimator: Any = None,
    loss: Any = None,
    encoder: Any = None,
) -> list[Job]:
    """Return the jobs of `evaluate`, fold by fold, for `run_jobs`; parameters as there."""
    named = _check_methods(methods)
    if isinstance(folds, str) and folds == "official":
        if dataset.split is None:
            raise ValueError(f"the data set {dataset.name!r} was published without a split. Pass a number: folds=5.")
        contents = "".join(fingerprint(part)[:8] for part in dataset.split)
        splits: list[tuple[Any, Any]] = [dataset.split]
        rows = [np.arange(len(part.Y)) for part in dataset.split]
    else:
        folds = _check_folds(folds, seed)
        contents = fingerprint(dataset)
        splits = [(np.asarray(train), np.asarray(test)) for train, test in folds.split(dataset.X, dataset.Y)]
        rows = [part for split in splits for part in split]
    hashed = hashlib.sha256(b"|".join(np.int64(part).tobytes() for part in rows)).hexdigest()[:16]
    described = encoder if encoder == "passthrough" or encoder is None else describe_parameters(encoder)
    protocol = f"{' '.join(repr(folds).split())}, rows {hashed}, encoder {described or 'default'}"

    def model(given: Any, seed: int | None) -> Any:
        if isinstance(given, Method):
            return make_method(given, estimator, loss=loss, random_state=seed)
        return _with_seed(clone(given), seed)

    jobs = []
    parameters = {name: describe_parameters(model(given, None)) for name, given in named.items()}
    for fold, parts in enumerate(splits):
        for name, given in named.items():
            own = model(given, fold_seed(seed, contents, fold))
            if encoder != "passthrough":
                own = TableClassifier(own, encoder=None if encoder is None else clone(encoder))
            known = {"method": name, "fold": fold, "seed": seed, "parameters": parameters[name], "protocol": protocol}
            run, labels = partial(measure_fold, own, dataset, parts), {"dataset": dataset.name, **known}
            jobs.append(Job({"data": contents, **known}, run, labels))
    return jobs


def _results_table(jobs: Sequence[Job], outcomes: Sequence[dict[str, Any]], measures: list[str]) -> pd.DataFrame:
    """Return the outcomes of `fold_jobs` as the tidy table that `evaluate` returns."""
    rows = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        for measure in measures:
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
    key = [*where, "method", "parameters"]
    found = results.groupby(key, sort=False)["value"].agg(["mean", "std", "count"])
    worst_last = results.sort_values("status", key=lambda status: status.map([OK, "undefined", DNF].index))
    found[["status", "reason"]] = worst_last.groupby(key)[["status", "reason"]].last()
    found = found.rename(columns={"count": "n"}).reset_index()
    finished = found["status"] == OK
    found.loc[~finished, ["mean", "std"]] = np.nan
    found.loc[finished, "reason"] = ""
    # Rounded, so that means that differ by rounding errors only are tied.
    lower_is_better = [name for name, measure in MEASURES.items() if not measure.greater_is_better]
    signed = found["mean"].round(12).where(found["measure"].isin(lower_is_better), -found["mean"].round(12))
    found["rank"] = signed.groupby([found[name] for name in where]).rank()
    return found


def fold_seed(seed: int, fingerprint: str, fold: int) -> int:
    """Return the seed that all methods share on one fold. It does not depend on what runs before it."""
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
            for part in (np.int64(table.indptr), np.int64(table.indices), np.float64(table.data)):
                found.update(part.tobytes())
    return found.hexdigest()[:16]


def describe_parameters(model: Any) -> str:
    """Return the type and parameters of an estimator as JSON.

    Functions are described by their code, so a changed function of the same name gives another text. Parameters
    that do not change predictions, `n_jobs` and `verbose`, are left out.
    """
    parameters = model.get_params(deep=True).items()
    kept = {name: value for name, value in parameters if name.rsplit("__", 1)[-1] not in ("n_jobs", "verbose")}
    return json.dumps({"type": type(model).__name__, **kept}, sort_keys=True, default=_described)


def _described(value: Any) -> Any:
    """Return something that JSON can hold and that differs between different values."""
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "get_params"):  # the parameters of parts are listed under their own names
        return type(value).__name__
    if isinstance(value, FunctionType):
        closure = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        # Version 2 of the format has no references, which differ between processes.
        return [value.__qualname__, marshal.dumps(value.__code__, 2).hex(), value.__defaults__, closure]
    try:
        return [type(value).__qualname__, joblib.hash(value)]
    except Exception:  # pickling may raise anything; a value that cannot be pickled equals no other
        return [type(value).__qualname__, uuid4().hex]


def _with_seed(method: Any, seed: int | None) -> Any:
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
        raise ValueError(f"`folds={folds!r}` is not known. Pass a number, 'official' or a splitter.")
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
