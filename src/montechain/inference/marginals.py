"""Marginals of single labels: by sum-product, from bounds, or from an enumeration of label vectors."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import numpy as np

from montechain._kernels.marginals import marginals as marginals_kernel
from montechain._rows import join_rows
from montechain.distributions import Marginals
from montechain.inference.enumeration import DEFAULT, Effort, distribution, is_forest, sum_product
from montechain.prefix_tree import PrefixTree

__all__ = ["marginals"]

ROWS_AT_ONCE = 256
"""Rows whose vectors the generic enumeration holds in memory together."""


def marginals(tree: PrefixTree, effort: Effort = DEFAULT, *, rng: np.random.Generator) -> Marginals:
    """Return the probability of each class of each label, within the residual.

    Chains in which every label has at most one parent are solved exactly, by sum-product. In label-linear chains of
    binary labels, of which none is known, bounds on what is left open are narrowed until the middle between them is
    within the residual. Otherwise label vectors are enumerated.
    """
    if not is_forest(tree) and tree.scores is None:
        state, parts = rng.bit_generator.state, []
        for block in tree.blocks(ROWS_AT_ONCE):
            rng.bit_generator.state = state  # all rows share the same draws
            parts.append(_enumerated(block, effort, rng))
        return join_rows(parts)
    if is_forest(tree):
        lower, _ = sum_product(tree)
        estimated = np.isnan(lower).any(axis=1)
        # Where the known classes are impossible, nothing can be said about the others.
        proba, lower = np.where(estimated[:, None], _uninformed(tree), lower), np.nan_to_num(lower)
        unresolved = np.repeat(estimated[:, None].astype(float), tree.chain.n_labels, axis=1)
    else:
        proba, lower, unresolved, estimated = marginals_kernel(
            *tree.arrays,
            residual=effort.residual_of(tree),
            max_nodes=effort.max_nodes,
            draw=partial(effort.uniforms, tree, rng),
        )
    ends = accumulate(tree.chain.n_classes)
    columns = [slice(end - n, end) for n, end in zip(tree.chain.n_classes, ends, strict=True)]
    return Marginals([proba[:, own] for own in columns], [lower[:, own] for own in columns], unresolved, estimated)


def _enumerated(tree: PrefixTree, effort: Effort, rng: np.random.Generator) -> Marginals:
    """Return the marginals of an enumeration, for chains of any kind."""
    found = distribution(tree, effort, rng=rng)
    mass = found.marginals(tree.chain.n_classes)
    totals = np.where(found.totals > 0.0, found.totals, 1.0)[:, None]
    # Vectors that were drawn may stand for too much or too little, but for no more than the residual.
    error = np.where(found.estimated, found.residual, 0.0)[:, None]
    lower = [np.maximum(own - error, 0.0) for own in mass]
    unresolved = np.minimum(found.residual + error[:, 0], 1.0)
    return Marginals(
        [own / totals for own in mass], lower, np.repeat(unresolved[:, None], len(mass), axis=1), found.estimated
    )


def _uninformed(tree: PrefixTree) -> np.ndarray:
    """Return probabilities that say no more than what is known, in columns for the classes of all positions."""
    given = np.full((tree.n_rows, tree.chain.n_labels), -1) if tree.given is None else tree.given
    known = [given[:, [k]] for k in range(tree.chain.n_labels)]
    return np.hstack(
        [np.where(c >= 0, c == np.arange(n), 1.0 / n) for c, n in zip(known, tree.chain.n_classes, strict=True)]
    )
