"""Read and write files safely: no half-written output, no lost input, helpful messages."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from montechain.errors import DataError, OutputError

PART = ".part"
"""Suffix of temporary files."""
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
"""Flags for `os.open` to create a new file; without O_BINARY, Windows would change line endings."""


@contextmanager
def atomic_write(path: str | Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file for writing that appears under its name only once it is complete.

    The content goes to a temporary file beside `path`, is flushed to the disk, and is renamed. If anything fails on the
    way, the temporary file is removed and the old file is kept. A symbolic link is kept and points to the new file. A
    device or a named pipe, such as ``/dev/stdout``, is written directly. A failure to write is an `OutputError`;
    `options` are passed on to `open`.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    check_output_path(path)
    if target.exists() and not target.is_file():  # a device must not be replaced by a file
        with _reporting(path), open(target, mode, **options) as stream:
            yield stream
        return
    with _reporting(path):
        permissions = target.stat().st_mode & 0o777 if target.exists() else None
        # The name may already have the maximum length, so the temporary name uses only part of it.
        name = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}{PART}"
        try:
            # While it is written, the replacement of a private file must not be readable by others either.
            descriptor = os.open(name, NEW, 0o666 if permissions is None else permissions)
            with os.fdopen(descriptor, mode, **options) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if permissions is not None:
                os.chmod(name, permissions)
            os.replace(name, target)
        except BaseException:  # also Ctrl-C: no half-written file may stay behind
            with suppress(OSError):
                os.unlink(name)
            raise


@contextmanager
def _reporting(path: Path) -> Iterator[None]:
    """Turn the failure to write into an OutputError; errors about other files are left as they are."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        about = str(error.filename or "")
        if about and not about.endswith(PART) and os.path.realpath(about) != os.path.realpath(path):
            raise
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        more = " The old file is unchanged. Free some space, or choose another folder." if is_full else ""
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.{more}") from error


def check_input_path(path: str | Path) -> None:
    """Raise a `DataError` if a path that should be a file to read is a folder or does not exist."""
    path = Path(path)
    if path.is_dir():
        raise DataError("is a folder, not a file. Name a file in it.", path=path)
    if not path.exists():
        is_url = str(path).startswith(("http:", "https:", "ftp:", "s3:"))
        raise DataError("is a URL: download the file first." if is_url else "there is no such file.", path=path)


def check_output_path(path: str | Path) -> None:
    """Raise an `OutputError`, before hours of work, if no file of this name can be written."""
    path = Path(path)
    if path.is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: the folder {str(path.parent)!r} does not exist. Create it first.")


def protect_files(path: str | Path, *, inputs: Iterable[str | Path] = (), force: bool = False) -> None:
    """Refuse an output path that would replace an input, or, without `force`, any file; devices may be written."""
    path = Path(path)
    if not path.is_file():
        return
    if any(path.samefile(source) for source in inputs if os.path.isfile(source)):
        raise OutputError(
            f"{path} is an input of this command and is never overwritten. Choose another name for the output."
        )
    if not force:
        raise OutputError(f"{path} already exists. Choose another name, or add --force to replace it.")
