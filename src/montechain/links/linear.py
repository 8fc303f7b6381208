"""Label-linear links: the scores are affine in x and in the classes of the parents.

Because of that, x is folded in once per batch (one matrix product for all links) and a label prefix
costs only additions. This is what makes exact search fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._kernels.conditional import ONE_VERSUS_REST, SOFTMAX, Links, respond_rows
from montechain._kernels.coupling import PAIRWISE, with_addresses
from montechain._kernels.lanes import N_BYTES
from montechain._kernels.sparse import sparse_scores
from montechain._kernels.ties import on_grid
from montechain._savable import require, savable
from montechain.links.design import as_matrix

__all__ = [
    "ONE_VERSUS_REST",
    "PAIRWISE",
    "SOFTMAX",
    "FittedLinearLink",
    "LinearScorer",
    "LinearScores",
    "n_scores",
    "smoothed_log_proba",
]


def n_scores(response: int, n_classes: int) -> int:
    """Return how many scores a link with this response has for `n_classes` classes."""
    if n_classes == 1:
        return 0
    if response == PAIRWISE:
        return n_classes * (n_classes - 1) // 2
    return 1 if response == SOFTMAX and n_classes == 2 else n_classes


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

    Parameters
    ----------
    n_classes : int
        Number of classes K of the link's own label.
    response : int
        How scores become probabilities: `SOFTMAX`, `ONE_VERSUS_REST` or `PAIRWISE`.
    coef : ndarray of shape (n_features, W)
        W is `n_scores(response, n_classes)`.
    intercept : ndarray of shape (W,)
    parent_effects : tuple of ndarray of shape (K_j, W)
        For each parent, in the order in which the link names its parents, what each of its classes
        adds to the scores.
    score_weight : ndarray of shape (W,), optional
        Weights of the pairs, for `PAIRWISE` only.
    """

    n_classes: int
    response: int
    coef: np.ndarray
    intercept: np.ndarray
    parent_effects: tuple[np.ndarray, ...] = ()
    score_weight: np.ndarray | None = None

    def _check_loaded(self) -> None:
        width = n_scores(self.response, self.n_classes)
        arrays = (
            self.coef,
            self.intercept,
            *self.parent_effects,
            *(() if self.score_weight is None else [self.score_weight]),
        )
        require(
            self.response in (SOFTMAX, ONE_VERSUS_REST, PAIRWISE) and self.n_classes >= 1, "a link has an unknown kind"
        )
        require(all(type(a) is np.ndarray and a.dtype == np.float64 for a in arrays), "a link does not hold numbers")
        require(all(np.isfinite(array).all() for array in arrays), "a link holds numbers that are not finite")
        fits = self.coef.ndim == 2 and all(e.ndim == 2 and e.shape[1] == width and len(e) for e in self.parent_effects)
        flat = [self.intercept, *([] if self.score_weight is None else [self.score_weight])]
        require(fits and self.coef.shape[1] == width, "the coefficients of a link do not match its classes")
        require(all(array.shape == (width,) for array in flat), "the intercepts of a link do not match its classes")

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (n, n_classes); `parent_codes` has one column per parent."""
        scores = _product(X, self.coef) + self.intercept
        for effects, codes in zip(self.parent_effects, parent_codes.T, strict=True):
            scores += effects[codes]
        weight = np.ones(scores.shape[1]) if self.score_weight is None else self.score_weight
        return respond_rows(np.ascontiguousarray(scores), weight, self.response, self.n_classes)

    @classmethod
    def constant(cls, log_proba: np.ndarray, n_features: int, parents_n_classes: Sequence[int]) -> FittedLinearLink:
        """Return a link that gives the same log-probabilities whatever x and the parents are."""
        n_classes = len(log_proba)
        width = n_scores(SOFTMAX, n_classes)
        intercept = np.array([log_proba[1] - log_proba[0]]) if n_classes == 2 else np.array(log_proba)[:width]
        effects = tuple(np.zeros((k, width)) for k in parents_n_classes)
        return cls(n_classes, SOFTMAX, np.zeros((n_features, width)), intercept, effects)


@dataclass(frozen=True)
class LinearScores:
    """What kernels see of a label-linear chain and a batch of n rows; all in chain positions.

    Parameters
    ----------
    base : float64 ndarray of shape (n, W)
        x's part of all scores, with the effects of every parent's first class added.
    effects : float64 ndarray of shape (W, A)
        ``effects[w, a]`` is added to score column w when the active class a holds; zero where a does
        not belong to a parent.
    score_start : int64 ndarray of shape (L + 1,)
        The scores of position k are the columns ``score_start[k]:score_start[k + 1]``.
    score_weight : float64 ndarray of shape (W,)
        Weights for pairwise coupling, one elsewhere.
    response : int64 ndarray of shape (L,)
    n_classes : int64 ndarray of shape (L,)
    active_start : int64 ndarray of shape (L + 1,)
        Class c >= 1 of position j is the active class ``active_start[j] + c - 1``.
    """

    base: np.ndarray
    effects: np.ndarray
    score_start: np.ndarray
    score_weight: np.ndarray
    response: np.ndarray
    n_classes: np.ndarray
    active_start: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, Links]:
        """What every kernel takes first: `base`, and all that does not depend on the rows."""
        response = with_addresses(self.response)
        return self.base, Links(
            self.effects, self.score_start, self.score_weight, response, self.n_classes, self.active_start
        )

    def conditional(self, rows: np.ndarray, prefix: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of the classes that may follow the prefixes (m, k) of some `rows`: (m, K)."""
        k = prefix.shape[1]
        own = slice(self.score_start[k], self.score_start[k + 1])
        scores, effects = self.base[rows, own], self.effects[own].T
        for j, codes in enumerate(prefix.T):
            active = effects[self.active_start[j] : self.active_start[j + 1]]
            if active.any():
                scores += np.vstack([np.zeros(scores.shape[1]), active])[codes]
        return respond_rows(scores, self.score_weight[own], self.response[k], self.n_classes[k])


class LinearScorer:
    """The label-linear links of a whole chain, stacked, so that a batch is folded in at once.

    Parameters
    ----------
    links : sequence of FittedLinearLink
        In chain order.
    parents : sequence of sequences of int
        For each position, the positions of its parents, in the order of ``parent_effects``.
    """

    def __init__(self, links: Sequence[FittedLinearLink], parents: Sequence[Sequence[int]]):
        widths = [len(link.intercept) for link in links]
        self.n_classes = np.array([link.n_classes for link in links], dtype=np.int64)
        self.response = np.array([link.response for link in links], dtype=np.int64)
        self.score_start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self.active_start = np.concatenate([[0], np.cumsum(self.n_classes - 1)]).astype(np.int64)
        self.coef = np.concatenate([link.coef for link in links], axis=1)
        self.intercept = np.concatenate([link.intercept for link in links])
        self.score_weight = np.concatenate(
            [
                np.ones(w) if link.score_weight is None else link.score_weight
                for link, w in zip(links, widths, strict=True)
            ]
        )
        self.effects = np.zeros((len(self.intercept), self.active_start[-1]))
        if max(widths) == 1 and (self.n_classes == 2).all():
            self._fold_binary(links, parents)
            return
        for k, (link, link_parents) in enumerate(zip(links, parents, strict=True)):
            columns = slice(self.score_start[k], self.score_start[k + 1])
            for j, values in zip(link_parents, link.parent_effects, strict=True):
                self.intercept[columns] += values[0]
                self.effects[columns, self.active_start[j] : self.active_start[j + 1]] = (values[1:] - values[0]).T

    def _fold_binary(self, links: Sequence[FittedLinearLink], parents: Sequence[Sequence[int]]) -> None:
        """Fold the effects of all parents in at once: there may be thousands, each of two numbers."""
        blocks = [values for link in links for values in link.parent_effects]
        if blocks:
            first, second = np.concatenate(blocks).reshape(-1, 2).T
            rows = np.repeat(np.arange(len(links)), [len(own) for own in parents])
            self.effects[rows, np.concatenate([list(own) for own in parents]).astype(np.int64)] = second - first
            self.intercept += np.bincount(rows, weights=first, minlength=len(links))

    @cached_property
    def _lines(self) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients and intercepts in lines, as the product with a sparse matrix takes them."""
        n_lanes = N_BYTES // 8
        width = -(-len(self.intercept) // n_lanes) * n_lanes
        both = np.zeros((1 + len(self.coef), width))
        both[:, : len(self.intercept)] = np.vstack([self.intercept, self.coef])
        lines = np.ascontiguousarray(both.reshape(len(both), -1, n_lanes).transpose(1, 0, 2))
        return np.ascontiguousarray(lines[:, 1:]), np.ascontiguousarray(lines[:, 0])

    def scores(self, X) -> LinearScores:
        """Fold the rows of `X` (dense or CSR) in: one product for all links."""
        if sp.issparse(X):
            X = X.tocsr()
            if X.shape[1] != len(self.coef):  # the kernel would read beyond the coefficients
                raise ValueError(f"X has {X.shape[1]} columns, but the links were learned from {len(self.coef)}.")
            base = np.empty((X.shape[0], len(self.intercept)))
            sparse_scores(X.indptr, X.indices, X.data.astype(np.float64, copy=False), *self._lines, base)
        else:
            base = _product(X, self.coef)
            base += self.intercept
        return LinearScores(
            base, self.effects, self.score_start, self.score_weight, self.response, self.n_classes, self.active_start
        )


def _product(X: Any, coef: np.ndarray) -> np.ndarray:
    # Links that do not look at x must not care whether x is made of numbers.
    if not coef.any():
        return np.zeros((X.shape[0], coef.shape[1]))
    # A product rounds differently for one row than for many, and a row must be decided alike in both.
    return on_grid(np.ascontiguousarray(as_matrix(X) @ coef, dtype=np.float64))
