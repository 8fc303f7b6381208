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

PART = ".part"
"""How the names of temporary files end."""


@contextmanager
def atomic_write(path: str | Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a file for writing that takes its name only once it is complete.

    The content goes to a temporary file beside `path`, is flushed to the disk, and is renamed. If anything
    fails on the way, the temporary file is removed and what stood at `path` before is still there. A link stays a
    link, to the new file. What is no ordinary file, such as ``/dev/stdout`` or a named pipe, is written directly.

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
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise OutputError(f"{path} cannot be written: it is a folder. Name a file in it.")
    if target.exists() and not target.is_file():  # a device must not be replaced by a file
        with _reporting(path), open(target, mode, **options) as stream:
            yield stream
        return
    with _reporting(path):
        # The name may be as long as names can be, so only a part of it goes into the temporary one.
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=PART)
        try:
            with os.fdopen(descriptor, mode, **options) as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(name, _permissions(target))
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
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error


def _permissions(path: Path) -> int:
    """Return the mode of the file that is replaced, or what the user's mask gives a new one."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)  # there is no way to read it without setting it
    os.umask(mask)
    return 0o666 & ~mask
