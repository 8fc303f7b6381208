"""Tables out: predictions and exported data sets."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from montechain._files import atomic_write, check_output_path
from montechain.datasets._arrow import require_pyarrow

__all__ = ["check_table_path", "write_table"]

COMPRESSION: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table in the format that the file's name asks for; the file appears only when it is complete.

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
    path = Path(path)
    kind, compress = check_table_path(path)
    with atomic_write(path) as stream:
        if compress is None:
            WRITERS[kind](frame, stream)
        else:
            with compress(stream, "wb") as compressed:
                WRITERS[kind](frame, compressed)


def check_table_path(path: str | Path) -> tuple[str, Callable[..., Any] | None]:
    """Return the kind of file that a name asks for and what compresses it, or say what is wrong with the name.

    Who computes for long calls it first.

    >>> check_table_path("tags.docx")
    Traceback (most recent call last):
        ...
    ValueError: `tags.docx`: it is not clear how to write this. The name should end in one of .csv, ...
    """
    path = Path(path)
    compress = COMPRESSION.get(path.suffix.lower())
    kind = Path(path.stem).suffix.lower() if compress else path.suffix.lower()
    if kind not in WRITERS or (compress and kind in BINARY):
        allowed = ", ".join(WRITERS)
        raise ValueError(f"`{path}`: it is not clear how to write this. The name should end in one of {allowed}.")
    if kind in BINARY:
        require_pyarrow(kind[1:])
    check_output_path(path)
    return kind, compress


def _write_parquet(frame: pd.DataFrame, stream: Any) -> None:
    frame.to_parquet(stream, index=False)


def _write_feather(frame: pd.DataFrame, stream: Any) -> None:
    frame.reset_index(drop=True).to_feather(stream)


def _write_lines(frame: pd.DataFrame, stream: Any) -> None:
    frame.to_json(stream, orient="records", lines=True)


WRITERS: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    ".csv": lambda frame, stream: frame.to_csv(stream, index=False),
    ".tsv": lambda frame, stream: frame.to_csv(stream, index=False, sep="\t"),
    ".jsonl": _write_lines,
    ".parquet": _write_parquet,
    ".feather": _write_feather,
}
BINARY = {".parquet", ".feather"}
