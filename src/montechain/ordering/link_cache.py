"""Links that were fitted once, by label and set of parents.

A link depends on its label and on the *set* of its parents, not on their order. Two orders therefore share all links
whose label has the same labels before it: swapping positions l < m changes the links at l, ..., m and no others.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

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

__all__ = ["LinkCache"]

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


class CachedLink(NamedTuple):
    """A fitted link, and about how much memory it takes."""

    problem: LinkProblem
    link: FittedLink
    n_bytes: int


class LinkCache:
    """Fits links, and remembers them as long as memory allows.

    Parameters
    ----------
    learner : LinkLearner
    X, codes, filled, n_classes, **options
        The rows to learn from and how, as of `LinkLearner.fit_links`.
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
        max_bytes: int = MAX_BYTES,
        warm_start: bool = True,
        **options: Any,
    ):
        self.learner = learner
        self.X = X
        self.codes = codes
        self.filled = filled
        self.n_classes = tuple(int(k) for k in n_classes)
        self.max_bytes = max_bytes
        self.warm_start = warm_start
        self.options = options
        self.n_fitted = 0
        self.n_bytes = 0
        # Parents are the bits of a whole number, so that two sets are compared in a moment.
        self._entries: OrderedDict[tuple[int, int], CachedLink] = OrderedDict()
        self._by_label: list[OrderedDict[int, None]] = [OrderedDict() for _ in self.n_classes]

    @property
    def is_exact(self) -> bool:
        """Whether a link is the same to the last bit whenever it is fitted."""
        return not self.warm_start or isinstance(self.learner, ONE_BY_ONE)

    def links(self, problems: Sequence[LinkProblem]) -> list[FittedLink]:
        """Return the links of these problems; those that are missing are fitted."""
        keys = [(label, _bits(parents)) for label, parents in problems]
        found: dict[tuple[int, int], FittedLink] = {}
        missing: dict[tuple[int, int], LinkProblem] = {}
        for key, (label, parents) in zip(keys, problems, strict=True):
            if key in self._entries:
                found[key] = self._entries[key].link
                self._entries.move_to_end(key)
                self._by_label[label].move_to_end(key[1])
            else:
                missing[key] = LinkProblem(label, tuple(sorted(parents)))
        if missing:
            for key, link in zip(missing, self._fit(list(missing.values())), strict=True):
                if isinstance(link, FittedLinearLink):
                    # Links fitted together may be pieces of one array, which would live as long as any of them.
                    link = replace(link, coef=link.coef.copy(), intercept=link.intercept.copy())
                found[key] = link
                self._remember(key, CachedLink(missing[key], link, _size(link)))
        return [found[key] for key in keys]

    def _fit(self, problems: list[LinkProblem]) -> list[FittedLink]:
        self.n_fitted += len(problems)
        if not self.is_exact and isinstance(self.learner, LogisticLink):
            return self._fit_links(problems, initial=[self._nearest(problem) for problem in problems])
        if self.warm_start or isinstance(self.learner, ONE_BY_ONE):
            return self._fit_links(problems)
        return [self._fit_links([problem])[0] for problem in problems]

    @cached_property
    def _fit_links(self) -> Callable[..., list[FittedLink]]:
        return self.learner.prepared(self.X, self.codes, self.filled, self.n_classes, **self.options)

    def _nearest(self, problem: LinkProblem) -> tuple[LinkProblem, FittedLink] | None:
        """Return the link of the same label whose parents differ least, of those used lately."""
        own = _bits(problem.parents)
        lately = islice(reversed(self._by_label[problem.label]), N_NEIGHBOURS)
        nearest = min(lately, key=lambda other: (own ^ other).bit_count(), default=None)
        return None if nearest is None else self._entries[problem.label, nearest][:2]

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


def _size(link: FittedLink) -> int:
    if isinstance(link, FittedLinearLink):
        return sum(array.nbytes + HEADER for array in (link.coef, link.intercept, *link.parent_effects))
    try:
        return len(pickle.dumps(link, protocol=5))
    except Exception:  # whatever a classifier of the user's raises: the size is only an estimate
        return UNKNOWN_SIZE
