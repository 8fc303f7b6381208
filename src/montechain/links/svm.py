"""Links by a linear support vector machine with a logistic model on its scores."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from montechain._compat import check_sample_weight
from montechain._messages import check_number, check_positive_integer
from montechain.links.base import FittedLink, LinkProblem, OneByOne, check_inputs, class_counts, refuse_fit_params
from montechain.links.design import augment, column_extremes, parent_columns, split_effects
from montechain.links.linear import FittedLinearLink, smoothed_log_proba

RIDGE = 1e-8
"""Penalty of the logistic model, so small that it matters only if the scores separate the classes."""
OFFSET_RIDGE = 0.1
"""Penalty of the offsets of more than two classes: label powerset has almost as many of them as rows."""
MAX_PAIRED = 64
"""Maximum number of classes for which there is a machine for each pair: the number of pairs grows with the square."""
MAX_GRAM_ROWS = 4096
"""Maximum number of rows for which all links share one precomputed Gram matrix."""


class SVMLink(OneByOne):
    """Learn links by linear support vector machines with a logistic model on their scores.

    This is the base classifier of Read, Martino and Luengo (2013), Weka's ``SMO -M``. Inputs are scaled to [0, 1] by
    their range in the training rows, nominal parents are one-hot encoded, and the intercept is not penalised.
    A logistic model is then fitted to the scores of the training rows themselves (Weka's ``Logistic`` with a ridge of
    1e-8 on the standardised score), which turns them into log-odds. With K > 2 classes there is a machine for each pair
    of classes, and the score of a class is the mean of its scores against the others; above 64 classes, there is a
    machine for each class against the rest. The probabilities are proportional to ``exp(slope * score + offset)``, with
    one slope and an offset for each class, fitted to the training rows. (Weka fits a logistic model to each machine and
    joins them by pairwise coupling, which is not linear in x and the parents; on Solar Flare, Bridges and Music it was
    not more accurate.)

    The probabilities tend to be overconfident, because the logistic model sees the rows that the machine was trained
    on. If the scores separate the classes, the ridge keeps the log-odds finite. If a class is so rare that the best
    machine gives all rows the same score, its probability is its frequency. A label with a single class in the training
    rows gets constant probabilities, ``(count + 1/2) / (n + K/2)``; an absent class counts as half a row.

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
        check_number(self, "C", 1.0)
        check_number(self, "tol", 1e-3)
        check_positive_integer(self, "max_iter", 50_000)
        X = check_inputs(X)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64)
        counting = _ScaledRows.of(X, np.flatnonzero(weight > 0.0))
        return self._fit_link, X, counting, codes, filled, weight, n_classes, names

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

        # `share` makes the scores of the classes from those of the machines.
        if K <= MAX_PAIRED:
            first, second = np.triu_indices(K, 1)
            share = (np.eye(K)[first] - np.eye(K)[second]) / K
        else:
            first, share = np.arange(K), np.eye(K)
        coef, intercept = np.zeros((inputs.shape[1], len(first))), np.zeros(len(first))
        for w, positive in enumerate(first):
            is_positive = own == positive
            is_negative = own == second[w] if K <= MAX_PAIRED else ~is_positive
            if is_positive.any() and is_negative.any():
                rows = np.flatnonzero(is_positive | is_negative)
                products = gram if gram is None or len(rows) == len(own) else gram[np.ix_(rows, rows)]
                coef[:, w], intercept[w] = self._fit_machine(
                    inputs[rows], products, is_positive[rows], weight[rows], names[label]
                )
        coef, intercept = coef @ share, intercept @ share
        targets = weight[:, None] * (own[:, None] == np.arange(K))
        targets[:, counts == 0.0] = 0.5 / len(own)  # half a count, as in `smoothed_log_proba`
        slope, offsets = fit_softmax(inputs @ coef + intercept, targets, offset_ridge=0.0 if K == 2 else OFFSET_RIDGE)
        coef, intercept = slope * coef, slope * intercept + offsets
        if K == 2:
            coef, intercept = coef[:, 1:] - coef[:, :1], intercept[1:] - intercept[:1]
        of_x, of_parents = np.split(coef, [X.shape[1]])
        intercept -= counting.shift @ of_x
        of_x *= counting.scale[:, None]
        return FittedLinearLink(K, of_x, intercept, split_effects(of_parents, parents_n_classes))

    def _fit_machine(self, inputs, products, is_positive, weight, name) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept of the score by which one class is told from others."""
        max_iter = min(int(self.max_iter) * len(weight), 2**31 - 1)
        kernel = "linear" if products is None else "precomputed"
        machine = SVC(C=self.C, kernel=kernel, tol=self.tol, max_iter=max_iter)
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
        coef = inputs[support].T @ dual
        scores = inputs @ coef
        if products is not None:  # the products are those of centred rows
            intercept += products[0, support] @ dual - scores[0]
        scores += intercept
        losses = np.maximum(0.0, 1.0 - np.where(is_positive, scores, -scores))
        lesser = min(weight[is_positive].sum(), weight[~is_positive].sum())
        if 0.5 * coef @ coef + self.C * (weight @ losses) >= 2.0 * self.C * lesser * (1.0 - 1e-9):
            return np.zeros_like(coef), 0.0  # the machine does not beat one that gives all rows the same score
        return coef, intercept


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


def fit_softmax(scores: np.ndarray, targets: np.ndarray, *, offset_ridge: float = 0.0) -> tuple[float, np.ndarray]:
    """Fit ``p_i ∝ exp(slope * score_i + offset_i)`` for the classes i.

    Minimises, by Newton's method, the log loss, where ``targets[n, i]`` is the weight of class i in row n, plus `RIDGE`
    times the square of the slope of the standardised scores and `offset_ridge` / 2 times the squares of their offsets.
    Every class needs some weight. Scores that are the same for all rows have the slope 0.
    """
    weight = targets.sum(axis=1)
    centre = weight @ scores / weight.sum()
    # Of the difference of two scores.
    spread = np.sqrt(2.0 * (weight @ (scores - centre) ** 2).sum() / weight.sum())
    shares = np.log(targets.sum(axis=0))
    position = np.append(0.0, shares - shares.mean())
    if not spread > 1e-12 * (1.0 + np.abs(centre).max()):
        return 0.0, position[1:]
    scores = (scores - centre) / spread
    ridge = np.append(2.0 * RIDGE, np.full(len(shares), offset_ridge))
    hessian = np.empty((len(position), len(position)))
    for _ in range(200):
        proba = softmax(position[0] * scores + position[1:], axis=1)
        expected = weight[:, None] * proba
        surplus = expected - targets
        gradient = np.append((surplus * scores).sum(), surplus.sum(axis=0)) + ridge * position
        apart = scores - (proba * scores).sum(axis=1, keepdims=True)
        hessian[0, 0] = (expected * apart**2).sum()
        hessian[0, 1:] = hessian[1:, 0] = (expected * apart).sum(axis=0)
        hessian[1:, 1:] = np.diag(expected.sum(axis=0)) - expected.T @ proba
        # Almost singular if the scores separate the classes, and if offsets are not penalised.
        step = np.linalg.solve(hessian + np.diag(ridge + 1e-10 * np.diag(hessian)), gradient)
        longest = np.ptp(step[0] * scores + step[1:], axis=1).max()
        if longest <= 1e-6:
            break
        # The curvature changes by at most a factor of exp(d) when no difference of scores moves by more than d, so the
        # loss falls all the way up to this share of the step: no search along it is needed.
        position -= np.log1p(longest) / longest * step
    slope = position[0] / spread
    return float(slope), position[1:] - slope * centre
