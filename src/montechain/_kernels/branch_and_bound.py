"""The most probable label vector of a label-linear chain, with a proof or a bound.

Two depth-first searches share the work: one whose nodes are cheap, and, for rows that it does not settle, the one here,
which looks ahead. A future label cannot contribute more than the best log-probability over the interval in
which its scores can still fall. Such a node costs many times as much as one of the first search. The two are compiled
apart, since most data never need the second.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import ONE_VERSUS_REST, SOFTMAX, log_sigmoid, respond
from montechain._kernels.depth_first import search_depth_first
from montechain._kernels.ties import TIE


def most_probable(base, links, given, *, max_nodes, patience):
    """Find the most probable label vector of each row.

    Parameters
    ----------
    base, links
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    max_nodes : int
        Nodes expanded per row, at most. The first vector is completed whatever this is.
    patience : int
        Nodes after which the first search gives way to the one that looks ahead.

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
        search_ahead(base, links, given, max_nodes, unsettled, *found)
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
def class_bound(scores, low, high, first, chosen, n_classes, response):
    """Return the largest log-probability of class `chosen` over the intervals of its link's scores.

    `scores` are those after the prefix; ``low`` and ``high`` say how much later labels can still add.
    """
    if response == SOFTMAX:
        if n_classes == 2:
            if chosen == 1:
                return log_sigmoid(scores[first] + high[first])
            return log_sigmoid(-(scores[first] + low[first]))
        own = scores[first + chosen] + high[first + chosen]
    elif response == ONE_VERSUS_REST:
        own = log_sigmoid(scores[first + chosen] + high[first + chosen])
    else:
        return 0.0
    if own == -np.inf:
        return -np.inf
    total = 1.0
    for c in range(n_classes):
        if c != chosen:
            other = scores[first + c] + low[first + c]
            if response == ONE_VERSUS_REST:
                other = log_sigmoid(other)
            # Cut off where the exponential would overflow: that can only raise the bound.
            total += math.exp(min(other - own, 700.0))
    return -math.log(total)


@inner
def look_ahead(scores, low, high, links, known, depth, partial, enough):
    """Return `partial` plus the most that positions `depth`.. can add; stop early once that is not above `enough`."""
    response, n_classes = links.response, links.n_classes
    bound = partial
    # Binary positions contribute -log(1 + exp(-score)): the factors are multiplied, and one logarithm taken of many.
    product = 1.0
    for k in range(depth, len(n_classes)):
        if product > 1e15:
            bound -= math.log(product)
            product = 1.0
            if bound <= enough:
                return bound
        if n_classes[k] == 1 or response[k] > ONE_VERSUS_REST:
            continue
        first = links.score_start[k]
        known_class = known[k] if len(known) else -1
        if known_class >= 0:
            bound += class_bound(scores, low, high, first, known_class, n_classes[k], response[k])
        elif response[k] == SOFTMAX and n_classes[k] == 2:
            # Both classes at once: the logistic function rises, so the larger argument wins. It is not negative.
            score = max(scores[first] + high[first], -(scores[first] + low[first]))
            product *= 1.0 + math.exp(-score)
        else:
            best = -np.inf
            for c in range(n_classes[k]):
                best = max(best, class_bound(scores, low, high, first, c, n_classes[k], response[k]))
            bound += best
    return bound - math.log(product)


@inner
def add_class(scores, depth, chosen, links, effects_by_class):
    """Write to ``scores[depth + 1]`` the scores of later positions once `chosen` stands at position `depth`."""
    for w in range(links.score_start[depth + 1], scores.shape[1]):
        scores[depth + 1, w] = scores[depth, w]
        if chosen > 0:
            scores[depth + 1, w] += effects_by_class[links.active_start[depth] + chosen - 1, w]


@inner
def search_row(effects_by_class, links, known, low, high, max_nodes, best, best_log, scratch):
    """Search one row depth-first, the child of the largest bound first, for a vector more probable than `best_log`.

    `best` is overwritten when a better one is found. Of `scratch`, ``scores[0]`` holds the base scores of the row.
    Returns the new `best_log`, an upper bound on the log-probability of every vector, and the number of nodes expanded.
    A child's bound is at most its parent's, so the upper bound never rises from one expansion to the next.
    """
    scores, partial, bound, labels = scratch
    n_classes, last = links.n_classes, len(links.n_classes) - 1
    depth, value, nodes = 0, 0.0, 0
    own_bound = look_ahead(scores[0], low[0], high[0], links, known, 0, 0.0, best_log + TIE)
    if own_bound <= best_log + TIE:
        return best_log, best_log, nodes
    while True:
        if nodes >= max_nodes:
            top = max(best_log, own_bound)
            for d in range(depth):
                for c in range(n_classes[d]):
                    top = max(top, bound[d, c])
            return best_log, top, nodes
        nodes += 1
        start, end = links.score_start[depth], links.score_start[depth + 1]
        respond(scores[depth, start:end], links.response[depth], n_classes[depth], partial[depth])
        known_class = known[depth] if len(known) else -1
        for c in range(n_classes[depth]):
            partial[depth, c] += value
            bound[depth, c] = -np.inf
            if (known_class >= 0 and c != known_class) or not partial[depth, c] > best_log + TIE:
                continue
            if depth == last:
                labels[depth] = c
                best_log = partial[depth, c]
                for d in range(last + 1):
                    best[d] = labels[d]
                continue
            add_class(scores, depth, c, links, effects_by_class)
            ahead = look_ahead(
                scores[depth + 1], low[depth + 1], high[depth + 1], links, known, depth + 1, partial[depth, c],
                best_log + TIE,
            )  # fmt: skip
            # A child's look-ahead may exceed its parent's by rounding; the parent's still holds.
            bound[depth, c] = min(ahead, own_bound)
        chosen = -1
        while chosen < 0:
            largest = best_log + TIE
            for c in range(n_classes[depth]):
                if bound[depth, c] > largest:
                    chosen, largest = c, bound[depth, c]
            if chosen < 0:
                depth -= 1
                if depth < 0:
                    return best_log, best_log, nodes
        labels[depth], value, own_bound = chosen, partial[depth, chosen], bound[depth, chosen]
        bound[depth, chosen] = -np.inf
        add_class(scores, depth, chosen, links, effects_by_class)
        depth += 1


def search_ahead(base, links, given, max_nodes, rows, labels, log_proba, upper_bound, nodes):
    """Go on with some `rows` where the first search ended, and write to what it returned.

    Parameters
    ----------
    max_nodes : int
        Nodes expanded per row by both searches together, at most.
    rows : int64 ndarray
    labels, log_proba, upper_bound, nodes
        As `search_depth_first` returned them, for all rows.
    """
    n_labels, n_classes = len(links.n_classes), links.n_classes.max(initial=1)
    tails = np.empty((2, n_labels + 1, base.shape[1]))
    partial, bound = np.empty((2, n_labels, n_classes))
    scratch = (np.empty(tails.shape[1:]), partial, bound, np.empty(n_labels, dtype=np.int32))
    effects_by_class = np.ascontiguousarray(links.effects.T)
    found = (labels, log_proba, upper_bound, nodes)
    _search_rows(base, effects_by_class, links, given, max_nodes, rows, found, tails[0], tails[1], scratch)


@njit
def _search_rows(base, effects_by_class, links, given, max_nodes, rows, found, low, high, scratch):
    labels, log_proba, upper_bound, nodes = found
    known = np.empty(0, dtype=np.int32)
    for i in rows:
        if len(given):
            known = given[i]
        if len(given) or i == rows[0]:
            fill_tails(links, known, low, high)
        for w in range(base.shape[1]):
            scratch[0][0, w] = base[i, w]
        log_proba[i], bound, more = search_row(
            effects_by_class, links, known, low, high, max_nodes - nodes[i], labels[i], log_proba[i], scratch
        )
        nodes[i] += more
        # What the first search proved holds whatever this one adds.
        upper_bound[i] = max(log_proba[i], min(upper_bound[i], bound))
