"""Marginals of single labels: by sum-product, from bounds, or from an enumeration of label vectors."""

from __future__ import annotations

import numpy as np

from montechain._kernels.marginals import bounded_marginals
from montechain._rows import join_rows
from montechain.distributions import Marginals
from montechain.inference.enumeration import DEFAULT, Effort, distribution, is_forest, sum_product
from montechain.prefix_tree import PrefixTree

__all__ = ["marginals"]

ROWS_AT_ONCE = 256
"""Rows whose vectors an enumeration holds in memory together."""


def marginals(tree: PrefixTree, effort: Effort = DEFAULT, *, rng: np.random.Generator) -> Marginals:
    """Return the probability of each class of each label, within the residual.

    Chains in which every label has at most one parent are solved exactly, by sum-product. In label-linear chains of
    binary labels, of which none is known, bounds on what is left open are narrowed until the middle between them is
    within the residual. Otherwise, and where the budget ends first, label vectors are enumerated.
    """
    if is_forest(tree):
        lower, _ = sum_product(tree)
        estimated = np.isnan(lower).any(axis=1)
        # Where the known classes are impossible, nothing can be said about the others.
        proba, lower = np.where(estimated[:, None], _uninformed(tree), lower), np.nan_to_num(lower)
        unresolved = np.repeat(estimated[:, None].astype(float), tree.chain.n_labels, axis=1)
    elif tree.scores is None or not tree.arrays[1].is_all_binary:
        return _enumerated(tree, effort, rng)
    else:
        base, links, given = tree.arrays
        residual = effort.residual_of(tree)
        proba, lower, unresolved, settled, _ = bounded_marginals(base, links.effects, given, residual, effort.max_nodes)
        estimated, rows = np.zeros(tree.n_rows, dtype=bool), np.flatnonzero(~settled)
        if len(rows):
            rest = _enumerated(tree.take(rows), effort, rng)
            proba[rows], lower[rows] = np.hstack(rest.proba), np.hstack(rest.lower)
            unresolved[rows], estimated[rows] = rest.unresolved, rest.estimated
    ends = np.cumsum(tree.chain.n_classes)[:-1]
    return Marginals(np.split(proba, ends, axis=1), np.split(lower, ends, axis=1), unresolved, estimated)


def _enumerated(tree: PrefixTree, effort: Effort, rng: np.random.Generator) -> Marginals:
    """Return the marginals of an enumeration, some rows at a time."""
    blocks = tree.blocks(ROWS_AT_ONCE, rng)
    return join_rows([distribution(block, effort, rng=rng).with_bounds(tree.chain.n_classes) for block in blocks])


def _uninformed(tree: PrefixTree) -> np.ndarray:
    """Return probabilities that say no more than what is known, in columns for the classes of all positions."""
    given = np.full((tree.n_rows, tree.chain.n_labels), -1) if tree.given is None else tree.given
    known = [given[:, [k]] for k in range(tree.chain.n_labels)]
    return np.hstack(
        [np.where(c >= 0, c == np.arange(n), 1.0 / n) for c, n in zip(known, tree.chain.n_classes, strict=True)]
    )
