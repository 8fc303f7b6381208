"""What every study has in common: pieces of work that go to a store, and findings that come out of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from montechain.datasets import list_datasets, load_dataset
from montechain.datasets.dataset import Dataset
from montechain.experiments.limits import Limits
from montechain.experiments.reproduction import Comparison, Example, Trace
from montechain.experiments.studies.store import StudyStore

__all__ = ["Findings", "Piece", "Setting", "Study"]

OnDone = Callable[[int], None]
"""Told how many steps of a piece are done by now."""


@dataclass(frozen=True)
class Setting:
    """What all studies of one run share. It can be sent to another process.

    Attributes
    ----------
    path : str or Path
        The store, a file.
    data : str, Path or None
        The folder of the data sets, as for `load_dataset`.
    estimator : {"svm", "logistic"} or estimator
        The base classifier.
    seed : int
    limits : Limits or None
        Of time and memory, for one method on one fold, and for one trace.
    datasets : mapping of str to Dataset
        Data sets that stand for those of the catalogue.
    """

    path: str | Path
    data: str | Path | None = None
    estimator: Any = "svm"
    seed: int = 0
    limits: Limits | None = None
    datasets: Mapping[str, Dataset] = field(default_factory=dict)

    @property
    def store(self) -> StudyStore:
        """The store, opened."""
        return StudyStore(self.path)

    def why_missing(self, name: str) -> str:
        """Return why a data set is not at hand; empty if it is."""
        return "" if name in self.datasets else _why_missing(name, self.data)

    def load(self, name: str) -> Dataset:
        """Return a data set."""
        return self.datasets[name] if name in self.datasets else _load(name, self.data)


@lru_cache(maxsize=4)
def _load(name: str, data: str | Path | None) -> Dataset:
    return load_dataset(name, data=data)


@lru_cache(maxsize=64)
def _why_missing(name: str, data: str | Path | None) -> str:
    entry = next(entry for entry in list_datasets(data) if entry.name == name)
    if entry.present:
        return ""
    return "the data are not public" if entry.found is None else f"the data set is {entry.state}"


@dataclass(frozen=True)
class Piece:
    """Some of the work of a study.

    Attributes
    ----------
    name : str
        What to call it in a progress bar.
    n_steps : int
    do : callable
        Of ``on_done``, which it calls with the number of steps done by then, whoever did them. What is in the store
        already is not done again; what another process is at is waited for.
    """

    name: str
    n_steps: int
    do: Callable[[OnDone], None]


@dataclass(frozen=True)
class Findings:
    """What came out of a study."""

    comparisons: list[Comparison] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    statistics: dict[str, dict[str, Any]] = field(default_factory=dict)


class Study(ABC):
    """One table or figure. A subclass is a dataclass whose fields say how large it is."""

    name: ClassVar[str]

    @abstractmethod
    def pieces(self, setting: Setting) -> list[Piece]:
        """Return what there is to do; data sets that are not at hand are left out."""

    @abstractmethod
    def collect(self, setting: Setting) -> Findings:
        """Return what is in the store by now; nothing is computed."""
