"""Options that several commands share, and choices as they are typed: ``beam``, ``search(n_iterations=100)``."""

from __future__ import annotations

import ast
import csv
import inspect
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial, wraps
from importlib import import_module
from typing import Annotated, Any

import typer

from montechain._messages import nearest

flag = partial(typer.Option, metavar="")
"""An option without a value."""
names = partial(typer.Option, metavar="A,B")
"""An option whose value is a list of column names."""


TABLE_HELP = "A CSV, TSV, Excel, Parquet, Feather or ARFF file."
TARGETS_HELP = "Columns to predict: names joined by commas, first:N, last:N, or a Mulan .xml file; ARFF may name them."
ESTIMATOR_HELP = (
    "What learns each target of a chain: logistic, svm, random_forest, extra_trees, hist_gradient_boosting, lightgbm, "
    "xgboost, catboost; with arguments as in 'logistic(C=10)'."
)
TAGS_HELP = "Targets whose cells hold any number of tags, as in 'rock;calm'; an empty cell has none."
LOSS_HELP = "What to minimise: exact_match (the default), hamming, f1, jaccard."
STRAY_HELP = "Words in a column of numbers: missing (the default of fit) or error (that of predict)."

Source = Annotated[str, typer.Argument(metavar="FILE", help=TABLE_HELP)]
Estimator = Annotated[str | None, typer.Option("--estimator", "-e", help=ESTIMATOR_HELP)]
Loss = Annotated[str | None, typer.Option("--loss", "-l", help=LOSS_HELP)]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Force = Annotated[bool, flag("--force", "-f", help="Replace the output file if it exists; never an input.")]
Json = Annotated[bool, flag("--json", help="Print JSON, for programs.")]


@dataclass(frozen=True)
class Columns:
    """What the columns of a training table are."""

    targets: Annotated[str | None, names("--targets", "-t", help=TARGETS_HELP)] = None
    drop: Annotated[str | None, names("--drop", help="Columns to leave out, such as identifiers.")] = None
    text: Annotated[str | None, names("--text", help="Columns of running text.")] = None
    nominal: Annotated[str | None, names("--nominal", help="Columns whose numbers or dates are categories.")] = None
    tags: Annotated[str | None, names("--tags", help=TAGS_HELP)] = None
    separator: Annotated[str | None, typer.Option(help="What separates the tags of a cell: ';' by default.")] = None


@dataclass(frozen=True)
class Reading:
    """How a table is written."""

    delimiter: Annotated[str | None, typer.Option(help="Character between the cells of a CSV file; detected.")] = None
    encoding: Annotated[str, typer.Option(help="Text encoding of the file, such as latin-1.")] = "utf-8"
    header: Annotated[bool | None, flag(help="Whether the first line of a CSV file names the columns.")] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark of a CSV file, such as a comma.")] = "."
    thousands: Annotated[str | None, typer.Option(help="Thousands separator of a CSV file.")] = None
    stray: Annotated[str | None, typer.Option(metavar="WHAT", help=STRAY_HELP)] = None
    format: Annotated[
        str | None, typer.Option(help="csv, tsv, excel, parquet, arff, ... if the name does not tell.")
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


def split_names(text: str | None) -> list[str]:
    """Return names joined by commas; a name with a comma in it stands in double quotes.

    >>> split_names('a, "b, c",d')
    ['a', 'b, c', 'd']
    """
    cells = next(csv.reader([text], skipinitialspace=True)) if text else []
    return [name.strip() for name in cells if name.strip()]


def parse_targets(text: str | None) -> Any:
    """Return targets as `read_dataset` takes them.

    >>> parse_targets("type,material"), parse_targets("first:3"), parse_targets("last:5"), parse_targets("songs.xml")
    (['type', 'material'], 3, -5, 'songs.xml')
    """
    if text is None:
        return None
    if match := re.fullmatch(r"(first|last):(\d+)", text.strip()):
        return int(match[2]) if match[1] == "first" else -int(match[2])
    return text if text.lower().endswith(".xml") else split_names(text)


CHOICES = {
    option: {name: f"montechain.{name.title().replace('_', '')}" for name in known.split()}
    for option, known in {
        "--inference": "branch_and_bound greedy beam monte_carlo exhaustive epsilon_approximate",
        "--loss": "exact_match hamming f1 jaccard",
        "--order": "all_orders beam_order",
    }.items()
}
CHOICES["--order"]["search"] = "montechain.OrderSearch"
CHOICES["--estimator"] = {
    "logistic": "montechain.LogisticLink",
    "svm": "montechain.SVMLink",
    "random_forest": "sklearn.ensemble.RandomForestClassifier",
    "extra_trees": "sklearn.ensemble.ExtraTreesClassifier",
    "hist_gradient_boosting": "sklearn.ensemble.HistGradientBoostingClassifier",
    "lightgbm": "lightgbm.LGBMClassifier",
    "xgboost": "xgboost.XGBClassifier",
    "catboost": "catboost.CatBoostClassifier",
}
"""The classes that an option may name."""
QUIET: dict[str, dict[str, Any]] = {
    "lightgbm": {"verbose": -1},
    "catboost": {"verbose": False, "allow_writing_files": False},
}
"""What keeps an estimator from printing."""


def parse_choice(text: str | None, option: str) -> Any:
    """Return an instance of the class that is named, with the arguments in brackets; None for None.

    Arguments are literals: nothing is executed.

    >>> parse_choice("beam(width=3)", "--inference")
    Beam(width=3)
    >>> parse_choice("haming", "--loss")
    Traceback (most recent call last):
        ...
    ValueError: `--loss haming` is not known; did you mean 'hamming'? Allowed: exact_match, hamming, f1, jaccard.
    """
    if text is None:
        return None
    name, arguments = _split_call(text, option)
    allowed = CHOICES[option]
    if name not in allowed:
        hint = nearest(name, allowed) or "."
        raise ValueError(f"`{option} {text}` is not known{hint} Allowed: {', '.join(allowed)}.")
    module, _, class_name = allowed[name].rpartition(".")
    try:
        kind = getattr(import_module(module), class_name)
    except ImportError:
        raise ValueError(f"`{option} {name}` needs {module}: pip install {module}") from None
    parameters = inspect.signature(kind).parameters
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for argument in arguments:
        if argument not in parameters and not takes_any:
            raise ValueError(
                f"`{option} {text}`: {name} has no parameter {argument!r}{nearest(argument, parameters) or '.'} "
                f"Its parameters: {', '.join(parameters) or 'none'}."
            )
    return kind(**{**QUIET.get(name, {}), **arguments})


def parse_order(text: str, targets: list[str]) -> Any:
    """Return an order of the targets: given, random, names joined by commas, or a search.

    >>> parse_order("loops,parity", ["parity", "loops"])
    ['loops', 'parity']
    """
    if text in ("given", "random"):
        return None if text == "given" else text
    unknown = [name for name in split_names(text) if name not in targets]
    if not unknown:
        return split_names(text)
    if "," in text and "(" not in text:
        raise ValueError(
            f"`--order {text}` names {unknown[0]!r}, which is not a target{nearest(unknown[0], targets) or '.'} "
            f"The targets are {', '.join(targets)}."
        )
    return parse_choice(text, "--order")


def _split_call(text: str, option: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of ``name(key=value, ...)``; hyphens in a name count as underscores."""
    name, bracket, rest = text.partition("(")
    try:
        node = ast.parse(name.replace("-", "_") + bracket + rest, mode="eval").body
        if isinstance(node, ast.Name):
            return node.id, {}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
            return node.func.id, {str(word.arg): ast.literal_eval(word.value) for word in node.keywords if word.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(f"`{option} {text}` cannot be read: write a name, or a name with arguments, as in beam(width=10).")
