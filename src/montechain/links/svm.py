"""Links by a linear support vector machine with a logistic model on its scores."""

from __future__ import annotations

import numbers
import warnings
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from montechain.links.base import (
    FittedLink,
    LinkProblem,
    OneByOne,
    check_inputs,
    check_positive,
    check_weights,
    class_counts,
    refuse_fit_params,
)
from montechain.links.design import augment, column_extremes, parent_columns, split_effects
from montechain.links.linear import FittedLinearLink, smoothed_log_proba
from montechain.links.pairwise import FittedPairwiseLink, newton_share

RIDGE = 1e-8
"""Penalty of the logistic model, so small that it matters only if the scores separate the classes."""
FINEST = 1e-6
"""Smallest tolerance passed to `SVC`; below it, the equations of the support vectors are solved instead."""
MAX_GRAM_ROWS = 4096
"""Maximum number of rows for which all links share one precomputed Gram matrix."""


class SVMLink(OneByOne):
    """Learn links by linear support vector machines with a logistic model on their scores.

    This is the base classifier of Read, Martino and Luengo (2013), Weka's ``SMO -M``. Inputs are scaled to [0, 1] by
    their range in the training rows, nominal parents are one-hot encoded, and the intercept is not penalised.
    A logistic model is then fitted to the scores of the training rows themselves (Weka's ``Logistic`` with a ridge of
    1e-8 on the standardised score), which turns them into log-odds. With K > 2 classes there is a machine for each
    pair of classes, and their probabilities are joined by pairwise coupling (Hastie and Tibshirani 1998), each pair
    with the weight of its training rows.

    The probabilities tend to be overconfident, because the logistic model sees the rows that the machine was trained
    on. If the scores separate the classes, the ridge keeps the log-odds finite. If a class is so rare that the best
    machine gives all rows the same score, its probability is its frequency. A label with a single class in the training
    rows gets constant probabilities, ``(count + 1/2) / (n + K/2)``; so does a pair of classes if one is absent.

    The machines are scikit-learn's `SVC`. Up to 4,096 rows, the links share the products of all pairs of rows, which
    is faster than `SVC` with a linear kernel. A sparse X stays sparse: shifting a column only changes the intercept,
    so columns are scaled but not shifted.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge losses against ``||w||² / 2``.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in Weka and in `SVC`.
    max_iter : int, default=50000
        Maximum number of steps per row; a `ConvergenceWarning` says when it was reached.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.links.base import LinkProblem
    >>> from montechain.links.svm import SVMLink
    >>> X = np.array([[0.0], [1.0], [2.0], [1.0], [2.0], [4.0]])
    >>> codes = np.array([[0], [0], [0], [1], [1], [1]], dtype=np.int32)
    >>> (link,) = SVMLink().fit_links(X, codes, codes, [2], [LinkProblem(0, ())])
    >>> np.exp(link.log_proba(X, np.empty((6, 0), dtype=np.int32)))[:, 1].round(2)
    array([0.12, 0.33, 0.63, 0.33, 0.63, 0.95])
    """

    def __init__(self, C: float = 1.0, tol: float = 1e-3, max_iter: int = 50000):
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    _prefer = "threads"

    def _link_fitter(self, X, codes, filled, n_classes, names, *, sample_weight=None, **fit_params):
        refuse_fit_params(self, fit_params)
        check_positive(self, C=numbers.Real, tol=numbers.Real, max_iter=numbers.Integral)
        X = check_inputs(X)
        weight = check_weights(sample_weight, X)
        counting = _ScaledRows.of(X, np.flatnonzero(weight > 0.0))
        return partial(self._fit_link, X, counting, codes, filled, weight, n_classes, names)

    def _fit_link(self, X, counting, codes, filled, weight, n_classes, names, problem: LinkProblem) -> FittedLink:
        label, parents = problem
        own, parents_n_classes, K = codes[:, label], [n_classes[j] for j in parents], n_classes[label]
        counts = class_counts(own, weight, K)
        if (counts > 0.0).sum() <= 1:
            return FittedLinearLink.constant(smoothed_log_proba(counts), X.shape[1], parents_n_classes)
        if (own[counting.rows] < 0).any():
            counting = _ScaledRows.of(X, np.flatnonzero((weight > 0.0) & (own >= 0)))
        own, weight = own[counting.rows], weight[counting.rows]
        beside = parent_columns(filled[counting.rows][:, list(parents)], parents_n_classes)
        beside *= np.ptp(beside, axis=0)  # a constant column has no effect
        centred = beside - beside.mean(axis=0)
        gram = None if counting.gram is None else counting.gram + centred @ centred.T
        inputs = augment(counting.X, beside)

        # With two classes the score is the log-odds of class 1, but in pairs that of the first against the second.
        pairs = [(1, 0)] if K == 2 else list(combinations(range(K), 2))
        coef, intercept = np.zeros((inputs.shape[1], len(pairs))), np.zeros(len(pairs))
        for w, (positive, negative) in enumerate(pairs):
            if counts[positive] == 0.0 or counts[negative] == 0.0:
                intercept[w] = np.log((counts[positive] + 0.5) / (counts[negative] + 0.5))
                continue
            rows = np.flatnonzero((own == positive) | (own == negative))
            products = gram if gram is None or len(rows) == len(own) else gram[np.ix_(rows, rows)]
            coef[:, w], intercept[w] = self._fit_pair(
                inputs[rows], products, own[rows] == positive, weight[rows], names[label]
            )
        of_x, of_parents = np.split(coef, [X.shape[1]])
        intercept -= counting.shift @ of_x
        of_x *= counting.scale[:, None]
        effects = split_effects(of_parents, parents_n_classes)
        if K == 2:
            return FittedLinearLink(2, of_x, intercept, effects)
        # A pair that never occurs still needs a little weight, or its classes would get no probability at all.
        pair_weight = np.array([max(counts[i] + counts[j], 1.0) for i, j in pairs])
        return FittedPairwiseLink(K, FittedLinearLink(len(pairs), of_x, intercept, effects), pair_weight)

    def _fit_pair(self, inputs, products, is_positive, weight, name) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept of the log-odds of one class against another."""
        machine = SVC(
            C=self.C,
            kernel="linear" if products is None else "precomputed",
            tol=max(self.tol, FINEST),
            max_iter=min(int(self.max_iter) * len(weight), 2**31 - 1),
        )
        with warnings.catch_warnings():  # ours says what to do
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(inputs if products is None else products, is_positive, sample_weight=weight)
        if machine.fit_status_:
            warnings.warn(
                f"A link of label {name!r} did not converge to tol={self.tol} within max_iter={self.max_iter} steps "
                f"per row. Use SVMLink(max_iter={10 * self.max_iter}), or a C smaller than {self.C}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        support, intercept = machine.support_, machine.intercept_[0]
        dual = (machine.dual_coef_.toarray() if sp.issparse(machine.dual_coef_) else machine.dual_coef_)[0]
        if products is not None and self.tol < FINEST:
            among = products[np.ix_(support, support)]
            dual, intercept = _polished(among, is_positive[support], dual, intercept, self.C * weight[support])
        coef = inputs[support].T @ dual
        scores = inputs @ coef
        if products is not None:  # the products are those of centred rows
            intercept += products[0, support] @ dual - scores[0]
        scores += intercept
        losses = np.maximum(0.0, 1.0 - np.where(is_positive, scores, -scores))
        lesser = min(weight[is_positive].sum(), weight[~is_positive].sum())
        if 0.5 * coef @ coef + self.C * (weight @ losses) >= 2.0 * self.C * lesser * (1.0 - 1e-9):
            scores[:] = 0.0  # the machine does not beat one that gives all rows the same score
        slope, offset = fit_sigmoid(scores, is_positive, weight)
        return slope * coef, slope * intercept + offset


class _ScaledRows(NamedTuple):
    """Some rows of X, with columns that have a range of one and, unless X is sparse, a mean of zero.

    `gram` holds the products of all pairs of rows, centred in any case: only the intercept changes, and the solver
    needs fewer steps.
    """

    rows: np.ndarray
    X: Any
    shift: np.ndarray
    scale: np.ndarray
    gram: np.ndarray | None

    @classmethod
    def of(cls, X: Any, rows: np.ndarray) -> _ScaledRows:
        """Return these rows of X, scaled."""
        X = X[rows]
        low, high = column_extremes(X) if len(rows) else np.zeros((2, X.shape[1]))
        scale = np.divide(1.0, high - low, out=np.zeros(len(low)), where=high > low)
        shift = np.zeros(len(low))
        X = X @ sp.diags_array(scale, format="csr") if sp.issparse(X) else X * scale
        if not sp.issparse(X) and len(rows):
            shift = X.mean(axis=0)
            X -= shift
        if not 0 < len(rows) <= MAX_GRAM_ROWS:
            return cls(rows, X, shift, scale, None)
        gram = X @ X.T
        if sp.issparse(X):
            gram = gram.toarray()
            means = gram.mean(axis=0)
            gram += means.mean() - means - means[:, None]
        return cls(rows, X, shift, scale, gram)


def _polished(gram, is_positive, dual, intercept, bounds):
    """Return the solution for which the support vectors inside their bounds have a margin of exactly one.

    If it lies outside of the bounds, the solution stays as it is.
    """
    free = np.abs(dual) < bounds * (1.0 - 1e-12)
    border = np.ones((free.sum(), 1))
    system = np.block([[gram[np.ix_(free, free)], border], [border.T, np.zeros((1, 1))]])
    margins = np.where(is_positive, 1.0, -1.0)[free] - gram[np.ix_(free, ~free)] @ dual[~free]
    found = np.linalg.lstsq(system, np.append(margins, -dual[~free].sum()), rcond=1e-13)[0]
    polished = dual.copy()
    polished[free] = found[:-1]
    inside = (polished >= 0.0) == is_positive
    return (polished, found[-1]) if (inside & (np.abs(polished) <= bounds)).all() else (dual, intercept)


def fit_sigmoid(scores: np.ndarray, is_positive: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Fit ``log-odds = slope * score + offset``, almost without penalty.

    Minimises the weighted log loss plus `RIDGE` times the square of the slope of the standardised score, as Weka's
    ``Logistic`` does, by Newton's method. Both classes must occur. Equal scores have the slope 0.
    """
    total = weight.sum()
    centre = weight @ scores / total
    spread = np.sqrt(weight @ (scores - centre) ** 2 / total)
    share = weight[is_positive].sum() / total
    position = np.array([0.0, np.log(share / (1.0 - share))])
    if not spread > 1e-12 * (1.0 + abs(centre)):
        return 0.0, float(position[1])
    inputs = np.column_stack([(scores - centre) / spread, np.ones(len(scores))])
    signs = np.where(is_positive, 1.0, -1.0)
    ridge = np.array([2.0 * RIDGE, 0.0])
    for _ in range(200):
        margins = inputs @ position
        gradient = inputs.T @ (-signs * weight * expit(-signs * margins)) + ridge * position
        curvature = weight * expit(margins) * expit(-margins)
        hessian = (inputs * curvature[:, None]).T @ inputs + np.diag(ridge)
        hessian[np.diag_indices(2)] *= 1.0 + 1e-10  # scores that separate the classes leave it almost singular
        step = np.linalg.solve(hessian, gradient)
        longest = np.abs(inputs @ step).max()
        if longest <= 1e-10:
            break
        position -= newton_share(longest) * step
    slope = position[0] / spread
    return float(slope), float(position[1] - slope * centre)
