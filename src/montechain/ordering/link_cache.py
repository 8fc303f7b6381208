"""A cache of fitted links, by label and set of parents.

A link depends on its label and on the *set* of its parents, not on their order. Two orders therefore share all links
whose label has the same labels before it: swapping positions l < m changes the links at l, ..., m and no others.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice

from montechain.links import FittedLinearLink, FittedLink, LinkLearner, LinkProblem, LogisticLink
from montechain.links.base import OneByOne

MAX_BYTES = 2**28
"""Default size limit of a cache."""
N_NEIGHBOURS = 256
"""Number of recently used links per label that are considered for a warm start."""
UNKNOWN_SIZE = 2**20
"""Bytes that a link counts for if it cannot be pickled."""


@dataclass(eq=False)
class LinkCache:
    """Fits links, and keeps them as long as memory allows.

    Parameters
    ----------
    learner : LinkLearner
    fit_links : callable
        What its `prepared` returns: from problems to their links.
    n_labels : int
    warm_start : bool, default=True
        As in `OrderEvaluator`. If so, a link depends, within the solver's tolerance, on what was fitted before.
    max_bytes : int, default=2**28
        Size limit, divided equally among the labels. The least recently used links go first, and are fitted again if
        they are needed again.
    """

    learner: LinkLearner
    fit_links: Callable[..., list[FittedLink]]
    n_labels: int
    _: KW_ONLY
    warm_start: bool = True
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        self.n_fitted = 0
        self.is_exact = not self.warm_start or isinstance(self.learner, OneByOne)
        """Whether a link is the same to the last bit whenever it is fitted."""
        # By label. Parents are the bits of an integer, so that two sets are compared quickly.
        self._known: list[OrderedDict[int, tuple[LinkProblem, FittedLink, int]]]
        self._known = [OrderedDict() for _ in range(self.n_labels)]
        self._n_bytes = [0] * self.n_labels

    def links(self, problems: Sequence[LinkProblem]) -> list[FittedLink]:
        """Return the links of these problems, fitting those that are missing."""
        keys = [(label, _bits(parents)) for label, parents in problems]
        missing = {
            (label, bits): LinkProblem(label, tuple(sorted(problem.parents)))
            for (label, bits), problem in zip(keys, problems, strict=True)
            if bits not in self._known[label]
        }
        for (label, bits), link in zip(missing, self._fit(list(missing.values())), strict=True):
            if isinstance(link, FittedLinearLink):
                # Links fitted together may be pieces of one array, which would live as long as any of them.
                link = replace(link, coef=link.coef.copy(), intercept=link.intercept.copy())
            self._known[label][bits] = missing[label, bits], link, _size(link)
            self._n_bytes[label] += self._known[label][bits][2]
        found = [self._known[label][bits][1] for label, bits in keys]
        for label, bits in keys:
            self._known[label].move_to_end(bits)
        for label, _ in missing:
            while self._n_bytes[label] > self.max_bytes / self.n_labels:
                self._n_bytes[label] -= self._known[label].popitem(last=False)[1][2]
        return found

    def _fit(self, problems: list[LinkProblem]) -> list[FittedLink]:
        self.n_fitted += len(problems)
        if self.is_exact and not isinstance(self.learner, OneByOne):
            return [self.fit_links([problem])[0] for problem in problems]
        if isinstance(self.learner, LogisticLink):
            return self.fit_links(problems, initial=[self._nearest(problem) for problem in problems])
        return self.fit_links(problems)

    def _nearest(self, problem: LinkProblem) -> tuple[LinkProblem, FittedLink] | None:
        """Return the link of the same label whose parents differ least, of those used recently."""
        own, known = _bits(problem.parents), self._known[problem.label]
        recent = islice(reversed(known), N_NEIGHBOURS)
        nearest = min(recent, key=lambda other: (own ^ other).bit_count(), default=None)
        return None if nearest is None else known[nearest][:2]


def _bits(parents: Sequence[int]) -> int:
    return sum(1 << int(j) for j in parents)


def _size(link: FittedLink) -> int:
    try:
        return len(pickle.dumps(link, protocol=5))
    except Exception:  # a user's classifier may raise anything, and the size is only an estimate
        return UNKNOWN_SIZE
