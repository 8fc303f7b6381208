"""Several chains with weights, and what every way to get one answer from them has in common.

A chain speaks of positions; a population speaks of labels. Label vectors, marginals and what is known have one column,
or one array, per *label*, and each chain translates through its own order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, overload

import numpy as np
from sklearn.base import BaseEstimator

from montechain._savable import require, savable
from montechain.chain import CODE, ChainBase, PrefixTree
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.base import Decision, Inference, TopK
from montechain.inference.enumeration import PRECISE, Effort, evidence
from montechain.links.linear import LinearScores
from montechain.losses import Loss

__all__ = ["Combination", "Population", "StackedScores"]

WEIGHTS_ERROR = 1e-5
"""Error of the chains' weights, under given labels, above which marginals count as estimates."""


class OrderedChain(Protocol):
    """A chain that says which label stands at each of its positions."""

    order: Sequence[int]


@dataclass(frozen=True)
class StackedScores(LinearScores):
    """What kernels see of M label-linear chains over the same L labels and a batch of n rows.

    The score columns of the chains lie side by side, W of them in all, so chains with links of different kinds
    stack as well. Everything is in the positions of each chain.

    Parameters
    ----------
    base : float64 ndarray of shape (n, W)
    effects : float64 ndarray of shape (W, A)
    score_start : int64 ndarray of shape (M, L + 1)
        The scores of position k of chain j are the columns ``score_start[j, k]:score_start[j, k + 1]``.
    score_weight : float64 ndarray of shape (W,)
    response, n_classes : int64 ndarrays of shape (M, L)
    active_start : int64 ndarray of shape (M, L + 1)

    See Also
    --------
    montechain.links.linear.LinearScores : The same for one chain, where the fields are explained.
    """


@savable
class Population:
    """Several chains over the same labels, with weights: p(y | x) = sum_j w_j p(y | x, s_j).

    Parameters
    ----------
    chains : sequence of ChainBase
        Each with its own `order`: the label at each position.
    weights : sequence of float, optional
        Not negative, and not all zero; they are divided by their sum. Equal by default. Chains of weight zero
        are left out.

    Attributes
    ----------
    chains : tuple of ChainBase
    weights : ndarray of shape (M,)
    orders : int64 ndarray of shape (M, L)
        The label at each position of each chain.
    positions : int64 ndarray of shape (M, L)
        The position of each label in each chain.
    n_classes : tuple of L ints
        Number of classes of each label.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.links.linear import FittedLinearLink
    >>> likely = FittedLinearLink.constant(np.log([0.2, 0.8]), n_features=1, parents_n_classes=())
    >>> unlikely = FittedLinearLink.constant(np.log([0.6, 0.4]), n_features=1, parents_n_classes=())
    >>> chains = [Chain([0, 1], [(), ()], [likely, unlikely]), Chain([1, 0], [(), ()], [likely, unlikely])]
    >>> population = Population(chains, weights=[3, 1])
    >>> np.exp(population.log_joint(np.zeros((1, 1)), np.array([[1, 0]]))).round(3)
    array([0.38])
    """

    def __init__(self, chains: Sequence[ChainBase], weights: Any = None):
        if len(chains) == 0:
            raise ValueError("a population needs at least one chain.")
        weights = np.ones(len(chains)) if weights is None else np.asarray(weights, dtype=np.float64)
        if weights.shape != (len(chains),):
            raise ValueError(
                f"`weights` has shape {weights.shape} for {len(chains)} chains: give one number per chain."
            )
        if not np.isfinite(weights).all() or (weights < 0.0).any() or not (weights > 0.0).any():
            raise ValueError(
                f"`weights={weights.tolist()}` must be finite, not negative and not all zero. For payoffs that can be "
                "negative, pass e.g. exp(payoff - largest payoff)."
            )
        orders = [tuple(int(label) for label in cast(OrderedChain, chain).order) for chain in chains]
        for order, chain in zip(orders, chains, strict=True):
            if sorted(order) != list(range(chain.n_labels)):
                raise ValueError(
                    f"the order {list(order)} of a chain is not a permutation of its {chain.n_labels} labels."
                )
        by_label = [
            tuple(chain.n_classes[k] for k in np.argsort(order)) for order, chain in zip(orders, chains, strict=True)
        ]
        if len(set(by_label)) > 1:
            other = next(n_classes for n_classes in by_label if n_classes != by_label[0])
            raise ValueError(
                f"the chains of a population must have the same labels and classes, but the labels of one have "
                f"{list(by_label[0])} classes and those of another {list(other)}."
            )
        # Relative to the largest first, so that tiny weights do not underflow in the sum.
        weights = weights / weights.max()
        kept = np.flatnonzero(weights > 0.0).tolist()
        self.chains = tuple(chains[j] for j in kept)
        self.weights = weights[kept] / weights[kept].sum()
        self.orders = np.array([orders[j] for j in kept], dtype=np.int64)
        self.positions = np.argsort(self.orders, axis=1)
        self.n_classes = by_label[0]

    def _check_loaded(self) -> None:
        require(all(isinstance(chain, ChainBase) for chain in self.chains), "a population does not hold chains")
        again = Population(self.chains, self.weights)
        fits = self.n_classes == again.n_classes and self.weights.shape == again.weights.shape
        for name in ("orders", "positions"):
            own, true = getattr(self, name), getattr(again, name)
            fits = fits and own.dtype == true.dtype and np.array_equal(own, true)
        require(fits, "the orders, classes or weights of a population do not match its chains")

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_chains(self) -> int:
        """Number of chains M of positive weight."""
        return len(self.chains)

    @overload
    def by_position(self, j: int, Y: np.ndarray) -> np.ndarray: ...

    @overload
    def by_position(self, j: int, Y: None) -> None: ...

    def by_position(self, j: int, Y: np.ndarray | None) -> np.ndarray | None:
        """Return columns in the order of the labels as columns in the order of chain `j`; None stays None."""
        return None if Y is None else np.ascontiguousarray(Y[..., self.orders[j]], dtype=CODE)

    def by_label(self, j: int, Y: np.ndarray) -> np.ndarray:
        """Return columns in the order of chain `j` as columns in the order of the labels."""
        return np.ascontiguousarray(Y[..., self.positions[j]])

    def scores(self, X: Any) -> StackedScores | None:
        """Return the label-linear scores of a batch under all chains, or None if some chain has none."""
        parts = []
        for chain in self.chains:
            part = chain.scores(X)
            if part is None:
                return None
            parts.append(part)
        starts = np.cumsum([0] + [part.base.shape[1] for part in parts])
        return StackedScores(
            base=np.concatenate([part.base for part in parts], axis=1),
            effects=np.concatenate([part.effects for part in parts]),
            score_start=np.stack([part.score_start + start for part, start in zip(parts, starts, strict=False)]),
            score_weight=np.concatenate([part.score_weight for part in parts]),
            response=np.stack([part.response for part in parts]),
            n_classes=np.stack([part.n_classes for part in parts]),
            active_start=np.stack([part.active_start for part in parts]),
        )

    def log_joint(self, X: Any, Y: np.ndarray) -> np.ndarray:
        """Return the mixture's log p(y | x) for each row; `Y` holds one complete label vector per row."""
        by_chain = [chain.log_joint(X, self.by_position(j, Y)) for j, chain in enumerate(self.chains)]
        return log_sum(np.column_stack(by_chain) + np.log(self.weights))

    def log_evidence(self, X: Any, given: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        """Return the mixture's log p(known labels | x), the others summed out, of shape (n,)."""
        return self.evidence(X, given, rng=rng)[0]

    def evidence(
        self, X: Any, given: np.ndarray, *, rng: np.random.Generator, effort: Effort = PRECISE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the mixture's log p(known labels | x) and its relative error, each of shape (n,)."""
        log_evidence, errors = self._evidence(X, given, rng, effort)
        return log_sum(log_evidence + np.log(self.weights)), errors.max(axis=1)

    def _evidence(
        self, X: Any, given: np.ndarray, rng: np.random.Generator, effort: Effort
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(known labels | x) under each chain and its relative error, each of shape (n, M)."""
        found = [
            evidence(PrefixTree(chain, X, self.by_position(j, given)), effort, rng=rng)
            for j, chain in enumerate(self.chains)
        ]
        return np.column_stack([value for value, _ in found]), np.column_stack([error for _, error in found])

    def weights_given(
        self, X: Any, given: np.ndarray | None, *, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the chains in each row once some labels are known, and a bound on their error.

        By Bayes' rule a chain's weight is multiplied by its probability of what is known.

        Returns
        -------
        weights : ndarray of shape (n, M)
            Sum to one in each row.
        error : ndarray of shape (n,)
            The weights of any set of chains are off by no more than this, all together.
        """
        if given is None or self.n_chains == 1:
            return np.tile(self.weights, (X.shape[0], 1)), np.zeros(X.shape[0])
        # Nothing is drawn from `rng` for good: a row of which nothing is known must not depend on the others.
        state = rng.bit_generator.state
        log_evidence, errors = self._evidence(X, given, rng, PRECISE)
        rng.bit_generator.state = state
        log_weights = log_evidence + np.log(self.weights)
        total = log_sum(log_weights)
        # Where what is known is impossible under every chain, it says nothing about them.
        impossible = np.isneginf(total)
        log_weights[impossible], total[impossible] = np.log(self.weights), 0.0
        weights = np.exp(log_weights - total[:, None])
        return weights, np.where(impossible, 1.0, np.minimum(1.0, 2.0 * errors.max(axis=1)))

    def sample(
        self, X: Any, chain_uniforms: np.ndarray, uniforms: np.ndarray, given: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw label vectors from the mixture: a chain by its weight, then a vector from it, link by link.

        Parameters
        ----------
        X : array, CSR matrix or data frame of n rows
        chain_uniforms : ndarray of shape (n, S) or (1, S)
            Uniform numbers in [0, 1) that choose the chains. With a first axis of length one, all rows share them.
        uniforms : ndarray of shape (n, S, L) or (1, S, L)
            Uniform numbers that choose the classes, one for each position of the chain; see `ChainBase.sample`.
        given : int32 ndarray of shape (n, L), optional
            Known classes by label, -1 elsewhere: a known class is taken, not drawn.

        Returns
        -------
        labels : int32 ndarray of shape (n, S, L)
        log_weight : ndarray of shape (n, S)
            Importance weight of each draw for the mixture's p(y | x, given); zero where nothing is known.
        """
        n_rows, n_samples = X.shape[0], uniforms.shape[1]
        chosen = np.broadcast_to(self.draw_chains(chain_uniforms), (n_rows, n_samples))
        labels = np.empty((n_rows, n_samples, self.n_labels), dtype=CODE)
        log_weight = np.zeros((n_rows, n_samples))
        for j, chain in enumerate(self.chains):
            # In each row first the samples that want this chain, as many as the row with the most of them has.
            wanted = np.argsort(chosen != j, axis=1, kind="stable")[:, : (chosen == j).sum(axis=1).max(initial=0)]
            if wanted.size == 0:
                continue
            rows = np.arange(n_rows)[:, None]
            table = np.ascontiguousarray(uniforms[rows if len(uniforms) > 1 else 0, wanted])
            drawn, drawn_weight = chain.sample(X, table, self.by_position(j, given))
            row, column = np.nonzero(chosen[rows, wanted] == j)
            labels[row, wanted[row, column]] = self.by_label(j, drawn[row, column])
            log_weight[row, wanted[row, column]] = drawn_weight[row, column]
        return labels, log_weight

    def draw_chains(self, uniforms: np.ndarray) -> np.ndarray:
        """Return for each uniform number the chain at which the cumulative weight first exceeds it."""
        # The last chain takes what rounding leaves.
        return np.searchsorted(np.cumsum(self.weights)[:-1], uniforms, side="right")


class Combination(BaseEstimator, ABC):
    """From several chains and x to one label vector. One way, one file.

    All arguments and results are in label order and codes. The `loss` is bound to that order, that is, by
    ``check_loss(loss, classes=classes, order=range(L))``. `inference` is the strategy for a single chain. `rng` is
    a `numpy.random.Generator`; how much is drawn from it does not depend on the rows.
    """

    @abstractmethod
    def decide(
        self,
        population: Population,
        X: Any,
        *,
        loss: Loss,
        inference: Inference,
        given: np.ndarray | None = None,
        rng: np.random.Generator,
    ) -> Decision:
        """Return one label vector for each row, and what is proven about it.

        `log_proba` and `upper_bound` of the decision are those of the mixture, whatever the combination.
        """

    def marginals(
        self,
        population: Population,
        X: Any,
        *,
        inference: Inference,
        loss: Loss | None = None,
        given: np.ndarray | None = None,
        rng: np.random.Generator,
    ) -> Marginals:
        """Return the probabilities of each label's classes, given what is known, with bounds.

        Unless a combination says otherwise, these are the chains' own marginals, averaged by weight. With knowledge
        given, a chain's weight is multiplied by its probability of what is known. `loss` is for combinations whose
        probabilities come from the chains' decisions.
        """
        weights, error = population.weights_given(X, given, rng=rng)
        proba, lower = ([np.zeros((X.shape[0], k)) for k in population.n_classes] for _ in range(2))
        # Weights that are off by `error` can raise one class and lower another by as much.
        unresolved = np.tile(2.0 * error[:, None], (1, population.n_labels))
        estimated = error > WEIGHTS_ERROR
        for j, chain in enumerate(population.chains):
            own = inference.marginals(chain, X, given=population.by_position(j, given), rng=rng)
            own = own.in_order(population.positions[j])
            unresolved += weights[:, [j]] * own.unresolved
            estimated |= own.estimated
            for label in range(population.n_labels):
                proba[label] += weights[:, [j]] * own.proba[label]
                lower[label] += weights[:, [j]] * own.lower[label]
        return Marginals(proba, [np.maximum(mass - error[:, None], 0.0) for mass in lower], unresolved, estimated)

    def top_k(self, population: Population, X: Any, k: int, *, given: np.ndarray | None = None) -> TopK:
        """Return the k label vectors that are most probable under the mixture, best first.

        There are ``min(k, number of label vectors)`` places. Where fewer vectors than that agree with `given` and
        have a positive probability, the places left over hold labels of -1 and a log-probability of minus infinity.
        """
        from montechain.population.mixture import Mixture

        return Mixture().top_k(population, X, k, given=given)


def log_sum(values: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exp(values) over the last axis."""
    largest = values.max(axis=-1, keepdims=True)
    shift = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - shift).sum(axis=-1)) + shift[..., 0]


def joined(
    parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], residual: np.ndarray, estimated: np.ndarray
) -> LabelDistribution:
    """Return one distribution from several (rows, labels, weights)."""
    rows, labels, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(len(residual) + 1))
    return LabelDistribution(indptr, labels[order], weights[order], residual, estimated)
