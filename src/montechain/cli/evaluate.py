"""``montechain evaluate``: methods side by side on one data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from montechain.cli import options, output
from montechain.cli.choices import parse_estimator, parse_loss
from montechain.cli.scores import SHOWN, print_scores
from montechain.cli.sources import check_targets, open_source, split_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["evaluate"]

BASELINE = "Majority"


def evaluate(
    file: options.Source,
    methods: Annotated[
        str, typer.Option("--methods", "-m", metavar="A,B", help="Methods to compare; `montechain methods` lists them.")
    ] = "IC,CC,MCC,PCC",
    targets: options.Targets = None,
    drop: options.Drop = None,
    text: options.Text = None,
    nominal: options.Nominal = None,
    cv: Annotated[
        str,
        typer.Option(
            "--cv",
            metavar="K",
            help="Number of label-stratified folds; official: the published split; random: a hundred random splits, "
            "two thirds for training.",
        ),
    ] = "5",
    estimator: options.Estimator = None,
    loss: options.Loss = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="FOLDER", help="Keep results here as they are computed; a later run resumes from it."
        ),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", metavar="", help="Run again what failed in an earlier run.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="For one method on one fold.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option("--memory-limit", metavar="GB", help="For one method on one fold.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write every measure of every fold to a table."),
    ] = None,
    seed: options.Seed = 0,
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
    """Compare methods by cross-validation, and with always predicting the most common combination.

    **Examples**

    montechain evaluate bridges.csv --targets type,material,span --methods IC,CC,MCC,PtMsCC

    montechain evaluate music --estimator svm --cv 5 --store results
    """
    from montechain._files import protect_files
    from montechain.datasets.files import check_table_path
    from montechain.evaluation import MEASURES, Limits
    from montechain.evaluation import evaluate as run
    from montechain.preparation import TableEncoder

    output.settings.as_json = as_json
    if table is not None:
        check_table_path(table)
        protect_files(table, inputs=[file, targets or "", store or ""], force=force)
    if store is not None:
        protect_files(store, inputs=[file, targets or ""], force=True)
    dataset = open_source(
        file, targets=targets, drop=drop, text=text, nominal=nominal, data=data,
        delimiter=delimiter, encoding=encoding, header=header, decimal=decimal, thousands=thousands, format=format,
    )  # fmt: skip
    check_targets(dataset, file, nominal)
    names = _with_baseline(split_names(methods))
    folds: Any = int(cv) if cv.isdigit() else cv
    limited = seconds is not None or memory is not None
    limits = Limits(seconds=seconds, memory_gb=memory) if limited else None
    links = None if estimator is None else parse_estimator(estimator)
    minimised = None if loss is None else parse_loss(loss)
    encoder = TableEncoder(text=split_names(text)) if text else None
    results: list[pd.DataFrame] = []
    wanted = list(MEASURES) if table or as_json or store else list(SHOWN)
    n_folds = _n_folds(folds)
    with output.progress("evaluating", n_folds * len(names)) as advance:

        def on_result(rows: pd.DataFrame) -> None:
            results.append(rows)
            advance(1)

        try:
            run(
                dataset, names, folds=folds, seed=seed, estimator=links, loss=minimised,
                measures=wanted, encoder=encoder, store=store, retry=retry, limits=limits, on_result=on_result,
            )  # fmt: skip
            complete = True
        except KeyboardInterrupt:
            complete = False
    _report(results, dataset.name or file, cv, table, as_json=as_json)
    if not complete:
        again = "Run the same command to resume." if store else "Use --store FOLDER to be able to resume."
        output.note(f"Interrupted: the table shows what had finished. {again}")
        raise typer.Exit(130)


def _with_baseline(names: list[str]) -> list[str]:
    if not names:
        raise ValueError("`--methods` is empty: name at least one, as in --methods CC,MCC.")
    return names if BASELINE in names else [BASELINE, *names]


def _n_folds(folds: Any) -> int:
    return folds if isinstance(folds, int) else 100 if folds == "random" else 1


def _report(rows: list[pd.DataFrame], name: str, cv: str, table: Path | None, *, as_json: bool) -> None:
    import pandas as pd

    from montechain.datasets import write_table

    results = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    if as_json:
        output.print_json(results.to_dict("records"))
    elif rows:
        kind = {"official": "official split", "random": "100 random splits"}.get(cv, f"{cv}-fold cross-validation")
        caption = f"{BASELINE}: always the most common combination. Best values in bold."
        spread = "" if cv == "official" else ", mean ± standard deviation"
        print_scores(f"{name}: {kind}{spread}", results, caption=caption)
    if table is not None and rows:
        write_table(results, table)
