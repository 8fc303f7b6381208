"""The manifest of a model file: what the file is, without building the model."""

from __future__ import annotations

import importlib.metadata
import io
import json
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from montechain.errors import ModelFileError
from montechain.persistence.containers import DAMAGE, checked_entries, refuse_other_kinds

__all__ = [
    "FORMAT",
    "LARGEST_MANIFEST",
    "MANIFEST",
    "PAYLOAD",
    "damaged",
    "opened",
    "other_versions",
    "read_manifest",
    "versions",
]

FORMAT = 1
"""Number of the file format. It grows when an older montechain could not read a file."""
MANIFEST, PAYLOAD = "manifest.json", "model.skops"
LARGEST_MANIFEST = 2**24
PACKAGES = ("montechain", "numpy", "scipy", "scikit-learn", "skops")


def versions() -> dict[str, str]:
    """Return the versions of what a model depends on."""
    import montechain

    installed = {name: importlib.metadata.version(name) for name in PACKAGES if name != "montechain"}
    return {"montechain": montechain.__version__, **installed}


def other_versions(manifest: dict[str, Any]) -> str:
    """Return a sentence on versions that differ from those the model was saved with."""
    saved, here = manifest["versions"], versions()
    other = [name for name in PACKAGES if saved.get(name, here[name]) != here[name]]
    told = [f"{name} {saved[name]} (here {here[name]})" for name in other]
    return f" It was saved with {', '.join(told)}." if told else ""


def opened(path: Path) -> BinaryIO:
    """Open a file for reading; a ModelFileError says why if it is there and cannot be read."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error


def damaged(path: Path, error: Exception) -> ModelFileError:
    """Return the error for a file that cannot be read to its end."""
    return ModelFileError(f"{path} is damaged or cut off, and cannot be read ({error}). Get it anew.")


def read_manifest(path: Path, stream: BinaryIO) -> tuple[dict[str, Any], zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    """Return the manifest of an opened file, and the zip file with its entries by name."""
    try:
        refuse_other_kinds(path, stream)
        size = stream.seek(0, io.SEEK_END)
        archive = zipfile.ZipFile(stream)
        names = set(archive.namelist())
        if MANIFEST not in names:
            raise ModelFileError(f"{path} is no model: {_what_zip(names)}.")
        entries = checked_entries(archive, size, str(path))
        if set(entries) != {MANIFEST, PAYLOAD} or entries[MANIFEST].file_size > LARGEST_MANIFEST:
            raise ModelFileError(f"{path} does not hold what a model file holds: it was tampered with or damaged.")
        manifest = json.loads(archive.read(MANIFEST))
    except DAMAGE as error:
        if isinstance(error, ModelFileError):
            raise
        raise damaged(path, error) from error
    except RecursionError as error:
        raise damaged(path, error) from error
    _check_manifest(path, manifest)
    return manifest, archive, entries


def _what_zip(names: set[str]) -> str:
    if "schema.json" in names:
        return "it is a file of skops, without montechain's manifest; open it with skops.io.load"
    return "it is a zip file of another kind. Give a file that montechain.save has written"


def _check_manifest(path: Path, manifest: Any) -> None:
    number = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ModelFileError(f"{path}: its manifest names no format: it was tampered with or damaged.")
    if number > FORMAT:
        made_by = manifest.get("versions")
        made_by = made_by.get("montechain", "an unknown version") if isinstance(made_by, dict) else "an unknown version"
        own = versions()["montechain"]
        raise ModelFileError(
            f"{path} was made by montechain {made_by} with format {number}; this is montechain {own}, which reads up "
            f"to format {FORMAT}: upgrade, pip install --upgrade montechain."
        )
    payload, made_with = manifest.get("payload"), manifest.get("versions")
    is_whole = (
        isinstance(payload, dict)
        and isinstance(payload.get("size"), int)
        and isinstance(payload.get("sha256"), str)
        and isinstance(made_with, dict)
        and isinstance(manifest.get("about"), dict)
    )
    if not is_whole:
        raise ModelFileError(f"{path}: its manifest lacks what a manifest says: it was tampered with or damaged.")
