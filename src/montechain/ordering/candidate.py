"""A candidate order on the validation rows: what payoffs ask of it, and as a classifier for scorers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from montechain._rows import join_rows, row_blocks, take_rows
from montechain.inference import Decision
from montechain.inference.enumeration import Effort
from montechain.inference.marginals import marginals
from montechain.joint import ChainModel
from montechain.links import LinkProblem
from montechain.losses import Loss
from montechain.ordering.link_cache import LinkCache
from montechain.ordering.payoffs import J_EM_prod, Payoff
from montechain.prefix_tree import PrefixTree
from montechain.targets import UNKNOWN, TargetCodec

__all__ = ["Candidate", "Fold"]

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

    def log_likelihood(self, problem: LinkProblem) -> float:
        """Return the sum of log p(true class | x, true parents) over the rows in which the label is known."""
        (link,) = self.cache.links([problem])
        log_proba = link.log_proba(self.X, self.filled[:, sorted(problem.parents)])
        own = self.codes[:, problem.label]
        known = np.flatnonzero(own != UNKNOWN)
        return J_EM_prod(log_proba[known, own[known]], None if self.weight is None else self.weight[known])


class Candidate(ClassifierMixin, BaseEstimator):
    """A candidate, fitted, with labels in the user's classes. What payoffs need is computed once.

    Not meant to be fitted, cloned or kept.

    Parameters
    ----------
    model : ChainModel
    fold : Fold
    loss : Loss
        Bound to the labels as they stand in y.
    codec : TargetCodec
    on : {"prediction", "truth"}
        Whose labels payoffs are about.
    seed : int
    """

    unknown = None

    def __init__(self, model: ChainModel, fold: Fold, loss: Loss, codec: TargetCodec, on: str, seed: int):
        self.model = model
        self.fold = fold
        self.loss = loss
        self.codec = codec
        self.on = on
        self.seed = seed

    def value(self, payoff: Payoff) -> float:
        """Return a payoff of this chain."""
        if payoff.of == "joint":
            return payoff.function(self._log_proba, self.fold.weight)
        if payoff.of == "marginals":
            return payoff.function(self._label_proba, self.fold.weight)
        return payoff.function(self, self.fold.X, self.codec.decode_array(self.fold.codes))

    @property
    def classes_(self) -> list[np.ndarray]:
        """The classes of each label."""
        return self.codec.classes

    @property
    def order_(self) -> np.ndarray:
        """The label at each position."""
        return self.model.order

    def fit(self, X: Any, Y: Any) -> Candidate:
        """Refuse: this is fitted."""
        raise TypeError("a scorer cannot fit the classifier that it is given.")

    def decide(self, X: Any) -> Decision:
        """Return the predictions with what is proven about them."""
        decision = self._decision if X is self.fold.X else self._decide(X)
        return decision.with_labels(self.codec.decode(decision.labels))

    def predict(self, X: Any) -> np.ndarray:
        """Return label vectors in the user's classes."""
        return self.decide(X).labels

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Return the marginal probabilities of each label."""
        return self._marginals(X)

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x), of the known labels where some are unknown."""
        return self._log_joint(X, self.codec.encode(Y, name="Y"))

    @cached_property
    def _decision(self) -> Decision:
        return join_rows([self._decide(take_rows(self.fold.X, rows)) for rows in self._chunks()])

    @cached_property
    def _labels(self) -> np.ndarray:
        """The labels that payoffs are about, one column per label; -1 where they are unknown."""
        return self._decision.labels if self.on == "prediction" else self.fold.codes

    @cached_property
    def _log_proba(self) -> np.ndarray:
        """Their log-probabilities, of shape (n,)."""
        if self.on == "prediction":
            return self._decision.log_proba
        parts = [self._log_joint(take_rows(self.fold.X, rows), self._labels[rows]) for rows in self._chunks()]
        return np.concatenate(parts)

    @cached_property
    def _label_proba(self) -> np.ndarray:
        """The marginal probability of each of these labels, of shape (n, L); NaN where a label is unknown."""
        parts = []
        for rows in self._chunks():
            proba = self._marginals(take_rows(self.fold.X, rows), Effort(RESIDUAL))
            codes = self._labels[rows]
            columns = [own[np.arange(len(own)), np.maximum(c, 0)] for own, c in zip(proba, codes.T, strict=True)]
            parts.append(np.where(codes == UNKNOWN, np.nan, np.column_stack(columns)))
        return np.concatenate(parts)

    def _decide(self, X: Any) -> Decision:
        return self.model.decide(X, loss=self.loss, rng=np.random.default_rng(self.seed))

    def _marginals(self, X: Any, *effort: Effort) -> list[np.ndarray]:
        found = marginals(PrefixTree(self.model.chain, X), *effort, rng=np.random.default_rng(self.seed))
        return found.in_order(self.model.positions).proba

    def _log_joint(self, X: Any, codes: np.ndarray) -> np.ndarray:
        """Return log p(known labels | x), of shape (n,)."""
        complete = (codes != UNKNOWN).all(axis=1)
        result = np.empty(len(codes))
        if complete.any():
            result[complete] = self.model.log_joint(take_rows(X, np.flatnonzero(complete)), codes[complete])
        if not complete.all():
            some, rng = take_rows(X, np.flatnonzero(~complete)), np.random.default_rng(self.seed)
            result[~complete] = self.model.log_evidence(some, codes[~complete], rng=rng)[0]
        return result

    def _chunks(self) -> Iterator[slice]:
        n_rows, n_columns = self.fold.X.shape
        return row_blocks(n_rows, max(CHUNK_CELLS // max(n_columns, self.model.n_labels), MIN_CHUNK_ROWS))
