"""Zip files of which nothing is believed: what a file is, and its entries within bounds."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, BinaryIO

from montechain.errors import ModelFileError

__all__ = ["DAMAGE", "FIXED_TIME", "checked_entries", "refuse_other_kinds", "write_stored"]

ZIP_START = b"PK\x03\x04"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
"""The time that entries bear, so that the same model gives the same bytes."""
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, KeyError, RuntimeError)
"""What zipfile raises on damaged files, besides `NotImplementedError`, which is a RuntimeError."""
COMPRESSED_STARTS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x5d\x00\x00": "lzma",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x78\x01": "zlib",
    b"\x78\x5e": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
}
PICKLE_ADVICE = "If you trust whoever made it, open it with joblib.load, and keep the model with montechain.save."


def refuse_other_kinds(path: Path, stream: BinaryIO) -> None:
    """Raise a ModelFileError that says what the file is, unless it begins and ends as a model file does."""
    start = stream.read(64)
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(0, size - 1))
    end = stream.read(1)
    stream.seek(0)
    if not start:
        raise ModelFileError(f"{path} is empty: it is no model.")
    protocol = start[1] if len(start) > 1 else 0
    is_pickle = start[0] == 0x80 and 1 < protocol <= 16
    # Protocols 0 and 1 have no mark at the start, but every pickle ends with a full stop.
    if is_pickle or (end == b"." and start[:1] in b"(]}cIKMLNSUVXiltdg") or path.suffix in (".pkl", ".pickle"):
        raise ModelFileError(
            f"{path}: this is a pickle, which can run any code when it is loaded; it was not opened. {PICKLE_ADVICE}"
        )
    for mark, kind in COMPRESSED_STARTS.items():
        if start.startswith(mark):
            raise ModelFileError(
                f"{path}: this is a file compressed with {kind}, as joblib.dump writes them: a pickle, which can run "
                f"any code when it is loaded; it was not opened. {PICKLE_ADVICE}"
            )
    if not start.startswith(ZIP_START):
        raise ModelFileError(
            f"{path} is no model: it does not begin as a .mchain file does. Give a file that montechain.save (or "
            "`montechain fit -o`) has written."
        )


def checked_entries(archive: zipfile.ZipFile, size: int, what: str) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of a zip file by name, if all are plain: stored as they are, each once, none too large.

    As nothing is compressed, no file can unfold into more than it is.

    Parameters
    ----------
    archive : ZipFile
    size : int
        Bytes of the whole file.
    what : str
        How an error names the file.

    Raises
    ------
    ModelFileError
    """
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename
        if name in entries:
            raise ModelFileError(f"{what} holds {name!r} twice: it was tampered with or damaged.")
        if "/" in name or "\\" in name or name.startswith(".") or "\0" in name or not name:
            raise ModelFileError(f"{what} holds an entry with the name {name!r}, which no model file has.")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 0x1:
            raise ModelFileError(f"{what} holds {name!r} compressed or encrypted, which no model file is.")
        if entry.file_size != entry.compress_size:
            raise ModelFileError(f"{what}: the sizes of {name!r} contradict each other: it is damaged.")
        entries[name] = entry
    if sum(entry.file_size for entry in entries.values()) > size:
        raise ModelFileError(f"{what} claims to hold more than its own size: it was tampered with.")
    return entries


def write_stored(stream: IO[bytes], entries: Mapping[str, bytes]) -> None:
    """Write a zip file whose bytes depend on nothing but the entries and their order."""
    with zipfile.ZipFile(stream, "w", compression=zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
