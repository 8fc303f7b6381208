"""What is measured, and of what: one tidy row per data set, method, fold and measure."""

from __future__ import annotations

import hashlib
import json
import pickle
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import montechain
from montechain.datasets.dataset import Dataset

__all__ = [
    "DNF",
    "OK",
    "UNDEFINED",
    "Measurement",
    "Outcome",
    "Result",
    "Unit",
    "describe_parameters",
    "fingerprint",
    "library_versions",
    "results_of",
    "unit_seed",
]

OK = "ok"
UNDEFINED = "undefined"
"""The method finished, but this measure has no value for it: the reason says why."""
DNF = "DNF"
"""The method did not finish: the reason says why."""

LIBRARIES = ("montechain", "numpy", "scipy", "scikit-learn", "numba", "pandas")
WITHOUT_EFFECT = ("n_jobs", "verbose")
"""Parameters that do not change what is predicted."""


@cache
def library_versions() -> str:
    """Return the versions of Python and of the libraries that results depend on, as JSON.

    Examples
    --------
    >>> sorted(json.loads(library_versions()))
    ['montechain', 'numba', 'numpy', 'pandas', 'python', 'scikit-learn', 'scipy']
    """
    found = {"python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:  # run from a folder of sources
            found[library] = montechain.__version__ if library == "montechain" else "unknown"
    return json.dumps(found, sort_keys=True)


@dataclass(frozen=True)
class Unit:
    """One method, trained and tested once: what results are kept under.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    fingerprint : str
        Of its contents: two data sets of the same name are told apart.
    method : str
    parameters : str
        The method's parameters as JSON; see `describe_parameters`.
    protocol : str
        How the rows were split and the inputs prepared, as JSON.
    fold : int
    seed : int
        The seed of the whole evaluation. The method's own is derived from it; see `unit_seed`.
    """

    dataset: str
    fingerprint: str
    method: str
    parameters: str
    protocol: str
    fold: int
    seed: int

    @property
    def key(self) -> str:
        """A short text that is the same for the same work of this version, whatever the data set is called."""
        own = montechain.__version__
        parts = [own, self.fingerprint, self.method, self.parameters, self.protocol, self.fold, self.seed]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Measurement:
    """The value of one measure; None, with the reason, where it has none."""

    measure: str
    value: float | None
    status: str = OK
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """Everything measured of one unit.

    Attributes
    ----------
    measurements : list of Measurement
    cause : {"", "error", "time", "memory"}
        Why the method did not finish; empty if it did.
    versions : str
        Versions of the libraries, as JSON.
    """

    measurements: list[Measurement]
    cause: str = ""
    versions: str = field(default_factory=library_versions)

    @classmethod
    def did_not_finish(cls, measures: Iterable[str], cause: str, reason: str) -> Outcome:
        """Return an outcome in which every measure is DNF for the same reason."""
        return cls([Measurement(measure, None, DNF, reason) for measure in measures], cause)


@dataclass(frozen=True)
class Result:
    """One tidy row.

    Attributes
    ----------
    dataset, method, parameters, protocol, fold, seed, fingerprint
        As in `Unit`.
    measure : str
    value : float or None
        None if the method did not finish or the measure is not defined for it.
    status : {"ok", "undefined", "DNF"}
    reason : str
        Why there is no value, or what is special about it.
    versions : str
        Versions of the libraries, as JSON.
    """

    dataset: str
    method: str
    parameters: str
    protocol: str
    fold: int
    seed: int
    measure: str
    value: float | None
    status: str
    reason: str
    versions: str
    fingerprint: str


def results_of(unit: Unit, outcome: Outcome) -> list[Result]:
    """Return the tidy rows of one unit."""
    return [
        Result(**asdict(unit), **asdict(measurement), versions=outcome.versions) for measurement in outcome.measurements
    ]


def describe_parameters(model: Any) -> str:
    """Return the parameters of an estimator as JSON: plain values as they are, parts by the name of their type.

    Functions stand with a hash of their code, of its defaults and of the values that it closes over, so that another
    function of the same name is told apart; what they call is not looked at. Other objects stand with their
    attributes. What has no effect on predictions (`n_jobs`, `verbose`, a `random_state` that is None) is left out.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> describe_parameters(Ridge(alpha=2, random_state=0))  # doctest: +ELLIPSIS
    '{"alpha": 2, ..., "random_state": 0, "solver": "auto", "tol": 0.0001, "type": "Ridge"}'
    """
    if model is None:
        return "{}"
    found: dict[str, Any] = {"type": type(model).__name__}
    if isinstance(model, BaseEstimator) or hasattr(model, "get_params"):
        for name, value in model.get_params(deep=True).items():
            last = name.rsplit("__", 1)[-1]
            if last not in WITHOUT_EFFECT and not (last == "random_state" and value is None):
                found[name] = _described(value)
    return json.dumps(found, sort_keys=True)


def _described(value: Any, around: tuple[int, ...] = ()) -> Any:
    """Return a value that JSON can hold and that differs for different ones; `around` are those that it is part of."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return _described(value.item())
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value.dtype.str, list(value.shape), _hash(np.ascontiguousarray(value).tobytes())]
    # Parameters of parts stand beside them, each under its own name.
    if hasattr(value, "get_params") or id(value) in around:
        return type(value).__name__
    around = (*around, id(value))
    if isinstance(value, np.ndarray):
        return _described(value.tolist(), around)
    if isinstance(value, list | tuple):
        return [_described(part, around) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((_described(part, around) for part in value), key=json.dumps)
    if isinstance(value, dict):
        return {str(name): _described(part, around) for name, part in value.items()}
    if isinstance(value, FunctionType):
        closed_over = [cell.cell_contents for cell in value.__closure__ or ()]
        parts = [value.__code__, value.__defaults__, value.__kwdefaults__, closed_over]
        content = json.dumps([_described(part, around) for part in parts], sort_keys=True)
        return f"{value.__module__}.{value.__qualname__} {_hash(content.encode())[:16]}"
    if isinstance(value, CodeType):
        names = [*value.co_names, *value.co_freevars]
        return [value.co_code.hex(), names, [_described(constant, around) for constant in value.co_consts]]
    if isinstance(value, MethodType):
        return [_described(part, around) for part in (value.__func__, value.__self__)]
    if isinstance(value, partial):
        return ["partial", *(_described(part, around) for part in (value.func, value.args, value.keywords))]
    if hasattr(value, "__wrapped__"):  # compiled by numba, for example
        return _described(value.__wrapped__, around)
    if hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "__dict__"):
        return [type(value).__qualname__, _described(vars(value), around)]
    try:
        return [type(value).__qualname__, _hash(pickle.dumps(value))]
    except Exception:  # whatever it raises: nothing more is known of it
        return type(value).__qualname__


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fingerprint(dataset: Dataset) -> str:
    """Return a text that stands for the contents of a data set: inputs, labels and their names.

    Examples
    --------
    >>> Y = pd.DataFrame({"a": [0, 1]})
    >>> one = Dataset(pd.DataFrame({"x": [1.0, 2.0]}), Y, ["x"], [[0, 1]], name="one")
    >>> two = Dataset(pd.DataFrame({"x": [1.0, 2.5]}), Y, ["x"], [[0, 1]], name="one")
    >>> len(fingerprint(one)), fingerprint(one) == fingerprint(two)
    (16, False)
    """
    digest = hashlib.sha256()
    for table, names in ((dataset.X, dataset.feature_names), (dataset.Y, dataset.label_names)):
        digest.update(json.dumps([str(name) for name in names]).encode())
        digest.update(json.dumps([int(size) for size in table.shape]).encode())
        if isinstance(table, pd.DataFrame):
            digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
        else:
            canonical = sp.csr_array(table, copy=True)
            canonical.sum_duplicates()
            canonical.eliminate_zeros()
            for part, kind in (("indptr", np.int64), ("indices", np.int64), ("data", np.float64)):
                digest.update(np.ascontiguousarray(getattr(canonical, part), dtype=kind).tobytes())
    return digest.hexdigest()[:16]


def unit_seed(seed: int, fingerprint: str, fold: int) -> int:
    """Return the seed of all methods on one fold: the same whatever else is run, and in whatever order.

    That methods share it makes them comparable: those that draw an order draw the same one. It goes by the contents
    of the data set and not by its name, as the key of a `Unit` does.

    Examples
    --------
    >>> unit_seed(0, "0f", 0) != unit_seed(0, "0f", 1)
    True
    """
    digest = hashlib.sha256(json.dumps([int(seed), fingerprint, int(fold)]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
