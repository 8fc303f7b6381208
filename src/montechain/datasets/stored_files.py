"""Files of the catalogue: where they lie, and whether they are the ones that are meant."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from montechain.datasets.files import open_binary, read_chunk
from montechain.errors import DataError

__all__ = ["FOLDER_VARIABLE", "StoredFile", "data_folder"]

FOLDER_VARIABLE = "MONTECHAIN_DATA"
"""The environment variable that names the folder of the data sets."""
PACKINGS = (".gz", ".bz2")


@dataclass(frozen=True)
class StoredFile:
    """A file that the catalogue knows.

    Attributes
    ----------
    path : str
        Where it lies below the folder of the data sets. It may also lie there unpacked, or packed otherwise.
    source : str
        Where it comes from: repository, commit and path.
    sha256 : str
        Checksum of the file as stored.
    content_sha256 : str
        Checksum of what it holds, unpacked.
    """

    path: str
    source: str
    sha256: str
    content_sha256: str

    @property
    def names(self) -> list[str]:
        """The paths under which it may lie, the usual one first."""
        stem = next((self.path.removesuffix(packing) for packing in PACKINGS if self.path.endswith(packing)), self.path)
        if not stem.endswith(".arff"):
            return [stem]
        return list(dict.fromkeys([self.path, stem, *(stem + packing for packing in PACKINGS)]))

    @property
    def shown(self) -> str:
        """The usual path, and the plain one if that is packed."""
        usual, *others = self.names
        return f"{usual} (or {others[0]})" if usual.endswith(PACKINGS) else usual

    def find(self, folder: Path) -> Path | None:
        """Return where the file lies; None if it does not."""
        return next((folder / name for name in self.names if (folder / name).is_file()), None)

    def get(self, folder: Path, *, verify: bool) -> Path:
        """Return where the file lies.

        Raises
        ------
        DataError
            If it is absent, or is not the file that is meant and `verify` is true.
        """
        path = self.find(folder)
        if path is None:
            raise DataError(
                f"there is no such file. Store {self.source}, from GitHub, as {self.shown} in {folder}.",
                path=folder / self.path,
            )
        if verify:
            self._check(path)
        return path

    def _check(self, path: Path) -> None:
        """Refuse a file with another checksum; how it is packed does not matter."""
        found = _sha256(path.open("rb"), path)
        expected = self.sha256 if path.name == Path(self.path).name else self.content_sha256
        if found in (self.sha256, self.content_sha256):
            return
        if path.name.endswith(PACKINGS) and _sha256(open_binary(path), path) == self.content_sha256:
            return
        raise DataError(
            f"is not the file that the catalogue means: its sha256 is {found}, and {expected} was expected. Fetch it "
            f"again ({self.source}, on GitHub), or read it as it is with `verify=False`.",
            path=path,
        )


def data_folder(data: str | Path | None, name: str, files: Iterable[StoredFile]) -> Path:
    """Return the folder of the data sets, or say how to name it and what is to lie there.

    Parameters
    ----------
    data : str, Path or None
        None: what the environment variable MONTECHAIN_DATA names.
    name : str
        The data set that is wanted.
    files : iterable of StoredFile
        The files that are needed.
    """
    given = data if data is not None else os.environ.get(FOLDER_VARIABLE) or None
    if given is not None and Path(given).is_dir():
        return Path(given)
    if given is None:
        problem = f"the data set {name!r} is read from files, and no folder of data sets is named."
    else:
        origin = "`data`" if data is not None else f"the environment variable {FOLDER_VARIABLE}"
        problem = f"{origin} names {str(given)!r}, and there is no such folder."
    layout = "; ".join(f"{file.shown} from {file.source}" for file in files)
    raise DataError(
        f"{problem} Set the environment variable {FOLDER_VARIABLE} to a folder, or pass it as `data` (on the command "
        f"line: --data). It holds one folder for each data set; needed here, and found on GitHub: {layout}."
    )


def _sha256(stream: IO[bytes], path: Path) -> str:
    digest = hashlib.sha256()
    with stream:
        while block := read_chunk(stream, path):
            digest.update(block)
    return digest.hexdigest()
