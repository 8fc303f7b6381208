"""``montechain fit``: learn from a table and save the model."""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

import montechain as mc
from montechain._files import check_output_path, protect_files
from montechain.cli import options, output
from montechain.cli.options import choose_estimator, choose_order, split_names
from montechain.cli.tables import read_training_table, with_tags_as_targets

N_SHOWN = 20
"""Maximum number of targets in the report."""
ORDER_HELP = "Order of the targets: random (the default), given, their names, search, all_orders, beam_order."
PARENTS_HELP = "Earlier targets that a target depends on: all (the default), none, tree, or how many of the best."
TIME_HELP = "Seconds that learning may take, roughly; for the default model only."
INFERENCE_HELP = (
    "How to find the best answer: branch_and_bound (the default), greedy, beam, monte_carlo, exhaustive, "
    "epsilon_approximate."
)


@options.grouped
def fit(
    *,
    file: options.Source,
    model: Annotated[Path, typer.Option("--output", "-o", help="The model file to write, such as model.mchain.")],
    columns: options.Columns,
    method: Annotated[str | None, typer.Option("--method", "-m", help="A method of `montechain methods`.")] = None,
    estimator: options.Estimator = None,
    order: Annotated[str | None, typer.Option(help=ORDER_HELP)] = None,
    iterations: Annotated[int | None, typer.Option(min=0, help="Steps of `--order search`.")] = None,
    parents: Annotated[str | None, typer.Option(help=PARENTS_HELP)] = None,
    inference: Annotated[str | None, typer.Option("--inference", "-i", help=INFERENCE_HELP)] = None,
    loss: options.Loss = None,
    chains: Annotated[int | None, typer.Option(help="Number of chains that answer together.")] = None,
    seed: options.Seed = 0,
    time_limit: Annotated[float | None, typer.Option(help=TIME_HELP)] = None,
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
      montechain fit songs.arff --order search --iterations 200 --loss hamming -o songs.mchain
    """  # noqa: D301
    from montechain._compilation import watch_compilation

    check_output_path(model)
    protect_files(model, inputs=[file, columns.targets or ""], force=force)
    dataset = read_training_table(file, columns, reading)
    choices = {
        "parents": int(parents) if parents and parents.isdigit() else parents,
        "inference": inference,
        "loss": loss,
        "n_chains": chains,
        "n_jobs": jobs,
        "time_limit": time_limit,
    }
    chosen = {name: choice for name, choice in choices.items() if choice is not None}
    if order is not None or iterations is not None:  # None means "as given" in Python
        targets = with_tags_as_targets(dataset, columns).label_names
        chosen["order"] = choose_order(order or "", targets, iterations)
    classifier = _choose_classifier(method, choose_estimator(estimator), random_state=seed, **chosen)
    text = split_names(columns.text)
    tags: Any = {"tags": split_names(columns.tags), "separator": columns.separator or ";"} if columns.tags else {}
    table = mc.TableClassifier(classifier, encoder=mc.TableEncoder(text=text) if text else None, **tags)
    started = time.perf_counter()
    with watch_compilation() as compilation, options.on_cluster(scheduler):
        _learn(table, dataset)
    seconds = time.perf_counter() - started - compilation.seconds
    about = _record(table, dataset, file, columns)
    about |= {"method": method or "", "fit_seconds": round(seconds, 3)}
    with output.progress("saving"):
        mc.save(table, model, about=about)
    for remark in table.notes_:
        output.note(f"note: {remark}")
    if as_json:
        output.print_json({"model": str(model), **about})
    else:
        _report(model, about)


def _choose_classifier(method: str | None, estimator: Any, **choices: Any) -> Any:
    """Return the classifier that the options describe."""
    from montechain.methods import find_method

    is_default = method is estimator is None and not {"order", "parents", "inference", "n_chains"} & set(choices)
    is_auto = is_default or (method is not None and find_method(method).name == "Auto")
    if "time_limit" in choices and not is_auto:
        raise ValueError(
            "`--time-limit` is for the default model. Leave it out, or leave out --method, --estimator, --order, "
            "--parents, --inference and --chains."
        )
    if method is not None:
        return mc.make_method(method, estimator, **choices)
    if is_default:
        return mc.AutoChainClassifier(**choices)
    if "n_chains" in choices:
        return mc.ChainPopulationClassifier(estimator, **choices)
    return mc.ChainClassifier(estimator, **choices)


def _learn(table: Any, dataset: mc.Dataset) -> None:
    """Fit; an order search draws its own progress bar."""
    inner = table.classifier
    on_terminal = sys.stderr.isatty() and not output.has_option("--quiet", "-q")
    if on_terminal and isinstance(getattr(inner, "order", None), mc.OrderSearch):
        inner.set_params(verbose=True)
        with redirect_stdout(StringIO()):  # `verbose` also prints a line for every link
            table.fit(dataset.X, dataset.Y)
    else:
        with output.progress("learning") as advance:
            if isinstance(inner, mc.AutoChainClassifier):
                inner.set_params(verbose=lambda step, left: advance(what=f"learning: {step}"))
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
