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
    import pandas as pd

OUTPUT_HELP = "A .csv, .tsv, .parquet, .feather or .jsonl file instead of printed CSV."


@options.grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `montechain fit`.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table with the same inputs.")],
    result: Annotated[Path | None, typer.Option("--output", "-o", help=OUTPUT_HELP)] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="Give the K best answers of a row.")] = None,
    proba: Annotated[bool, options.flag("--proba", "-p", help="Add the probability of every class.")] = False,
    given: Annotated[bool, options.flag("--given", "-g", help="Condition on targets that are filled in.")] = False,
    keep: Annotated[str | None, options.names("--keep", help="More columns to copy into the result.")] = None,
    safe_csv: Annotated[bool, options.flag("--safe-csv", help="Put ' before words that are formulas.")] = False,
    reading: options.Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict all targets of each row of a table.

    Each answer comes with its probability and whether it is proven that no other is more probable.

    \b
    Examples:
      montechain predict bridges.mchain new.csv -o predicted.csv
      montechain predict bridges.mchain new.csv --top-k 3 --keep id
      montechain predict bridges.mchain half-known.csv --given
    """  # noqa: D301
    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path, neutralise_formulas

    if top_k is not None and proba:
        raise ValueError("`--top-k` and `--proba` give different tables: use one of them.")
    if result is not None:
        check_table_path(result)
        protect_files(result, inputs=[model, file], force=force)
    opened = open_model(model)
    dataset, copied = read_new_rows(file, opened, reading, given=given, keep=split_names(keep))
    knowledge = {"given": dataset.Y} if given else {}
    with output.progress("predicting"):
        if top_k is None:
            table = _decisions(opened, dataset.X, copied, proba, knowledge)
        else:
            table = _best(opened, dataset.X, copied, top_k, knowledge)
    if safe_csv:
        table = neutralise_formulas(table)
    if result is not None:
        write_table(table, result)
        output.note(f"Predicted {len(dataset.Y)} rows: {result}")
    if as_json:
        output.print_json(table.to_dict(orient="records"))
    elif result is None:
        table.to_csv(sys.stdout, index=False)


def _decisions(model: Model, X: Any, copied: pd.DataFrame, proba: bool, knowledge: dict[str, Any]) -> pd.DataFrame:
    """Return the answer of each row, with its probability."""
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
    return _joined(copied, labels, model.target_columns, after)


def _best(model: Model, X: Any, copied: pd.DataFrame, k: int, knowledge: dict[str, Any]) -> pd.DataFrame:
    """Return the best answers of each row, a line for each."""
    import numpy as np
    import pandas as pd

    if not hasattr(model.classifier, "predict_top_k"):
        raise ValueError("`--top-k` needs a joint distribution, which this model does not have.")
    top = model.classifier.predict_top_k(X, k, **knowledge)
    rows, ranks = np.nonzero(top.proba > 0)
    before = copied.iloc[rows].copy()
    before.insert(before.shape[1], "rank", ranks + 1, allow_duplicates=True)
    labels = top.labels[rows, ranks]
    if model.target_columns != model.target_names:
        labels = model.classifier.join_tags(pd.DataFrame(labels, columns=model.target_names))
    return _joined(before, labels, model.target_columns, {"probability": top.proba[rows, ranks]})


def _joined(before: pd.DataFrame, labels: Any, targets: list[str], after: dict[str, Any]) -> pd.DataFrame:
    """Return one table. Targets keep their names; other columns whose names are taken get an underscore."""
    import numpy as np
    import pandas as pd

    answers = pd.DataFrame(np.asarray(labels, dtype=object).reshape(len(labels), -1), columns=targets).infer_objects()

    def renamed(table: pd.DataFrame) -> pd.DataFrame:
        taken = {*targets, *(before.columns if table is not before else ())}
        return table.reset_index(drop=True).rename(columns=lambda name: f"{name}_" if name in taken else name)

    return pd.concat([renamed(before), answers, renamed(pd.DataFrame(after))], axis=1)
