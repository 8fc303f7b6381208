"""A candidate order as a chain over the validation rows, and as a classifier for scorers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing

from montechain.chain import Chain, ChainBase, PrefixTree
from montechain.inference import Decision, Inference
from montechain.inference.enumeration import evidence
from montechain.inference.marginals import marginals
from montechain.links.base import UNKNOWN
from montechain.links.linear import LinearScores
from montechain.losses import Loss
from montechain.ordering.base import Order
from montechain.ordering.link_cache import CachedLink
from montechain.targets import TargetCodec

__all__ = ["CandidateChain", "CandidateClassifier", "log_joint_of_known"]


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
        X = self.X if self._is_everything(X) else _safe_indexing(self.X, X[:, 0])
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


class CandidateClassifier(ClassifierMixin, BaseEstimator):
    """A candidate as scorers want to see it: fitted, with labels in the user's classes.

    Not meant to be fitted, cloned or kept.

    Parameters
    ----------
    chain : CandidateChain
    decision : Decision
        For the validation rows.
    inference : Inference
    loss : Loss
        Bound to the order.
    classes : list of L arrays
    seed : int
    """

    unknown = None

    def __init__(
        self,
        chain: CandidateChain,
        decision: Decision,
        inference: Inference,
        loss: Loss,
        classes: list[np.ndarray],
        seed: int,
    ):
        self.chain = chain
        self.decision = decision
        self.inference = inference
        self.loss = loss
        self.classes = classes
        self.seed = seed

    @property
    def classes_(self) -> list[np.ndarray]:
        """The classes of each label."""
        return self.classes

    @property
    def order_(self) -> np.ndarray:
        """The label at each position."""
        return np.array(self.chain.order)

    def fit(self, X: Any, Y: Any) -> CandidateClassifier:
        """Refuse: this is fitted."""
        raise TypeError("a scorer cannot fit the classifier that it is given.")

    def decide(self, X: Any) -> Decision:
        """Return the predictions with what is proven about them."""
        decision = self.decision
        if X is not self.chain.X:
            chain, rng = self._any_x, np.random.default_rng(self.seed)
            decision = self.inference.decide(chain, X, loss=self.loss, rng=rng)
        values = {field.name: getattr(decision, field.name) for field in fields(decision)}
        return Decision(**{**values, "labels": self._codec.decode(decision.labels[:, np.argsort(self.order_)])})

    def predict(self, X: Any) -> np.ndarray:
        """Return label vectors in the user's classes."""
        return self.decide(X).labels

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Return the marginal probabilities of each label."""
        chain, X = self._chain_for(X)
        proba = marginals(PrefixTree(chain, X), rng=np.random.default_rng(self.seed)).proba
        return [proba[k] for k in np.argsort(self.order_)]

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x), of the known labels where some are unknown."""
        chain, X = self._chain_for(X)
        codes = self._codec.encode(Y, name="Y")[:, self.order_]
        return log_joint_of_known(chain, X, codes, self.seed)

    @cached_property
    def _codec(self) -> TargetCodec:
        return TargetCodec(list(self.classes))

    @cached_property
    def _any_x(self) -> Chain:
        return self.chain.as_chain()

    def _chain_for(self, X: Any) -> tuple[ChainBase, Any]:
        return (self.chain, self.chain.rows) if X is self.chain.X else (self._any_x, X)


def log_joint_of_known(chain: ChainBase, X: Any, codes: np.ndarray, seed: int) -> np.ndarray:
    """Return log p(known labels | x), in chain order, of shape (n,)."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    complete = (codes != UNKNOWN).all(axis=1)
    if complete.all():
        return chain.log_joint(X, codes)
    result = np.empty(len(codes))
    if complete.any():
        result[complete] = chain.log_joint(_safe_indexing(X, np.flatnonzero(complete)), codes[complete])
    rest = np.flatnonzero(~complete)
    tree = PrefixTree(chain, _safe_indexing(X, rest), codes[rest])
    result[rest] = evidence(tree, rng=np.random.default_rng(seed))[0]
    return result
