"""Algorithm 4 of the paper: one random search through the vectors of a population of chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from montechain._messages import check_choice, check_positive_argument
from montechain._rows import join_rows, row_blocks, take_rows
from montechain.distributions import LabelDistribution
from montechain.inference.decision import Decision
from montechain.inference.draws import draw
from montechain.inference.monte_carlo import CELLS_AT_ONCE
from montechain.inference.sweep import sweep
from montechain.joint import ChainModel
from montechain.population.population import Combination, Population, joined
from montechain.prefix_tree import PrefixTree
from montechain.targets import CODE

__all__ = ["Algorithm4"]


class Algorithm4(Combination):
    """Draw an order by its weight, draw label vectors under it, keep the best; repeat with the vector kept.

    This is Algorithm 4 of Read, Martino and Luengo (2014). In each of `n_orders` steps the vector held is evaluated
    anew under the order chosen, before `n_samples` draws are compared with it; the vector held after the last
    step is the answer. Vectors are compared under one order at a time, never under the mixture, so more orders or
    samples need not make the answer more probable. `Mixture` finds the most probable vector under the mixture.

    As printed, the algorithm hands on z_T and so drops the last draw of each step; here it counts.

    All rows share one table of draws. They are followed through the tree of prefixes together and given
    up once they cannot beat the vector held: the answer is the same, at a fraction of the cost. Nothing is
    proven about it: the upper bound of the decision is zero.

    Other losses than exact match are minimised over all draws of all steps, which are draws from the mixture; for
    Hamming loss that is each label's most frequent class. (The paper's criterion for a single order,
    the draw with the largest sum of marginals, is not carried over to several.) With labels given, known classes
    are taken, not drawn; orders are drawn by the same weights, and draws count by how probable they make what is known.

    Cost: at most ``n_orders * n_samples`` conditionals per label and row; usually a small multiple of `n_orders`.

    Parameters
    ----------
    n_orders : int, default=50
        Number of steps, T_s in the paper.
    n_samples : int, default=100
        Vectors drawn in each step, T_y in the paper.
    initial : {"greedy", "random"}, default="greedy"
        The first vector: the greedy one under the first order chosen, or the first draw.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference import Greedy
    >>> from montechain.joint import ChainModel
    >>> from montechain.links.linear import FittedLinearLink
    >>> from montechain.losses import check_loss
    >>> link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    >>> chains = [Chain(order, [(), ()], [link, link]) for order in ([0, 1], [1, 0])]
    >>> population = Population([ChainModel(chain, Greedy()) for chain in chains])
    >>> loss = check_loss("exact_match", classes=[np.arange(2)] * 2, order=range(2))
    >>> Algorithm4(n_orders=3, n_samples=10).decide(
    ...     population, np.zeros((1, 1)), loss=loss, rng=np.random.default_rng(0)
    ... ).labels
    array([[1, 1]], dtype=int32)
    """

    def __init__(self, n_orders: int = 50, n_samples: int = 100, initial: str = "greedy"):
        self.n_orders = n_orders
        self.n_samples = n_samples
        self.initial = initial

    def decide(self, population, X, *, loss, given=None, rng):  # noqa: D102
        self._check()
        steps = population.draw_models(rng.random(int(self.n_orders)))
        uniforms = rng.random((int(self.n_orders), int(self.n_samples), population.n_labels))
        if not loss.is_exact_match:
            # Only some rows at a time, since a row has as many vectors as there are draws.
            parts = []
            for rows in row_blocks(X.shape[0], max(1, CELLS_AT_ONCE // uniforms.size)):
                block, known = take_rows(X, rows), None if given is None else given[rows]
                labels, expected_loss, regret = loss.decide(_draws(population, block, known, steps, uniforms), known)
                log_proba = population.log_joint(block, labels)
                parts.append(Decision.least_loss(labels, log_proba, expected_loss, regret))
            return join_rows(parts)
        start_greedy = self.initial == "greedy"
        labels = _search(population, X, given, steps, uniforms, start_greedy)
        log_proba = population.log_joint(X, labels)
        return Decision.most_probable(labels, log_proba, np.zeros(len(labels)), given=given)

    def _check(self) -> None:
        check_positive_argument("n_orders", self.n_orders, "Algorithm4(n_orders=50)")
        check_positive_argument("n_samples", self.n_samples, "Algorithm4(n_samples=100)")
        check_choice(self, "initial", ("greedy", "random"))


def _search(
    population: Population,
    X: Any,
    given: np.ndarray | None,
    steps: np.ndarray,
    uniforms: np.ndarray,
    start_greedy: bool,
) -> np.ndarray:
    """Return the label vectors at which Algorithm 4 ends: all rows together, step by step, level by level."""
    n_rows = X.shape[0]
    labels = np.empty((n_rows, population.n_labels), dtype=CODE)
    # One tree for all steps under the same order: each remembers what its links have answered.
    models: list[ChainModel] = list(population.models)  # type: ignore[arg-type]
    chains = population.chains
    trees = {j: PrefixTree(chains[j], X, models[j].by_position(given)) for j in dict.fromkeys(steps.tolist())}
    for t, j in enumerate(steps.tolist()):
        tree = trees[j]
        if t > 0:
            held = models[j].by_position(labels)
            value = tree.log_joint(held)
        elif start_greedy:
            greedy = sweep(tree, width=1).vectors
            held, value = greedy.labels, greedy.log_mass
        else:
            drawn, _ = tree.chain.sample(X, uniforms[:1, :1], tree.given)
            held = drawn[:, 0]
            value = tree.log_joint(held)
        draws = draw(tree, uniforms[t], floor=value)
        best = draws.best(value)
        held[draws.rows[best]] = draws.labels[best]
        labels = models[j].by_label(held)
    return labels


def _draws(
    population: Population, X: Any, given: np.ndarray | None, steps: np.ndarray, uniforms: np.ndarray
) -> LabelDistribution:
    """Return the draws of all steps as one distribution."""
    n_rows = X.shape[0]
    parts = []
    for j in np.unique(steps):
        model: Any = population.models[j]
        tree = PrefixTree(model.chain, X, model.by_position(given))
        draws = draw(tree, uniforms[steps == j].reshape(-1, population.n_labels))
        parts.append((draws.rows, model.by_label(draws.labels), np.log(draws.counts) + draws.log_weight))
    largest = np.full(n_rows, -np.inf)
    for rows, _, log_weight in parts:
        np.maximum.at(largest, rows, log_weight)
    # Where what is known is impossible under every chain, all draws weigh nothing, and losses count them alike.
    shift = np.where(np.isneginf(largest), 0.0, largest)
    total = np.zeros(n_rows)
    for rows, _, log_weight in parts:
        total += np.bincount(rows, np.exp(log_weight - shift[rows]), minlength=n_rows)
    total = np.where(total > 0.0, total, 1.0)
    weighted = [(rows, labels, np.exp(log_weight - shift[rows]) / total[rows]) for rows, labels, log_weight in parts]
    return joined(weighted, np.ones(n_rows), np.ones(n_rows, dtype=bool))
