"""The mixture of the chains: the most probable vector under the weighted average of their probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from montechain._kernels.mixture import mixture as mixture_kernel
from montechain._messages import check_positive_argument
from montechain.chain import CODE, PrefixTree, distinct, no_knowledge
from montechain.distributions import LabelDistribution
from montechain.inference.base import TIGHT, Decision, Inference, TopK, blocks, concatenated
from montechain.inference.sweep import best_first, sweep
from montechain.losses import Hamming, Loss
from montechain.population.base import Combination, Population, joined, log_sum

__all__ = ["Mixture", "union"]

FIRST_NODES = 500
"""Nodes with which each label-linear chain alone is searched first; the same for all budgets, so that a larger
budget never has the larger upper bound."""

FIRST_WIDTH = 5
"""Width of the beams that do the same for chains of any kind."""

ROWS_AT_ONCE = 256
"""Rows whose enumerated vectors are held in memory together."""


class Mixture(Combination):
    """Average the chains' probabilities: p(y | x) = sum_j w_j p(y | x, s_j).

    For exact match, the vector of the largest average is found with a proof. First each chain alone is searched for
    its own most probable vector; where all agree, that is the answer already. Otherwise the chains' trees of
    prefixes are grown best-first, always the one whose most probable open prefix weighs most, and each vector completed
    is scored under all chains. A vector not seen yet has in each chain at most the probability of the most probable
    open prefix; the search ends when the weighted sum of these cannot exceed the best score. Where the budget
    ends first, the sum is the upper bound. Chains with links of any kind are swept level by level instead, for all
    vectors that are more probable under some chain than the best average found: no other one can be better.

    For other losses, the distributions that `inference` finds for each chain are joined, weighted; for Hamming
    loss the marginals are averaged. With labels given, a chain's weight is then multiplied by its
    probability of them; the most probable completion needs no such thing, since it maximises the joint probability.

    Exact for exact match where certified, whatever `inference` is; for other losses within what `inference` leaves
    unexplored.

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
    >>> from montechain.inference.branch_and_bound import BranchAndBound
    >>> from montechain.links.linear import FittedLinearLink
    >>> from montechain.losses import check_loss
    >>> from montechain.population.base import Population
    >>> likely = FittedLinearLink.constant(np.log([0.2, 0.8]), n_features=1, parents_n_classes=())
    >>> unlikely = FittedLinearLink.constant(np.log([0.6, 0.4]), n_features=1, parents_n_classes=())
    >>> chains = [Chain([0, 1], [(), ()], [likely, unlikely]), Chain([1, 0], [(), ()], [likely, unlikely])]
    >>> loss = check_loss("exact_match", classes=[np.arange(2)] * 2, order=range(2))
    >>> decision = Mixture().decide(
    ...     Population(chains, [0.6, 0.4]), np.zeros((1, 1)),
    ...     loss=loss, inference=BranchAndBound(), rng=np.random.default_rng(0),
    ... )
    >>> decision.labels, np.exp(decision.log_proba).round(3), decision.certified
    (array([[1, 0]], dtype=int32), array([0.32]), array([ True]))
    """

    def __init__(self, max_nodes: int = 20_000):
        self.max_nodes = max_nodes

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
        self._check()
        if loss.is_exact_match:
            labels, log_proba, upper_bound = self._search(population, X, 1, given)
            return Decision.most_probable(labels[:, 0], log_proba[:, 0], upper_bound, given=given)
        if isinstance(loss, Hamming):
            found = self.marginals(population, X, inference=inference, given=given, rng=rng)
            decided = loss.decide_marginals(found.proba, found.unresolved, given, lower=found.lower)
            return Decision.least_loss(decided[0], population.log_joint(X, decided[0]), *decided[1:])
        # Only some rows at a time, since their distributions are large. Each block starts from the same state, so
        # that the draws of a row do not depend on its place.
        state = rng.bit_generator.state
        parts = []
        for rows in blocks(X.shape[0], ROWS_AT_ONCE):
            rng.bit_generator.state = state
            block = _safe_indexing(X, rows)
            known = None if given is None else given[rows]
            distribution = union(population, block, inference, known, rng)
            labels, expected_loss, regret = loss.decide(distribution, given=known)
            log_proba = population.log_joint(block, labels)
            parts.append(Decision.least_loss(labels, log_proba, expected_loss, regret))
        return concatenated(parts)

    def top_k(  # noqa: D102
        self, population: Population, X: Any, k: int, *, given: np.ndarray | None = None
    ) -> TopK:
        self._check()
        check_positive_argument("k", k, "k=5")
        k = int(min(k, math.prod(population.n_classes)))
        labels, log_proba, upper_bound = self._search(population, X, k, given)
        labels[np.isneginf(log_proba)] = -1
        return TopK(labels, log_proba, upper_bound <= log_proba[:, -1] + TIGHT)

    def _search(
        self, population: Population, X: Any, k: int, given: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the k best vectors found, their log-probabilities, and a bound on the last and all others."""
        scores = population.scores(X)
        if scores is None:
            return _sweep(population, X, k, given, self.max_nodes)
        known = no_knowledge(population.n_labels) if given is None else given
        log_weights = np.log(population.weights)
        return mixture_kernel(*scores.arrays, known, population.orders, log_weights, k, FIRST_NODES, self.max_nodes)[:3]

    def _check(self) -> None:
        check_positive_argument("max_nodes", self.max_nodes, "Mixture(max_nodes=20_000)")


def _sweep(
    population: Population, X: Any, k: int, given: np.ndarray | None, max_nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what the kernel returns, for chains of any kind: two sweeps over the levels of each chain.

    A beam under each chain gives first vectors; let t be the average of the k-th best of them. A better vector
    has more than t under some chain, so the second sweep keeps the prefixes above t, at most
    ``max_nodes // (L M)`` at each level. What it drops is part of the bound.
    """
    n_rows, n_labels, n_chains = X.shape[0], population.n_labels, population.n_chains
    trees = [PrefixTree(chain, X, population.by_position(j, given)) for j, chain in enumerate(population.chains)]
    beams = [sweep(tree, width=max(k, FIRST_WIDTH)) for tree in trees]
    found = [(beam.vectors.rows, population.by_label(j, beam.vectors.labels)) for j, beam in enumerate(beams)]
    threshold = _best(population, trees, found, k)[1][:, -1]
    width = max(k, max_nodes // max(1, n_labels * n_chains))
    swept = [sweep(tree, above=threshold, width=width) for tree in trees]
    found += [(part.vectors.rows, population.by_label(j, part.vectors.labels)) for j, part in enumerate(swept)]
    labels, log_proba = _best(population, trees, found, k)
    unseen = np.column_stack([np.maximum(threshold, part.dropped) for part in swept])
    upper_bound = np.maximum(log_proba[:, -1], log_sum(unseen + np.log(population.weights)))
    assert len(labels) == n_rows
    return labels, log_proba, upper_bound


def _best(
    population: Population, trees: list[PrefixTree], found: list[tuple[np.ndarray, np.ndarray]], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k best of the (rows, labels) found, by the mixture: labels (n, k, L), log-probabilities (n, k)."""
    rows = np.concatenate([part for part, _ in found])
    vectors = np.concatenate([part for _, part in found])
    _, first, _ = distinct(rows, vectors, population.n_classes)
    rows, vectors = rows[first], vectors[first]
    by_chain = np.empty((len(rows), len(trees)))
    for j, tree in enumerate(trees):
        by_chain[:, j] = tree.log_joint(population.by_position(j, vectors), rows)
    value = log_sum(by_chain + np.log(population.weights))
    order, rank = best_first(rows, value)
    order, rank = order[rank < k], rank[rank < k]
    labels = np.full((trees[0].n_rows, k, population.n_labels), -1, dtype=CODE)
    log_proba = np.full((trees[0].n_rows, k), -np.inf)
    labels[rows[order], rank], log_proba[rows[order], rank] = vectors[order], value[order]
    return labels, log_proba


def union(
    population: Population, X: Any, inference: Inference, given: np.ndarray | None, rng: np.random.Generator
) -> LabelDistribution:
    """Return the chains' distributions that `inference` finds as one, weighted."""
    weights, error = population.weights_given(X, given, rng=rng)
    parts = []
    residual, estimated = error.copy(), error > 0.0
    for j, chain in enumerate(population.chains):
        found = inference.distribution(chain, X, given=population.by_position(j, given), rng=rng)
        rows = found.rows
        parts.append((rows, population.by_label(j, found.labels), weights[rows, j] * found.weights))
        residual += weights[:, j] * found.residual
        estimated |= found.estimated
    return joined(parts, np.minimum(residual, 1.0), estimated)
