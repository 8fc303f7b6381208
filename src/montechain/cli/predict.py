"""``montechain predict``: predict the targets of a table with a saved model."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain._files import protect_files
from montechain.cli import options, output
from montechain.cli.options import split_names
from montechain.cli.tables import Model, open_model, read_new_rows
from montechain.errors import DataError, OutputError

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 50_000
"""Number of rows encoded at a time: each may have thousands of columns then."""
OUTPUT_HELP = "A .csv, .tsv, .parquet, .feather or .jsonl file instead of printed CSV."


@options.grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `montechain fit`.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="A table with the inputs, or a folder of Parquet files.")],
    result: Annotated[Path | None, typer.Option("--output", "-o", help=OUTPUT_HELP)] = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, help="List the K best answers of a row.")] = None,
    proba: Annotated[bool, options.flag("--proba", "-p", help="Add the probability of every class.")] = False,
    given: Annotated[bool, options.flag("--given", "-g", help="Condition on targets that are filled in.")] = False,
    keep: Annotated[str | None, options.names("--keep", help="Additional columns to copy into the result.")] = None,
    safe_csv: Annotated[bool, options.flag("--safe-csv", help="Put ' before cells that look like formulas.")] = False,
    scheduler: options.Scheduler = None,
    reading: options.Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict all targets of each row of a table.

    Each answer comes with its probability and whether it is proven that no other is more probable. For a folder of
    Parquet files, --output names a folder, which gets a file for each of them. After an interruption, the same command
    resumes with the files that are missing.

    \b
    Examples:
      montechain predict bridges.mchain new.csv -o predicted.csv
      montechain predict bridges.mchain new.csv --top-k 3 --keep id
      montechain predict bridges.mchain half-known.csv --given
    """  # noqa: D301
    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path

    if top_k is not None and proba:
        raise ValueError("`--top-k` and `--proba` give different tables: use one of them.")
    wanted: dict[str, Any] = {"top_k": top_k, "proba": proba, "given": given}
    wanted |= {"keep": split_names(keep), "safe_csv": safe_csv, "reading": reading}
    if Path(file).is_dir():
        with options.on_cluster(scheduler):
            written = _predict_folder(open_model(model), Path(file), result, force, wanted)
        if as_json:
            output.print_json({"written": written})
        return
    if result is not None:
        check_table_path(result)
        protect_files(result, inputs=[model, file], force=force)
    table, n_rows = _predict_table(open_model(model), file, **wanted)
    if result is not None:
        write_table(table, result)
        output.note(f"Predicted {n_rows} rows: {result}")
    if as_json:
        output.print_json(table.to_dict(orient="records"))
    elif result is None:
        table.to_csv(sys.stdout, index=False)


def _predict_table(
    model: Model, file: str, *, top_k: int | None, proba: bool, given: bool, keep: list[str], safe_csv: bool,
    reading: options.Reading,
) -> tuple[pd.DataFrame, int]:  # fmt: skip
    """Return the predictions for a file, and its number of rows."""
    import pandas as pd

    from montechain._rows import row_blocks, take_rows
    from montechain.datasets.files import neutralise_formulas

    dataset, copied = read_new_rows(file, model, reading, given=given, keep=keep)
    if top_k is not None and not hasattr(model.classifier, "predict_top_k"):
        raise ValueError("`--top-k` needs a joint distribution, which this model does not have.")
    ask: Any = partial(_decisions, proba=proba) if top_k is None else partial(_best, k=top_k)
    parts = []
    try:
        with output.progress("predicting"):
            for rows in row_blocks(len(dataset.Y), ROWS_AT_ONCE):
                knowledge = {"given": dataset.Y.iloc[rows]} if given else {}
                parts.append(ask(model, take_rows(dataset.X, rows), copied.iloc[rows], knowledge))
    except ValueError as error:  # about a cell of the file
        raise DataError(str(error), path=file) from error
    table = pd.concat(parts, ignore_index=True)
    return neutralise_formulas(table) if safe_csv else table, len(dataset.Y)


def _predict_folder(model: Model, source: Path, result: Path | None, force: bool, wanted: dict[str, Any]) -> list[str]:
    """Predict the Parquet files of a folder, one by one, and write a file for each. Return the paths of these files."""
    from montechain._threads import run_tasks

    parts = sorted(source.resolve().glob("*.parquet"))  # workers may run in other folders
    if not parts:
        raise DataError("is a folder without .parquet files: name a table, or another folder.", path=source)
    if result is None:
        raise ValueError(f"{source} is a folder: name one for the predictions, such as --output predicted.")
    if result.is_file() or (result.is_dir() and result.samefile(source)):
        raise OutputError(f"{result} cannot be written: name another folder for the predictions.")
    result.mkdir(exist_ok=True)
    missing = [part for part in parts if force or not (result / part.name).exists()]
    if len(missing) < len(parts):
        output.note(f"note: {len(parts) - len(missing)} of {len(parts)} files already exist; --force replaces them.")
    run_tasks(partial(_predict_part, result=result.resolve(), wanted=wanted), missing, None, model, in_threads=False)
    output.note(f"Predicted {len(missing)} files: {result}")
    return [str(result / part.name) for part in missing]


def _predict_part(part: Path, model: Model, *, result: Path, wanted: dict[str, Any]) -> None:
    from montechain.datasets import write_table

    write_table(_predict_table(model, str(part), **wanted)[0], result / part.name)


def _decisions(model: Model, X: Any, copied: pd.DataFrame, knowledge: dict[str, Any], proba: bool) -> pd.DataFrame:
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


def _best(model: Model, X: Any, copied: pd.DataFrame, knowledge: dict[str, Any], k: int) -> pd.DataFrame:
    """Return the best answers of each row, a line for each."""
    import numpy as np
    import pandas as pd

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
