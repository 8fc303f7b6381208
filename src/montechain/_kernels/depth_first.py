"""Depth-first search for the most probable label vectors of a label-linear chain.

It prunes by the partial log-probability alone: a node costs little, and most rows are settled after a few dozen nodes.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import ZERO, inner, njit
from montechain._kernels.conditional import activate, expand, most_probable_class, new_path
from montechain._kernels.depth_first_binary import search_binary
from montechain._kernels.joint import complete
from montechain._kernels.ties import TIE


@inner
def depth_first(base_row, links, known, max_nodes, found, found_log, scratch):
    """Search one row depth-first for its ``k = len(found)`` most probable vectors, the most probable child first.

    Writes the vectors to `found` and their log-probabilities to `found_log`, best first, and returns how many there
    are, the number of nodes expanded, whether the search is complete, an upper bound on the log-probability of every
    vector, and whether a vector that is not among them may be as probable as the last one. Of equally probable vectors
    the one found first comes first. The budget ends the search only once k vectors are found. `known` is the row of
    known classes, or empty.
    """
    children, labels, active, n_active_at, scores = scratch
    n_classes = links.n_classes
    last = len(n_classes) - 1
    wanted = len(found)
    n_found = ZERO
    limit = -np.inf
    left = -np.inf
    nodes = 0
    depth = ZERO
    partial = 0.0
    n_active_at[0] = 0
    while True:
        if nodes >= max_nodes and n_found == wanted:
            # This node is open, and so are the children not yet taken above it.
            bound = max(partial, found_log[0])
            for d in range(depth):
                for c in range(n_classes[d]):
                    bound = max(bound, children[d, c])
            return n_found, nodes, False, bound, True
        nodes += 1
        known_class = known[depth] if len(known) else -1
        out = children[depth]
        expand(base_row, links, depth, active, n_active_at[depth], scores, out)
        for c in range(n_classes[depth]):
            out[c] = out[c] + partial if known_class < 0 or c == known_class else -np.inf
        # Continue with the most probable child not yet taken, of this node or of one above it.
        chosen, value = take_best(out, n_classes[depth])
        while depth == last or not value > limit:
            if value > limit:
                labels[depth] = chosen
                if n_found == wanted:
                    left = max(left, found_log[wanted - 1])
                n_found = insert(found, found_log, n_found, labels, value)
                if n_found == wanted:
                    limit = found_log[wanted - 1] + TIE
            else:
                left = max(left, value)
                depth -= 1
                if depth < 0:
                    bound = found_log[0] if n_found > 0 else -np.inf
                    return n_found, nodes, True, bound, n_found == wanted and left >= found_log[wanted - 1] - TIE
            chosen, value = take_best(children[depth], n_classes[depth])
        labels[depth] = chosen
        n_active_at[depth + 1] = activate(links, depth, chosen, active, n_active_at[depth])
        depth += 1
        partial = value


@inner
def insert(found, found_log, n_found, vector, value):
    """Put `vector` in its place among the best, behind its equals, and return how many there are."""
    wanted = len(found_log)
    if value == -np.inf or (n_found == wanted and value <= found_log[wanted - 1] + TIE):
        return n_found
    place = min(n_found, wanted - 1)
    while place > 0 and value > found_log[place - 1] + TIE:
        found_log[place] = found_log[place - 1]
        for d in range(len(vector)):
            found[place, d] = found[place - 1, d]
        place -= 1
    found_log[place] = value
    for d in range(len(vector)):
        found[place, d] = vector[d]
    return min(n_found + 1, wanted)


@inner
def take_best(values, n_classes):
    """Return the class with the largest value, and that value, which is struck out."""
    if n_classes == 2:  # much quicker than the loops
        best = 1 if values[1] > values[0] + TIE else 0
    else:
        best = most_probable_class(values, n_classes)
    value = values[best]
    values[best] = -np.inf
    return best, value


def new_scratch(links):
    """Return the arrays in which the depth-first search keeps its path and the children not yet taken."""
    active, scores, log_proba = new_path(links)
    n_labels, n_active_at = len(active), np.empty(len(active) + 1, dtype=np.int64)
    return np.empty((n_labels, len(log_proba))), np.empty(n_labels, dtype=np.int32), active, n_active_at, scores


def search_depth_first(base, links, given, max_nodes):
    """Find a label vector of each row, and prove it the most probable one where `max_nodes` nodes are enough.

    Returns the labels, int32 of shape (n, L), and for each row the log-probability, an upper bound, the number of nodes
    expanded, whether the search ended before its budget, and whether another vector may be as probable.
    """
    if not links.is_all_binary:
        return _best_of_any(base, links, given, max_nodes)
    found = search_binary(base, links.effects, given, max_nodes)
    if not found[3].all():
        rows = np.flatnonzero(found[3] == 0)  # those that would underflow
        known = given[rows] if len(given) else given
        for values, own in zip(found, _best_of_any(base[rows], links, known, max_nodes), strict=True):
            values[rows] = own
    return found


def _best_of_any(base, links, given, max_nodes):
    """Do what `search_depth_first` does, for links of any number of classes, with logarithms."""
    labels, log_proba, *rest = k_best(base, links, given, 1, max_nodes)
    labels, log_proba = np.ascontiguousarray(labels[:, 0]), np.ascontiguousarray(log_proba[:, 0])
    rows = np.flatnonzero(np.isneginf(log_proba))
    if len(rows):  # the known classes are impossible: any completion is as good as the greedy one
        vectors, zeros, n_labels = labels[rows], np.zeros(len(rows), dtype=np.int64), labels.shape[1]
        complete(base, links, given, rows, vectors, np.empty((0, n_labels)), zeros, zeros, zeros + n_labels)
        labels[rows] = vectors
    return labels, log_proba, *rest


def k_best(base, links, given, k, max_nodes):
    """Find the `k` most probable label vectors of each row, depth-first, the best first in the result.

    Returns what `search_depth_first` does, with labels of shape (n, k, L) and log-probabilities of shape (n, k): -1 and
    minus infinity where fewer than k vectors have a positive probability. The vectors are proven best where the search
    is complete.
    """
    n_rows, n_labels = len(base), len(links.n_classes)
    labels = np.full((n_rows, k, n_labels), -1, dtype=np.int32)
    log_proba, upper_bound = np.full((n_rows, k), -np.inf), np.empty(n_rows)
    nodes, (complete, tied) = np.empty(n_rows, dtype=np.int64), np.empty((2, n_rows), dtype=np.bool_)
    found = (labels, log_proba, upper_bound, nodes, complete, tied)
    _search_rows(base, links, given, max_nodes, found, new_scratch(links))
    return found


@njit
def _search_rows(base, links, given, max_nodes, found, scratch):
    labels, log_proba, upper_bound, nodes, complete, tied = found
    nothing = np.empty(0, dtype=np.int32)
    for i in range(len(base)):
        known = given[i] if len(given) else nothing
        _, nodes[i], complete[i], upper_bound[i], tied[i] = depth_first(
            base[i], links, known, max_nodes, labels[i], log_proba[i], scratch
        )
