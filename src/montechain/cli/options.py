"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import ast
import csv
import inspect
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from functools import partial, wraps
from importlib import import_module
from typing import Annotated, Any

import typer

import montechain as mc
from montechain._messages import nearest
from montechain.cli.output import OPTIONS
from montechain.errors import OutputError

flag = partial(typer.Option, metavar="")
"""An option without a value."""
names = partial(typer.Option, metavar="A,B")
"""An option whose value is a list of column names."""
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

TARGETS_HELP = "Columns to predict: names joined by commas, first:N, last:N, or a Mulan .xml file; ARFF may name them."
ESTIMATOR_HELP = f"What learns each target of a chain: {', '.join(ESTIMATORS)}."
MISSING_HELP = "Cells that mean missing, besides empty ones. By default ?, NA, N/A, None, null and the like."
TAGS_HELP = "Targets whose cells hold any number of tags, as in 'rock;calm'; an empty cell has none."

Source = Annotated[str, typer.Argument(metavar="FILE", help="A CSV, TSV, Excel, Parquet, Feather or ARFF file.")]
Estimator = Annotated[str | None, typer.Option("--estimator", "-e", help=ESTIMATOR_HELP)]
Loss = Annotated[str | None, typer.Option("--loss", "-l", help="exact_match (the default), hamming, f1 or jaccard.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Force = Annotated[bool, flag("--force", "-f", help="Replace the output file if it exists; never an input.")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler, such as tcp://10.0.0.5:8786.")]
Json = Annotated[bool, flag("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Columns:
    """Roles and types of the columns of a training table."""

    targets: Annotated[str | None, names("--targets", "-t", help=TARGETS_HELP)] = None
    drop: Annotated[str | None, names("--drop", help="Columns to leave out, such as identifiers.")] = None
    text: Annotated[str | None, names("--text", help="Columns of running text.")] = None
    nominal: Annotated[str | None, names("--nominal", help="Columns whose numbers or dates are categories.")] = None
    numeric: Annotated[str | None, names("--numeric", help="Columns of numbers, whose words count as missing.")] = None
    tags: Annotated[str | None, names("--tags", help=TAGS_HELP)] = None
    separator: Annotated[str, typer.Option(help="What separates the tags of a cell.")] = ";"


@dataclass(frozen=True)
class Reading:
    """Format of a table."""

    delimiter: Annotated[str | None, typer.Option(help="Delimiter of a CSV file; detected by default.")] = None
    encoding: Annotated[str, typer.Option(help="Text encoding of the file, such as latin-1.")] = "utf-8"
    header: Annotated[bool | None, flag(help="Whether the first line of a CSV file names the columns.")] = None
    decimal: Annotated[str, typer.Option(help="Decimal mark of a CSV file, such as a comma.")] = "."
    format: Annotated[str | None, typer.Option(help="Format, such as csv, if the file name does not show it.")] = None
    missing_values: Annotated[str | None, names("--missing-values", help=MISSING_HELP)] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `read_dataset`."""
        found = asdict(self)
        words = found.pop("missing_values")
        return found if words is None else found | {"missing_values": split_names(words)}


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

    distributed = import_dask("distributed")
    logging.disable()  # Dask would print tracebacks
    try:
        client = distributed.Client(scheduler, timeout=10.0)
    except (OSError, ValueError) as error:
        raise ValueError(f"`--scheduler {scheduler}` cannot be reached: {error}") from error
    try:
        with client, joblib.parallel_config(backend="dask"):
            yield
    except (CancelledError, distributed.KilledWorker) as error:
        raise OutputError(
            f"the cluster at {scheduler} was lost. What has been written is complete: start the cluster again, and run "
            "the same command."
        ) from error


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
    if not text.strip():
        raise ValueError("`--targets` is empty: name columns, as in --targets type,span, or use --targets last:2.")
    if match := re.fullmatch(r"(first|last):(\d+)", text.strip()):
        return int(match[2]) if match[1] == "first" else -int(match[2])
    return text if text.lower().endswith(".xml") else split_names(text)


def choose_estimator(name: str | None, methods: Sequence[str], *, to_save: bool = False) -> Any:
    """Return an estimator with its default parameters; None for None. Classes of other packages cannot be saved.

    >>> choose_estimator("lojistic", ["CC"])
    Traceback (most recent call last):
        ...
    ValueError: `--estimator lojistic` is not known; did you mean 'logistic'? Allowed: logistic, svm, ...
    """
    if name is None:
        return None
    own = [mc.make_method(method).get_params(deep=False).get("estimator", "none") for method in methods]
    if None not in own:  # they have no estimator, or are named after it
        raise ValueError(f"`--estimator` has no effect with {', '.join(methods)}: leave it out, or use -m CC.")
    if name not in ESTIMATORS:
        known = [own for own, path in ESTIMATORS.items() if not (to_save and path.startswith(own))]
        hint = nearest(name, known) or "."
        raise ValueError(f"`--estimator {name}` is not known{hint} Allowed: {', '.join(known)}.")
    module, _, class_name = ESTIMATORS[name].rpartition(".")
    if to_save and module == name:
        hint = "use hist_gradient_boosting, or fit in Python; `montechain evaluate` takes it"
        raise ValueError(f"`--estimator {name}`: a model file cannot hold classifiers of {name}: {hint}.")
    try:
        kind = getattr(import_module(module), class_name)
    except ImportError:
        raise ValueError(f"`--estimator {name}` needs {module}: pip install {module}") from None
    return kind(**QUIET.get(name, {}))


def parse_settings(texts: list[str]) -> dict[str, Any]:
    """Return parameters that are written as NAME=VALUE; a value is what Python reads it as, else a name or several.

    >>> parse_settings(["parents=2", "inference=beam", "order=b,a"])
    {'parents': 2, 'inference': 'beam', 'order': ['b', 'a']}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, is_there, value = text.partition("=")
        if not is_there:
            raise ValueError(f"`--set {text}` must have the form NAME=VALUE, as in --set parents=2.")
        if name in ("estimator", "loss", "n_jobs", "random_state"):
            raise ValueError(f"`--set` does not take {name}: use {OPTIONS[name]} {value}")
        try:
            found[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            found[name] = split_names(value) if "," in value else value
    return found
