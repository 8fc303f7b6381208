"""Ratios against peers, measured in one process on one thread: ``python -m benchmarks``."""

import os

# Here, because this runs before anything imports numpy: the libraries below it read these once.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"
