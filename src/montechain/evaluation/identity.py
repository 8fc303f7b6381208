"""What a result belongs to: contents of data sets, parameters of methods, versions, seeds."""

from __future__ import annotations

import hashlib
import json
import platform
from functools import partial
from importlib.metadata import version
from types import CodeType, FunctionType
from typing import Any

import joblib
import numpy as np
import pandas as pd
import scipy.sparse as sp

import montechain
from montechain.datasets import Dataset

__all__ = ["describe_parameters", "digest", "fingerprint", "fold_seed", "library_versions"]

WITHOUT_EFFECT = ("n_jobs", "verbose")
"""Parameters that do not change predictions."""


def library_versions() -> dict[str, str]:
    """Return the versions of montechain, Python and the libraries that results depend on."""
    libraries = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    own = {"montechain": montechain.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in libraries}


def digest(identity: Any) -> str:
    """Return a short hash of something that JSON can hold."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def describe_parameters(model: Any) -> str:
    """Return the type and parameters of an estimator as JSON.

    Functions are described by their code, so a changed function of the same name gives another text. Parameters
    that do not change predictions (`n_jobs`, `verbose`, a `random_state` of None) are left out.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> describe_parameters(Ridge(alpha=2, random_state=0))  # doctest: +ELLIPSIS
    '{"alpha": 2, ..., "random_state": 0, "solver": "auto", "tol": 0.0001, "type": "Ridge"}'
    """
    found: dict[str, Any] = {"type": type(model).__name__}
    for name, value in model.get_params(deep=True).items() if hasattr(model, "get_params") else ():
        last = name.rsplit("__", 1)[-1]
        if last not in WITHOUT_EFFECT and not (last == "random_state" and value is None):
            found[name] = _described(value)
    return json.dumps(found, sort_keys=True)


def _described(value: Any) -> Any:
    """Return something that JSON can hold and that differs between different values."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "get_params"):  # the parameters of parts are listed under their own names
        return type(value).__name__
    if isinstance(value, list | tuple):
        return [_described(part) for part in value]
    if isinstance(value, partial):
        return ["partial", *map(_described, (value.func, value.args, sorted(value.keywords.items())))]
    value = getattr(value, "__wrapped__", value)  # compiled by numba, for example
    if isinstance(value, FunctionType):
        closure = [cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value]
        parts = [_code(value.__code__), _described(value.__defaults__), _described(closure)]
        return [f"{value.__module__}.{value.__qualname__}", digest(parts)]
    try:
        return [type(value).__qualname__, joblib.hash(value)]
    except Exception:  # whatever pickling raises: nothing more is known about it
        return type(value).__qualname__


def _code(code: CodeType) -> list[Any]:
    # The order of a set differs between processes.
    constants = [
        _code(one) if isinstance(one, CodeType) else repr(sorted(one, key=repr) if isinstance(one, frozenset) else one)
        for one in code.co_consts
    ]
    return [code.co_code.hex(), *code.co_names, *code.co_freevars, constants]


def fingerprint(dataset: Dataset) -> str:
    """Return a hash of the contents of a data set: inputs, labels and their names."""
    found = hashlib.sha256()
    for table, names in ((dataset.X, dataset.feature_names), (dataset.Y, dataset.label_names)):
        found.update(json.dumps([str(name) for name in names]).encode())
        found.update(json.dumps([int(size) for size in table.shape]).encode())
        if isinstance(table, pd.DataFrame):
            found.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
        else:
            canonical = sp.csr_array(table, copy=True)
            canonical.sum_duplicates()
            canonical.eliminate_zeros()
            for part, kind in (("indptr", np.int64), ("indices", np.int64), ("data", np.float64)):
                found.update(np.ascontiguousarray(getattr(canonical, part), dtype=kind).tobytes())
    return found.hexdigest()[:16]


def fold_seed(seed: int, fingerprint: str, fold: int) -> int:
    """Return the seed that all methods share on one fold, whatever else is run and in whatever order."""
    found = hashlib.sha256(json.dumps([int(seed), fingerprint, int(fold)]).encode()).digest()
    return int.from_bytes(found[:4], "big") >> 1
