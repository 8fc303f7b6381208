"""montechain's own methods: `AutoChainClassifier`, and the plain chain beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import montechain
from benchmarks.accuracy.answers import LOSSES, LOWEST_LOG, Answers, Clock
from benchmarks.accuracy.data import UNKNOWN, Task
from benchmarks.accuracy.peers import Method
from montechain import ChainClassifier, TableClassifier

AUTO = "auto_chain"
PLAIN = "plain_chain"


def _ours(make: Callable[[int], Any]) -> Callable[[Task, int, Clock], Answers]:
    """Return a method that fits once and then decides for each loss."""

    def run(task: Task, seed: int, clock: Clock) -> Answers:
        Y = task.Y_train
        if (Y == UNKNOWN).any():
            Y = np.where(Y == UNKNOWN, np.nan, Y)
        with clock("fit"):
            model = TableClassifier(make(seed)).fit(task.X_train, Y)
        vectors: dict[str, np.ndarray] = {}
        with clock("predict"):
            decision = _decide(model, task.X_test, "exact_match")
        vectors["exact_match"] = _codes(decision)
        for loss in LOSSES[1:]:
            if loss != "f1" or task.is_binary:
                vectors[loss] = _codes(_decide(model, task.X_test, loss))
        notes = {"model": type(model.classifier_).__name__, "inputs": list(model.notes_)}
        if hasattr(model.classifier_, "leaderboard_"):
            notes["leaderboard"] = str(model.classifier_.leaderboard_)
        certified, confidence = float(np.mean(decision.certified)), np.exp(decision.log_proba)
        return Answers(vectors, _log_truth(model, task), confidence, certified, notes)

    return run


def _decide(model: TableClassifier, X: Any, loss: str) -> Any:
    model.classifier_.set_params(loss=loss)
    return model.decide(X)


def _codes(decision: Any) -> np.ndarray:
    return np.asarray(decision.labels).astype(np.int64)


def _log_truth(model: TableClassifier, task: Task) -> np.ndarray:
    """Return log p of the true vectors; classes that the model has not seen get the smallest probability."""
    log_truth = np.full(len(task.Y_test), LOWEST_LOG)
    complete = (task.Y_test != UNKNOWN).all(axis=1)
    in_train = [np.isin(truth, codes) for truth, codes in zip(task.Y_test.T, task.Y_train.T, strict=True)]
    seen = np.logical_and.reduce(in_train)
    for rows in (np.flatnonzero(complete & seen), np.flatnonzero(complete & ~seen)):
        if len(rows):
            X = task.X_test.iloc[rows] if hasattr(task.X_test, "iloc") else task.X_test[rows]
            try:
                log_truth[rows] = model.log_joint(X, task.Y_test[rows])
            except ValueError:
                if seen[rows].all():
                    raise
    return log_truth


OURS: dict[str, Method] = {PLAIN: Method(_ours(lambda seed: ChainClassifier(random_state=seed)))}
if hasattr(montechain, "AutoChainClassifier"):
    OURS[AUTO] = Method(_ours(lambda seed: montechain.AutoChainClassifier(random_state=seed)))
