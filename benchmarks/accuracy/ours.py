"""montechain's own methods: `AutoChainClassifier`, the plain chain beside it, and the command line on real tables."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.accuracy.answers import LOSSES, LOWEST_LOG, Answers, Clock
from benchmarks.accuracy.data import UNKNOWN, Task
from benchmarks.accuracy.peers import Method
from montechain import AutoChainClassifier, ChainClassifier, TableClassifier

AUTO = "auto_chain"
PLAIN = "plain_chain"
COMMAND_LINE = "command_line"


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


def command_line(task: Task, seed: int, clock: Clock) -> Answers:
    """`montechain fit` and `montechain predict` on CSV files, with no option but the targets."""
    targets = [f"target{j}" for j in range(len(task.n_classes))]

    def words(Y: np.ndarray) -> pd.DataFrame:
        return pd.DataFrame({name: [f"class{code}" for code in own] for name, own in zip(targets, Y.T, strict=True)})

    def run(work: str, *arguments: str) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([sys.executable, "-m", "montechain", *arguments], check=True, capture_output=True)
        clock.seconds[work] += resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    with TemporaryDirectory() as folder:
        train, test, model, predicted = (str(Path(folder, name)) for name in ("a.csv", "b.csv", "c.mchain", "d.csv"))
        pd.concat([task.X_train.reset_index(drop=True), words(task.Y_train)], axis=1).to_csv(train, index=False)
        task.X_test.to_csv(test, index=False)
        run("fit", "fit", train, "--targets", ",".join(targets), "--seed", str(seed), "-o", model)
        run("predict", "predict", model, test, "--proba", "-o", predicted)
        found = pd.read_csv(predicted)
    best, marginal = (np.zeros((len(found), len(targets)), dtype=np.int64) for _ in range(2))
    for j, (name, k) in enumerate(zip(targets, task.n_classes, strict=True)):
        best[:, j] = found[name].str.removeprefix("class").astype(int)
        columns = found.reindex(columns=[f"p({name}=class{code})" for code in range(k)], fill_value=0.0)
        marginal[:, j] = columns.to_numpy().argmax(axis=1)
    certified = float(found["certified"].mean())
    return Answers({"exact_match": best, "hamming": marginal}, None, found["probability"].to_numpy(), certified)


OURS: dict[str, Method] = {
    PLAIN: Method(_ours(lambda seed: ChainClassifier(random_state=seed))),
    COMMAND_LINE: Method(command_line, only_tables=True),
    AUTO: Method(_ours(lambda seed: AutoChainClassifier(random_state=seed))),
}
