"""``montechain fit``: from a table to a saved model."""

from __future__ import annotations

import hashlib
import sys
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.choices import parse_estimator, parse_loss, parse_order, parse_parents, parse_strategy
from montechain.cli.sources import check_targets, open_source, split_names

if TYPE_CHECKING:
    from montechain.datasets import Dataset

__all__ = ["build", "fit"]

N_DEPENDENCIES = 30
"""Pairs of targets whose dependence in the training data is recorded with the model."""


def fit(
    file: options.Source,
    model: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Where the model goes, e.g. model.mchain.")
    ],
    targets: options.Targets = None,
    drop: options.Drop = None,
    text: options.Text = None,
    nominal: options.Nominal = None,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="A method by name: see `montechain methods`.")
    ] = None,
    estimator: options.Estimator = None,
    order: options.Order = None,
    parents: options.Parents = None,
    inference: options.Inference = None,
    loss: options.Loss = None,
    chains: Annotated[
        int | None, typer.Option("--chains", help="Use a population of so many chains with different orders.")
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    header: options.Header = None,
    decimal: options.Decimal = ".",
    thousands: options.Thousands = None,
    format: options.Format = None,
    data: options.Data = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Learn to predict several columns of a table together, and save the model.

    Words become categories, missing inputs are filled in, and rows in which some targets are unknown are used too.

    **Examples**

    montechain fit bridges.csv --targets type,material,span --drop id -o bridges.mchain

    montechain fit songs.arff --method MsCC --estimator svm -o songs.mchain

    montechain fit songs.arff --order 'search(n_iterations=100)' --loss hamming -o songs.mchain
    """
    from montechain._compilation import watch_compilation
    from montechain._files import check_output_path, protect_files
    from montechain.persistence import save

    output.settings.as_json = as_json
    check_output_path(model)
    protect_files(model, inputs=[file, targets or ""], force=force)
    dataset = open_source(
        file, targets=targets, drop=drop, text=text, nominal=nominal, data=data,
        delimiter=delimiter, encoding=encoding, header=header, decimal=decimal, thousands=thousands, format=format,
    )  # fmt: skip
    check_targets(dataset, file, nominal)
    choices = {
        "estimator": None if estimator is None else parse_estimator(estimator),
        "order": "random" if order is None else parse_order(order, dataset.label_names),
        "parents": None if parents is None else parse_parents(parents),
        "inference": None if inference is None else parse_strategy(inference),
        "loss": None if loss is None else parse_loss(loss),
        "n_chains": chains,
    }
    if order is None:
        choices.pop("order")
    chosen = {name: choice for name, choice in choices.items() if choice is not None or name == "order"}
    classifier = build(method, chosen, text=split_names(text), seed=seed, jobs=jobs)
    started = time.perf_counter()
    with watch_compilation() as compilation:
        _learn(classifier, dataset)
    seconds = time.perf_counter() - started - compilation.seconds
    about = facts(dataset, file, method=method or "", text=split_names(text), drop=split_names(drop), seconds=seconds)
    with output.progress("saving"):
        save(classifier, model, about=about)
    for remark in [*dataset.notes, *classifier.encoder_.notes_]:
        output.note(f"note: {remark}")
    _report(classifier, dataset, model, about, as_json=as_json)


def build(method: str | None, choices: dict[str, Any], *, text: list[str], seed: int, jobs: int | None) -> Any:
    """Return the classifier that the choices describe, for tables of any kind."""
    from montechain import ChainClassifier, ChainPopulationClassifier
    from montechain.estimators.table import TableClassifier
    from montechain.methods import make_method
    from montechain.preparation import TableEncoder

    estimator = choices.pop("estimator", None)
    if method is not None:
        classifier = make_method(method, estimator, random_state=seed, n_jobs=jobs, **choices)
    else:
        kind = ChainPopulationClassifier if "n_chains" in choices else ChainClassifier
        classifier = kind(estimator, random_state=seed, n_jobs=jobs, **choices)
    return TableClassifier(classifier, encoder=TableEncoder(text=text) if text else None)


def facts(
    dataset: Dataset, source: str, *, method: str, text: list[str], drop: list[str], seconds: float
) -> dict[str, Any]:
    """Return what a model was trained on, for those who meet it later."""
    Y = dataset.Y
    return {
        "source": source if source.startswith("openml:") else Path(source).name,
        "sha256": _checksum(source),
        "rows": len(Y),
        "inputs": dataset.feature_names,
        "targets": {str(name): [str(value) for value in kinds] for name, kinds in zip(Y, dataset.classes, strict=True)},
        "unknown_cells": int(Y.isna().to_numpy().sum()),
        "nominal": _nominal(dataset.X),
        "text": text,
        "dropped": drop,
        "method": method,
        "fitted": datetime.now(UTC).isoformat(timespec="seconds"),
        "fit_seconds": round(seconds, 3),
        "dependencies": _dependencies(dataset),
    }


def _nominal(X: Any) -> list[str]:
    """Return the columns of words: in another file they might hold nothing but digits."""
    return [str(name) for name in X.select_dtypes("category")] if hasattr(X, "select_dtypes") else []


def _dependencies(dataset: Dataset) -> list[dict[str, Any]]:
    """Return the pairs of targets that say most about each other, with their mutual information in nats."""
    import numpy as np

    from montechain.parents import mutual_information
    from montechain.targets import TargetCodec

    codec, codes = TargetCodec.fit_encode(dataset.Y)
    information = mutual_information(codes, codec.n_classes)
    first, second = np.triu_indices(len(information), k=1)
    strongest = np.argsort(-information[first, second], kind="stable")[:N_DEPENDENCIES]
    names = dataset.label_names
    return [
        {
            "targets": [names[first[n]], names[second[n]]],
            "information": round(float(information[first[n], second[n]]), 6),
        }
        for n in strongest
    ]


def _checksum(source: str) -> str | None:
    path = Path(source)
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _learn(classifier: Any, dataset: Dataset) -> None:
    """Fit; a search of orders draws its own bar, which knows how far it is."""
    from montechain.ordering import OrderSearch

    inner = classifier.classifier
    if isinstance(getattr(inner, "order", None), OrderSearch) and sys.stderr.isatty() and not output.settings.quiet:
        inner.set_params(verbose=True)
        with redirect_stdout(StringIO()):  # the links that are learned would each have a line there
            classifier.fit(dataset.X, dataset.Y)
        inner.set_params(verbose=False)
        classifier.classifier_.set_params(verbose=False)
        return
    with output.progress("learning"):
        classifier.fit(dataset.X, dataset.Y)


def _report(classifier: Any, dataset: Dataset, model: Path, about: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.print_json({"model": str(model), **about})
        return
    rows = [
        [name, len(kinds), ", ".join(kinds[:6]) + (", ..." if len(kinds) > 6 else "")]
        for name, kinds in about["targets"].items()
    ]
    shown = rows if len(rows) <= 20 else [*rows[:20], [f"... and {len(rows) - 20} more", "", ""]]
    output.print_table(f"Targets of {about['source']}", ["target", "classes", "which"], shown, left=(0, 2))
    unknown = f", {about['unknown_cells']} unknown cells among the targets" if about["unknown_cells"] else ""
    seconds = about["fit_seconds"]
    output.print_line(
        f"Learned from {about['rows']} rows with {len(about['inputs'])} inputs in {seconds:.1f} s{unknown}."
    )
    output.print_line(f"The model is in {model}. Next: montechain predict {model} FILE, or montechain inspect {model}.")
