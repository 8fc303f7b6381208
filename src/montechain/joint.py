"""Joint models: anything that gives p(y | x) over label vectors.

A joint model answers a handful of queries about whole label vectors. Everything is in integer codes with one column
per *label*; what is known beforehand (`given`) has the same shape, with `UNKNOWN` elsewhere. A chain with its inference
strategy is a joint model (`ChainModel`), and so are distributions over the vectors seen in training
(`montechain.seen_vectors`), weighted mixtures of joint models of any kind (`montechain.population`) and, for the
queries it can answer, a dependency network (`montechain.network`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from montechain._rows import join_rows, row_blocks, take_rows
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import BranchAndBound, Inference
from montechain.inference.decision import Decision, TopK
from montechain.inference.enumeration import Effort, evidence
from montechain.losses import Hamming, Loss
from montechain.prefix_tree import CELLS_AT_ONCE, ChainBase, PrefixTree
from montechain.targets import CODE, UNKNOWN

ROWS_AT_ONCE = 256
"""Rows whose weighted label vectors are held in memory together."""
EVIDENCE_RESIDUAL = 1e-3
"""Relative error allowed in the probability of the given labels, by which regrets are divided."""
SAMPLING_RESIDUAL = 1e-3
"""Probability mass that may be left out when label vectors are drawn given some of the labels."""


class JointModel(ABC):
    """A distribution p(y | x) over label vectors.

    A concrete model answers the abstract queries; `decide` and `sample` follow from them. Models that draw use `rng`.
    """

    n_classes: tuple[int, ...]
    """Number of classes of each label."""
    n_scores: int = 0
    """Number of label-linear scores of a row, 0 if the model asks general classifiers. Chunks are sized by it."""
    width: int = 1
    """Number of label vectors that are held in memory for a row."""
    n_models: int = 1
    """Number of models whose label vectors are held in memory together."""
    is_sampling: bool = False
    """Whether marginals are estimated from draws by choice, not because a budget has ended."""
    sees_every_cell: bool = False
    """Whether a non-finite cell of X always raises a `NonFiniteError`, so that X need not be checked beforehand."""

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @abstractmethod
    def log_joint(self, X: Any, Y: np.ndarray) -> np.ndarray:
        """Return log p(y | x) of one complete label vector per row."""

    def log_joint_at(self, X: Any, rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Return log p(vector | x) of m label vectors, each for one of the `rows` of X, of shape (m,)."""
        n_each = max(1, CELLS_AT_ONCE // max(1, X.shape[1]))
        blocks = (own for own in row_blocks(len(rows), n_each) if own.stop > own.start)
        parts = [self.log_joint(take_rows(X, rows[own]), vectors[own]) for own in blocks]
        return np.concatenate([np.empty(0), *parts])

    def evaluated(self, X: Any) -> JointModel:
        """Return a model that gives the same answers for these rows of X, and does no work twice."""
        return self

    @abstractmethod
    def log_evidence(
        self, X: Any, given: np.ndarray, *, rng: np.random.Generator, residual: float = 1e-6
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(known labels | x) and its relative error, each of shape (n,); `residual` is the one aimed at."""

    def log_known(self, X: Any, codes: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """Return log p(known labels | x) of `codes`, in which some labels may be unknown."""
        return self.log_joint(X, codes) if (codes != UNKNOWN).all() else self.log_evidence(X, codes, rng=rng)[0]

    @abstractmethod
    def most_probable(self, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator) -> Decision:
        """Return the most probable label vector of each row, of those that agree with `given`."""

    @abstractmethod
    def top_k(self, X: Any, k: int, *, given: np.ndarray | None = None) -> TopK:
        """Return the k most probable label vectors of each row, best first; labels of -1 where there are fewer."""

    @abstractmethod
    def marginals(
        self, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator, loss: Loss | None = None
    ) -> Marginals:
        """Return the probabilities of each label's classes; `loss` matters only where they are shares of decisions."""

    @abstractmethod
    def distribution(
        self, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator, residual: float | None = None
    ) -> LabelDistribution:
        """Return weighted label vectors over which a loss can be minimised.

        `residual` is the mass that may be left out; None leaves that to the model's own strategy.
        """

    @abstractmethod
    def draw(self, X: Any, n_samples: int, *, rng: np.random.Generator) -> np.ndarray:
        """Draw label vectors from p(y | x), independently, of shape (n, n_samples, L)."""

    def sample(
        self, X: Any, n_samples: int, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw label vectors from p(y | x, given), of shape (n, n_samples, L): see `JointClassifier.sample`."""
        if given is None:
            return self.draw(X, n_samples, rng=rng)
        uniforms = rng.random((X.shape[0], n_samples))
        parts = []
        for rows in row_blocks(X.shape[0], ROWS_AT_ONCE):
            found = self.distribution(take_rows(X, rows), given=given[rows], rng=rng, residual=SAMPLING_RESIDUAL)
            parts.append(found.draw(uniforms[rows]))
        return np.concatenate(parts)

    def decide(self, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator) -> Decision:
        """Return the label vectors of least expected loss; `loss` is bound to the labels in the order of y."""
        if loss.is_exact_match:
            return self.most_probable(X, given=given, rng=rng)
        if isinstance(loss, Hamming):
            labels, *proven = loss.decide_marginals(self.marginals(X, given=given, rng=rng), given)
            return Decision.least_loss(labels, self.log_joint(X, labels), *proven)
        # Only some rows at a time, since a row may have thousands of vectors.
        parts = []
        for rows in row_blocks(X.shape[0], max(1, ROWS_AT_ONCE // self.n_models), rng):
            block, known = take_rows(X, rows), None if given is None else given[rows]
            labels, *proven = loss.decide(self.distribution(block, given=known, rng=rng), given=known)
            parts.append(Decision.least_loss(labels, self.log_joint(block, labels), *proven))
        return join_rows(parts)

    def conditional_on_given(self, decision: Decision, X: Any, given: np.ndarray) -> Decision:
        """Return a decision for exact match with its expected loss and regret conditional on the given labels."""
        rng = np.random.default_rng(0)
        return decision.relative_to(*self.log_evidence(X, given, rng=rng, residual=EVIDENCE_RESIDUAL))


@savable
class ChainModel(JointModel):
    """A chain with its inference strategy. Translates between labels and the positions of the chain."""

    def __init__(self, chain: ChainBase, inference: Inference):
        self.chain = chain
        self.inference = inference
        self.order = np.asarray(chain.order, dtype=np.int64)
        is_permutation = sorted(self.order.tolist()) == list(range(chain.n_labels))
        problem = f"the order {self.order.tolist()} of a chain is not a permutation of its {chain.n_labels} labels."
        require(is_permutation, problem)
        self.positions = np.argsort(self.order)
        self.is_in_order = bool((self.order == np.arange(chain.n_labels)).all())
        self.n_classes = tuple(chain.n_classes[k] for k in self.positions)
        self.n_scores = chain.n_scores
        self.is_sampling = inference.is_sampling
        # Zero times NaN is NaN. Links that are all constant do not look at X.
        self.sees_every_cell = isinstance(chain, Chain) and chain.scorer is not None and bool(chain.scorer.coef.any())

    def __getstate__(self) -> dict[str, Any]:
        return {"chain": self.chain, "inference": self.inference}

    def __setstate__(self, state: dict[str, Any]) -> None:
        require(isinstance(state["chain"], ChainBase), "the chain is not a Chain")
        require(isinstance(state["inference"], Inference), "the inference strategy is not an Inference")
        self.__init__(state["chain"], state["inference"])  # type: ignore[misc]

    def by_position(self, Y: np.ndarray | None) -> Any:
        """Return columns in the order of the labels as columns in the order of the chain; None stays None."""
        return None if Y is None else np.ascontiguousarray(Y[..., self.order], dtype=CODE)

    def by_label(self, Y: np.ndarray) -> np.ndarray:
        """Return columns in the order of the chain as columns in the order of the labels."""
        return Y if self.is_in_order else Y.take(self.positions, axis=-1)

    def log_joint(self, X, Y):  # noqa: D102
        return self.chain.log_joint(X, self.by_position(Y))

    def log_joint_at(self, X, rows, vectors):  # noqa: D102
        return PrefixTree(self.chain, X).log_joint(self.by_position(vectors), rows)

    def _tree(self, X, given):
        return PrefixTree(self.chain, X, self.by_position(given))

    def log_evidence(self, X, given, *, rng, residual=1e-6):  # noqa: D102
        return evidence(self._tree(X, given), Effort(residual), rng=rng)

    def most_probable(self, X, *, given=None, rng):  # noqa: D102
        found = self.inference.search(self._tree(X, given), rng)
        return found.with_labels(self.by_label(found.labels))

    def decide(self, X, *, loss, given=None, rng):  # noqa: D102
        tree = self._tree(X, given)
        if loss.is_exact_match:
            found = self.inference.search(tree, rng)
        else:  # bound to the labels in their order before, and now to the positions of the chain
            found = self.inference.decide(tree, loss.bind(loss.classes_, self.order), rng)
        return found if self.is_in_order else found.with_labels(self.by_label(found.labels))

    def top_k(self, X, k, *, given=None):  # noqa: D102
        top = self.inference.top_k(self._tree(X, given), k)
        return replace(top, labels=self.by_label(top.labels))

    def marginals(self, X, *, given=None, rng, loss=None):  # noqa: D102
        return self.inference.marginals(self._tree(X, given), rng).in_order(self.positions)

    def distribution(self, X, *, given=None, rng, residual=None):  # noqa: D102
        inference = self.inference if residual is None else BranchAndBound(residual=residual)
        found = inference.weigh(self._tree(X, given), rng)
        return replace(found, labels=self.by_label(found.labels))

    def draw(self, X, n_samples, *, rng):  # noqa: D102
        uniforms = rng.random((X.shape[0], n_samples, self.n_labels))
        return self.by_label(self.chain.sample(X, uniforms)[0])
