"""``montechain evaluate``: compare methods on one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import montechain as mc
from montechain._files import protect_files
from montechain.cli import options, output
from montechain.cli.choices import parse_choice
from montechain.cli.scores import SHOWN, print_scores
from montechain.cli.tables import read_training_table, split_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluate"]

BASELINE = "Majority"


@options.grouped
def evaluate(
    *,
    file: options.Source,
    columns: options.Columns,
    methods: Annotated[
        str, typer.Option("--methods", "-m", metavar="A,B", help="Methods of `montechain methods`.")
    ] = "IC,CC,MCC,PCC",
    cv: Annotated[
        str,
        typer.Option(
            metavar="K",
            help="K-fold cross-validation, stratified by labels; official: the published split; random: a hundred "
            "random splits, two thirds for training.",
        ),
    ] = "5",
    estimator: options.Estimator = None,
    loss: options.Loss = None,
    store: Annotated[Path | None, typer.Option(help="Folder of finished results, to resume from.")] = None,
    retry: Annotated[bool, options.flag("--retry", help="Run again what failed in an earlier run.")] = False,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for one method on one fold.")] = None,
    memory_limit: Annotated[float | None, typer.Option(help="Gigabytes for one method on one fold.")] = None,
    table: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write all scores to a table, one per line.")
    ] = None,
    seed: options.Seed = 0,
    reading: options.Reading,
    data: options.Data = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare methods by cross-validation.

    The baseline, Majority, always predicts the most common combination.

    \b
    Examples:
      montechain evaluate bridges.csv --targets type,material,span --methods IC,CC,MCC,PtMsCC
      montechain evaluate music --estimator svm --cv 5 --store results
    """  # noqa: D301
    import pandas as pd

    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path
    from montechain.evaluation import MEASURES, Limits
    from montechain.evaluation import evaluate as run

    inputs = [file, columns.targets or ""]
    if store is not None:
        protect_files(store, inputs=inputs, force=True)
    if table is not None:
        check_table_path(table)
        protect_files(table, inputs=[*inputs, store or ""], force=force)
    unlimited = time_limit is memory_limit is None
    names = split_names(methods)
    if not names:
        raise ValueError("`--methods` is empty: name at least one, as in --methods CC,MCC.")
    names = names if BASELINE in names else [BASELINE, *names]
    dataset = read_training_table(file, columns, reading, data)
    folds: Any = int(cv) if cv.isdigit() else cv
    n_folds = folds if isinstance(folds, int) else 100 if folds == "random" else 1
    rows: list[pd.DataFrame] = []
    with output.progress("evaluating", n_folds * len(names)) as advance:

        def on_result(result: pd.DataFrame) -> None:
            rows.append(result)
            advance(1)

        try:
            run(
                dataset, names, folds=folds, seed=seed, on_result=on_result, store=store, retry=retry,
                estimator=estimator and parse_choice(estimator, "--estimator"),
                loss=loss and parse_choice(loss, "--loss"),
                measures=list(MEASURES) if table or as_json or store else list(SHOWN),
                encoder=mc.TableEncoder(text=split_names(columns.text)) if columns.text else None,
                limits=None if unlimited else Limits(seconds=time_limit, memory_gb=memory_limit),
            )  # fmt: skip
            complete = True
        except KeyboardInterrupt:
            complete = False
    results = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    if as_json:
        output.print_json(results.to_dict("records"))
    elif rows:
        kind = {"official": "official split", "random": "100 random splits"}.get(cv, f"{cv}-fold cross-validation")
        spread = "" if cv == "official" else ", mean ± standard deviation"
        caption = f"{BASELINE} always predicts the most common combination. Best values in bold."
        print_scores(f"{dataset.name or file}: {kind}{spread}", results, caption=caption)
    if table is not None and rows:
        write_table(results, table)
    if not complete:
        again = "Run the same command to resume." if store else "Use --store FOLDER to be able to resume."
        output.note(f"Interrupted: the table shows what had finished. {again}")
        raise typer.Exit(130)
