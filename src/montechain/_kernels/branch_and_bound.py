"""The most probable label vector of a label-linear chain, with a proof or a bound.

Two depth-first searches share the work: a plain one whose nodes are cheap, and, for rows that it does not settle, the
one that is here. It looks ahead: a future label cannot contribute more than the best log-probability over the interval
in which its scores can still fall. Such a node costs many times as much as one of the plain search. The two are
compiled apart, since most data never need the second.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import log_sigmoids, respond
from montechain._kernels.depth_first import search_depth_first
from montechain._kernels.ties import TIE


def most_probable(base, links, given, *, max_nodes, patience):
    """Find the most probable label vector of each row.

    Parameters
    ----------
    base, links, given
        See `montechain.prefix_tree.PrefixTree.arrays`.
    max_nodes : int
        Maximum number of nodes expanded per row. The first vector is always completed.
    patience : int
        Nodes after which the plain search gives way to the one that looks ahead.

    Returns
    -------
    labels : int32 ndarray of shape (n, L)
    log_proba, upper_bound : ndarrays of shape (n,)
        They are equal where the vector is proven best. The bound never rises with `max_nodes`.
    nodes : int64 ndarray of shape (n,)
        Nodes expanded.
    """
    *found, complete, _ = search_depth_first(base, links, given, min(max_nodes, patience))
    unsettled = np.flatnonzero(~complete & (found[-1] < max_nodes))
    if len(unsettled):
        n_labels = len(links.n_classes)
        low, high, scores = np.empty((3, n_labels + 1, base.shape[1]))
        bounds, values = np.empty((2, n_labels, links.n_classes.max()))
        path = (np.ascontiguousarray(links.effects.T), low, high, scores, bounds, values)
        _look_ahead_in_rows(base, links, given, max_nodes, unsettled, tuple(found), path)
    return tuple(found)


@inner
def fill_tails(links, known, low, high):
    """Write what the labels at positions d.. can still add to each score, at least and at most.

    ``low[d, w]`` and ``high[d, w]`` are sums over the positions from d to the one before the score's own.
    """
    n_labels = len(links.n_classes)
    low[:] = 0.0
    high[:] = 0.0
    for d in range(n_labels - 1, -1, -1):
        known_class = known[d] if len(known) else -1
        start = links.active_start[d]
        for w in range(links.score_start[d + 1], links.score_start[n_labels]):
            least = most = 0.0
            if known_class > 0:
                least = most = links.effects[w, start + known_class - 1]
            elif known_class < 0:
                for a in range(start, links.active_start[d + 1]):
                    least = min(least, links.effects[w, a])
                    most = max(most, links.effects[w, a])
            low[d, w] = low[d + 1, w] + least
            high[d, w] = high[d + 1, w] + most


@inner
def class_bound(scores, low, high, first, chosen, n_classes):
    """Return the largest log-probability of class `chosen` over the intervals of its link's scores.

    `scores` are those after the prefix; ``low`` and ``high`` say how much later labels can still add.
    """
    if n_classes == 2:
        if chosen == 1:
            return log_sigmoids(scores[first] + high[first])[1]
        return log_sigmoids(scores[first] + low[first])[0]
    own = scores[first + chosen] + high[first + chosen]
    if own == -np.inf:
        return -np.inf
    total = 1.0
    for c in range(n_classes):
        if c != chosen:
            other = scores[first + c] + low[first + c]
            # Cut off where the exponential would overflow: that can only raise the bound.
            total += math.exp(min(other - own, 700.0))
    return -math.log(total)


@inner
def look_ahead(scores, low, high, links, known, depth, partial, enough):
    """Return `partial` plus the most that positions `depth`.. can add; stop early once that is not above `enough`."""
    n_classes = links.n_classes
    bound = partial
    # Binary positions contribute -log(1 + exp(-score)): the factors are multiplied, and one logarithm taken of many.
    product = 1.0
    for k in range(depth, len(n_classes)):
        if product > 1e15:
            bound -= math.log(product)
            product = 1.0
            if bound <= enough:
                return bound
        if n_classes[k] == 1:
            continue
        first = links.score_start[k]
        known_class = known[k] if len(known) else -1
        if known_class >= 0:
            bound += class_bound(scores, low, high, first, known_class, n_classes[k])
        elif n_classes[k] == 2:
            # Both classes at once: the logistic function rises, so the larger argument wins. It is not negative.
            score = max(scores[first] + high[first], -(scores[first] + low[first]))
            product *= 1.0 + math.exp(-score)
        else:
            best = -np.inf
            for c in range(n_classes[k]):
                best = max(best, class_bound(scores, low, high, first, c, n_classes[k]))
            bound += best
    return bound - math.log(product)


@inner
def add_class(scores, depth, chosen, links, effects_by_class):
    """Write to ``scores[depth + 1]`` the scores of later positions after class `chosen` of position `depth`."""
    for w in range(links.score_start[depth + 1], scores.shape[1]):
        scores[depth + 1, w] = scores[depth, w]
        if chosen > 0:
            scores[depth + 1, w] += effects_by_class[links.active_start[depth] + chosen - 1, w]


@inner
def search_ahead(base_row, links, known, max_nodes, best_labels, best_log, labels, log_proba, path):
    """Search one row for a vector more probable than `best_log`, always the child of the largest bound first.

    ``best_labels`` is overwritten when a better one is found; `labels`, `log_proba` and `path` are scratch space.

    Returns
    -------
    best_log : float
    bound : float
        Largest of `best_log` and the bounds of the nodes still open. As a node's bound is at most its parent's, this
        never rises from one expansion to the next.
    nodes : int
        Number of nodes expanded.
    """
    # By depth: the scores after the prefix; the bounds of its children, those taken excepted, and their
    # log-probabilities.
    effects_by_class, low, high, scores, bounds, values = path
    n_classes, last = links.n_classes, len(links.n_classes) - 1
    depth = nodes = 0
    partial = 0.0
    for w in range(len(base_row)):
        scores[0, w] = base_row[w]
    bound = look_ahead(scores[0], low[0], high[0], links, known, 0, 0.0, best_log + TIE)
    while bound > best_log + TIE:
        if nodes >= max_nodes:
            for d in range(depth):
                for c in range(n_classes[d]):
                    bound = max(bound, bounds[d, c])
            return best_log, bound, nodes
        nodes += 1
        respond(scores[depth, links.score_start[depth] : links.score_start[depth + 1]], n_classes[depth], log_proba)
        known_class = known[depth] if len(known) else -1
        for c in range(n_classes[depth]):
            bounds[depth, c] = -np.inf
            value = partial + log_proba[c]
            if not value > best_log + TIE or (known_class >= 0 and c != known_class):
                continue
            if depth == last:
                best_log = value
                labels[depth] = c
                for d in range(last + 1):
                    best_labels[d] = labels[d]
                continue
            add_class(scores, depth, c, links, effects_by_class)
            ahead = look_ahead(
                scores[depth + 1], low[depth + 1], high[depth + 1], links, known, depth + 1, value, best_log + TIE
            )
            # A child's look-ahead may exceed its parent's by rounding; the parent's still holds.
            values[depth, c], bounds[depth, c] = value, min(ahead, bound)
        # Continue with the best child not yet taken, of this node or of one above it.
        depth += 1
        bound = -np.inf
        while depth > 0 and not bound > best_log + TIE:
            depth -= 1
            chosen = 0
            for c in range(n_classes[depth]):
                if bounds[depth, c] > bounds[depth, chosen]:
                    chosen = c
            bound, partial = bounds[depth, chosen], values[depth, chosen]
        if bound > best_log + TIE:
            bounds[depth, chosen] = -np.inf
            labels[depth] = chosen
            add_class(scores, depth, chosen, links, effects_by_class)
            depth += 1
    return best_log, best_log, nodes


@njit
def _look_ahead_in_rows(base, links, given, max_nodes, rows, found, path):
    """Go on with some `rows` where the plain search ended, and write to what it `found`.

    `max_nodes` are the nodes that both searches together may expand in a row.
    """
    labels, log_proba, upper_bound, nodes = found
    known, vector = np.empty(0, dtype=np.int32), np.empty_like(labels[0])
    proba = np.empty(path[4].shape[1])
    for i in rows:
        if len(given):
            known = given[i]
        if len(given) or i == rows[0]:
            fill_tails(links, known, path[1], path[2])
        log_proba[i], bound, more = search_ahead(
            base[i], links, known, max_nodes - nodes[i], labels[i], log_proba[i], vector, proba, path
        )
        nodes[i] += more
        # The bound proven by the first search still holds.
        upper_bound[i] = max(log_proba[i], min(upper_bound[i], bound))
