"""Data sets by name: the paper's thirteen, with figures and checksums, and a bundled one."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from montechain._messages import nearest
from montechain.datasets.dataset import Dataset, Split
from montechain.datasets.files import read_bytes
from montechain.datasets.reading import read_dataset
from montechain.errors import DataError

__all__ = ["DATASETS", "CatalogueEntry", "Figures", "StoredFile", "list_datasets", "load_dataset"]

FOLDER_VARIABLE = "MONTECHAIN_DATA"
"""The environment variable that names the data folder."""

DIGIT_FACTS = {
    "parity": ("even odd", "0101010101"),
    "size": ("small medium large", "0000111222"),
    "prime": ("no yes", "0011010100"),
    "square": ("no yes", "1100100001"),
    "loops": ("0 1 2", "1000001021"),
    "strokes": ("straight curved mixed", "1021021012"),
}
"""The classes of each fact about a digit, and the position of the right one for the digits from 0 to 9."""


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
        """Return where the file is, compressed or not; None if it is absent."""
        plain = self.path.removesuffix(".gz")
        names = [self.path, plain, f"{plain}.gz", f"{plain}.bz2"]
        return next((folder / name for name in names if (folder / name).is_file()), None)

    def get(self, folder: Path, *, verify: bool) -> Path:
        """Return where the file is; an error if it is absent or, with `verify`, its content is another."""
        path = self.find(folder)
        if path is None:
            message = f"there is no such file. Store {self.source}, from GitHub, as {self.path}, compressed or not."
            raise DataError(message, path=folder / self.path)
        if verify and (found := hashlib.sha256(read_bytes(path)).hexdigest()) != self.sha256:
            raise DataError(
                f"is not the file in the catalogue: the sha256 of its content is {found}, and {self.sha256} was "
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
    paper: Figures | None
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
        return "train" in self.parts or self.state == "embedded"

    @property
    def present(self) -> bool:
        """Whether it can be loaded."""
        return self.found is not None and not self.missing

    @property
    def state(self) -> str:
        """Whether it can be loaded, in a few words."""
        if self.found is None or not self.parts:
            return "embedded" if self.found else "not public"
        if self.missing:
            return f"absent: {self.missing[0]}" + (f" and {len(self.missing) - 1} more" if self.missing[1:] else "")
        return "present" if self.paper is None or self.found.N > self.paper.N / 2 else "present, reduced"

    @property
    def files(self) -> list[StoredFile]:
        """All its files."""
        listed = [file for part in self.parts.values() for file in part]
        return list(dict.fromkeys([*listed, *([self.label_list] if self.label_list else [])]))

    @property
    def description(self) -> str:
        """What to know, whom to cite, and where the files come from."""
        sources = sorted({file.source.split(",")[0] for file in self.files})
        origin = f" Files: {'; '.join(sources)}, on GitHub." if sources else ""
        return f"{self.title} ({self.field}). {self.note} Cite: {self.citation}.{origin}"


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
    content = package_files("montechain.datasets").joinpath("catalogue.json").read_text(encoding="utf-8")
    return {entry.name: entry for entry in json.loads(content, object_pairs_hook=_from_json)}


DATASETS = tuple(_catalogue())
"""The names that `load_dataset` takes."""


def list_datasets(data: str | Path | None = None) -> list[CatalogueEntry]:
    """Return the catalogue, the paper's thirteen in its order and the bundled one, and which files are present.

    Parameters
    ----------
    data : str or Path, optional
        The data folder. Default: the environment variable MONTECHAIN_DATA; without it, all files are missing.

    Examples
    --------
    >>> entries = list_datasets("no_such_folder")
    >>> [entry.name for entry in entries if entry.present]
    ['digits']
    >>> entries[4].name, entries[4].paper
    ('music', Figures(N=593, L=6, K=(2, 2), d=72, LC=1.87))
    """
    folder = Path(data if data is not None else os.environ.get(FOLDER_VARIABLE) or os.devnull)
    return [
        replace(entry, missing=[file.path for file in entry.files if file.find(folder) is None])
        for entry in _catalogue().values()
    ]


def load_dataset(name: str, *, data: str | Path | None = None, part: str = "all", verify: bool = True) -> Dataset:
    """Load one of the paper's data sets from its files, or the bundled one.

    The bundled one, "digits", has six facts about each of scikit-learn's hand-written digits, whose left half is
    hidden. The visible half often fits several digits, so the facts are uncertain, but not independently: only ten of
    the 144 combinations belong to a digit.

    Parameters
    ----------
    name : str
        One of `DATASETS`: "solar_flare", "bridges", "thyroid", "music", "scene", "yeast", "genbase", "medical",
        "enron", "reuters", "tmc2007", "mediamill" (a reduced set of 2,000 rows) or "digits", which needs no files.
    data : str or Path, optional
        The data folder, with one folder per data set. Default: the environment variable MONTECHAIN_DATA.
    part : {"all", "train", "test"}, default="all"
        The whole, or a part of the official split, where there is one.
    verify : bool, default=True
        Whether to check the files against the catalogue's checksums.

    Returns
    -------
    Dataset
        Labels are in the file's order; identifiers are left out. `Dataset.split` gives the official parts.

    Raises
    ------
    DataError
        If a file is absent or has another checksum; the message says where to get it.

    Examples
    --------
    >>> from montechain import ChainClassifier
    >>> digits = load_dataset("digits")
    >>> digits.X.shape, digits.label_names
    ((1797, 64), ['parity', 'size', 'prime', 'square', 'loops', 'strokes'])
    >>> train, test = digits.split
    >>> separate = ChainClassifier(parents="none", random_state=0).fit(train.X, train.Y)
    >>> together = ChainClassifier(random_state=0).fit(train.X, train.Y)
    >>> together.score(test.X, test.Y) > separate.score(test.X, test.Y) + 0.1
    True
    """
    entry = _catalogue().get(name)
    if entry is None:
        close = nearest(str(name), DATASETS) or "."
        raise ValueError(f"there is no data set {name!r}{close} The names are {', '.join(DATASETS)}.")
    if part not in ("all", "train", "test"):
        raise ValueError(f"`part={part!r}` must be 'all', 'train' or 'test'.")
    if entry.found is None:
        raise DataError(
            f"{entry.title} cannot be loaded: {entry.note[0].lower()}{entry.note[1:]} See {entry.citation}. A file of "
            "your own can be read with `read_dataset`."
        )
    if part != "all" and not entry.has_split:
        raise ValueError(
            f"`part={part!r}`: {name!r} has no official training and test part. Leave `part` out, and split it as you "
            "wish."
        )
    if entry.state == "embedded":
        return _load_digits(part)
    folder = data if data is not None else os.environ.get(FOLDER_VARIABLE) or None
    if folder is None or not Path(folder).is_dir():
        problem = "no data folder is named" if folder is None else f"there is no folder {str(folder)!r}"
        layout = "; ".join(f"{file.path} from {file.source}" for file in entry.files)
        raise DataError(
            f"the data set {entry.name!r} is read from files, and {problem}. Set the environment variable "
            f"{FOLDER_VARIABLE} to a folder, or pass it as `data` (on the command line: --data). It holds one folder "
            f"per data set; these files, from GitHub, compressed or not, are needed here: {layout}."
        )
    return _load(entry, Path(folder), part, verify)


def _load(entry: CatalogueEntry, folder: Path, part: str, verify: bool) -> Dataset:
    paths = [file.get(folder, verify=verify) for file in entry.parts[part]]
    targets = entry.n_targets if entry.label_list is None else entry.label_list.get(folder, verify=verify)
    first, *others = (read_dataset(path, targets=targets, drop=entry.drop) for path in paths)
    dataset = first.join(*others) if others else first
    if part != "all":
        note = f" The official {'training' if part == 'train' else 'test'} part."
        return replace(dataset, name=f"{entry.name}-{part}", description=entry.description + note)
    split = partial(_split, partial(_load, entry, folder, verify=verify)) if entry.has_split else None
    return replace(dataset, name=entry.name, description=entry.description, _load_split=split)


def _load_digits(part: str) -> Dataset:
    """Return facts about digits; the inputs are pixels from 0 (blank) to 1 (ink)."""
    images, digit = load_digits(return_X_y=True)
    images /= images.max()
    images.reshape(-1, 8, 8)[:, :, :4] = 0.0
    names = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    classes = [[int(word) if word.isdigit() else word for word in words.split()] for words, _ in DIGIT_FACTS.values()]
    codes = {name: np.array([*map(int, positions)])[digit] for name, (_, positions) in DIGIT_FACTS.items()}
    labels = zip(codes.items(), classes, strict=True)
    dataset = Dataset(
        X=pd.DataFrame(images, columns=names),
        Y=pd.DataFrame({n: c if n == "loops" else pd.Categorical.from_codes(c, own) for (n, c), own in labels}),
        feature_names=names,
        classes=classes,
        name="digits",
        description=_catalogue()["digits"].description,
    )
    if part != "all":
        rng = np.random.default_rng(np.random.SeedSequence(0).spawn(2)[1])
        return dataset.take(np.sort(np.array_split(rng.permutation(len(digit)), 2)[part == "test"]))
    return replace(dataset, _load_split=partial(_split, _load_digits))


def _split(load: Callable[..., Dataset]) -> Split:
    return Split(load(part="train"), load(part="test"))
