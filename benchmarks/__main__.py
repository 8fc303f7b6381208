"""Run all benchmarks, or those named, and print one table of ratios.

The data sets are read from the folder that MONTECHAIN_DATA names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

import numba
import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_limits

from benchmarks import budget, fit, memory, predict, predict_proba, search
from benchmarks.timing import Measurement, as_table

WHAT = ("predict", "predict_proba", "fit", "search", "budget", "memory")
LONG = ("long_search",)
"""Run only when named: they take an hour."""


def measurements(what: str, n_runs: int) -> Iterable[Measurement]:
    return {
        "predict": lambda: predict.measure(n_runs),
        "predict_proba": lambda: predict_proba.measure(n_runs),
        "fit": lambda: fit.measure(n_runs),
        "search": lambda: search.measure(n_runs),
        "long_search": search.measure_long_runs,
        "budget": budget.measure,
        "memory": memory.measure,
    }[what]()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"any of {', '.join(WHAT + LONG)}; all but the last if none is named")
    parser.add_argument(
        "--runs", type=int, default=7, help="timed runs of each side, at least, interleaved (default 7)"
    )
    parser.add_argument("--output", type=Path, help="also write the table to this file: .json or .md")
    options = parser.parse_args(arguments)
    if unknown := set(options.what).difference(WHAT + LONG):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; choose from {', '.join(WHAT + LONG)}")
    if not os.environ.get("MONTECHAIN_DATA"):
        parser.error("set MONTECHAIN_DATA to the folder of the data sets")

    rows: list[Measurement] = []
    with threadpool_limits(limits=1):
        for what in options.what or WHAT:
            for row in measurements(what, options.runs):
                rows.append(row)
                print(" · ".join(filter(None, row.cells())), file=sys.stderr, flush=True)

    setting = (
        f"One thread, median of at least {options.runs} interleaved runs; Python {platform.python_version()}, "
        f"numpy {numpy.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}, "
        f"numba {numba.__version__}. ratio = peer / ours; for memory, peak / input."
    )
    table = f"{as_table(rows)}\n\n{setting}"
    print(table)
    if options.output is not None:
        content = table
        if options.output.suffix == ".json":
            content = json.dumps({"setting": setting, "rows": [row.as_dict() for row in rows]}, indent=1)
        options.output.write_text(content + "\n", encoding="utf8")
    return 0 if all(row.reached is not False for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
