"""Options that several commands share: one spelling, one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Data",
    "Decimal",
    "Delimiter",
    "Drop",
    "Encoding",
    "Estimator",
    "Force",
    "Format",
    "Header",
    "Inference",
    "Jobs",
    "Json",
    "Loss",
    "Nominal",
    "Order",
    "Parents",
    "Seed",
    "Source",
    "Targets",
    "Text",
    "Thousands",
]

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV, TSV, Parquet, Feather, ARFF or LIBSVM file, openml:NAME, or a name from `montechain data list`.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        help="Of the targets: random, given, all their names with commas between them, search, or with arguments "
        "'search(n_iterations=200)'. [default: random]",
    ),
]
Parents = Annotated[
    str | None,
    typer.Option(
        "--parents",
        help="Which earlier targets a target depends on: all, none, tree, or the number of the most informative ones. "
        "[default: all]",
    ),
]
Inference = Annotated[
    str | None,
    typer.Option(
        "--inference",
        "-i",
        help="How the best answer is found: branch_and_bound, greedy, beam, monte_carlo, exhaustive, "
        "epsilon_approximate; with arguments as in 'beam(width=10)'. [default: branch_and_bound]",
    ),
]

Targets = Annotated[
    str | None,
    typer.Option(
        "--targets",
        "-t",
        metavar="A,B,C",
        help="The columns to predict: names with commas between them, first:N, last:N, or a Mulan .xml file. "
        "ARFF files often say it themselves.",
    ),
]
Drop = Annotated[
    str | None,
    typer.Option("--drop", metavar="A,B", help="Columns to leave out, such as identifiers and dates of entry."),
]
Text = Annotated[
    str | None,
    typer.Option("--text", metavar="A,B", help="Columns of running text: their words become inputs (TF-IDF)."),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="What separates cells in a CSV file; found out by default.")
]
Encoding = Annotated[str, typer.Option("--encoding", help="How the letters of a CSV file are stored, e.g. latin-1.")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        metavar="",
        help="Whether the first line of a CSV file names the columns. [default: it does]",
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="What a file is whose name does not tell: arff, csv, tsv, parquet, feather, libsvm."),
]
Decimal = Annotated[str, typer.Option("--decimal", help="The decimal sign of a CSV file, e.g. a comma.")]
Thousands = Annotated[str | None, typer.Option("--thousands", help="What groups the digits of its numbers.")]
Nominal = Annotated[
    str | None, typer.Option("--nominal", metavar="A,B", help="Columns of numbers that are names, such as codes.")
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", envvar="MONTECHAIN_DATA", help="Where the catalogue's data sets lie."),
]
Estimator = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        "-e",
        help="How a link is learned: logistic, svm, random_forest, extra_trees; with arguments as in "
        "'logistic(C=10)'. [default: logistic]",
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        "--loss", "-l", help="What the best answer is: exact_match, hamming, f1, jaccard. [default: exact_match]"
    ),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Processor cores to use; -1 is all of them.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="For everything random: the same seed, the same result.")]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON for machines.")]
Force = Annotated[
    bool, typer.Option("--force", "-f", metavar="", help="Replace the output file if it exists; never an input.")
]
