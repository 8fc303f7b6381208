"""Measure all groups, or those named, print one table, and save it as Markdown and JSON.

The data sets are read from the folder named by MONTECHAIN_DATA. The exit code is 1 if a target is missed.
``python -m benchmarks accuracy`` compares predictions instead of speed; it has options of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import (
    THREADS,
    budget,
    fit,
    growth,
    libraries,
    limits,
    load,
    long_runs,
    memory,
    predict,
    predict_proba,
    reading,
    scaling,
    search,
    second_core,
    start,
    svm,
)
from benchmarks.peers import MEDIAMILL_LIKE, SETS
from benchmarks.report import Measurement, details, fill, summary

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOCUMENT = HERE.parent / "docs" / "performance-tables.md"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "river", "scikit-multilearn-ng")


@dataclass(frozen=True)
class Group:
    """Measurements that are run together.

    Attributes
    ----------
    measure : callable
        Takes the number of timed runs.
    threads : int
        Threads that its process may use.
    long : bool
        Whether it is run only when named, or with ``--all``.
    """

    measure: Callable[[int], Iterable[Measurement]]
    threads: int = 1
    long: bool = False


def two_threads(n_runs: int) -> Iterator[Measurement]:
    """Compare again with two threads on both sides, BLAS included; for information, without targets."""
    small = [name for name in SETS if name != MEDIAMILL_LIKE]
    fits = fit.measure(n_runs, small, only_targets=True)
    for row in chain(fits, predict.measure(n_runs, small), predict_proba.measure(n_runs)):
        yield replace(row, target=None)


GROUPS = {
    "fit": Group(fit.measure),
    "predict": Group(predict.measure),
    "latency": Group(predict.measure_latency),
    "predict_proba": Group(predict_proba.measure),
    "libraries": Group(libraries.measure),
    "reading": Group(reading.measure),
    "svm": Group(svm.measure),
    "search": Group(search.measure),
    "second_core": Group(second_core.measure, threads=2),
    "two_threads": Group(two_threads, threads=2),
    "start": Group(start.measure),
    "memory": Group(memory.measure),
    "budget": Group(budget.measure),
    "profile": Group(limits.measure),
    "growth": Group(growth.measure, long=True),
    "load": Group(load.measure, long=True),
    "scaling": Group(scaling.measure, threads=2, long=True),
    "long_methods": Group(long_runs.measure_methods, long=True),
    "long_labels": Group(long_runs.measure_many_labels, long=True),
    "long_search": Group(long_runs.measure_searches, long=True),
}


def main(arguments: list[str] | None = None, groups: dict[str, Group] = GROUPS) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["accuracy"]:
        from benchmarks.accuracy import command  # it needs packages that the other groups do not

        return command.main(arguments[1:])
    short = [name for name, group in groups.items() if not group.long]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"any of {', '.join(groups)}; if none is named, {', '.join(short)}")
    parser.add_argument("--all", action="store_true", help="all groups, including those that take long")
    parser.add_argument("--runs", type=int, default=7, help="minimum number of timed runs of each side (default 7)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results (default %(default)s)")
    parser.add_argument("--update-docs", action="store_true", help=f"also put the results into {DOCUMENT.name}")
    options = parser.parse_args(arguments)
    if unknown := set(options.groups).difference(groups):
        parser.error(f"unknown group {', '.join(sorted(unknown))}; choose from {', '.join(groups)}")
    if not os.environ.get("MONTECHAIN_DATA"):
        parser.error("set MONTECHAIN_DATA to the folder of the data sets")

    options.output.mkdir(parents=True, exist_ok=True)
    of_group: dict[str, list[Measurement]] = {}
    for name in options.groups or (groups if options.all else short):
        of_group[name] = _run(name, groups[name], options)
        _save(options.output / f"{name}.json", of_group[name], options.runs)
    rows = [row for own in of_group.values() for row in own]
    tables = [f"{name}\n\n{details(own)}" for name, own in of_group.items()]
    print(text := "\n\n".join([summary(rows), *tables, _setting(options.runs)]))
    (options.output / "table.md").write_text(text + "\n", encoding="utf8")
    _save(options.output / "table.json", rows, options.runs)
    if options.update_docs:
        update_document(DOCUMENT, options.output, groups)
    return 0 if all(row.reached is not False for row in rows) else 1


def _run(name: str, group: Group, options: argparse.Namespace) -> list[Measurement]:
    """Measure here, or in another process if that one needs another number of threads."""
    if group.threads != THREADS:
        command = [sys.executable, "-m", "benchmarks", name, "--runs", str(options.runs), "--output", options.output]
        environment = os.environ | {"MONTECHAIN_BENCHMARK_THREADS": str(group.threads)}
        completed = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
        if completed.returncode not in (0, 1):
            raise RuntimeError(f"the process of {name} ended with code {completed.returncode}")
        return _load(options.output / f"{name}.json")
    rows = []
    with threadpool_limits(limits=THREADS):
        for row in group.measure(options.runs):
            rows.append(row)
            print(" · ".join(filter(None, row.cells().values())), file=sys.stderr, flush=True)
    return rows


def _save(path: Path, rows: list[Measurement], n_runs: int) -> None:
    content = {"setting": _setting(n_runs), "rows": [row.as_dict() for row in rows]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf8")


def _load(path: Path) -> list[Measurement]:
    return [Measurement.from_dict(row) for row in json.loads(path.read_text(encoding="utf8"))["rows"]]


def _setting(n_runs: int) -> str:
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    return (
        f"Median of at least {n_runs} interleaved runs; {_processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, {', '.join(versions)}."
    )


def _processor() -> str:
    """Return the name of the processor as the system reports it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def update_document(document: Path, folder: Path, groups: dict[str, Any]) -> None:
    """Put saved results, new and old, into the marked sections of a document."""
    saved = {name: folder / f"{name}.json" for name in groups if (folder / f"{name}.json").exists()}
    of_group = {name: _load(path) for name, path in saved.items()}
    sections = {name: details(rows) for name, rows in of_group.items()}
    sections["summary"] = summary([row for rows in of_group.values() for row in rows])
    sections["setting"] = json.loads((folder / "table.json").read_text(encoding="utf8"))["setting"]
    fill(document, sections)


if __name__ == "__main__":
    raise SystemExit(main())
