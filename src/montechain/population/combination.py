"""How several joint models give one answer, and the answer of the mixture itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain.distributions import Marginals
from montechain.inference.decision import Decision
from montechain.joint import JointModel
from montechain.losses import Loss
from montechain.population.population import MAX_NODES, Population

__all__ = ["Combination", "Mixture"]


class Combination(BaseEstimator, ABC):
    """From several joint models and x to one label vector. One way, one file.

    All arguments and results are in codes, one column per label. `rng` is a `numpy.random.Generator`; how much is drawn
    from it does not depend on the rows.
    """

    @abstractmethod
    def decide(
        self, population: Population, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        """Return one label vector for each row, and what is proven about it.

        `log_proba` and `upper_bound` of the decision are those of the mixture, whatever the combination.
        """

    def marginals(
        self,
        population: Population,
        X: Any,
        *,
        loss: Loss | None = None,
        given: np.ndarray | None = None,
        rng: np.random.Generator,
    ) -> Marginals:
        """Return the probabilities of each label's classes: the models' own, averaged by weight."""
        return population.averaged_marginals(X, given=given, rng=rng)


class Mixture(Combination):
    """Average the models' probabilities: p(y | x) = sum_j w_j p_j(y | x).

    For exact match, the vector of the largest average is found with a proof. First each label-linear chain alone is
    searched for its own most probable vector; where all agree, that is the answer. Otherwise the chains' trees of
    prefixes are grown best-first, always the one whose most probable open prefix weighs most, and each vector completed
    is scored under all chains. A vector not seen yet has in each chain at most the probability of the most probable
    open prefix; the search ends when the weighted sum of these cannot exceed the best score. Where the budget ends
    first, the sum is the upper bound. Models of other kinds list their most probable vectors instead.

    For other losses, the models' weighted label vectors are joined; for Hamming loss the marginals are averaged. With
    labels given, a model's weight is then multiplied by its probability of them; the most probable completion needs no
    such thing, since it maximises the joint probability.

    Exact for exact match where certified, whatever the models' own inference is; for other losses within what that
    leaves unexplored.

    Cost: each chain's own search, and then a mean of 6 (Music), 52 (Yeast) and 153 (Enron) prefixes a row for ten
    chains in random orders; more than half of the rows need none. To score a vector takes at most L conditionals per
    chain.

    Parameters
    ----------
    max_nodes : int, default=20000
        Prefixes expanded per row, at most, over all chains, after each chain's own search.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference import BranchAndBound
    >>> from montechain.joint import ChainModel
    >>> from montechain.links.linear import FittedLinearLink
    >>> likely = FittedLinearLink.constant(np.log([0.2, 0.8]), n_features=1, parents_n_classes=())
    >>> unlikely = FittedLinearLink.constant(np.log([0.6, 0.4]), n_features=1, parents_n_classes=())
    >>> chains = [Chain([0, 1], [(), ()], [likely, unlikely]), Chain([1, 0], [(), ()], [likely, unlikely])]
    >>> population = Population([ChainModel(chain, BranchAndBound()) for chain in chains], [0.6, 0.4])
    >>> decision = population.most_probable(np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels, np.exp(decision.log_proba).round(3), decision.certified
    (array([[1, 0]], dtype=int32), array([0.32]), array([ True]))
    """

    def __init__(self, max_nodes: int = MAX_NODES):
        self.max_nodes = max_nodes

    def decide(self, population, X, *, loss, given=None, rng):  # noqa: D102
        return JointModel.decide(population, X, loss=loss, given=given, rng=rng)
