"""``montechain fit``: learn from a table and save the model."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

import montechain as mc
from montechain._files import check_output_path, protect_files
from montechain.cli import options, output
from montechain.cli.options import choose_estimator, parse_settings, split_names
from montechain.cli.tables import check_loss, read_training_table

N_SHOWN = 20
"""Maximum number of targets in the report."""
SET_HELP = "A parameter of the method, such as inference=beam, parents=2, order=b,a or order__n_iterations=200."


@options.grouped
def fit(
    *,
    file: options.Source,
    model: Annotated[Path, typer.Option("--output", "-o", help="The model file to write, such as model.mchain.")],
    columns: options.Columns,
    method: Annotated[str | None, typer.Option("--method", "-m", help="A method of `montechain methods`.")] = None,
    estimator: options.Estimator = None,
    settings: Annotated[list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help=SET_HELP)] = None,
    loss: options.Loss = None,
    seed: options.Seed = 0,
    time_limit: Annotated[float | None, typer.Option(help="Seconds to learn, roughly; default model only.")] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processor cores to use; -1 for all.")] = None,
    scheduler: options.Scheduler = None,
    reading: options.Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn to predict columns of a table together.

    Words become categories, missing inputs are filled in, and rows with some missing targets are still used.

    \b
    Examples:
      montechain fit bridges.csv --targets type,material,span --drop id -o bridges.mchain
      montechain fit songs.arff --method MsCC --estimator svm -o songs.mchain
      montechain fit songs.arff --method CC --set order=calm,happy --loss hamming -o songs.mchain
    """  # noqa: D301
    from montechain.evaluation.comparison import timed

    check_output_path(model)
    protect_files(model, inputs=[file, columns.targets or ""], force=force)
    # With an estimator, it is a chain of its links.
    name = method or ("Auto" if estimator is None else "Default")
    links = choose_estimator(estimator, [name], to_save=True)
    dataset = read_training_table(file, columns, reading)
    check_loss(loss, dataset)
    choices = parse_settings(settings or [])
    if time_limit is not None:
        choices["time_limit"] = time_limit
    classifier = mc.make_method(name, links, loss=loss, random_state=seed, n_jobs=jobs, **choices)
    encoder = mc.TableEncoder(text=split_names(columns.text)) if columns.text else None
    table = mc.TableClassifier(classifier, encoder=encoder, tags=split_names(columns.tags), separator=columns.separator)
    with options.on_cluster(scheduler):
        _, seconds = timed(_learn, table, dataset)
    about = _record(table, dataset, file, columns)
    about |= {"method": method or "", "fit_seconds": round(seconds, 3)}
    with output.progress("saving"):
        mc.save(table, model, about=about)
    output.notes(table.notes_)
    if as_json:
        output.print_json({"model": str(model), **about})
    else:
        _report(model, about)


def _learn(table: Any, dataset: mc.Dataset) -> None:
    """Fit, and show how far it is: the steps of the default model, or the lines that an order search prints."""
    inner = table.classifier
    with output.progress("learning") as advance, redirect_stdout(sys.stderr):  # where `verbose` may print
        if isinstance(inner, mc.AutoChainClassifier):

            def show(step: str, left: float | None) -> None:
                advance(what=f"learning: {step}{'' if left is None else f', about {left:.0f} s left'}")

            inner.set_params(verbose=show)
        elif isinstance(getattr(inner, "order", None), mc.OrderSearch):
            inner.set_params(verbose=sys.stderr.isatty() and not output.has_option("--quiet", "-q"))
        table.fit(dataset.X, dataset.Y)
    for one in (inner, table.classifier_):
        if "verbose" in one.get_params(deep=False):
            one.set_params(verbose=False)


def _record(table: Any, dataset: mc.Dataset, source: str, columns: options.Columns) -> dict[str, Any]:
    """Return what the model file says about the training data."""
    Y = dataset.Y
    learned = getattr(table.encoder_, "columns_", ())  # those of a sparse file are only numbers
    identifiers = [column.name for column in learned if column.kind == "identifier"]
    left_out = [*split_names(columns.drop), *identifiers]
    return {
        "source": Path(source).name,
        "rows": len(Y),
        "inputs": [name for name in dataset.feature_names if name not in left_out],
        "targets": {
            str(name): [str(value) for value in table.tags_.get(name, kinds)]
            for name, kinds in zip(Y, dataset.classes, strict=True)
        },
        "unknown_cells": int(Y.isna().to_numpy().sum()),
        "dropped": left_out,
        "fitted": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _report(model: Path, about: dict[str, Any]) -> None:
    rows = [
        [name, len(kinds), ", ".join(kinds[:6]) + (", ..." if len(kinds) > 6 else "")]
        for name, kinds in about["targets"].items()
    ]
    if len(rows) > N_SHOWN:
        rows[N_SHOWN:] = [[f"... and {len(rows) - N_SHOWN} more", "", ""]]
    output.print_table(f"Targets of {about['source']}", ["target", "classes", "which"], rows, left=(0, 2))
    unknown = f"; {about['unknown_cells']} target cells are missing" if about["unknown_cells"] else ""
    n_inputs, seconds = len(about["inputs"]), about["fit_seconds"]
    inputs = f"{n_inputs} input{'s' * (n_inputs != 1)}"
    output.print_line(f"Learned from {about['rows']} rows with {inputs} in {seconds:.1f} s{unknown}.")
    output.print_line(f"Model: {model}. Next: montechain predict {model} FILE, or montechain inspect {model}.")
