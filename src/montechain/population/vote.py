"""Voting: each chain decides for itself, and each label goes to the class with the most votes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from montechain.chain import CODE
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.base import Decision, Inference
from montechain.losses import ExactMatch, Hamming, Loss
from montechain.population.base import Combination, Population, log_sum

__all__ = ["Vote"]

TIE = 1e-12
"""Weighted votes closer than this count as equal: they differ by rounding only."""


class Vote(Combination):
    """Let each chain decide by its own inference, and each label go to the class with the most weighted votes.

    This is the combination of ensembles of classifier chains, ECC (Read et al. 2011). Of classes with equally many
    votes the first is taken. The answer may be a vector that no chain has given, and it is not exact for any
    loss. The chains' own upper bounds give one for the mixture; so a row on which all chains agree, each with proof,
    is certified for exact match.

    Cost: each chain's inference.

    References
    ----------
    Read, Pfahringer, Holmes and Frank (2011). Classifier chains for multi-label classification.
    Machine Learning 85.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference.greedy import Greedy
    >>> from montechain.links.linear import FittedLinearLink
    >>> from montechain.losses import check_loss
    >>> from montechain.population.base import Population
    >>> likely = FittedLinearLink.constant(np.log([0.2, 0.8]), n_features=1, parents_n_classes=())
    >>> unlikely = FittedLinearLink.constant(np.log([0.6, 0.4]), n_features=1, parents_n_classes=())
    >>> chains = [Chain([0, 1], [(), ()], [likely, unlikely]), Chain([1, 0], [(), ()], [likely, unlikely])]
    >>> loss = check_loss("exact_match", classes=[np.arange(2)] * 2, order=range(2))
    >>> Vote().decide(
    ...     Population(chains, [0.6, 0.4]), np.zeros((1, 1)),
    ...     loss=loss, inference=Greedy(), rng=np.random.default_rng(0),
    ... ).labels
    array([[1, 0]], dtype=int32)
    """

    def __init__(self) -> None:
        pass

    def decide(  # noqa: D102
        self,
        population: Population,
        X: Any,
        *,
        loss: Loss,
        inference: Inference,
        given: np.ndarray | None = None,
        rng: np.random.Generator,
    ) -> Decision:
        decisions = list(_decisions(population, X, loss, inference, given, rng))
        votes = _votes(population, [decision.labels for decision in decisions])
        labels = np.column_stack([first_of_the_largest(share) for share in votes]).astype(CODE)
        log_proba = population.log_joint(X, labels)
        bounds = np.column_stack([decision.upper_bound for decision in decisions])
        upper_bound = np.maximum(log_sum(bounds + np.log(population.weights)), log_proba)
        if loss.is_exact_match:
            return Decision.most_probable(labels, log_proba, upper_bound, given=given)
        n_rows = len(labels)
        return Decision(
            labels,
            log_proba,
            upper_bound,
            expected_loss=np.full(n_rows, np.nan),
            regret=np.full(n_rows, loss.worst),
            certified=np.zeros(n_rows, dtype=bool),
        )

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
        """Return the shares of the votes. Without a `loss`, for exact match.

        They say nothing about the probabilities under the mixture, so the error is only bounded by one.
        """
        decisions = _decisions(population, X, loss or ExactMatch(), inference, given, rng)
        votes = _votes(population, [decision.labels for decision in decisions])
        nothing = [np.zeros_like(share) for share in votes]
        n_rows = X.shape[0]
        return Marginals(votes, nothing, np.ones((n_rows, len(votes))), np.zeros(n_rows, dtype=bool))


def first_of_the_largest(shares: np.ndarray) -> np.ndarray:
    """Return for each row the first class whose share is the largest, but for rounding."""
    return (shares >= shares.max(axis=1, keepdims=True) - TIE).argmax(axis=1)


def _decisions(
    population: Population,
    X: Any,
    loss: Loss,
    inference: Inference,
    given: np.ndarray | None,
    rng: np.random.Generator,
) -> Iterator[Decision]:
    for j, chain in enumerate(population.chains):
        of_chain = in_order(loss, population.orders[j])
        yield inference.decide(chain, X, loss=of_chain, given=population.by_position(j, given), rng=rng)


def _votes(population: Population, decided: list[np.ndarray]) -> list[np.ndarray]:
    """Return the weight of the chains that chose each class: for each label an array of shape (n, K)."""
    votes = [np.zeros((len(decided[0]), k)) for k in population.n_classes]
    rows = np.arange(len(decided[0]))
    for j, labels in enumerate(decided):
        for label, classes in enumerate(population.by_label(j, labels).T):
            votes[label][rows, classes] += population.weights[j]
    return votes


def in_order(loss: Loss, order: np.ndarray) -> Loss:
    """Return a loss for the positions of a chain from one that is bound to the order of the labels."""
    if loss.is_exact_match:
        return loss
    if isinstance(loss, Hamming):
        # Strategies decide by the marginals where they recognise this loss, so it is not hidden in another one.
        moved = copy.copy(loss)
        if hasattr(loss, "n_classes_"):
            moved.n_classes_ = loss.n_classes_[order]
        return moved
    return InOrder(loss, order)


class InOrder(Loss):
    """A loss that is bound to the order of the labels, for vectors in another order.

    Parameters
    ----------
    loss : Loss
    order : ndarray of shape (L,)
        The label at each position of the vectors.
    """

    def __init__(self, loss: Loss, order: np.ndarray):
        self.loss = loss
        self.order = order

    def decide(self, distribution, given=None):
        position = np.argsort(self.order)
        by_label = LabelDistribution(
            distribution.indptr,
            np.ascontiguousarray(distribution.labels[:, position]),
            distribution.weights,
            distribution.residual,
            distribution.estimated,
        )
        known = None if given is None else np.ascontiguousarray(given[:, position])
        labels, expected_loss, regret = self.loss.decide(by_label, given=known)
        return labels[:, self.order], expected_loss, regret
