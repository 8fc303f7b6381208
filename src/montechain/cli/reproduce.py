"""``montechain reproduce``: the paper's tables and figures, ours beside theirs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain._messages import nearest
from montechain.cli import options, output

if TYPE_CHECKING:
    from montechain.experiments.reproduction import Comparison, Reproduction
    from montechain.experiments.studies import Setting, Study

__all__ = ["reproduce"]

STORE, DOCUMENT = "results.sqlite", "reproduction.json"
ESTIMATORS = ("svm", "logistic")


def reproduce(
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY]...",
            help="music_orders, payoff_traces, payoff_comparison, natural_order, accuracy, times, official, agreement, "
            "examples. [default: all]",
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where results and report go; a later run goes on.")
    ] = Path("reproduction"),
    data: options.Data = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Small data sets and short searches: a few minutes.")
    ] = False,
    estimator: Annotated[
        str, typer.Option("--estimator", "-e", help="How a link is learned: svm, as in the paper, or logistic.")
    ] = "svm",
    seed: options.Seed = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="So many processes share the work.")] = 1,
    seconds: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="For one method on one fold, or one search."),
    ] = None,
    memory: Annotated[float | None, typer.Option("--memory-limit", metavar="GB", help="Likewise.")] = None,
    retry: Annotated[
        bool, typer.Option("--retry", metavar="", help="Try again what did not finish in an earlier run.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make the paper's tables and figures again, beside the published ones and those of MEKA.

    Everything goes to the folder as it is made. A run that was ended, however it was, goes on when the same command is
    given again; what is finished is not computed twice.

    **Examples**

    montechain reproduce --data data --out reproduction --quick

    montechain reproduce accuracy times --data data --out reproduction --jobs 2 --time-limit 86400
    """
    from montechain.experiments import Limits
    from montechain.experiments.studies import Setting, choose_studies, gather
    from montechain.experiments.studies.processes import work_in_processes
    from montechain.experiments.studies.running import all_pieces

    output.settings.as_json = as_json
    chosen = choose_studies(studies or (), quick=quick)
    if estimator not in ESTIMATORS:
        hint = nearest(estimator, ESTIMATORS) or "."
        raise ValueError(f"`--estimator {estimator}` is not known{hint} Type svm or logistic.")
    if jobs < 1:
        raise ValueError(f"`--jobs {jobs}` must be a positive whole number, as in --jobs 2.")
    limits = Limits(seconds=seconds, memory_gb=memory) if seconds is not None or memory is not None else None
    setting = Setting(_store_in(out), data, estimator, seed, limits)
    if retry:
        setting.store.forget_failures()
    pieces = all_pieces(chosen, setting)
    _check_data(chosen, setting, bool(pieces))
    total = sum(piece.n_steps for piece in pieces)
    complete = True
    with output.progress("reproducing", total) as advance:
        shown = 0

        def on_progress(n_done: int) -> None:
            nonlocal shown
            advance(n_done - shown)
            shown = n_done

        try:
            work_in_processes(chosen, setting, n_jobs=jobs, on_progress=on_progress)
        except KeyboardInterrupt:
            complete = False
    about = _about(chosen, setting, quick=quick, jobs=jobs, complete=complete)
    reproduction = gather(chosen, setting, about)
    written = _write(reproduction, out)
    if as_json:
        output.print_json(_summary(reproduction, written))
    else:
        for comparison in reproduction.comparisons:
            _print(comparison)
        output.print_line(f"Written: {', '.join(str(path) for path in written)}")
    if not complete:
        output.note("This was interrupted; the tables show what was finished by then, and the same command goes on.")
        raise typer.Exit(130)


def _store_in(out: Path) -> Path:
    from montechain.errors import OutputError

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out} cannot be made: {error.strerror or error}. Name another folder.") from error
    return out / STORE


def _check_data(chosen: Sequence[Study], setting: Setting, has_work: bool) -> None:
    """Say which data sets are missing; without any there is nothing to do."""
    from montechain.errors import DataError

    wanted = [name for study in chosen for name in _datasets(study)]
    missing = {name: why for name in dict.fromkeys(wanted) if (why := setting.why_missing(name))}
    if not has_work:
        name, why = next(iter(missing.items()))
        raise DataError(
            f"none of the data sets is at hand ({name}: {why}). Say where they lie with --data FOLDER; "
            "`montechain data list` says which files there should be."
        )
    for name, why in missing.items():
        output.note(f"{name} is left out: {why}.")


def _datasets(study: Any) -> list[str]:
    if hasattr(study, "n_splits"):
        return list(study.n_iterations)
    return [study.dataset] if hasattr(study, "dataset") else list(study.datasets)


def _about(chosen: Sequence[Study], setting: Setting, *, quick: bool, jobs: int, complete: bool) -> dict[str, Any]:
    """Return what a reader has to know to do the same; no names of machines, people or folders."""
    import json

    from montechain.experiments.results import library_versions

    limits = setting.limits
    parts = ["montechain reproduce", *(study.name for study in chosen)]
    parts += ["--data DATA", "--out OUT", *(["--quick"] if quick else [])]
    parts += [f"--estimator {setting.estimator}", f"--seed {setting.seed}", f"--jobs {jobs}"]
    if limits is not None:
        parts += [f"--time-limit {limits.seconds:g}"] if limits.seconds is not None else []
        parts += [f"--memory-limit {limits.memory_gb:g}"] if limits.memory_gb is not None else []
    return {
        "command": " ".join(parts),
        "seed": setting.seed,
        "estimator": setting.estimator,
        "quick": quick,
        "jobs": jobs,
        "complete": complete,
        "versions": json.loads(library_versions()),
        "machine": _machine(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        lines = facts.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    found: dict[str, Any] = {"processor": model, "cores": os.cpu_count(), "system": platform.system()}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory_gb"] = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    return found


def _write(reproduction: Reproduction, out: Path) -> list[Path]:
    from montechain._files import atomic_write
    from montechain.experiments.report import write_report

    with atomic_write(out / DOCUMENT, "w", encoding="utf-8") as stream:
        stream.write(reproduction.to_json())
    return [out / STORE, out / DOCUMENT, *write_report(reproduction, out)]


def _summary(reproduction: Reproduction, written: list[Path]) -> dict[str, Any]:
    return {
        "about": reproduction.about,
        "written": [str(path) for path in written],
        "tables": [
            {
                "key": comparison.key,
                "title": comparison.title,
                "cells": comparison.cells.astype(object).where(comparison.cells.notna(), None).to_dict("records"),
            }
            for comparison in reproduction.comparisons
        ],
        "statistics": reproduction.statistics,
    }


def _print(comparison: Comparison) -> None:
    """Print a table: ours, and in brackets the paper's."""
    cells = comparison.cells
    measures = list(dict.fromkeys(cells["measure"]))
    for measure in measures:
        own = cells[cells["measure"] == measure]
        # The longer side goes down: sixteen orders, or eleven data sets.
        down, across = ("dataset", "method") if own["method"].nunique() <= 10 else ("method", "dataset")
        columns, index = (list(dict.fromkeys(own[name])) for name in (across, down))
        found = {(row[down], row[across]): _text(row) for row in own.to_dict("records")}
        rows = [[name, *(found.get((name, column), "") for column in columns)] for name in index]
        output.print_table(f"{comparison.title}: {measure}", ["", *columns], rows, caption="In brackets: published.")


def _text(row: dict[str, Any]) -> str:
    value = f"{row['ours']:.3f}" if row["status"] == "ok" else "DNF" if row["status"] == "DNF" else "–"
    return value if row["published"] != row["published"] else f"{value} ({row['published']:g})"
