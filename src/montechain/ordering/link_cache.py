"""Links that were fitted once, by label and set of parents.

A link depends on its label and on the *set* of its parents, not on their order. Two orders therefore share all links
whose label has the same labels before it: swapping positions l < m changes the links at l, ..., m and no others.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from montechain.links import FittedLinearLink, FittedLink, LinkLearner, LinkProblem, LogisticLink
from montechain.links.base import OneByOne

__all__ = ["LinkCache"]

MAX_BYTES = 2**28
"""Memory that a cache may take by default."""
N_NEIGHBOURS = 256
"""Most recently used links of a label among which the nearest one is looked for."""
UNKNOWN_SIZE = 2**20
"""Bytes that a link counts for if its size cannot be found out."""

Entry = tuple[LinkProblem, FittedLink, int]
"""A fitted link, and about how much memory it takes."""


class LinkCache:
    """Fits links, and remembers them as long as memory allows.

    Parameters
    ----------
    learner : LinkLearner
    fit_links : callable
        What its `prepared` returns: from problems to their links.
    n_labels : int
    warm_start : bool, default=True
        As in `OrderEvaluator`. If so, what a link is depends, within the solver's tolerance, on what was fitted before.
    max_bytes : int, default=2**28
        Memory that the cache may take, in equal parts for each label. The links used longest ago are forgotten, and
        fitted again if they are asked for again.
    """

    def __init__(
        self,
        learner: LinkLearner,
        fit_links: Callable[..., list[FittedLink]],
        n_labels: int,
        *,
        warm_start: bool = True,
        max_bytes: int = MAX_BYTES,
    ):
        self.learner = learner
        self.fit_links = fit_links
        self.warm_start = warm_start
        self.max_bytes = max_bytes
        self.n_fitted = 0
        # For each label. Parents are the bits of a whole number, so that two sets are compared in a moment.
        self._known: list[OrderedDict[int, Entry]] = [OrderedDict() for _ in range(n_labels)]
        self._n_bytes = [0] * n_labels

    @property
    def is_exact(self) -> bool:
        """Whether a link is the same to the last bit whenever it is fitted."""
        return not self.warm_start or isinstance(self.learner, OneByOne)

    def links(self, problems: Sequence[LinkProblem]) -> list[FittedLink]:
        """Return the links of these problems; those that are missing are fitted."""
        keys = [(label, _bits(parents)) for label, parents in problems]
        found: dict[tuple[int, int], FittedLink] = {}
        missing: dict[tuple[int, int], LinkProblem] = {}
        for (label, bits), problem in zip(keys, problems, strict=True):
            if bits in self._known[label]:
                found[label, bits] = self._known[label][bits][1]
                self._known[label].move_to_end(bits)
            else:
                missing[label, bits] = LinkProblem(label, tuple(sorted(problem.parents)))
        for key, link in zip(missing, self._fit(list(missing.values())), strict=True):
            if isinstance(link, FittedLinearLink):
                # Links fitted together may be pieces of one array, which would live as long as any of them.
                link = replace(link, coef=link.coef.copy(), intercept=link.intercept.copy())
            found[key] = link
            self._remember(missing[key], key[1], link)
        return [found[key] for key in keys]

    def _fit(self, problems: list[LinkProblem]) -> list[FittedLink]:
        self.n_fitted += len(problems)
        if self.is_exact and not isinstance(self.learner, OneByOne):
            return [self.fit_links([problem])[0] for problem in problems]
        if isinstance(self.learner, LogisticLink):
            return self.fit_links(problems, initial=[self._nearest(problem) for problem in problems])
        return self.fit_links(problems)

    def _nearest(self, problem: LinkProblem) -> tuple[LinkProblem, FittedLink] | None:
        """Return the link of the same label whose parents differ least, of those used lately."""
        own, known = _bits(problem.parents), self._known[problem.label]
        lately = islice(reversed(known), N_NEIGHBOURS)
        nearest = min(lately, key=lambda other: (own ^ other).bit_count(), default=None)
        return None if nearest is None else known[nearest][:2]

    def _remember(self, problem: LinkProblem, bits: int, link: FittedLink) -> None:
        label, n_bytes = problem.label, _size(link)
        self._known[label][bits] = problem, link, n_bytes
        self._n_bytes[label] += n_bytes
        while self._n_bytes[label] > self.max_bytes / len(self._known):
            self._n_bytes[label] -= self._known[label].popitem(last=False)[1][2]


def _bits(parents: Sequence[int]) -> int:
    return sum(1 << int(j) for j in parents)


def _size(link: FittedLink) -> int:
    try:
        return len(pickle.dumps(link, protocol=5))
    except Exception:  # whatever a classifier of the user's raises: the size is only an estimate
        return UNKNOWN_SIZE
