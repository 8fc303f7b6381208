"""Train once, predict once, and compute every measure from that one prediction."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import psutil
import scipy.sparse as sp
from sklearn.base import clone

from montechain._compilation import watch_compilation
from montechain._messages import nearest
from montechain.datasets import Dataset
from montechain.metrics import SCORERS
from montechain.targets import factorise

__all__ = ["MEASURES", "FoldWork", "Measure", "check_measures", "warm_up"]


class Measure(NamedTuple):
    """What a measure means; `scorer` names one of `montechain.metrics`; times and memory are not `repeatable`."""

    greater_is_better: bool
    description: str
    scorer: str = ""
    repeatable: bool = True


MEASURES: dict[str, Measure] = {
    "exact_match": Measure(True, "share of rows whose known labels are all correct", "exact_match"),
    "hamming_score": Measure(True, "share of known labels that are correct", "hamming"),
    "f1_instance": Measure(True, "F1 of the relevant labels, mean over rows", "f1_instance"),
    "f1_micro": Measure(True, "F1 of the relevant labels, over all cells", "f1_micro"),
    "f1_macro": Measure(True, "F1 of the relevant labels, mean over labels", "f1_macro"),
    "f1_class": Measure(True, "F1 of each class, mean over the classes of a label, then over labels", "f1_class"),
    "jaccard": Measure(True, "Jaccard index of the relevant labels, mean over rows", "jaccard"),
    "joint_log_likelihood": Measure(True, "mean log p(true label vector | x)", "joint_log_loss"),
    "set_calibration_error": Measure(
        False, "distance between confidence in whole vectors and exact match", "set_calibration_error"
    ),
    "certified": Measure(True, "share of rows whose prediction is proven optimal under the model"),
    "fit_seconds": Measure(False, "wall-clock time of fit, with the encoding of the inputs", repeatable=False),
    "predict_seconds": Measure(False, "wall-clock time of predicting all test rows", repeatable=False),
    "fit_cpu_seconds": Measure(False, "CPU time of fit, over all threads", repeatable=False),
    "predict_cpu_seconds": Measure(False, "CPU time of predicting, over all threads", repeatable=False),
    "peak_memory_mb": Measure(False, "peak memory of the process in MiB, data included", repeatable=False),
}
"""Every measure by name."""


def check_measures(measures: Iterable[str] | None) -> list[str]:
    """Return the requested measures in the order of `MEASURES`; all of them for None.

    Examples
    --------
    >>> check_measures(["jaccard", "exact_match"])
    ['exact_match', 'jaccard']
    >>> check_measures(["exact"])
    Traceback (most recent call last):
        ...
    ValueError: there is no measure 'exact'; did you mean 'exact_match'? There are 'exact_match', ...
    """
    wanted = list(MEASURES) if measures is None else [measures] if isinstance(measures, str) else list(measures)
    for name in wanted:
        if name not in MEASURES:
            known = ", ".join(map(repr, MEASURES))
            raise ValueError(f"there is no measure {name!r}{nearest(str(name), MEASURES) or '.'} There are {known}.")
    if not wanted:
        raise ValueError("`measures` is empty: name at least one, e.g. measures=['exact_match'].")
    return [name for name in MEASURES if name in wanted]


@dataclass(frozen=True)
class FoldWork:
    """Train a model, which is not fitted, on one part of a data set and test it on another."""

    model: Any
    train: Dataset
    test: Dataset
    measures: list[str]

    def prepare(self) -> None:
        """Compile what will be called, so that it is not timed."""
        multi_class = any(len(classes) > 2 for classes in self.train.classes)
        method = getattr(self.model, "classifier", self.model)
        warm_up(method, sparse=sp.issparse(self.train.X), multi_class=multi_class)

    def run(self) -> dict[str, Any]:
        """Return ``values``, None where a measure is not defined, and ``notes`` that say why.

        The prediction is that of `decide` where the model has it, else that of `predict`.
        """
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark below
        values: dict[str, float | None] = {}
        model, values["fit_seconds"], values["fit_cpu_seconds"] = _timed(self.model.fit, self.train.X, self.train.Y)
        ask = model.decide if hasattr(model, "decide") else model.predict
        answer, values["predict_seconds"], values["predict_cpu_seconds"] = _timed(ask, self.test.X)
        values["peak_memory_mb"] = _peak_memory_mb()
        predictions = _cached(model, answer, self.test.classes)
        notes: dict[str, str] = {}
        for name in self.measures:
            if name not in values:
                try:
                    values[name], notes[name] = self._measured(name, predictions)
                except Exception as error:  # this method or these labels do not have this measure
                    values[name], notes[name] = None, f"{type(error).__name__}: {error}"
        return {
            "values": {name: values[name] for name in self.measures},
            "notes": {name: note for name, note in notes.items() if note},
        }

    def _measured(self, name: str, predictions: SimpleNamespace) -> tuple[float | None, str]:
        test, note = self.test, ""
        if name == "certified":
            if not hasattr(predictions, "decide"):
                raise TypeError("this method certifies nothing: it has no method decide")
            return float(np.mean(predictions.decide(test.X).certified)), note
        if name == "joint_log_likelihood" and hasattr(predictions, "log_joint"):
            rows = _rows_with_seen_classes(self.train.Y, test.Y)
            if not rows.any():
                raise ValueError("every test row has a class that the training part lacks")
            if not rows.all():
                note = f"over the {rows.sum()} of {len(rows)} rows whose classes all occur in the training part"
                test = test.take(np.flatnonzero(rows))
        measure = MEASURES[name]
        # Scorers turn every measure into "greater is better", but a log-likelihood already is.
        sign = 1.0 if measure.greater_is_better else -1.0
        value = sign * SCORERS[measure.scorer](predictions, test.X, test.Y)
        return (None, note or "the value is not a number") if np.isnan(value) else (float(value) + 0.0, note)


def _cached(model: Any, answer: Any, classes: Sequence[Sequence[Any]]) -> SimpleNamespace:
    """Return what scorers take for a classifier, whose answers are those of the one prediction."""
    inner = getattr(model, "classifier_", model)
    found = SimpleNamespace(
        predict=lambda X: getattr(answer, "labels", answer),
        unknown=getattr(inner, "unknown", None),
        loss=getattr(inner, "loss", None),
        classes_=[factorise(np.array([*own, None], dtype=object)[:-1])[0] for own in classes],
    )
    if hasattr(model, "decide"):
        found.decide = lambda X: answer
    if hasattr(model, "log_joint"):
        found.log_joint = model.log_joint
    return found


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """Return a result and the time it took, wall-clock and CPU, without the compilation of kernels."""
    wall, cpu = time.perf_counter(), time.process_time()
    with watch_compilation() as compilation:
        result = function(*arguments)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return result, wall - compilation.seconds, cpu - compilation.cpu_seconds


def _peak_memory_mb() -> float:
    """Return the kernel's high-water mark, or, on systems without one, the memory held now."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024.0
    return psutil.Process().memory_info().rss / 2**20


def _rows_with_seen_classes(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """Return which test rows have only classes that occur in training: of others no method has a probability."""
    seen = [test[name].isna() | test[name].isin(train[name].dropna().unique()) for name in test]
    return np.logical_and.reduce([column.to_numpy(dtype=bool) for column in seen])


_WARM: set[tuple[str, bool, bool]] = set()


def warm_up(method: Any, *, sparse: bool = False, multi_class: bool = False) -> None:
    """Fit a clone to a tiny problem, once per process and method, so that compilation is not timed later.

    `sparse` says whether inputs are a CSR array, `multi_class` whether some label has more than two classes. Only
    methods of this package, or ones that contain a part of it, have anything to compile.
    """
    parts = [method, *(method.get_params(deep=True).values() if hasattr(method, "get_params") else ())]
    key = repr(method), sparse, multi_class
    if key in _WARM or not any(type(part).__module__.split(".")[0] == "montechain" for part in parts):
        return
    _WARM.add(key)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    Y = (X[:, :3] + rng.normal(size=(30, 3)) > 0).astype(int)
    if multi_class:
        Y[:, 0] += X[:, 3] > 0.5
    X = sp.csr_array(X) if sparse else X
    # Whatever fails here, the real problem will tell.
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        tiny = clone(method)
        known = tiny.get_params(deep=False)
        fixed = {"random_state": 0, "verbose": False}
        tiny.set_params(**{name: value for name, value in fixed.items() if name in known}).fit(X, Y)
        labels = tiny.decide(X).labels if hasattr(tiny, "decide") else tiny.predict(X)
        if hasattr(tiny, "log_joint"):
            tiny.log_joint(X, labels)
