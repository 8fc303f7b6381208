"""Beam search over label prefixes."""

from __future__ import annotations

import math

import numpy as np

from montechain._messages import check_positive_integer
from montechain.distributions import LabelDistribution
from montechain.inference.base import Inference
from montechain.inference.decision import Decision
from montechain.inference.sweep import Swept, sweep
from montechain.prefix_tree import PrefixTree

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
