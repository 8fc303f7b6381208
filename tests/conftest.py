"""Settings and fixtures that all tests share."""

import os
from pathlib import Path

# Before numpy is imported: pytest-xdist workers share the cores, so each of them uses only one.
if "PYTEST_XDIST_WORKER" in os.environ:
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "120s")  # on a busy machine workers start slowly

import pytest
from hypothesis import settings

# Kernels compile at their first call, so a deadline per example would measure the compiler. If CI is set, hypothesis'
# own profile for continuous integration also makes the examples reproducible.
settings.register_profile(
    "montechain",
    parent=settings.get_profile("ci" if os.environ.get("CI") else "default"),
    deadline=None,
    max_examples=40,
)
settings.load_profile("montechain")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="module")
def one_thread():
    """Compute Dask collections in this thread."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client():
    """Return the client of a cluster of two processes."""
    from distributed import Client, LocalCluster

    local = {"processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(n_workers=2, threads_per_worker=1, **local) as own, Client(own) as client:
        yield client


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of the real data sets, or skip the test and say why."""
    folder = os.environ.get("MONTECHAIN_DATA")
    if not folder:
        pytest.skip("MONTECHAIN_DATA is not set: it names the folder of the real data sets")
    if not Path(folder).is_dir():
        pytest.skip(f"MONTECHAIN_DATA={folder} is not a folder")
    return Path(folder)
