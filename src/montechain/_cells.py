"""Truth and prediction side by side: what the scores of `montechain.metrics` are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from montechain._messages import nearest
from montechain._tags import all_tags, tag_rows
from montechain.targets import UNKNOWN, as_columns, factorise, joined, plain, show_classes

AVERAGES = ("instance", "micro", "macro")


class Cells(NamedTuple):
    """Truth and prediction, cell by cell, for the rows with a positive weight and a known label (`kept`).

    `equal` and `known` are bool arrays of shape (n, L); unknown cells never are. `columns` are those of both tables.
    """

    equal: np.ndarray
    known: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    columns: list[tuple[np.ndarray, np.ndarray]]

    @property
    def right(self) -> np.ndarray:
        """Rows in which every known label is right."""
        return (self.equal | ~self.known).all(axis=1)

    def codes(self, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the classes of a label, and the codes of truth and prediction where the label is known."""
        known = np.flatnonzero(self.kept)[self.known[:, label]]
        true, predicted = (side[known] for side in self.columns[label])
        classes, codes = factorise(joined([true, predicted]))
        return classes, codes[: len(true)], codes[len(true) :]

    def relevant(self, negative: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return, as zeros and ones for each cell, whether a relevant class is shared, is true, and is predicted."""
        labels = [self.codes(label) for label in range(len(self.columns))]
        negatives = resolve_negative([classes for classes, _, _ in labels], negative, complete=False)
        true, predicted = (np.zeros(self.known.shape, dtype=np.int8) for _ in range(2))
        for j, (_, *codes) in enumerate(labels):
            for side, own in zip((true, predicted), codes, strict=True):
                side[self.known[:, j], j] = own != negatives[j]
        return true * self.equal, true, predicted

    def average(self, shared: np.ndarray, total: np.ndarray, average: str) -> float:
        """Return the ratio of two sums over cells, taken by row, by label or over everything; 1 for zero over zero."""
        if average not in AVERAGES:
            allowed = ", ".join(map(repr, AVERAGES))
            raise ValueError(f"{average=} is not known{nearest(str(average), AVERAGES) or '.'} Allowed: {allowed}.")
        if average == "instance":
            above, below, weight = shared.sum(axis=1), total.sum(axis=1), self.weight
        else:
            # Skip labels that are unknown in every row.
            above, below, weight = self.weight @ shared, self.weight @ total, np.asarray(self.known.any(axis=0))
            if average == "micro":
                above, below, weight = above.sum(keepdims=True), below.sum(keepdims=True), np.ones(1)
        ratio = np.ones(len(below))
        np.divide(above, below, out=ratio, where=below > 0)
        return float(np.average(ratio, weights=weight))


def compare(Y_true: Any, Y_pred: Any, sample_weight: Any) -> Cells:
    """Return where truth and prediction agree; parameters are those of `exact_match`."""
    tags = None
    if tag_rows(Y_true) is not None or tag_rows(Y_pred) is not None:
        tags = all_tags([*(tag_rows(Y_true, certain=True) or ()), *(tag_rows(Y_pred, certain=True) or ())])
    true = as_columns(Y_true, name="Y_true", tags=tags)
    predicted = as_columns(Y_pred, name="Y_pred", tags=tags)
    known = true.known
    if known.shape != predicted.known.shape:
        raise ValueError(f"Y_true has shape {known.shape}, but Y_pred has shape {predicted.known.shape}.")
    if true.is_frame and predicted.is_frame and true.names != predicted.names:
        raise ValueError(
            f"the columns of Y_true and Y_pred differ: {true.names} and {predicted.names}. Use the same names, "
            "in the same order."
        )
    if (missing := ~predicted.known & known).any():
        row, column = np.argwhere(missing)[0].tolist()
        raise ValueError(f"{predicted.describe(column)} has no value in row {row}: a prediction must be complete.")
    weight = check_weight(sample_weight, len(known))
    kept = known.any(axis=1) & (weight > 0.0)
    if not kept.any():
        raise ValueError("nothing to score: Y_true has no known label in any row with a positive weight.")
    columns = list(zip(true.columns, predicted.columns, strict=True))
    if all(type(side) is np.ndarray and side.ndim == 2 and side.dtype.kind in "biu" for side in (Y_true, Y_pred)):
        # Column by column takes five times as long.
        return Cells(((Y_true == Y_pred) & known)[kept], known[kept], weight[kept], kept, columns)
    equal = np.zeros(known.shape, dtype=bool)
    for j, (own, other) in enumerate(columns):
        if own.dtype.kind in "biuf" and other.dtype.kind in "biuf":
            equal[:, j] = (own == other) & known[:, j]
            continue
        own, other = own[known[:, j]], other[known[:, j]]
        texts = [{isinstance(cell, str) for cell in side.tolist()} for side in (own, other)]
        if texts in ([{True}, {False}], [{False}, {True}]):
            raise ValueError(
                f"{true.describe(j)} and {predicted.describe(j)} cannot be compared: one holds strings and the other "
                f"does not ({plain(own[0])!r} and {plain(other[0])!r}). Give both the same type."
            )
        equal[known[:, j], j] = own == other
    return Cells(equal[kept], known[kept], weight[kept], kept, columns)


def check_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the weights of the rows, ones by default."""
    try:
        weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"`sample_weight` must be an array of {n_rows} numbers, one for each row.") from None
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {n_rows} rows: give one for each.")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all() and weight.any()):
        raise ValueError("sample_weight must be finite and not negative, and some weight must be positive.")
    return weight


def resolve_negative(classes: Sequence[np.ndarray], negative: Any, *, complete: bool = True) -> list[int]:
    """Return for each label the code of the class that means "not relevant", -1 where all classes are relevant.

    `negative` is this class for all labels, or a sequence with one for each. None stands for the first of two classes;
    a single class is then relevant unless it is 0 or False. A class that the label does not have is an error if the
    classes are `complete` and there are at least two.

    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], [None, "none"])
    [0, 0]
    """
    wanted = list(negative) if isinstance(negative, list | tuple | np.ndarray) else [negative] * len(classes)
    if len(wanted) != len(classes):
        raise ValueError(f"`negative` names {len(wanted)} classes, but there are {len(classes)} labels.")
    found = []
    for label, (own, wants) in enumerate(zip(classes, wanted, strict=True)):
        values = own.tolist()
        if wants is None and len(values) <= 2:
            found.append(0 if len(values) == 2 or values == [0] else UNKNOWN)
            continue
        if wants not in values and len(values) > 1 and (complete or wants is None):
            raise ValueError(
                f"label {label} has {len(values)} classes, {show_classes(own)}, and `negative` is {plain(wants)!r}: "
                f'say which of them means "not relevant", for example F1(negative={values[0]!r}), or give a list with '
                "one class per label."
            )
        found.append(values.index(wants) if wants in values else UNKNOWN)
    return found
