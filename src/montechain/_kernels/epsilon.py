"""Best-first search that cuts every prefix below a threshold."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import activate, expand, most_probable_class, new_path
from montechain._kernels.heap import doubled, heap_pop, heap_push
from montechain._kernels.ties import TIE, level


@njit
def epsilon_approximate(base, links, given, log_epsilon, max_nodes):
    """Return labels, log-probabilities and upper bounds of the search with threshold exp(`log_epsilon`).

    Parameters
    ----------
    base, links
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    log_epsilon : float
        A prefix is cut if the log-probabilities of its free positions sum to less than this.
    max_nodes : int
        Number of prefixes of one row that may be stored.

    Returns
    -------
    labels : int32 ndarray of shape (n, L)
    log_proba : ndarray of shape (n,)
    upper_bound : ndarray of shape (n,)
    overfull : int
        The first row that needed more than `max_nodes` prefixes, at which the search stopped; else -1.
    """
    n_rows = len(base)
    n_classes = links.n_classes
    n_labels = len(n_classes)
    labels = np.zeros((n_rows, n_labels), dtype=np.int32)
    log_proba = np.full(n_rows, -np.inf)
    upper_bound = np.zeros(n_rows)

    # A node is a prefix: its last class, its length, the prefix without that class, its log-probability,
    # and the part of it that free positions contribute.
    last_class = np.zeros(64, dtype=np.int32)
    length = np.zeros(64, dtype=np.int32)
    parent = np.zeros(64, dtype=np.int64)
    node_log = np.zeros(64)
    free_log = np.zeros(64)
    queue_keys = np.empty(64)
    queue = np.empty(64, dtype=np.int64)
    stuck = np.empty(64, dtype=np.int64)

    path = np.zeros(n_labels, dtype=np.int32)
    active, scores, children = new_path(links)
    for i in range(n_rows):
        base_row = base[i]
        n_nodes = 1
        n_stuck = 0
        cut = -np.inf
        complete = False
        heap_push(queue_keys, queue, 0, 0.0, 0)
        n_queue = 1
        while n_queue > 0:
            node = heap_pop(queue_keys, queue, n_queue)
            n_queue -= 1
            n_active = read_path(node, last_class, length, parent, links, path, active)
            k = length[node]
            if k == n_labels:
                complete = True
                for d in range(n_labels):
                    labels[i, d] = path[d]
                log_proba[i] = node_log[node]
                break
            if n_nodes + n_classes[k] > max_nodes:
                return labels, log_proba, upper_bound, i
            while n_nodes + n_classes[k] > len(length):
                last_class, length, parent = doubled(last_class), doubled(length), doubled(parent)
                node_log, free_log = doubled(node_log), doubled(free_log)
                queue_keys, queue, stuck = doubled(queue_keys), doubled(queue), doubled(stuck)
            known = given[i, k] if len(given) else -1
            expand(base_row, links, k, active, n_active, scores, children)
            before = n_nodes
            for c in range(n_classes[k]):
                if known >= 0 and c != known:
                    continue
                child_log = node_log[node] + children[c]
                child_free = free_log[node] + (children[c] if known < 0 else 0.0)
                if child_free < log_epsilon:
                    cut = max(cut, child_log)
                    continue
                last_class[n_nodes] = c
                length[n_nodes] = k + 1
                parent[n_nodes] = node
                node_log[n_nodes] = child_log
                free_log[n_nodes] = child_free
                heap_push(queue_keys, queue, n_queue, level(child_log), n_nodes)
                n_queue += 1
                n_nodes += 1
            if n_nodes == before:
                stuck[n_stuck] = node
                n_stuck += 1
        if not complete:
            # No vector reaches the threshold: the greedy one from each prefix that got stuck, and the best of them.
            for s in range(n_stuck):
                node = stuck[s]
                n_active = read_path(node, last_class, length, parent, links, path, active)
                total = node_log[node]
                for k in range(length[node], n_labels):
                    expand(base_row, links, k, active, n_active, scores, children)
                    path[k] = most_probable_class(children, n_classes[k], given[i, k] if len(given) else -1)
                    total += children[path[k]]
                    n_active = activate(links, k, path[k], active, n_active)
                if s == 0 or total > log_proba[i] + TIE:
                    for d in range(n_labels):
                        labels[i, d] = path[d]
                    log_proba[i] = total
        upper_bound[i] = max(log_proba[i], cut)
    return labels, log_proba, upper_bound, -1


@inner
def read_path(node, last_class, length, parent, links, path, active):
    """Write the classes of a prefix to `path` and its active classes to `active`; return how many those are."""
    k = length[node]
    for j in range(k - 1, -1, -1):
        path[j] = last_class[node]
        node = parent[node]
    n_active = 0
    for j in range(k):
        n_active = activate(links, j, path[j], active, n_active)
    return n_active
