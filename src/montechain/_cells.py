"""Truth and prediction side by side: what the scores of `montechain.metrics` are computed from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from montechain._messages import nearest
from montechain.targets import UNKNOWN, as_columns, factorise, plain, same, show_classes

__all__ = ["Cells", "average_ratio", "check_weight", "compare", "relevant", "resolve_negative", "weighted_mean"]

AVERAGES = ("instance", "micro", "macro")


class Cells(NamedTuple):
    """Truth and prediction, cell by cell, of the rows that have a weight and a known label.

    Attributes
    ----------
    equal, known : bool ndarrays of shape (n, L)
    weight : ndarray of shape (n,)
    kept : bool ndarray
        Which of the rows given these are.
    columns : tuple of two lists of L ndarrays
        Truth and prediction, all rows given.
    """

    equal: np.ndarray
    known: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    columns: tuple[list[np.ndarray], list[np.ndarray]]

    @property
    def right(self) -> np.ndarray:
        """Which rows have no known label that is wrong."""
        return (self.equal | ~self.known).all(axis=1)

    def codes(self, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the classes of a label, and the codes of truth and prediction where the label is known."""
        true, predicted = (side[label][self.kept][self.known[:, label]] for side in self.columns)
        return _codes(true, predicted)


def compare(Y_true: Any, Y_pred: Any, unknown: Any, sample_weight: Any) -> Cells:
    """Return where truth and prediction agree; parameters are those of `montechain.metrics.exact_match`."""
    true, predicted = _integers(Y_true), _integers(Y_pred)
    if true is not None and predicted is not None and (unknown is None or isinstance(unknown, int | np.integer)):
        _check_shapes(true.shape, predicted.shape)
        equal = true == predicted
        known = np.ones(true.shape, dtype=bool) if unknown is None else true != unknown
        columns = list(true.T), list(predicted.T)
    else:
        tables = as_columns(Y_true, unknown=unknown, name="Y_true"), as_columns(Y_pred, name="Y_pred")
        _check_shapes(tables[0].shape, tables[1].shape)
        if tables[0].is_frame and tables[1].is_frame and tables[0].names != tables[1].names:
            raise ValueError(
                f"the columns of Y_true and Y_pred differ: {tables[0].names} and {tables[1].names}. "
                "Put them in the same order, under the same names."
            )
        known, columns = tables[0].known, (tables[0].columns, tables[1].columns)
        if (missing := ~tables[1].known & known).any():
            row, column = np.argwhere(missing)[0].tolist()
            raise ValueError(f"{tables[1].describe(column)} has no value in row {row}: a prediction must be complete.")
        equal = np.zeros(known.shape, dtype=bool)
        for j, cells in enumerate(known.T):
            here = f"{tables[0].describe(j)} and {tables[1].describe(j)}"
            _, *codes = _codes(columns[0][j][cells], columns[1][j][cells], here)
            equal[cells, j] = codes[0] == codes[1]
    weight = check_weight(sample_weight, len(known))
    kept = known.any(axis=1) & (weight > 0.0)
    if not kept.any():
        raise ValueError("no label of Y_true is known in any row that counts: there is nothing to score.")
    return Cells(equal[kept], known[kept], weight[kept], kept, columns)


def _integers(Y: Any) -> np.ndarray | None:
    """Return Y as an array of whole numbers or booleans of shape (n, L) if it is one, without looking at cells."""
    if sp.issparse(Y) and Y.dtype.kind in "biu":
        Y = Y.toarray()
    if type(Y) is np.ndarray and Y.dtype.kind in "biu" and Y.ndim in (1, 2) and Y.size:
        return Y[:, None] if Y.ndim == 1 else Y
    return None


def _codes(true: np.ndarray, predicted: np.ndarray, here: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sorted distinct values of two columns without unknown cells, and the codes of both."""
    kinds = true.dtype.kind, predicted.dtype.kind
    if all(kind in "biuf" for kind in kinds) or (kinds[0] == kinds[1] and kinds[0] in "USMm"):
        both = np.concatenate([true, predicted])
    else:
        values = true.tolist(), predicted.tolist()
        texts = [{isinstance(value, str) for value in side} for side in values]
        if texts in ([{True}, {False}], [{False}, {True}]):
            raise ValueError(
                f"{here} cannot be compared: one holds texts and the other does not "
                f"({values[0][0]!r} and {values[1][0]!r}). Give both the same type."
            )
        both = np.empty(len(true) + len(predicted), dtype=object)
        both[:] = [*values[0], *values[1]]
    classes, codes = factorise(both)
    return classes, codes[: len(true)], codes[len(true) :]


def relevant(
    Y_true: Any, Y_pred: Any, negative: Any, unknown: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Cells]:
    """Return, cell by cell, whether a relevant class is shared, is true, and is predicted."""
    cells = compare(Y_true, Y_pred, unknown, sample_weight)
    labels = [cells.codes(j) for j in range(cells.known.shape[1])]
    negatives = resolve_negative([classes for classes, _, _ in labels], negative, complete=False)
    # Small whole numbers, not booleans: the callers add and subtract them.
    true, predicted = (np.zeros(cells.known.shape, dtype=np.int8) for _ in range(2))
    for j, (known, (_, *codes)) in enumerate(zip(cells.known.T, labels, strict=True)):
        for side, own in zip((true, predicted), codes, strict=True):
            side[known, j] = own != negatives[j]
    return true * cells.equal, true, predicted, cells


def average_ratio(shared: np.ndarray, total: np.ndarray, average: str, zero_division: float, cells: Cells) -> float:
    """Return the ratio of two sums over cells, taken by row, by label or over everything."""
    if average not in AVERAGES:
        allowed = ", ".join(map(repr, AVERAGES))
        raise ValueError(f"{average=} is not known{nearest(str(average), AVERAGES) or '.'} Allowed: {allowed}.")
    if average == "instance":
        above, below = shared.sum(axis=1, dtype=np.float64), total.sum(axis=1, dtype=np.float64)
        weight = cells.weight
    else:
        above, below = cells.weight @ shared, cells.weight @ total
        # A label that is known in no row says nothing.
        weight = np.asarray(cells.known.any(axis=0), dtype=np.float64)
        if average == "micro":
            above, below, weight = above.sum(keepdims=True), below.sum(keepdims=True), np.ones(1)
    ratio = np.where(below > 0.0, above / np.where(below > 0.0, below, 1.0), zero_division)
    return weighted_mean(ratio, weight)


def _check_shapes(true: tuple[int, ...], predicted: tuple[int, ...]) -> None:
    if true != predicted:
        raise ValueError(f"Y_true has shape {true}, but Y_pred has shape {predicted}.")


def check_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the weights of the rows, ones by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but there are {n_rows} rows.")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all() and weight.sum() > 0.0):
        raise ValueError("sample_weight must be finite and not negative, and some weight must be positive.")
    return weight


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted mean of values."""
    return float(values @ weight / weight.sum())


def resolve_negative(
    classes: Sequence[np.ndarray], negative: Any, *, hint: str = "negative={}", complete: bool = True
) -> list[int]:
    """Return for each label the code of the class that means "not relevant", -1 where there is none.

    Without `negative`, it is the first of two classes, or a single class that reads as negative: a number that is not
    above zero, or "0", "false", "no" or "none". A scalar is this class wherever a label has it; a label of at most two
    classes without it takes the one that reads as negative. A sequence has one class for each label, None as above.
    What cannot be told is an error, which shows how to pass the argument (`hint`). If the classes are not `complete`, a
    class that is not among them is no error: all classes seen are then relevant.

    Examples
    --------
    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], "none")
    [0, 0]
    >>> resolve_negative([np.array([0, 1]), np.array(["none", "red", "tan"])], None)
    Traceback (most recent call last):
        ...
    ValueError: label 1 has 3 classes, ['none', 'red', 'tan']: say which of them means "not relevant", ...
    """
    one_each = isinstance(negative, list | tuple | np.ndarray) and np.ndim(negative) == 1
    if one_each and len(negative) != len(classes):
        raise ValueError(f"{hint.format(negative)} names {len(negative)} classes, but there are {len(classes)} labels.")
    wanted = list(negative) if one_each else [negative] * len(classes)
    found = [
        next((code for code, value in enumerate(c.tolist()) if w is not None and same(value, w)), UNKNOWN)
        for c, w in zip(classes, wanted, strict=True)
    ]
    if complete and not one_each and negative is not None and max(found, default=UNKNOWN) < 0:
        raise ValueError(f"{hint.format(repr(plain(negative)))}: no label has this class.")
    for label, (own, wants) in enumerate(zip(classes, wanted, strict=True)):
        if found[label] >= 0:
            continue
        by_nature = [code for code, value in enumerate(own.tolist()) if _reads_as_negative(value)]
        if wants is None and len(own) == 2:
            found[label] = 0
        elif wants is None and len(own) > 2:
            raise ValueError(
                f"label {label} has {len(own)} classes, {show_classes(own)}: say which of them means "
                f'"not relevant", for example {hint.format(repr(plain(own[0])))}, or one class per label in a list.'
            )
        elif (wants is None or not one_each) and len(own) <= 2 and len(by_nature) == 1:
            found[label] = by_nature[0]
        elif wants is not None and len(own) > 1 and complete:
            raise ValueError(
                f"label {label} has no class {plain(wants)!r}: its classes are {show_classes(own)}. "
                f"Give one negative class per label: {hint.format('[...]')}."
            )
    return found


def _reads_as_negative(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in ("0", "false", "no", "none")
    return isinstance(value, bool | int | float) and value <= 0
