"""``python -m reproduction``: run the paper's studies and write the report."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

import montechain
from montechain.cli import output as terminal
from montechain.errors import DataError, MontechainError
from montechain.evaluation import ResultStore, run_jobs
from reproduction.report import key_figures, write_report
from reproduction.studies import FULL, Setting, Study, choose_studies
from reproduction.tables import Findings

__all__ = ["main", "reproduce"]

ESTIMATORS = ("svm", "logistic")
INTERRUPTED = 130


def main(
    quick: Annotated[bool, typer.Option("--quick/--full", help="Small data sets, or the sizes of the paper.")] = True,
    only: Annotated[
        str | None, typer.Option(metavar="A,B", help=f"Studies to run: {', '.join(one.name for one in FULL)}.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Results and report.")] = Path(
        "reproduction-results"
    ),
    data: Annotated[
        Path | None, typer.Option(metavar="FOLDER", envvar="MONTECHAIN_DATA", help="Folder of the data sets.")
    ] = None,
    estimator: Annotated[str, typer.Option(help="Base classifier: svm, as in the paper, or logistic.")] = "svm",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="For one method on one fold.")] = None,
    n_jobs: Annotated[int | None, typer.Option("--jobs", help="Methods and folds to run in parallel.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Retry what failed in an earlier run.")] = False,
) -> None:
    """Run the paper's studies again and write a report that sets our figures beside the published ones.

    Finished work is kept in the output folder. Run the same command again to resume an interrupted run.
    """
    studies = choose_studies(only.split(",") if only else (), quick=quick)
    if estimator not in ESTIMATORS:
        raise ValueError(f"`--estimator {estimator}` is not known. Type svm or logistic.")
    setting = Setting(data, estimator, seed, output / "unfinished")
    findings, complete = reproduce(studies, setting, output, time_limit=time_limit, n_jobs=n_jobs, retry=retry)
    options = ["--quick" if quick else "--full", *([f"--only {only}"] if only else [])]
    options += [f"--estimator {estimator}", f"--seed {seed}"]
    options += [f"--time-limit {time_limit:g}"] if time_limit is not None else []
    findings.about = _about(options, complete)
    findings.write(output / "results.json")
    write_report(findings, output)
    for figure, meaning in key_figures(findings):
        terminal.print_line(f"{figure:>14}  {meaning}")
    terminal.print_line(f"Report: {output / 'report.html'}. Tables: {output / 'tables.md'}, {output / 'results.json'}.")
    if not complete:
        terminal.note("Interrupted: the report shows what had finished. Run the same command to resume.")
        raise typer.Exit(INTERRUPTED)


def reproduce(studies: tuple[Study, ...], setting: Setting, folder: Path, **running: Any) -> tuple[Findings, bool]:
    """Run studies, as far as they have not finished before, and return what they found and whether all finished.

    Parameters
    ----------
    studies : tuple of Study
    setting : Setting
    folder : Path
        Finished jobs are kept in its folder ``units``, unfinished searches in ``unfinished``.
    **running
        For `run_jobs`: the time limit, the number of processes, and whether to retry.
    """
    store = ResultStore(folder / "units")
    if setting.unfinished is not None:
        setting.unfinished.mkdir(parents=True, exist_ok=True)
    planned = [(study, list(study.jobs(setting))) for study in studies]
    # Accuracy and times share their jobs.
    jobs = list({store.path(job.identity): job for _, own in planned for job in own}.values())
    missing = {name: setting.why_missing(name) for study in studies for name in study.datasets}
    missing = {name: why for name, why in missing.items() if why}
    if not jobs:
        raise DataError(
            f"none of the data sets is available ({', '.join(f'{name}: {why}' for name, why in missing.items())}). "
            "Name their folder with --data; `python -m reproduction.catalogue FOLDER` says which files it lacks."
        )
    for name, why in missing.items():
        terminal.note(f"{name} is left out: {why}.")
    complete = True
    with terminal.progress("reproducing", len(jobs)) as advance, warnings.catch_warnings():
        # Three labels have six orders, so a search for ten finds fewer; the report need not say so for every fold.
        warnings.simplefilter("ignore")
        try:
            run_jobs(jobs, store=store, on_done=lambda number, one: advance(1), **running)
        except KeyboardInterrupt:
            complete = False
    findings = Findings()
    for study, own in planned:
        findings.add(study.collect(setting, [(job, store.get(job.identity)) for job in own]))
    return findings, complete


def _about(options: list[str], complete: bool) -> dict[str, Any]:
    """Return what a reader needs to repeat the run; no names of machines, people or folders."""
    cores, memory = os.cpu_count(), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {"montechain": montechain.__version__, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba", "pandas")}
    machine = f"{platform.system()}, {platform.machine()}, {cores} cores, {memory:.0f} GB"
    return {
        "command": " ".join(["python -m reproduction", *options]),
        "complete": "yes" if complete else "no",
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "machine": machine,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


if __name__ == "__main__":
    try:
        typer.run(main)
    except (MontechainError, ValueError) as error:
        sys.exit(f"error: {error}")
