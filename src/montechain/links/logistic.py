"""Logistic links: binary and multinomial, all links of a chain learned together."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from montechain.links._solver import LogisticProblems, Solution
from montechain.links.base import (
    FittedLink,
    LinkLearner,
    check_inputs,
    check_positive,
    check_weights,
    class_counts,
    class_weights,
    refuse_fit_params,
)
from montechain.links.design import columns_of, join_effects, name_labels, parent_columns, ranges, split_effects
from montechain.links.linear import SOFTMAX, FittedLinearLink, n_scores, smoothed_log_proba
from montechain.targets import named_labels

__all__ = ["LogisticLink"]

SMALL = 2**13
"""Number of entries of X up to which links are learned to `TIGHT`. That takes hardly any time, and a row of weight two
then counts exactly as two rows do."""
TIGHT = 1e-10


class LogisticLink(LinkLearner):
    """Learn links by logistic regression with a squared penalty, all of them together.

    The objective is that of `sklearn.linear_model.LogisticRegression`: the sum of the (weighted) log losses plus the
    squared length of the coefficients divided by ``2 C``, with an unpenalised intercept; log-odds for two classes,
    the symmetric multinomial model for more. A binary parent is one 0/1 column among the inputs, a parent with more
    classes is one-hot. Because the links of a chain share x, an iteration of the solver takes one product with X for
    all of them; see `montechain.links._solver`.

    A link is learned from the rows in which its own label is known. A label of which only one class occurs gets
    constant probabilities, ``(count + 1/2) / (n + K/2)`` for a class that occurs `count` times. If more than one of
    its K >= 3 classes occur but not all, the model is fitted to those that do, and each absent class gets a constant
    score, so low that its probability is below ``(1/2) / (n + K/2)`` for every x.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty.
    class_weight : None, "balanced", dict, or list with one of these for each label, default=None
        Weights of the classes, on top of `sample_weight`. A dict maps classes to weights, 1 where one is missing;
        ``"balanced"`` is the inverse frequency of the class, scaled as in scikit-learn.
    tol : float, default=1e-6
        A link has converged when no entry of the gradient of its objective, divided by the sum of weights, exceeds
        this, and another step would lower the objective by less than a millionth.
        Small problems are solved more exactly. scikit-learn's default is a hundred times as much, which leaves
        probabilities off by a few hundredths where the inputs are sparse or small.
    max_iter : int, default=1000
        Iterations after which the solver gives up, with a `ConvergenceWarning`.
    parent_C : float, default=None
        Inverse strength of the penalty on the effects of the parents. None: `C`.
    centre : sequence of L ndarrays of shape (n_features, K), default=None
        For each label, coefficients of its classes: their distance is penalised instead of the length. With a column
        of X that holds a classifier's log-probability of a class, a coefficient of 1 for that column trusts the
        classifier unless the data say otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.links.base import LinkProblem
    >>> from montechain.links.logistic import LogisticLink
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.int32)
    >>> links = LogisticLink(C=1.0).fit_links(X, codes, codes, [2, 2], [LinkProblem(0, ()), LinkProblem(1, (0,))])
    >>> links[0].coef.round(3), links[1].parent_effects[0].round(3)
    (array([[0.958]]), array([[0.   ],
           [0.207]]))
    """

    def __init__(
        self,
        C: float = 1.0,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        parent_C: float | None = None,
        centre: Sequence[np.ndarray] | None = None,
    ):
        self.C = C
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.parent_C = parent_C
        self.centre = centre

    def for_classes(self, classes: Sequence[np.ndarray]) -> LogisticLink:
        """Return a copy whose `class_weight` refers to codes; `classes` holds the classes of each label."""
        learner, weights = clone(self), self.class_weight
        if isinstance(weights, Mapping):
            strange = [key for key in weights if not any(key in own.tolist() for own in classes)]
            if strange:
                raise ValueError(
                    f"class_weight={dict(weights)!r} mentions the class {strange[0]!r}, which no label has."
                )
        weights = weights if isinstance(weights, list | tuple) else [weights] * len(classes)
        if len(weights) == len(classes) and any(isinstance(own, Mapping) for own in weights):
            learner.class_weight = [
                {code: own[value] for code, value in enumerate(values.tolist()) if value in own}
                if isinstance(own, Mapping)
                else own
                for own, values in zip(weights, classes, strict=True)
            ]
        return learner

    def fit_links(self, X, codes, filled, n_classes, problems, *, on_link=None, initial=None, **options):
        """Learn all `problems` on the same rows; see `LinkLearner.fit_links`.

        The links are learned together; `n_jobs` threads share the work. Their number does not change the result.

        Parameters
        ----------
        initial : sequence of (problem, link) or None, optional
            For each problem a link of the same label to start from. Its parents may be others: the effects of those
            in common are taken over. The answer is the same within `tol`.
        """
        labels = sorted({problem.label for problem in problems})
        parents = sorted(set().union(*(problem.parents for problem in problems)))
        prepared = _Prepared(self, X, codes, filled, n_classes, labels, parents, **options)
        return prepared.fit_links(problems, on_link=on_link, initial=initial)

    def prepared(self, X, codes, filled, n_classes, **options):
        """Return `fit_links` for these rows, with x and all labels prepared once."""
        labels = range(codes.shape[1])
        return _Prepared(self, X, codes, filled, n_classes, labels, labels, **options).fit_links


class _Prepared:
    """Prepared rows, whose links are learned by one or more calls of the solver.

    Parameters
    ----------
    labels, parents : sequences of int
        The labels that links may be learned for, and those that may be parents; both ascending.
    """

    def __init__(
        self, learner, X, codes, filled, n_classes, labels, parents, *, sample_weight=None, names=None, n_jobs=None,
        **fit_params,
    ):  # fmt: skip
        refuse_fit_params(learner, fit_params)
        check_positive(learner, C=numbers.Real, tol=numbers.Real, max_iter=numbers.Integral)
        if learner.parent_C is not None:
            check_positive(learner, parent_C=numbers.Real)
        X = check_inputs(X)
        weight = check_weights(sample_weight, len(codes))
        self.learner, self.n_jobs = learner, n_jobs
        self.names = named_labels(names, codes.shape[1])
        self.n_features = X.shape[1]
        self.n_classes = np.array(n_classes, dtype=np.int64)
        self.tol = float(learner.tol) if X.shape[0] * X.shape[1] > SMALL else min(float(learner.tol), TIGHT)

        self.row_of = {label: row for row, label in enumerate(labels)}
        by_label = np.ascontiguousarray(codes[:, list(labels)].T)
        self.counts = [class_counts(own, weight, self.n_classes[j]) for own, j in zip(by_label, labels, strict=True)]
        self.occurring = [np.flatnonzero(counts > 0.0) for counts in self.counts]
        given = learner.class_weight
        if isinstance(given, list | tuple) and len(given) != codes.shape[1]:
            raise ValueError(
                f"class_weight has {len(given)} entries for {codes.shape[1]} labels. Give one entry for each label, "
                'or a single None, "balanced" or dict for all of them.'
            )
        self.class_weights = [
            class_weights(given[label] if isinstance(given, list | tuple) else given, *own)
            for label, *own in zip(labels, self.counts, self.occurring, strict=True)
        ]
        targets = np.array([_renumbered(*own) for own in zip(by_label, self.occurring, strict=True)])
        # One block of columns for each label that may be a parent; each problem is allowed its own parents'.
        columns = parent_columns(filled[:, list(parents)], self.n_classes[list(parents)], dtype=bool)
        self.n_columns = np.zeros(codes.shape[1], dtype=np.int64)
        for j in parents:
            self.n_columns[j] = len(columns_of([self.n_classes[j]])[0])
        self.first_column = np.cumsum(self.n_columns) - self.n_columns
        self.solver = LogisticProblems(X, columns, targets, weight, float(learner.C), learner.parent_C)

    def fit_links(self, problems, *, on_link=None, initial=None) -> list[FittedLink]:
        """Learn some links; see `LogisticLink.fit_links`."""
        rows = [self.row_of[problem.label] for problem in problems]
        links: list[Any] = [None] * len(problems)
        to_solve = []
        for q, (row, problem) in enumerate(zip(rows, problems, strict=True)):
            if len(self.occurring[row]) > 1:
                to_solve.append(q)
                continue
            constant = smoothed_log_proba(self.counts[row])
            links[q] = FittedLinearLink.constant(constant, self.n_features, self.n_classes[list(problem.parents)])
            if on_link is not None:
                on_link(problem)
        if not to_solve:
            return links

        target_row, labels = [rows[q] for q in to_solve], [problems[q].label for q in to_solve]
        columns = [self._columns(problems[q].parents) for q in to_solve]
        n_classes = [len(self.occurring[row]) for row in target_row]
        allowed = np.zeros((len(to_solve), self.n_columns.sum()), dtype=bool)
        class_weight = np.ones((len(to_solve), max(n_classes)))
        for i, row in enumerate(target_row):
            allowed[i, columns[i]] = True
            class_weight[i, : n_classes[i]] = self.class_weights[row]
        solution = self.solver.solve(
            allowed,
            target_row,
            n_classes,
            centre=self._centre(labels, target_row),
            class_weight=class_weight,
            tol=self.tol,
            max_iter=int(self.learner.max_iter),
            initial=None if initial is None else self._start([initial[q] for q in to_solve], target_row, allowed),
            on_solved=None if on_link is None else lambda i: on_link(problems[to_solve[i]]),
            n_jobs=self.n_jobs,
        )
        self._warn_of_the_unsolved(solution, labels)
        for i, q in enumerate(to_solve):
            own = solution.coefficients[solution.score_start[i] : solution.score_start[i + 1]].T
            of_x, of_parents = own[1 : 1 + self.n_features], own[1 + self.n_features :]
            effects = split_effects(of_parents[columns[i]], self.n_classes[list(problems[q].parents)])
            link = FittedLinearLink(n_classes[i], SOFTMAX, of_x, own[0], effects)
            row, n_known = rows[q], int(self.n_classes[labels[i]])
            links[q] = _with_absent_classes(link, n_known, self.occurring[row], self.counts[row].sum())
        return links

    def _columns(self, parents):
        """Return the columns of some parents, one parent after the other."""
        labels = np.array(parents, dtype=np.int64)
        return ranges(self.first_column[labels], self.n_columns[labels])

    def _warn_of_the_unsolved(self, solution: Solution, labels: Sequence[int]) -> None:
        unsolved = np.flatnonzero(~solution.converged).tolist()
        if len(unsolved):
            C, tol, max_iter = self.learner.C, self.learner.tol, self.learner.max_iter
            warnings.warn(
                f"{len(unsolved)} of {len(labels)} links did not converge to tol={tol} within max_iter={max_iter} "
                f"iterations (largest gradient {solution.gradient[unsolved].max():.2g}): "
                f"{name_labels(self.names[labels[i]] for i in unsolved)}. Use LogisticLink(max_iter={10 * max_iter}), "
                f"a C smaller than {C}, or scale the columns of X.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _centre(self, labels, target_row):
        """Return the coefficients on which the penalty is centred, as the solver takes them."""
        if self.learner.centre is None:
            return None
        rows = []
        for label, row in zip(labels, target_row, strict=True):
            given, shape = np.asarray(self.learner.centre[label], dtype=float), (self.n_features, self.n_classes[label])
            if given.shape != shape:
                raise ValueError(
                    f"centre[{label}] has the shape {given.shape}. Give one row for each input and one column for each "
                    f"class of {self.names[label]!r}: {tuple(map(int, shape))}."
                )
            rows.append(np.pad(_among(given, self.occurring[row]).T, ((0, 0), (1, self.n_columns.sum()))))
        return np.concatenate(rows)

    def _start(self, initial, target_row, allowed):
        """Return coefficients to start from, as the solver takes them, made of links that may have other parents."""
        rows = []
        first_parent = 1 + self.n_features
        for given, row, own_allowed in zip(initial, target_row, allowed, strict=True):
            classes = self.occurring[row]
            own = np.zeros((n_scores(SOFTMAX, len(classes)), first_parent + len(own_allowed)))
            rows.append(own)
            if given is None:
                own[:, 0] = np.nan  # the solver starts from the class frequencies
                continue
            problem, link = given
            own[:, 0] = _among(link.intercept, classes)
            own[:, 1:first_parent] = _among(link.coef, classes).T
            if problem.parents:
                columns = self._columns(problem.parents)
                effects, base = (_among(values, classes) for values in join_effects(link.parent_effects))
                own[:, 0] += base[own_allowed[columns]].sum(axis=0)
                own[:, first_parent + columns] = effects.T  # those of others, the solver leaves out
        return np.concatenate(rows)


def _renumbered(codes: np.ndarray, occurring: np.ndarray) -> np.ndarray:
    """Return the codes counted among the classes that occur; unknown ones, and those of no weight, are negative."""
    number = np.full(max(int(codes.max()), 0) + 2, -1, dtype=np.int32)  # the last entry is for the code -1
    number[occurring] = np.arange(len(occurring))
    return number[codes]


def _with_absent_classes(
    link: FittedLinearLink, n_classes: int, occurring: np.ndarray, total: float
) -> FittedLinearLink:
    """Return the link with scores for all of `n_classes` classes."""
    if len(occurring) == n_classes:
        return link
    width = n_scores(SOFTMAX, n_classes)

    def spread(values: np.ndarray) -> np.ndarray:
        if len(occurring) == 2:
            values = np.concatenate([-0.5 * values, 0.5 * values], axis=-1)
        full = np.zeros((*values.shape[:-1], width))
        full[..., occurring] = values
        return full

    intercept = spread(link.intercept)
    # The scores of the classes that occur sum to zero, so that their exponentials sum to at least their number.
    bound = np.log(0.5 / (total + 0.5 * n_classes))
    intercept[np.setdiff1d(np.arange(n_classes), occurring)] = np.log(len(occurring)) + bound
    return FittedLinearLink(
        n_classes, SOFTMAX, spread(link.coef), intercept, tuple(spread(effects) for effects in link.parent_effects)
    )


def _among(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return what belongs to the scores of some `classes`, from values for all of them: log-odds if they are two."""
    if values.shape[-1] == 1:  # log-odds already
        return values
    values = values[..., classes]
    return values[..., 1:] - values[..., :1] if len(classes) == 2 else values - values.mean(axis=-1, keepdims=True)
