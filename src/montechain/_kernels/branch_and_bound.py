"""The most probable label vectors of a label-linear chain, with a proof or a bound.

Two searches share the work. The first is depth-first and prunes by the partial log-probability alone:
a node costs little, and most rows are settled after a few dozen nodes. The second is best-first and
looks ahead: a future label cannot contribute more than the best log-probability over the interval
in which its scores can still fall. Such a node costs many times as much, so this search is started only for rows
that the first one does not settle.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from montechain._kernels.conditional import ONE_VERSUS_REST, PAIRWISE, SOFTMAX, expand, log_odds, log_sigmoid, respond
from montechain._kernels.heap import doubled, heap_pop, heap_push

DIVE_EVERY = 16
"""The best-first search follows one node in this many down to a complete vector, to improve the best one found."""


SMALLEST = 1e-280
"""Probabilities below this are left to the search that works with logarithms."""


@njit(cache=True, nogil=True)
def depth_first(
    base_row,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    known,
    max_nodes,
    found,
    found_log,
    scratch,
):
    """Search one row depth-first for its ``k = len(found)`` most probable vectors, the most probable child first.

    Writes the vectors to `found` and their log-probabilities to `found_log`, in no particular order, and
    returns how many there are, the number of nodes expanded, whether the search is complete, and an upper
    bound on the log-probability of every vector. The budget ends the search only once k vectors are found.
    `known` is the row of known classes, or empty.
    """
    children, next_value, labels, next_class, active, n_active_at, scores = scratch
    last = len(n_classes) - 1
    wanted = len(found)
    n_found = 0
    worst = 0
    threshold = -np.inf
    nodes = 0
    depth = 0
    partial = 0.0
    n_active = 0
    n_active_at[0] = 0
    while True:
        if nodes >= max_nodes and n_found == wanted:
            # Open are this node and, above it, the children not yet taken.
            bound = partial
            for i in range(n_found):
                bound = max(bound, found_log[i])
            for d in range(depth):
                bound = max(bound, next_value[d])
            return n_found, nodes, False, bound
        nodes += 1
        known_class = known[depth] if len(known) else -1
        if response[depth] == SOFTMAX and n_classes[depth] == 2:
            # As `expand`, but the likelier class is known at once, and no array is touched.
            odds = log_odds(base_row, effects, score_start[depth], active, n_active)
            chosen = 1 if odds > 0.0 else 0
            odds = abs(odds)
            rest = math.log1p(math.exp(-odds))
            value = partial - rest
            next_value[depth] = partial + (-odds - rest)
            next_class[depth] = 1 - chosen
            if known_class >= 0:
                if known_class != chosen:
                    chosen = known_class
                    value = next_value[depth]
                next_value[depth] = -np.inf
        else:
            out = children[depth]
            expand(
                base_row,
                effects,
                score_start,
                score_weight,
                response,
                n_classes,
                depth,
                active,
                n_active,
                known_class,
                scores,
                out,
            )
            for c in range(n_classes[depth]):
                out[c] += partial
            chosen, value = take_best(out, n_classes[depth])
            next_class[depth], next_value[depth] = take_best(out, n_classes[depth])
        if depth == last:
            while value > threshold:
                labels[depth] = chosen
                slot = n_found if n_found < wanted else worst
                for d in range(last + 1):
                    found[slot, d] = labels[d]
                found_log[slot] = value
                n_found = min(n_found + 1, wanted)
                if n_found == wanted:
                    worst = 0
                    for i in range(1, wanted):
                        if found_log[i] < found_log[worst]:
                            worst = i
                    threshold = found_log[worst]
                chosen = next_class[depth]
                value = next_value[depth]
                next_value[depth] = -np.inf
                if n_classes[depth] > 2:
                    next_class[depth], next_value[depth] = take_best(children[depth], n_classes[depth])
            value = -np.inf
        if not value > threshold:
            depth -= 1
            while depth >= 0 and not next_value[depth] > threshold:
                depth -= 1
            if depth < 0:
                break
            value = next_value[depth]
            chosen = next_class[depth]
            next_value[depth] = -np.inf
            if n_classes[depth] > 2:
                next_class[depth], next_value[depth] = take_best(children[depth], n_classes[depth])
            n_active = n_active_at[depth]
        labels[depth] = chosen
        if chosen > 0:
            active[n_active] = active_start[depth] + chosen - 1
            n_active += 1
        depth += 1
        n_active_at[depth] = n_active
        partial = value
    bound = -np.inf
    for i in range(n_found):
        bound = max(bound, found_log[i])
    return n_found, nodes, True, bound


@njit(cache=True, nogil=True)
def is_all_binary(response, n_classes):
    """Return whether every link has one score, the log-odds of its second class."""
    for k in range(len(n_classes)):  # noqa: SIM110 - numba compiles a loop, but not a generator in all()
        if n_classes[k] != 2 or response[k] != SOFTMAX:
            return False
    return True


@njit(cache=True, nogil=True)
def depth_first_binary(base_row, effects, known, max_nodes, found, scratch):
    """Search one row as `depth_first` does for one vector, where all labels are binary.

    Works with probabilities instead of their logarithms, which saves the logarithm at each node; score k
    and active class k both belong to position k. Returns the log-probability of the vector found, the
    number of nodes expanded, whether the search is complete, and the upper bound. Where probabilities
    would underflow, it gives up with zero nodes.
    """
    _, next_value, labels, next_class, active, n_active_at, _ = scratch
    last = len(base_row) - 1
    best = 0.0
    nodes = 0
    depth = 0
    partial = 1.0
    n_active = 0
    n_active_at[0] = 0
    while True:
        if nodes >= max_nodes and best > 0.0:
            # Open are this node and, above it, the children not yet taken.
            bound = max(best, partial)
            for d in range(depth):
                bound = max(bound, next_value[d])
            return math.log(best), nodes, False, math.log(bound)
        nodes += 1
        odds = log_odds(base_row, effects, depth, active, n_active)
        chosen = 1 if odds > 0.0 else 0
        ratio = math.exp(-abs(odds))
        value = partial / (1.0 + ratio)
        other = value * ratio
        if len(known) and known[depth] >= 0:
            if known[depth] != chosen:
                chosen = 1 - chosen
                value = other
            other = 0.0
        if value < SMALLEST and best == 0.0:
            return -np.inf, 0, False, 0.0
        if value > best and depth == last:
            # The other class is no more probable, so this node is done.
            best = value
            labels[depth] = chosen
            for d in range(last + 1):
                found[d] = labels[d]
        if depth == last or not value > best:
            depth -= 1
            while depth >= 0 and not next_value[depth] > best:
                depth -= 1
            if depth < 0:
                return math.log(best), nodes, True, math.log(best)
            value = next_value[depth]
            chosen = next_class[depth]
            next_value[depth] = 0.0
            n_active = n_active_at[depth]
        else:
            next_value[depth] = other
            next_class[depth] = 1 - chosen
        labels[depth] = chosen
        if chosen > 0:
            active[n_active] = depth
            n_active += 1
        depth += 1
        n_active_at[depth] = n_active
        partial = value


@njit(cache=True, nogil=True)
def take_best(values, n_classes):
    """Return the class with the largest value, and that value, which is struck out."""
    best = 0
    for c in range(1, n_classes):
        if values[c] > values[best]:
            best = c
    value = values[best]
    values[best] = -np.inf
    return best, value


@njit(cache=True, nogil=True)
def new_scratch(score_start, n_classes):
    """Return the arrays in which the depth-first search keeps its path and the children not yet taken."""
    n_labels = len(n_classes)
    return (
        np.empty((n_labels, n_classes.max())),
        np.empty(n_labels),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels, dtype=np.int32),
        np.empty(n_labels, dtype=np.int64),
        np.empty(n_labels + 1, dtype=np.int64),
        np.empty(score_start[n_labels]),
    )


@njit(cache=True, nogil=True)
def fill_tails(effects, score_start, n_classes, active_start, known, low, high):
    """Write what the labels at positions d.. can still add to each score, at least and at most.

    ``low[d, w]`` and ``high[d, w]`` are sums over the positions from d to the one before the score's own.
    """
    n_labels = len(n_classes)
    n_columns = score_start[n_labels]
    low[n_labels, :] = 0.0
    high[n_labels, :] = 0.0
    for d in range(n_labels - 1, -1, -1):
        for w in range(score_start[d + 1]):
            low[d, w] = 0.0
            high[d, w] = 0.0
        known_class = known[d] if len(known) else -1
        for w in range(score_start[d + 1], n_columns):
            least = 0.0
            most = 0.0
            if known_class > 0:
                least = effects[w, active_start[d] + known_class - 1]
                most = least
            elif known_class < 0:
                for a in range(active_start[d], active_start[d + 1]):
                    least = min(least, effects[w, a])
                    most = max(most, effects[w, a])
            low[d, w] = low[d + 1, w] + least
            high[d, w] = high[d + 1, w] + most


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def look_ahead(scores, low, high, score_start, response, n_classes, known, depth, partial, enough):
    """Return `partial` plus the most that positions `depth`.. can add; stop early once that is not above `enough`."""
    bound = partial
    # Binary positions contribute -log(1 + exp(-score)): the factors are multiplied, and one logarithm taken of many.
    product = 1.0
    for k in range(depth, len(n_classes)):
        if product > 1e15:
            bound -= math.log(product)
            product = 1.0
            if bound <= enough:
                return bound
        if n_classes[k] == 1 or response[k] == PAIRWISE:
            continue
        first = score_start[k]
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


@njit(cache=True, nogil=True)
def best_first(
    base_row,
    effects_by_class,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    known,
    low,
    high,
    max_nodes,
    best_labels,
    best_log,
    store,
):
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
    n_labels = len(n_classes)
    n_columns = score_start[n_labels]
    scores = np.empty(n_columns)
    child_scores = np.empty(n_columns)
    kept_scores = np.empty(n_columns)
    log_proba = np.empty(n_classes.max())
    labels = np.empty(n_labels, dtype=np.int32)
    parent[0] = -1
    chosen_class[0] = 0
    depth_of[0] = 0
    partial_of[0] = 0.0
    for w in range(n_columns):
        scores[w] = base_row[w]
    bound_of[0] = look_ahead(scores, low[0], high[0], score_start, response, n_classes, known, 0, 0.0, best_log)
    n_stored = 1
    size = 0
    if bound_of[0] > best_log:
        heap_push(keys, items, 0, bound_of[0], 0)
        size = 1
    nodes = 0
    n_popped = 0
    node = -1
    diving = False
    while True:
        if not diving:
            if size == 0 or keys[0] <= best_log:
                return best_log, best_log, nodes, (parent, chosen_class, depth_of, partial_of, bound_of, keys, items)
            if nodes >= max_nodes:
                bound = max(best_log, keys[0])
                return best_log, bound, nodes, (parent, chosen_class, depth_of, partial_of, bound_of, keys, items)
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
                    added = active_start[d] + labels[d] - 1
                    for w in range(score_start[depth], n_columns):
                        scores[w] += effects_by_class[added, w]
        elif nodes >= max_nodes:
            bound = max(best_log, bound_of[node])
            if size > 0:
                bound = max(bound, keys[0])
            return best_log, bound, nodes, (parent, chosen_class, depth_of, partial_of, bound_of, keys, items)
        nodes += 1
        depth = depth_of[node]
        first = score_start[depth]
        last = score_start[depth + 1]
        respond(scores[first:last], score_weight[first:last], response[depth], n_classes[depth], log_proba)
        known_class = known[depth] if len(known) else -1
        dive_here = diving or n_popped % DIVE_EVERY == 0
        dive_node = -1
        diving = False
        if n_stored + n_classes[depth] > len(parent):
            parent = doubled(parent)
            chosen_class = doubled(chosen_class)
            depth_of = doubled(depth_of)
            partial_of = doubled(partial_of)
            bound_of = doubled(bound_of)
            keys = doubled(keys)
            items = doubled(items)
        for c in range(n_classes[depth]):
            if known_class >= 0 and c != known_class:
                continue
            partial = partial_of[node] + log_proba[c]
            if not partial > best_log:
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
                added = active_start[depth] + c - 1
                for w in range(last, n_columns):
                    child_scores[w] = scores[w] + effects_by_class[added, w]
            bound = look_ahead(
                child_scores,
                low[depth + 1],
                high[depth + 1],
                score_start,
                response,
                n_classes,
                known,
                depth + 1,
                partial,
                best_log,
            )
            # A child's look-ahead may exceed its parent's by rounding; the parent's still holds.
            bound = min(bound, bound_of[node])
            if bound <= best_log:
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


@njit(cache=True, nogil=True)
def most_probable(
    base,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    given,
    max_nodes,
    patience,
):
    """Find the most probable label vector of each row.

    Parameters
    ----------
    max_nodes : int
        Nodes expanded per row, at most. The first vector is completed whatever this is.
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
    n_rows = len(base)
    n_labels = len(n_classes)
    n_columns = score_start[n_labels]
    found = np.zeros((1, n_labels), dtype=np.int32)
    found_log = np.empty(1)
    scratch = new_scratch(score_start, n_classes)
    labels = np.empty((n_rows, n_labels), dtype=np.int32)
    log_proba = np.empty(n_rows)
    upper_bound = np.empty(n_rows)
    nodes = np.empty(n_rows, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    all_binary = is_all_binary(response, n_classes)
    # What only the second search needs is made when the first row needs it.
    ready = False
    effects_by_class = np.empty((0, 0))
    low = np.empty((0, 0))
    high = np.empty((0, 0))
    store = new_store(1)
    for i in range(n_rows):
        known = given[i] if len(given) else nothing
        n_found = 1
        nodes[i] = 0
        complete = False
        if all_binary:
            found_log[0], nodes[i], complete, upper_bound[i] = depth_first_binary(
                base[i], effects, known, min(max_nodes, patience), found[0], scratch
            )
        if nodes[i] == 0:
            n_found, nodes[i], complete, upper_bound[i] = depth_first(
                base[i],
                effects,
                score_start,
                score_weight,
                response,
                n_classes,
                active_start,
                known,
                min(max_nodes, patience),
                found,
                found_log,
                scratch,
            )
        if n_found == 0:
            greedy(
                base[i],
                effects,
                score_start,
                score_weight,
                response,
                n_classes,
                active_start,
                known,
                scratch,
                found[0],
            )
            found_log[0] = -np.inf
        if not complete and nodes[i] < max_nodes:
            if not ready:
                effects_by_class = np.ascontiguousarray(effects.T)
                low = np.empty((n_labels + 1, n_columns))
                high = np.empty((n_labels + 1, n_columns))
                store = new_store(1024)
            if not ready or len(known):
                fill_tails(effects, score_start, n_classes, active_start, known, low, high)
            ready = True
            found_log[0], bound, more, store = best_first(
                base[i],
                effects_by_class,
                score_start,
                score_weight,
                response,
                n_classes,
                active_start,
                known,
                low,
                high,
                max_nodes - nodes[i],
                found[0],
                found_log[0],
                store,
            )
            nodes[i] += more
            # What the first search proved holds whatever the second one adds.
            upper_bound[i] = max(found_log[0], min(upper_bound[i], bound))
        for k in range(n_labels):
            labels[i, k] = found[0, k]
        log_proba[i] = found_log[0]
    return labels, log_proba, upper_bound, nodes


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def greedy(
    base_row,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    known,
    scratch,
    labels,
):
    """Write the greedy completion of what is known to `labels`: for rows whose known classes are impossible."""
    children, _, _, _, active, _, scores = scratch
    n_active = 0
    for k in range(len(n_classes)):
        known_class = known[k] if len(known) else -1
        out = children[k]
        expand(
            base_row,
            effects,
            score_start,
            score_weight,
            response,
            n_classes,
            k,
            active,
            n_active,
            -1,
            scores,
            out,
        )
        chosen = known_class
        if chosen < 0:
            chosen = 0
            for c in range(1, n_classes[k]):
                if out[c] > out[chosen]:
                    chosen = c
        labels[k] = chosen
        if chosen > 0:
            active[n_active] = active_start[k] + chosen - 1
            n_active += 1


@njit(cache=True, nogil=True)
def k_best(
    base,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    given,
    k,
    max_nodes,
):
    """Find the `k` most probable label vectors of each row, depth-first, the best first in the result.

    Returns
    -------
    labels : int32 ndarray of shape (n, k, L)
        -1 where fewer than k vectors have a positive probability.
    log_proba : ndarray of shape (n, k)
        Minus infinity there.
    complete : bool ndarray of shape (n,)
        Whether the search ended before its budget: the vectors are then proven best.
    """
    n_rows = len(base)
    n_labels = len(n_classes)
    found = np.empty((k, n_labels), dtype=np.int32)
    found_log = np.empty(k)
    scratch = new_scratch(score_start, n_classes)
    labels = np.full((n_rows, k, n_labels), -1, dtype=np.int32)
    log_proba = np.full((n_rows, k), -np.inf)
    complete = np.empty(n_rows, dtype=np.bool_)
    nothing = np.empty(0, dtype=np.int32)
    for i in range(n_rows):
        known = given[i] if len(given) else nothing
        n_found, _, complete[i], _ = depth_first(
            base[i],
            effects,
            score_start,
            score_weight,
            response,
            n_classes,
            active_start,
            known,
            max_nodes,
            found,
            found_log,
            scratch,
        )
        best_first_order = np.argsort(-found_log[:n_found])
        for rank in range(n_found):
            slot = best_first_order[rank]
            log_proba[i, rank] = found_log[slot]
            for d in range(n_labels):
                labels[i, rank, d] = found[slot, d]
    return labels, log_proba, complete
