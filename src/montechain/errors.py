"""What montechain raises when a file, not an argument, is at fault.

Wrong arguments raise `ValueError` or `TypeError`, as everywhere in scikit-learn. These three are
`MontechainError` as well, so that a caller can tell a bad file from a bug.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["DataError", "ModelFileError", "MontechainError", "OutputError"]


class MontechainError(Exception):
    """Base class: the message says what is wrong, where, and what to do."""


class DataError(MontechainError, ValueError):
    """A data file, or what it holds, cannot be used.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    path : str or Path, optional
        The file.
    line : int, optional
        The line in it, counted from 1.

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


class ModelFileError(MontechainError, ValueError):
    """A file is not a model, or not one that may be loaded."""


class OutputError(MontechainError, OSError):
    """A result cannot be written."""
