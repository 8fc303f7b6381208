"""The studies of the paper: what to run, and which tables and figures to make of it."""

from __future__ import annotations

from collections.abc import Iterable

from reproduction.studies.base import Setting, Study
from reproduction.studies.methods import Accuracy, NaturalOrder, Official, PayoffComparison, Times
from reproduction.studies.orders import MusicOrders, PayoffTraces
from reproduction.studies.rows import Agreement, Examples

__all__ = ["FULL", "QUICK", "Setting", "Study", "choose_studies"]

SMALL = ("solar_flare", "bridges", "music")

FULL: tuple[Study, ...] = (
    Examples(),
    Accuracy(),
    Times(),
    Official(),
    NaturalOrder(),
    Agreement(),
    PayoffComparison(),
    MusicOrders(),
    PayoffTraces(),
)
"""All studies in the size of the paper's."""

QUICK: tuple[Study, ...] = (
    Examples(),
    Accuracy(datasets=SMALL),
    Times(datasets=SMALL),
    Official(datasets=("music",)),
    NaturalOrder(datasets=("music",)),
    Agreement(datasets=SMALL),
    PayoffComparison(n_iterations={"music": 30}, n_splits=5),
    MusicOrders(n_iterations=500),
    PayoffTraces(datasets=("music",), n_iterations=500),
)
"""The same with small data sets, short searches and few splits."""


def choose_studies(names: Iterable[str] = (), *, quick: bool = False) -> tuple[Study, ...]:
    """Return the studies with these names, or all of them.

    Examples
    --------
    >>> [study.name for study in choose_studies(["times", "accuracy"])]
    ['accuracy', 'times']
    >>> choose_studies(["acuracy"])
    Traceback (most recent call last):
        ...
    ValueError: study 'acuracy' is not known. Choose from examples, accuracy, times, official, natural_order, ...
    """
    known = {study.name: study for study in (QUICK if quick else FULL)}
    wanted = list(names)
    for name in wanted:
        if name not in known:
            raise ValueError(f"study {name!r} is not known. Choose from {', '.join(known)}.")
    return tuple(study for name, study in known.items() if not wanted or name in wanted)
