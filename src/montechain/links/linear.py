"""Label-linear links: the scores are affine in x and in the classes of the parents.

Because of that, x is folded in once per batch (one matrix product for all links) and a label prefix
costs only additions. This is what makes exact search fast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import config

from montechain._kernels.conditional import Links
from montechain._kernels.folding import as_lines, scores_of
from montechain._kernels.ties import on_grid
from montechain._rows import take_rows
from montechain._savable import require, savable
from montechain.errors import NonFiniteError
from montechain.links.design import as_matrix


def n_scores(n_classes: int) -> int:
    """Return how many scores a link has: none for one class, the log-odds of the second for two, else one per class."""
    return n_classes - 1 if n_classes <= 2 else n_classes


def log_probabilities(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the log-probabilities, of shape (n, n_classes), of one link for n rows of scores."""
    if n_classes == 1:
        return np.zeros((len(scores), 1))
    if n_classes == 2:
        return np.minimum(np.hstack([-scores, scores]), 0.0) - np.log1p(np.exp(-np.abs(scores)))
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def smoothed_log_proba(counts: np.ndarray) -> np.ndarray:
    """Return log-probabilities of classes that occur `counts` times, none of them minus infinity.

    Half a count is added to each class, so that a class which does not occur in one part of the data
    does not make the rows of another part impossible. A lone class keeps probability one.
    """
    smoothed = np.asarray(counts, dtype=np.float64) + 0.5
    return np.log(smoothed / smoothed.sum())


@savable
@dataclass(frozen=True)
class FittedLinearLink:
    """A fitted link whose scores are ``x @ coef + intercept + sum_j parent_effects[j][y_j]``.

    `coef`, of shape (n_features, W), and `intercept` have a column for each of the W = `n_scores(n_classes)` scores of
    the link's own label. For each parent, in the order in which the link names its parents, `parent_effects` says what
    each of its K_j classes adds to the scores, in an array of shape (K_j, W).
    """

    n_classes: int
    coef: np.ndarray
    intercept: np.ndarray
    parent_effects: tuple[np.ndarray, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the effects of all parents in one array: there may be thousands of small ones."""
        joined = np.concatenate([np.empty((0, len(self.intercept))), *self.parent_effects])
        return {**self.__dict__, "parent_effects": joined, "parents_n_classes": list(self.parents_n_classes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state from a file, after checking the sizes that kernels rely on."""
        width = n_scores(state["n_classes"])
        sizes, effects = state["parents_n_classes"], state["parent_effects"]
        coef, intercept = state["coef"], state["intercept"]
        arrays = (coef, intercept, effects)
        is_known = all(type(k) is int and k >= 1 for k in (state["n_classes"], *sizes))
        require(is_known, "a link has an unknown number of classes")
        # joblib loads large arrays as memory maps.
        are_numbers = all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in arrays)
        require(are_numbers, "a link does not hold numbers")
        require(all(np.isfinite(array).all() for array in arrays), "a link holds numbers that are not finite")
        fits = coef.ndim == 2 and coef.shape[1] == width and intercept.shape == (width,)
        require(fits and effects.shape == (sum(sizes), width), "the coefficients of a link do not match its classes")
        parent_effects = tuple(np.split(effects, np.cumsum(sizes)[:-1])) if sizes else ()
        self.__init__(state["n_classes"], np.asarray(coef), np.asarray(intercept), parent_effects)  # type: ignore[misc]

    @property
    def parents_n_classes(self) -> tuple[int, ...]:
        """Number of classes of each parent."""
        return tuple(len(effects) for effects in self.parent_effects)

    def scores(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:
        """Return scores of shape (n, W); `parent_codes` has one column per parent."""
        scores = _product(X, self.coef) + self.intercept
        for effects, codes in zip(self.parent_effects, parent_codes.T, strict=True):
            scores += effects[codes]
        return scores

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:  # noqa: D102
        return log_probabilities(self.scores(X, parent_codes), self.n_classes)

    @classmethod
    def constant(cls, log_proba: np.ndarray, n_features: int, parents_n_classes: Sequence[int]) -> FittedLinearLink:
        """Return a link that gives the same log-probabilities whatever x and the parents are."""
        n_classes = len(log_proba)
        width = n_scores(n_classes)
        intercept = np.array([log_proba[1] - log_proba[0]]) if n_classes == 2 else np.array(log_proba)[:width]
        effects = tuple(np.zeros((k, width)) for k in parents_n_classes)
        return cls(n_classes, np.zeros((n_features, width)), intercept, effects)


class LinearScores(NamedTuple):
    """What kernels see of a label-linear chain and a batch of n rows; all in chain positions.

    `base`, of shape (n, W), is x's part of all scores, with the effects of every parent's first class added; `links` is
    all that does not depend on the rows.
    """

    base: np.ndarray
    links: Links

    def conditional(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of the classes that may follow the prefixes (m, k) of some `rows`: (m, K)."""
        links, k = self.links, prefix.shape[1]
        own = slice(links.score_start[k], links.score_start[k + 1])
        scores, effects = self.base[rows, own], links.effects[own].T
        for j, codes in enumerate(prefix.T):
            active = effects[links.active_start[j] : links.active_start[j + 1]]
            if active.any():
                scores += np.vstack([np.zeros(scores.shape[1]), active])[codes]
        return log_probabilities(scores, int(links.n_classes[k]))


class LinearScorer:
    """The label-linear links of a whole chain, stacked, so that a batch is folded in at once.

    `links` are in chain order; `parents` has, for each position, those of its parents, in the order of
    `parent_effects`; `order` has the label at each position.
    """

    def __init__(
        self, links: Sequence[FittedLinearLink], parents: Sequence[Sequence[int]], order: Sequence[int] | None = None
    ):
        self.order = range(len(links)) if order is None else order
        n_classes = np.array([link.n_classes for link in links], dtype=np.int64)
        score_start = np.cumsum([0, *(len(link.intercept) for link in links)], dtype=np.int64)
        active_start = np.cumsum([0, *(n_classes - 1)], dtype=np.int64)
        self.coef = np.concatenate([link.coef for link in links], axis=1)
        self.intercept = np.concatenate([link.intercept for link in links])
        self.looks_at_x = bool(self.coef.any())
        effects = np.zeros((len(self.intercept), active_start[-1]))
        self.links = Links(effects, score_start, n_classes, active_start)
        if self.links.is_all_binary:  # all at once: there may be thousands of parents, each with two numbers
            blocks = [np.empty((0, 1)), *(values for link in links for values in link.parent_effects)]
            of_first, of_second = np.concatenate(blocks).reshape(-1, 2).T
            rows = np.repeat(np.arange(len(links)), [len(own) for own in parents])
            effects[rows, np.array([j for own in parents for j in own], dtype=np.int64)] = of_second - of_first
            self.intercept += np.bincount(rows, weights=of_first, minlength=len(links))
            return
        for k, (link, own_parents) in enumerate(zip(links, parents, strict=True)):
            columns = slice(score_start[k], score_start[k + 1])
            for j, values in zip(own_parents, link.parent_effects, strict=True):
                self.intercept[columns] += values[0]
                effects[columns, active_start[j] : active_start[j + 1]] = (values[1:] - values[0]).T

    @cached_property
    def lines(self) -> np.ndarray:
        """The coefficients and intercepts as the kernel takes them."""
        return as_lines(self.coef, self.intercept)

    def scores(self, X: Any) -> LinearScores:
        """Fold the rows of `X` (dense or CSR) in: one product for all links."""
        fits = self.looks_at_x and X.shape[1] == len(self.coef)
        X = as_matrix(X) if fits else X
        with np.errstate(over="ignore", invalid="ignore"):
            # The kernel has types that only compiled code has.
            if fits and isinstance(X, np.ndarray) and not config.DISABLE_JIT:
                base = scores_of(np.asarray(X, dtype=np.float64), self.lines, len(self.intercept))
            else:
                base = _product(X, self.coef) + self.intercept
            if not math.isfinite(base.sum()):
                self._check_finite(X, base)
        return LinearScores(base, self.links)

    def _check_finite(self, X: Any, base: np.ndarray) -> None:
        """Raise a `NonFiniteError` if a score has overflowed. Intercepts may be infinite, for impossible classes."""
        is_possible = np.isfinite(self.intercept) | np.isnan(base)
        rows, columns = np.nonzero(~np.isfinite(base) & is_possible)
        if len(rows) == 0:
            return
        position = int(np.searchsorted(self.links.score_start, columns[0], side="right")) - 1
        x = as_matrix(take_rows(X, rows[:1]))
        x = np.ravel(x.toarray() if sp.issparse(x) else x)
        column = int(np.argmax(np.abs(x * self.coef[:, columns[0]])))
        raise NonFiniteError(self.order[position], column, x[column])


def _product(X: Any, coef: np.ndarray) -> np.ndarray:
    if X.shape[1] != len(coef):
        raise ValueError(f"X has {X.shape[1]} columns, but the links were learned from {len(coef)}.")
    # Links that ignore x must work even if x is not numeric.
    if not coef.any():
        return np.zeros((X.shape[0], coef.shape[1]))
    # A product rounds differently for one row than for many, and a row must be decided alike in both.
    return on_grid(np.ascontiguousarray(as_matrix(X) @ coef, dtype=np.float64))
