"""Time from a file to numbers: ARFF files against liac-arff, CSV files against pandas, mixed tables against skrub.

The ARFF reader is our own: liac-arff is no longer maintained, and neither scipy nor pandas reads sparse files. It must
not be slower.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from benchmarks.report import Measurement
from benchmarks.timing import interleaved
from montechain import TableEncoder
from montechain.datasets import read_dataset
from montechain.datasets.arff import read_arff

ARFF_FILES = {"scene": "scene-train.arff.gz", "enron": "enron.arff.gz", "tmc2007": "tmc2007-train.arff.gz"}
SPARSE = ("enron", "tmc2007")
N_ROWS = 100_000


def measure(n_runs: int) -> Iterator[Measurement]:
    """Read dense and sparse ARFF files and a CSV file, and encode a table with words and dates."""
    for name, file in ARFF_FILES.items():
        path = Path(os.environ["MONTECHAIN_DATA"], name, file)
        peer, ours = partial(_liac_arff, path, name in SPARSE), partial(_our_arff, path)
        correct = _same_numbers(peer(), ours())
        yield _row("read ARFF", name, peer, ours, "liac-arff", n_runs, correct, 1.0)
    rows = table()
    with TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        rows.to_csv(path, index=False)
        yield _row(
            "read CSV", f"{N_ROWS:,} × {rows.shape[1]}", lambda: pd.read_csv(path),
            lambda: read_dataset(path, targets=["target"]), "pandas", n_runs,
        )  # fmt: skip
    inputs = rows.drop(columns="target")
    from skrub import TableVectorizer

    yield _row(
        "encode a table", f"{N_ROWS:,} × {inputs.shape[1]}", lambda: TableVectorizer().fit_transform(inputs),
        lambda: TableEncoder().fit_transform(inputs), "skrub TableVectorizer", n_runs,
    )  # fmt: skip


def _our_arff(path: Path) -> pd.DataFrame | sp.csr_array:
    return read_arff(path).data


def _liac_arff(path: Path, is_sparse: bool) -> pd.DataFrame | sp.csr_array:
    """Return what `read_arff` returns, by liac-arff: a frame, or a sparse array of numbers."""
    import arff

    with gzip.open(path, "rt", encoding="utf-8") as stream:
        found = arff.load(stream, encode_nominal=True, return_type=arff.COO if is_sparse else arff.DENSE)
    names = [name for name, _ in found["attributes"]]
    if not is_sparse:
        return pd.DataFrame(found["data"], columns=names)
    values, rows, columns = found["data"]
    return sp.csr_array((values, (rows, columns)), shape=(max(rows) + 1, len(names)), dtype=np.float64)


def _same_numbers(theirs: Any, ours: Any) -> bool:
    if sp.issparse(ours):
        return theirs.shape == ours.shape and abs(theirs - ours).max() == 0.0
    codes = [ours[name].cat.codes if ours[name].dtype == "category" else ours[name] for name in ours]
    return np.array_equal(theirs.to_numpy(), np.column_stack(codes))


def _row(
    what: str,
    data: str,
    peer: Callable[[], Any],
    ours: Callable[[], Any],
    against: str,
    n_runs: int,
    correct: bool = True,
    target: float | None = None,
) -> Measurement:
    theirs, own = interleaved(peer, ours, n_runs)
    return Measurement(what, data, own, theirs, against, target, correct=correct)


def table(n_rows: int = N_ROWS) -> pd.DataFrame:
    """Return numbers with gaps, words, many words, dates and a target."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, 24))
    numbers[rng.uniform(size=numbers.shape) < 0.02] = np.nan
    found = pd.DataFrame(numbers, columns=[f"number{j}" for j in range(24)])
    for j, size in enumerate((3, 12, 40)):
        found[f"word{j}"] = np.array([f"kind {c}" for c in range(size)])[rng.integers(size, size=n_rows)]
    found["street"] = [f"{c} High Street" for c in rng.integers(2000, size=n_rows)]
    found["day"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(900, size=n_rows), unit="D")
    found["target"] = rng.integers(3, size=n_rows)
    return found
