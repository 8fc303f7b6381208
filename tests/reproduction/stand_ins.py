"""Small studies on small data sets that stand in for the catalogue's."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from montechain.datasets import Dataset, Split
from reproduction.__main__ import reproduce
from reproduction.studies import Setting, Study, orders
from reproduction.studies.methods import Accuracy, NaturalOrder, Official, PayoffComparison, Times
from reproduction.studies.orders import MusicOrders, PayoffTraces
from reproduction.studies.rows import Agreement, Examples

SOME = {"datasets": ("music", "bridges", "parkinsons"), "methods": ("IC", "CC", "MCC"), "n_folds": 2}
STUDIES: tuple[Study, ...] = (
    Examples(n_rows=3),
    Accuracy(**SOME),
    Times(**SOME),
    Official(datasets=("music",)),
    NaturalOrder(datasets=("music",), n_folds=2),
    Agreement(datasets=("music", "bridges"), n_folds=2),
    PayoffComparison(n_iterations={"music": 3}, n_splits=2),
    MusicOrders(n_iterations=40),
    PayoffTraces(datasets=("yeast",), n_iterations=60),
)
KILLED: tuple[Study, ...] = (
    PayoffTraces(datasets=("music",), n_iterations=60, numbers=(1,)),
    Agreement(datasets=("bridges",), n_folds=2),
)


def stand_in(name: str, n_labels: int = 6, seed: int = 0, *, many: bool = False) -> Dataset:
    """Invent labels that depend on the inputs; with `many`, the first has three classes and some unknown cells."""
    rng = np.random.default_rng(seed)
    n_rows = 60
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    scores = X.to_numpy() @ rng.normal(size=(4, n_labels)) + rng.normal(size=(n_rows, n_labels))
    Y = pd.DataFrame({f"label {k}": (scores[:, k] > 0).astype(int) for k in range(n_labels)})
    classes: list[list] = [[0, 1] for _ in range(n_labels)]
    if many:
        classes[0] = ["low", "middle", "high"]
        thirds = np.digitize(scores[:, 0], np.quantile(scores[:, 0], [0.33, 0.66]))
        Y["label 0"] = pd.Series(pd.Categorical.from_codes(thirds, categories=classes[0])).mask(
            rng.random(n_rows) < 0.1
        )
    whole = Dataset(X, Y, list(X.columns), classes, name=name)
    split = Split(whole.take(np.arange(30)), whole.take(np.arange(30, n_rows)))
    return replace(whole, split=split)


def setting_for(folder: Path) -> Setting:
    datasets = {
        "music": stand_in("music"),
        "yeast": stand_in("yeast", n_labels=11, seed=1),
        "bridges": stand_in("bridges", n_labels=3, seed=2, many=True),
    }
    return Setting("nowhere", unfinished=folder / "unfinished", datasets=datasets)


def run_killed(folder: str, seconds: float) -> None:
    """Run the studies of `KILLED`, each step of a search that much slower."""
    plain = orders.search

    def slowly(*arguments, **options):
        for step in plain(*arguments, **options):
            time.sleep(seconds)
            yield step

    orders.search, orders.CHECKPOINT_SECONDS = slowly, 0.2
    reproduce(KILLED, setting_for(Path(folder)), Path(folder))
