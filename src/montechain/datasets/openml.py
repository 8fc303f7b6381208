"""Data sets of OpenML, through scikit-learn's `fetch_openml` and its cache."""

from __future__ import annotations

import re
import warnings
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlparse

from sklearn.datasets import fetch_openml, get_data_home

from montechain.datasets.arff import arff_columns
from montechain.datasets.arff_dataset import dataset_from_arff
from montechain.datasets.dataset import Dataset
from montechain.datasets.labels import Targets
from montechain.datasets.table_dataset import labelled_rows
from montechain.errors import DataError

__all__ = ["PREFIX", "dataset_from_openml"]

PREFIX = "openml:"
ADDRESS = re.compile(r"openml:(?P<name>[^/\s]+)(?:/(?P<version>[0-9]{1,9}))?\Z")


def dataset_from_openml(
    address: str,
    *,
    targets: Targets = None,
    drop: Collection[str | int] = (),
    text: Collection[str | int] = (),
    nominal: Collection[str | int] = (),
    name: str | None = None,
    data_home: str | Path | None = None,
    partial: bool = False,
) -> Dataset:
    """Fetch a data set of openml.org, or take it from scikit-learn's cache.

    Columns that OpenML marks as identifiers or to be ignored are left out.

    Parameters
    ----------
    address : str
        ``"openml:NAME"``, or ``"openml:NAME/VERSION"`` for one of several versions.
    targets : list of str, list of int or int, optional
        The columns that are labels, as in `table_dataset`. By default OpenML's own target attributes. Positions count
        all columns of OpenML's file.
    drop, text, nominal : collections of str or int
        Columns to leave out, columns that are text, and columns that are nominal whatever they look like.
    name : str, optional
        Of the data set; by default NAME.
    data_home : str or Path, optional
        The folder of the cache; by default scikit-learn's (``~/scikit_learn_data``).
    partial : bool, default=False
        As in `table_dataset`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If there is no such data set, if OpenML cannot be reached and the data set is not in the cache, or if what came
        back is damaged.

    Examples
    --------
    >>> data = dataset_from_openml("openml:emotions/4")  # doctest: +SKIP
    >>> data.label_names  # doctest: +SKIP
    ['amazed.suprised', 'happy.pleased', 'relaxing.calm', 'quiet.still', 'sad.lonely', 'angry.aggresive']
    """
    match = ADDRESS.match(address)
    if match is None:
        raise ValueError(
            f'`source={address!r}` must be "openml:NAME" or "openml:NAME/VERSION", e.g. "openml:emotions/4".'
        )
    version = match["version"]
    bunch = _fetch(match["name"], "active" if version is None else int(version), data_home, address)
    if targets is None:
        targets = _default_targets(bunch, address)
    # Its frames lose declared classes, and its sparse arrays the last rows if these are empty. The file does not.
    path = _cached_file(bunch, data_home, address)
    ignored = [column for column in arff_columns(path) if column not in bunch.feature_names]
    data = dataset_from_arff(
        path,
        targets=targets,
        drop=[*drop, *ignored],
        text=text,
        nominal=nominal,
        name=match["name"] if name is None else name,
        partial=partial,
    )
    data = data if partial else labelled_rows(data)
    return replace(data, description=f"{bunch.DESCR.strip()}\n{bunch.url}\n{data.description}")


def _cached_file(bunch: Any, data_home: str | Path | None, address: str) -> Path:
    """Return where `fetch_openml` has put the file."""
    folder = Path(get_data_home(data_home)) / "openml" / "openml.org"
    place = urlparse(bunch.details["url"]).path.lstrip("/")
    path = folder / f"{place}.gz"
    if not path.is_file():
        raise DataError(f"scikit-learn did not put the file at {path}; read it from where it is.", path=address)
    return path


def _fetch(name: str, version: int | str, data_home: str | Path | None, address: str) -> Any:
    where = "scikit-learn's cache" if data_home is None else f"the cache {data_home}"
    try:
        with warnings.catch_warnings():
            # What matters of a network error is said below, once.
            warnings.filterwarnings("ignore", message="A network error occurred|Invalid cache")
            # Every column comes as an input: scikit-learn refuses targets of different kinds or with unknown cells.
            return fetch_openml(
                name, version=version, target_column=None, data_home=data_home, parser="liac-arff", n_retries=1
            )
    except (URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"openml.org cannot be reached ({reason}), and {where} does not hold the data set undamaged. Try again "
            'later, or download the file by hand and read it, e.g. read_dataset("file.arff", targets=[...]).',
            path=address,
        ) from error
    except (ValueError, KeyError, TypeError, IndexError, OSError, EOFError, zlib.error) as error:
        # Not only OpenML's own refusals: also an answer, or a file in the cache, that is not what it should be.
        raise DataError(
            f"the data set cannot be had: {error}. Look for its name and version at https://www.openml.org; if it was "
            f"fetched before, the copy in {where} may be damaged: delete it.",
            path=address,
        ) from error


def _default_targets(bunch: Any, address: str) -> list[str]:
    columns = bunch.feature_names
    declared = bunch.details.get("default_target_attribute") or ""
    targets = [declared] if declared in columns else [name.strip() for name in declared.split(",") if name.strip()]
    if not targets or not set(targets) <= set(columns):
        raise DataError(
            f"OpenML does not say which columns are labels (it says {declared!r}). Name them, e.g. "
            f"targets=[{columns[-1]!r}].",
            path=address,
        )
    return targets
