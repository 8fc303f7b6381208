"""``montechain predict``: predict the targets of a table with a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain._files import protect_files
from montechain.cli import options, output
from montechain.cli.models import Model, open_model
from montechain.cli.tables import read_new_rows, split_names

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from montechain.datasets import Dataset

__all__ = ["predict"]

ROWS_AT_ONCE = 2000
"""Rows predicted between two steps of the progress bar. A row's prediction does not depend on the others."""


@options.grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `montechain fit`.")],
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A table with the same inputs. Other columns are ignored.")
    ],
    result: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .csv, .tsv, .parquet, .feather or .jsonl file instead of printed CSV."),
    ] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Give the K best answers of a row.")] = None,
    proba: Annotated[bool, options.flag("--proba", "-p", help="Add the probability of every class.")] = False,
    given: Annotated[bool, options.flag("--given", "-g", help="Condition on targets that are filled in.")] = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="COLUMN",
            help="Identifier of a row, copied to the front of the result. By default one that was left out at fit, or "
            "the row number.",
        ),
    ] = None,
    keep: Annotated[str | None, options.names("--keep", help="More columns to copy into the result.")] = None,
    reading: options.Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict all targets of each row of a table.

    Each answer comes with its probability and whether it is proven that no other is more probable.

    \b
    Examples:
      montechain predict bridges.mchain new.csv -o predicted.csv
      montechain predict bridges.mchain new.csv --top-k 3 --key id
      montechain predict bridges.mchain half-known.csv --given
    """  # noqa: D301
    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path

    if top_k is not None and proba:
        raise ValueError("`--top-k` and `--proba` give two different tables: ask for one of them.")
    if result is not None:
        check_table_path(result)
        protect_files(result, inputs=[model, file], force=force)
    opened = open_model(model, beside=file)
    dataset, copied = read_new_rows(file, opened, reading, given=given, key=key, keep=split_names(keep))
    table = _predictions(opened, dataset, copied, given=given, top_k=top_k, proba=proba)
    if result is not None:
        write_table(table, result)
        output.note(f"Predicted {len(dataset.Y)} rows: {result}")
    if as_json:
        output.print_json(table.to_dict(orient="records"))
    elif result is None:
        table.to_csv(sys.stdout, index=False)


def _predictions(
    model: Model, dataset: Dataset, copied: pd.DataFrame, *, given: bool, top_k: int | None, proba: bool
) -> pd.DataFrame:
    """Return the table of predictions: the copied columns, the targets, and what is known about the answers."""
    import pandas as pd

    n_rows, parts = len(dataset.Y), []
    with output.progress("predicting", n_rows) as advance:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            block = dataset.take(range(start, min(start + ROWS_AT_ONCE, n_rows)))
            knowledge = {"given": block.Y} if given else {}
            if top_k is None:
                before, labels, after = _decisions(model, block.X, knowledge, proba)
                rows = copied.iloc[start : start + len(block.Y)]
            else:
                places, before, labels, after = _best(model, block.X, knowledge, top_k)
                rows = copied.iloc[start + places]
            parts.append(_joined(rows, before, labels, after))
            advance(len(block.Y))
    return pd.concat(parts, ignore_index=True)


def _decisions(
    model: Model, X: Any, knowledge: dict[str, Any], proba: bool
) -> tuple[dict[str, Any], pd.DataFrame, dict[str, Any]]:
    import numpy as np

    classifier, after = model.classifier, {}
    if hasattr(classifier, "decide"):
        decision = classifier.decide(X, **knowledge)
        labels = decision.labels
        after = {"probability": np.exp(decision.log_proba), "certified": decision.certified}
    else:
        labels = classifier.predict(X, **knowledge)
    if proba:
        marginals = classifier.predict_proba(X, **knowledge)
        listed = marginals if isinstance(marginals, list) else [marginals]
        for name, values, table in zip(model.target_names, model.classes, listed, strict=True):
            after.update({f"p({name}={value})": table[:, k] for k, value in enumerate(values)})
    return {}, _labels(labels, model.target_names), after


def _best(
    model: Model, X: Any, knowledge: dict[str, Any], k: int
) -> tuple[np.ndarray, dict[str, Any], pd.DataFrame, dict[str, Any]]:
    import numpy as np

    if not hasattr(model.classifier, "predict_top_k"):
        raise ValueError("`--top-k`: this model has no joint distribution whose best answers could be listed.")
    top = model.classifier.predict_top_k(X, k, **knowledge)
    _, n_found, n_labels = top.labels.shape
    possible = np.flatnonzero(top.proba.ravel() > 0)
    labels = _labels(top.labels.reshape(-1, n_labels)[possible], model.target_names)
    return possible // n_found, {"rank": possible % n_found + 1}, labels, {"probability": top.proba.ravel()[possible]}


def _labels(labels: Any, names: list[str]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if isinstance(labels, pd.DataFrame):
        return labels.reset_index(drop=True).set_axis(names, axis=1)
    table = np.asarray(labels)
    return pd.DataFrame(table.reshape(len(table), -1), columns=names)


def _joined(copied: pd.DataFrame, before: dict[str, Any], labels: pd.DataFrame, after: dict[str, Any]) -> pd.DataFrame:
    """Return the columns side by side; names that a target has, or that recur, get an underscore."""
    import pandas as pd

    parts = [copied.reset_index(drop=True), pd.DataFrame(before), labels, pd.DataFrame(after)]
    taken, names = set(labels.columns), []
    for part in parts:
        for name in part.columns:
            while part is not labels and name in taken:
                name += "_"
            taken.add(name)
            names.append(name)
    return pd.concat([part for part in parts if part.shape[1]], axis=1).set_axis(names, axis=1)
