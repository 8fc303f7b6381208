"""Beam search over label prefixes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from montechain._kernels.beam import beam
from montechain._messages import check_positive_integer
from montechain.chain import CODE, ChainBase, PrefixTree, no_knowledge
from montechain.inference._frontier import allowed_children, append, best_first
from montechain.inference.base import Decision, Inference
from montechain.losses import LabelDistribution

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
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference.beam import Beam
    >>> from montechain.links.linear import FittedLinearLink
    >>> link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    >>> chain = Chain(order=[0, 1], parents=[(), ()], links=[link, link])
    >>> decision = Beam(width=2).most_probable(chain, np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    def __init__(self, width: int = 5):
        self.width = width

    def most_probable(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        labels, log_proba, dropped_log, _ = self._search(chain, X, given, n_wanted=1)
        upper_bound = np.maximum(log_proba[:, 0], dropped_log)
        return Decision.most_probable(labels[:, 0], log_proba[:, 0], upper_bound, given=given)

    def distribution(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> LabelDistribution:
        labels, log_proba, _, dropped = self._search(chain, X, given, n_wanted=None)
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

    def _search(self, chain: ChainBase, X: Any, given: np.ndarray | None, n_wanted: int | None):
        # No beam can hold more prefixes than there are vectors.
        width = min(check_positive_integer(self, "width", 5), math.prod(chain.n_classes))
        scores = chain.scores(X)
        if scores is not None:
            known = no_knowledge(chain.n_labels) if given is None else given
            return beam(*scores.arrays, known, width, width if n_wanted is None else n_wanted)
        return _beam(PrefixTree(chain, X, given), width, width if n_wanted is None else n_wanted)


def _beam(tree: PrefixTree, width: int, n_wanted: int):
    """Do what the kernel does, level by level, for a chain of any kind."""
    dropped_log, dropped_mass = np.full(tree.n_rows, -np.inf), np.zeros(tree.n_rows)
    rows = np.arange(tree.n_rows)
    prefix, partial = np.zeros((tree.n_rows, 0), dtype=CODE), np.zeros(tree.n_rows)
    rank = np.zeros(tree.n_rows, dtype=int)
    for _ in range(tree.chain.n_labels):
        origin, classes, log_proba = allowed_children(tree, rows, prefix)
        candidates = partial[origin] + log_proba
        order, rank = best_first(rows[origin], candidates)
        dropped = order[rank >= width]
        np.maximum.at(dropped_log, rows[origin[dropped]], candidates[dropped])
        np.add.at(dropped_mass, rows[origin[dropped]], np.exp(candidates[dropped]))
        kept, rank = order[rank < width], rank[rank < width]
        rows, prefix, partial = rows[origin[kept]], append(prefix, origin[kept], classes[kept]), candidates[kept]
    labels = np.zeros((tree.n_rows, n_wanted, tree.chain.n_labels), dtype=CODE)
    log_proba = np.full((tree.n_rows, n_wanted), -np.inf)
    wanted = rank < n_wanted
    labels[rows[wanted], rank[wanted]] = prefix[wanted]
    log_proba[rows[wanted], rank[wanted]] = partial[wanted]
    return labels, log_proba, dropped_log, dropped_mass
