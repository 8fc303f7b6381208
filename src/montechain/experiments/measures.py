"""Train once, predict once, and compute every measure from that one prediction."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from montechain._messages import nearest
from montechain.experiments._memory import PeakMemory
from montechain.experiments.results import OK, UNDEFINED, Measurement, Outcome, describe_parameters
from montechain.metrics import SCORERS
from montechain.targets import TargetTable, as_columns, factorise

__all__ = ["MEASURES", "Measure", "Task", "check_measures", "measure", "warm_up"]


class Measure(NamedTuple):
    """A measure.

    Attributes
    ----------
    greater_is_better : bool
    description : str
    repeatable : bool
        Whether another run gives the same value: times and memory are not.
    """

    greater_is_better: bool
    description: str
    repeatable: bool = True


MEASURES: dict[str, Measure] = {
    "exact_match": Measure(True, "share of rows whose known labels are all right"),
    "hamming_score": Measure(True, "share of known cells that are right"),
    "f1_instance": Measure(True, "F1 of the relevant labels, mean over rows"),
    "f1_micro": Measure(True, "F1 of the relevant labels, over all cells"),
    "f1_macro": Measure(True, "F1 of the relevant labels, mean over labels"),
    "f1_class": Measure(True, "F1 of each class, mean over the classes of a label, then over labels"),
    "jaccard": Measure(True, "Jaccard index of the relevant labels, mean over rows"),
    "joint_log_likelihood": Measure(True, "mean log p(true label vector | x)"),
    "set_calibration_error": Measure(False, "distance between confidence in whole vectors and exact match"),
    "certified": Measure(True, "share of rows whose prediction is proven to be the best under the model"),
    "fit_seconds": Measure(False, "wall-clock time of fit, preparation of the inputs included", False),
    "predict_seconds": Measure(False, "wall-clock time of the prediction of all test rows", False),
    "fit_cpu_seconds": Measure(False, "processor time of fit, over all threads", False),
    "predict_cpu_seconds": Measure(False, "processor time of the prediction, over all threads", False),
    "peak_memory_mb": Measure(False, "most memory that the process held at a time, in MiB, data included", False),
}
"""Every measure by name."""

# Measure -> (scorer of `montechain.metrics`, sign that takes back the scorer's "greater is better").
SCORED = {
    "exact_match": ("exact_match", 1.0),
    "hamming_score": ("hamming", 1.0),
    "f1_instance": ("f1_instance", 1.0),
    "f1_micro": ("f1_micro", 1.0),
    "f1_macro": ("f1_macro", 1.0),
    "f1_class": ("f1_class", 1.0),
    "jaccard": ("jaccard", 1.0),
    "joint_log_likelihood": ("joint_log_loss", 1.0),
    "set_calibration_error": ("set_calibration_error", -1.0),
}


def check_measures(measures: Iterable[str] | None) -> list[str]:
    """Return the measures that are wanted, in the order of `MEASURES`; all of them for None.

    Examples
    --------
    >>> check_measures(["jaccard", "exact_match"])
    ['exact_match', 'jaccard']
    >>> check_measures(["exact"])
    Traceback (most recent call last):
        ...
    ValueError: there is no measure 'exact'; did you mean 'exact_match'? There are 'exact_match', ...
    """
    if measures is None:
        return list(MEASURES)
    wanted = [measures] if isinstance(measures, str) else list(measures)
    for name in wanted:
        if name not in MEASURES:
            known = ", ".join(map(repr, MEASURES))
            raise ValueError(f"there is no measure {name!r}{nearest(str(name), MEASURES) or '.'} There are {known}.")
    if not wanted:
        raise ValueError("`measures` is empty: name at least one, e.g. measures=['exact_match'].")
    return [name for name in MEASURES if name in wanted]


@dataclass(frozen=True)
class Task:
    """One method to be trained on one part and tested on another: all that a child process needs.

    Attributes
    ----------
    model : estimator
        Not fitted; takes the inputs as they are.
    method : estimator
        The classifier in `model` that the compiled kernels are warmed up with.
    X_train, Y_train, X_test, Y_test
    classes : list of L lists
        The classes that the data set declares.
    measures : list of str
    """

    model: Any
    method: Any
    X_train: Any
    Y_train: Any
    X_test: Any
    Y_test: Any
    classes: Sequence[Sequence[Any]]
    measures: list[str]

    def prepare(self) -> None:
        """Compile what will be called, so that it is not timed."""
        warm_up(self.method, sparse=sp.issparse(self.X_train), multi_class=any(len(c) > 2 for c in self.classes))

    def run(self) -> Outcome:
        """Train, predict, and measure; a method that fails gives DNF."""
        try:
            return Outcome(measure(self))
        except MemoryError as error:
            return Outcome.did_not_finish(self.measures, "memory", f"out of memory: {error}")
        except Exception as error:  # whatever a method raises, the others still run
            return Outcome.did_not_finish(self.measures, "error", f"{type(error).__name__}: {error}")


def measure(task: Task) -> list[Measurement]:
    """Return the measurements of one task, all from a single prediction.

    Where the method has `decide`, that is the prediction; else `predict` is. Every measure that is wanted has
    exactly one measurement: where it is not defined, this says why.
    """
    with PeakMemory() as memory:
        model, fit_seconds, fit_cpu = _timed(task.model.fit, task.X_train, task.Y_train)
        decides = hasattr(model, "decide")
        answer, predict_seconds, predict_cpu = _timed(model.decide if decides else model.predict, task.X_test)
    answered = Answered(model, answer if decides else None, answer.labels if decides else answer, task.classes)
    figures = {
        "fit_seconds": fit_seconds,
        "fit_cpu_seconds": fit_cpu,
        "predict_seconds": predict_seconds,
        "predict_cpu_seconds": predict_cpu,
        "peak_memory_mb": memory.peak_mb,
    }
    found = []
    for name in task.measures:
        if name in figures:
            found.append(_value(name, figures[name]))
            continue
        try:
            found.append(_certified(answered) if name == "certified" else _scored(name, answered, task))
        except Exception as error:  # a measure that this method or these labels do not have
            found.append(Measurement(name, None, UNDEFINED, f"{type(error).__name__}: {error}"))
    return found


class Answered:
    """A fitted classifier that has already predicted: the scorers of `montechain.metrics` ask it in vain again."""

    def __init__(self, model: Any, decision: Any, labels: Any, classes: Sequence[Sequence[Any]]):
        inner = getattr(model, "classifier_", model)
        self.labels = labels
        self.decision = decision
        self.unknown = getattr(inner, "unknown", None)
        self.loss = getattr(inner, "loss", None)
        self.classes_ = _sorted_classes(classes)
        if decision is not None:
            self.decide = lambda X: decision
        if hasattr(model, "log_joint"):
            self.log_joint = model.log_joint

    def predict(self, X: Any) -> Any:
        """Return the one prediction."""
        return self.labels


def _scored(name: str, answered: Answered, task: Task) -> Measurement:
    scorer, sign = SCORED[name]
    X, Y, note = task.X_test, task.Y_test, ""
    if name == "joint_log_likelihood" and hasattr(answered, "log_joint"):
        rows = _rows_with_seen_classes(as_columns(task.Y_train), as_columns(Y))
        if not rows.all():
            note = f"over the {int(rows.sum())} of {len(rows)} rows whose classes all occur in the training part"
            if not rows.any():
                raise ValueError("every test row has a class that the training part lacks")
            X, Y = _safe_indexing(X, np.flatnonzero(rows)), _safe_indexing(Y, np.flatnonzero(rows))
    return _value(name, sign * SCORERS[scorer](answered, X, Y), note)


def _certified(answered: Answered) -> Measurement:
    certified = getattr(answered.decision, "certified", None)
    if certified is None:
        raise TypeError("this method certifies nothing: it has no method decide")
    return _value("certified", float(np.mean(certified)))


def _value(name: str, value: float, note: str = "") -> Measurement:
    if np.isnan(value):
        return Measurement(name, None, UNDEFINED, note or "the value is not a number")
    return Measurement(name, float(value) + 0.0, OK, note)  # no negative zero


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, time.perf_counter() - wall, time.process_time() - processor


def _rows_with_seen_classes(train: TargetTable, test: TargetTable) -> np.ndarray:
    """Return the test rows whose known classes all occur in training: of others no method knows a probability."""
    rows = np.ones(test.shape[0], dtype=bool)
    for j, (column, other) in enumerate(zip(train.columns, test.columns, strict=True)):
        seen = set(factorise(column[train.known[:, j]])[0].tolist())
        known = test.known[:, j]
        classes, codes = factorise(other[known])
        rows[known] &= np.array([value in seen for value in classes.tolist()], dtype=bool)[codes]
    return rows


def _sorted_classes(classes: Sequence[Sequence[Any]]) -> list[np.ndarray]:
    columns = []
    for label_classes in classes:
        values = np.empty(len(label_classes), dtype=object)
        values[:] = list(label_classes)
        columns.append(factorise(values)[0])
    return columns


_WARM: set[tuple[str, bool, bool]] = set()


def warm_up(method: Any, *, sparse: bool = False, multi_class: bool = False) -> None:
    """Fit and predict a tiny problem once per process and method, so that compilation is not timed later.

    Only methods of this package, or ones that hold a part of it, have kernels to compile. A method that cannot
    do the tiny problem is left as it is.

    Parameters
    ----------
    method : estimator
        It is not changed.
    sparse : bool
        Whether the inputs are a CSR array.
    multi_class : bool
        Whether some label has more than two classes.
    """
    if not _is_ours(method):
        return
    key = describe_parameters(method), sparse, multi_class
    if key in _WARM:
        return
    _WARM.add(key)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    Y = (X[:, :3] + rng.normal(size=(30, 3)) > 0).astype(int)
    if multi_class:
        Y[:, 0] += X[:, 3] > 0.5
    X = sp.csr_array(X) if sparse else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tiny = clone(method)
            if "random_state" in tiny.get_params(deep=False):
                tiny.set_params(random_state=0)
            if "verbose" in tiny.get_params(deep=False):
                tiny.set_params(verbose=False)
            tiny.fit(X, Y)
            answer = tiny.decide(X).labels if hasattr(tiny, "decide") else tiny.predict(X)
            if hasattr(tiny, "log_joint"):
                tiny.log_joint(X, answer)
        except Exception:  # the real problem will tell
            return


def _is_ours(method: Any) -> bool:
    parts = [method, *(method.get_params(deep=True).values() if hasattr(method, "get_params") else ())]
    return any(type(part).__module__.split(".")[0] == "montechain" for part in parts)
