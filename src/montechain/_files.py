"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from montechain.errors import OutputError

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file for writing that takes its name only once it is complete.

    The content goes to a temporary file beside `path`, is flushed to the disk, and is renamed. If anything
    fails on the way, the temporary file is removed and what stood at `path` before is still there.

    Parameters
    ----------
    path : str or Path
    mode : {"wb", "w"}, default="wb"
    **options
        Passed on to `open`, such as ``encoding="utf-8"``.

    Raises
    ------
    OutputError
        If the file cannot be written, as on a full disk.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(pathlib.Path(folder) / "note.txt", "w", encoding="utf-8") as stream:
    ...         _ = stream.write("done")
    ...     (pathlib.Path(folder) / "note.txt").read_text(encoding="utf-8")
    'done'
    """
    path = Path(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error
    try:
        with os.fdopen(descriptor, mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _permissions(path))
        os.replace(name, path)
    except OSError as error:
        _remove(name)
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error
    except BaseException:  # also Ctrl-C: no half-written file may stay behind
        _remove(name)
        raise


def _permissions(path: Path) -> int:
    """Return the mode of the file that is replaced, or what the user's mask gives a new one."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)  # there is no way to read it without setting it
    os.umask(mask)
    return 0o666 & ~mask


def _remove(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)
