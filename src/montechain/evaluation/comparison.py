"""Compare methods on the folds of a data set: train once, predict once, compute every measure from that prediction."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from numbers import Integral
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import uuid4

import joblib
import numpy as np
import pandas as pd
from sklearn.base import clone

from montechain._compilation import watch_compilation
from montechain.datasets import Dataset
from montechain.estimators import ChainClassifier
from montechain.estimators.table import TableClassifier
from montechain.evaluation.folds import LabelStratifiedKFold
from montechain.evaluation.jobs import DNF, OK, Job, ResultStore, run_jobs
from montechain.methods import Method, find_method, make_method
from montechain.metrics import SCORERS
from montechain.targets import factorise


class Measure(NamedTuple):
    """What a measure means; `scorer` names one of `montechain.metrics`."""

    description: str
    scorer: str = ""
    greater_is_better: bool = True


MEASURES: dict[str, Measure] = {
    "exact_match": Measure("share of rows whose known labels are all correct", "exact_match"),
    "hamming_score": Measure("share of known labels that are correct", "hamming"),
    "f1_instance": Measure("F1 of the relevant labels, mean over rows", "f1_instance"),
    "f1_micro": Measure("F1 of the relevant labels, over all cells", "f1_micro"),
    "f1_macro": Measure("F1 of the relevant labels, mean over labels", "f1_macro"),
    "jaccard": Measure("Jaccard index of the relevant labels, mean over rows", "jaccard"),
    "joint_log_likelihood": Measure("mean log p(true label vector | x)", "joint_log_loss"),
    "set_calibration_error": Measure(
        "distance between confidence in whole vectors and exact match", "set_calibration_error", False
    ),
    "certified": Measure("share of rows whose prediction is proven optimal under the model"),
    "fit_seconds": Measure("wall-clock time of fit, with the encoding of the inputs", greater_is_better=False),
    "predict_seconds": Measure("wall-clock time of predicting all test rows", greater_is_better=False),
}
"""Every measure by name."""


def measure_fold(model: Any, dataset: Dataset, parts: tuple[Any, Any]) -> dict[str, Any]:
    """Train a model on one part of a data set and test it on the other.

    `parts` are two data sets, or two arrays of positions in `dataset`. The prediction is that of `decide` where the
    model has it, else that of `predict`. Returns the ``values``, None where a measure is not defined, and ``notes``
    that say why.
    """
    if type(getattr(model, "classifier", model)).__module__.startswith("montechain."):
        _warm_up()
    train, test = (part if isinstance(part, Dataset) else dataset.take(part) for part in parts)
    values: dict[str, float | None] = {}
    model, values["fit_seconds"] = timed(model.fit, train.X, train.Y)
    answer, values["predict_seconds"] = timed(getattr(model, "decide", model.predict), test.X)
    predictions = _cached(model, answer, test)
    notes: dict[str, str] = {}
    for name in MEASURES:
        if name not in values:
            try:
                values[name] = _measured(name, predictions, test)
            except Exception as error:  # this method or these labels do not have this measure
                values[name], notes[name] = None, f"{type(error).__name__}: {error}"
    return {"values": values, "notes": notes}


@cache
def _warm_up() -> None:
    """Load the solver that most methods use, once per process, so that no method's time includes it."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    ChainClassifier().fit(X, (X[:, :3] > 0).astype(int))


def _measured(name: str, predictions: Any, test: Dataset) -> float:
    if name == "certified":
        if not hasattr(predictions, "decide"):
            raise TypeError("this method has no `decide`, so nothing is certified")
        return float(np.mean(predictions.decide(test.X).certified))
    measure = MEASURES[name]
    # Scorers turn every measure into "greater is better", but a log-likelihood already is.
    sign = 1.0 if measure.greater_is_better else -1.0
    value = sign * SCORERS[measure.scorer](predictions, test.X, test.Y)
    if np.isnan(value):
        raise ValueError("the value is not a number")
    return float(value) + 0.0


def _cached(model: Any, answer: Any, test: Dataset) -> SimpleNamespace:
    """Return a stand-in for the classifier that gives scorers the one prediction already made."""
    inner = getattr(model, "classifier_", model)
    kind = type(type(inner).__name__, (SimpleNamespace,), {})  # named as errors should name it
    found = kind(
        predict=lambda X: getattr(answer, "labels", answer),
        loss=getattr(inner, "loss", None),
        classes_=[factorise(np.array([*own, None], dtype=object)[:-1])[0] for own in test.classes],
    )
    if hasattr(model, "decide"):
        found.decide = lambda X: answer
    if hasattr(model, "log_joint"):
        found.log_joint = model.log_joint
    return found


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return a result and the seconds it took, without the compilation of kernels."""
    started = time.perf_counter()
    with watch_compilation() as compilation:
        result = function(*arguments)
    return result, time.perf_counter() - started - compilation.seconds


COLUMNS = ["dataset", "method", "fold", "measure", "value", "status", "reason", "seed", "parameters", "protocol"]


def evaluate(
    dataset: Dataset,
    methods: Any,
    *,
    folds: Any = 5,
    seed: int = 0,
    encoder: Any = None,
    store: ResultStore | str | Path | None = None,
    retry: bool = False,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    on_result: Callable[[pd.DataFrame], object] = lambda rows: None,
) -> pd.DataFrame:
    """Train and test methods on every fold of a data set.

    The encoding of the inputs is learned from the training part of each fold. Each method predicts once per fold, and
    all measures come from that prediction. Times do not include compilation. A method that fails or exceeds the time
    limit gets the status DNF with the reason, and the others continue.

    Parameters
    ----------
    dataset : Dataset
    methods : str, sequence of str, or mapping of str to methods or estimators
        Names that `make_method` knows; or your own names, each with a `Method` or an unfitted estimator, such as
        ``{"CC": make_method("CC", "svm")}``. A `random_state` of None is replaced by the seed of the fold.
    folds : int, "official" or splitter, default=5
        A number of `LabelStratifiedKFold`; the split the data set was published with; or any scikit-learn splitter.
        A splitter whose `random_state` is None gets `seed`.
    seed : int, default=0
        The seed of a fold is derived from it, the data and the fold's number. All methods share it, so a result does
        not depend on the other methods, and methods that draw an order draw the same one.
    encoder : transformer, "passthrough" or None, default=None
        Turns the inputs into numbers; None is a `TableEncoder`. With ``"passthrough"`` methods get the inputs as
        they are.
    store : ResultStore or path, optional
        A folder of results. Finished folds are written at once and not computed again, so an interrupted run resumes
        where it stopped. Results of other versions of montechain are ignored. A method that cannot be pickled, such as
        one with a lambda, is always computed again.
    retry : bool, default=False
        Whether to rerun what failed before.
    time_limit : float, optional
        Seconds for one method on one fold. Compiled code is interrupted only when it returns.
    n_jobs : int, optional
        Number of joblib workers, each running one method on one fold; ``joblib.parallel_config`` sets the backend.
    on_result : callable, optional
        Called with the rows of each method and fold as soon as they are known.

    Returns
    -------
    data frame
        One row for each fold, method and measure of `MEASURES`, in this order, with `dataset`, `method`, `fold`,
        `measure`, `value`, `status` ("ok", "undefined" or "DNF"), `reason`, `seed`, `parameters` and `protocol`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = pd.DataFrame({"x": np.arange(40.0)})
    >>> Y = pd.DataFrame({"low": (X["x"] < 20).astype(int), "high": (X["x"] > 30).astype(int)})
    >>> data = Dataset(X, Y, ["x"], [[0, 1], [0, 1]], name="numbers")
    >>> results = evaluate(data, {"tree": DecisionTreeClassifier()}, folds=2).query("measure == 'jaccard'")
    >>> results[["method", "fold", "measure", "value"]].round(2).to_numpy().tolist()
    [['tree', 0, 'jaccard', 0.9], ['tree', 1, 'jaccard', 0.9]]
    """
    if store is not None and not isinstance(store, ResultStore):
        store = ResultStore(store)
    jobs = fold_jobs(dataset, methods, folds=folds, seed=seed, encoder=encoder)

    def on_done(number: int, outcome: dict[str, Any]) -> None:
        on_result(_results_table([jobs[number]], [outcome]))

    outcomes = run_jobs(jobs, store=store, retry=retry, time_limit=time_limit, n_jobs=n_jobs, on_done=on_done)
    return _results_table(jobs, outcomes)


def fold_jobs(dataset: Dataset, methods: Any, *, folds: Any = 5, seed: int = 0, encoder: Any = None) -> list[Job]:
    """Return the jobs of `evaluate`, fold by fold, for `run_jobs`; parameters as there."""
    if not isinstance(dataset, Dataset):
        raise TypeError(f"`dataset` is a {type(dataset).__name__}: use read_dataset(file or frame, targets=[...]).")
    if not isinstance(methods, Mapping):
        names = [methods] if isinstance(methods, str) else methods
        methods = {method.name: method for method in map(find_method, names)}
    if isinstance(folds, str) and folds == "official":
        if dataset.split is None:
            raise ValueError(f"the data set {dataset.name!r} was published without a split. Pass a number: folds=5.")
        contents = "".join(fingerprint(part)[:8] for part in dataset.split)
        splits: list[tuple[Any, Any]] = [dataset.split]
        rows = [np.arange(len(part.Y)) for part in dataset.split]
    else:
        if isinstance(folds, Integral) and not isinstance(folds, bool):
            folds = LabelStratifiedKFold(int(folds), random_state=seed)
        if not hasattr(folds, "split") or isinstance(folds, str):
            raise TypeError(f"`folds={folds!r}` must be a number, such as folds=5, 'official' or a splitter.")
        if getattr(folds, "random_state", 0) is None and getattr(folds, "shuffle", True):
            folds = copy(folds)  # without a seed of its own, a run that resumes would get other folds
            folds.random_state = seed
        contents = fingerprint(dataset)
        splits = [(np.asarray(train), np.asarray(test)) for train, test in folds.split(dataset.X, dataset.Y)]
        rows = [part for split in splits for part in split]
    hashed = hashlib.sha256(b"|".join(np.int64(part).tobytes() for part in rows)).hexdigest()[:16]
    protocol = f"{_text(folds)}, rows {hashed}, encoder {'default' if encoder is None else _text(encoder)}"
    jobs = []
    for fold, parts in enumerate(splits):
        for name, method in methods.items():
            model = make_method(method) if isinstance(method, Method) else method
            own = clone(model)
            # Every seed that is None is set: the estimator's own or, if it has none, those of its parts.
            has = own.get_params(deep=True)
            seeds = ["random_state"] if "random_state" in has else [k for k in has if k.endswith("__random_state")]
            own.set_params(**{key: fold_seed(seed, contents, fold) for key in seeds if has[key] is None})
            if encoder != "passthrough":
                own = TableClassifier(own, encoder=None if encoder is None else clone(encoder))
            known = {"method": str(name), "fold": fold, "seed": seed, "parameters": _text(model), "protocol": protocol}
            run, labels = partial(measure_fold, own, dataset, parts), {"dataset": dataset.name, **known}
            jobs.append(Job({**known, "data": contents, "model": _model_hash(own)}, run, labels))
    return jobs


def _text(value: Any) -> str:
    return " ".join(repr(value).split())


def _model_hash(model: Any) -> str:
    """Return a hash of the parameters that change predictions; a new one at each call if they cannot be pickled."""
    parameters = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    kept = {
        name: type(value).__name__ if hasattr(value, "get_params") else value  # its parameters have names of their own
        for name, value in {"": model, **parameters}.items()
        if name.rsplit("__", 1)[-1] not in ("n_jobs", "verbose")
    }
    try:
        return joblib.hash(kept)
    except Exception:  # pickling may raise anything
        return uuid4().hex


def _results_table(jobs: Sequence[Job], outcomes: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the outcomes of `fold_jobs` as the tidy table that `evaluate` returns."""
    rows = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        found = outcome.get("values", {"values": {}, "notes": dict.fromkeys(MEASURES, outcome.get("reason", ""))})
        for measure in MEASURES:
            value = found["values"].get(measure)
            status = DNF if outcome["status"] == DNF else "undefined" if value is None else OK
            row = {"measure": measure, "value": value, "status": status, "reason": found["notes"].get(measure, "")}
            rows.append({**job.labels, **row})
    return pd.DataFrame(rows, columns=COLUMNS).astype({"value": "float64"})


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, standard deviation and rank of every method, by data set and measure.

    `results` are what `evaluate` returned, or several of these concatenated. There is one row for each data set,
    measure and method, with the columns `mean`, `std` (NaN for a single value), `n`, `rank` (1 is best; ties share the
    mean of their ranks), `status` and `reason`. A method that did not finish on some fold has no mean, since a mean
    over the other folds would not compare.
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
