"""Which classes of montechain a model file may hold. Each class says so itself."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

__all__ = ["is_savable", "require", "savable"]

_SAVABLE: set[type] = set()
Class = TypeVar("Class", bound=type)


def savable(cls: Class) -> Class:
    """Declare that a model file may hold instances of a class. Estimators and strategies need not be declared.

    `montechain.save` writes what ``__getstate__`` returns. `montechain.load` makes an instance without calling
    ``__init__``, hands the state to ``__setstate__`` (or sets it as attributes), and calls ``_check_loaded()`` if the
    class has such a method. A file may hold anything, and compiled kernels trust the sizes of their arrays: one of the
    two must raise a ValueError unless everything fits together.

    Examples
    --------
    >>> @savable
    ... class Weights:
    ...     def _check_loaded(self):
    ...         require(len(self.weights) == self.n_chains, "there is not one weight for each chain")
    >>> is_savable(Weights)
    True
    """
    _SAVABLE.add(cls)
    return cls


def is_savable(cls: type) -> bool:
    """Return whether a class of montechain may be part of a model file: a declared one, or a concrete estimator."""
    return cls in _SAVABLE or (issubclass(cls, BaseEstimator) and not inspect.isabstract(cls))


def require(condition: Any, message: str) -> None:
    """Raise a ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)
