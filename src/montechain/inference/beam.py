"""Beam search over label prefixes."""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.beam import beam
from montechain._messages import check_positive_integer
from montechain.distributions import LabelDistribution
from montechain.inference.base import Inference
from montechain.inference.decision import Decision
from montechain.inference.sweep import best_first, sweep
from montechain.prefix_tree import PrefixTree
from montechain.targets import CODE

__all__ = ["Beam"]


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
    >>> from montechain.chain import example_chain
    >>> decision = Beam(width=2).most_probable(example_chain(), np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    def __init__(self, width: int = 5):
        self.width = width

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        labels, log_proba, dropped, _ = self._keep(tree, 1)
        upper_bound = np.maximum(log_proba[:, 0], dropped)
        return Decision.most_probable(labels[:, 0], log_proba[:, 0], upper_bound, given=tree.given)

    def weigh(self, tree: PrefixTree, rng: np.random.Generator) -> LabelDistribution:  # noqa: D102
        labels, log_proba, _, dropped = self._keep(tree, None)
        found = np.exp(log_proba)
        # A dropped prefix may owe some of its mass to vectors that disagree with what is known: the mass that
        # agrees is at most this total, and what the beam holds is at least this share of it.
        total = found.sum(axis=1) + dropped
        keep = found > 0
        keep[:, 0] = True
        safe_total = np.where(total > 0, total, 1.0)
        return LabelDistribution(
            indptr=np.r_[0, np.cumsum(keep.sum(axis=1))],
            labels=labels[keep],
            weights=(found / safe_total[:, None])[keep],
            residual=np.where(total > 0, dropped / safe_total, 1.0),
            estimated=np.zeros(len(labels), dtype=bool),
        )

    def _keep(self, tree: PrefixTree, n_wanted: int | None) -> tuple[np.ndarray, ...]:
        """Return the last beam, (n, w, L) and (n, w), and the largest log-probability and mass of what was dropped."""
        # No beam can hold more prefixes than there are vectors.
        width = min(check_positive_integer(self, "width", 5), math.prod(tree.chain.n_classes))
        n_wanted = n_wanted or width
        if tree.scores is not None:
            return beam(*tree.arrays, width, n_wanted)
        found = sweep(tree, width=width)
        _, rank = best_first(found.vectors.rows, found.vectors.log_mass)  # sorted already
        last, rank = found.vectors.take(rank < n_wanted), rank[rank < n_wanted]
        labels = np.zeros((tree.n_rows, n_wanted, tree.chain.n_labels), dtype=CODE)
        log_proba = np.full((tree.n_rows, n_wanted), -np.inf)
        labels[last.rows, rank], log_proba[last.rows, rank] = last.labels, last.log_mass
        return labels, log_proba, found.dropped, found.dropped_mass
