"""What all studies share: data sets, jobs, and findings made from their outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from montechain import Dataset
from montechain.evaluation import Job
from reproduction.catalogue import list_datasets, load_dataset
from reproduction.tables import Findings

__all__ = ["Outcome", "Setting", "Study"]

Outcome = dict[str, Any] | None
"""What `run_jobs` returned for a job; None if it has not run."""


@dataclass(frozen=True)
class Setting:
    """What the studies of one run share.

    Attributes
    ----------
    data : str, Path or None
        The folder of the data sets, as for `load_dataset`.
    estimator : {"svm", "logistic"}
        The base classifier.
    seed : int
    unfinished : Path or None
        Folder for searches that are under way, so that they can resume.
    datasets : mapping of str to Dataset
        Data sets that replace those of the catalogue.
    """

    data: str | Path | None = None
    estimator: str = "svm"
    seed: int = 0
    unfinished: Path | None = None
    datasets: Mapping[str, Dataset] = field(default_factory=dict)

    def why_missing(self, name: str) -> str:
        """Return why a data set is not available; empty if it is."""
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


class Study(ABC):
    """One table or figure of the paper. A subclass is a dataclass whose fields say how large it is."""

    name: ClassVar[str]
    datasets: tuple[str, ...]

    @abstractmethod
    def jobs(self, setting: Setting) -> Sequence[Job]:
        """Return the work; data sets that are missing are left out."""

    @abstractmethod
    def collect(self, setting: Setting, done: Sequence[tuple[Any, Outcome]]) -> Findings:
        """Return what the jobs have found so far; nothing is computed again."""
