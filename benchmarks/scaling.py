"""Beyond one machine: a Dask scheduler and two workers on loopback, tables in blocks, and folders of files.

``python -m benchmarks.scaling 0.01`` measures a hundredth of the rows. Seconds of CPU are those of all processes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np

from benchmarks.memory import peak_bytes
from benchmarks.peers import trainable_split
from benchmarks.reading import table
from benchmarks.report import Measurement
from benchmarks.timing import seconds, timed
from montechain import AutoChainClassifier, ChainClassifier, save
from montechain.methods import make_method

N_WORKERS = 2
ENGINE: dict[str, tuple[str, Callable[..., Any]]] = {
    "yeast": ("Auto", AutoChainClassifier),
    "reuters": ("PtMsCC", partial(make_method, "PtMsCC")),
}
FIT, PREDICT, FILES = (2_000_000, 100, 20), (10_000_000, 50, 20), 1_000_000
"""Rows, inputs and labels; rows of a file."""
ENVIRONMENT = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25, "OMP_NUM_THREADS": 1}
"""That of workers that grow trees, as docs/scaling.md recommends: with Dask's own, that takes up to twice as long."""
ROWS_EACH = 100_000
IN_MEMORY = 10
"""The prediction in memory is that of one row in ten."""


def measure(n_runs: int, scale: float = 1.0) -> Iterator[Measurement]:
    """Measure the engine, learning and predicting in blocks, and the command on a million rows."""
    with _cluster(**ENVIRONMENT) as client:
        for name in ENGINE:
            yield _engine(name, client)
    with _cluster() as client:
        yield from _predict(client, *_scaled(PREDICT, scale))
    with _cluster() as client:
        yield from _fit(client, *_scaled(FIT, scale))
    yield from _files(int(FILES * scale))


def _scaled(shape: tuple[int, int, int], scale: float) -> tuple[int, int, int]:
    return max(2000, int(shape[0] * scale)), *shape[1:]


@contextmanager
def _cluster(**environment: int) -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster

    options = {"n_workers": N_WORKERS, "threads_per_worker": 1, "memory_limit": "2GB", "dashboard_address": None}
    setting = {"distributed.nanny.pre-spawn-environ": environment} if environment else {}
    with (
        config.set(setting),
        LocalCluster(processes=True, host="127.0.0.1", **options) as cluster,
        Client(cluster) as client,
    ):
        client.run(_count_bytes)
        yield client


_received = [0]


def _count_bytes() -> None:
    """Count the bytes that a worker receives, in the worker."""
    tcp: Any = import_module("distributed.comm.tcp")
    read = tcp.read_bytes_rw

    async def counted(stream: Any, n_bytes: int) -> Any:
        _received[0] += n_bytes
        return await read(stream, n_bytes)

    tcp.read_bytes_rw = counted


def _bytes_received() -> int:
    return _received[0]


def _engine(name: str, client: Any) -> Measurement:
    X, Y = trainable_split(name)[:2]
    what, make = ENGINE[name]
    _warm_up()
    client.run(_warm_up)
    make(random_state=0).fit(X[:300], Y[:300])
    here, model = timed(partial(make(random_state=0, n_jobs=N_WORKERS).fit, X, Y))
    before = client.run(_bytes_received)
    with joblib.parallel_config(backend="dask"):
        there, other = timed(partial(make(random_state=0).fit, X, Y))
    received = max(n - before[worker] for worker, n in client.run(_bytes_received).items())
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    same = all(
        np.allclose(a, b, atol=1e-8) for a, b in zip(model.predict_proba(X), other.predict_proba(X), strict=True)
    )
    note = f"a worker received {received / 1e6:,.1f} MB in all; X has {size / 1e6:,.1f} MB"
    return _at_most(f"{what} fit on a cluster", name, there, here, f"n_jobs={N_WORKERS}", 1.3, same, note=note)


def _warm_up() -> None:
    """Load all kernels."""
    X, Y = block(0, 3000, 40, 3)
    ChainClassifier().fit(X, Y)
    AutoChainClassifier(random_state=0).fit(X[:60, :4], Y[:60])


def _at_most(what, data, ours, peer, against, target, correct=True, **more) -> Measurement:
    return Measurement(what, data, ours, peer, against, target, False, correct, threads=N_WORKERS, **more)


def block(number: int, n_rows: int, n_features: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a block of inputs, and of labels that follow them and each other."""
    truth, rng = np.random.default_rng(0), np.random.default_rng([1, number])
    weights, effects = truth.normal(size=(n_features, n_labels)), truth.normal(size=(n_labels, n_labels))
    X, Y = rng.normal(size=(n_rows, n_features)), np.zeros((n_rows, n_labels))
    scores = X @ weights / np.sqrt(n_features) * 2.0
    for label in range(n_labels):
        Y[:, label] = scores[:, label] + Y[:, :label] @ effects[:label, label] + rng.logistic(size=n_rows) > 0.5
    return X, Y.astype(np.int8)


def _blocks(n_rows: int, n_features: int, n_labels: int, folder: str | None = None) -> list[Any]:
    """Return inputs and labels as Dask arrays, each block made when it is wanted, or read from a folder."""
    import dask
    import dask.array as da

    n_each = min(ROWS_EACH, -(-n_rows // 4))
    lengths = [min(n_each, n_rows - start) for start in range(0, n_rows, n_each)]
    made: list[Any] = [dask.delayed(block, nout=2)(k, n, n_features, n_labels) for k, n in enumerate(lengths)]
    if folder is not None:
        for k, n in enumerate(lengths):
            for name, table in zip("XY", block(k, n, n_features, n_labels), strict=True):
                np.save(Path(folder, f"{name}{k}.npy"), table)
        made = [[dask.delayed(np.load)(Path(folder, f"{name}{k}.npy")) for name in "XY"] for k in range(len(lengths))]
    kinds = (n_features, np.float64), (n_labels, np.int8)
    return [
        da.concatenate([da.from_delayed(own[j], (n, width), dtype=dtype) for own, n in zip(made, lengths, strict=True)])
        for j, (width, dtype) in enumerate(kinds)
    ]


def _cpu_seconds(client: Any) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def _objective(model: Any, X: Any, Y: Any) -> float:
    """Return the sum of the links' objectives."""
    links = model.chain_.links
    penalty = sum((link.coef**2).sum() + sum((own[1] ** 2).sum() for own in link.parent_effects) for link in links)
    return float(penalty / 2.0 - model.log_joint(X, Y).sum())


def _fit(client: Any, n_rows: int, n_features: int, n_labels: int) -> Iterator[Measurement]:
    with TemporaryDirectory() as folder:
        lazy, name = _blocks(n_rows, n_features, n_labels, folder), f"{n_rows:,} × {n_features}, {n_labels} labels"
        yield from _fit_both(client, lazy, name)


def _fit_both(client: Any, lazy: list[Any], name: str) -> Iterator[Measurement]:
    options: dict[str, Any] = {"order": None, "random_state": 0}
    _warm_up()
    client.run(_warm_up)
    before = _cpu_seconds(client)
    there, wide = timed(partial(ChainClassifier(**options).fit, *lazy))
    taken = _cpu_seconds(client) - before
    peak = max(client.run(peak_bytes).values())
    before = time.process_time()  # in both cases, the seconds include those that it takes to read the rows
    X, Y = (own.compute(scheduler="threads", num_workers=N_WORKERS) for own in lazy)
    here, model = timed(partial(ChainClassifier(**options, n_jobs=N_WORKERS).fit, X, Y))
    in_memory = time.process_time() - before
    values = [_objective(own, X, Y) for own in (wide, model)]
    note = (
        f"objective {values[0] / values[1] - 1.0:+.1e} of that in memory; {there:.0f} s against {here:.0f} s by the "
        f"clock; a worker's peak {peak / 1e6:,.0f} MB"
    )
    same = abs(values[0] / values[1] - 1.0) <= 1e-6
    yield _at_most("fit in blocks, CPU", name, taken, in_memory, "in memory", 2.0, same, note=note)


def _predict(client: Any, n_rows: int, n_features: int, n_labels: int) -> Iterator[Measurement]:
    shape, name = (n_features, n_labels), f"{n_rows:,} × {n_features}, {n_labels} labels"
    model = ChainClassifier(order=None, random_state=0).fit(*block(2**31, 20_000, *shape))
    X = _blocks(n_rows, *shape)[0]
    model.predict(X[:10]).compute()
    there, total = timed(lambda: int(model.predict(X).sum().compute()))
    peak = max(client.run(peak_bytes).values())
    n_each = min(ROWS_EACH, -(-n_rows // 4))
    numbers = range(max(1, n_rows // n_each // IN_MEMORY))

    def in_memory() -> None:
        """Make the rows in two threads, as the workers do, then predict them."""
        with ThreadPoolExecutor(N_WORKERS) as pool:
            parts = list(pool.map(lambda k: block(k, n_each, *shape)[0], numbers))
        model.set_params(n_jobs=N_WORKERS).predict(np.concatenate(parts))

    each = seconds(in_memory) / (n_each * len(numbers))
    rows = {"correct": total > 0, "threads": N_WORKERS}
    yield Measurement(
        "predict in blocks, a million rows", name, 1e6 * there / n_rows, 1e6 * each, "in memory", 0.8, **rows
    )
    yield Measurement("predict in blocks, peak of a worker", name, peak, None, "", 1e9, False, unit="MB", **rows)


def _files(n_rows: int) -> Iterator[Measurement]:
    from montechain import TableClassifier

    rows, n_learned = table(n_rows), min(20_000, n_rows)
    some = rows[:n_learned].drop(columns="target"), rows[["target"]][:n_learned]
    with TemporaryDirectory() as folder:
        save(TableClassifier(ChainClassifier(random_state=0)).fit(*some), Path(folder, "model.mchain"))
        for kind, target, write in (("csv", 20.0, rows.to_csv), ("parquet", 8.0, rows.to_parquet)):
            write(Path(folder, f"rows.{kind}"), index=False)
            command = ["predict", "model.mchain", f"rows.{kind}", "-o", f"predicted.{kind}"]
            taken = _cpu_of(
                partial(subprocess.run, [sys.executable, "-m", "montechain", *command], cwd=folder, check=True)
            )
            yield Measurement(f"montechain predict, {kind}, CPU", f"{n_rows:,} × 30", taken, None, "", target, False)


def _cpu_of(work: Callable[[], Any]) -> float:
    """Return the seconds of CPU that a process started by `work` takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    from benchmarks import scaling  # its functions, not those of `__main__`, which workers would get copies of

    os.environ.setdefault("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # for the command's process
    for row in scaling.measure(1, float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(" · ".join(filter(None, row.cells().values())), flush=True)
