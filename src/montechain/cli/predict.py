"""``montechain predict``: predict the targets of a table with a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain._files import protect_files
from montechain.cli import options, output
from montechain.cli.options import split_names
from montechain.cli.tables import Model, open_model, read_new_rows

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from montechain.datasets import Dataset

__all__ = ["predict"]

ROWS_AT_ONCE = 2000
"""Rows predicted between two steps of the progress bar. A row's prediction does not depend on the others."""
OUTPUT_HELP = "A .csv, .tsv, .parquet, .feather or .jsonl file instead of printed CSV."
KEY_HELP = "Identifier of a row, first in the result; by default one that was left out at fit, or the row number."


@options.grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `montechain fit`.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table with the same inputs.")],
    result: Annotated[Path | None, typer.Option("--output", "-o", help=OUTPUT_HELP)] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Give the K best answers of a row.")] = None,
    proba: Annotated[bool, options.flag("--proba", "-p", help="Add the probability of every class.")] = False,
    given: Annotated[bool, options.flag("--given", "-g", help="Condition on targets that are filled in.")] = False,
    key: Annotated[str | None, typer.Option(metavar="COLUMN", help=KEY_HELP)] = None,
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
                labels, after = _decisions(model, block.X, knowledge, proba)
                before = copied.iloc[start : start + len(block.Y)].reset_index(drop=True)
            else:
                rows, rank, labels, after = _best(model, block.X, knowledge, top_k)
                before = copied.iloc[start + rows].reset_index(drop=True)
                before.insert(before.shape[1], "rank", rank, allow_duplicates=True)
            parts.append(pd.concat([before, labels, pd.DataFrame(after)], axis=1))
            advance(len(block.Y))
    table = pd.concat(parts, ignore_index=True)
    # Targets keep their names; others that a target has, or that recur, get an underscore.
    taken, names, n_before = set(model.target_names), [], before.shape[1]
    for place, name in enumerate(table.columns):
        while name in taken and not n_before <= place < n_before + len(model.target_names):
            name += "_"
        taken.add(name)
        names.append(name)
    return table.set_axis(names, axis=1)


def _decisions(model: Model, X: Any, knowledge: dict[str, Any], proba: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the answers, and columns that tell about them."""
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
    return _frame(labels, model.target_names), after


def _best(
    model: Model, X: Any, knowledge: dict[str, Any], k: int
) -> tuple[np.ndarray, np.ndarray, pd.DataFrame, dict[str, Any]]:
    """Return the rows that the answers are of, their ranks, the answers, and columns that tell about them."""
    import numpy as np

    if not hasattr(model.classifier, "predict_top_k"):
        raise ValueError("`--top-k`: this model has no joint distribution whose best answers could be listed.")
    top = model.classifier.predict_top_k(X, k, **knowledge)
    rows, ranks = np.nonzero(top.proba > 0)
    return rows, ranks + 1, _frame(top.labels[rows, ranks], model.target_names), {"probability": top.proba[rows, ranks]}


def _frame(labels: Any, names: list[str]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if isinstance(labels, pd.DataFrame):
        return labels.reset_index(drop=True).set_axis(names, axis=1)
    return pd.DataFrame(np.asarray(labels).reshape(len(labels), -1), columns=names)
