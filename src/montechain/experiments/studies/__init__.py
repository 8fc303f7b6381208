"""The studies of the paper, one file each: what is computed, how it is kept, and which tables and curves come of it."""

from __future__ import annotations

from collections.abc import Iterable

from montechain._messages import nearest
from montechain.experiments.studies.accuracy import Accuracy
from montechain.experiments.studies.agreement import Agreement
from montechain.experiments.studies.base import Findings, Piece, Setting, Study
from montechain.experiments.studies.examples import Examples
from montechain.experiments.studies.music_orders import MusicOrders
from montechain.experiments.studies.natural_order import NaturalOrder
from montechain.experiments.studies.official import Official
from montechain.experiments.studies.payoff_comparison import PayoffComparison
from montechain.experiments.studies.payoff_traces import PayoffTraces
from montechain.experiments.studies.running import gather, work
from montechain.experiments.studies.store import StudyStore
from montechain.experiments.studies.times import Times

__all__ = [
    "FULL",
    "QUICK",
    "Findings",
    "Piece",
    "Setting",
    "Study",
    "StudyStore",
    "choose_studies",
    "gather",
    "work",
]

SMALL = ("solar_flare", "bridges", "music")

FULL: tuple[Study, ...] = (
    MusicOrders(),
    PayoffTraces(),
    PayoffComparison(),
    NaturalOrder(),
    Accuracy(),
    Times(),
    Official(),
    Agreement(),
    Examples(),
)
"""All studies as in the paper."""

QUICK: tuple[Study, ...] = (
    MusicOrders(n_iterations=500),
    PayoffTraces(datasets=("music",), n_iterations=500),
    PayoffComparison(n_iterations={"music": 30}, n_splits=5),
    NaturalOrder(datasets=("music",)),
    Accuracy(datasets=SMALL),
    Times(datasets=SMALL),
    Official(datasets=("music",)),
    Agreement(datasets=SMALL),
    Examples(),
)
"""The same in small, for a few minutes: small data sets, short searches, few splits."""


def choose_studies(names: Iterable[str] = (), *, quick: bool = False) -> tuple[Study, ...]:
    """Return the studies of these names, all of them if there are none.

    Parameters
    ----------
    names : iterable of str
        "music_orders", "payoff_traces", "payoff_comparison", "natural_order", "accuracy", "times", "official",
        "agreement", "examples".
    quick : bool, default=False
        Whether in small.

    Examples
    --------
    >>> [study.name for study in choose_studies(["times", "accuracy"])]
    ['accuracy', 'times']
    >>> choose_studies(["acuracy"])
    Traceback (most recent call last):
        ...
    ValueError: there is no study 'acuracy'; did you mean 'accuracy'? There are 'music_orders', ...
    """
    known = {study.name: study for study in (QUICK if quick else FULL)}
    wanted = list(names)
    for name in wanted:
        if name not in known:
            listed = ", ".join(map(repr, known))
            raise ValueError(f"there is no study {name!r}{nearest(name, known) or '.'} There are {listed}.")
    return tuple(study for name, study in known.items() if not wanted or name in wanted)
