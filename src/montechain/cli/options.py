"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass
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
    "xgboost, catboost."
)
TAGS_HELP = "Targets whose cells hold any number of tags, as in 'rock;calm'; an empty cell has none."
LOSS_HELP = "What to minimise: exact_match (the default), hamming, f1, jaccard."

Source = Annotated[str, typer.Argument(metavar="FILE", help=TABLE_HELP)]
Estimator = Annotated[str | None, typer.Option("--estimator", "-e", help=ESTIMATOR_HELP)]
Loss = Annotated[str | None, typer.Option("--loss", "-l", help=LOSS_HELP)]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Force = Annotated[bool, flag("--force", "-f", help="Replace the output file if it exists; never an input.")]
SCHEDULER_HELP = "Address of a Dask scheduler, such as tcp://10.0.0.5:8786: its workers do what can be done apart."
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help=SCHEDULER_HELP)]
Json = Annotated[bool, flag("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Columns:
    """Roles and types of the columns of a training table."""

    targets: Annotated[str | None, names("--targets", "-t", help=TARGETS_HELP)] = None
    drop: Annotated[str | None, names("--drop", help="Columns to leave out, such as identifiers.")] = None
    text: Annotated[str | None, names("--text", help="Columns of running text.")] = None
    nominal: Annotated[str | None, names("--nominal", help="Columns whose numbers or dates are categories.")] = None
    tags: Annotated[str | None, names("--tags", help=TAGS_HELP)] = None
    separator: Annotated[str | None, typer.Option(help="What separates the tags of a cell: ';' by default.")] = None


@dataclass(frozen=True)
class Reading:
    """Format of a table."""

    delimiter: Annotated[str | None, typer.Option(help="Delimiter of a CSV file; detected by default.")] = None
    encoding: Annotated[str, typer.Option(help="Text encoding of the file, such as latin-1.")] = "utf-8"
    header: Annotated[bool | None, flag(help="Whether the first line of a CSV file names the columns.")] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark of a CSV file, such as a comma.")] = "."
    format: Annotated[
        str | None, typer.Option(help="csv, tsv, excel, parquet, arff, ..., if the file name does not say.")
    ] = None


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


@contextmanager
def on_cluster(scheduler: str | None) -> Iterator[None]:
    """Let the workers of a Dask scheduler do what joblib runs in parallel; without an address, nothing changes."""
    if scheduler is None:
        yield
        return
    import joblib

    from montechain._lazy import import_dask

    try:
        client = import_dask("distributed").Client(scheduler, timeout=10.0)
    except (OSError, ValueError) as error:
        raise ValueError(f"`--scheduler {scheduler}` cannot be reached: {error}") from error
    with client, joblib.parallel_config(backend="dask"):
        yield


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


ESTIMATORS = {
    "logistic": "montechain.LogisticLink",
    "svm": "montechain.SVMLink",
    "random_forest": "sklearn.ensemble.RandomForestClassifier",
    "extra_trees": "sklearn.ensemble.ExtraTreesClassifier",
    "hist_gradient_boosting": "sklearn.ensemble.HistGradientBoostingClassifier",
    "lightgbm": "lightgbm.LGBMClassifier",
    "xgboost": "xgboost.XGBClassifier",
    "catboost": "catboost.CatBoostClassifier",
}
"""The classes that `--estimator` may name."""
QUIET: dict[str, dict[str, Any]] = {
    "lightgbm": {"verbose": -1},
    "catboost": {"verbose": False, "allow_writing_files": False},
}
"""Parameters that keep an estimator from printing."""
ORDERS = {"search": "OrderSearch", "all_orders": "AllOrders", "beam_order": "BeamOrder"}
"""The strategies that `--order` may name."""


def choose_estimator(name: str | None) -> Any:
    """Return an estimator with its default parameters; None for None.

    >>> choose_estimator("lojistic")
    Traceback (most recent call last):
        ...
    ValueError: `--estimator lojistic` is not known; did you mean 'logistic'? Allowed: logistic, svm, ...
    """
    if name is None:
        return None
    if name not in ESTIMATORS:
        hint = nearest(name, ESTIMATORS) or "."
        raise ValueError(f"`--estimator {name}` is not known{hint} Allowed: {', '.join(ESTIMATORS)}.")
    module, _, class_name = ESTIMATORS[name].rpartition(".")
    try:
        kind = getattr(import_module(module), class_name)
    except ImportError:
        raise ValueError(f"`--estimator {name}` needs {module}: pip install {module}") from None
    return kind(**QUIET.get(name, {}))


def choose_order(text: str, targets: list[str], n_iterations: int | None = None) -> Any:
    """Return an order of the targets: given, random, names joined by commas, or a search.

    >>> choose_order("loops,parity", ["parity", "loops"])
    ['loops', 'parity']
    """
    if n_iterations is not None and text != "search":
        raise ValueError("`--iterations` is for `--order search`: leave it out, or add --order search.")
    if text in ("given", "random"):
        return None if text == "given" else text
    unknown = [name for name in split_names(text) if name not in targets]
    if unknown and text in ORDERS:
        strategy = getattr(import_module("montechain"), ORDERS[text])
        return strategy() if n_iterations is None else strategy(n_iterations=n_iterations)
    if unknown:
        hint = nearest(unknown[0], [*targets, *ORDERS]) or "."
        raise ValueError(
            f"`--order {text}` names {unknown[0]!r}, which is not a target{hint} Allowed: given, random, "
            f"{', '.join(ORDERS)}, or the targets {', '.join(targets)} in any order."
        )
    return split_names(text)
