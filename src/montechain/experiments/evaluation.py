"""Methods on the folds of a data set: one tidy row for each method, fold and measure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from montechain._messages import nearest
from montechain.datasets.dataset import Dataset, Split
from montechain.experiments._interrupts import whole_or_interrupted
from montechain.experiments.folds import LabelStratifiedKFold, OfficialSplit, RandomSplits
from montechain.experiments.limits import Limits, Worker
from montechain.experiments.measures import Task, check_measures
from montechain.experiments.results import (
    Outcome,
    Result,
    Unit,
    describe_parameters,
    fingerprint,
    results_of,
    unit_seed,
)
from montechain.experiments.sharing import in_turn
from montechain.experiments.store import FINISHED, ResultStore

__all__ = ["evaluate"]

PASSTHROUGH = "passthrough"


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
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Train and test methods on every fold of a data set.

    The preparation of the inputs is learned on each training part alone. Each method predicts once per fold, and
    all measures are computed from that prediction. Times leave out compilation: before its first fold, each
    method of this package does a tiny problem once per process. A method that fails, or exceeds a limit,
    gets the status DNF with the reason, and the others go on.

    Parameters
    ----------
    dataset : Dataset
    methods : str, sequence of str, or mapping of str to methods or estimators
        Names that `make_method` knows; or names of your own, each with a `Method`, as in `METHODS` itself, or with an
        estimator that is not fitted. A `random_state` of it that is None is set.
    folds : int, "official", "random", or splitter, default=5
        A number of `LabelStratifiedKFold`; the `OfficialSplit`; a hundred `RandomSplits`; or any splitter of
        scikit-learn's kind. A splitter whose `random_state` is None gets `seed`.
    seed : int, default=0
        From it, the data set's contents and the number of the fold comes the seed of the methods: the same whatever
        else is run, and the same for all of them, so that methods which draw an order draw the same one.
    estimator : {"logistic", "svm"}, estimator or None, default=None
        The base classifier of methods that are no estimators yet; see `make_method`.
    loss : str, Loss or callable, optional
        What these methods take for the best label vector; see `make_method`.
    measures : iterable of str, optional
        Names of `MEASURES`; all of them by default.
    encoder : transformer, "passthrough" or None, default=None
        What makes numbers of the inputs: by default, a `TableEncoder`. With ``"passthrough"`` the methods get the
        inputs as they are.
    store : ResultStore or path, optional
        A file to keep results in. What it holds already is not computed again, so a run that was ended goes on
        where it was; two runs on one file share the work. Results of another version of montechain are not used.
    retry : bool, default=False
        Whether what failed is tried again. By default, only what exceeded a limit is, under a wider one.
    limits : Limits, optional
        Of time and memory, for one method on one fold. With limits, the work is done in a child process.
    on_result : callable, optional
        Called with each `Result` as soon as it is there, whether it is new or comes from the store.

    Returns
    -------
    list of Result
        By fold, then method, then measure.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = pd.DataFrame({"x": np.arange(40.0)})
    >>> Y = pd.DataFrame({"low": (X["x"] < 20).astype(int), "high": (X["x"] > 30).astype(int)})
    >>> data = Dataset(X, Y, ["x"], [[0, 1], [0, 1]], name="numbers")
    >>> results = evaluate(data, {"tree": DecisionTreeClassifier()}, folds=2, measures=["jaccard"])
    >>> [(r.method, r.fold, r.measure, round(r.value, 2)) for r in results]
    [('tree', 0, 'jaccard', 0.9), ('tree', 1, 'jaccard', 0.9)]
    """
    wanted = check_measures(measures)
    plan = _Plan(dataset, _check_methods(methods), _check_folds(folds, dataset, seed), seed, estimator, loss, encoder)
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"`limits={limits!r}` must be Limits, e.g. limits=Limits(seconds=3600, memory_gb=8).")
    if isinstance(store, str | Path):
        store = ResultStore(store)
    found: dict[int, list[Result]] = {}
    units = list(plan.units())
    if retry and store is not None:
        store.forget_failures(unit for unit, _, _ in units)
    turns = closing(in_turn(store, [(unit, wanted) for unit, _, _ in units], limits))
    with nullcontext() if limits is None else Worker(limits) as worker, turns as each:
        for number, state in each:
            unit, fold, method = units[number]
            if store is None:
                rows = results_of(unit, _do(plan.task(unit, fold, method, wanted), worker))
            elif state == FINISHED:
                rows = store.results(unit)
            else:
                # A unit is measured in one run: what was measured before is measured along with what is new.
                both = check_measures({*wanted, *store.measured(unit)})
                rows = store.finish(unit, _do(plan.task(unit, fold, method, both), worker), limits)
            found[number] = [row for row in rows if row.measure in wanted]
            for row in found[number] if on_result is not None else ():
                on_result(row)  # type: ignore[misc]
    return [row for number in sorted(found) for row in found[number]]


def _do(task: Task, worker: Worker | None) -> Outcome:
    if worker is not None:
        return worker.run(task)
    with whole_or_interrupted():
        task.prepare()
        outcome = task.run()
    return outcome


@dataclass(frozen=True)
class _Plan:
    """Which units there are, and how each becomes a task."""

    dataset: Dataset
    methods: Mapping[str, Any]
    folds: Any
    seed: int
    estimator: Any
    loss: Any
    encoder: Any

    def units(self) -> Iterator[tuple[Unit, int, str]]:
        whole = self._fingerprint()
        protocol = json.dumps(
            {
                "folds": " ".join(repr(self.folds).split()),
                "rows": self._rows_digest(),
                "encoder": self.encoder if self.encoder == PASSTHROUGH else describe_parameters(self.encoder),
            },
            sort_keys=True,
        )
        parameters = {name: describe_parameters(self._method(name, None)) for name in self.methods}
        for fold in range(len(self.rows)):
            for name in self.methods:
                yield Unit(self.dataset.name, whole, name, parameters[name], protocol, fold, self.seed), fold, name

    def task(self, unit: Unit, fold: int, name: str, measures: list[str]) -> Task:
        method = self._method(name, unit_seed(self.seed, unit.fingerprint, fold))
        if self.encoder == PASSTHROUGH:
            model = method
        else:
            from montechain.estimators.table import TableClassifier

            model = TableClassifier(method, encoder=None if self.encoder is None else clone(self.encoder))
        train, test = self._parts(fold)
        return Task(model, method, train.X, train.Y, test.X, test.Y, self.dataset.classes, measures)

    @cached_property
    def rows(self) -> list[tuple[np.ndarray, np.ndarray]]:
        if isinstance(self.folds, OfficialSplit):
            return list(self.folds.split())
        return [(np.asarray(a), np.asarray(b)) for a, b in self.folds.split(self.dataset.X, self.dataset.Y)]

    def _parts(self, fold: int) -> Split:
        if isinstance(self.folds, OfficialSplit):
            return Split(self.folds.train, self.folds.test)
        return Split(*(self.dataset.take(rows) for rows in self.rows[fold]))

    def _fingerprint(self) -> str:
        if isinstance(self.folds, OfficialSplit):
            return fingerprint(self.folds.train)[:8] + fingerprint(self.folds.test)[:8]
        return fingerprint(self.dataset)

    def _rows_digest(self) -> str:
        digest = hashlib.sha256()
        for train, test in self.rows:
            for rows in (train, test):
                digest.update(np.ascontiguousarray(rows, dtype=np.int64).tobytes() + b"|")
        return digest.hexdigest()[:16]

    def _method(self, name: str, seed: int | None) -> Any:
        from montechain.methods import Method, make_method

        given = self.methods[name]
        if isinstance(given, Method):
            return make_method(given, self.estimator, loss=self.loss, random_state=seed)
        method = clone(given)
        return method if seed is None else _with_seed(method, seed)


def _with_seed(method: Any, seed: int) -> Any:
    """Set the seeds that are None: that of the estimator itself, or, if it has none, those of its parts."""
    parameters = method.get_params(deep=True)
    if "random_state" in parameters:
        names = ["random_state"]
    else:
        names = [name for name in parameters if name.endswith("__random_state")]
    return method.set_params(**{name: seed for name in names if parameters[name] is None})


def _check_methods(methods: Any) -> dict[str, Any]:
    """Return names, each with a method or an estimator."""
    from montechain.methods import Method, find_method

    if isinstance(methods, Mapping):
        found = {str(name): given for name, given in methods.items()}
        for name, given in found.items():
            if not (
                isinstance(given, Method) or all(hasattr(given, part) for part in ("fit", "predict", "get_params"))
            ):
                raise TypeError(f"`methods` has {name!r}: {given!r}, which is no estimator: it needs fit and predict.")
    else:
        # One spelling for each, since results go by it.
        chosen = map(find_method, [methods] if isinstance(methods, str) else methods)
        found = {method.name: method for method in chosen}
    if not found:
        raise ValueError("`methods` is empty: name at least one, e.g. methods=['MCC'].")
    return found


def _check_folds(folds: Any, dataset: Dataset, seed: int) -> Any:
    if isinstance(folds, str):
        if folds == "official":
            return OfficialSplit(dataset)
        if folds == "random":
            return RandomSplits(random_state=seed)
        hint = nearest(folds, ("official", "random")) or "."
        raise ValueError(f"`folds={folds!r}` is not known{hint} Pass a number, 'official', 'random' or a splitter.")
    if isinstance(folds, Integral) and not isinstance(folds, bool):
        return LabelStratifiedKFold(int(folds), random_state=seed)
    if not hasattr(folds, "split"):
        raise TypeError(f"`folds={folds!r}` is no splitter. Pass a number, e.g. folds=5, or LabelStratifiedKFold(5).")
    # Without a seed of its own a splitter would give other folds to the run that continues this one.
    if getattr(folds, "random_state", 0) is None and getattr(folds, "shuffle", True):
        folds = copy(folds)
        folds.random_state = seed
    return folds
