"""Epsilon-approximate inference."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from montechain._kernels.epsilon import epsilon_approximate
from montechain._kernels.ties import level
from montechain.chain import CODE, ChainBase, PrefixTree, no_knowledge
from montechain.inference._frontier import allowed_children, append, best_first, is_free
from montechain.inference.base import TIGHT, Decision, Inference
from montechain.inference.greedy import greedy_paths

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
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference.epsilon import EpsilonApproximate
    >>> from montechain.links.linear import FittedLinearLink
    >>> link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    >>> chain = Chain(order=[0, 1], parents=[(), ()], links=[link, link])
    >>> search = EpsilonApproximate(epsilon=0.25)
    >>> decision = search.most_probable(chain, np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    def __init__(self, epsilon: float = 0.25):
        self.epsilon = epsilon

    def most_probable(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        if not isinstance(self.epsilon, Real) or isinstance(self.epsilon, bool) or not 0 <= self.epsilon <= 1:
            raise ValueError(
                f"`epsilon={self.epsilon!r}` of EpsilonApproximate must be a number from 0 to 1, "
                "e.g. EpsilonApproximate(epsilon=0.25)."
            )
        log_epsilon = math.log(self.epsilon) if self.epsilon > 0 else -math.inf
        scores = chain.scores(X)
        if scores is not None:
            known = no_knowledge(chain.n_labels) if given is None else given
            *found, overfull = epsilon_approximate(*scores.arrays, known, log_epsilon, MAX_NODES)
            if overfull >= 0:
                raise self._overfull()
        else:
            found = self._by_level(PrefixTree(chain, X, given), log_epsilon)
        return Decision.most_probable(*found, given=given)

    def _overfull(self) -> RuntimeError:
        return RuntimeError(
            f"EpsilonApproximate(epsilon={self.epsilon}) would store more than {MAX_NODES} label prefixes. "
            "Use a larger `epsilon`, or BranchAndBound(), which needs little memory."
        )

    def _by_level(self, tree: PrefixTree, log_epsilon: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Search level by level: the same prefixes survive, and the best complete one is the first met best-first."""
        _, greedy_log, _, greedy_free = greedy_paths(tree)
        # If the greedy vector is not cut, a prefix less probable than it would never be expanded.
        floor = np.where(greedy_free >= log_epsilon, greedy_log, -np.inf)
        cut = np.full(tree.n_rows, -np.inf)
        rows = np.arange(tree.n_rows)
        prefix = np.zeros((tree.n_rows, 0), dtype=CODE)
        partial, free_log = np.zeros(tree.n_rows), np.zeros(tree.n_rows)
        stuck = np.zeros(tree.n_rows, dtype=bool)
        for k in range(tree.chain.n_labels):
            origin, classes, log_proba = allowed_children(tree, rows, prefix)
            child_log = partial[origin] + log_proba
            child_free = free_log[origin] + np.where(is_free(tree, rows[origin], k), log_proba, 0.0)
            survives = (child_free >= log_epsilon) & ~stuck[origin]
            is_cut = ~survives & ~stuck[origin]
            np.maximum.at(cut, rows[origin[is_cut]], child_log[is_cut])
            # A prefix without surviving children goes on greedily.
            has_survivor = np.zeros(len(rows), dtype=bool)
            has_survivor[origin[survives]] = True
            order, rank = best_first(origin, child_log)
            is_best = np.zeros(len(origin), dtype=bool)
            is_best[order[rank == 0]] = True
            keep = (survives | (is_best & ~has_survivor[origin])) & (child_log >= floor[rows[origin]] - TIGHT)
            if keep.sum() > MAX_NODES:
                raise self._overfull()
            origin, classes = origin[keep], classes[keep]
            prefix, rows, stuck = append(prefix, origin, classes), rows[origin], ~has_survivor[origin]
            partial, free_log = child_log[keep], child_free[keep]
        # Vectors that survived come before those found greedily, whatever their probability.
        order = np.lexsort((-level(partial), stuck, rows))
        best = order[np.r_[True, np.diff(rows[order]) > 0]] if len(rows) else order
        return prefix[best], partial[best], np.maximum(partial[best], cut)
