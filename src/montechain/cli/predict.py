"""``montechain predict``: a model and a table to predictions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.models import Model, open_model
from montechain.cli.sources import split_names

if TYPE_CHECKING:
    import pandas as pd

    from montechain.datasets import Dataset

__all__ = ["predict"]

ROWS_AT_ONCE = 2000
"""Rows predicted between two steps of the progress bar. A row's prediction does not depend on the others."""


def predict(
    model: Annotated[Path, typer.Argument(help="A model of `montechain fit`.")],
    file: Annotated[str, typer.Argument(help="A table with the same inputs; other columns are ignored.")],
    result: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A .csv, .tsv, .parquet, .feather or .jsonl file; standard output (CSV) by default.",
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", min=1, help="The K most probable answers of each row, one line each.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", "-p", metavar="", help="Add the probability of each class of each target.")
    ] = False,
    given: Annotated[
        bool,
        typer.Option(
            "--given",
            "-g",
            metavar="",
            help="Use targets that the file has as knowledge, and complete the cells that are missing.",
        ),
    ] = False,
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", metavar="A,B", help="Columns of the file to copy into the result, such as an identifier."
        ),
    ] = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    header: options.Header = None,
    decimal: options.Decimal = ".",
    thousands: options.Thousands = None,
    format: options.Format = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict all targets of each row, with the probability of the answer and whether it is proven to be the best.

    **Examples**

    montechain predict bridges.mchain new.csv -o predicted.csv

    montechain predict bridges.mchain new.csv --top-k 3 --keep id

    montechain predict bridges.mchain half-known.csv --given
    """
    from montechain._files import protect_files
    from montechain.cli.inputs import open_inputs
    from montechain.datasets import write_table
    from montechain.datasets.writing import check_table_path

    output.settings.as_json = as_json
    if top_k is not None and proba:
        raise ValueError("`--top-k` and `--proba` are two different tables: ask for one of them.")
    if result is not None:
        check_table_path(result)
        protect_files(result, inputs=[model, file], force=force)
    opened = open_model(model, beside=file)
    dataset, kept = open_inputs(
        file, opened, given=given, keep=split_names(keep),
        delimiter=delimiter, encoding=encoding, header=header, decimal=decimal, thousands=thousands, format=format,
    )  # fmt: skip
    if top_k is not None:
        table = _top_k(opened, dataset, given, kept, top_k)
    else:
        table = _decisions(opened, dataset, given, kept, proba)
    if result is not None:
        write_table(table, result)
        output.note(f"{len(dataset.Y)} rows were predicted: {result}")
    if as_json:
        output.print_json(table.to_dict(orient="records"))
    elif result is None:
        table.to_csv(sys.stdout, index=False)


def _blocks(dataset: Dataset, given: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the inputs block by block, with what is known of them, and show how far this is."""
    n_rows = len(dataset.Y)
    with output.progress("predicting", n_rows) as advance:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = dataset.take(range(start, min(start + ROWS_AT_ONCE, n_rows)))
            yield part.X, {"given": part.Y} if given else {}
            advance(len(part.Y))


def _decisions(model: Model, dataset: Dataset, given: bool, kept: pd.DataFrame, with_proba: bool) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    classifier, names = model.classifier, model.target_names
    parts = []
    for X, knowledge in _blocks(dataset, given):
        if hasattr(classifier, "decide"):
            decision = classifier.decide(X, **knowledge)
            part = _labels(decision.labels, names)
            facts = {"probability": np.exp(decision.log_proba), "certified": decision.certified}
        else:
            part, facts = _labels(classifier.predict(X, **knowledge), names), {}
        if with_proba:
            marginals = classifier.predict_proba(X, **knowledge)
            for name, values, table in zip(names, model.classes, _listed(marginals), strict=True):
                facts.update({f"p({name}={value})": table[:, k] for k, value in enumerate(values)})
        columns = pd.DataFrame({_free(name, part): column for name, column in facts.items()})
        parts.append(pd.concat([part, columns], axis=1))
    return pd.concat([kept, pd.concat(parts, ignore_index=True)], axis=1)


def _top_k(model: Model, dataset: Dataset, given: bool, kept: pd.DataFrame, k: int) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    classifier, names = model.classifier, model.target_names
    if not hasattr(classifier, "predict_top_k"):
        raise ValueError("`--top-k`: this model has no joint distribution whose best answers could be listed.")
    parts, start = [], 0
    for X, knowledge in _blocks(dataset, given):
        top = classifier.predict_top_k(X, k, **knowledge)
        n_rows, n_found, n_labels = top.labels.shape
        part = _labels(top.labels.reshape(-1, n_labels), names)
        rows = np.repeat(np.arange(start, start + n_rows), n_found)
        ranks = np.tile(np.arange(1, n_found + 1), n_rows)
        facts = {"row": rows + 1, "rank": ranks, "probability": top.proba.ravel()}
        copied = kept.iloc[rows].reset_index(drop=True)
        part = pd.concat([copied, part], axis=1)
        for position, (name, column) in enumerate(facts.items()):
            part.insert(position if name != "probability" else part.shape[1], _free(name, part), column)
        parts.append(part[(part[_last(part)] > 0).to_numpy()])
        start += n_rows
    return pd.concat(parts, ignore_index=True)


def _labels(labels: Any, names: list[str]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if isinstance(labels, pd.DataFrame):
        return labels.reset_index(drop=True).set_axis(names, axis=1)
    table = np.asarray(labels)
    return pd.DataFrame(table.reshape(len(table), -1), columns=names)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _free(name: str, table: pd.DataFrame) -> str:
    """Return the name, with underscores if a target has it already."""
    while name in table.columns:
        name += "_"
    return name


def _last(table: pd.DataFrame) -> str:
    return str(table.columns[-1])
