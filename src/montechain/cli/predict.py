"""``montechain predict``: a model and a table to predictions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.models import open_model
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
    format: options.Format = None,
    as_json: options.Json = False,
) -> None:
    """Predict all targets of each row, with the probability of the answer and whether it is proven to be the best.

    **Examples**

    montechain predict bridges.mchain new.csv -o predicted.csv

    montechain predict bridges.mchain new.csv --top-k 3 --keep id

    montechain predict bridges.mchain half-known.csv --given
    """
    from montechain.cli.inputs import open_inputs
    from montechain.datasets import write_table

    output.settings.as_json = as_json
    if top_k is not None and proba:
        raise ValueError("`--top-k` and `--proba` are two different tables: ask for one of them.")
    classifier, manifest = open_model(model)
    about = manifest.get("about") or {}
    dataset, kept = open_inputs(
        file, classifier, about, keep=split_names(keep),
        delimiter=delimiter, encoding=encoding, header=header, format=format,
    )  # fmt: skip
    known = _knowledge(dataset, file, given)
    if top_k is not None:
        table = _top_k(classifier, dataset, known, kept, top_k)
    else:
        table = _decisions(classifier, dataset, known, kept, proba)
    if as_json:
        output.print_json(table.to_dict(orient="records"))
    elif result is None:
        table.to_csv(sys.stdout, index=False)
    else:
        write_table(table, result)
        output.note(f"{len(dataset.Y)} rows were predicted: {result}")


def _knowledge(dataset: Dataset, file: str, given: bool) -> pd.DataFrame | None:
    present = dataset.label_names
    if given and not present:
        raise ValueError(f"`--given`, but {file} has no column of a target.")
    if present and not given:
        listed = ", ".join(map(str, present[:5])) + (", ..." if len(present) > 5 else "")
        output.note(f"note: {file} has the targets {listed}: they are not looked at; --given uses them.")
    return dataset.Y if given else None


def _blocks(dataset: Dataset, known: pd.DataFrame | None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the inputs block by block, with what is known of them, and show how far this is."""
    n_rows = len(dataset.Y)
    with output.progress("predicting", n_rows) as advance:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = dataset.take(range(start, min(start + ROWS_AT_ONCE, n_rows)))
            yield part.X, {} if known is None else {"given": part.Y}
            advance(len(part.Y))


def _decisions(classifier: Any, dataset: Dataset, known: Any, kept: pd.DataFrame, with_proba: bool) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    names = _names(classifier)
    parts = []
    for X, knowledge in _blocks(dataset, known):
        if hasattr(classifier, "decide"):
            decision = classifier.decide(X, **knowledge)
            part = _labels(decision.labels, names)
            facts = {"probability": np.exp(decision.log_proba), "certified": decision.certified}
        else:
            part, facts = _labels(classifier.predict(X, **knowledge), names), {}
        if with_proba:
            marginals = classifier.predict_proba(X, **knowledge)
            classes = classifier.classes_
            for name, values, table in zip(names, _listed(classes), _listed(marginals), strict=True):
                facts.update({f"p({name}={value})": table[:, k] for k, value in enumerate(values)})
        for name, column in facts.items():
            part[_free(name, part)] = column
        parts.append(part)
    return pd.concat([kept, pd.concat(parts, ignore_index=True)], axis=1)


def _top_k(classifier: Any, dataset: Dataset, known: Any, kept: pd.DataFrame, k: int) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    if not hasattr(classifier, "predict_top_k"):
        raise ValueError("`--top-k`: this model has no joint distribution whose best answers could be listed.")
    names, parts, start = _names(classifier), [], 0
    for X, knowledge in _blocks(dataset, known):
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


def _names(classifier: Any) -> list[str]:
    names = getattr(classifier, "target_names_", None)
    return (
        [str(name) for name in names]
        if names is not None
        else [f"label_{n}" for n in range(len(_listed(classifier.classes_)))]
    )


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
