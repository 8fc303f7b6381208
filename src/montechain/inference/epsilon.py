"""Epsilon-approximate inference."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from montechain._kernels.ties import level
from montechain.inference.base import Inference
from montechain.inference.decision import TIGHT, Decision
from montechain.inference.sweep import Prefixes, best_first, sweep
from montechain.prefix_tree import PrefixTree

__all__ = ["EpsilonApproximate"]

MAX_NODES = 10_000_000
"""Number of prefixes that may be stored (of one row in compiled code, of a batch otherwise)."""


class EpsilonApproximate(Inference):
    """Search best-first, and cut every prefix whose probability is below `epsilon`.

    The most probable prefix is expanded first, and the search ends with the first complete vector. If
    every vector is cut, greedy search goes on from each prefix that had all its children cut, and the
    best of the vectors found is returned. ``epsilon=0`` is exact (uniform-cost search); with
    ``epsilon=0.5`` and binary labels this is `Greedy`. A vector more probable than `epsilon` is found
    for certain.

    With some labels known, the threshold is compared with the product over the other labels only, since
    known labels are no choices; the order of the search and the answer follow the joint probability.

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
    >>> from montechain.chain import example_chain
    >>> search = EpsilonApproximate(epsilon=0.25)
    >>> decision = search.most_probable(example_chain(), np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    def __init__(self, epsilon: float = 0.25):
        self.epsilon = epsilon

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        if not isinstance(self.epsilon, Real) or isinstance(self.epsilon, bool) or not 0 <= self.epsilon <= 1:
            raise ValueError(
                f"`epsilon={self.epsilon!r}` of EpsilonApproximate must be a number from 0 to 1, "
                "e.g. EpsilonApproximate(epsilon=0.25)."
            )
        log_epsilon = math.log(self.epsilon) if self.epsilon > 0 else -math.inf
        return Decision.most_probable(*self._by_level(tree, log_epsilon), given=tree.given)

    def _overfull(self) -> RuntimeError:
        return RuntimeError(
            f"EpsilonApproximate(epsilon={self.epsilon}) would store more than {MAX_NODES} label prefixes. "
            "Use a larger `epsilon`, or BranchAndBound(), which needs little memory."
        )

    def _by_level(self, tree: PrefixTree, log_epsilon: float) -> list[np.ndarray]:
        """Search level by level: the same prefixes survive, and the best complete one is the first met best-first."""
        greedy = sweep(tree, width=1).vectors
        # If the greedy vector is not cut, a prefix less probable than it would never be expanded.
        floor = np.where(greedy.free >= log_epsilon, greedy.log_mass, -np.inf)
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
            keep = (survives | (is_best & ~has_survivor[origin])) & (log_mass >= floor[children.rows] - TIGHT)
            if keep.sum() > MAX_NODES:
                raise self._overfull()
            prefixes, stuck = children.take(keep), ~has_survivor[origin[keep]]
        # Vectors that survived come before those found greedily, whatever their probability.
        order = np.lexsort((-level(prefixes.log_mass), stuck, prefixes.rows))
        best = prefixes.take(order[np.diff(prefixes.rows[order], prepend=-1) > 0])
        return [best.labels, best.log_mass, np.maximum(best.log_mass, best_cut)]
