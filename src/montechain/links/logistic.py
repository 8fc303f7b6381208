"""Logistic links: binary and multinomial, all links of a chain learned together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from montechain._compat import check_sample_weight
from montechain._messages import check_number, check_positive_integer
from montechain.links._solver.block_descent import BlockProblems
from montechain.links._solver.problems import LogisticProblems, Solution
from montechain.links.base import (
    FittedLink,
    LinkLearner,
    check_inputs,
    class_counts,
    class_numbers,
    class_weights,
    refuse_fit_params,
)
from montechain.links.design import columns_of, effect_rows, parent_columns, ranges, split_effects
from montechain.links.linear import FittedLinearLink, n_scores, smoothed_log_proba
from montechain.links.row_blocks import RowBlocks
from montechain.targets import named_labels

SMALL_PROBLEM = 2**13
"""Number of entries of X up to which links are learned to `SMALL_TOL`. That takes hardly any time, and a row of weight
two then counts exactly as two rows do."""
SMALL_TOL = 1e-10
MAX_NAMED = 5
"""Maximum number of labels named in a warning."""


@dataclass(eq=False, repr=False)
class LogisticLink(LinkLearner):
    """Learn links by logistic regression with a squared penalty, all of them together.

    The objective is that of `sklearn.linear_model.LogisticRegression`: the sum of the (weighted) log losses plus the
    squared length of the coefficients divided by ``2 C``, with an unpenalised intercept; log-odds for two classes,
    the symmetric multinomial model for more. A binary parent is one 0/1 column among the inputs, a parent with more
    classes is one-hot. Because the links of a chain share x, an iteration of the solver takes one product with X for
    all of them; see `montechain.links._solver`.

    A link is learned from the rows in which its own label is known. A label with only one class gets
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
        Small problems are solved more exactly. scikit-learn's default is a hundred times larger, which leaves
        errors of a few hundredths in the probabilities if inputs are sparse or small.
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

    C: float = 1.0
    class_weight: Any = None
    tol: float = 1e-6
    max_iter: int = 1000
    parent_C: float | None = None
    centre: Sequence[np.ndarray] | None = None

    def for_classes(self, classes: Sequence[np.ndarray]) -> LogisticLink:
        """Return a copy whose `class_weight` refers to codes; `classes` holds the classes of each label."""
        learner, weights = copy(self), self.class_weight
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

    def fit_links(self, X, codes, filled, n_classes, problems, *, initial=None, **options):
        """Learn all `problems` on the same rows; see `LinkLearner.fit_links`.

        The links are learned together; `n_jobs` threads share the work. Their number does not change the result.

        `initial` has for each problem a pair to start from: another problem of the same label and its link, learned by
        a `LogisticLink`; or None. The effects of common parents are kept. The answer is the same within `tol`.
        """
        parents = sorted(set().union(*(problem.parents for problem in problems)))
        prepared = _Prepared(self, X, codes, filled, n_classes, parents, **options)
        return prepared.fit_links(problems, initial=initial)

    def prepared(self, X, codes, filled, n_classes, **options):
        """Return `fit_links` for these rows, with x and all labels prepared once."""
        return _Prepared(self, X, codes, filled, n_classes, range(codes.shape[1]), **options).fit_links


class _Prepared:
    """Prepared rows, whose links are learned by one or more calls of the solver; only `parents` may be parents."""

    def __init__(
        self, learner, X, codes, filled, n_classes, parents, *, sample_weight=None, names=None, n_jobs=None,
        **fit_params,
    ):  # fmt: skip
        refuse_fit_params(learner, fit_params)
        check_number(learner, "C", 1.0)
        check_number(learner, "tol", 1e-6)
        if learner.parent_C is not None:
            check_number(learner, "parent_C", 1.0)
        check_positive_integer(learner, "max_iter", 1000)
        n_labels, given = len(n_classes), learner.class_weight
        if isinstance(X, RowBlocks):
            self.counts = X.counts
        else:
            X, codes = check_inputs(X), codes.T.copy()
            weight = check_sample_weight(sample_weight, X, dtype=np.float64)
            self.counts = [class_counts(own, weight, k) for own, k in zip(codes, n_classes, strict=True)]
        self.learner, self.n_jobs, self.names = learner, n_jobs, named_labels(names, n_labels)
        self.n_features, self.n_classes = X.shape[1], np.array(n_classes, dtype=np.int64)
        is_small = X.shape[0] * X.shape[1] <= SMALL_PROBLEM
        self.tol = min(float(learner.tol), SMALL_TOL if is_small else np.inf)
        self.occurring = [np.flatnonzero(counts > 0.0) for counts in self.counts]
        given = given if isinstance(given, list | tuple) else [given] * n_labels
        if len(given) != n_labels:
            raise ValueError(
                f"class_weight has {len(given)} entries for {n_labels} labels. Give one entry for each label, or a "
                'single None, "balanced" or dict for all of them.'
            )
        self.class_weights = [class_weights(*own) for own in zip(given, self.counts, self.occurring, strict=True)]
        # One block of columns for each label that may be a parent; each problem is allowed its own parents'.
        parents = np.array(parents, dtype=np.int64)
        self.n_columns = np.bincount(parents[columns_of(self.n_classes[parents])[0]], minlength=n_labels)
        self.first_column = np.cumsum(self.n_columns) - self.n_columns
        if isinstance(X, RowBlocks):
            self.solver: Any = BlockProblems(X, parents, self.occurring, float(learner.C), learner.parent_C)
            return
        for own, *classes in zip(codes, self.occurring, self.n_classes, strict=True):
            own[:] = class_numbers(*classes)[own]
        columns = parent_columns(filled[:, parents], self.n_classes[parents], dtype=bool)
        self.solver = LogisticProblems(X, columns, codes, weight, float(learner.C), learner.parent_C)

    def fit_links(self, problems, *, initial=None) -> list[FittedLink]:
        """Learn some links; see `LogisticLink.fit_links`."""
        to_solve = [q for q, (label, _) in enumerate(problems) if len(self.occurring[label]) > 1]
        starts = None if initial is None else [initial[q] for q in to_solve]
        solved = self._solve([problems[q] for q in to_solve], starts) if to_solve else ()
        links = dict(zip(to_solve, solved, strict=True))
        for q in set(range(len(problems))) - set(to_solve):
            label, parents = problems[q]
            constant = smoothed_log_proba(self.counts[label])
            links[q] = FittedLinearLink.constant(constant, self.n_features, self.n_classes[list(parents)])
        return [links[q] for q in range(len(problems))]

    def _solve(self, problems, initial) -> Iterator[FittedLink]:
        """Yield the links of labels with at least two classes."""
        labels, columns = [label for label, _ in problems], [self._columns(parents) for _, parents in problems]
        n_classes = [len(self.occurring[label]) for label in labels]
        allowed = np.zeros((len(problems), self.n_columns.sum()), dtype=bool)
        class_weight = np.ones((len(problems), max(n_classes)))
        for i, label in enumerate(labels):
            allowed[i, columns[i]] = True
            class_weight[i, : n_classes[i]] = self.class_weights[label]
        solution = self.solver.solve(
            allowed,
            labels,
            n_classes,
            centre=None if self.learner.centre is None else np.concatenate([self._centre(label) for label in labels]),
            class_weight=class_weight,
            tol=self.tol,
            max_iter=int(self.learner.max_iter),
            initial=None if initial is None else np.concatenate(list(map(self._start, initial, labels))),
            n_jobs=self.n_jobs,
        )
        self._warn_of_the_unsolved(solution, labels)
        for i, (label, parents) in enumerate(problems):
            own = solution.coefficients[solution.score_start[i] : solution.score_start[i + 1]].T
            of_x, of_parents = own[1 : 1 + self.n_features], own[1 + self.n_features :]
            effects = split_effects(of_parents[columns[i]], self.n_classes[list(parents)])
            link = FittedLinearLink(n_classes[i], of_x, own[0], effects)
            yield _with_absent_classes(link, self.counts[label], self.occurring[label])

    def _columns(self, parents):
        """Return the columns of some parents, one parent after the other."""
        labels = np.array(parents, dtype=np.int64)
        return ranges(self.first_column[labels], self.n_columns[labels])

    def _warn_of_the_unsolved(self, solution: Solution, labels: Sequence[int]) -> None:
        unsolved = np.flatnonzero(~solution.converged).tolist()
        if len(unsolved):
            C, tol, max_iter = self.learner.C, self.learner.tol, self.learner.max_iter
            names = [repr(name) for name in dict.fromkeys(self.names[labels[i]] for i in unsolved)]
            more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
            warnings.warn(
                f"{len(unsolved)} of {len(labels)} links did not converge to tol={tol} within max_iter={max_iter} "
                f"iterations (largest gradient {solution.gradient[unsolved].max():.2g}): "
                f"label{'s' * (len(names) > 1)} {', '.join(names[:MAX_NAMED])}{more}. Use "
                f"LogisticLink(max_iter={10 * max_iter}), a C smaller than {C}, or scale the columns of X.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _centre(self, label):
        """Return the coefficients on which the penalty of a label is centred, as the solver takes them."""
        given, shape = np.asarray(self.learner.centre[label], dtype=float), (self.n_features, self.n_classes[label])
        if given.shape != shape:
            raise ValueError(
                f"centre[{label}] has the shape {given.shape}. Give one row for each input and one column for each "
                f"class of {self.names[label]!r}: {tuple(map(int, shape))}."
            )
        return np.pad(_among(given, self.occurring[label]).T, ((0, 0), (1, self.n_columns.sum())))

    def _start(self, given, label):
        """Return coefficients to start from, as the solver takes them, from a link that may have other parents."""
        classes, first_parent = self.occurring[label], 1 + self.n_features
        own = np.zeros((n_scores(len(classes)), first_parent + self.n_columns.sum()))
        if given is None:
            own[:, 0] = np.nan  # the solver starts from the class frequencies
            return own
        (_, parents), link = given
        own[:, 0] = _among(link.intercept, classes)
        own[:, 1:first_parent] = _among(link.coef, classes).T
        effects = np.concatenate([np.empty((0, len(link.intercept))), *link.parent_effects])
        # The solver leaves out those of labels that are not parents any more.
        of_columns = effects[effect_rows(link.parents_n_classes)]
        own[:, first_parent + self._columns(parents)] = _among(of_columns, classes).T
        return own


def _with_absent_classes(link: FittedLinearLink, counts: np.ndarray, occurring: np.ndarray) -> FittedLinearLink:
    """Return the link with scores for all classes, not only for those that occur."""
    n_classes = len(counts)
    if len(occurring) == n_classes:
        return link
    width = n_scores(n_classes)

    def spread(values: np.ndarray) -> np.ndarray:
        if len(occurring) == 2:
            values = np.concatenate([-0.5 * values, 0.5 * values], axis=-1)
        full = np.zeros((*values.shape[:-1], width))
        full[..., occurring] = values
        return full

    intercept = spread(link.intercept)
    # The scores of the classes that occur sum to zero, so that their exponentials sum to at least their number.
    bound = np.log(0.5 / (counts.sum() + 0.5 * n_classes))
    intercept[np.setdiff1d(np.arange(n_classes), occurring)] = np.log(len(occurring)) + bound
    return FittedLinearLink(n_classes, spread(link.coef), intercept, tuple(map(spread, link.parent_effects)))


def _among(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return what belongs to the scores of some `classes`, from values for all of them: log-odds if they are two."""
    if values.shape[-1] == 1:  # log-odds already
        return values
    values = values[..., classes]
    return values[..., 1:] - values[..., :1] if len(classes) == 2 else values - values.mean(axis=-1, keepdims=True)
