"""Tables out: predictions and exported data sets."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from montechain._files import atomic_write
from montechain.datasets._arrow import require_pyarrow

__all__ = ["write_table"]

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
    compress = COMPRESSION.get(path.suffix.lower())
    kind = Path(path.stem).suffix.lower() if compress else path.suffix.lower()
    if kind not in WRITERS or (compress and kind in BINARY):
        allowed = ", ".join(WRITERS)
        raise ValueError(f"`{path}`: it is not clear how to write this. The name should end in one of {allowed}.")
    with atomic_write(path) as stream:
        if compress is None:
            WRITERS[kind](frame, stream)
        else:
            with compress(stream, "wb") as compressed:
                WRITERS[kind](frame, compressed)


def _write_parquet(frame: pd.DataFrame, stream: Any) -> None:
    require_pyarrow("parquet")
    frame.to_parquet(stream, index=False)


def _write_feather(frame: pd.DataFrame, stream: Any) -> None:
    require_pyarrow("feather")
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
