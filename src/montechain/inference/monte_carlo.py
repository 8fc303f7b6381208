"""Monte Carlo inference: Algorithm 3 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from montechain._kernels.monte_carlo import monte_carlo
from montechain._kernels.ties import TIE
from montechain._messages import check_choice, check_memory, check_positive_integer
from montechain._rows import join_rows
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.base import Inference
from montechain.inference.decision import Decision
from montechain.inference.sweep import best_first, sweep
from montechain.losses import Hamming, Loss
from montechain.prefix_tree import PrefixTree
from montechain.targets import CODE

CELLS_AT_ONCE = 2**21
"""Approximate number of cells, those of all draws of some rows, that are held in memory together."""

EXACT = 1e-12
"""Mass that may be missing from sums by rounding."""


class MonteCarlo(Inference):
    """Draw label vectors from p(y | x) and return the best of them and the greedy one.

    This is Algorithm 3 of Read, Martino and Luengo (2014), Section 5: the same draws give the same answer. Draws whose
    prefix is no more probable than the best vector found are dropped. In a label-linear chain, a short branch and bound
    search bounds the probability of all vectors, and an answer that meets the bound is certified. With links of any
    kind, the draws go through the tree of label prefixes together, and the answer is certified if no class that they
    left out is more probable than it, because every vector that was not drawn lies below such a class.

    Cost: at most ``n_samples`` conditionals per label and row, usually far fewer. Exact for exact match in the rows
    that are certified. Other losses are minimised over all draws, at one conditional for each distinct prefix.
    Marginals are estimated from the draws; the probability of all vectors not drawn bounds their error, and with it
    the regret for Hamming loss.

    Parameters
    ----------
    n_samples : int, default=100
        Number of draws. All rows use the same table of uniform numbers, and with more draws it has the
        same beginning: more draws never give a less probable answer.
    decision : {"marginals", "best_sampled"}, default="marginals"
        For Hamming loss: decide each label by its own marginal, or return the draw with the largest sum
        of marginals (the paper's).

    Examples
    --------
    >>> from montechain.chain import example_tree
    >>> decision = MonteCarlo(n_samples=20).search(example_tree(), np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    is_sampling = True

    def __init__(self, n_samples: int = 100, decision: str = "marginals"):
        self.n_samples = n_samples
        self.decision = decision

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        uniforms = self._uniforms(tree, rng)
        if tree.scores is not None:
            return Decision.most_probable(*monte_carlo(*tree.arrays, uniforms), given=tree.given)
        greedy = sweep(tree, width=1).vectors
        labels, log_proba = greedy.labels, greedy.log_mass
        draws = draw(tree, uniforms, floor=log_proba)
        best = draws.best(log_proba)
        labels[draws.rows[best]], log_proba[draws.rows[best]] = draws.labels[best], draws.log_proba[best]
        return Decision.most_probable(labels, log_proba, np.maximum(log_proba, draws.unseen), given=tree.given)

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:  # noqa: D102
        draws, one = draw(tree, self._uniforms(tree, rng)), np.ones(tree.n_rows)
        return LabelDistribution.ragged(draws.rows, draws.labels, draws.weights(), one, one > 0.0)

    def minimise(self, tree: PrefixTree, loss: Loss, rng: np.random.Generator) -> Decision:  # noqa: D102
        if not isinstance(loss, Hamming):
            return super().minimise(tree, loss, rng)
        draws = draw(tree, self._uniforms(tree, rng))
        found = _marginals(tree, draws)
        labels = None
        if self.decision == "best_sampled":
            sums = sum(proba[draws.rows, draws.labels[:, k]] for k, proba in enumerate(found.proba))
            order, rank = best_first(draws.rows, np.asarray(sums))
            labels = draws.labels[order[rank == 0]]
        labels, *proven = loss.decide_marginals(found, tree.given, labels=labels)
        return Decision.least_loss(labels, tree.log_joint(labels), *proven)

    def rows_at_once(self, tree: PrefixTree) -> int:  # noqa: D102
        n_samples = check_positive_integer(self, "n_samples", 100)
        return max(1, CELLS_AT_ONCE // (n_samples * tree.chain.n_labels * max(tree.chain.n_classes)))

    def marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        """Return the marginals as estimated from the draws; the vectors drawn and what is left bound the error."""
        blocks = tree.blocks(self.rows_at_once(tree), rng)
        return join_rows([_marginals(block, draw(block, self._uniforms(block, rng))) for block in blocks])

    def _uniforms(self, tree: PrefixTree, rng: np.random.Generator) -> np.ndarray:
        """Check the parameters and draw the table of uniform numbers."""
        n_samples = check_positive_integer(self, "n_samples", 100)
        check_choice(self, "decision", ("marginals", "best_sampled"))
        check_memory(8 * n_samples * tree.chain.n_labels, f"`{n_samples=}` of MonteCarlo", "Draw fewer.")
        return rng.random((n_samples, tree.chain.n_labels))


def _marginals(tree: PrefixTree, draws: Draws) -> Marginals:
    """Return the marginals as estimated from the draws, with bounds.

    The vectors drawn count with their own probability. What is left is estimated by the mean of
    p(label | x, the labels before it) over the draws, which varies less than their frequencies and
    is exact for the first label. With known labels, the draws are weighted and their frequencies are used.

    With E the mass of the vectors drawn and F a bound on that of all others that agree with what is known, the
    true probability of a class with drawn mass a lies between a / (E + F) and (a + F) / (E + F).
    """
    n_classes, rows, weights, unseen = tree.chain.n_classes, draws.rows, draws.weights(), draws.unseen_mass()
    total = draws.sum_by_row(np.exp(draws.log_proba)) + unseen
    safe_total = np.where(total > 0.0, total, 1.0)
    unresolved = np.where(total > 0.0, np.minimum(unseen / safe_total + EXACT, 1.0), 1.0)
    is_free = tree.known.max(axis=1) < 0
    proba, lower = [], []
    for k, n in enumerate(n_classes):
        cells = rows * n + draws.labels[:, k]
        seen = np.bincount(cells, np.exp(draws.log_proba), minlength=tree.n_rows * n).reshape(-1, n)
        share = np.bincount(cells, weights, minlength=tree.n_rows * n).reshape(-1, n)
        conditional = np.exp(tree.expand(rows, draws.labels[:, :k])) * weights[:, None]
        averaged = np.column_stack([draws.sum_by_row(column) for column in conditional.T])
        proba.append(np.where(is_free[:, None], seen + unseen[:, None] * averaged, share))
        lower.append(seen / safe_total[:, None])
    return Marginals(
        proba, lower, np.repeat(unresolved[:, None], len(n_classes), axis=1), estimated=unresolved > 2 * EXACT
    )


@dataclass(frozen=True)
class Draws:
    """The distinct vectors among the draws of n rows, sorted by row and then by class.

    `labels` is of shape (m, L). `counts` says how many draws gave each vector, `first` which was the first that did.
    `log_proba` is log p(y | x), `log_weight` the part of it that known classes contribute. No vector of a row, except
    those drawn or abandoned, has a log-probability above `unseen`, of shape (n,).
    """

    rows: np.ndarray
    labels: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    log_proba: np.ndarray
    log_weight: np.ndarray
    unseen: np.ndarray

    def sum_by_row(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of `values`, one per vector, over each row."""
        return np.bincount(self.rows, weights=values, minlength=len(self.unseen))

    def weights(self) -> np.ndarray:
        """Return the share of each vector among the draws, weighted for what is known; sums to one in each row."""
        largest = np.full(len(self.unseen), -np.inf)
        np.maximum.at(largest, self.rows, self.log_weight)
        # What is known may be impossible under the chain; then all draws count alike.
        impossible = np.isneginf(largest)
        relative = np.exp(self.log_weight - np.where(impossible, 0.0, largest)[self.rows])
        weights = self.counts * np.where(impossible[self.rows], 1.0, relative)
        return weights / self.sum_by_row(weights)[self.rows]

    def unseen_mass(self) -> np.ndarray:
        """Return for each row a bound on the probability of all vectors that agree with `given` and were not drawn.

        Exact where nothing is known; otherwise known classes count as certain in vectors that were not drawn.
        """
        certain = self.log_weight > -np.inf
        drawn = np.where(certain, np.exp(self.log_proba - np.where(certain, self.log_weight, 0.0)), 0.0)
        return np.maximum(1.0 - self.sum_by_row(drawn), 0.0)

    def best(self, floor: np.ndarray) -> np.ndarray:
        """Return the most probable vector of each row that has one above `floor`; of equals, the one drawn first."""
        rows, largest = self.rows, floor + TIE
        np.maximum.at(largest, rows, self.log_proba)
        found = np.flatnonzero((self.log_proba >= largest[rows] - TIE) & (self.log_proba > floor[rows] + TIE))
        found = found[np.lexsort((self.first[found], rows[found]))]
        return found[np.diff(rows[found], prepend=-1) > 0]


def draw(tree: PrefixTree, uniforms: np.ndarray, floor: np.ndarray | None = None) -> Draws:
    """Draw ``len(uniforms)`` vectors for each row, all rows and draws together, position by position.

    All rows share the `uniforms` in [0, 1), of shape (S, L). Draws are abandoned once their log-probability is not
    above the `floor` of their row.
    """
    n_rows, n_samples = tree.n_rows, len(uniforms)
    unseen, floor = np.full(n_rows, -np.inf), np.full(n_rows, -np.inf) if floor is None else floor
    # The distinct prefixes; and of each draw, its prefix and its number.
    rows, labels = np.arange(n_rows), np.zeros((n_rows, 0), dtype=CODE)
    log_proba, log_weight = np.zeros((2, n_rows))
    place, sample = np.repeat(rows, n_samples), np.tile(np.arange(n_samples), n_rows)
    for k in range(tree.chain.n_labels):
        conditional = tree.expand(rows, labels)
        known = tree.known[rows, k]
        # As in `draw_classes`, but many draws share a prefix.
        cumulative = np.cumsum(np.exp(conditional[:, :-1]), axis=1)
        drawn = (cumulative[place] <= uniforms[sample, k, None]).sum(axis=1)
        child = place * conditional.shape[1] + np.where(known[place] < 0, drawn, known[place])
        is_entered = np.zeros(conditional.size, dtype=bool)
        is_entered[child] = True
        left_out = np.where(is_entered.reshape(conditional.shape), -np.inf, conditional)
        np.maximum.at(unseen, rows, log_proba + left_out.max(axis=1, initial=-np.inf))
        entered = np.flatnonzero(is_entered)
        origin, gain = entered // conditional.shape[1], conditional.ravel()[entered]
        value = log_proba[origin] + gain
        limit = floor[rows[origin]]
        keep = (value > limit + TIE) | np.isneginf(limit)
        entered, origin, gain, log_proba = entered[keep], origin[keep], gain[keep], value[keep]
        log_weight = log_weight[origin] + np.where(known[origin] >= 0, gain, 0.0)
        rows = rows[origin]
        labels = np.column_stack([labels[origin], (entered % conditional.shape[1]).astype(CODE)])
        number = np.full(conditional.size, -1)
        number[entered] = np.arange(len(entered))
        place = number[child]
        place, sample = place[place >= 0], sample[place >= 0]
    first = np.empty(len(rows), dtype=np.int64)
    first[place[::-1]] = sample[::-1]  # draws stand in their order, so the first one is written last
    return Draws(rows, labels, np.bincount(place, minlength=len(rows)), first, log_proba, log_weight, unseen)
