"""Links that were fitted once, by label and set of parents.

A link depends on its label and on the *set* of its parents, not on their order. Two orders therefore share all links
whose label has the same labels before it: swapping positions l < m changes the links at l, ..., m and no others.
"""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from montechain.links import (
    EstimatorLink,
    FittedLinearLink,
    FittedLink,
    LinkLearner,
    LinkProblem,
    LogisticLink,
    SVMLink,
)
from montechain.links.design import as_matrix
from montechain.links.linear import folded_effects

__all__ = ["CachedLink", "LinkCache"]

ONE_BY_ONE = (EstimatorLink, SVMLink)
"""Learners whose links are the same alone and among others, so that they may be fitted at the same time."""
MAX_BYTES = 2**28
"""Memory that a cache may take by default."""
N_NEIGHBOURS = 256
"""Most recently used links of a label among which the nearest one is looked for."""
UNKNOWN_SIZE = 2**20
"""Bytes that a link counts for if its size cannot be found out."""
HEADER = 128
"""Bytes that an array takes besides its numbers."""


@dataclass(frozen=True)
class CachedLink:
    """A fitted link with what it says about the validation rows.

    Attributes
    ----------
    problem : LinkProblem
    link : FittedLink
    margins : ndarray of shape (W, n), optional
        x's part of the scores of the n validation rows, with the effects of every parent's first class added. Only of
        label-linear links, and if there are validation rows.
    effects : ndarray of shape (W, A), optional
        What the active classes of *all* labels, in the order of the labels, add to it; zero for those that are not
        parents. Only of label-linear links.
    n_bytes : int
        About how much memory all of this takes.
    """

    problem: LinkProblem
    link: FittedLink
    margins: np.ndarray | None
    effects: np.ndarray | None
    n_bytes: int


class LinkCache:
    """Fits links, and remembers them as long as memory allows.

    Parameters
    ----------
    learner : LinkLearner
    X : array, CSR matrix or data frame of n rows
        The rows to learn from.
    codes : int32 ndarray of shape (n, L)
        One column per label, -1 where a label is not known.
    filled : int32 ndarray of shape (n, L)
        The same with unknown labels filled in; parents are read here.
    n_classes : sequence of int
        Number of classes of each label.
    validation : array, CSR matrix or data frame, optional
        Rows whose margins are kept beside each label-linear link, so that a chain costs only its new links.
    sample_weight, names, n_jobs, **fit_params
        Passed on to `LinkLearner.fit_links`.
    max_bytes : int, default=2**28
        Memory that the cache may take. The links used longest ago are forgotten, and fitted again if they are asked for
        again.
    warm_start : bool, default=True
        True: the missing links are fitted together, and logistic ones start from the nearest link of the same label.
        What a link is then depends, within the solver's tolerance, on what was fitted before it. False: every link is
        fitted alone and from nothing, so that it is the same to the last bit whenever it is fitted.

    Attributes
    ----------
    n_fitted : int
        How many links have been fitted so far.
    n_bytes : int
        About how much memory is taken.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.int32)
    >>> cache = LinkCache(LogisticLink(), X, codes, codes, [2, 2])
    >>> _ = cache.links([LinkProblem(0, ()), LinkProblem(1, (0,))])
    >>> _ = cache.links([LinkProblem(1, ()), LinkProblem(0, ())])
    >>> cache.n_fitted
    3
    """

    def __init__(
        self,
        learner: LinkLearner,
        X: Any,
        codes: np.ndarray,
        filled: np.ndarray,
        n_classes: Sequence[int],
        *,
        validation: Any = None,
        sample_weight: np.ndarray | None = None,
        names: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        max_bytes: int = MAX_BYTES,
        warm_start: bool = True,
        **fit_params: Any,
    ):
        self.learner = learner
        self.X = X
        self.codes = codes
        self.filled = filled
        self.n_classes = tuple(int(k) for k in n_classes)
        self.validation = validation
        self.options = {"sample_weight": sample_weight, "names": names, "n_jobs": n_jobs, **fit_params}
        self.max_bytes = max_bytes
        self.warm_start = warm_start
        self.active_start = np.concatenate([[0], np.cumsum(np.array(self.n_classes) - 1)]).astype(np.int64)
        self._clear()

    @property
    def is_exact(self) -> bool:
        """Whether a link is the same to the last bit whenever it is fitted."""
        return not self.warm_start or isinstance(self.learner, ONE_BY_ONE)

    def links(self, problems: Sequence[LinkProblem]) -> list[FittedLink]:
        """Return the links of these problems; those that are missing are fitted."""
        return [entry.link for entry in self.entries(problems)]

    def entries(self, problems: Sequence[LinkProblem]) -> list[CachedLink]:
        """Return the links of these problems with their margins; those that are missing are fitted."""
        keys = [(label, _bits(parents)) for label, parents in problems]
        found: dict[tuple[int, int], CachedLink] = {}
        missing: dict[tuple[int, int], LinkProblem] = {}
        for key, (label, parents) in zip(keys, problems, strict=True):
            if key in self._entries:
                found[key] = self._entries[key]
                self._entries.move_to_end(key)
                self._by_label[label].move_to_end(key[1])
            elif key not in missing:
                missing[key] = LinkProblem(label, tuple(sorted(parents)))
        if missing:
            for key, link in zip(missing, self._fit(list(missing.values())), strict=True):
                found[key] = self._describe(missing[key], link)
                self._remember(key, found[key])
        return [found[key] for key in keys]

    def fresh(self) -> LinkCache:
        """Return the same cache without any links."""
        other = copy.copy(self)
        other._clear()
        return other

    def _clear(self) -> None:
        self.n_fitted = 0
        self.n_bytes = 0
        # Parents are the bits of a whole number, so that two sets are compared in a moment.
        self._entries: OrderedDict[tuple[int, int], CachedLink] = OrderedDict()
        self._by_label: list[OrderedDict[int, None]] = [OrderedDict() for _ in self.n_classes]

    def _fit(self, problems: list[LinkProblem]) -> list[FittedLink]:
        self.n_fitted += len(problems)
        if not self.warm_start and not isinstance(self.learner, ONE_BY_ONE):
            return [self._fit_links([problem])[0] for problem in problems]
        if self.warm_start and isinstance(self.learner, LogisticLink):
            return self._fit_links(problems, initial=[self._nearest(problem) for problem in problems])
        return self._fit_links(problems)

    @cached_property
    def _fit_links(self) -> Callable[..., list[FittedLink]]:
        return self.learner.prepared(self.X, self.codes, self.filled, self.n_classes, **self.options)

    def _nearest(self, problem: LinkProblem) -> tuple[LinkProblem, FittedLink] | None:
        """Return the link of the same label whose parents differ least, of those used lately."""
        own = _bits(problem.parents)
        lately = islice(reversed(self._by_label[problem.label]), N_NEIGHBOURS)
        nearest = min(lately, key=lambda other: (own ^ other).bit_count(), default=None)
        if nearest is None:
            return None
        entry = self._entries[problem.label, nearest]
        return entry.problem, entry.link

    def _describe(self, problem: LinkProblem, link: FittedLink) -> CachedLink:
        if not isinstance(link, FittedLinearLink):
            return CachedLink(problem, link, None, None, _pickled_size(link))
        # Links fitted together may be pieces of one array, which would live as long as any of them.
        link = replace(link, coef=link.coef.copy(), intercept=link.intercept.copy())
        intercept, effects = folded_effects(link, problem.parents, self.active_start)
        margins = None
        n_bytes = sum(array.nbytes + HEADER for array in (link.coef, link.intercept, effects))
        n_bytes += effects.nbytes + HEADER * len(link.parent_effects)  # the parents' own, one number more for each
        if self.validation is not None:
            # Links that do not look at x must not care whether x is made of numbers. One product for each link, not
            # one for all: the last bit of a product depends on its shape.
            margins = np.empty((len(intercept), self.validation.shape[0]))
            margins[:] = (self._matrix @ link.coef + intercept).T if link.coef.any() else intercept[:, None]
            n_bytes += margins.nbytes + HEADER
        return CachedLink(problem, link, margins, effects, n_bytes)

    @cached_property
    def _matrix(self) -> Any:
        return as_matrix(self.validation)

    def _remember(self, key: tuple[int, int], entry: CachedLink) -> None:
        self._entries[key] = entry
        self._by_label[key[0]][key[1]] = None
        self.n_bytes += entry.n_bytes
        while self.n_bytes > self.max_bytes:
            (label, parents), oldest = self._entries.popitem(last=False)
            del self._by_label[label][parents]
            self.n_bytes -= oldest.n_bytes


def _bits(parents: Sequence[int]) -> int:
    return sum(1 << int(j) for j in parents)


class _Counter:
    """A file that counts what is written to it, and keeps nothing."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def write(self, data: bytes) -> int:
        self.n_bytes += memoryview(data).nbytes
        return memoryview(data).nbytes


def _pickled_size(link: FittedLink) -> int:
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(link)
    except Exception:  # whatever a classifier of the user's raises: the size is only an estimate
        return UNKNOWN_SIZE
    return counter.n_bytes
