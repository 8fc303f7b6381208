"""Speed and memory against peers, measured in one run: ``python -m benchmarks``."""

import os

THREADS = int(os.environ.get("MONTECHAIN_BENCHMARK_THREADS", "1"))
"""Threads that each side may use in this process."""

# Set here, before anything imports numpy: the libraries below it read these only once.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = str(THREADS)
