"""Data files: detect the format, open and decode files, write tables."""

from __future__ import annotations

import bz2
import codecs
import gzip
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from montechain._files import atomic_write, check_input_path, check_output_path
from montechain._messages import memory_limit, nearest
from montechain.errors import DataError

SUFFIXES = {
    "arff": (".arff",),
    "csv": (".csv", ".data"),
    "tsv": (".tsv", ".tab"),
    "excel": (".xlsx", ".xlsm"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
}
"""Formats that can be read, with their file suffixes."""
FORMATS = {suffix: name for name, suffixes in SUFFIXES.items() for suffix in suffixes}
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of cells that a spreadsheet runs as formulas."""
COMPRESSIONS = (".gz", ".bz2")
NEEDS = {"parquet": ("pyarrow", "parquet"), "feather": ("pyarrow", "parquet"), "excel": ("openpyxl", "excel")}
"""The library that a format needs, and the extra that installs it."""


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
    _, suffix = stem_and_suffix(path)
    if suffix in FORMATS:
        return FORMATS[suffix]
    check_input_path(path)
    what = f"the suffix {suffix!r} is not a known format" if suffix else "the name has no suffix that tells the format"
    raise DataError(
        f"{what}. Known suffixes: {', '.join(FORMATS)}; text files may also end in .gz or .bz2. Otherwise name "
        'the format: format="csv".',
        path=path,
    )


def stem_and_suffix(path: str | Path) -> tuple[str, str]:
    """Return the name of a data file, such as ``yeast-train``, and the suffix that tells its format."""
    path = Path(path)
    path = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    suffix = path.suffix.lower()
    return path.stem if suffix in FORMATS else path.name, suffix


def require_library(format: str) -> None:
    """Raise an error with the install command if a format's library is not installed."""
    if format in NEEDS:
        library, extra = NEEDS[format]
        try:
            import_module(library)
        except ImportError as error:
            install = f'pip install "montechain[{extra}]"'
            raise ImportError(f"{format.capitalize()} files need {library}: {install}") from error


def read_bytes(path: str | Path, most: int = -1) -> bytes:
    """Return the content of a file, at most `most` bytes; gzip and bzip2 are recognised by their first bytes."""
    path = Path(path)
    check_input_path(path)
    try:
        with path.open("rb") as raw:
            start = raw.peek(3)[:3]
            is_gzip, is_bzip2 = start.startswith(b"\x1f\x8b"), start == b"BZh"
            stream: Any = gzip.GzipFile(fileobj=raw) if is_gzip else bz2.BZ2File(raw) if is_bzip2 else raw
            limit = memory_limit() // 4 if most < 0 and stream is not raw else None
            content = stream.read(most if limit is None else limit + 1)
    except (EOFError, OSError, zlib.error, ValueError) as error:
        reason = "it is cut off" if isinstance(error, EOFError) else getattr(error, "strerror", None) or error
        raise DataError(f"cannot be read, or is damaged: {reason}. Fetch or copy it again.", path=path) from error
    if limit is not None and len(content) > limit:
        raise DataError(f"unpacks to more than {limit / 1e9:.3g} GB. Unpack and split it first.", path=path)
    return content


def read_text(path: str | Path, encoding: str = "utf-8") -> str:
    r"""Return the text of a file without a byte order mark, its lines ending in ``\n``."""
    content = read_bytes(path)
    if content.startswith(b"PK\x03\x04"):
        raise DataError('is a zip archive, as Excel files are. Is it one? Then use format="excel".', path=path)
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError as error:
        raise ValueError(f'`encoding={encoding!r}` is not a text encoding. Try encoding="latin-1".') from error
    except UnicodeError as error:
        place = getattr(error, "start", 0)
        before = content[:place].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        guess = "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
        raise DataError(
            f"byte 0x{content[place]:02x} is not {encoding}. Name the encoding of the file, for example "
            f"encoding={guess!r}.",
            path=path,
            line=1 + before.count(b"\n"),
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table in the format of the file's suffix: .csv, .tsv, .jsonl, .parquet or .feather.

    The file appears only once it is complete.
    """
    kind = check_table_path(path)
    with atomic_write(Path(path)) as stream:
        WRITERS[kind](frame, stream)


def neutralise_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names and words no spreadsheet mistakes for formulas: ``'=1+1`` instead of ``=1+1``.

    >>> neutralise_formulas(pd.DataFrame({"=a": ["@SUM(1)", "calm", -1]})).to_numpy().tolist()
    [["'@SUM(1)"], ['calm'], [-1]]
    """

    def plain(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell

    words = frame.select_dtypes(exclude=["number", "bool"]).columns
    changed = {name: frame[name].astype(object).map(plain) for name in words}
    return frame.assign(**changed).rename(columns=plain)


def check_table_path(path: str | Path) -> str:
    """Return the suffix of a table to be written; call it before a long computation."""
    kind = Path(path).suffix.lower()
    if kind not in WRITERS:
        *some, last = WRITERS
        raise ValueError(f"`{path}`: tables can be written as {', '.join(some)} or {last}.")
    require_library(kind[1:])
    check_output_path(path)
    return kind


WRITERS: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    ".csv": lambda frame, stream: frame.to_csv(stream, index=False),
    ".tsv": lambda frame, stream: frame.to_csv(stream, index=False, sep="\t"),
    ".jsonl": lambda frame, stream: frame.to_json(stream, orient="records", lines=True),
    ".parquet": lambda frame, stream: frame.to_parquet(stream, index=False),
    ".feather": lambda frame, stream: frame.reset_index(drop=True).to_feather(stream),
}
