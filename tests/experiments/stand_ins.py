"""Small studies on small data sets that stand for the catalogue's, and programs that are killed in their midst.

``python stand_ins.py kill STORE N_KILLS SEED WHOLE``, where WHOLE is the store of a run that was not killed, prints
the kills as JSON; and ``python stand_ins.py share STORE N_RUNS``.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from montechain.datasets import Dataset, Split
from montechain.experiments.studies import Setting, Study, StudyStore, traces, work
from montechain.experiments.studies.accuracy import Accuracy
from montechain.experiments.studies.agreement import Agreement
from montechain.experiments.studies.examples import Examples
from montechain.experiments.studies.music_orders import MusicOrders
from montechain.experiments.studies.natural_order import NaturalOrder
from montechain.experiments.studies.official import Official
from montechain.experiments.studies.payoff_comparison import PayoffComparison
from montechain.experiments.studies.payoff_traces import PayoffTraces
from montechain.experiments.studies.times import Times
from tests.experiments.kills import Forked, kill_again_and_again, progress, slow_writes

__all__ = ["N_SUSPENDED_STEPS", "STUDIES", "SUSPENDED", "contents", "setting_for", "stand_in"]

STUDIES: tuple[Study, ...] = (
    MusicOrders(n_iterations=40),
    PayoffTraces(datasets=("yeast",), n_iterations=60),
    PayoffComparison(n_iterations={"music": 3}, n_splits=2),
    NaturalOrder(datasets=("music",), n_folds=2),
    Accuracy(datasets=("music", "bridges", "parkinsons"), methods=("IC", "CC", "MCC"), n_folds=2),
    Times(datasets=("music", "bridges", "parkinsons"), methods=("IC", "CC", "MCC"), n_folds=2),
    Official(datasets=("music",)),
    Agreement(datasets=("music", "bridges"), n_folds=2),
    Examples(n_rows=3),
)
SUSPENDED: tuple[Study, ...] = (
    PayoffTraces(datasets=("music",), n_iterations=120),
    Accuracy(datasets=("music", "bridges"), methods=("IC", "MCC"), n_folds=2),
    PayoffTraces(datasets=("yeast",), n_iterations=120, estimator="svm"),
    Agreement(datasets=("bridges",), n_folds=2),
    Examples(n_rows=2),
)
"""Those that are killed. Logistic links of Yeast's many labels would depend on where a search was taken up again."""
N_SUSPENDED_STEPS = 2 * 4 * 121


def stand_in(name: str, n_rows: int = 60, n_labels: int = 6, seed: int = 0, *, many: bool = False) -> Dataset:
    """Invent labels that depend on the inputs; `many`: the first has three classes and some unknown cells."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    weights = rng.normal(size=(4, n_labels))
    scores = X.to_numpy() @ weights + rng.normal(size=(n_rows, n_labels))
    Y = pd.DataFrame({f"label {k}": (scores[:, k] > 0).astype(int) for k in range(n_labels)})
    classes: list[list] = [[0, 1] for _ in range(n_labels)]
    if many:
        names = ["low", "middle", "high"]
        thirds = np.digitize(scores[:, 0], np.quantile(scores[:, 0], [0.33, 0.66]))
        first = pd.Series(pd.Categorical.from_codes(thirds, categories=names))
        first[rng.random(n_rows) < 0.1] = None
        Y["label 0"], classes[0] = first, names
    whole = Dataset(X, Y, list(X.columns), classes, name=name)
    half = n_rows // 2
    split = Split(whole.take(np.arange(half)), whole.take(np.arange(half, n_rows)))
    return replace(whole, _load_split=_Constant(split))


class _Constant:
    """A function without arguments that can be sent to another process."""

    def __init__(self, value: Split):
        self.value = value

    def __call__(self) -> Split:
        return self.value


def setting_for(path: str | Path, **changes) -> Setting:
    datasets = {
        "music": stand_in("music"),
        "yeast": stand_in("yeast", n_labels=11, seed=1),
        "bridges": stand_in("bridges", n_labels=3, seed=2, many=True),
    }
    return Setting(path, **{"data": "nowhere", "datasets": datasets, **changes})


def contents(path: str | Path) -> dict[str, list]:
    """Return everything in a store that another run repeats."""
    from montechain.experiments import MEASURES

    repeatable = [r for r in StudyStore(path).results() if r.measure not in MEASURES or MEASURES[r.measure].repeatable]
    found = {"results": [repr(row) for row in repeatable]}
    with StudyStore(path)._transaction(write=False) as database:
        for table in ("trace_steps", "trace_states", "documents", "claims"):
            found[table] = sorted(database.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
    return found


CHECKPOINT_STEPS = 7


def run(store: str, *, slow: float = 0.0) -> None:
    """Do all the work, each step of a search and each write a little slower, and steps written down soon."""
    traces.CHECKPOINT_STEPS = CHECKPOINT_STEPS
    plain = traces.search

    def slowly(*arguments, **options):
        for step in plain(*arguments, **options):
            time.sleep(slow)
            yield step

    traces.search = slowly
    warnings.simplefilter("ignore")
    with slow_writes() if slow else nullcontext():
        work(SUSPENDED, setting_for(store))


def main(what: str, store: str, count: str, seed: str = "0", whole: str = "") -> None:
    """Kill runs while they work and let one finish, or let several share the work."""
    if what == "kill":
        kills = kill_again_and_again(
            lambda: Forked(lambda: run(store, slow=0.004)), store, progress(whole), int(count), int(seed),
            steps_per_write=CHECKPOINT_STEPS,
        )  # fmt: skip
        print(json.dumps(kills))
        runs = [Forked(lambda: run(store))]
    else:
        runs = [Forked(lambda: run(store, slow=0.002)) for _ in range(int(count))]
    codes = [each.wait() for each in runs]
    if any(codes):
        sys.exit("a run failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
