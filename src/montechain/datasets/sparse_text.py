"""LIBSVM (SVMlight) files with several labels per row, and the variant of the extreme classification repository."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from montechain.datasets.dataset import Dataset
from montechain.datasets.files import file_stem, text_blocks
from montechain.datasets.selection import Targets, choose_columns, choose_targets, present
from montechain.errors import DataError

__all__ = ["dataset_from_libsvm"]

MOST_FEATURES = 1 << 22
MOST_LABELS = 100_000
MOST_LABEL_CELLS = 1 << 28
LARGEST_INDEX = 2**31 - 2
ODD = re.compile(r"[^\x01-\x7f]|_")
NAME = re.compile(r"label_(0|[1-9][0-9]{0,8})\Z")
HEADER = re.compile(r"\s*(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s*\Z")


class Header(NamedTuple):
    """The first line of a file of the extreme classification repository."""

    n_rows: int
    n_features: int
    n_labels: int


def dataset_from_libsvm(
    path: str | Path,
    *,
    targets: Targets = None,
    drop: Collection[str | int] = (),
    name: str | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    encoding: str = "utf-8",
    partial: bool = False,
) -> Dataset:
    r"""Read a file with lines such as ``1,3,7 5:0.2 9:1``: the labels of a row, then its non-zero inputs.

    Labels and inputs are named after their numbers in the file: ``label_3``, ``feature_5``. Each label has the
    classes 0 and 1. A row without labels begins with its inputs; ``#`` starts a comment. A first line of three
    numbers, as in the extreme classification repository, gives the numbers of rows, inputs and labels, which are then
    counted from 0 and checked; without it, the labels are those that occur.

    Parameters
    ----------
    path : str or Path
        A text file, plain or compressed with gzip or bzip2.
    targets : list of str, list of int or int, optional
        The labels to keep: their names, their positions, or how many, the first or, if negative, the last ones.
    drop : collection of str or int
        Inputs to leave out.
    name : str, optional
        Of the data set; by default that of the file.
    zero_based : bool or "auto", default="auto"
        Whether inputs are counted from 0. By default they are if a 0 occurs, or the first line gives the
        numbers. Give it, and `n_features`, if a file has several parts, such as training and test.
    n_features : int, optional
        Number of inputs; by default the largest number that occurs.
    encoding : str, default="utf-8"
    partial : bool, default=False
        Whether names in `drop` that the file does not have are ignored, and labels in `targets` that no row has
        are labels nevertheless, 0 in all rows.

    Returns
    -------
    Dataset
        With a CSR array as `X`.

    Raises
    ------
    DataError
        If a line cannot be read; it names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "songs.svm"
    ...     _ = path.write_text("1,3 1:0.5 3:2\n 2:1\n3 1:1\n", encoding="utf-8")
    ...     data = dataset_from_libsvm(path)
    >>> data.label_names, data.Y.to_numpy().tolist()
    (['label_1', 'label_3'], [[1, 1], [0, 0], [0, 1]])
    >>> data.X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ],
           [1. , 0. , 0. ]])
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f'`zero_based={zero_based!r}` must be True, False or "auto".')
    lines = _Lines(path, encoding)
    try:
        # Read as if counted from 0: scikit-learn would not tell what it made of "auto".
        X, labels = load_svmlight_file(lines, multilabel=True, zero_based=True)
    except (ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(_explained(error), path=path, line=lines.number) from error
    if not labels:
        raise DataError("the file has no rows.", path=path)
    _refuse_infinite(sp.csr_array(X), lines)
    X, first = _inputs(sp.csr_array(X), lines.header, zero_based, n_features, path)
    feature_names = [f"feature_{number}" for number in range(first, first + X.shape[1])]
    if dropped := set(
        choose_columns("drop", present(drop, feature_names) if partial else drop, feature_names, path=path)
    ):
        left = [position for position, feature in enumerate(feature_names) if feature not in dropped]
        X, feature_names = X[:, left], [feature_names[position] for position in left]
    Y = _labels(labels, lines, targets, partial)
    return Dataset(
        X=X,
        Y=Y,
        feature_names=feature_names,
        classes=[[0, 1] for _ in Y.columns],
        name=file_stem(path) if name is None else name,
        description=f"Read from {Path(path).name}.",
    )


class _Lines:
    """The lines of a file for scikit-learn's reader; knows the line it is at."""

    def __init__(self, path: str | Path, encoding: str):
        self.path = path
        self.number = 0
        self.header: Header | None = None
        self.line_of_row: list[int] = []
        self._lines = self._numbered(encoding)

    def read(self) -> bytes:  # by which scikit-learn tells files from paths
        return b"".join(self)

    def __iter__(self) -> Iterator[bytes]:
        first = next(self._lines, "")
        if match := HEADER.match(first):
            self.header = Header(*map(int, match.groups()))
            lines = self._lines
        else:
            lines = chain([first], self._lines)
        for line in lines:
            content = line.partition("#")[0].strip()
            if not content and not (self._lacks_rows() and "#" not in line):
                continue
            self.line_of_row.append(self.number)
            if self.header is not None and len(self.line_of_row) > self.header.n_rows:
                self._refuse_number_of_rows("there are more")
            # A query without inputs is the one way to write a row without labels and inputs.
            yield (content or "qid:0").encode()
        if self._lacks_rows():
            self._refuse_number_of_rows(f"there are {len(self.line_of_row)}")

    def _refuse_number_of_rows(self, found: str) -> None:
        promised = self.header.n_rows if self.header is not None else 0
        message = f"the first line promises {promised} rows, but {found}: is the file complete?"
        raise DataError(message, path=self.path, line=1)

    def _lacks_rows(self) -> bool:
        return self.header is not None and len(self.line_of_row) < self.header.n_rows

    def _numbered(self, encoding: str) -> Iterator[str]:
        for number, block in text_blocks(self.path, encoding):
            for offset, line in enumerate(block[:-1].split("\n")):
                self.number = number + offset
                # Python's numbers may have underscores and digits of other scripts; those of this format do not.
                if odd := ODD.search(line.partition("#")[0]):
                    message = f"the character {odd[0]!r} has no place in a LIBSVM file."
                    raise DataError(message, path=self.path, line=self.number)
                yield line


def _explained(error: Exception) -> str:
    message = str(error)
    if "sorted and unique" in message:
        return "the numbers of the inputs must rise along the line."
    if "Invalid index" in message or isinstance(error, OverflowError):
        return f"the number of an input must lie between 0 and {LARGEST_INDEX}."
    return f"the line is not of the form '1,3 5:0.2 9:1' (labels, then number:value): {message}."


def _refuse_infinite(X: sp.csr_array, lines: _Lines) -> None:
    infinite = np.flatnonzero(np.isinf(X.data))
    if len(infinite):
        row = int(np.searchsorted(X.indptr, infinite[0], side="right")) - 1
        raise DataError(
            f"the input with the number {X.indices[infinite[0]]} is infinite: write nan if its value is not known.",
            path=lines.path,
            line=lines.line_of_row[row],
        )


def _inputs(
    X: sp.csr_array,
    header: Header | None,
    zero_based: bool | Literal["auto"],
    n_features: int | None,
    path: str | Path,
) -> tuple[sp.csr_array, int]:
    """Return the inputs without a column that only numbering from 0 would give, and the number of the first."""
    has_zero = bool((X.indices == 0).any())
    if zero_based == "auto":
        first = 0 if has_zero or header is not None or X.nnz == 0 else 1
    else:
        first = 0 if zero_based else 1
    if first == 1 and has_zero:
        raise DataError("an input has the number 0; say zero_based=True.", path=path)
    found = X.shape[1] - first if X.nnz else 0
    promised = n_features if n_features is not None else header.n_features if header is not None else found
    if promised < found:
        said = f"`n_features={n_features}`" if n_features is not None else f"the first line ({promised} inputs)"
        raise DataError(f"an input has the number {X.shape[1] - 1}, which {said} does not allow.", path=path)
    if promised > MOST_FEATURES:
        raise DataError(f"there are {promised} inputs; more than {MOST_FEATURES} are not supported.", path=path)
    return sp.csr_array((X.data, X.indices - first, X.indptr), shape=(X.shape[0], promised)), first


def _labels(rows: list[tuple[float, ...]], lines: _Lines, targets: Targets, partial: bool) -> pd.DataFrame:
    """Return the table of zeros and ones of the labels that are wanted."""
    lengths = [len(row) for row in rows]
    row_of = np.repeat(np.arange(len(rows)), lengths)
    numbers = np.array([number for row in rows for number in row], dtype=np.float64)
    bad = (numbers != np.floor(numbers)) | (numbers < 0) | (numbers > LARGEST_INDEX)
    if lines.header is not None:
        bad |= numbers >= lines.header.n_labels
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        upper = "" if lines.header is None else f" below {lines.header.n_labels}, which the first line promises"
        raise DataError(
            f"{numbers[first]:g} is not the number of a label: these are whole numbers from 0 on{upper}. For a single "
            "target, or one with other classes, use a table.",
            path=lines.path,
            line=lines.line_of_row[row_of[first]],
        )
    found, column_of = np.unique(numbers.astype(np.int64), return_inverse=True)
    if lines.header is not None:
        if lines.header.n_labels > MOST_FEATURES:
            raise DataError(f"more than {MOST_FEATURES} labels are not supported.", path=lines.path, line=1)
        found, column_of = np.arange(lines.header.n_labels), numbers.astype(np.int64)
    if partial:
        occurring = found
        found = np.union1d(occurring, _numbers_of_labels(targets))
        column_of = np.searchsorted(found, occurring)[column_of]
    names = [f"label_{number}" for number in found]
    if not names and not partial:
        raise DataError("no row has a label.", path=lines.path)
    wanted_names = present(targets, names) if partial else targets
    labels = names if wanted_names is None else choose_targets(wanted_names, names, path=lines.path)
    chosen = np.searchsorted(found, np.array([int(label.removeprefix("label_")) for label in labels], dtype=np.int64))
    _check_size(len(rows), len(chosen), lines.path)
    place = np.full(len(names), -1)
    place[chosen] = np.arange(len(chosen))
    table = np.zeros((len(rows), len(chosen)), dtype=np.int8)
    wanted = place[column_of] >= 0
    table[row_of[wanted], place[column_of[wanted]]] = 1
    return pd.DataFrame(table, columns=labels)


def _numbers_of_labels(targets: Targets) -> np.ndarray:
    """Return the numbers of the labels that are named: any other names are not those of a LIBSVM file."""
    named = [targets] if isinstance(targets, str) else targets if isinstance(targets, Iterable) else []
    matches = [NAME.match(target) for target in named if isinstance(target, str)]
    return np.array([int(match[1]) for match in matches if match], dtype=np.int64)


def _check_size(n_rows: int, n_labels: int, path: str | Path) -> None:
    if n_labels > MOST_LABELS or n_rows * n_labels > MOST_LABEL_CELLS:
        raise DataError(
            f"a table of {n_rows} rows and {n_labels} labels is too large; choose some of them, e.g. "
            "targets=['label_0', 'label_1'].",
            path=path,
        )
