"""Searches that go through the tree of prefixes level by level, all rows together.

Greedy, exhaustive, beam and epsilon-approximate search differ in which prefixes they keep at each level.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.depth_first import search_depth_first
from montechain._kernels.ties import level
from montechain._messages import check_number, check_positive_integer
from montechain._rows import join_rows
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference.base import Inference
from montechain.inference.decision import LOG_TOLERANCE, Decision
from montechain.inference.sweep import Prefixes, Swept, best_first, log_sum_by_row, sweep
from montechain.prefix_tree import PrefixTree

BLOCK = 2**20
"""Number of label vectors held at a time."""
MAX_NODES = 10_000_000
"""Number of prefixes of a batch that epsilon-approximate search may hold."""


class Greedy(Inference):
    """Take the most probable class at every link, given the classes taken before.

    This is inference in CC (Read et al. 2011; Section 2.2 of Read, Martino and Luengo 2014). Of equally
    probable classes the first is taken.

    Cost: L conditionals per row. Not exact for any loss, unless no link has parents: then it is for
    exact match and Hamming loss. The classes not taken bound the probability of every other vector, so
    that a row whose greedy vector is provably the most probable one is certified.

    References
    ----------
    Read, Pfahringer, Holmes and Frank (2011). Classifier chains for multi-label classification.
    Machine Learning 85.

    Examples
    --------
    >>> from montechain.chain import example_tree
    >>> decision = Greedy().search(example_tree(), np.random.default_rng(0))
    >>> decision.labels.tolist(), float(np.exp(decision.log_proba[0]).round(2))
    ([[1, 1]], 0.49)
    """

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        if tree.scores is not None:
            # The first vector that a depth-first search completes, and what that search left open.
            labels, log_proba, bound = search_depth_first(*tree.arrays, 1)[:3]
        else:
            found = sweep(tree, width=1)
            labels, log_proba = found.vectors.labels, found.vectors.log_mass
            bound = np.maximum(log_proba, found.dropped)
        if not any(tree.chain.parents):  # the best class of each label makes the best vector
            bound = log_proba
        return Decision.most_probable(labels, log_proba, bound, given=tree.given)


class Beam(Inference):
    """Keep the `width` most probable label prefixes at every link.

    ``Beam(width=1)`` is `Greedy`; a beam as wide as there are label vectors is `Exhaustive`.

    Cost: at most ``width`` conditionals per label and row. Exact for exact match where the most probable
    prefix dropped is no more probable than the vector found: such rows are certified. Other losses are
    minimised over the vectors in the last beam, and the mass of the prefixes dropped bounds the regret.

    Parameters
    ----------
    width : int, default=5
        Number of prefixes kept.

    References
    ----------
    Kumar, Vembu, Menon and Elkan (2012). Learning and inference in probabilistic classifier chains with
    beam search. ECML PKDD. (The method that Section 2.2 of Read, Martino and Luengo 2014 cites.)

    Examples
    --------
    >>> from montechain.chain import example_tree
    >>> decision = Beam(width=2).search(example_tree(), np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    def __init__(self, width: int = 5):
        self.width = width

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        found = self._sweep(tree)
        best = found.best()
        upper_bound = np.maximum(best.log_mass, found.dropped)
        return Decision.most_probable(best.labels, best.log_mass, upper_bound, given=tree.given)

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:  # noqa: D102
        found = self._sweep(tree)
        rows, mass = found.vectors.rows, np.exp(found.vectors.log_mass)
        # A dropped prefix may owe some of its mass to vectors that disagree with what is known: the mass that
        # agrees is at most this total, and what the beam holds is at least this share of it.
        total = np.bincount(rows, mass, minlength=tree.n_rows) + found.dropped_mass
        safe_total = np.where(total > 0, total, 1.0)
        residual = np.where(total > 0, found.dropped_mass / safe_total, 1.0)
        return LabelDistribution.ragged(
            rows, found.vectors.labels, mass / safe_total[rows], residual, np.zeros(tree.n_rows, dtype=bool)
        )

    def _sweep(self, tree: PrefixTree) -> Swept:
        # No beam can hold more prefixes than there are vectors.
        return sweep(tree, width=min(check_positive_integer(self, "width", 5), math.prod(tree.chain.n_classes)))


class Exhaustive(Inference):
    """Score every label vector.

    This is inference in PCC (Dembczyński et al. 2010; Section 2.2 of Read, Martino and Luengo 2014).

    Cost: one conditional per prefix and row, 2^L - 1 for L binary labels. Exact for every loss: exact
    match and Hamming by their definition, any other as far as the loss is minimised exactly over a
    known distribution. Every row is certified for exact match.

    Parameters
    ----------
    max_vectors : int, default=65536
        Refuse to score more label vectors per row than this. Labels known beforehand do not count.

    References
    ----------
    Dembczyński, Cheng and Hüllermeier (2010). Bayes optimal multilabel classification via probabilistic
    classifier chains. ICML.

    Examples
    --------
    >>> from montechain.chain import example_tree
    >>> distribution = Exhaustive().weigh(example_tree(), np.random.default_rng(0))
    >>> distribution.weights.round(2).tolist()
    [0.09, 0.21, 0.21, 0.49]
    """

    def __init__(self, max_vectors: int = 2**16):
        self.max_vectors = max_vectors

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        best = join_rows([sweep(block).best() for block in tree.blocks(self.rows_at_once(tree), rng)])
        return Decision.most_probable(best.labels, best.log_mass, best.log_mass, given=tree.given)

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:  # noqa: D102
        self.rows_at_once(tree)
        found = sweep(tree).vectors
        total = log_sum_by_row(found.rows, found.log_mass, tree.n_rows)
        # What is known may be impossible under the chain; then all completions count alike, and nothing is proven.
        impossible = np.isneginf(total)
        weights = np.exp(found.log_mass - np.where(impossible, 0.0, total)[found.rows])
        alike = impossible[found.rows]
        weights[alike] = 1.0 / np.bincount(found.rows)[found.rows[alike]]
        return LabelDistribution.ragged(found.rows, found.labels, weights, impossible.astype(float), impossible)

    def rows_at_once(self, tree: PrefixTree) -> int:
        """Return how many rows may have all their vectors in memory together; raise if some row has too many."""
        limit = check_positive_integer(self, "max_vectors", 65536)
        n_classes = np.array(tree.chain.n_classes, dtype=object)  # Python integers, which cannot overflow
        count = np.where(tree.known >= 0, 1, n_classes).prod(axis=1).max(initial=1)
        if count > limit:
            raise ValueError(
                f"Exhaustive() would score {count} label vectors per row, more than `max_vectors={limit}`. "
                f"Try BranchAndBound(), Beam(width=...) or MonteCarlo(n_samples=...), or allow it with "
                f"Exhaustive(max_vectors={count})."
            )
        return max(1, BLOCK // count)

    def marginals(self, tree: PrefixTree, rng: np.random.Generator) -> Marginals:
        """Return the exact marginals."""
        blocks = tree.blocks(self.rows_at_once(tree), rng)
        return join_rows([self.weigh(block, rng).with_bounds(tree.chain.n_classes) for block in blocks])


class EpsilonApproximate(Inference):
    """Search best-first, and cut every prefix whose probability is below `epsilon`.

    The most probable prefix is expanded first, and the search ends with the first complete vector. If
    every vector is cut, greedy search continues from each prefix that had all its children cut, and the
    best of the vectors found is returned. ``epsilon=0`` is exact (uniform-cost search); with
    ``epsilon=0.5`` and binary labels this is `Greedy`. A vector more probable than `epsilon` is
    always found.

    With some labels known, the threshold is compared with the product over the other labels only, since
    known labels are not choices; the order of the search and the answer follow the joint probability.

    Cost: about L / epsilon conditionals per row at most, and as many again for the greedy
    searches; exponential in L for ``epsilon=0``. Exact for exact match where no prefix that was cut is more
    probable than the vector found: such rows are certified. Not for other losses.

    Parameters
    ----------
    epsilon : float in [0, 1], default=0.25
        The threshold.

    References
    ----------
    Dembczyński, Waegeman and Hüllermeier (2012). An analysis of chaining in multi-label classification.
    ECAI. Algorithm 1. (PCC-epsilon in the experiments of Read, Martino and Luengo 2014.)

    Examples
    --------
    >>> from montechain.chain import example_tree
    >>> search = EpsilonApproximate(epsilon=0.25)
    >>> decision = search.search(example_tree(), np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    def __init__(self, epsilon: float = 0.25):
        self.epsilon = epsilon

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        epsilon = check_number(self, "epsilon", 0.25, "a number from 0 to 1")
        log_epsilon = math.log(epsilon) if epsilon > 0 else -math.inf
        # Level by level, the same prefixes survive, and the best complete one is the first met best-first.
        first = sweep(tree, width=1).vectors
        # If the greedy vector is not cut, a prefix less probable than it would never be expanded.
        floor = np.where(first.free >= log_epsilon, first.log_mass, -np.inf)
        best_cut = np.full(tree.n_rows, -np.inf)
        prefixes, stuck = Prefixes.empty(np.arange(tree.n_rows)), np.zeros(tree.n_rows, dtype=bool)
        for _ in range(tree.chain.n_labels):
            children = prefixes.grow(tree)
            origin, log_mass = children.origin, children.log_mass
            survives = (children.free >= log_epsilon) & ~stuck[origin]
            is_cut = ~survives & ~stuck[origin]
            np.maximum.at(best_cut, children.rows[is_cut], log_mass[is_cut])
            # A prefix without surviving children is continued greedily.
            has_survivor = np.bincount(origin[survives], minlength=len(stuck)) > 0
            order, rank = best_first(origin, log_mass)
            is_best = np.zeros(len(origin), dtype=bool)
            is_best[order[rank == 0]] = True
            keep = (survives | (is_best & ~has_survivor[origin])) & (log_mass >= floor[children.rows] - LOG_TOLERANCE)
            if keep.sum() > MAX_NODES:
                raise RuntimeError(
                    f"EpsilonApproximate(epsilon={self.epsilon}) would store more than {MAX_NODES} label prefixes. "
                    "Use a larger `epsilon`, or BranchAndBound(), which needs little memory."
                )
            prefixes, stuck = children.take(keep), ~has_survivor[origin[keep]]
        # Vectors that survived come before those found greedily, whatever their probability.
        order = np.lexsort((-level(prefixes.log_mass), stuck, prefixes.rows))
        best = prefixes.take(order[np.diff(prefixes.rows[order], prepend=-1) > 0])
        upper_bound = np.maximum(best.log_mass, best_cut)
        return Decision.most_probable(best.labels, best.log_mass, upper_bound, given=tree.given)
