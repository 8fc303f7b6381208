"""Tables with dependent labels, in memory and as Dask arrays."""

import dask.array as da
import numpy as np

from benchmarks.generated import make_known_chain


def make(n_classes=(2, 2, 2), n_features=5, n=400):
    dataset, _ = make_known_chain(n, n_features, len(n_classes), n_classes, random_state=0)
    return np.array(dataset.X), np.array(dataset.Y)


def blocks(*tables, rows=150):
    return [da.from_array(table, chunks=(rows, *table.shape[1:])) for table in tables]
