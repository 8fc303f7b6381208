"""Voting: each model decides for itself, and each label goes to the class with the most votes."""

from __future__ import annotations

import numpy as np

from montechain.distributions import Marginals
from montechain.inference.decision import Decision
from montechain.losses import ExactMatch
from montechain.population.population import Combination, Population
from montechain.population.search import log_sum
from montechain.targets import CODE

__all__ = ["Vote"]

TIE = 1e-12
"""Weighted votes closer than this count as equal: they differ by rounding only."""


class Vote(Combination):
    """Let each model decide by its own inference, and each label go to the class with the most weighted votes.

    This is the combination of ensembles of classifier chains, ECC (Read et al. 2011). Of classes with equally many
    votes the first is taken. The answer may be a vector that no model has given, and it is not exact for any loss. The
    models' own upper bounds give one for the mixture, so a row on which all models agree, each with proof, is certified
    for exact match.

    Cost: each model's inference.

    References
    ----------
    Read, Pfahringer, Holmes and Frank (2011). Classifier chains for multi-label classification.
    Machine Learning 85.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.losses import check_loss
    >>> from montechain.seen_vectors import FrequencyModel
    >>> vectors = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    >>> models = [FrequencyModel(vectors, np.array(counts), [2, 2]) for counts in ([3, 1, 1], [1, 3, 1], [1, 1, 3])]
    >>> loss = check_loss("exact_match", classes=[np.arange(2)] * 2, order=range(2))
    >>> Vote().decide(Population(models), np.zeros((1, 1)), loss=loss, rng=np.random.default_rng(0)).labels
    array([[0, 1]], dtype=int32)
    """

    def __init__(self) -> None:
        pass

    def decide(self, population, X, *, loss, given=None, rng):  # noqa: D102
        decisions = [model.decide(X, loss=loss, given=given, rng=rng) for model in population.models]
        votes = _votes(population, decisions)
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

    def marginals(self, population, X, *, loss=None, given=None, rng):
        """Return the shares of the votes. Without a `loss`, for exact match.

        They say nothing about the probabilities under the mixture, so the error is only bounded by one.
        """
        loss = ExactMatch() if loss is None else loss
        shares = _votes(population, [model.decide(X, loss=loss, given=given, rng=rng) for model in population.models])
        n_rows = X.shape[0]
        nothing = [np.zeros_like(share) for share in shares]
        return Marginals(shares, nothing, np.ones((n_rows, population.n_labels)), np.zeros(n_rows, dtype=bool))


def first_of_the_largest(shares: np.ndarray) -> np.ndarray:
    """Return for each row the first class whose share is the largest, but for rounding."""
    return (shares >= shares.max(axis=1, keepdims=True) - TIE).argmax(axis=1)


def _votes(population: Population, decisions: list[Decision]) -> list[np.ndarray]:
    """Return the weight of the models that chose each class: for each label an array of shape (n, K)."""
    rows = np.arange(len(decisions[0].labels))
    votes = [np.zeros((len(rows), k)) for k in population.n_classes]
    for weight, decision in zip(population.weights, decisions, strict=True):
        for label, classes in enumerate(decision.labels.T):
            votes[label][rows, classes] += weight
    return votes
