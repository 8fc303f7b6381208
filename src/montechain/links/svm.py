"""Links by a linear support vector machine with a logistic model on its scores."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from montechain._kernels.hinge import LARGEST_SET, fit_hinge
from montechain.links.base import (
    FittedLink,
    LinkLearner,
    LinkProblem,
    check_inputs,
    check_positive,
    check_weights,
    class_counts,
    refuse_fit_params,
)
from montechain.links.design import n_columns, name_labels, parent_columns, rescaled, split_effects
from montechain.links.linear import PAIRWISE, SOFTMAX, FittedLinearLink, smoothed_log_proba
from montechain.targets import default_label_names

__all__ = ["SVMLink", "fit_sigmoid"]

RIDGE = 1e-8
"""Penalty of the logistic model, so small that it matters only if the scores separate the classes."""
NOISE = 10.0
"""Scores whose standard deviation is below this many times `tol` are equal but for the solver's inaccuracy."""
DENSE = 0.3
"""Share of nonzero entries from which on the solver gets all entries: without their columns they are faster."""
PROXIMITY = 1.0
"""How freely the intercept moves from sweep to sweep; inputs lie in [0, 1]."""


class SVMLink(LinkLearner):
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

    The machines are solved in the dual, by coordinate descent followed by an active set. The result is that of
    ``SVC(kernel="linear")`` on scaled inputs (`LinearSVC` penalises the intercept), several times faster on sparse
    inputs with thousands of rows. A sparse X stays sparse: shifting a column only changes the intercept, so columns are
    scaled but not shifted.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the hinge losses against ``||w||² / 2``.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, as in Weka and in `SVC`.
    max_iter : int, default=50000
        Maximum number of sweeps over the rows; a `ConvergenceWarning` says when it was reached.

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

    def fit_links(  # noqa: D102
        self,
        X: Any,
        codes: np.ndarray,
        filled: np.ndarray,
        n_classes: Sequence[int],
        problems: Sequence[LinkProblem],
        *,
        sample_weight: np.ndarray | None = None,
        names: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        on_link: Callable[[LinkProblem], None] | None = None,
        **fit_params: Any,
    ) -> list[FittedLink]:
        refuse_fit_params(self, fit_params)
        check_positive(self, "C", numbers.Real)
        check_positive(self, "tol", numbers.Real)
        check_positive(self, "max_iter", numbers.Integral)
        X, exponent = rescaled(check_inputs(X))
        weight = check_weights(sample_weight, len(codes))
        n_classes = [int(k) for k in n_classes]

        # Inputs of all links: the columns of X, then a block for each label that is a parent anywhere.
        parents = sorted({j for problem in problems for j in problem.parents})
        starts = X.shape[1] + np.cumsum([0, *(n_columns(n_classes[j]) for j in parents)])
        columns_of = {j: np.arange(starts[i], starts[i + 1]) for i, j in enumerate(parents)}
        beside = sp.csr_matrix(parent_columns(filled[:, parents], [n_classes[j] for j in parents]))
        if sp.issparse(X):
            shift = np.zeros(X.shape[1])
            inputs = sp.hstack([sp.csr_matrix(X), beside], format="csr")
        else:
            # Not needed for the solution, but columns far from zero would make the way to it long.
            shift = X.min(axis=0).astype(np.float64)
            inputs = sp.hstack([sp.csr_matrix(X - shift), beside], format="csr")
        inputs = inputs.astype(np.float64, copy=False)
        labels = sorted({problem.label for problem in problems})
        ranges = dict(zip(labels, _ranges(inputs, (codes[:, labels] >= 0) & (weight > 0.0)[:, None]), strict=True))

        learned = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(self._fit_link)(
                inputs,
                ranges[problem.label],
                shift,
                exponent,
                columns_of,
                codes[:, problem.label],
                weight,
                n_classes,
                problem,
            )
            for problem in problems
        )
        links: list[FittedLink] = []
        violations: dict[int, float] = {}
        for problem, (link, violation) in zip(problems, learned, strict=True):
            links.append(link)
            if violation > self.tol:
                violations[problem.label] = max(violation, violations.get(problem.label, 0.0))
            if on_link is not None:
                on_link(problem)
        if violations:
            names = default_label_names(codes.shape[1]) if names is None else names
            warnings.warn(
                f"Not all links converged to tol={self.tol} within max_iter={self.max_iter} sweeps (largest violation "
                f"{max(violations.values()):.2g}): {name_labels(names[label] for label in violations)}. Use "
                f"SVMLink(max_iter={10 * self.max_iter}), or a C smaller than {self.C}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return links

    def _fit_link(self, inputs, ranges, shift, exponent, columns_of, own, weight, n_classes, problem):
        """Return the link, and the largest violation of the optimality conditions."""
        label, parents = problem
        n_features = len(shift)
        parents_n_classes = [n_classes[j] for j in parents]
        counts = class_counts(own, weight, n_classes[label])
        if (counts > 0.0).sum() <= 1:
            return FittedLinearLink.constant(smoothed_log_proba(counts), n_features, parents_n_classes), 0.0

        own_columns = np.concatenate([np.arange(n_features), *(columns_of[j] for j in parents)]).astype(np.int64)
        scale = np.zeros(len(ranges))
        scale[own_columns] = np.divide(
            1.0, ranges[own_columns], out=np.zeros(len(own_columns)), where=ranges[own_columns] > 0.0
        )

        # With two classes the score is the log-odds of class 1, but in pairs that of the first against the second.
        binary = n_classes[label] == 2
        pairs = (
            [(1, 0)] if binary else [(i, j) for i in range(n_classes[label]) for j in range(i + 1, n_classes[label])]
        )
        coef = np.zeros((len(scale), len(pairs)))
        intercept = np.zeros(len(pairs))
        violation = 0.0
        for w, (positive, negative) in enumerate(pairs):
            if counts[positive] == 0.0 or counts[negative] == 0.0:
                intercept[w] = np.log((counts[positive] + 0.5) / (counts[negative] + 0.5))
                continue
            rows = np.flatnonzero(((own == positive) | (own == negative)) & (weight > 0.0))
            coef[:, w], intercept[w], pair_violation = self._fit_pair(
                inputs[rows], own[rows] == positive, weight[rows], scale
            )
            violation = max(violation, pair_violation)
        intercept -= shift @ coef[:n_features]
        coef[:n_features] = np.ldexp(coef[:n_features], -exponent[:, None])
        effects = split_effects(coef[own_columns[n_features:]], parents_n_classes)
        if binary:
            return FittedLinearLink(2, SOFTMAX, coef[:n_features], intercept, effects), violation
        # A pair that never occurs still needs a little weight, or its classes would get no probability at all.
        pair_weight = np.array([max(counts[i] + counts[j], 1.0) for i, j in pairs])
        link = FittedLinearLink(n_classes[label], PAIRWISE, coef[:n_features], intercept, effects, pair_weight)
        return link, violation

    def _fit_pair(self, inputs, is_positive, weight, scale):
        """Return coefficients and intercept of the log-odds of one class against another, and the violation."""
        coef, dual = np.zeros(len(scale)), np.zeros(len(weight))
        used = np.flatnonzero(scale)
        scaled = inputs[:, used]
        scaled.data = scaled.data * scale[used][scaled.indices]
        start, columns, values = scaled.indptr.astype(np.int64), scaled.indices.astype(np.int32), scaled.data
        if scaled.nnz >= DENSE * len(weight) * len(used):
            start, columns, values = np.arange(len(weight) + 1) * len(used), columns[:0], scaled.toarray().ravel()
        w, capacity = np.zeros(len(used)), min(len(weight), len(used) + 2, LARGEST_SET)
        intercept, violation, _ = fit_hinge(
            start, columns, values, np.where(is_positive, 1.0, -1.0), self.C * weight, PROXIMITY, float(self.tol),
            int(self.max_iter), capacity, w, dual,
        )  # fmt: skip
        coef[used] = w * scale[used]
        scores = scaled @ w + intercept
        slope, offset = fit_sigmoid(scores, is_positive, weight, resolution=NOISE * self.tol)
        return slope * coef, slope * intercept + offset, violation


def fit_sigmoid(
    scores: np.ndarray, is_positive: np.ndarray, weight: np.ndarray, resolution: float = 0.0
) -> tuple[float, float]:
    """Fit ``log-odds = slope * score + offset``, almost without penalty.

    Minimises the weighted log loss plus `RIDGE` times the square of the slope of the standardised score, as Weka's
    ``Logistic`` does, by Newton's method with halved steps. Both classes must occur. Scores whose standard deviation
    is at most `resolution` count as equal: the slope is 0.
    """
    total = weight.sum()
    centre = weight @ scores / total
    spread = np.sqrt(weight @ (scores - centre) ** 2 / total)
    share = weight[is_positive].sum() / total
    position = np.array([0.0, np.log(share / (1.0 - share))])
    if not spread > max(resolution, 1e-12 * (1.0 + abs(centre))):
        return 0.0, float(position[1])
    inputs = np.column_stack([(scores - centre) / spread, np.ones(len(scores))])
    signs = np.where(is_positive, 1.0, -1.0)
    ridge = np.array([RIDGE, 0.0])

    def objective(position):
        return weight @ np.logaddexp(0.0, -signs * (inputs @ position)) + ridge @ position**2

    value = objective(position)
    for _ in range(200):
        margins = inputs @ position
        gradient = inputs.T @ (-signs * weight * expit(-signs * margins)) + 2.0 * ridge * position
        curvature = weight * expit(margins) * expit(-margins)
        hessian = (inputs * curvature[:, None]).T @ inputs + np.diag(2.0 * ridge)
        hessian[np.diag_indices(2)] *= 1.0 + 1e-10  # scores that separate the classes leave it almost singular
        step = np.linalg.solve(hessian, gradient)
        promised = gradient @ step
        if promised <= 1e-12 * (1.0 + value):
            break
        size = 1.0
        while (new_value := objective(position - size * step)) > value - 1e-4 * size * promised and size > 1e-10:
            size *= 0.5
        if size <= 1e-10:
            break
        position, value = position - size * step, new_value
    slope = position[0] / spread
    return float(slope), float(position[1] - slope * centre)


def _ranges(inputs: sp.csr_matrix, chosen: np.ndarray) -> list[np.ndarray]:
    """Return the largest minus the smallest value of each column, in the rows that each column of `chosen` says."""
    found: dict[bytes, np.ndarray] = {}
    keys = [own.tobytes() for own in chosen.T]
    for key, own in zip(keys, chosen.T, strict=True):
        if key in found:  # most often all labels are known in all rows
            continue
        rows = np.flatnonzero(own)
        if len(rows) == 0:
            found[key] = np.zeros(inputs.shape[1])
            continue
        part = inputs if len(rows) == inputs.shape[0] else inputs[rows]
        found[key] = (part.max(axis=0).toarray() - part.min(axis=0).toarray()).ravel()
    return [found[key] for key in keys]
