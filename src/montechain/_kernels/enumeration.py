"""Label vectors of a label-linear chain, the most probable first, until little probability mass is left.

A search tree of prefixes is grown best-first. At any time every label vector (that agrees with what is known) is either
complete or continues exactly one open prefix, so the mass of the open prefixes bounds what is unexplored. A known class
does not branch; it only takes mass away. Hence the mass of an open prefix is that of its agreeing vectors if no known
position follows, and an upper bound on it otherwise.

Masses can be as small as the probability of many known labels, so sums of them are kept as logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import ZERO, inner, njit
from montechain._kernels.conditional import activate, expand, new_path
from montechain._kernels.heap import longer

BUCKETS_PER_NAT = 4
"""Open nodes wait in buckets of equal width in log-probability; within a bucket the newest comes first. This is as
good as a heap, since nothing depends on the order of nearly equal nodes, and takes constant time."""
N_BUCKETS = 8192


def enumerate_vectors(base, links, given, full_depth, residual, max_nodes, offset, n_samples):
    """Enumerate the label vectors of each row until at most `residual` of the agreeing mass is left.

    The first parameters are `PrefixTree.arrays`. Prefixes of the length `full_depth`, int64 of shape (n,), count as
    complete: L, or less where only the mass is wanted. At most `max_nodes` prefixes are expanded per row. Where the
    budget ends first, open prefixes are drawn to stand for the rest, in proportion to their mass: draw s is the prefix
    in which the share ``(s + offset) / n_samples`` of the open mass is reached, with `offset` in [0, 1).

    Returns `indptr`, where the prefixes of each row begin, complete ones before the drawn ones; for each prefix the
    labels, undefined beyond it, its length, less than `full_depth` if it was drawn, and the logarithm of the mass that
    it stands for; and for each row the logarithms of the mass of all complete and of all open prefixes.
    """
    budget = (residual, max_nodes, offset, n_samples)
    scratch = (new_tree(1024), new_path(links), np.empty(0, dtype=np.int32))
    room = np.empty((64, len(links.n_classes)), dtype=np.int32), np.empty(64, dtype=np.int64), np.empty(64)
    indptr, mass = np.zeros(len(base) + 1, dtype=np.int64), np.empty((2, len(base)))
    prefixes = _enumerate_rows(base, links, given, full_depth, *budget, scratch, room, indptr, *mass)
    return indptr, *(values[: indptr[-1]].copy() for values in prefixes), *mass


@njit
def _enumerate_rows(
    base, links, given, full_depth, residual, max_nodes, offset, n_samples, scratch, room, indptr, complete, remaining
):  # fmt: skip
    tree, path, nothing = scratch
    labels, depth, log_mass = room
    used = ZERO
    for i in range(len(base)):
        known = given[i] if len(given) else nothing
        tree, n_stored, n_open, complete[i], remaining[i] = grow_tree(
            base[i], links, known, full_depth[i], residual, max_nodes, tree, path
        )
        needed = used + n_stored + n_samples
        if needed > len(depth):
            size = max(needed, 2 * len(depth))
            labels, depth, log_mass = longer(labels, size), longer(depth, size), longer(log_mass, size)
        depth_of, node_mass, frontier = tree[2], tree[3], tree[6]
        for node in range(n_stored):
            if depth_of[node] == full_depth[i]:
                depth[used] = write_prefix(tree, node, labels, used)
                log_mass[used] = node_mass[node]
                used += 1
        if n_open > 0 and open_share(complete[i], remaining[i]) > residual:
            entry = 0
            reached = math.exp(node_mass[frontier[0]] - remaining[i])
            for s in range(n_samples):
                while reached <= (s + offset) / n_samples and entry < n_open - 1:
                    entry += 1
                    reached += math.exp(node_mass[frontier[entry]] - remaining[i])
                depth[used] = write_prefix(tree, frontier[entry], labels, used)
                log_mass[used] = remaining[i] - math.log(n_samples)
                used += 1
        indptr[i + 1] = used
    return labels, depth, log_mass


@inner
def write_prefix(tree, node, labels, place):
    """Write the classes of a node's prefix to ``labels[place]``, and return its length."""
    parent, chosen, depth = tree[0], tree[1], tree[2][node]
    for d in range(depth - 1, -1, -1):
        labels[place, d] = chosen[node]
        node = parent[node]
    return depth


@inner
def log_add(a, b):
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@inner
def open_share(complete, remaining):
    """Return the share of the open mass in all mass."""
    return math.exp(remaining - log_add(complete, remaining)) if remaining > -np.inf else 0.0


def new_tree(size):
    """Return the arrays of a search tree: six of its nodes, one for the open ones, and the heads of the buckets.

    Of each node: parent, class, depth, log-probability, the nearest node from it upwards whose class is not the
    first one (0, the root, if there is none), and the node after it in its bucket (-1 for the last).
    """
    parent, active_from, after, frontier = np.empty((4, size), dtype=np.int64)
    chosen, depth = np.empty((2, size), dtype=np.int32)
    head = np.full(N_BUCKETS, -1, dtype=np.int64)
    return parent, chosen, depth, np.empty(size), active_from, after, frontier, head


@inner
def sum_open(log_mass, after, frontier, head, first_bucket, last_bucket):
    """Write the open nodes to `frontier`, bucket by bucket, and return their number and the logarithm of their mass."""
    size = 0
    largest = -np.inf
    for bucket in range(first_bucket, last_bucket + 1):
        node = head[bucket]
        while node >= 0:
            frontier[size] = node
            size += 1
            largest = max(largest, log_mass[node])
            node = after[node]
    total = 0.0
    for entry in range(size):
        total += math.exp(log_mass[frontier[entry]] - largest)
    return size, largest + math.log(total) if size > 0 else -np.inf


@njit(cache=False)
def grow_tree(base_row, links, known, full_depth, residual, max_nodes, tree, path):
    """Expand one row's prefixes, the most probable first, until the open mass is at most `residual` of all mass.

    Parameters are those of `enumerate_vectors`, for one row; `known` is empty if nothing is known, `tree` and `path`
    are scratch space. Returns the tree, grown if it had to be; the number of its nodes, and how many of them are open:
    those in its array of open nodes; and the logarithms of the mass of complete vectors and of open nodes. Children
    come after their parents; nodes of depth `full_depth` are complete.
    """
    parent, chosen, depth_of, log_mass, active_from, after, frontier, head = tree
    active, scores, log_proba = path
    n_classes = links.n_classes
    parent[0], chosen[0], depth_of[0], log_mass[0], active_from[0], after[0] = -1, 0, 0, 0.0, 0, -1
    n_stored = 1
    if full_depth == 0:
        return tree, n_stored, 0, 0.0, -np.inf
    head[0] = 0
    bucket = last_bucket = ZERO
    size = 1
    complete = -np.inf
    until_sum = 32
    nodes = 0
    while size > 0 and nodes < max_nodes:
        if until_sum == 0:
            _, remaining = sum_open(log_mass, after, frontier, head, bucket, last_bucket)
            if open_share(complete, remaining) <= residual:
                break
            until_sum = max(32, size // 8)
        until_sum -= residual > 0.0
        # A child is never more probable than its parent, so no bucket before this one fills again.
        while head[bucket] < 0:
            bucket += 1
        node = head[bucket]
        head[bucket] = after[node]
        size -= 1
        nodes += 1
        depth = np.int64(depth_of[node])
        n_active = ZERO
        walk = active_from[node]
        while walk > 0:
            n_active = activate(links, np.int64(depth_of[walk]) - 1, np.int64(chosen[walk]), active, n_active)
            walk = active_from[parent[walk]]
        # Effects are added in the order of the positions, as everywhere else.
        for a in range(n_active // 2):
            active[a], active[n_active - 1 - a] = active[n_active - 1 - a], active[a]
        known_class = known[depth] if len(known) else -1
        expand(base_row, links, depth, active, n_active, scores, log_proba)
        if n_stored + n_classes[depth] > len(parent):
            room = 2 * len(parent)
            parent, chosen, depth_of = longer(parent, room), longer(chosen, room), longer(depth_of, room)
            log_mass, active_from = longer(log_mass, room), longer(active_from, room)
            after, frontier = longer(after, room), longer(frontier, room)
        for c in range(n_classes[depth]):
            value = log_mass[node] + log_proba[c]
            if value == -np.inf or (known_class >= 0 and c != known_class):
                continue
            parent[n_stored] = node
            chosen[n_stored] = c
            depth_of[n_stored] = depth + 1
            log_mass[n_stored] = value
            active_from[n_stored] = n_stored if c > 0 else active_from[node]
            if depth + 1 == full_depth:
                complete = log_add(complete, value)
            else:
                # Rounding may make a child slightly more probable than its parent; the last bucket has no lower bound.
                its_bucket = max(int(min(-value * BUCKETS_PER_NAT, N_BUCKETS - 1.0)), bucket)
                after[n_stored] = head[its_bucket]
                head[its_bucket] = n_stored
                last_bucket = max(last_bucket, its_bucket)
                size += 1
            n_stored += 1
    n_open, remaining = sum_open(log_mass, after, frontier, head, bucket, last_bucket)
    for own in range(bucket, last_bucket + 1):
        head[own] = -1
    tree = (parent, chosen, depth_of, log_mass, active_from, after, frontier, head)
    return tree, n_stored, n_open, complete, remaining
