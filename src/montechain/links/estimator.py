"""Links from any scikit-learn classifier with `predict_proba`."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from montechain._compat import check_method_params
from montechain._frames import is_frame
from montechain._messages import noted
from montechain._rows import take_rows
from montechain._savable import savable
from montechain.links.base import FittedLink, LinkProblem, OneByOne, checked_proba
from montechain.links.design import augment, canonical, parent_columns, parent_names
from montechain.links.folding import fold
from montechain.links.linear import FittedLinearLink, smoothed_log_proba
from montechain.targets import UNKNOWN


@savable
@dataclass(frozen=True)
class FittedEstimatorLink:
    """A fitted classifier as a link.

    The `estimator` was fitted on x with the parents' columns beside it, whose names are `names` if x is a data frame,
    and on codes. `n_classes` counts all classes of the label, whether or not the classifier has seen them; each that it
    has not seen has the probability `absent_proba`. `label` is the name of the label in error messages.
    """

    estimator: Any
    n_classes: int
    parents_n_classes: tuple[int, ...]
    names: list[Any] | None = None
    absent_proba: float = 0.0
    label: Any = None

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:  # noqa: D102
        columns = parent_columns(parent_codes, self.parents_n_classes)
        proba = self.estimator.predict_proba(augment(canonical(X), columns, self.names))
        proba = checked_proba(proba, self.estimator, self.label)
        seen = np.asarray(self.estimator.classes_, dtype=np.intp)
        full = np.full((len(proba), self.n_classes), self.absent_proba)
        full[:, seen] = (1.0 - self.absent_proba * (self.n_classes - len(seen))) * proba
        with np.errstate(divide="ignore"):
            return np.log(full)


class EstimatorLink(OneByOne):
    """Learn each link with a clone of a scikit-learn classifier that has `predict_proba`.

    The classifier sees x with the parents beside it (one 0/1 column for a binary parent, one-hot otherwise; in a data
    frame these columns bear the parents' names) and integer codes as its target. A fitted linear model is folded into a
    label-linear link, so that the fast search applies.

    Where the classifier (or a part of it) has ``random_state=None``, it gets a seed made from our `random_state`, if
    that is a number, the label and its parents: the same link is then the same in every chain.
    """

    def __init__(self, estimator: Any, random_state: int | None = None):
        self.estimator = estimator
        self.random_state = random_state

    def _link_fitter(self, X, codes, filled, n_classes, names, *, sample_weight=None, **fit_params):
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        return self._fit_link, canonical(X), codes, filled, n_classes, names, fit_params

    def _fit_link(self, X, codes, filled, n_classes, names, fit_params, problem: LinkProblem) -> FittedLink:
        label, parents = problem
        own, parents_n_classes = codes[:, label], tuple(n_classes[j] for j in parents)
        rows = np.flatnonzero(own != UNKNOWN)
        counts = np.bincount(own[rows], minlength=n_classes[label])
        n_seen = int((counts > 0).sum())
        if n_seen <= 1:
            return FittedLinearLink.constant(smoothed_log_proba(counts), X.shape[1], parents_n_classes)
        if len(rows) < len(own):
            fit_params = check_method_params(X, fit_params, rows)
            X = take_rows(X, rows)
        column_names = parent_names(X, [names[j] for j in parents], parents_n_classes) if is_frame(X) else None
        design = augment(X, parent_columns(filled[rows][:, list(parents)], parents_n_classes), column_names)
        with noted(f"It was raised by {type(self.estimator).__name__}, the classifier of label {names[label]!r}."):
            estimator = self._seeded(clone(self.estimator), problem).fit(design, own[rows], **fit_params)
        # As `smoothed_log_proba` has it: half a count for a class that does not occur.
        absent_proba = 0.0 if n_seen == n_classes[label] else 0.5 / (counts.sum() + 0.5 * n_classes[label])
        return fold(estimator, design, n_classes[label], parents_n_classes) or FittedEstimatorLink(
            estimator, n_classes[label], parents_n_classes, column_names, absent_proba, names[label]
        )

    def _seeded(self, estimator: Any, problem: LinkProblem) -> Any:
        if self.random_state is None:
            return estimator
        seeds = {}
        for name, value in sorted(estimator.get_params(deep=True).items()):
            if (name == "random_state" or name.endswith("__random_state")) and value is None:
                key = f"{self.random_state}:{problem.label}:{sorted(problem.parents)}:{name}"
                seeds[name] = zlib.crc32(key.encode())
        return estimator.set_params(**seeds)
