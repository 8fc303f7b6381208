"""The most probable label vectors of a weighted mixture of chains, with a proof or a bound.

The chains are stacked, see `montechain.population.search.stacked_scores`. What is known and what is returned is in the
order of the labels.

Each chain has a stream: its tree of prefixes, grown best-first. A label vector that no stream has completed has in
chain j at most the probability of the stream's most probable open prefix, so in the mixture at most the
weighted sum of these. Every vector that a stream completes is scored under all chains. The search
ends when the sum cannot exceed the best score.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import activate, expand, of_chain
from montechain._kernels.depth_first import depth_first, insert, new_scratch
from montechain._kernels.heap import doubled, heap_pop, heap_push
from montechain._kernels.ties import TIE


def mixture(base, links, given, orders, log_weights, k, first_nodes, max_nodes):
    """Find the `k` label vectors of each row that are most probable under the mixture, the best first.

    Parameters
    ----------
    base, links
        See `montechain.population.search.stacked_scores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes by label, -1 elsewhere; no rows if nothing is known.
    orders : int64 ndarray of shape (M, L)
        The label at each position of each chain.
    log_weights : ndarray of shape (M,)
        Finite logarithms of the chains' weights.
    k : int
    first_nodes : int
        Before anything else each chain alone is searched for its own k best vectors, with so many nodes.
    max_nodes : int
        Prefixes that the streams of a row expand after that, at most, all together.

    Returns
    -------
    labels : int32 ndarray of shape (n, k, L)
        -1 where fewer than k vectors have a positive probability.
    log_proba : ndarray of shape (n, k)
        Minus infinity there.
    upper_bound : ndarray of shape (n,)
        Neither the last of the k nor any vector that is not among them has a higher log-probability. Where it
        equals that of the last, to rounding, these are the k best. It never rises with `max_nodes`.
    nodes : int64 ndarray of shape (n,)
        Prefixes expanded by the streams.
    """
    n_rows, n_labels = len(base), orders.shape[1]
    labels = np.full((n_rows, k, n_labels), -1, dtype=np.int32)
    log_proba = np.full((n_rows, k), -np.inf)
    upper_bound = np.empty(n_rows)
    nodes = np.zeros(n_rows, dtype=np.int64)
    found = (labels, log_proba, upper_bound, nodes)
    _search_rows(base, links, given, orders, log_weights, first_nodes, max_nodes, found, new_scratch(links))
    return found


@njit
def _search_rows(base, links, given, orders, log_weights, first_nodes, max_nodes, found, scratch):
    labels, log_proba, upper_bound, nodes = found
    n_chains, n_labels = orders.shape
    k = labels.shape[1]
    known = np.empty((n_chains, n_labels if len(given) else 0), dtype=np.int32)
    ceiling = np.empty(n_chains)
    # Scratch space for one prefix, for each chain alone, and for one vector under all of them.
    active, scores = np.empty_like(scratch[2]), np.empty_like(scratch[4])
    children, out = np.empty(scratch[0].shape[1]), np.empty(scratch[0].shape[1])
    own = np.empty((n_chains, k, n_labels), dtype=np.int32)
    own_log = np.empty((n_chains, k))
    n_own = np.empty(n_chains, dtype=np.int64)
    vector = np.empty(n_labels, dtype=np.int32)
    by_chain = np.empty(n_chains)
    # Nodes of all streams: parent, class, depth, log-probability, and the nearest node upwards (itself included) whose
    # class is not the first one. One heap for each stream.
    parent = np.empty(1024, dtype=np.int64)
    chosen = np.empty(1024, dtype=np.int32)
    depth_of = np.empty(1024, dtype=np.int32)
    partial_of = np.empty(1024)
    active_from = np.empty(1024, dtype=np.int64)
    keys = np.empty((n_chains, 256))
    items = np.empty((n_chains, 256), dtype=np.int64)
    size = np.zeros(n_chains, dtype=np.int64)
    # Logarithm of the most that an unseen vector can get from each chain, times the weight; and that in
    # units of the probability of the last of the k best vectors.
    lead = np.empty(n_chains)
    share = np.empty(n_chains)

    for i in range(len(base)):
        base_row = base[i]
        n_found = 0
        for j in range(n_chains):
            if len(given):
                for d in range(n_labels):
                    known[j, d] = given[i, orders[j, d]]
            n_own[j], _, _, ceiling[j], _ = depth_first(
                base_row, of_chain(links, j), known[j], first_nodes, own[j], own_log[j], scratch
            )
            lead[j] = log_weights[j] + ceiling[j]
        for j in range(n_chains):
            for v in range(n_own[j]):
                for d in range(n_labels):
                    vector[orders[j, d]] = own[j, v, d]
                if holds(labels[i], n_found, vector):
                    continue
                value = score(
                    base_row, links, orders, log_weights, vector, j, own_log[j, v], lead, log_proba[i, k - 1],
                    by_chain, active, scores, out,
                )  # fmt: skip
                n_found = insert(labels[i], log_proba[i], n_found, vector, value)
        if n_found == 0:
            upper_bound[i] = -np.inf
            continue

        threshold = log_proba[i, k - 1]
        n_stored = 0
        for j in range(n_chains):
            parent[j], chosen[j], depth_of[j], partial_of[j], active_from[j] = -1, 0, 0, 0.0, -1
            n_stored += 1
            size[j] = 0
            if ceiling[j] > -np.inf:
                heap_push(keys[j], items[j], 0, 0.0, j)
                size[j] = 1
            share[j] = math.exp(min(lead[j] - threshold, 700.0)) if threshold > -np.inf else 0.0
        while True:
            j = 0
            total = 0.0
            for m in range(n_chains):
                total += share[m]
                if lead[m] > lead[j]:
                    j = m
            if lead[j] == -np.inf or (threshold > -np.inf and total <= 1.0 + TIE):
                upper_bound[i] = threshold
                break
            if nodes[i] >= max_nodes:
                total = 0.0
                for m in range(n_chains):
                    total += math.exp(lead[m] - lead[j])
                upper_bound[i] = max(threshold, min(lead[j] + math.log(total), 0.0))
                break
            nodes[i] += 1
            node = heap_pop(keys[j], items[j], size[j])
            size[j] -= 1
            depth, links_j = depth_of[node], of_chain(links, j)
            n_active = 0
            walk = active_from[node]
            while walk >= 0:
                n_active = activate(links_j, depth_of[walk] - 1, chosen[walk], active, n_active)
                walk = active_from[parent[walk]]
            # Effects are added in the order of the positions, as everywhere else.
            for a in range(n_active // 2):
                active[a], active[n_active - 1 - a] = active[n_active - 1 - a], active[a]
            n_children = links_j.n_classes[depth]
            known_class = known[j, depth] if len(given) else -1
            expand(base_row, links_j, depth, active, n_active, scores, children)
            if n_stored + n_children > len(parent):
                parent, chosen, depth_of = doubled(parent), doubled(chosen), doubled(depth_of)
                partial_of, active_from = doubled(partial_of), doubled(active_from)
            if size[j] + n_children > keys.shape[1]:
                keys, items = doubled(keys), doubled(items)
            # What a vector below this node can get from the other chains.
            others = 0.0
            for m in range(n_chains):
                if m != j:
                    others += share[m]
            has_risen = False
            for c in range(n_children):
                value = partial_of[node] + children[c]
                if value == -np.inf or (known_class >= 0 and c != known_class):
                    continue
                # A child that cannot matter any more is forgotten: no vector below it is among the k best.
                if threshold > -np.inf and not has_risen:
                    own_share = math.exp(min(log_weights[j] + value - threshold, 700.0))
                    if others + own_share <= 1.0 + TIE:
                        continue
                if depth + 1 < n_labels:
                    parent[n_stored] = node
                    chosen[n_stored] = c
                    depth_of[n_stored] = depth + 1
                    partial_of[n_stored] = value
                    active_from[n_stored] = n_stored if c > 0 else active_from[node]
                    heap_push(keys[j], items[j], size[j], value, n_stored)
                    size[j] += 1
                    n_stored += 1
                    continue
                vector[orders[j, depth]] = c
                walk = node
                for d in range(depth - 1, -1, -1):
                    vector[orders[j, d]] = chosen[walk]
                    walk = parent[walk]
                value = score(
                    base_row, links, orders, log_weights, vector, j, value, lead, threshold,
                    by_chain, active, scores, out,
                )  # fmt: skip
                if value > threshold + TIE and not holds(labels[i], n_found, vector):
                    n_found = insert(labels[i], log_proba[i], n_found, vector, value)
                    if log_proba[i, k - 1] > threshold:
                        threshold = log_proba[i, k - 1]
                        has_risen = True
            lead[j] = log_weights[j] + min(ceiling[j], keys[j, 0]) if size[j] else -np.inf
            if has_risen:
                for m in range(n_chains):
                    share[m] = math.exp(min(lead[m] - threshold, 700.0))
            elif threshold > -np.inf:
                share[j] = math.exp(min(lead[j] - threshold, 700.0))


@njit(cache=False)
def score(
    base_row, links, orders, log_weights, vector, origin, origin_log, lead, threshold, by_chain, active, scores, out
):
    """Return the log-probability of `vector` under the mixture, or minus infinity once it cannot exceed `threshold`.

    Chain `origin` gives it the log-probability `origin_log`; any other chain j, as is known beforehand, at most
    ``lead[j]``, the weight included.
    """
    n_chains, n_labels = orders.shape
    # The sum so far and, until a chain's own value replaces it, what the chains after it can add, both in units of
    # the threshold.
    total = 0.0
    if threshold > -np.inf:
        total = math.exp(min(log_weights[origin] + origin_log - threshold, 700.0))
        rest = 0.0
        for j in range(n_chains - 1, -1, -1):
            by_chain[j] = rest
            if j != origin:
                rest += math.exp(min(lead[j] - threshold, 700.0))
    largest = -np.inf
    for j in range(n_chains):
        value = log_weights[j]
        if j == origin:
            value += origin_log
        else:
            limit = -np.inf
            if threshold > -np.inf:
                missing = 1.0 - total - by_chain[j]
                if missing > TIE:
                    limit = threshold + math.log(missing - 0.5 * TIE)
            n_active, links_j = 0, of_chain(links, j)
            for k in range(n_labels):
                c = vector[orders[j, k]]
                expand(base_row, links_j, k, active, n_active, scores, out)
                value += out[c]
                if value <= limit:
                    return -np.inf
                n_active = activate(links_j, k, c, active, n_active)
            if threshold > -np.inf:
                total += math.exp(min(value - threshold, 700.0))
        by_chain[j] = value
        largest = max(largest, value)
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for j in range(n_chains):
        total += math.exp(by_chain[j] - largest)
    return largest + math.log(total)


@inner
def holds(labels, n_found, vector):
    """Return whether `vector` is one of the first `n_found` rows of `labels`."""
    for v in range(n_found):
        is_same = True
        for k in range(len(vector)):
            if labels[v, k] != vector[k]:
                is_same = False
                break
        if is_same:
            return True
    return False
