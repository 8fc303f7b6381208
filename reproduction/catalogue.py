"""The paper's thirteen data sets by name, with their figures, files and checksums.

``python -m reproduction.catalogue FOLDER`` lists them, and which files the folder lacks.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import scipy.sparse as sp

from montechain import DataError, Dataset, read_dataset
from montechain._messages import nearest
from montechain.cli import output
from montechain.datasets import Split
from montechain.datasets.files import read_bytes

__all__ = ["DATASETS", "CatalogueEntry", "Figures", "StoredFile", "list_datasets", "load_dataset", "print_datasets"]

FOLDER_VARIABLE = "MONTECHAIN_DATA"
"""The environment variable that names the data folder."""


@dataclass(frozen=True)
class Figures:
    """The size of a data set, in the paper's letters: N rows, L labels, d inputs.

    K are the smallest and the largest number of classes that are declared for a label. LC is the label cardinality, the
    mean number of relevant labels in a row; None unless all labels have two classes.
    """

    N: int
    L: int
    K: tuple[int, int]
    d: int
    LC: float | None

    def shown(self) -> list[str]:
        """Return the five as texts, such as ``['107', '5', '2–6', '7', '–']``."""
        classes = "–".join(map(str, sorted(set(self.K))))
        return [str(self.N), str(self.L), classes, str(self.d), "–" if self.LC is None else f"{self.LC:.2f}"]


@dataclass(frozen=True)
class StoredFile:
    """A file of the catalogue: its path in the data folder, its source on GitHub, the checksum of its content."""

    path: str
    source: str
    sha256: str

    def find(self, folder: Path) -> Path | None:
        """Return the path of the file, compressed or not; None if it is missing."""
        plain = self.path.removesuffix(".gz")
        names = [self.path, plain, f"{plain}.gz", f"{plain}.bz2"]
        return next((folder / name for name in names if (folder / name).is_file()), None)

    def get(self, folder: Path, *, verify: bool) -> Path:
        """Return the path of the file; raise an error if it is missing or, with `verify`, has the wrong content."""
        path = self.find(folder)
        if path is None:
            message = f"there is no such file. Store {self.source}, from GitHub, as {self.path}, compressed or not."
            raise DataError(message, path=folder / self.path)
        if verify and (found := hashlib.sha256(read_bytes(path)).hexdigest()) != self.sha256:
            raise DataError(
                f"is not the file in the catalogue: the sha256 of its content is {found}, but {self.sha256} was "
                f"expected. Fetch it again ({self.source}, on GitHub), or read it as it is with `verify=False`.",
                path=path,
            )
        return path


@dataclass(frozen=True)
class CatalogueEntry:
    """An entry of the catalogue.

    `name` is that for `load_dataset`, `title` that in the paper. `paper` and `found` are the figures in the paper and
    those of the files. `parts` lists the files of "all" and, where there is an official split, of "train" and "test".
    The labels are those of a Mulan file, `label_list`, or the first or, if negative, last `n_targets` columns. `drop`
    are columns that identify a row, and `missing` files that are not in the data folder.
    """

    name: str
    title: str
    field: str
    paper: Figures
    found: Figures | None
    citation: str
    note: str
    parts: dict[str, list[StoredFile]]
    label_list: StoredFile | None
    n_targets: int | None
    drop: list[str]
    missing: list[str]

    @property
    def has_split(self) -> bool:
        """Whether it has an official training and test part."""
        return "train" in self.parts

    @property
    def present(self) -> bool:
        """Whether it can be loaded."""
        return self.found is not None and not self.missing

    @property
    def state(self) -> str:
        """Whether it can be loaded, in a few words."""
        if self.found is None:
            return "not public"
        if self.missing:
            return f"absent: {self.missing[0]}" + (f" and {len(self.missing) - 1} more" if self.missing[1:] else "")
        return "present" if self.found.N > self.paper.N / 2 else "present, reduced"

    @property
    def files(self) -> list[StoredFile]:
        """All its files."""
        listed = [file for part in self.parts.values() for file in part]
        return list(dict.fromkeys([*listed, *([self.label_list] if self.label_list else [])]))


def _from_json(pairs: list[tuple[str, Any]]) -> Any:
    """Return a JSON object as the class that it describes."""
    given = dict(pairs)
    if "name" in given:
        return CatalogueEntry(**given, missing=[])
    if "N" in given:
        return Figures(**{**given, "K": tuple(given["K"])})
    return StoredFile(**given) if "sha256" in given else given


@cache
def _catalogue() -> dict[str, CatalogueEntry]:
    content = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    return {entry.name: entry for entry in json.loads(content, object_pairs_hook=_from_json)}


DATASETS = tuple(_catalogue())
"""The names that `load_dataset` takes."""


def list_datasets(data: str | Path | None = None) -> list[CatalogueEntry]:
    """Return the catalogue, in the paper's order, and which files are present.

    Parameters
    ----------
    data : str or Path, optional
        The data folder. Default: the environment variable MONTECHAIN_DATA; without it, all files are missing.

    Examples
    --------
    >>> entries = list_datasets("no_such_folder")
    >>> [entry.name for entry in entries if entry.present]
    []
    >>> entries[4].name, entries[4].paper
    ('music', Figures(N=593, L=6, K=(2, 2), d=72, LC=1.87))
    """
    folder = Path(data if data is not None else os.environ.get(FOLDER_VARIABLE) or os.devnull)
    return [
        replace(entry, missing=[file.path for file in entry.files if file.find(folder) is None])
        for entry in _catalogue().values()
    ]


def load_dataset(name: str, *, data: str | Path | None = None, verify: bool = True) -> Dataset:
    """Load one of the paper's data sets from its files.

    Parameters
    ----------
    name : str
        One of `DATASETS`. "mediamill" is a reduced set of 2,000 rows; "parkinsons" is not public.
    data : str or Path, optional
        The data folder, with one folder per data set. Default: the environment variable MONTECHAIN_DATA.
    verify : bool, default=True
        Whether to check the files against the catalogue's checksums.

    Returns
    -------
    Dataset
        Labels are in the file's order; identifiers are left out. `split` has the official parts, where there are any.

    Raises
    ------
    DataError
        If a file is absent or has another checksum; the message says where to get it.
    """
    entry = _catalogue().get(name)
    if entry is None:
        close = nearest(str(name), DATASETS) or "."
        raise ValueError(f"data set {name!r} is not known{close} The names are {', '.join(DATASETS)}.")
    if entry.found is None:
        note = entry.note[0].lower() + entry.note[1:]
        raise DataError(f"{entry.title} cannot be loaded: {note} See {entry.citation}.")
    folder = data if data is not None else os.environ.get(FOLDER_VARIABLE) or None
    if folder is None or not Path(folder).is_dir():
        problem = "no data folder is set" if folder is None else f"the folder {str(folder)!r} does not exist"
        layout = "; ".join(f"{file.path} from {file.source}" for file in entry.files)
        raise DataError(
            f"the data set {entry.name!r} is read from files, and {problem}. Set the environment variable "
            f"{FOLDER_VARIABLE} to a folder, or name it with --data. It holds one folder per data set; these files, "
            f"from GitHub, compressed or not, are needed here: {layout}."
        )
    targets = entry.n_targets if entry.label_list is None else entry.label_list.get(Path(folder), verify=verify)

    def load(part: str) -> Dataset:
        paths = [file.get(Path(folder), verify=verify) for file in entry.parts[part]]
        parts = [read_dataset(path, targets=targets, drop=entry.drop) for path in paths]
        return _join([replace(part, name=name) for part in parts])

    return replace(load("all"), split=Split(load("train"), load("test")) if entry.has_split else None)


def _join(parts: list[Dataset]) -> Dataset:
    """Return the rows of several data sets with the same columns."""
    if len(parts) == 1:
        return parts[0]
    tables = [part.X for part in parts]
    is_frame = isinstance(tables[0], pd.DataFrame)
    X = pd.concat(tables, ignore_index=True) if is_frame else sp.csr_array(sp.vstack(tables))
    return replace(parts[0], X=X, Y=pd.concat([part.Y for part in parts], ignore_index=True))


def print_datasets(data: str | Path | None = None) -> None:
    """Print the catalogue: the figures of the files beside those in the paper, and which files are missing."""
    rows = []
    for entry in list_datasets(data):
        found = entry.found.shown() if entry.found and entry.present else ["–"] * 5
        rows.append([entry.name, *found, *entry.paper.shown(), entry.state])
    columns = ["name", "N", "L", "K", "d", "LC", "paper: N", "L", "K", "d", "LC", "state"]
    caption = "N rows, L targets, K classes of a target, d inputs, LC label cardinality (relevant labels per row)."
    output.print_table("Data sets", columns, rows, left=(0, 11), caption=caption)


if __name__ == "__main__":
    print_datasets(*sys.argv[1:2])
