"""The most probable label vector of a label-linear chain, with a proof or a bound.

Rows that the depth-first search does not settle get one more bound, which looks at all links at once: no link can
contribute more than the best log-probability over the intervals in which its scores can fall.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.depth_first import search_depth_first


def most_probable(base, links, given, *, max_nodes):
    """Find the most probable label vector of each row; the first parameters are `PrefixTree.arrays`.

    At most `max_nodes` nodes are expanded per row, but the first vector is always completed. Returns the labels, int32
    of shape (n, L), and for each row the log-probability, an upper bound, and the number of nodes expanded, int64. The
    bound equals the log-probability where the vector is proven best, and never rises with `max_nodes`.
    """
    labels, log_proba, upper_bound, nodes, complete, _ = search_depth_first(base, links, given, max_nodes)
    rows = np.flatnonzero(~complete)
    if len(rows):
        bound = bound_of_links(base[rows], links, given[rows] if len(given) else given)
        upper_bound[rows] = np.maximum(log_proba[rows], np.minimum(upper_bound[rows], bound))
    return labels, log_proba, upper_bound, nodes


def bound_of_links(base, links, given):
    """Return an upper bound on the log-probability of every label vector of a row: the sum of those of its links."""
    given = given if len(given) else np.full((len(base), len(links.n_classes)), -1)
    low, high, bound = base.copy(), base.copy(), np.zeros(len(base))
    for j, known in enumerate(given.T[:, :, None]):
        effects = links.effects[:, links.active_start[j] : links.active_start[j + 1]]
        effects = np.pad(effects, ((0, 0), (1, 0))).T  # the first class of a label has none
        low += np.where(known < 0, effects.min(axis=0), effects[known[:, 0]])
        high += np.where(known < 0, effects.max(axis=0), effects[known[:, 0]])
    for k, known in enumerate(given.T[:, :, None]):
        scores = slice(links.score_start[k], links.score_start[k + 1])
        # The first class of a binary link, which has one score, has a score of zero; so has a single class.
        n_missing = links.n_classes[k] - (scores.stop - scores.start)
        least, most = (np.pad(ends[:, scores], ((0, 0), (n_missing, 0))) for ends in (low, high))
        with np.errstate(invalid="ignore"):
            gaps = least[:, None, :] - most[:, :, None]  # of the other classes' scores to each class's own
        gaps[:, np.eye(links.n_classes[k], dtype=bool)] = 0.0
        best = np.where(np.isneginf(most), -np.inf, -np.logaddexp.reduce(gaps, axis=2))
        best[(known >= 0) & (np.arange(links.n_classes[k]) != known)] = -np.inf
        bound += best.max(axis=1)
    return bound
