"""Real data sets for tests and benchmarks, as arrays.

The files lie in the folder that the environment variable MONTECHAIN_DATA names, one folder per data set.
Labels stand in the order of the ARFF file, which need not be that of the label list.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain import Dataset
from reproduction.catalogue import load_dataset

OFFICIAL_SPLITS = ("music", "scene", "yeast", "genbase", "medical", "enron", "tmc2007", "mediamill")
"""Data sets that were published with a training and a test part (Mediamill: of a subset of 2,000 rows)."""

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
    whole = load_dataset(name, data=folder)
    if whole.split is not None:
        train, test = whole.split
    else:
        shuffled = np.random.default_rng(SEED_OF_OWN_SPLITS).permutation(len(whole.Y))
        train, test = (whole.take(rows) for rows in np.split(shuffled, [2 * len(shuffled) // 3]))
    return Split(*_arrays(train), *_arrays(test))


def _arrays(dataset: Dataset) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
    X = dataset.X
    if isinstance(X, pd.DataFrame):
        is_nominal = isinstance(X.dtypes.iloc[0], pd.CategoricalDtype)  # Genbase's inputs, which are YES or NO
        X = (X.to_numpy() == "YES").astype(np.float64) if is_nominal else X.to_numpy(np.float64, copy=True)
    return X, np.ascontiguousarray(dataset.Y.to_numpy(dtype=np.int32))
