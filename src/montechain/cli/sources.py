"""From what a person types to a data set: files, names of the catalogue, lists of columns."""

from __future__ import annotations

import csv
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from montechain._files import check_input_path
from montechain.cli import output
from montechain.errors import DataError

if TYPE_CHECKING:
    from montechain.datasets import Dataset

__all__ = ["check_targets", "open_source", "parse_targets", "split_names"]

DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d{4}/\d\d?/\d\d?( .*)?|\d\d?[./]\d\d?[./]\d{2,4}( .*)?")
"""How dates are written in tables of text."""
MANY_CLASSES = 20
"""A target with more classes than this, and hardly two rows of each, gets a note."""


def split_names(text: str | None) -> list[str]:
    """Return names that are separated by commas; a name with a comma in it stands in double quotes.

    >>> split_names('a, "b, c",d')
    ['a', 'b, c', 'd']
    """
    if not text:
        return []
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True)) if name.strip()]


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


def open_source(
    source: str,
    *,
    targets: str | None,
    drop: str | None,
    text: str | None,
    nominal: str | None,
    data: Path | None,
    **reading: Any,
) -> Dataset:
    """Return the data set of a file, or of a name in the catalogue."""
    from montechain.datasets import DATASETS, load_dataset, read_dataset

    if source in DATASETS and not Path(source).is_file():
        for option, value in {"--targets": targets, "--drop": drop, "--text": text, "--nominal": nominal}.items():
            if value:
                raise ValueError(f"`{option} {value}` does not apply: {source!r} is a data set of the catalogue.")
        with output.progress("reading"):
            return load_dataset(source, data=data)
    if not source.startswith("openml:") and not Path(source).exists() and not Path(source).suffix:
        listed = ", ".join(DATASETS)
        raise DataError(
            f"there is no such file, and no data set of this name. By name there are {listed}.", path=source
        )
    if not source.startswith("openml:"):
        check_input_path(source)
    kinds: dict[str, Any] = {"drop": split_names(drop), "text": split_names(text), "nominal": split_names(nominal)}
    labels = parse_targets(targets)
    with output.progress("reading"):
        dataset = read_dataset(source, targets=labels, **kinds, **reading)
    return _in_order(dataset, labels) if isinstance(labels, list) else dataset


def _in_order(dataset: Dataset, names: list[str]) -> Dataset:
    """Return the data set with its targets in the order in which they were named."""
    classes = dict(zip(dataset.label_names, dataset.classes, strict=True))
    return replace(dataset, Y=dataset.Y[names], classes=[classes[name] for name in names])


def check_targets(dataset: Dataset, file: str, nominal: str | None) -> None:
    """Refuse tables that nothing can be learned from, and tell about targets that look like a mistake.

    Raises
    ------
    DataError
        If there are fewer than two rows, or a target holds dates and is not declared `nominal`.
    """
    n_rows = len(dataset.Y)
    if n_rows < 2:
        raise DataError(f"{n_rows or 'no'} row with a known target: at least 2 are needed to learn from.", path=file)
    for name, column in dataset.Y.items():
        kinds = column.dropna().unique()
        if name not in split_names(nominal) and all(DATE.fullmatch(str(kind)) for kind in kinds):
            raise DataError(
                f"the target {name!r} holds dates, such as {kinds[0]}. Targets are classes: make some of the dates "
                f"first, such as the month, or take each date for a class with --nominal {shlex.quote(str(name))}.",
                path=file,
            )
        if len(kinds) == 1:
            output.note(f"note: the target {name!r} is {kinds[0]!r} in every row, so this is always predicted.")
        elif len(kinds) > max(MANY_CLASSES, n_rows / 2):
            output.note(f"note: the target {name!r} has {len(kinds)} classes in {n_rows} rows. Is it an identifier?")
