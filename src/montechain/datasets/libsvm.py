"""LIBSVM (SVMlight) files with several labels per row."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer

from montechain.datasets.dataset import Dataset
from montechain.datasets.files import file_stem, read_text
from montechain.datasets.selection import Targets, choose_columns, choose_targets, present
from montechain.errors import DataError

__all__ = ["read_libsvm"]

MOST_COLUMNS, MOST_CELLS = 1 << 22, 1 << 28
"""Maximum number of inputs, and of cells of the label table."""
ODD = re.compile(r"[^\x01-\x7f]|_")
ZERO = re.compile(r"(?<![^ \t\n])0+:")
LABEL = re.compile(r"label_(0|[1-9][0-9]{0,8})")


def read_libsvm(
    path: str | Path,
    *,
    targets: Targets = None,
    drop: Collection[str | int] = (),
    name: str | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    encoding: str = "utf-8",
    partial: bool = False,
) -> Dataset:
    r"""Read a file with lines such as ``1,3,7 5:0.2 9:1``: the labels of a row, then its non-zero inputs.

    Labels and inputs are named after their numbers in the file: ``label_3``, ``feature_5``. Each label has the
    classes 0 and 1; the labels are those that occur. A row without labels begins with its inputs; ``#`` starts a
    comment.

    Inputs are counted from 0 if a 0 occurs; give `zero_based` and `n_features` if a file has several parts, such as
    training and test. Of a `partial` file, labels in `targets` that no row has are labels nevertheless, 0 in all rows.
    `read_dataset` describes the other parameters.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "songs.svm"
    ...     _ = path.write_text("1,3 1:0.5 3:2\n 2:1\n3 1:1\n", encoding="utf-8")
    ...     read_libsvm(path).Y.to_numpy().tolist()
    [[1, 1], [0, 0], [0, 1]]
    """
    text = read_text(path, encoding).rstrip("\n")
    is_zero_based = ZERO.search(text) is not None if zero_based is None else zero_based
    X, labels = _load(path, text, is_zero_based, n_features)
    first, width = int(not is_zero_based), X.shape[1]
    if width > MOST_COLUMNS:
        raise DataError(f"an input has the number {width}, but there should be at most {MOST_COLUMNS}.", path=path)
    inputs = [f"feature_{number}" for number in range(first, first + width)]
    known = {f"label_{number}": number for number in sorted({number for row in labels for number in row})}
    if partial:  # a label that is named and that no row has is known to be absent
        named = [targets] if isinstance(targets, str) else targets if isinstance(targets, Iterable) else []
        matches = [LABEL.fullmatch(target) for target in named if isinstance(target, str)]
        known |= {match[0]: int(match[1]) for match in matches if match}
        known = dict(sorted(known.items(), key=lambda item: item[1]))
        targets, drop = present(targets, known), present(drop, inputs)
    elif not known:
        raise DataError("no row has a label.", path=path)
    names = list(known) if targets is None else choose_targets(targets, list(known), path=path)
    if len(labels) * len(names) > MOST_CELLS:
        size = f"a table of {len(labels)} rows and {len(names)} labels"
        raise DataError(f"{size} is too large; choose some of them, e.g. targets=['label_0', 'label_1'].", path=path)
    wanted = {known[label] for label in names}
    marks = MultiLabelBinarizer(classes=sorted(wanted)).fit_transform([wanted.intersection(row) for row in labels])
    dropped = set(choose_columns("drop", drop, inputs, path=path))
    left = [position for position, feature in enumerate(inputs) if feature not in dropped]
    return Dataset(
        X=X[:, left] if dropped else X,
        Y=pd.DataFrame(marks.astype(np.int8), columns=names),
        feature_names=[inputs[position] for position in left],
        classes=[[0, 1] for _ in names],
        name=file_stem(path) if name is None else name,
        description=f"Read from {Path(path).name}.",
    )


def _load(
    path: str | Path, text: str, zero_based: bool, n_features: int | None
) -> tuple[sp.csr_array, list[list[int]]]:
    """Return the inputs, and the numbers of the labels of each row."""
    lines = text.split("\n")
    rows = [number for number, line in enumerate(lines, 1) if line.partition("#")[0].strip()]
    for number, line in enumerate(lines, 1):
        # Python's numbers may have underscores and digits of other scripts; those of this format do not.
        if odd := ODD.search(line.partition("#")[0]):
            raise DataError(f"the character {odd[0]!r} has no place in a LIBSVM file.", path=path, line=number)
    stream = io.BytesIO(text.encode())
    try:
        X, labels = load_svmlight_file(stream, n_features=n_features, multilabel=True, zero_based=zero_based)
    except (ValueError, OverflowError) as error:
        form = "'1,3 5:0.2 9:1' (labels, then number:value, numbers rising)"
        before = stream.getvalue()[: stream.tell()].removesuffix(b"\n")
        message = f"the line is not of the form {form}: {error}."
        raise DataError(message, path=path, line=1 + before.count(b"\n")) from error
    if not labels:
        raise DataError("the file has no rows.", path=path)
    for cell in np.flatnonzero(np.isinf(X.data))[:1]:
        row = int(np.searchsorted(X.indptr, cell, side="right")) - 1
        message = f"the input with the number {X.indices[cell] + (not zero_based)} is infinite: write nan if unknown."
        raise DataError(message, path=path, line=rows[row])
    for place, found in zip(rows, labels, strict=True):
        for label in found:
            if not (label >= 0 and label < 2**31 and label == int(label)):
                raise DataError(
                    f"{label:g} is not the number of a label: these are whole numbers from 0 on. For a single target, "
                    "or one with other classes, use a table.",
                    path=path,
                    line=place,
                )
    return sp.csr_array(X), [list(map(int, row)) for row in labels]
