"""Marginals of single labels, by sum-product, from bounds, or from an enumeration of label vectors."""

from __future__ import annotations

from functools import partial
from itertools import accumulate

import numpy as np

from montechain._kernels.marginals import marginals as marginals_kernel
from montechain._kernels.prefix_tree import UNDERFLOW
from montechain.distributions import Marginals
from montechain.inference.enumeration import DEFAULT, Effort, enumerate_by_level, is_forest, last_known, sum_product
from montechain.prefix_tree import PrefixTree

__all__ = ["marginals"]

ROWS_AT_ONCE = 256
"""Rows whose vectors the generic enumeration holds in memory together."""


def marginals(tree: PrefixTree, effort: Effort = DEFAULT, *, rng: np.random.Generator) -> Marginals:
    """Return the probability of each class of each label, within the residual.

    Chains in which every label has at most one parent are solved exactly, by sum-product. In label-linear chains of
    binary labels, of which none is known, bounds on what is left open are narrowed until the middle between them is
    within the residual. Otherwise vectors are enumerated as in `montechain.inference.enumeration.distribution`, but
    none of them is stored; open prefixes count for the labels that they fix.
    """
    uniforms = partial(effort.uniforms, tree, rng)
    residual = effort.residual_of(tree)
    if is_forest(tree):
        proba, _ = sum_product(tree)
        estimated = np.isnan(proba).any(axis=1)
        unresolved = np.zeros((tree.n_rows, tree.chain.n_labels))
        # The known classes may be impossible; then nothing can be said about the others.
        unresolved[estimated] = 1.0
        lower = np.nan_to_num(proba)
        proba = np.where(estimated[:, None], _uninformed(tree), proba) if estimated.any() else proba
    elif tree.scores is not None:
        proba, lower, unresolved, estimated = marginals_kernel(
            *tree.arrays, residual=residual, max_nodes=effort.max_nodes, draw=uniforms
        )
    else:
        offset, table = uniforms()
        parts = [_by_level(block, residual, effort.max_nodes, offset, table) for block in tree.blocks(ROWS_AT_ONCE)]
        proba, lower, unresolved, estimated = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    ends = list(accumulate(tree.chain.n_classes))
    columns = [slice(end - n, end) for n, end in zip(tree.chain.n_classes, ends, strict=True)]
    return Marginals([proba[:, own] for own in columns], [lower[:, own] for own in columns], unresolved, estimated)


def _by_level(
    tree: PrefixTree, residual: float, max_nodes: int, offset: float, uniforms: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what the kernel returns, for chains of any kind."""
    n_rows, n_classes = tree.n_rows, tree.chain.n_classes
    full_depth = np.full(n_rows, tree.chain.n_labels)
    found = enumerate_by_level(tree, full_depth, residual, max_nodes)
    estimated = found.left > residual
    vectors, opened, drawn = found.vectors, found.open, found.draw(tree, full_depth, estimated, offset, uniforms)
    total = np.where(np.isneginf(found.total), 0.0, found.total)
    mass, open_mass, drawn_mass = (np.exp(v.log_mass - total[v.rows]) for v in (vectors, opened, drawn))
    # Up to the last known position, the mass of an open prefix is only a bound on that of its agreeing vectors.
    ahead = last_known(tree)
    sure, drawn_sure = opened.depth > ahead[opened.rows], drawn.depth > ahead[drawn.rows]
    # What is known may be so improbable that nothing is left of it in units of the open mass: then in units of its own.
    unit = found.complete.copy()
    np.maximum.at(unit, drawn.rows, drawn.log_mass)
    lost = estimated & (unit > -np.inf) & (unit - total < UNDERFLOW)
    unit = np.where(lost, unit, total)
    own_mass, own_drawn_mass = np.exp(vectors.log_mass - unit[vectors.rows]), np.exp(drawn.log_mass - unit[drawn.rows])
    unresolved = np.empty((n_rows, len(n_classes)))
    lower, proba = [], []
    for k, n in enumerate(n_classes):

        def by_class(own, weights: np.ndarray, wanted=slice(None), k: int = k, n: int = n) -> np.ndarray:
            cells = own.rows[wanted] * n + own.labels[wanted, k]
            sums = np.bincount(cells, weights=weights[wanted], minlength=n_rows * n)
            return sums.astype(float).reshape(n_rows, n)  # of nothing, bincount returns integers

        is_fixed = opened.depth > k
        lower_k = by_class(vectors, mass) + by_class(opened, open_mass, sure & is_fixed)
        proba_k = lower_k + by_class(opened, open_mass, ~sure & is_fixed & ~estimated[opened.rows])
        loose = ~(sure & is_fixed)
        unresolved[:, k] = np.bincount(opened.rows[loose], weights=open_mass[loose], minlength=n_rows)
        # The draws that fall to a label can stand for a little more or less than what is unresolved of it.
        drawn_k = by_class(drawn, drawn_mass, ~drawn_sure | (drawn.depth <= k))
        sums = drawn_k.sum(axis=1)
        rescaled = (sums > unresolved[:, k]) | ((ahead < 0) & (sums > 0.0))
        drawn_k[rescaled] *= (unresolved[rescaled, k] / sums[rescaled])[:, None]
        proba_k += drawn_k
        if lost.any():
            proba_k[lost] = (by_class(vectors, own_mass) + by_class(drawn, own_drawn_mass))[lost]
        lower.append(lower_k)
        proba.append(proba_k)
    impossible = np.isneginf(found.total)
    unresolved[impossible] = 1.0
    totals = [own.sum(axis=1, keepdims=True) for own in proba]
    shares = np.hstack([own / np.where(sums > 0.0, sums, 1.0) for own, sums in zip(proba, totals, strict=True)])
    is_known = np.hstack([np.repeat(sums > 0.0, n, axis=1) for sums, n in zip(totals, n_classes, strict=True)])
    shares = np.where(is_known, shares, _uninformed(tree))
    return shares, np.hstack(lower), np.minimum(unresolved, 1.0), estimated | impossible


def _uninformed(tree: PrefixTree) -> np.ndarray:
    """Return probabilities that say no more than what is known, in columns for the classes of all positions."""
    given = np.full((tree.n_rows, tree.chain.n_labels), -1) if tree.given is None else tree.given
    known = [given[:, [k]] for k in range(tree.chain.n_labels)]
    return np.hstack(
        [np.where(c >= 0, c == np.arange(n), 1.0 / n) for c, n in zip(known, tree.chain.n_classes, strict=True)]
    )
