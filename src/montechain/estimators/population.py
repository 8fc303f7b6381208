"""Several chains, several orders: ECC, PMsCC, PtMsCC."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from montechain._compat import check_method_params
from montechain._messages import check_positive_integer
from montechain._rows import take_rows
from montechain._savable import require
from montechain.chain import Chain
from montechain.estimators.checks import remembered
from montechain.estimators.linked import LinkedClassifier
from montechain.inference import check_inference
from montechain.joint import ChainModel, JointModel
from montechain.links import LinkLearner, LinkProblem
from montechain.links.base import UNKNOWN
from montechain.ordering import OrderFinder, SearchResult, check_order
from montechain.parents import arrange
from montechain.population import Population, check_combine
from montechain.population.population import checked_weights

__all__ = ["ChainPopulationClassifier"]


@dataclass(eq=False, repr=False)
class ChainPopulationClassifier(LinkedClassifier):
    """Predict several targets at once with a weighted population of classifier chains.

    Which order a chain has matters, and no single one is right. Several chains, each with its own order, are more
    reliable: as an ensemble that votes (ECC), or as the mixture p(y | x) = sum_j w_j p(y | x, s_j), whose most probable
    label vector is found with a proof.

    Parameters
    ----------
    order : "random", sequence of sequences, or OrderFinder, default="random"
        The orders: at random, given, or searched for, as by ``OrderSearch(keep=10)``.
    n_chains : int, default=10
        Number of random orders. Given orders and a search's `keep` say it themselves.
    combine : {"mixture", "algorithm-4", "vote"} or combination, default="mixture"
        How one answer is made of several: the mixture's best label vector, Algorithm 4 of the paper, or a vote on each
        label (then `predict_proba` returns the shares of votes).
    weights : sequence of float, default=None
        Weights of the chains. None: for searched orders their payoffs (for logarithms of payoffs,
        ``exp(payoff - largest)``), else equal.
    bootstrap : bool, default=False
        Whether each chain learns from rows drawn with replacement.
    inference : str or strategy, default="branch_and_bound"
        How a single chain is searched, where the combination asks for that.
    estimator, parents, loss, unknown, n_jobs, random_state, verbose
        As in `ChainClassifier`.

    Attributes
    ----------
    chains_ : list of M Chain
        The learned chains.
    orders_ : ndarray of shape (M, L)
        The label at each position of each chain.
    weights_ : ndarray of shape (M,)
        Sum to one.
    search_trace_, classes_, target_names_, n_features_in_, feature_names_in_
        As in `ChainClassifier`.

    References
    ----------
    Read, Martino and Luengo (2013), Efficient Monte Carlo methods for multi-dimensional learning with classifier
    chains.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainPopulationClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = ChainPopulationClassifier(n_chains=3, random_state=0).fit(X, Y)
    >>> model.predict(X).shape
    (200, 5)
    >>> model.orders_.shape
    (3, 5)
    """

    estimator: Any = None
    _: KW_ONLY
    order: Any = "random"
    n_chains: int = 10
    combine: Any = "mixture"
    weights: Any = None
    bootstrap: bool = False
    parents: Any = "all"
    inference: Any = "branch_and_bound"
    loss: Any = "exact_match"
    unknown: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    def _check_choices(self) -> None:
        super()._check_choices()
        check_inference(self.inference)
        check_combine(self.combine)

    def _learn(self, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]) -> None:
        learner, n_classes, names = self._learner(seed), self.codec_.n_classes, self.codec_.names
        orders, fixed, weights = self._choose_orders(learner, X, codes, seed, options)
        kept, given = np.flatnonzero(weights), {"fixed": fixed, "names": names}
        weight = options.get("sample_weight")
        arranged = [arrange(self.parents, orders[j], codes, n_classes, sample_weight=weight, **given) for j in kept]
        problems = [[LinkProblem(label, parents[label]) for label in order] for order, parents in arranged]
        distinct = list(dict.fromkeys(itertools.chain(*problems)))
        together = not self.bootstrap and bool((codes != UNKNOWN).all())
        with self._progress(len(distinct) if together else sum(map(len, problems))) as on_link:
            shared = {"names": names, "n_jobs": self.n_jobs, "on_link": on_link}
            if together:  # a link that several chains have is learned once
                links = learner.fit_links(X, codes, codes, n_classes, distinct, **shared, **options)
                known = dict(zip(distinct, links, strict=True))
                chains = [
                    Chain.of_labels(order, parents, [known[problem] for problem in own])
                    for (order, parents), own in zip(arranged, problems, strict=True)
                ]
            else:
                chains = []
                for j, (order, parents) in zip(kept, arranged, strict=True):
                    rows, own = (X, codes), options
                    if self.bootstrap:
                        drawn = np.random.default_rng([seed, 2, j]).choice(len(codes), size=len(codes))
                        rows, own = (take_rows(X, drawn), codes[drawn]), check_method_params(X, options, drawn)
                    chains.append(Chain.learn(learner, *rows, n_classes, order, parents, seed=seed, **shared, **own))
        self.chains_ = chains
        self.orders_ = np.array([chain.order for chain in chains], dtype=np.int64)
        self.weights_ = weights[kept]

    def _model(self) -> JointModel:
        def build(_: Any) -> Population:
            inference = check_inference(self.inference)
            models = [ChainModel(chain, inference) for chain in self.chains_]
            return Population(models, self.weights_, combine=check_combine(self.combine))

        return remembered(self, "model", [self.chains_, self.weights_, self.inference, self.combine], build)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "chains_" in vars(self):
            orders = [chain.order for chain in self.chains_]
            require(np.array_equal(self.orders_, orders), "the orders are not those of the chains")

    def _choose_orders(
        self, learner: LinkLearner, X: Any, codes: np.ndarray, seed: int, options: dict[str, Any]
    ) -> tuple[list[list[int]], bool, np.ndarray]:
        """Return the orders, whether the user asked for just these, and their weights."""
        n_labels, names, rng = codes.shape[1], self.codec_.names, np.random.default_rng(seed)
        if isinstance(self.order, OrderFinder):
            start, _ = check_order("random", n_labels, names=names, rng=rng)
            result = self._search_orders(learner, X, codes, start, seed, options)
            weights = weights_of(result) if self.weights is None else self.weights
            return [list(order) for order in result.orders], False, checked_weights(weights, len(result.orders))
        if isinstance(self.order, str):
            n_chains = check_positive_integer(self, "n_chains", 10)
            weights, n_different = checked_weights(self.weights, n_chains), math.factorial(min(n_labels, 20))
            orders: list[list[int]] = []
            while len(orders) < n_chains:
                order, _ = check_order(self.order, n_labels, rng=rng)
                if order not in orders or len(orders) >= n_different:  # all different as long as there are others
                    orders.append(order)
            return orders, False, weights
        is_list = isinstance(self.order, Sequence | np.ndarray) and len(self.order) > 0
        if not is_list or isinstance(self.order[0], str | Integral):
            raise ValueError(
                f"`order={self.order!r}` of a population must be 'random', a sequence of orders such as "
                "[[0, 1, 2], [2, 0, 1]], or a search such as OrderSearch(keep=10)."
            )
        weights = checked_weights(self.weights, len(self.order))
        return [check_order(order, n_labels, names=names, rng=rng)[0] for order in self.order], True, weights


def weights_of(result: SearchResult) -> np.ndarray:
    """Return weights for the orders found: their payoffs, as ratios to the largest if those are logarithms."""
    payoffs = np.asarray(result.payoffs, dtype=np.float64)
    return np.exp(payoffs - payoffs.max()) if result.logarithmic else payoffs
