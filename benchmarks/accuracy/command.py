"""Compute what is missing, and write the report."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.accuracy.cells import METHODS, fill, load
from benchmarks.accuracy.data import FOLDED, FOLDED_SETS, SETS
from benchmarks.accuracy.figure import draw
from benchmarks.accuracy.report import Results, report
from benchmarks.accuracy.studies import STUDIES, run, sections

STORE = Path(__file__).parents[1] / "results" / "accuracy"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks accuracy", description=__doc__)
    parser.add_argument("--store", type=Path, default=STORE, help="folder of the results (default %(default)s)")
    sets = [*SETS, *(f"{name}{FOLDED}" for name in FOLDED_SETS)]
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(SETS), metavar="SET", help=", ".join(sets))
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD", help=", ".join(METHODS)
    )
    parser.add_argument("--seeds", type=int, help="at most this many seeds (default: ten for small sets, else fewer)")
    parser.add_argument("--limit", type=float, default=300.0, help="CPU seconds a peer may take (default %(default)g)")
    parser.add_argument("--redo", action="store_true", help="compute finished results of --methods again")
    parser.add_argument("--only-report", action="store_true", help="compute nothing")
    parser.add_argument(
        "--generated", nargs="*", choices=STUDIES, default=list(STUDIES), help="studies on generated data to compute"
    )
    parser.add_argument("--paper", type=Path, help="CSV file of the paper's tables, whose best cells are checked")
    parser.add_argument("--study", type=Path, help="CSV file of published figures to show beside ours")
    parser.add_argument("--figure", type=Path, help="picture to write, such as accuracy.svg")
    options = parser.parse_args(arguments)
    if not options.only_report:
        chosen = {"n_seeds": options.seeds, "limit": options.limit, "redo": options.redo}
        fill(options.store, options.sets, options.methods, **chosen)
        run(options.store, options.generated)
    cells = load(options.store)
    print(text := "\n\n".join([report(cells, options.study, options.paper), *sections(options.store)]))
    if options.figure is not None:
        draw(Results(cells), options.figure)
    (options.store / "report.md").write_text(text + "\n", encoding="utf-8")
    return 0
