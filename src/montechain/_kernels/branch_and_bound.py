"""The most probable label vector of a label-linear chain, with a proof or a bound.

Two searches share the work: a depth-first one whose nodes are cheap, and, for rows that it does not settle, a
best-first one, which is here. It looks ahead: a future label cannot contribute more than the best log-probability over
the interval in which its scores can still fall. Such a node costs many times as much as one of the depth-first search.
The two are compiled apart, since most data never need the second.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import log_sigmoids, respond
from montechain._kernels.depth_first import search_depth_first
from montechain._kernels.heap import doubled, heap_pop, heap_push
from montechain._kernels.ties import TIE

DIVE_EVERY = 16
"""One node in this many is followed down to a complete vector, to improve the best one found."""


def most_probable(base, links, given, *, max_nodes, patience):
    """Find the most probable label vector of each row.

    Parameters
    ----------
    base, links, given
        See `montechain.prefix_tree.PrefixTree.arrays`.
    max_nodes : int
        Maximum number of nodes expanded per row. The first vector is always completed.
    patience : int
        Nodes after which the depth-first search gives way to the best-first one.

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
        search_best_first(base, links, given, max_nodes, unsettled, *found)
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


@njit(cache=False)
def best_first(base_row, effects_by_class, links, known, low, high, max_nodes, best_labels, best_log, store):
    """Search one row best-first, from the root, for a vector more probable than `best_log`.

    ``best_labels`` is overwritten when a better one is found. Every `DIVE_EVERY`-th node is followed down to a
    complete vector, child by child, the others of each family staying open; so no node is expanded twice.

    Returns
    -------
    best_log : float
    bound : float
        Largest of `best_log` and the bounds of the nodes still open. As a node's bound is at most its
        parent's, this never rises from one expansion to the next.
    nodes : int
        Number of nodes expanded.
    store : tuple of arrays
        The node store that was passed in, grown if it had to be.
    """
    parent, chosen_class, depth_of, partial_of, bound_of, keys, items = store
    n_classes, score_start = links.n_classes, links.score_start
    n_labels = len(n_classes)
    n_columns = score_start[n_labels]
    scores, child_scores, kept_scores = np.empty(n_columns), np.empty(n_columns), np.empty(n_columns)
    log_proba = np.empty(n_classes.max())
    labels = np.empty(n_labels, dtype=np.int32)
    parent[0] = -1
    chosen_class[0] = 0
    depth_of[0] = 0
    partial_of[0] = 0.0
    for w in range(n_columns):
        scores[w] = base_row[w]
    bound_of[0] = look_ahead(scores, low[0], high[0], links, known, 0, 0.0, best_log + TIE)
    n_stored = 1
    size = 0
    if bound_of[0] > best_log + TIE:
        heap_push(keys, items, 0, bound_of[0], 0)
        size = 1
    nodes = 0
    n_popped = 0
    node = -1
    diving = False
    while True:
        open_bound = keys[0] if size > 0 else -np.inf
        if diving:
            open_bound = max(open_bound, bound_of[node])
        elif open_bound <= best_log + TIE:
            open_bound = best_log
            break
        if nodes >= max_nodes:
            break
        if not diving:
            node = heap_pop(keys, items, size)
            size -= 1
            n_popped += 1
            depth = depth_of[node]
            walk = node
            for d in range(depth - 1, -1, -1):
                labels[d] = chosen_class[walk]
                walk = parent[walk]
            for w in range(score_start[depth], n_columns):
                scores[w] = base_row[w]
            for d in range(depth):
                if labels[d] > 0:
                    added = links.active_start[d] + labels[d] - 1
                    for w in range(score_start[depth], n_columns):
                        scores[w] += effects_by_class[added, w]
        nodes += 1
        depth = depth_of[node]
        first = score_start[depth]
        last = score_start[depth + 1]
        respond(scores[first:last], n_classes[depth], log_proba)
        known_class = known[depth] if len(known) else -1
        dive_here = diving or n_popped % DIVE_EVERY == 0
        dive_node = -1
        diving = False
        if n_stored + n_classes[depth] > len(parent):
            parent, chosen_class, depth_of = doubled(parent), doubled(chosen_class), doubled(depth_of)
            partial_of, bound_of = doubled(partial_of), doubled(bound_of)
            keys, items = doubled(keys), doubled(items)
        for c in range(n_classes[depth]):
            if known_class >= 0 and c != known_class:
                continue
            partial = partial_of[node] + log_proba[c]
            if not partial > best_log + TIE:
                continue
            if depth == n_labels - 1:
                best_log = partial
                labels[depth] = c
                for d in range(n_labels):
                    best_labels[d] = labels[d]
                continue
            if c == 0:
                for w in range(last, n_columns):
                    child_scores[w] = scores[w]
            else:
                added = links.active_start[depth] + c - 1
                for w in range(last, n_columns):
                    child_scores[w] = scores[w] + effects_by_class[added, w]
            bound = look_ahead(
                child_scores, low[depth + 1], high[depth + 1], links, known, depth + 1, partial, best_log + TIE
            )
            # A child's look-ahead may exceed its parent's by rounding; the parent's still holds.
            bound = min(bound, bound_of[node])
            if bound <= best_log + TIE:
                continue
            child = n_stored
            n_stored += 1
            parent[child] = node
            chosen_class[child] = c
            depth_of[child] = depth + 1
            partial_of[child] = partial
            bound_of[child] = bound
            if dive_here and (dive_node < 0 or bound > bound_of[dive_node]):
                if dive_node >= 0:
                    heap_push(keys, items, size, bound_of[dive_node], dive_node)
                    size += 1
                dive_node = child
                for w in range(last, n_columns):
                    kept_scores[w] = child_scores[w]
            else:
                heap_push(keys, items, size, bound, child)
                size += 1
        if dive_node >= 0:
            diving = True
            node = dive_node
            labels[depth] = chosen_class[node]
            for w in range(last, n_columns):
                scores[w] = kept_scores[w]
    store = (parent, chosen_class, depth_of, partial_of, bound_of, keys, items)
    return best_log, max(best_log, open_bound), nodes, store


@njit(cache=False)
def new_store(size):
    """Return the arrays of the best-first search: parent, class, depth, partial and bound of nodes, and the heap."""
    return (
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size, dtype=np.int64),
    )


@njit
def search_best_first(base, links, given, max_nodes, rows, labels, log_proba, upper_bound, nodes):
    """Go on with some `rows` where the depth-first search ended, and write to what it returned.

    Parameters
    ----------
    max_nodes : int
        Nodes expanded per row by both searches together, at most.
    rows : int64 ndarray
    labels, log_proba, upper_bound, nodes
        As `search_depth_first` returned them, for all rows.
    """
    effects_by_class = np.ascontiguousarray(links.effects.T)
    low = np.empty((len(links.n_classes) + 1, base.shape[1]))
    high = np.empty_like(low)
    store = new_store(1024)
    known = np.empty(0, dtype=np.int32)
    for i in rows:
        if len(given):
            known = given[i]
        if len(given) or i == rows[0]:
            fill_tails(links, known, low, high)
        log_proba[i], bound, more, store = best_first(
            base[i], effects_by_class, links, known, low, high, max_nodes - nodes[i], labels[i], log_proba[i], store
        )
        nodes[i] += more
        # What the first search proved still holds.
        upper_bound[i] = max(log_proba[i], min(upper_bound[i], bound))
