"""Errors that montechain raises when a file or the data, rather than an argument, are wrong, and its warnings.

Wrong arguments raise `ValueError` or `TypeError`, as everywhere in scikit-learn. These errors are `MontechainError` as
well, so that a caller can tell a bad file from a bug.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class MontechainError(Exception):
    """Base class: the message says what is wrong, where, and what to do."""


class DataError(MontechainError, ValueError):
    """A data file, or what it holds, cannot be used: what is wrong, in which file, and in which line, counted from 1.

    Examples
    --------
    >>> print(DataError("an attribute has no type.", path="songs.arff", line=3))
    songs.arff, line 3: an attribute has no type.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None):
        where = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(f"{where}{message}")
        self.path = path
        self.line = line


class EstimateWarning(UserWarning):
    """Some probabilities are estimates, because a search ran out of nodes before they were exact enough."""


class InterruptedFitWarning(UserWarning):
    """A fit was interrupted or had too little time: the model is made of what had been learned by then."""


class ModelFileError(MontechainError, ValueError):
    """A file is not a model, or not one that may be loaded."""


class NonFiniteError(MontechainError, ValueError):
    """A label's link gives scores that are not finite; the `value` in `column` of X contributes most.

    >>> print(NonFiniteError(2, 0, 1e300).named(None, ["income", "age"]))
    The score of label 2 is not finite: column 'income' of X holds 1e+300. Scale the columns of X, for example with \
make_pipeline(StandardScaler(), ...), or remove the outliers.
    """

    def __init__(self, label: Any, column: Any = None, value: float | None = None):
        source = "" if column is None else f": column {column!r} of X holds {value:.3g}"
        super().__init__(
            f"The score of label {label!r} is not finite{source}. Scale the columns of X, for example with "
            "make_pipeline(StandardScaler(), ...), or remove the outliers."
        )
        self.label, self.column, self.value = label, column, value

    def named(self, labels: Sequence[Any] | None, columns: Sequence[Any] | None) -> NonFiniteError:
        """Return the same error with names instead of numbers, where names are known."""
        label = self.label if labels is None else labels[self.label]
        column = self.column if columns is None or self.column is None else columns[self.column]
        return NonFiniteError(label, column, self.value)


class OutputError(MontechainError, OSError):
    """A result cannot be written."""
