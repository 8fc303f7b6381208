"""The probabilistic chain: p(y | x) as a product of learned links.

Position k holds the label ``order[k]``; see `montechain.prefix_tree` for what inference sees of a chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from montechain._rows import take_rows
from montechain._savable import require, savable
from montechain.errors import NonFiniteError
from montechain.links.base import FittedLink, LinkLearner, LinkProblem, check_links
from montechain.links.design import as_matrix
from montechain.links.linear import FittedLinearLink, LinearScorer, LinearScores
from montechain.prefix_tree import ChainBase, PrefixTree, draw_classes
from montechain.targets import UNKNOWN


@savable
class Chain(ChainBase):
    """A learned chain.

    Parameters
    ----------
    order : sequence of int
        The label that stands at each position.
    parents : sequence of sequences of int
        For each position, the earlier positions that its link looks at, in the order in which the
        link was given them.
    links : sequence of fitted links
        One for each position.
    """

    def __init__(self, order: Sequence[int], parents: Sequence[Sequence[int]], links: Sequence[FittedLink]):
        self.order = tuple(int(label) for label in order)
        self.parents = tuple(tuple(int(j) for j in positions) for positions in parents)
        self.links = tuple(links)
        self.n_classes = tuple(int(link.n_classes) for link in self.links)
        linear = [link for link in self.links if isinstance(link, FittedLinearLink)]
        self.scorer = LinearScorer(linear, self.parents) if len(linear) == len(self.links) else None

    @classmethod
    def learn(
        cls,
        learner: LinkLearner,
        X: Any,
        codes: np.ndarray,
        n_classes: Sequence[int],
        order: Sequence[int],
        parents: Sequence[Sequence[int]],
        *,
        seed: int = 0,
        **options: Any,
    ) -> Chain:
        """Learn the links of a chain.

        Where a parent is unknown, its class is drawn from the chain learned so far; a link is
        learned from the rows in which its own label is known.

        Parameters
        ----------
        learner : LinkLearner
        X : array, CSR matrix or data frame of n rows
        codes : int32 ndarray of shape (n, L)
            One column per *label*, `UNKNOWN` where a label is not known.
        n_classes : sequence of int
            Number of classes of each label.
        order : sequence of int
            The label at each position.
        parents : sequence of sequences of int
            For each *label*, the labels that are its parents.
        seed : int
            For the classes drawn in place of unknown parents.
        **options
            Passed on to `LinkLearner.fit_links`.
        """
        filled = codes.copy()
        incomplete = {label for label in set().union(*parents) if (codes[:, label] == UNKNOWN).any()}
        links: list[FittedLink] = []
        waiting: list[LinkProblem] = []
        for label in order:
            waiting.append(LinkProblem(label, tuple(parents[label])))
            if label in incomplete or label == order[-1]:
                # All links up to here have complete parents and are learned together.
                links += learner.fit_links(X, codes, filled, n_classes, waiting, **options)
                waiting = []
            if label in incomplete:
                rows = np.flatnonzero(codes[:, label] == UNKNOWN)
                log_proba = links[-1].log_proba(take_rows(X, rows), filled[rows][:, list(parents[label])])
                filled[rows, label] = draw_classes(log_proba, np.random.default_rng([seed, label]).random(len(rows)))
        return cls.of_labels(order, parents, links)

    @classmethod
    def of_labels(cls, order: Sequence[int], parents: Sequence[Sequence[int]], links: Sequence[FittedLink]) -> Chain:
        """Return the chain of some links in this order; `parents` are labels, for each label, not positions."""
        position = {label: k for k, label in enumerate(order)}
        return cls(order, [[position[j] for j in parents[label]] for label in order], links)

    @classmethod
    def fill(
        cls, learner: LinkLearner, X: Any, codes: np.ndarray, n_classes: Sequence[int], rng: Any, **options: Any
    ) -> np.ndarray:
        """Return codes with unknown labels drawn from a chain in the order of y; parameters are those of `learn`."""
        earlier = [tuple(range(label)) for label in range(len(n_classes))]
        chain = cls.learn(learner, X, codes, n_classes, range(len(n_classes)), earlier, **options)
        return chain.complete(X, codes, rng)

    def complete(self, X: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return codes (one column per label) with unknown ones drawn, each given x and the labels before it."""
        filled, rows = codes.copy(), np.flatnonzero((codes == UNKNOWN).any(axis=1))
        if len(rows):
            order = list(self.order)
            known = np.ascontiguousarray(codes[rows][:, order])
            drawn, _ = self.sample(take_rows(X, rows), rng.random((len(rows), 1, len(order))), known)
            filled[rows[:, None], order] = drawn[:, 0]
        return filled

    def __getstate__(self) -> dict[str, Any]:
        """Return what the chain is made of, for pickles and model files."""
        return {"order": self.order, "parents": self.parents, "links": self.links}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Rebuild the chain; a ValueError says what does not fit together."""
        order, parents, links = state["order"], state["parents"], state["links"]
        counts = f"there are {len(links)} links and {len(parents)} sets of parents for {len(order)} labels."
        require(order and len(links) == len(order) == len(parents), counts)
        require(sorted(order) == list(range(len(order))), f"the order {order} is not a permutation of the labels.")
        for k, own in enumerate(parents):
            are_earlier = len(set(own)) == len(own) and all(type(j) is int and 0 <= j < k for j in own)
            require(are_earlier, f"the parents {list(own)} of position {k} are not distinct earlier positions.")
        check_links(links, parents)
        self.__init__(order, parents, links)  # type: ignore[misc]

    def conditional(self, X: Any, prefix: np.ndarray) -> np.ndarray:  # noqa: D102
        k = prefix.shape[1]
        return self.links[k].log_proba(X, prefix[:, list(self.parents[k])])

    @property
    def n_scores(self) -> int:  # noqa: D102
        return 0 if self.scorer is None else len(self.scorer.intercept)

    def scores(self, X: Any) -> LinearScores | None:  # noqa: D102
        if self.scorer is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.scorer.scores(X)
            is_finite = math.isfinite(scores.base.sum())
        if is_finite:
            return scores
        # A score that has overflowed is an error, but intercepts may be infinite, for impossible classes.
        is_possible = np.isfinite(self.scorer.intercept) | np.isnan(scores.base)
        rows, columns = np.nonzero(~np.isfinite(scores.base) & is_possible)
        if len(rows) == 0:
            return scores
        position = int(np.searchsorted(scores.links.score_start, columns[0], side="right")) - 1
        x = as_matrix(take_rows(X, rows[:1]))
        x = np.ravel(x.toarray() if sp.issparse(x) else x)
        with np.errstate(over="ignore", invalid="ignore"):
            column = int(np.argmax(np.abs(x * self.scorer.coef[:, columns[0]])))
        raise NonFiniteError(self.order[position], column, x[column])


def example_tree() -> PrefixTree:
    """Return the prefix tree of the examples of inference strategies: two labels, each 1 with probability 0.7.

    >>> np.exp(example_tree().log_joint(np.array([[1, 1]]))).round(2)
    array([0.49])
    """
    link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    return PrefixTree(Chain(order=[0, 1], parents=[(), ()], links=[link, link]), np.zeros((1, 1)))
