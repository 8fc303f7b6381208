"""Train once, predict once, and compute every measure from that one prediction."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from montechain._compilation import watch_compilation
from montechain.datasets import Dataset
from montechain.estimators import ChainClassifier
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
    "f1_class": Measure("F1 of each class, mean over the classes of a label, then over labels", "f1_class"),
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
    model has it, else that of `predict`.

    Returns
    -------
    dict
        ``values``, None where a measure is not defined, and ``notes`` that say why.
    """
    if type(getattr(model, "classifier", model)).__module__.startswith("montechain."):
        _warm_up()
    train, test = (part if isinstance(part, Dataset) else dataset.take(part) for part in parts)
    values: dict[str, float | None] = {}
    model, values["fit_seconds"] = _timed(model.fit, train.X, train.Y)
    answer, values["predict_seconds"] = _timed(getattr(model, "decide", model.predict), test.X)
    predictions = _cached(model, answer, test)
    notes: dict[str, str] = {}
    for name in MEASURES:
        if name not in values:
            try:
                values[name] = _measured(name, predictions, train, test, notes)
            except Exception as error:  # this method or these labels do not have this measure
                values[name], notes[name] = None, f"{type(error).__name__}: {error}"
    return {"values": values, "notes": notes}


@cache
def _warm_up() -> None:
    """Load the solver that most methods use, once per process, so that no method's time includes it."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    ChainClassifier().fit(X, (X[:, :3] > 0).astype(int))


def _measured(name: str, predictions: Any, train: Dataset, test: Dataset, notes: dict[str, str]) -> float:
    if name == "certified":
        if not hasattr(predictions, "decide"):
            raise TypeError("this method certifies nothing: it has no method decide")
        return float(np.mean(predictions.decide(test.X).certified))
    if name == "joint_log_likelihood" and hasattr(predictions, "log_joint"):
        # No method has a probability for a class that the training part lacks.
        known = [test.Y[label].isna() | test.Y[label].isin(train.Y[label].dropna().unique()) for label in test.Y]
        rows = np.logical_and.reduce([column.to_numpy(dtype=bool) for column in known])
        if not rows.any():
            raise ValueError("every test row has a class that the training part lacks")
        if not rows.all():
            notes[name] = f"over the {rows.sum()} of {len(rows)} rows whose classes all occur in the training part"
            test = test.take(np.flatnonzero(rows))
    measure = MEASURES[name]
    # Scorers turn every measure into "greater is better", but a log-likelihood already is.
    sign = 1.0 if measure.greater_is_better else -1.0
    value = sign * SCORERS[measure.scorer](predictions, test.X, test.Y)
    if np.isnan(value):
        raise ValueError("the value is not a number")
    return float(value) + 0.0


def _cached(model: Any, answer: Any, test: Dataset) -> SimpleNamespace:
    """Return what scorers take for a classifier, whose answers are those of the one prediction."""
    inner = getattr(model, "classifier_", model)
    found = SimpleNamespace(
        predict=lambda X: getattr(answer, "labels", answer),
        unknown=getattr(inner, "unknown", None),
        loss=getattr(inner, "loss", None),
        classes_=[factorise(np.array([*own, None], dtype=object)[:-1])[0] for own in test.classes],
    )
    if hasattr(model, "decide"):
        found.decide = lambda X: answer
    if hasattr(model, "log_joint"):
        found.log_joint = model.log_joint
    return found


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return a result and the seconds it took, without the compilation of kernels."""
    started = time.perf_counter()
    with watch_compilation() as compilation:
        result = function(*arguments)
    return result, time.perf_counter() - started - compilation.seconds
