"""Real data sets for tests and benchmarks, as arrays.

The files lie in the folder that the environment variable MONTECHAIN_DATA names, one folder per data set.
Labels stand in the order of the ARFF file, which need not be that of the label list.
"""

from __future__ import annotations

import gzip
import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import arff
import numpy as np
import scipy.sparse as sp

__all__ = ["OFFICIAL_SPLITS", "Split", "load_split"]

OFFICIAL_SPLITS = ("music", "scene", "yeast", "genbase", "medical", "enron", "tmc2007", "mediamill")
"""Data sets that were published with a training and a test part (Mediamill: of a subset of 2,000 rows)."""

SPARSE = {"medical", "enron", "reuters", "tmc2007"}
FILE_STEM = {"mediamill": "mediamill-reduced"}
IDENTIFIERS = {"genbase": {"protein"}}
SEED_OF_OWN_SPLITS = 0


class Split(NamedTuple):
    """A training and a test part; X is a float64 array or CSR array, Y an int32 array of zeros and ones."""

    X_train: np.ndarray | sp.csr_array
    Y_train: np.ndarray
    X_test: np.ndarray | sp.csr_array
    Y_test: np.ndarray


@cache
def load_split(name: str, folder: str | Path | None = None) -> Split:
    """Return the official split of a data set; for Reuters, which has none, two thirds and one third of its rows.

    `folder` defaults to what MONTECHAIN_DATA names. Results are shared between callers: do not write to them.
    """
    if folder is None:
        folder = os.environ["MONTECHAIN_DATA"]
    files = Path(folder) / name
    stem = FILE_STEM.get(name, name)
    if name in OFFICIAL_SPLITS:
        return Split(*_read(files, name, f"{stem}-train.arff"), *_read(files, name, f"{stem}-test.arff"))
    X, Y = _read(files, name, f"{stem}.arff")
    shuffled = np.random.default_rng(SEED_OF_OWN_SPLITS).permutation(len(Y))
    train, test = np.split(shuffled, [2 * len(Y) // 3])
    return Split(X[train], Y[train], X[test], Y[test])


def _read(files: Path, name: str, file_name: str) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
    sparse = name in SPARSE
    path = files / file_name
    with path.open("rt") if path.exists() else gzip.open(f"{path}.gz", "rt") as stream:
        # A list of dictionaries keeps rows in which everything is zero, which coordinates alone would lose.
        content = arff.load(stream, return_type=arff.LOD if sparse else arff.DENSE)
    attributes = [attribute for attribute, _ in content["attributes"]]
    labels = {element.attrib["name"] for element in ElementTree.parse(files / f"{name}.xml").getroot()}
    if unknown := labels.difference(attributes):
        raise ValueError(f"{file_name} lacks the labels {sorted(unknown)}")
    is_label = np.array([attribute in labels for attribute in attributes])
    is_input = ~is_label & np.array([attribute not in IDENTIFIERS.get(name, set()) for attribute in attributes])
    table: Any = _sparse(content["data"], len(attributes)) if sparse else _dense(content["data"], is_label | is_input)
    X, Y = table[:, np.flatnonzero(is_input)], table[:, np.flatnonzero(is_label)]
    return X, np.ascontiguousarray(Y.toarray() if sp.issparse(Y) else Y, dtype=np.int32)


def _number(value: str | float) -> float:
    return {"YES": 1.0, "NO": 0.0}[value] if value in ("YES", "NO") else float(value)


def _dense(rows: list[list[str | float]], is_number: np.ndarray) -> np.ndarray:
    wanted = is_number.tolist()
    # An identifier is no number; its column is left out by the caller.
    return np.array([[_number(v) if w else 0.0 for v, w in zip(row, wanted, strict=True)] for row in rows])


def _sparse(rows: list[dict[int, str | float]], n_columns: int) -> sp.csr_array:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    values = np.array([float(value) for row in rows for value in row.values()])
    table = sp.csr_array((values, columns, starts.astype(np.int32)), shape=(len(rows), n_columns))
    table.sort_indices()
    return table
