"""The probabilistic chain: p(y | x) as a product of learned links.

Position k holds the label ``order[k]``; see `montechain.prefix_tree` for what inference sees of a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from montechain._rows import take_rows
from montechain._savable import require, savable
from montechain.links.base import FittedLink, LinkLearner, LinkProblem, check_links
from montechain.links.linear import FittedLinearLink, LinearScorer
from montechain.links.row_blocks import RowBlocks, Rows
from montechain.prefix_tree import ChainBase, PrefixTree, draw_classes
from montechain.targets import UNKNOWN


@savable
class Chain(ChainBase):
    """A learned chain: for each position, the label there, the parents of its link, and the link.

    `parents` are the earlier positions that the link looks at, in the order in which it was given them.
    """

    def __init__(self, order: Sequence[int], parents: Sequence[Sequence[int]], links: Sequence[FittedLink]):
        self.order = tuple(int(label) for label in order)
        self.parents = tuple(tuple(int(j) for j in positions) for positions in parents)
        self.links = tuple(links)
        self.n_classes = tuple(int(link.n_classes) for link in self.links)
        linear = [link for link in self.links if isinstance(link, FittedLinearLink)]
        self.scorer = LinearScorer(linear, self.parents, self.order) if len(linear) == len(self.links) else None

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

        Where a parent is unknown, its class is drawn, with `seed`, from the chain learned so far; a link is learned
        from the rows in which its own label is known.

        `X`, `codes`, `n_classes` and the `options` are those of `LinkLearner.fit_links`; instead of a table, `X` may be
        `RowBlocks`, which have codes of their own. `order` holds the label at each position, `parents`, for each
        *label*, the labels that are its parents.
        """
        in_blocks = isinstance(X, RowBlocks)
        filled = codes if in_blocks else codes.copy()
        n_unknown = X.n_unknown if in_blocks else (codes == UNKNOWN).sum(axis=0)
        incomplete = {label for label in set().union(*parents) if n_unknown[label]}
        links: list[FittedLink] = []
        waiting: list[LinkProblem] = []
        for label in order:
            waiting.append(LinkProblem(label, tuple(parents[label])))
            if label in incomplete or label == order[-1]:
                # All links up to here have complete parents and are learned together.
                links += learner.fit_links(X, codes, filled, n_classes, waiting, **options)
                waiting = []
            if label in incomplete and in_blocks:
                X = _with_drawn(X, label, list(parents[label]), links[-1], seed)
            elif label in incomplete:
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


def _with_drawn(blocks: RowBlocks, label: int, parents: list[int], link: FittedLink, seed: int) -> RowBlocks:
    """Return the rows with the unknown classes of a label drawn: the same ones as if they were in memory."""
    before = np.cumsum([0, *blocks.map(_n_unknown, label)])[:-1].tolist()
    drawn = blocks.replaced(_draw_unknown, [(label, parents, link, seed, n) for n in before])
    drawn.summaries = blocks.summaries  # which do not count what is filled in
    return drawn


def _n_unknown(rows: Rows, label: int) -> int:
    return int((rows.codes[:, label] == UNKNOWN).sum())


def _draw_unknown(rows: Rows, label: int, parents: list[int], link: FittedLink, seed: int, n_before: int) -> Rows:
    own, filled = np.flatnonzero(rows.codes[:, label] == UNKNOWN), rows.filled.copy()
    if len(own):
        log_proba = link.log_proba(take_rows(rows.X, own), filled[own][:, parents])
        rng = np.random.default_rng([seed, label])
        rng.bit_generator.advance(n_before)  # type: ignore[attr-defined]
        filled[own, label] = draw_classes(log_proba, rng.random(len(own)))
    return replace(rows, filled=filled)


def example_tree() -> PrefixTree:
    """Return the prefix tree of the examples of inference strategies: two labels, each 1 with probability 0.7.

    >>> np.exp(example_tree().log_joint(np.array([[1, 1]]))).round(2)
    array([0.49])
    """
    link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    return PrefixTree(Chain(order=[0, 1], parents=[(), ()], links=[link, link]), np.zeros((1, 1)))
