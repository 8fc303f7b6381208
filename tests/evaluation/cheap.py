"""Data and methods that cost next to nothing, for tests of the code around them."""

import signal
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from montechain.datasets import Dataset


def small_dataset(n_rows: int = 40, name: str = "small", seed: int = 0, **changes: Any) -> Dataset:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=["u", "v", "w"])
    Y = pd.DataFrame({label: (X[label] + rng.normal(size=n_rows) > 0).astype(int) for label in ("u", "v")})
    Y["colour"] = pd.Categorical(rng.choice(["red", "tan"], n_rows), categories=["red", "tan"])
    fields = {"feature_names": list(X.columns), "classes": [[0, 1], [0, 1], ["red", "tan"]], "name": name} | changes
    return Dataset(X=X, Y=Y, **fields)


class Guess(ClassifierMixin, BaseEstimator):
    """Predict rows of the training labels, drawn at random."""

    def __init__(self, random_state=None, strength=1):
        self.random_state = random_state
        self.strength = strength

    def fit(self, X, y):
        self.y_ = y
        return self

    def predict(self, X):
        rows = np.random.default_rng(self.random_state).integers(len(self.y_), size=len(X))
        return self.y_.iloc[rows].reset_index(drop=True) if hasattr(self.y_, "iloc") else self.y_[rows]


class Counting(Guess):
    """Count the calls of all instances."""

    calls: list[str]

    def fit(self, X, y):
        self.calls.append("fit")
        return super().fit(X, y)

    def predict(self, X):
        self.calls.append("predict")
        return super().predict(X)


class Logged(Guess):
    """Write a line to a file for each fit. Its path and duration are not parameters: they do not affect results."""

    path: Path
    seconds: float

    def fit(self, X, y):
        with self.path.open("a") as log:
            log.write(f"{self.strength}:{self.random_state}\n")
        time.sleep(self.seconds)
        return super().fit(X, y)


class Sleeping(Guess):
    """Sleep until the time limit, which is made to end at once, or go on after it.

    So a test can set a limit that no other method reaches, however busy the machine is.
    """

    def __init__(self, random_state=None, goes_on=False):
        self.random_state = random_state
        self.goes_on = goes_on

    def fit(self, X, y):
        with suppress(TimeoutError) if self.goes_on else nullcontext():
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            time.sleep(600)
        return super().fit(X, y)


class Failing(Guess):
    def fit(self, X, y):
        raise ArithmeticError("nothing adds up")
