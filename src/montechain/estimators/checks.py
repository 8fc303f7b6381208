"""Helpers of the estimators: fits that fail, caches, metadata, and the classifier inside pipelines and searches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from montechain._compat import BaseSearchCV


class LazyGenerator:
    """A random generator that is created on first use: that can take longer than a prediction, which may not draw."""

    def __init__(self, seed: Any):
        self.seed = seed

    def __getattr__(self, name: str) -> Any:
        if "generator" not in vars(self):
            self.generator = np.random.default_rng(self.seed)
        return getattr(self.generator, name)


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Forget the previous fit, and restore it if the new one fails half-way: classes and chains must fit together."""
    before = dict(vars(estimator))
    for name in before:
        if name.endswith("_"):
            delattr(estimator, name)
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_row_labels(X: Any, table: Any, name: str) -> None:
    """Refuse a pandas table with the row labels of X in another order, since rows are matched by position."""
    own, other = getattr(X, "index", None), getattr(table, "index", None)
    if not (isinstance(own, pd.Index) and isinstance(other, pd.Index)) or len(own) != len(other) or own.equals(other):
        return
    if own.is_unique and other.is_unique and (own.get_indexer(other) >= 0).all():
        advice = f"use {name}.loc[X.index]. If the rows already match, use {name}.set_axis(X.index)."
        raise ValueError(f"`{name}` has the row labels of `X` in another order: {advice}")


def is_finite(X: Any) -> bool:
    """Return whether all cells of an array of floats are finite; False also if a sum of huge cells overflows."""
    X = X.data if sp.issparse(X) else X
    # One pass without a mask: a sum is finite only if all of its terms are, and so is one of squares.
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.vdot(X, X) if X.flags.c_contiguous else np.add.reduce(X, axis=None))


_CACHE: WeakKeyDictionary[Any, dict[str, tuple[list[Any], Any]]] = WeakKeyDictionary()
"""A cache of values derived from an estimator's attributes, kept outside of them so that it is never saved."""


def remembered(owner: Any, name: str, sources: list[Any], make: Callable[[list[Any]], Any]) -> Any:
    """Return ``make(sources)``, recomputed only when one of the sources is a different object than last time."""
    own = _CACHE.setdefault(owner, {})
    entry = own.get(name)
    if entry is None or not all(map(is_, entry[0], sources)):
        entry = own[name] = (sources, make(sources))
    return entry[1]


def fit_options(owner: Any, role: str, within: Any, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters for `fit` of the inner classifier, which is the parameter `role` of `owner`."""
    given = fit_params if sample_weight is None else {**fit_params, "sample_weight": sample_weight}
    if get_config()["enable_metadata_routing"] and within is not None and getattr(owner, role) is not None:
        return dict(process_routing(owner, "fit", **given)[role]["fit"]) if given else {}
    if sample_weight is not None and within is not None and not has_fit_parameter(within, "sample_weight"):
        raise TypeError(
            f"`sample_weight` was given, but {type(within).__name__}.fit does not take it. Leave it out, or use a "
            "classifier that does, such as LogisticRegression()."
        )
    return given


def route_to(owner: Any, role: str) -> MetadataRouter:
    """Return the metadata routing of a classifier that passes metadata on to the one that is its parameter `role`."""
    router, within = MetadataRouter(owner=owner).add_self_request(owner), getattr(owner, role)
    if hasattr(within, "get_metadata_routing"):
        router.add(**{role: within}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    return router


def innermost(model: Any) -> Any:
    """Return the classifier at the end of pipelines and searches; of a fitted search, the best one."""
    while isinstance(model, Pipeline | BaseSearchCV):
        is_search = isinstance(model, BaseSearchCV)
        model = getattr(model, "best_estimator_", model.estimator) if is_search else model.steps[-1][1]
    return model
