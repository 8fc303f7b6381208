"""Several joint models with weights: their mixture p(y | x) = sum_j w_j p_j(y | x), itself a joint model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from montechain._rows import take_rows
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.distributions import LabelDistribution
from montechain.inference.decision import LOG_TOLERANCE, Decision, TopK
from montechain.joint import ChainModel, JointModel
from montechain.population.combinations import Combination, Mixture
from montechain.population.search import MAX_NODES, log_sum, search
from montechain.targets import CODE


@savable
class Population(JointModel):
    """Joint models over the same labels, with weights.

    The models are of any kind: chains, label powersets, forests, other populations. The weights must not be negative,
    nor all zero; they are equal by default, and divided by their sum. Models of weight zero are left out. `combine`
    says how `decide` and `marginals` get one answer from several models, by default `Mixture()`. Its `max_nodes`, if it
    has any, is the budget of the search for the most probable vector.
    """

    def __init__(self, models: Sequence[JointModel], weights: Any = None, *, combine: Combination | None = None):
        require(len(models), "a population needs at least one model.")
        kinds = sorted({model.n_classes for model in models})
        require(len(kinds) == 1, f"the models of a population must have the same labels and classes, not {kinds}.")
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
        require(all(isinstance(model, JointModel) for model in models), "a model of a mixture is not a joint model")
        self.__init__(models, state["weights"], combine=state["combine"])  # type: ignore[misc]

    @property
    def max_nodes(self) -> int:
        """Maximum number of prefixes expanded, or labels listed, per row in the search for the most probable vector."""
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
        """The label at each position of each chain, int64 of shape (M, L)."""
        return np.array([chain.order for chain in self.chains], dtype=np.int64)

    def log_joint(self, X, Y):  # noqa: D102
        return log_sum(self._weighted([model.log_joint(X, Y) for model in self.models]))

    def log_joint_at(self, X, rows, vectors):  # noqa: D102
        return log_sum(self._weighted([model.log_joint_at(X, rows, vectors) for model in self.models]))

    def log_evidence(self, X, given, *, rng, residual=1e-6):  # noqa: D102
        answers = [model.log_evidence(X, given, rng=rng, residual=residual) for model in self.models]
        found, errors = zip(*answers, strict=True)
        return log_sum(self._weighted(found)), np.max(errors, axis=0)

    def weights_given(
        self, X: Any, given: np.ndarray | None, *, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the models in each row once some labels are known, and a bound on their error.

        By Bayes' rule a model's weight is multiplied by its probability of what is known. The weights, of shape (n, M),
        sum to one in each row; those of any set of models together are off by no more than the error, of shape (n,).
        """
        if given is None or len(self.models) == 1:
            return np.tile(self.weights, (X.shape[0], 1)), np.zeros(X.shape[0])
        # Restore the generator: a row without known labels must not depend on the others.
        state = rng.bit_generator.state
        found, errors = zip(*(model.log_evidence(X, given, rng=rng) for model in self.models), strict=True)
        rng.bit_generator.state = state
        log_weights = self._weighted(found)
        total = log_sum(log_weights)
        # If the known labels are impossible under every model, they do not change the weights.
        impossible = np.isneginf(total)
        log_weights[impossible], total[impossible] = np.log(self.weights), 0.0
        weights = np.exp(log_weights - total[:, None])
        return weights, np.where(impossible, 1.0, np.minimum(1.0, 2.0 * np.max(errors, axis=0)))

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
        return TopK(labels, log_proba, upper_bound <= log_proba[:, -1] + LOG_TOLERANCE)

    def decide(self, X, *, loss, given=None, rng):  # noqa: D102
        return self.combine.decide(self, X, loss=loss, given=given, rng=rng)

    def marginals(self, X, *, given=None, rng, loss=None):  # noqa: D102
        return self.combine.marginals(self, X, loss=loss, given=given, rng=rng)

    def distribution(self, X, *, given=None, rng, residual=None):
        """Return the models' distributions as one, weighted."""
        weights, error = self.weights_given(X, given, rng=rng)
        found = [model.distribution(X, given=given, rng=rng, residual=residual) for model in self.models]
        rows = np.concatenate([part.rows for part in found])
        order = np.argsort(rows, kind="stable")
        shares = [weights[part.rows, j] * part.weights for j, part in enumerate(found)]
        left = error + sum(weights[:, j] * part.residual for j, part in enumerate(found))
        return LabelDistribution(
            indptr=np.searchsorted(rows[order], np.arange(X.shape[0] + 1)),
            labels=np.concatenate([part.labels for part in found])[order],
            weights=np.concatenate(shares)[order],
            residual=np.minimum(left, 1.0),
            estimated=np.any([part.estimated for part in found], axis=0) | (error > 0.0),
        )

    def draw(self, X, n_samples, *, rng):
        """Draw a model by its weight, then a vector from it."""
        chosen = self.draw_models(rng.random((X.shape[0], n_samples)))
        labels = np.empty((*chosen.shape, self.n_labels), dtype=CODE)
        for j, model in enumerate(self.models):
            n_wanted = (chosen == j).sum(axis=1)
            most = int(n_wanted.max(initial=0))
            if most:
                labels[chosen == j] = model.draw(X, most, rng=rng)[np.arange(most) < n_wanted[:, None]]
        return labels

    def draw_models(self, uniforms: np.ndarray) -> np.ndarray:
        """Return for each uniform number the model at which the cumulative weight first exceeds it."""
        # The last model takes what rounding leaves.
        return np.searchsorted(np.cumsum(self.weights)[:-1], uniforms, side="right")

    def _weighted(self, log_proba: Sequence[np.ndarray]) -> np.ndarray:
        """Return log w_j + log p_j, of shape (n, M), from the log-probabilities under each model."""
        return np.column_stack(log_proba) + np.log(self.weights)


def checked_weights(weights: Any, n_models: int) -> np.ndarray:
    """Return the weights divided by their sum; equal ones for None.

    >>> checked_weights([3, 1], 2)
    array([0.75, 0.25])
    """
    try:
        weights = np.ones(n_models) if weights is None else np.asarray(weights, dtype=np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"`weights={weights!r}` must be a list of {n_models} numbers.") from None
    if weights.shape != (n_models,):
        raise ValueError(f"`weights` has shape {weights.shape} for {n_models} models: give one number per model.")
    if not np.isfinite(weights).all() or (weights < 0.0).any() or not (weights > 0.0).any():
        raise ValueError(
            f"`weights={weights.tolist()}` must be finite, not negative and not all zero. If these are the payoffs of "
            "orders, give other weights, e.g. exp(payoff - largest payoff)."
        )
    if abs(weights.sum() - 1.0) < 1e-12:
        return weights  # as they are, so that a loaded model is the very same
    # Relative to the largest first, so that tiny weights do not underflow in the sum.
    weights = weights / weights.max()
    return weights / weights.sum()
