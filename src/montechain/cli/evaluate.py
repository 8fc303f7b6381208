"""``montechain evaluate``: compare methods on one data set."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import montechain as mc
from montechain._files import protect_files
from montechain.cli import options, output
from montechain.cli.options import choose_estimator, split_names
from montechain.cli.tables import check_loss, read_training_table, with_tags_as_targets

if TYPE_CHECKING:
    import pandas as pd

BASELINE = "Majority"
SHOWN = {
    "exact_match": "exact match",
    "hamming_score": "Hamming score",
    "f1_instance": "F1",
    "joint_log_likelihood": "log-likelihood",
    "certified": "certified",
    "fit_seconds": "fit, s",
    "predict_seconds": "predict, s",
}
"""Measures in the printed table, with their headings."""


@options.grouped
def evaluate(
    *,
    file: options.Source,
    columns: options.Columns,
    methods: Annotated[str, typer.Option("--methods", "-m", metavar="A,B", help="Names from `montechain methods`.")] = (
        "Auto,Boosting,Forest,LP-Forest,CC,MCC"
    ),
    cv: Annotated[int, typer.Option(metavar="K", help="Number of stratified folds.")] = 5,
    estimator: options.Estimator = None,
    loss: options.Loss = None,
    store: Annotated[Path | None, typer.Option(help="Folder of finished results, to resume from.")] = None,
    retry: Annotated[bool, options.flag("--retry", help="Retry what failed in an earlier run.")] = False,
    time_limit: Annotated[float | None, typer.Option(help="Seconds for one method on one fold.")] = None,
    n_jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes to use; -1 for one per core.")] = None,
    table: Annotated[Path | None, typer.Option("--output", "-o", help="Write all scores to a table.")] = None,
    seed: options.Seed = 0,
    scheduler: options.Scheduler = None,
    reading: options.Reading,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare methods by cross-validation.

    The baseline, Majority, always predicts the most common combination.

    \b
    Examples:
      montechain evaluate bridges.csv --targets type,material,span --methods IC,CC,MCC,PtMsCC
      montechain evaluate songs.arff --estimator svm --cv 10 --store results
    """  # noqa: D301
    import pandas as pd

    from montechain.datasets import write_table
    from montechain.datasets.files import check_table_path
    from montechain.evaluation import evaluate as run
    from montechain.methods import find_method

    inputs = [file, columns.targets or ""]
    if store is not None:
        protect_files(store, inputs=inputs, force=True)
    if table is not None:
        check_table_path(table)
        protect_files(table, inputs=[*inputs, store or ""], force=force)
    names = split_names(methods)
    if not names:
        raise ValueError("`--methods` is empty: name at least one, as in --methods CC,MCC.")
    base = choose_estimator(estimator, names)
    names = names if BASELINE in names else [BASELINE, *names]
    compared = {find_method(name).name: mc.make_method(name, base, loss=loss) for name in names}
    dataset = with_tags_as_targets(read_training_table(file, columns, reading), columns)
    check_loss(loss, dataset)
    if cv > len(dataset.Y):
        raise ValueError(f"`--cv {cv}` is too many: the table has only {len(dataset.Y)} rows. Try --cv 2.")
    rows: list[pd.DataFrame] = []
    complete = True
    with options.on_cluster(scheduler), output.progress("evaluating", cv * len(compared)) as advance:

        def on_result(result: pd.DataFrame) -> None:
            rows.append(result)
            advance(1)

        try:
            run(
                dataset, compared, folds=cv, seed=seed, on_result=on_result, store=store, retry=retry,
                encoder=mc.TableEncoder(text=split_names(columns.text)) if columns.text else None,
                time_limit=time_limit, n_jobs=n_jobs,
            )  # fmt: skip
        except KeyboardInterrupt:
            complete = False
    results = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()
    if as_json:
        output.print_json(results.to_dict("records"))
    elif rows:
        print_scores(f"{dataset.name or file}: {cv}-fold cross-validation, mean ± standard deviation", results)
    if table is not None and rows:
        write_table(results, table)
    if not complete:
        again = "Run the same command to resume." if store else "Use --store FOLDER to be able to resume."
        output.note(f"Interrupted: the table shows what had finished. {again}")
        raise typer.Exit(130)


def print_scores(title: str, results: pd.DataFrame) -> None:
    """Print a row per method and a column per measure: mean and standard deviation over folds, the best in bold."""
    from montechain.evaluation import summarise

    summary = summarise(results)
    defined = set(summary[summary["status"] != "undefined"]["measure"])
    measures = [measure for measure in SHOWN if measure in defined]
    rows = [
        [method, *map(_cell, own.set_index("measure").loc[measures].itertuples())]
        for method, own in summary.groupby("method", sort=False)
    ]
    bold = " Best values in bold." if sys.stdout.isatty() else ""
    caption = f"{BASELINE} always predicts the most common combination.{bold}"
    output.print_table(title, ["method", *(SHOWN[measure] for measure in measures)], rows, caption=caption)
    if (summary[summary["measure"] == "joint_log_likelihood"]["mean"] == -math.inf).any():
        output.note(
            "log-likelihood -inf: the method gave probability 0 to a combination that occurs in the test rows, such as "
            "one that was never seen in training."
        )
    for one in summary[summary["status"] == "DNF"].drop_duplicates("method").itertuples():
        output.note(f"{one.method} did not finish: {one.reason}")


def _cell(one: Any) -> Any:
    """Return one row of the summary as a cell of the table."""
    from rich.text import Text

    if one.status != "ok":
        return "DNF" if one.status == "DNF" else "–"
    if one.Index == "certified":
        return f"{one.mean:.0%}" if one.mean in (0.0, 1.0) else f"{one.mean:.1%}"
    if one.Index in ("fit_seconds", "predict_seconds"):
        return f"{one.mean:.2f}" if one.mean >= 0.1 else f"{one.mean:.3f}"
    spread = "" if math.isnan(one.std) else f" ± {one.std:.3f}"
    return Text(f"{one.mean:.3f}{spread}", style="bold" if one.rank < 2 else "")
