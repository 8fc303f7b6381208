"""Several joint models with weights, how they give one answer, and their mixture p(y | x) = sum_j w_j p_j(y | x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from montechain._rows import take_rows
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.decision import TIGHT, Decision, TopK
from montechain.joint import ChainModel, JointModel
from montechain.losses import Loss
from montechain.population.search import log_sum, search
from montechain.targets import CODE

__all__ = ["Combination", "Mixture", "Population"]

WEIGHTS_ERROR = 1e-5
"""Error of the models' weights, under given labels, above which marginals count as estimates."""
MAX_NODES = 20_000
"""Default number of prefixes expanded per row, at most, over all models."""


@savable
class Population(JointModel):
    """Joint models over the same labels, with weights.

    Parameters
    ----------
    models : sequence of JointModel
        Of any kind: chains, label powersets, forests, other populations.
    weights : sequence of float, optional
        Not negative, and not all zero; they are divided by their sum. Equal by default. Models of weight zero are left
        out.
    combine : Combination, optional
        How `decide` and `marginals` get one answer from several models; by default `Mixture()`. Its `max_nodes`, if it
        has any, is the budget of the search for the most probable vector.

    Attributes
    ----------
    models : tuple of JointModel
    weights : ndarray of shape (M,)
        Sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.seen_vectors import FrequencyModel
    >>> vectors = np.array([[0, 0], [1, 1]], dtype=np.int32)
    >>> often, seldom = FrequencyModel(vectors, np.array([3, 1]), [2, 2]), FrequencyModel(vectors, np.ones(2), [2, 2])
    >>> population = Population([often, seldom], weights=[3, 1])
    >>> np.exp(population.log_joint(np.zeros((1, 1)), np.array([[0, 0]]))).round(4)
    array([0.6875])
    """

    def __init__(self, models: Sequence[JointModel], weights: Any = None, *, combine: Combination | None = None):
        if len(models) == 0:
            raise ValueError("a population needs at least one model.")
        if len({model.n_classes for model in models}) > 1:
            other = next(model.n_classes for model in models if model.n_classes != models[0].n_classes)
            raise ValueError(
                "the models of a population must have the same labels and classes, but the labels of one have "
                f"{list(models[0].n_classes)} classes and those of another {list(other)}."
            )
        weights = checked_weights(weights, len(models))
        kept = np.flatnonzero(weights > 0.0).tolist()
        self.models = tuple(models[j] for j in kept)
        self.weights = weights[kept]
        self.combine = Mixture() if combine is None else combine
        self.n_classes = models[0].n_classes
        self.n_models = len(self.models)
        self.is_sampling = any(model.is_sampling for model in self.models)
        widths = [model.n_scores for model in self.models]
        self.n_scores = sum(widths) if all(widths) else 0

    def __getstate__(self) -> dict[str, Any]:
        return {"models": list(self.models), "weights": self.weights, "combine": self.combine}

    def __setstate__(self, state: dict[str, Any]) -> None:
        models = state["models"]
        require(all(isinstance(model, JointModel) for model in models), "a model of a mixture is something else")
        self.__init__(models, state["weights"], combine=state["combine"])  # type: ignore[misc]

    @property
    def max_nodes(self) -> int:
        """Prefixes expanded per row, at most, in the search for the most probable vector."""
        return getattr(self.combine, "max_nodes", MAX_NODES)

    @property
    def chains(self) -> list[Chain]:
        """The chains, where all models are chains."""
        others = [type(model).__name__ for model in self.models if not isinstance(model, ChainModel)]
        if others:
            raise TypeError(f"this needs a population of chains, but one of its models is a {others[0]}.")
        return [model.chain for model in self.models]  # type: ignore[attr-defined]

    @property
    def orders(self) -> np.ndarray:
        """The label at each position of each chain, of shape (M, L)."""
        return np.array([chain.order for chain in self.chains], dtype=np.int64)

    def log_joint(self, X, Y):  # noqa: D102
        by_model = [model.log_joint(X, Y) for model in self.models]
        return log_sum(np.column_stack(by_model) + np.log(self.weights))

    def log_joint_at(self, X, rows, vectors):  # noqa: D102
        by_model = [model.log_joint_at(X, rows, vectors) for model in self.models]
        return log_sum(np.column_stack(by_model) + np.log(self.weights))

    def log_evidence(self, X, given, *, rng, residual=1e-6):  # noqa: D102
        log_evidence, error = self._evidence(X, given, rng, residual)
        return log_sum(log_evidence + np.log(self.weights)), error.max(axis=1)

    def weights_given(
        self, X: Any, given: np.ndarray | None, *, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the models in each row once some labels are known, and a bound on their error.

        By Bayes' rule a model's weight is multiplied by its probability of what is known. The weights, of shape (n, M),
        sum to one in each row; those of any set of models together are off by no more than the error, of shape (n,).
        """
        if given is None or len(self.models) == 1:
            return np.tile(self.weights, (X.shape[0], 1)), np.zeros(X.shape[0])
        # The generator is put back: a row of which nothing is known must not depend on the others.
        state = rng.bit_generator.state
        log_evidence, relative_error = self._evidence(X, given, rng)
        rng.bit_generator.state = state
        log_weights = log_evidence + np.log(self.weights)
        total = log_sum(log_weights)
        # Where what is known is impossible under every model, it says nothing about them.
        impossible = np.isneginf(total)
        log_weights[impossible], total[impossible] = np.log(self.weights), 0.0
        weights = np.exp(log_weights - total[:, None])
        return weights, np.where(impossible, 1.0, np.minimum(1.0, 2.0 * relative_error.max(axis=1)))

    def most_probable(self, X, *, given=None, rng):  # noqa: D102
        labels, log_proba, upper_bound = search(self, X, 1, given)
        labels, log_proba = labels[:, 0], log_proba[:, 0]
        impossible = np.flatnonzero(labels[:, 0] < 0)
        if len(impossible):
            # What is given contradicts every model; one of them says how to complete it all the same.
            known = None if given is None else given[impossible]
            labels[impossible] = self.models[0].most_probable(take_rows(X, impossible), given=known, rng=rng).labels
        return Decision.most_probable(labels, log_proba, upper_bound, given=given)

    def top_k(self, X, k, *, given=None):  # noqa: D102
        labels, log_proba, upper_bound = search(self, X, k, given)
        labels[np.isneginf(log_proba)] = -1
        return TopK(labels, log_proba, upper_bound <= log_proba[:, -1] + TIGHT)

    def decide(self, X, *, loss, given=None, rng):  # noqa: D102
        return self.combine.decide(self, X, loss=loss, given=given, rng=rng)

    def marginals(self, X, *, given=None, rng, loss=None):  # noqa: D102
        return self.combine.marginals(self, X, loss=loss, given=given, rng=rng)

    def distribution(self, X, *, given=None, rng, residual=None):
        """Return the models' distributions as one, weighted."""
        weights, error = self.weights_given(X, given, rng=rng)
        parts, left, estimated = [], error.copy(), error > 0.0
        for j, model in enumerate(self.models):
            found = model.distribution(X, given=given, rng=rng, residual=residual)
            rows = found.rows
            parts.append((rows, found.labels, weights[rows, j] * found.weights))
            left += weights[:, j] * found.residual
            estimated |= found.estimated
        return joined(parts, np.minimum(left, 1.0), estimated)

    def draw(self, X, n_samples, *, rng):
        """Draw a model by its weight, then a vector from it."""
        n_rows = X.shape[0]
        chosen = self.draw_models(rng.random((n_rows, n_samples)))
        labels = np.empty((n_rows, n_samples, self.n_labels), dtype=CODE)
        for j, model in enumerate(self.models):
            # In each row first the samples that want this model, as many as the row with the most of them has.
            wanted = np.argsort(chosen != j, axis=1, kind="stable")[:, : (chosen == j).sum(axis=1).max(initial=0)]
            if wanted.size:
                row, column = np.nonzero(np.take_along_axis(chosen, wanted, axis=1) == j)
                labels[row, wanted[row, column]] = model.draw(X, wanted.shape[1], rng=rng)[row, column]
        return labels

    def draw_models(self, uniforms: np.ndarray) -> np.ndarray:
        """Return for each uniform number the model at which the cumulative weight first exceeds it."""
        # The last model takes what rounding leaves.
        return np.searchsorted(np.cumsum(self.weights)[:-1], uniforms, side="right")

    def _evidence(
        self, X: Any, given: np.ndarray, rng: np.random.Generator, residual: float = 1e-6
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(known labels | x) under each model, and its relative error, of shape (n, M) each."""
        found = [model.log_evidence(X, given, rng=rng, residual=residual) for model in self.models]
        return np.column_stack([value for value, _ in found]), np.column_stack([error for _, error in found])


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
        weights, error = population.weights_given(X, given, rng=rng)
        n_rows = X.shape[0]
        proba = [np.zeros((n_rows, k)) for k in population.n_classes]
        lower = [np.zeros((n_rows, k)) for k in population.n_classes]
        # Weights that are off by `error` can raise one class and lower another by as much.
        unresolved = np.tile(2.0 * error[:, None], (1, population.n_labels))
        estimated = error > WEIGHTS_ERROR
        for j, model in enumerate(population.models):
            found, weight = model.marginals(X, given=given, rng=rng), weights[:, [j]]
            for label in range(population.n_labels):
                proba[label] += weight * found.proba[label]
                lower[label] += weight * found.lower[label]
            unresolved += weight * found.unresolved
            estimated |= found.estimated
        lower = [np.maximum(mass - error[:, None], 0.0) for mass in lower]
        return Marginals(proba, lower, unresolved, estimated)


class Mixture(Combination):
    """Average the models' probabilities: p(y | x) = sum_j w_j p_j(y | x).

    For exact match, the vector of the largest average is found with a proof. Each model lists its own most probable
    vectors, and each vector listed is scored under all models. A vector that no list holds has under each model at most
    the probability of the last one listed; the lists grow until the weighted sum of these cannot exceed the best score.
    Where the budget ends first, the sum is the upper bound.

    For other losses, the models' weighted label vectors are joined; for Hamming loss the marginals are averaged. With
    labels given, a model's weight is then multiplied by its probability of them; the most probable completion needs no
    such thing, since it maximises the joint probability.

    Exact for exact match where certified, whatever the models' own inference is; for other losses within what that
    leaves unexplored.

    Cost: five vectors of each model for most rows, longer lists for the others. To score a vector takes at most L
    conditionals per chain.

    Parameters
    ----------
    max_nodes : int, default=20000
        Bounds the length of the lists: at most this many labels are listed per row, over all models.

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


def checked_weights(weights: Any, n_models: int) -> np.ndarray:
    """Return the weights divided by their sum; equal ones for None.

    >>> checked_weights([3, 1], 2)
    array([0.75, 0.25])
    """
    weights = np.ones(n_models) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (n_models,):
        raise ValueError(f"`weights` has shape {weights.shape} for {n_models} models: give one number per model.")
    if not np.isfinite(weights).all() or (weights < 0.0).any() or not (weights > 0.0).any():
        raise ValueError(
            f"`weights={weights.tolist()}` must be finite, not negative and not all zero. For payoffs that can be "
            "negative, pass e.g. exp(payoff - largest payoff)."
        )
    # Relative to the largest first, so that tiny weights do not underflow in the sum.
    weights = weights / weights.max()
    return weights / weights.sum()


def joined(
    parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], residual: np.ndarray, estimated: np.ndarray
) -> LabelDistribution:
    """Return one distribution from several (rows, labels, weights)."""
    rows, labels, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(len(residual) + 1))
    return LabelDistribution(indptr, labels[order], weights[order], residual, estimated)
