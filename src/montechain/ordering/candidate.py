"""A candidate order as a chain over the validation rows, what payoffs ask of it, and as a classifier for scorers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from montechain._kernels.conditional import respond_rows
from montechain._rows import join_rows, row_blocks, take_rows
from montechain.chain import Chain
from montechain.inference import Decision, Inference
from montechain.inference.enumeration import Effort
from montechain.inference.marginals import marginals
from montechain.joint import ChainModel
from montechain.links import FittedLinearLink
from montechain.links.linear import LinearScores
from montechain.losses import Loss
from montechain.ordering.link_cache import CachedLink, LinkCache
from montechain.ordering.orders import Order
from montechain.ordering.payoffs import J_EM_prod, Payoff
from montechain.prefix_tree import ChainBase, PrefixTree
from montechain.targets import UNKNOWN, TargetCodec

__all__ = ["Candidate", "CandidateChain", "CandidateClassifier", "Fold"]

RESIDUAL = 1e-3
"""Mass that may stay unexplored where marginals are enumerated."""
CHUNK_CELLS = 2**21
"""Approximate number of cells held at a time while the labels of the validation rows are found."""
MIN_CHUNK_ROWS = 64
"""Minimum number of rows in a chunk."""


@dataclass(frozen=True)
class Fold:
    """Validation rows, and the links learned from the other rows."""

    X: Any
    codes: np.ndarray
    filled: np.ndarray
    weight: np.ndarray | None
    cache: LinkCache

    @cached_property
    def active(self) -> np.ndarray:
        """One column for each active class of each label, unknown labels filled in."""
        blocks = [own[:, None] == np.arange(1, k) for own, k in zip(self.filled.T, self.cache.n_classes, strict=True)]
        return np.hstack(blocks).astype(np.float64)

    def log_likelihood(self, entry: CachedLink) -> float:
        """Return the sum of log p(true class | x, true parents) of a link over the rows in which its label is known."""
        label, parents = entry.problem
        link = entry.link
        if isinstance(link, FittedLinearLink) and entry.margins is not None and entry.effects is not None:
            scores = np.ascontiguousarray(entry.margins.T + self.active @ entry.effects.T)
            weight = np.ones(scores.shape[1]) if link.score_weight is None else link.score_weight
            log_proba = respond_rows(scores, weight, link.response, link.n_classes)
        else:
            log_proba = link.log_proba(self.X, self.filled[:, list(parents)])
        own = self.codes[:, label]
        known = np.flatnonzero(own != UNKNOWN)
        return J_EM_prod(log_proba[known, own[known]], None if self.weight is None else self.weight[known])


class CandidateChain(ChainBase):
    """A chain made of cached links. Its x are *numbers* of validation rows, one column of them.

    The scores are put together from those kept beside the links, without a product with X.

    Parameters
    ----------
    order : tuple of int
    parents : sequence of sequences of int
        For each *label*, the labels that are its parents, in ascending order.
    entries : sequence of CachedLink
        One for each position.
    n_classes : sequence of int
        Of each label.
    X : array, CSR matrix or data frame
        The validation rows.
    """

    def __init__(
        self,
        order: Order,
        parents: Sequence[Sequence[int]],
        entries: Sequence[CachedLink],
        n_classes: Sequence[int],
        X: Any,
    ):
        position = {label: k for k, label in enumerate(order)}
        self.order = order
        self.parents = tuple(tuple(position[j] for j in parents[label]) for label in order)
        self.n_classes = tuple(int(n_classes[label]) for label in order)
        self.links = [entry.link for entry in entries]
        self.X = X
        self._scores = _put_together(order, entries, n_classes)

    @property
    def rows(self) -> np.ndarray:
        """The numbers of all validation rows, as this chain takes them for x."""
        return np.arange(self.X.shape[0])[:, None]

    @property
    def is_linear(self) -> bool:
        """Whether all links are label-linear."""
        return self._scores is not None

    def conditional(self, X: np.ndarray, prefix: np.ndarray) -> np.ndarray:  # noqa: D102
        k = prefix.shape[1]
        X = self.X if self._is_everything(X) else take_rows(self.X, X[:, 0])
        return self.links[k].log_proba(X, prefix[:, list(self.parents[k])])

    def scores(self, X: np.ndarray) -> LinearScores | None:  # noqa: D102
        if self._scores is None:
            return None
        return self._scores if self._is_everything(X) else replace(self._scores, base=self._scores.base[X[:, 0]])

    def _is_everything(self, rows: np.ndarray) -> bool:
        return len(rows) == self.X.shape[0] and bool((rows[:, 0] == np.arange(len(rows))).all())

    def as_chain(self) -> Chain:
        """Return the same chain for any x."""
        return Chain(self.order, self.parents, self.links)


def _put_together(order: Order, entries: Sequence[CachedLink], n_classes: Sequence[int]) -> LinearScores | None:
    """Return the scores of the validation rows, or None if some link is not label-linear."""
    margins, effects = [], []
    for entry in entries:
        if entry.margins is None or entry.effects is None:
            return None
        margins.append(entry.margins)
        effects.append(entry.effects)
    links: list[Any] = [entry.link for entry in entries]
    widths = [len(own) for own in margins]
    by_label = np.concatenate([[0], np.cumsum(np.array(n_classes) - 1)])
    active = np.concatenate([np.arange(by_label[label], by_label[label + 1]) for label in order])
    n_classes_in_order = np.array([n_classes[label] for label in order], dtype=np.int64)
    return LinearScores(
        base=np.ascontiguousarray(np.concatenate(margins).T),
        effects=np.ascontiguousarray(np.concatenate(effects)[:, active.astype(np.intp)]),
        score_start=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        score_weight=np.concatenate(
            [
                np.ones(width) if link.score_weight is None else link.score_weight
                for link, width in zip(links, widths, strict=True)
            ]
        ),
        response=np.array([link.response for link in links], dtype=np.int64),
        n_classes=n_classes_in_order,
        active_start=np.concatenate([[0], np.cumsum(n_classes_in_order - 1)]).astype(np.int64),
    )


class Candidate:
    """A candidate on the validation rows of one fold. Everything about it is computed once, when it is asked for.

    Label vectors and marginals have one column per label, in codes.

    Parameters
    ----------
    fold : Fold
    chain : CandidateChain
    inference : Inference
    loss : Loss
        Bound to the labels as they stand in y.
    codec : TargetCodec
    on : {"prediction", "truth"}
        Whose labels payoffs are about.
    seed : int
    """

    def __init__(
        self,
        fold: Fold,
        chain: CandidateChain,
        inference: Inference,
        loss: Loss,
        codec: TargetCodec,
        on: str,
        seed: int,
    ):
        self.fold = fold
        self.model = ChainModel(chain, inference)
        self.loss = loss
        self.codec = codec
        self.on = on
        self.seed = seed

    def value(self, payoff: Payoff) -> float:
        """Return a payoff of this chain."""
        if payoff.of == "joint":
            return payoff.function(self.log_joint, self.fold.weight)
        if payoff.of == "marginals":
            return payoff.function(self.label_proba, self.fold.weight)
        return payoff.function(CandidateClassifier(self), self.fold.X, self.codec.decode_array(self.fold.codes))

    @cached_property
    def decision(self) -> Decision:
        """What the inference decides for each row."""
        return join_rows([self.model.decide(rows, loss=self.loss, rng=self._rng()) for rows in self._chunks()])

    @cached_property
    def labels(self) -> np.ndarray:
        """The labels that the payoff is about; -1 where they are unknown."""
        return self.decision.labels if self.on == "prediction" else self.fold.codes

    @cached_property
    def log_joint(self) -> np.ndarray:
        """Their log-probabilities, of shape (n,)."""
        if self.on == "prediction":
            return self.decision.log_proba
        return np.concatenate(
            [log_joint(self.model, rows, self.labels[rows[:, 0]], self.seed) for rows in self._chunks()]
        )

    @cached_property
    def label_proba(self) -> np.ndarray:
        """The marginal probability of each of these labels, of shape (n, L); NaN where a label is unknown."""
        parts = []
        for rows in self._chunks():
            tree = PrefixTree(self.model.chain, rows)
            proba = marginals(tree, Effort(RESIDUAL), rng=self._rng()).in_order(self.model.positions).proba
            codes = self.labels[rows[:, 0]]
            columns = [own[np.arange(len(own)), np.maximum(c, 0)] for own, c in zip(proba, codes.T, strict=True)]
            parts.append(np.where(codes == UNKNOWN, np.nan, np.column_stack(columns)))
        return np.concatenate(parts)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def _chunks(self) -> Iterator[np.ndarray]:
        chain: Any = self.model.chain
        width = chain.n_labels if chain.is_linear else max(chain.n_labels, self.fold.X.shape[1])
        for rows in row_blocks(len(chain.rows), max(CHUNK_CELLS // width, MIN_CHUNK_ROWS)):
            yield chain.rows[rows]


class CandidateClassifier(ClassifierMixin, BaseEstimator):
    """A candidate as scorers see it: fitted, with labels in the user's classes.

    Not meant to be fitted, cloned or kept.

    Parameters
    ----------
    candidate : Candidate
    """

    unknown = None

    def __init__(self, candidate: Candidate):
        self.candidate = candidate

    @property
    def classes_(self) -> list[np.ndarray]:
        """The classes of each label."""
        return self.candidate.codec.classes

    @property
    def order_(self) -> np.ndarray:
        """The label at each position."""
        return self.candidate.model.order

    def fit(self, X: Any, Y: Any) -> CandidateClassifier:
        """Refuse: this is fitted."""
        raise TypeError("a scorer cannot fit the classifier that it is given.")

    def decide(self, X: Any) -> Decision:
        """Return the predictions with what is proven about them."""
        own = self.candidate
        if X is own.fold.X:
            decision = own.decision
        else:
            decision = self._any_x.decide(X, loss=own.loss, rng=np.random.default_rng(own.seed))
        return decision.with_labels(own.codec.decode(decision.labels))

    def predict(self, X: Any) -> np.ndarray:
        """Return label vectors in the user's classes."""
        return self.decide(X).labels

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Return the marginal probabilities of each label."""
        model, X = self._model_for(X)
        tree = PrefixTree(model.chain, X)
        return marginals(tree, rng=np.random.default_rng(self.candidate.seed)).in_order(model.positions).proba

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x), of the known labels where some are unknown."""
        model, X = self._model_for(X)
        return log_joint(model, X, self.candidate.codec.encode(Y, name="Y"), self.candidate.seed)

    @cached_property
    def _any_x(self) -> ChainModel:
        chain: Any = self.candidate.model.chain
        return ChainModel(chain.as_chain(), self.candidate.model.inference)

    def _model_for(self, X: Any) -> tuple[ChainModel, Any]:
        model: Any = self.candidate.model
        return (model, model.chain.rows) if X is self.candidate.fold.X else (self._any_x, X)


def log_joint(model: ChainModel, X: Any, codes: np.ndarray, seed: int) -> np.ndarray:
    """Return log p(known labels | x), of shape (n,)."""
    complete = (codes != UNKNOWN).all(axis=1)
    result = np.empty(len(codes))
    for rows, is_complete in ((np.flatnonzero(complete), True), (np.flatnonzero(~complete), False)):
        if len(rows):
            some = X if len(rows) == len(codes) else take_rows(X, rows)
            if is_complete:
                result[rows] = model.log_joint(some, codes[rows])
            else:
                result[rows] = model.log_evidence(some, codes[rows], rng=np.random.default_rng(seed))[0]
    return result
