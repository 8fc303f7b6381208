"""The dependency network: p(label | x, all other labels) for every label, and Gibbs sampling from these.

A dependency network has no order, so unlike a chain it has no joint probability either: its conditionals
are learned apart from each other and need not belong to one distribution. Everything here is in codes,
one column per label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from montechain._kernels.gibbs import gibbs as gibbs_kernel
from montechain._savable import savable
from montechain.chain import Chain, draw_classes, no_knowledge
from montechain.links.base import UNKNOWN, FittedLink, LinkLearner, LinkProblem
from montechain.links.linear import FittedLinearLink, LinearScorer
from montechain.links.packing import check_parents, pack_links, unpack_links
from montechain.targets import CODE

__all__ = ["DependencyNetwork"]

MAX_REMEMBERED = 2**18
"""At most so many conditionals of links of any kind are kept, to be used again, in one call."""


@savable
class DependencyNetwork:
    """A learned dependency network.

    Parameters
    ----------
    links : sequence of fitted links
        One for each label; its parents are all other labels, in their order.

    Examples
    --------
    Two labels that are drawn to each other:

    >>> import numpy as np
    >>> from montechain.dependency_network import DependencyNetwork
    >>> from montechain.links.linear import SOFTMAX, FittedLinearLink
    >>> link = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-2.0]), (np.array([[0.0], [4.0]]),))
    >>> network = DependencyNetwork([link, link])
    >>> uniforms = np.random.default_rng(0).random((1, 1000, 2))
    >>> labels, marginals = network.gibbs(np.zeros((1, 1)), uniforms, 1000)
    >>> bool((labels[0, :, 0] == labels[0, :, 1]).mean() > 0.8)
    True
    """

    def __init__(self, links: Sequence[FittedLink]):
        self.links = tuple(links)
        self.n_classes = tuple(int(link.n_classes) for link in self.links)
        linear = [link for link in self.links if isinstance(link, FittedLinearLink)]
        others = [_all_but(k, len(self.links)) for k in range(len(self.links))]
        self.scorer = LinearScorer(linear, others) if len(linear) == len(self.links) else None

    @classmethod
    def learn(
        cls,
        learner: LinkLearner,
        X: Any,
        codes: np.ndarray,
        n_classes: Sequence[int],
        *,
        seed: int = 0,
        on_link: Callable[[LinkProblem], None] | None = None,
        **options: Any,
    ) -> DependencyNetwork:
        """Learn the links of a network.

        A link is learned from the rows in which its own label is known. Where others are unknown, they
        are drawn from a chain over the labels as they stand, which is learned first for this purpose,
        given those known labels that stand before them.

        Parameters
        ----------
        learner : LinkLearner
        X : array, CSR matrix or data frame of n rows
        codes : int32 ndarray of shape (n, L)
            `UNKNOWN` where a label is not known.
        n_classes : sequence of int
            Number of classes of each label.
        seed : int
            For the classes drawn in place of unknown ones.
        on_link : callable, optional
            Called with each problem when its link is learned.
        **options
            Passed on to `LinkLearner.fit_links`.
        """
        n_labels = len(n_classes)
        filled = codes
        rows = np.flatnonzero((codes == UNKNOWN).any(axis=1))
        if len(rows) and n_labels > 1:
            earlier = [tuple(range(label)) for label in range(n_labels)]
            chain = Chain.learn(learner, X, codes, n_classes, range(n_labels), earlier, seed=seed, **options)
            uniforms = np.random.default_rng([seed, n_labels]).random((len(rows), 1, n_labels))
            filled = codes.copy()
            filled[rows] = chain.sample(_safe_indexing(X, rows), uniforms, codes[rows])[0][:, 0]
        problems = [LinkProblem(label, _all_but(label, n_labels)) for label in range(n_labels)]
        return cls(learner.fit_links(X, codes, filled, n_classes, problems, on_link=on_link, **options))

    def __getstate__(self) -> dict[str, Any]:
        """Return the network as a few arrays, for pickles and model files."""
        return {"links": pack_links(self.links)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the network anew; a ValueError says what does not fit together."""
        links = unpack_links(state["links"])
        if not links:
            raise ValueError("a network needs at least one label.")
        check_parents(links, [_all_but(k, len(links)) for k in range(len(links))])
        self.__init__(links)  # type: ignore[misc]

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_scores(self) -> int:
        """Number of label-linear scores of a row; 0 if some link is not label-linear."""
        return 0 if self.scorer is None else len(self.scorer.intercept)

    def gibbs(
        self,
        X: Any,
        uniforms: np.ndarray,
        n_collected: int,
        *,
        given: np.ndarray | None = None,
        average: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw every label anew, given all others, again and again.

        A sweep draws each label that is not known, in the order of the labels; the first sweep starts
        from the first class of each. Where links are not label-linear, a classifier is asked at most
        once per label and sweep (twice in those collected, if conditionals are averaged), for the rows
        whose other labels it has not seen before.

        Parameters
        ----------
        X : array, CSR matrix or data frame of n rows
        uniforms : ndarray of shape (n, T, L) or (1, T, L)
            Uniform numbers in [0, 1), one for each label of each of the T sweeps. With a first axis of
            length one, all rows share one table.
        n_collected : int
            How many sweeps, the last ones, are collected.
        given : int32 ndarray of shape (n, L), optional
            Known classes, `UNKNOWN` elsewhere: a known class is kept throughout.
        average : bool
            Whether the marginals are the means of the conditionals, given the other labels of each vector
            collected; otherwise they are the shares of the classes in these vectors.

        Returns
        -------
        labels : int32 ndarray of shape (n, n_collected, L)
            The label vector after each sweep collected.
        marginals : ndarray of shape (n, L, largest K)
        """
        if self.scorer is not None:
            known = no_knowledge(self.n_labels) if given is None else given
            return gibbs_kernel(*self.scorer.scores(X).arrays, known, uniforms, n_collected, average)
        n_rows, n_sweeps = X.shape[0], uniforms.shape[1]
        first_collected = n_sweeps - n_collected
        known = np.full((n_rows, self.n_labels), UNKNOWN, dtype=CODE) if given is None else given
        free = [np.flatnonzero(known[:, k] == UNKNOWN) for k in range(self.n_labels)]
        conditionals = [_Conditionals(self, k, X, MAX_REMEMBERED // self.n_labels) for k in range(self.n_labels)]
        state = np.maximum(known, 0).astype(CODE)
        labels = np.empty((n_rows, n_collected, self.n_labels), dtype=CODE)
        marginals = np.zeros((n_rows, self.n_labels, max(self.n_classes)))
        at = np.nonzero(known != UNKNOWN)
        marginals[(*at, known[at])] = n_collected
        for sweep in range(n_sweeps):
            for k, rows in enumerate(free):
                log_proba = conditionals[k].log_proba(rows, state)
                state[rows, k] = draw_classes(log_proba, np.broadcast_to(uniforms[:, sweep, k], n_rows)[rows])
            if sweep >= first_collected:
                labels[:, sweep - first_collected] = state
                for k, rows in enumerate(free):
                    if average:
                        marginals[rows, k, : self.n_classes[k]] += np.exp(conditionals[k].log_proba(rows, state))
                    else:
                        marginals[rows, k, state[rows, k]] += 1.0
        return labels, marginals / n_collected


class _Conditionals:
    """p(label | x, all others) for some rows, from a link of any kind; what was asked before is remembered.

    Sweep after sweep most rows meet label vectors again that they have met before, and a classifier takes far longer
    than looking them up.
    """

    def __init__(self, network: DependencyNetwork, label: int, X: Any, n_most: int):
        self.link = network.links[label]
        self.others = np.array(_all_but(label, network.n_labels), dtype=np.intp)
        self.n_classes = network.n_classes[label]
        self.X = X
        self.n_most = n_most
        self.remembered: dict[Any, np.ndarray] = {}

    def log_proba(self, rows: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (m, K) for these rows; `state` holds a label vector for every row."""
        codes = state[np.ix_(rows, self.others)]
        table = np.column_stack([rows.astype(np.int64), codes])
        keys = np.ascontiguousarray(table).view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel().tolist()
        found = [self.remembered.get(key) for key in keys]
        new = [i for i, value in enumerate(found) if value is None]
        if new:
            X = self.X if len(new) == self.X.shape[0] else _safe_indexing(self.X, rows[new])
            for i, value in zip(new, self.link.log_proba(X, codes[new]), strict=True):
                found[i] = value
                if len(self.remembered) < self.n_most:
                    self.remembered[keys[i]] = value
        return np.array(found).reshape(len(rows), self.n_classes)


def _all_but(label: int, n_labels: int) -> tuple[int, ...]:
    return (*range(label), *range(label + 1, n_labels))
