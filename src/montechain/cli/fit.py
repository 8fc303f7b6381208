"""``montechain fit``: learn from a table and save the model."""

from __future__ import annotations

import hashlib
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
from montechain.cli.choices import parse_choice, parse_order, parse_parents
from montechain.cli.tables import read_training_table, split_names

__all__ = ["build", "fit"]

N_DEPENDENCIES = 30
"""Pairs of targets whose dependence in the training data is recorded with the model."""
N_SHOWN = 20
"""Maximum number of targets in the report."""


@options.grouped
def fit(
    *,
    file: options.Source,
    model: Annotated[Path, typer.Option("--output", "-o", help="The model file to write, such as model.mchain.")],
    columns: options.Columns,
    method: Annotated[str | None, typer.Option("--method", "-m", help="A method of `montechain methods`.")] = None,
    estimator: options.Estimator = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="Order of the targets: random (the default), given, their names joined by commas, or a search such as "
            "'search(n_iterations=200)'."
        ),
    ] = None,
    parents: Annotated[
        str | None,
        typer.Option(
            help="Earlier targets that a target depends on: all (the default), none, tree, or how many of the most "
            "informative."
        ),
    ] = None,
    inference: Annotated[
        str | None,
        typer.Option(
            "--inference",
            "-i",
            help="How to find the best answer: branch_and_bound (the default), greedy, beam, monte_carlo, exhaustive, "
            "epsilon_approximate; with arguments as in 'beam(width=10)'.",
        ),
    ] = None,
    loss: options.Loss = None,
    chains: Annotated[int | None, typer.Option(help="Number of chains that answer together.")] = None,
    seed: options.Seed = 0,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processor cores to use; -1 for all.")] = None,
    reading: options.Reading,
    data: options.Data = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn to predict columns of a table together.

    Words become categories, missing inputs are filled in, and rows with some missing targets are still used.

    \b
    Examples:
      montechain fit bridges.csv --targets type,material,span --drop id -o bridges.mchain
      montechain fit songs.arff --method MsCC --estimator svm -o songs.mchain
      montechain fit songs.arff --order 'search(n_iterations=100)' --loss hamming -o songs.mchain
    """  # noqa: D301
    from montechain._compilation import watch_compilation

    check_output_path(model)
    protect_files(model, inputs=[file, columns.targets or ""], force=force)
    dataset = read_training_table(file, columns, reading, data)
    choices = {
        "estimator": estimator and parse_choice(estimator, "--estimator"),
        "parents": parents and parse_parents(parents),
        "inference": inference and parse_choice(inference, "--inference"),
        "loss": loss and parse_choice(loss, "--loss"),
        "n_chains": chains,
    }
    chosen = {name: choice for name, choice in choices.items() if choice is not None}
    if order is not None:  # None means "as given" in Python
        chosen["order"] = parse_order(order, dataset.label_names)
    classifier = build(method, chosen, text=split_names(columns.text), seed=seed, jobs=jobs)
    started = time.perf_counter()
    with watch_compilation() as compilation:
        _learn(classifier, dataset)
    seconds = time.perf_counter() - started - compilation.seconds
    identifiers = [column.name for column in classifier.encoder_.columns_ if column.kind == "identifier"]
    about = _record(dataset, file, columns, method or "", seconds, left_out=[*split_names(columns.drop), *identifiers])
    with output.progress("saving"):
        mc.save(classifier, model, about=about)
    for remark in [*dataset.notes, *classifier.encoder_.notes_]:
        output.note(f"note: {remark}")
    if as_json:
        output.print_json({"model": str(model), **about})
    else:
        _report(model, about)


def build(method: str | None, choices: dict[str, Any], *, text: list[str], seed: int, jobs: int | None) -> Any:
    """Return the classifier that the choices describe, for tables of any kind."""
    estimator = choices.pop("estimator", None)
    if method is not None:
        classifier = mc.make_method(method, estimator, random_state=seed, n_jobs=jobs, **choices)
    else:
        kind = mc.ChainPopulationClassifier if "n_chains" in choices else mc.ChainClassifier
        classifier = kind(estimator, random_state=seed, n_jobs=jobs, **choices)
    return mc.TableClassifier(classifier, encoder=mc.TableEncoder(text=text) if text else None)


def _learn(classifier: Any, dataset: mc.Dataset) -> None:
    """Fit; an order search draws its own progress bar."""
    inner = classifier.classifier
    searches = isinstance(getattr(inner, "order", None), mc.OrderSearch)
    if not (searches and sys.stderr.isatty() and not output.settings.quiet):
        with output.progress("learning"):
            classifier.fit(dataset.X, dataset.Y)
        return
    inner.set_params(verbose=True)
    with redirect_stdout(StringIO()):  # `verbose` also prints a line for every link
        classifier.fit(dataset.X, dataset.Y)
    inner.set_params(verbose=False)
    classifier.classifier_.set_params(verbose=False)


def _record(
    dataset: mc.Dataset, source: str, columns: options.Columns, method: str, seconds: float, *, left_out: list[str]
) -> dict[str, Any]:
    """Return what the model file says about the training data."""
    X, Y = dataset.X, dataset.Y
    return {
        "source": source if source.startswith("openml:") else Path(source).name,
        "sha256": _checksum(Path(source)),
        "rows": len(Y),
        "inputs": [name for name in dataset.feature_names if name not in left_out],
        "targets": {str(name): [str(value) for value in kinds] for name, kinds in zip(Y, dataset.classes, strict=True)},
        "unknown_cells": int(Y.isna().to_numpy().sum()),
        # In another file these columns might hold nothing but digits.
        "nominal": [str(name) for name in X.select_dtypes("category")] if hasattr(X, "select_dtypes") else [],
        "numeric": [str(name) for name in X.select_dtypes("number")] if hasattr(X, "select_dtypes") else [],
        "dates": dataset.date_formats,
        "text": split_names(columns.text),
        "dropped": left_out,
        "method": method,
        "fitted": datetime.now(UTC).isoformat(timespec="seconds"),
        "fit_seconds": round(seconds, 3),
        "dependencies": _dependencies(dataset),
    }


def _dependencies(dataset: mc.Dataset) -> list[dict[str, Any]]:
    """Return the pairs of targets with the largest mutual information, in nats."""
    import numpy as np

    from montechain.parents import mutual_information
    from montechain.targets import TargetCodec

    codec, codes = TargetCodec.fit_encode(dataset.Y)
    information = mutual_information(codes, codec.n_classes)
    first, second = np.triu_indices(len(information), k=1)
    strongest = np.argsort(-information[first, second], kind="stable")[:N_DEPENDENCIES]
    names = dataset.label_names
    return [
        {"targets": [names[a], names[b]], "information": round(float(information[a, b]), 6)}
        for a, b in zip(first[strongest], second[strongest], strict=True)
    ]


def _checksum(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _report(model: Path, about: dict[str, Any]) -> None:
    rows = [
        [name, len(kinds), ", ".join(kinds[:6]) + (", ..." if len(kinds) > 6 else "")]
        for name, kinds in about["targets"].items()
    ]
    if len(rows) > N_SHOWN:
        rows[N_SHOWN:] = [[f"... and {len(rows) - N_SHOWN} more", "", ""]]
    output.print_table(f"Targets of {about['source']}", ["target", "classes", "which"], rows, left=(0, 2))
    unknown = f"; {about['unknown_cells']} target cells are missing" if about["unknown_cells"] else ""
    n_inputs = len(about["inputs"])
    output.print_line(
        f"Learned from {about['rows']} rows with {n_inputs} input{'s' * (n_inputs != 1)} in "
        f"{about['fit_seconds']:.1f} s{unknown}."
    )
    output.print_line(f"Model: {model}. Next: montechain predict {model} FILE, or montechain inspect {model}.")
