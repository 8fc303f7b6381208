"""The most probable label vectors of a weighted mixture of chains, with a proof or a bound.

Each chain has a stream: its tree of prefixes, grown best-first. A label vector that no stream has completed has in
chain j at most the probability of the stream's most probable open prefix, so in the mixture at most the weighted sum of
these. Every vector that a stream completes is scored under all chains. The search ends when the sum cannot exceed the
best score.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import ZERO, inner, njit
from montechain._kernels.conditional import activate, expand, new_path, of_chain
from montechain._kernels.depth_first import depth_first, insert, new_scratch
from montechain._kernels.heap import doubled, heap_pop, heap_push, longer
from montechain._kernels.ties import TIE


def mixture(base, links, given, orders, log_weights, k, first_nodes, max_nodes):
    """Find the `k` label vectors of each row that are most probable under the mixture, the best first.

    `base` and `links` are those of the chains, stacked: see `montechain.population.search.stacked_scores`. `given`, of
    shape (n, L) or (0, L), has known classes by label; `orders`, int64 of shape (M, L), the label at each position of
    each chain; `log_weights` the finite logarithms of the chains' weights. Each chain alone is first searched for its
    own k best vectors with `first_nodes` nodes; after that, the streams of a row expand at most `max_nodes` prefixes,
    all together.

    Returns labels, log-probabilities, upper bounds and nodes as `montechain._kernels.depth_first.k_best` does, by
    label. The upper bound is about the last of the k and all vectors that are not among them: where it equals the
    log-probability of the last, to rounding, these are the k best. It never rises with `max_nodes`. The nodes are the
    prefixes expanded by the streams.
    """
    n_rows, n_labels = len(base), orders.shape[1]
    labels = np.full((n_rows, k, n_labels), -1, dtype=np.int32)
    log_proba = np.full((n_rows, k), -np.inf)
    found = (labels, log_proba, np.empty(n_rows), np.zeros(n_rows, dtype=np.int64))
    # Scratch space: for the best vectors of one chain and their search; for one prefix, and for one vector under all
    # chains; by chain, the bound of its first search, the size of its heap, `lead` and `shares`.
    own = np.empty((k, n_labels), dtype=np.int32), np.empty(k), new_scratch(links)
    by_chain = np.empty((4, len(orders)))
    prefix, vector = new_path(links), np.empty(n_labels, dtype=np.int32)
    size = np.zeros(len(orders), dtype=np.int64)
    known = np.empty((len(orders), n_labels if len(given) else 0), dtype=np.int32)
    scratch = (known, own, prefix, vector, np.empty_like(prefix[2]), by_chain, size)
    # Nodes of all streams: their depth, and the classes of their prefixes, node after node. The heap of a stream holds
    # its open nodes by log-probability.
    nodes = np.empty(1024, dtype=np.int32), np.empty(1024 * n_labels, dtype=np.int32)
    heaps = np.empty((len(orders), 256)), np.empty((len(orders), 256), dtype=np.int64)
    _search_rows(base, links, given, orders, log_weights, first_nodes, max_nodes, found, scratch, nodes, heaps)
    return found


@njit
def _search_rows(
    base, links, given, orders, log_weights, first_nodes, max_nodes, found, scratch, all_nodes, heaps
):  # fmt: skip
    labels, log_proba, upper_bound, nodes = found
    n_chains, n_labels = orders.shape
    k = labels.shape[1]
    known, (own, own_log, own_scratch), (active, scores, out), vector, children, by_chain, size = scratch
    depth_of, prefixes = all_nodes
    keys, items = heaps
    # Logarithm of the most that an unseen vector can get from each chain, times the weight; and that in units of the
    # probability of the last of the k best vectors.
    ceiling, lead, shares = by_chain[1], by_chain[2], by_chain[3]
    one = (by_chain[0], active, scores, out)
    for i in range(len(base)):
        base_row, n_found, n_stored = base[i], ZERO, n_chains
        for j in range(n_chains):
            lead[j] = log_weights[j]
        for j in range(n_chains):
            if len(given):
                for d in range(n_labels):
                    known[j, d] = given[i, orders[j, d]]
            n_own, _, _, ceiling[j], _ = depth_first(
                base_row, of_chain(links, j), known[j], first_nodes, own, own_log, own_scratch
            )
            for v in range(n_own):
                for d in range(n_labels):
                    vector[orders[j, d]] = own[v, d]
                if not holds(labels[i], n_found, vector):
                    value = score(
                        base_row, links, orders, log_weights, vector, j, own_log[v], lead, log_proba[i, k - 1], one
                    )
                    n_found = insert(labels[i], log_proba[i], n_found, vector, value)
            lead[j] = log_weights[j] + ceiling[j]
            depth_of[j], size[j] = 0, 0
            if ceiling[j] > -np.inf:
                heap_push(keys[j], items[j], ZERO, 0.0, j)
                size[j] = 1
        j, threshold = ZERO, np.nan
        while n_found > 0:
            has_risen, threshold = log_proba[i, k - 1] != threshold, log_proba[i, k - 1]
            last, j, total = j, ZERO, 0.0
            for m in range(n_chains):
                if has_risen or m == last:
                    shares[m] = share(lead[m], threshold)
                total += shares[m]
                if lead[m] > lead[j]:
                    j = m
            if total <= 1.0 + TIE or nodes[i] >= max_nodes:
                break
            nodes[i] += 1
            partial, node = keys[j, 0], heap_pop(keys[j], items[j], size[j])
            size[j] -= 1
            depth, start, links_j = np.int64(depth_of[node]), node * n_labels, of_chain(links, j)
            n_active = ZERO
            for d in range(depth):
                n_active = activate(links_j, d, np.int64(prefixes[start + d]), active, n_active)
            n_children = links_j.n_classes[depth]
            known_class = known[j, depth] if len(given) else -1
            expand(base_row, links_j, depth, active, n_active, scores, children)
            if n_stored + n_children > len(depth_of):
                depth_of, prefixes = longer(depth_of, 2 * len(depth_of)), longer(prefixes, 2 * len(prefixes))
            if size[j] + n_children > keys.shape[1]:
                keys, items = doubled(keys), doubled(items)
            # What a vector below this node can get from the other chains.
            others = 0.0
            for m in range(n_chains):
                others += shares[m] if m != j else 0.0
            for c in range(n_children):
                value = partial + children[c]
                if value == -np.inf or (known_class >= 0 and c != known_class):
                    continue
                # A child that cannot matter any more is dropped: no vector below it is among the k best.
                if others + share(log_weights[j] + value, threshold) <= 1.0 + TIE:
                    continue
                if depth + 1 < n_labels:
                    for d in range(depth):
                        prefixes[n_stored * n_labels + d] = prefixes[start + d]
                    prefixes[n_stored * n_labels + depth] = c
                    depth_of[n_stored] = depth + 1
                    heap_push(keys[j], items[j], size[j], value, n_stored)
                    size[j] += 1
                    n_stored += 1
                    continue
                for d in range(depth):
                    vector[orders[j, d]] = prefixes[start + d]
                vector[orders[j, depth]] = c
                limit = log_proba[i, k - 1]
                value = score(base_row, links, orders, log_weights, vector, j, value, lead, limit, one)
                if value > limit + TIE and not holds(labels[i], n_found, vector):
                    n_found = insert(labels[i], log_proba[i], n_found, vector, value)
            lead[j] = log_weights[j] + min(ceiling[j], keys[j, 0]) if size[j] else -np.inf
        upper_bound[i] = log_proba[i, k - 1]
        if n_found > 0 and total > 1.0 + TIE:  # the budget ended
            upper_bound[i] = max(upper_bound[i], min(log_sum(lead), 0.0))


@inner
def share(log_value, threshold):
    """Return a probability in units of the threshold, bounded."""
    return math.exp(min(log_value - threshold, 700.0)) if log_value > -np.inf else 0.0


@inner
def score(base_row, links, orders, log_weights, vector, origin, origin_log, lead, threshold, scratch):
    """Return the log-probability of `vector` under the mixture, or minus infinity once it cannot exceed `threshold`.

    Chain `origin` gives it `origin_log`; any other chain j at most ``lead[j]``, the weight included.
    """
    by_chain, active, scores, out = scratch
    n_chains, n_labels = orders.shape
    # In units of the threshold: what is known of the sum, and in `by_chain` what the chains after each can add.
    total, rest = share(log_weights[origin] + origin_log, threshold), 0.0
    for j in range(n_chains - 1, -1, -1):
        by_chain[j] = rest
        rest += share(lead[j], threshold) if j != origin else 0.0
    for j in range(n_chains):
        value = log_weights[j]
        if j == origin:
            value += origin_log
        else:
            missing = 1.0 - total - by_chain[j]
            limit = threshold + math.log(missing - 0.5 * TIE) if missing > TIE else -np.inf
            n_active, links_j = ZERO, of_chain(links, j)
            for k in range(n_labels):
                c = np.int64(vector[orders[j, k]])
                expand(base_row, links_j, k, active, n_active, scores, out)
                value += out[c]
                if value <= limit:
                    return -np.inf
                n_active = activate(links_j, k, c, active, n_active)
            total += share(value, threshold)
        by_chain[j] = value
    return log_sum(by_chain)


@inner
def log_sum(values):
    """Return the logarithm of the sum of exp(values)."""
    largest = -np.inf
    for value in values:
        largest = max(largest, value)
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for value in values:
        total += math.exp(value - largest)
    return largest + math.log(total)


@inner
def holds(labels, n_found, vector):
    """Return whether `vector` is one of the first `n_found` rows of `labels`."""
    for v in range(n_found):
        k = 0
        while k < len(vector) and labels[v, k] == vector[k]:
            k += 1
        if k == len(vector):
            return True
    return False
