"""Text files, plain or compressed, in blocks of whole lines: memory stays at one block."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from montechain._files import similar_file
from montechain.errors import DataError

__all__ = ["open_binary", "read_chunk", "text_blocks"]

BLOCK = 1 << 18
"""Bytes that are read at a time: large enough for fast parsing, small beside any data set."""
LONGEST_LINE = 1 << 26
"""A longer line is refused: a compressed file could else fill the memory with one."""


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a file for reading, unpacked if it is gzip or bzip2, which its first bytes tell.

    Raises
    ------
    DataError
        If there is no such file, or it cannot be opened.

    Examples
    --------
    >>> import tempfile, pathlib, gzip
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "note.gz"
    ...     _ = path.write_bytes(gzip.compress(b"hello"))
    ...     with open_binary(path) as stream:
    ...         stream.read()
    b'hello'
    """
    path = Path(path)
    try:
        raw = path.open("rb")
    except FileNotFoundError as error:
        raise DataError(f"there is no such file{similar_file(path)}", path=path) from error
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}.", path=path) from error
    except ValueError as error:  # a zero character in the name
        raise DataError(f"cannot be read: {error}.", path=repr(str(path))) from error
    start = raw.peek(3)[:3]
    if start.startswith(b"\x1f\x8b"):
        return _Owning(gzip.GzipFile(fileobj=raw), raw)
    if start == b"BZh":
        return _Owning(bz2.BZ2File(raw), raw)
    return raw


def text_blocks(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    r"""Yield the text of a file in blocks of whole lines, each with the number of its first line.

    A file may be gzip or bzip2. Lines may end in ``\n``, ``\r\n`` or ``\r``; here they all end in ``\n``,
    also the last one. A byte order mark is left out.

    Parameters
    ----------
    path : str or Path
    encoding : str, default="utf-8"

    Raises
    ------
    DataError
        If the file cannot be read, is cut off or damaged, or is not in this encoding.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "note.txt"
    ...     _ = path.write_bytes(b"one\r\ntwo")
    ...     list(text_blocks(path))
    [(1, 'one\n'), (2, 'two\n')]
    """
    decoder = _decoder(encoding)
    line = 1
    pieces: list[str] = []  # of a line that is not complete yet
    with open_binary(path) as stream:
        while True:
            chunk = read_chunk(stream, path)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise _wrong_encoding(error, path, line, encoding) from error
            except UnicodeError as error:
                raise DataError(f"is not {encoding} text: {error}.", path=path, line=line) from error
            end = text.rfind("\n") + 1
            if end:
                pieces.append(text[:end])
                block = "".join(pieces)
                yield line, block
                line += block.count("\n")
                pieces = [text[end:]] if end < len(text) else []
            elif text:
                pieces.append(text)
            if sum(map(len, pieces)) > LONGEST_LINE:
                raise DataError(f"the line is longer than {LONGEST_LINE} characters.", path=path, line=line)
            if not chunk:
                break
    if pieces:
        yield line, "".join(pieces) + "\n"


class _Owning(io.BufferedReader):
    """A reader of a packed stream that closes the file below as well."""

    def __init__(self, unpacked: gzip.GzipFile | bz2.BZ2File, below: IO[bytes]):
        super().__init__(unpacked, BLOCK)
        self._below = below

    def close(self) -> None:
        super().close()
        self._below.close()


def read_chunk(stream: IO[bytes], path: str | Path, size: int | None = None) -> bytes:
    """Read at most `size` bytes, one block by default, from what `open_binary` opened.

    Raises
    ------
    DataError
        If the file is cut off or damaged.
    """
    try:
        return stream.read(BLOCK if size is None else size)
    except EOFError as error:
        raise DataError("the compressed file is cut off: fetch or copy it again.", path=path) from error
    except (OSError, zlib.error, ValueError) as error:
        raise DataError(f"cannot be read, or is damaged: {error}. Fetch or copy it again.", path=path) from error


def _decoder(encoding: str) -> io.IncrementalNewlineDecoder:
    try:
        # A byte order mark is no part of the first line.
        name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        decoder = codecs.getincrementaldecoder(name)("strict")
        "@".encode(name)  # codecs of bytes, such as "hex", are no text encodings
    except (LookupError, TypeError) as error:
        raise ValueError(f'`encoding={encoding!r}` is not a text encoding. Try encoding="latin-1".') from error
    return io.IncrementalNewlineDecoder(decoder, translate=True)


def _wrong_encoding(error: UnicodeDecodeError, path: str | Path, line: int, encoding: str) -> DataError:
    before = error.object[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    byte = error.object[error.start]
    guess = "utf-16" if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
    return DataError(
        f"byte 0x{byte:02x} is not {encoding}. Name the encoding of the file, for example encoding={guess!r} "
        f"(on the command line: --encoding {guess}).",
        path=path,
        line=line + before.count(b"\n"),
    )
