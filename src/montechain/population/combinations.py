"""Combine several joint models into one answer: by their mixture, a vote, or Algorithm 4 of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._kernels.algorithm_4 import algorithm_4
from montechain._messages import by_name, check_memory, check_positive_integer
from montechain.distributions import Marginals
from montechain.inference.decision import Decision
from montechain.inference.monte_carlo import draw
from montechain.inference.sweep import sweep
from montechain.joint import ChainModel, JointModel
from montechain.losses import ExactMatch, Loss
from montechain.population.search import MAX_NODES, log_sum, stacked_scores
from montechain.prefix_tree import PrefixTree, no_knowledge
from montechain.targets import CODE

WEIGHTS_ERROR = 1e-5
"""Error of the models' weights, under given labels, above which marginals count as estimates."""
TIE = 1e-12
"""Weighted votes closer than this count as equal: they differ by rounding only."""


class Combination(BaseEstimator):
    """Base class of combinations, which turn the answers of several joint models into one.

    A `population` is a `Population`. All arguments and results are in codes, one column per label. `rng` is a
    `numpy.random.Generator`; how much is drawn from it does not depend on the rows.
    """

    def decide(
        self, population: Any, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        """Return one label vector for each row, and what is proven about it; by default that of the mixture.

        `log_proba` and `upper_bound` of the decision are those of the mixture, whatever the combination.
        """
        return JointModel.decide(population, X, loss=loss, given=given, rng=rng)

    def marginals(
        self, population: Any, X: Any, *, loss: Any = None, given: np.ndarray | None = None, rng: Any
    ) -> Marginals:
        """Return the probabilities of each label's classes: the models' own, averaged by weight."""
        weights, error = population.weights_given(X, given, rng=rng)
        found = [model.marginals(X, given=given, rng=rng) for model in population.models]

        def mixed(arrays: Iterable[np.ndarray]) -> Any:
            return sum(weight[:, None] * own for weight, own in zip(weights.T, arrays, strict=True))

        proba = [mixed(own) for own in zip(*(part.proba for part in found), strict=True)]
        lower = [mixed(own) - error[:, None] for own in zip(*(part.lower for part in found), strict=True)]
        # Weights that are off by `error` can raise one class and lower another by as much.
        unresolved = 2.0 * error[:, None] + mixed(part.unresolved for part in found)
        estimated = np.any([part.estimated for part in found], axis=0) | (error > WEIGHTS_ERROR)
        return Marginals(proba, [np.maximum(mass, 0.0) for mass in lower], unresolved, estimated)


class Mixture(Combination):
    """Average the models' probabilities: p(y | x) = sum_j w_j p_j(y | x).

    For exact match, the vector of the largest average is found with a proof, or with an upper bound on all others where
    the budget ends first: see `montechain.population.search`.

    For other losses, the models' weighted label vectors are joined; for Hamming loss the marginals are averaged. With
    labels given, a model's weight is then multiplied by its probability of them.

    Exact for exact match where certified, whatever the models' own inference is; for other losses within what that
    leaves unexplored. Cost: each chain's own search, and then a mean of 6 (Music), 52 (Yeast) and 153 (Enron) prefixes
    a row for ten chains in random orders; more than half of the rows need none.

    Parameters
    ----------
    max_nodes : int, default=20000
        Maximum number of prefixes expanded per row, over all chains, after each chain's own search; for models of other
        kinds, of labels listed.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainPopulationClassifier, Mixture
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> model = ChainPopulationClassifier(n_chains=3, combine=Mixture(max_nodes=100), random_state=0).fit(X, Y)
    >>> bool(model.decide(X).certified.all())
    True
    """

    def __init__(self, max_nodes: int = MAX_NODES):
        self.max_nodes = max_nodes


class Vote(Combination):
    """Let each model decide by its own inference, and give each label the class with the most weighted votes.

    This is how ensembles of classifier chains, ECC, are combined (Read et al. 2011, see `Greedy`). Ties go to the first
    class. The answer may be a vector that no model has given, and it is not exact for any loss. The models' upper
    bounds give one for the mixture, so a row on which all models agree, each with proof, is certified for exact match.
    The marginals are the shares of the votes, not probabilities under the mixture. Cost: each model's inference.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import ChainPopulationClassifier, Vote
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> model = ChainPopulationClassifier(n_chains=4, combine=Vote(), random_state=0).fit(X, Y)
    >>> model.predict_proba(X[:2])[0]
    array([[1., 0.],
           [1., 0.]])
    """

    def decide(self, population, X, *, loss, given=None, rng):  # noqa: D102
        votes, upper_bound = self._votes(population, X, loss, given, rng)
        # The first class whose share is the largest, up to rounding.
        best = [(share >= share.max(axis=1, keepdims=True) - TIE).argmax(axis=1) for share in votes]
        labels = np.column_stack(best).astype(CODE)
        log_proba = population.log_joint(X, labels)
        upper_bound = np.maximum(upper_bound, log_proba)
        if loss.is_exact_match:
            return Decision.most_probable(labels, log_proba, upper_bound, given=given)
        unknown, never = np.full(len(labels), np.nan), np.zeros(len(labels), dtype=bool)
        return Decision(labels, log_proba, upper_bound, unknown, np.full(len(labels), loss.worst), never)

    def marginals(self, population, X, *, loss=None, given=None, rng):  # noqa: D102
        shares, _ = self._votes(population, X, ExactMatch() if loss is None else loss, given, rng)
        nothing, everything = [np.zeros_like(share) for share in shares], np.ones((X.shape[0], len(shares)))
        return Marginals(shares, nothing, everything, np.zeros(X.shape[0], dtype=bool))

    def _votes(self, population, X, loss, given, rng) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the weight of the models that chose each class, and an upper bound on the mixture's probabilities."""
        decisions = [model.decide(X, loss=loss, given=given, rng=rng) for model in population.models]
        votes = [np.zeros((X.shape[0], k)) for k in population.n_classes]
        for weight, decision in zip(population.weights, decisions, strict=True):
            for share, classes in zip(votes, decision.labels.T, strict=True):
                share[np.arange(len(share)), classes] += weight
        bounds = np.column_stack([decision.upper_bound for decision in decisions])
        return votes, log_sum(bounds + np.log(population.weights))


class Algorithm4(Combination):
    """Draw an order by its weight, draw label vectors under it, keep the best; repeat with the vector kept.

    This is Algorithm 4 of Read, Martino and Luengo (2014). It starts from the greedy vector under the first order
    chosen. In each of `n_orders` steps the vector held is evaluated under the order chosen, before `n_samples` draws
    are compared with it; the vector held after the last step is the answer. Vectors are compared under one order at a
    time, never under the mixture, so more orders or samples need not make the answer more probable. `Mixture` finds
    the most probable vector under the mixture.

    As printed, the algorithm passes on z_T and so drops the last draw of each step; here it counts. All rows share one
    table of draws, which are dropped once they cannot beat the vector held: the answer is the same, at a fraction of
    the cost. Nothing is proven about it: the upper bound of the decision is zero.

    The algorithm is about exact match; other losses are minimised as by `Mixture`. With labels given, known classes are
    taken, not drawn.

    Cost: at most ``n_orders * n_samples`` conditionals per label and row; usually a small multiple of `n_orders`.

    Parameters
    ----------
    n_orders : int, default=50
        Number of steps, T_s in the paper.
    n_samples : int, default=100
        Vectors drawn in each step, T_y in the paper.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from montechain import Algorithm4, ChainPopulationClassifier
    >>> X, Y = make_multilabel_classification(n_samples=90, n_classes=3, random_state=0)
    >>> model = ChainPopulationClassifier(n_chains=3, combine=Algorithm4(n_orders=5), random_state=0).fit(X, Y)
    >>> model.predict(X[:2])
    array([[0, 1, 0],
           [0, 1, 0]])
    """

    def __init__(self, n_orders: int = 50, n_samples: int = 100):
        self.n_orders = n_orders
        self.n_samples = n_samples

    def decide(self, population, X, *, loss, given=None, rng):  # noqa: D102
        if not loss.is_exact_match:
            return super().decide(population, X, loss=loss, given=given, rng=rng)
        n_orders = check_positive_integer(self, "n_orders", 50)
        n_samples = check_positive_integer(self, "n_samples", 100)
        n_bytes = 8 * n_orders * n_samples * population.n_labels
        check_memory(n_bytes, f"Algorithm4({n_orders=}, {n_samples=})", "Draw fewer.")
        steps = population.draw_models(rng.random(n_orders))
        uniforms = rng.random((n_orders, n_samples, population.n_labels))
        scores = stacked_scores(population.models, X)
        if scores is None:
            labels = _by_level(population, X, given, steps, uniforms)
        else:
            known = no_knowledge(population.n_labels) if given is None else given
            labels = algorithm_4(*scores, known, population.orders, steps, uniforms)
        log_proba = population.log_joint(X, labels)
        return Decision.most_probable(labels, log_proba, np.zeros(len(labels)), given=given)


def _by_level(population, X, given, steps, uniforms) -> np.ndarray:
    """Return what the kernel returns, for chains of any kind: all rows together, step by step, level by level."""
    labels = np.empty((X.shape[0], population.n_labels), dtype=CODE)
    # One tree for all steps under the same order: each remembers what its links have answered.
    models: list[ChainModel] = list(population.models)
    chains = population.chains
    trees = {j: PrefixTree(chains[j], X, models[j].by_position(given)) for j in dict.fromkeys(steps.tolist())}
    for t, j in enumerate(steps.tolist()):
        tree = trees[j]
        held = models[j].by_position(labels) if t > 0 else sweep(tree, width=1).vectors.labels
        value = tree.log_joint(held)
        draws = draw(tree, uniforms[t], floor=value)
        best = draws.best(value)
        held[draws.rows[best]] = draws.labels[best]
        labels = models[j].by_label(held)
    return labels


COMBINATIONS: dict[str, type[Combination]] = {"algorithm-4": Algorithm4, "mixture": Mixture, "vote": Vote}
"""The combinations by name."""


def check_combine(combine: Any) -> Combination:
    """Return a combination: the given one, or the one of this name with its default parameters."""
    return by_name("combine", combine, Combination, COMBINATIONS, "a combination such as Algorithm4(n_orders=50)")
