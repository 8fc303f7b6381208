"""Data files: which format they have, opening and decoding them, writing tables."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import pandas as pd

from montechain._files import atomic_write, check_input_path, check_output_path
from montechain._messages import nearest
from montechain.errors import DataError

__all__ = ["SUFFIXES", "check_table_path", "file_stem", "find_format", "text_blocks", "write_table"]

SUFFIXES = {
    "arff": (".arff",),
    "csv": (".csv", ".data"),
    "tsv": (".tsv", ".tab"),
    "excel": (".xlsx", ".xlsm"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
    "libsvm": (".libsvm", ".svm", ".svmlight", ".txt"),
}
"""Formats that can be read, with their file suffixes."""
COMPRESSIONS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
NEEDS = {"parquet": ("pyarrow", "parquet"), "feather": ("pyarrow", "parquet"), "excel": ("openpyxl", "excel")}
"""The library that a format needs, and the extra that installs it."""
BLOCK = 1 << 18
"""Bytes read at a time."""
EXACT_FLOATS: dict[str, Any] = {}
"""Makes `pandas.read_csv` read numbers exactly; from 3.1 on it always does."""
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    EXACT_FLOATS["float_precision"] = "round_trip"
LONGEST_LINE = 1 << 26
"""Maximum length of a line; without it, a small compressed file could fill the memory."""


def find_format(path: str | Path, format: str | None = None) -> str:
    """Return the format of a file: the given one, or the one its suffix stands for.

    >>> find_format("music/music.arff.gz"), find_format("bridges.version1", "csv")
    ('arff', 'csv')
    """
    if format is not None:
        if format not in SUFFIXES:
            allowed = ", ".join(map(repr, SUFFIXES))
            raise ValueError(f"`format={format!r}` is unknown{nearest(format, SUFFIXES) or '.'} Allowed: {allowed}.")
        return format
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    suffix = "".join(suffixes[:-1][-1:] if packed else suffixes[-1:])
    for name, endings in SUFFIXES.items():
        if suffix in endings:
            if packed and name in NEEDS:
                raise DataError(f"{name.capitalize()} files are already compressed; unpack this one first.", path=path)
            return name
    if Path(path).is_dir():
        check_input_path(path)
    known = ", ".join(suffix for endings in SUFFIXES.values() for suffix in endings)
    what = f"the suffix {suffix!r} is not a known format" if suffix else "the name has no suffix that tells the format"
    old = " Save the workbook as .xlsx or .csv first." if suffix in (".xls", ".ods", ".xlsb") else ""
    raise DataError(
        f"{what}.{old} Known suffixes: {known}; text files may also end in .gz or .bz2. Otherwise name the format: "
        'format="csv" (on the command line: --format csv).',
        path=path,
    )


def file_stem(path: str | Path) -> str:
    """Return the name of a data file without the suffixes of its format.

    >>> file_stem("data/yeast-train.arff.gz")
    'yeast-train'
    """
    name = Path(path).name
    for endings in (tuple(COMPRESSIONS), sum(SUFFIXES.values(), ())):
        suffix = Path(name).suffix
        if suffix.lower() in endings:
            name = name.removesuffix(suffix)
    return name


def require_library(format: str) -> None:
    """Raise an error with the install command if a format's library is not installed."""
    if format in NEEDS:
        library, extra = NEEDS[format]
        try:
            import_module(library)
        except ImportError as error:
            install = f'pip install "montechain[{extra}]"'
            raise ImportError(f"{format.capitalize()} files need {library}: {install}") from error


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a file for reading; gzip and bzip2, recognised by their first bytes, are decompressed.

    Raises
    ------
    DataError
        If the file does not exist or cannot be opened.
    """
    path = Path(path)
    try:
        check_input_path(path)
        raw = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}.", path=path) from error
    start = raw.peek(3)[:3]
    if start.startswith(b"\x1f\x8b"):
        return _Decompressed(gzip.GzipFile(fileobj=raw), raw)
    return _Decompressed(bz2.BZ2File(raw), raw) if start == b"BZh" else raw


class _Decompressed(io.BufferedReader):
    """A reader of a compressed stream that also closes the file below it."""

    def __init__(self, unpacked: gzip.GzipFile | bz2.BZ2File, below: IO[bytes]):
        super().__init__(unpacked, BLOCK)
        self._below = below

    def close(self) -> None:
        super().close()
        self._below.close()


def read_chunk(stream: IO[bytes], path: str | Path, size: int | None = None) -> bytes:
    """Read at most `size` bytes, one block by default; raise a `DataError` if the file is cut off or damaged."""
    try:
        return stream.read(BLOCK if size is None else size)
    except EOFError as error:
        raise DataError("the compressed file is cut off: fetch or copy it again.", path=path) from error
    except (OSError, zlib.error, ValueError) as error:
        raise DataError(f"cannot be read, or is damaged: {error}. Fetch or copy it again.", path=path) from error


def text_blocks(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    r"""Yield the text of a file in blocks of whole lines, each with the number of its first line.

    Lines may end in ``\n``, ``\r\n`` or ``\r``; every line that is returned ends in ``\n``, the last one included. A
    byte order mark is removed.

    Raises
    ------
    DataError
        If the file cannot be read, is damaged, or is not in this encoding.

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
                block = "".join([*pieces, text[:end]])
                yield line, block
                line += block.count("\n")
                pieces = []
            pieces.append(text[end:])
            if sum(map(len, pieces)) > LONGEST_LINE:
                raise DataError(f"the line is longer than {LONGEST_LINE} characters.", path=path, line=line)
            if not chunk:
                break
    if rest := "".join(pieces):
        yield line, rest + "\n"


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    """Return the whole text of a file as `text_blocks` gives it, only faster; a NUL byte is refused."""
    chunks: list[bytes] = []
    tail = 0  # bytes since the last end of a line
    with open_binary(path) as stream:
        while chunk := read_chunk(stream, path, 64 * BLOCK):
            chunks.append(chunk)
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            tail = tail + len(chunk) if end < 0 else len(chunk) - end
            if tail > LONGEST_LINE:
                break
    try:
        text = "" if tail > LONGEST_LINE else _decoder(encoding).decode(b"".join(chunks), final=True)
    except UnicodeError:
        text = ""
    if not text:
        text = "".join(block for _, block in text_blocks(path, encoding))  # says what is wrong, and where
    if "\0" in text:
        raise DataError(
            'there is a NUL byte: this is not a text file, or it has an encoding such as encoding="utf-16".',
            path=path,
            line=1 + text[: text.index("\0")].count("\n"),
        )
    return text if text.endswith("\n") or not text else f"{text}\n"


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table in the format of the file's suffix. The file appears only once it is complete.

    Parameters
    ----------
    frame : data frame
    path : str or Path
        Ends in .csv, .tsv, .jsonl (each also with .gz or .bz2), .parquet or .feather.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pd.DataFrame({"tag": ["a", "b"]}), pathlib.Path(folder) / "tags.csv")
    ...     (pathlib.Path(folder) / "tags.csv").read_text().split()
    ['tag', 'a', 'b']
    """
    kind, compress = check_table_path(path)
    with atomic_write(Path(path)) as stream:
        if compress is None:
            WRITERS[kind](frame, stream)
        else:
            with compress(stream, "wb") as compressed:
                WRITERS[kind](frame, compressed)


def check_table_path(path: str | Path) -> tuple[str, Callable[..., Any] | None]:
    """Return the suffix and the compressor of a table to be written; call it before a long computation.

    >>> check_table_path("tags.docx")
    Traceback (most recent call last):
        ...
    ValueError: `tags.docx`: tables can be written as .csv, .tsv, .jsonl, .parquet or .feather.
    """
    path = Path(path)
    compress = COMPRESSIONS.get(path.suffix.lower())
    kind = Path(path.stem).suffix.lower() if compress else path.suffix.lower()
    if kind not in WRITERS or (compress and kind[1:] in NEEDS):
        *some, last = WRITERS
        raise ValueError(f"`{path}`: tables can be written as {', '.join(some)} or {last}.")
    require_library(kind[1:])
    check_output_path(path)
    return kind, compress


WRITERS: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    ".csv": lambda frame, stream: frame.to_csv(stream, index=False),
    ".tsv": lambda frame, stream: frame.to_csv(stream, index=False, sep="\t"),
    ".jsonl": lambda frame, stream: frame.to_json(stream, orient="records", lines=True),
    ".parquet": lambda frame, stream: frame.to_parquet(stream, index=False),
    ".feather": lambda frame, stream: frame.reset_index(drop=True).to_feather(stream),
}


def _decoder(encoding: str) -> io.IncrementalNewlineDecoder:
    try:
        name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        decoder = codecs.getincrementaldecoder(name)("strict")
        "@".encode(name)  # codecs of bytes, such as "hex", are no text encodings
    except (LookupError, TypeError) as error:
        raise ValueError(f'`encoding={encoding!r}` is not a text encoding. Try encoding="latin-1".') from error
    return io.IncrementalNewlineDecoder(decoder, translate=True)


def _wrong_encoding(error: UnicodeDecodeError, path: str | Path, line: int, encoding: str) -> DataError:
    before = error.object[: error.start].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    guess = "utf-16" if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
    return DataError(
        f"byte 0x{error.object[error.start]:02x} is not {encoding}. Name the encoding of the file, for example "
        f"encoding={guess!r} (on the command line: --encoding {guess}).",
        path=path,
        line=line + before.count(b"\n"),
    )
