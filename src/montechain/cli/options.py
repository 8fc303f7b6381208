"""Options that several commands share: one spelling, one help text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from montechain.cli import output

__all__ = ["Columns", "Data", "Estimator", "Force", "Json", "Loss", "Reading", "Seed", "Source", "flag", "grouped"]

flag = partial(typer.Option, metavar="")
"""An option without a value."""
names = partial(typer.Option, metavar="A,B")
"""An option whose value is a list of column names."""


def _set_json(value: bool) -> bool:
    output.settings.as_json = value
    return value


Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV, TSV, Excel, Parquet, Feather, ARFF or LIBSVM file, openml:NAME, or a name from "
        "`montechain data list`.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", envvar="MONTECHAIN_DATA", help="Folder of the paper's data sets."),
]
Estimator = Annotated[
    str | None,
    typer.Option(
        "--estimator",
        "-e",
        help="What learns each target: logistic (the default), svm, random_forest, extra_trees, "
        "hist_gradient_boosting; with arguments as in 'logistic(C=10)'.",
    ),
]
Loss = Annotated[
    str | None,
    typer.Option("--loss", "-l", help="What to minimise: exact_match (the default), hamming, f1, jaccard."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Force = Annotated[bool, flag("--force", "-f", help="Replace the output file if it exists; never an input.")]
Json = Annotated[bool, flag("--json", callback=_set_json, is_eager=True, help="Print JSON, for programs.")]


@dataclass(frozen=True)
class Columns:
    """What the columns of a training table are."""

    targets: Annotated[
        str | None,
        names(
            "--targets",
            "-t",
            help="Columns to predict: names joined by commas, first:N, last:N, or a Mulan .xml file. ARFF files often "
            "name them.",
        ),
    ] = None
    drop: Annotated[str | None, names("--drop", help="Columns to leave out, such as identifiers.")] = None
    text: Annotated[str | None, names("--text", help="Columns of running text; their words become inputs.")] = None
    nominal: Annotated[
        str | None, names("--nominal", help="Columns whose numbers or dates are categories, such as codes.")
    ] = None


@dataclass(frozen=True)
class Reading:
    """How a table is written."""

    delimiter: Annotated[str | None, typer.Option(help="Character between the cells of a CSV file; detected.")] = None
    encoding: Annotated[str, typer.Option(help="Text encoding of the file, such as latin-1.")] = "utf-8"
    header: Annotated[bool | None, flag(help="Whether the first line of a CSV file names the columns.")] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark of a CSV file, such as a comma.")] = "."
    thousands: Annotated[str | None, typer.Option(help="Thousands separator of a CSV file.")] = None
    stray: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="What to do with words in a column of numbers or dates: missing (the default of fit) or error (the "
            "default of predict).",
        ),
    ] = None
    format: Annotated[
        str | None, typer.Option(help="File format if the name does not tell: csv, tsv, excel, parquet, arff, ...")
    ] = None

    def options(self, *, stray: str) -> dict[str, Any]:
        """Return the arguments of `read_dataset`, with a default for `stray`."""
        return {**asdict(self), "stray": self.stray or stray}


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take options in groups: a parameter that is a dataclass becomes one option for each field."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        own = [parameter]
        if isinstance(kind := parameter.annotation, type) and is_dataclass(kind):
            own = list(inspect.signature(kind, eval_str=True).parameters.values())
            groups[parameter.name] = kind, [field.name for field in own]
        parameters += [field.replace(kind=inspect.Parameter.KEYWORD_ONLY) for field in own]

    @wraps(command)
    def call(**given: Any) -> None:
        for name, (kind, fields) in groups.items():
            given[name] = kind(**{field: given.pop(field) for field in fields})
        command(**given)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call
