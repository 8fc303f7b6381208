"""Label vectors of a label-linear chain from the most probable on, until little mass is left.

A search tree of prefixes is grown best-first. At any time every label vector (that agrees with what is known)
is either complete or continues exactly one open prefix, so the mass of the open prefixes bounds what is
unexplored. A known class does not branch; it only takes mass away. Hence the mass of an open prefix is
the mass of its agreeing vectors if no known position follows, and an upper bound on it otherwise.

Masses can be as small as the probability of many known labels, so sums of them are kept as logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import inner, njit
from montechain._kernels.conditional import activate, draw_class, expand, new_path
from montechain._kernels.heap import doubled

BUCKETS_PER_NAT = 4
"""Open nodes wait in buckets of equal width in log-probability; within a bucket the newest comes first. This is as
good as a heap, since nothing depends on the order of nearly equal nodes, and takes constant time."""
N_BUCKETS = 8192


@njit
def enumerate_vectors(base, links, given, full_depth, residual, max_nodes, offset, uniforms):
    """Enumerate the label vectors of each row until at most `residual` of the agreeing mass is left.

    Parameters
    ----------
    base, links, given : arrays
        See `montechain.links.linear.LinearScores`; known classes, -1 elsewhere, no rows if nothing is known.
    full_depth : int64 ndarray of shape (n,)
        Prefixes of this length count as complete: L, or less where only the mass is wanted.
    residual : float
    max_nodes : int
    offset : float
        In [0, 1): see `draw_completions`. All rows share it, and the table of uniforms.
    uniforms : ndarray of shape (S, L)
        Where the budget ends first, S drawn vectors stand for what is left.

    Returns
    -------
    indptr : int64 ndarray of shape (n + 1,)
        Where the vectors of each row begin; its complete vectors come before the drawn ones.
    labels : int32 ndarray of shape (m, L)
        Zeros beyond `full_depth`.
    log_mass : ndarray of shape (m,)
        Logarithms of the mass that each vector stands for.
    complete, remaining : ndarrays of shape (n,)
        Logarithms of the mass of complete vectors and of open prefixes.
    """
    n_rows = len(base)
    n_samples, n_labels = uniforms.shape
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    labels = np.zeros((64, n_labels), dtype=np.int32)
    log_mass = np.empty(64)
    complete, remaining = np.empty(n_rows), np.empty(n_rows)
    tree, path = new_tree(1024), new_path(links)
    frontier = np.empty(1024, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    used = 0
    for i in range(n_rows):
        known = given[i] if len(given) else nothing
        tree, frontier, n_stored, size, complete[i], remaining[i] = grow_tree(
            base[i], links, known, full_depth[i], residual, max_nodes, tree, path, frontier
        )
        needed = used + n_stored + n_samples
        if needed > len(log_mass):
            longer = np.zeros((max(needed, 2 * len(log_mass)), n_labels), dtype=np.int32)
            longer[:used] = labels[:used]
            labels = longer
            longer_mass = np.empty(len(labels))
            longer_mass[:used] = log_mass[:used]
            log_mass = longer_mass
        parent, chosen, depth_of, node_mass = tree[0], tree[1], tree[2], tree[3]
        for node in range(n_stored):
            if depth_of[node] == full_depth[i]:
                log_mass[used] = node_mass[node]
                walk = node
                for d in range(full_depth[i] - 1, -1, -1):
                    labels[used, d] = chosen[walk]
                    walk = parent[walk]
                used += 1
        if size > 0 and math.exp(remaining[i] - log_add(complete[i], remaining[i])) > residual:
            end = used + n_samples
            draw_completions(
                base[i], links, known, full_depth[i], tree, path, frontier, size, remaining[i], offset, uniforms,
                labels[used:end], log_mass[used:end],
            )  # fmt: skip
            used = end
        indptr[i + 1] = used
    return indptr, labels[:used].copy(), log_mass[:used].copy(), complete, remaining


@inner
def log_add(a, b):
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@njit(cache=False)
def new_tree(size):
    """Return the arrays of a search tree: of its nodes, and the heads of the queue's buckets.

    Of each node: parent, class, depth, log-probability, the nearest node from it upwards whose class is not the
    first one (0, the root, if there is none), and the node after it in its bucket (-1 for the last).
    """
    return (
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.full(N_BUCKETS, -1, dtype=np.int64),
    )


@inner
def bucket_of(log_mass):
    """Return the bucket of a node; whatever is less probable than the last bucket's bound shares it."""
    return int(min(-log_mass * BUCKETS_PER_NAT, N_BUCKETS - 1.0))


@inner
def open_nodes(tree, first_bucket, last_bucket, out):
    """Write the open nodes to `out`, bucket by bucket, and return the logarithm of their mass, summed anew."""
    log_mass, after, head = tree[3], tree[5], tree[6]
    size = 0
    reference = -np.inf
    for bucket in range(first_bucket, last_bucket + 1):
        node = head[bucket]
        while node >= 0:
            out[size] = node
            size += 1
            reference = max(reference, log_mass[node])
            node = after[node]
    if size == 0:
        return -np.inf
    total = 0.0
    for entry in range(size):
        total += math.exp(log_mass[out[entry]] - reference)
    return reference + math.log(total)


@njit(cache=False)
def grow_tree(base_row, links, known, full_depth, residual, max_nodes, tree, path, frontier):
    """Expand one row's prefixes, the most probable first, until the open mass is at most `residual` of all mass.

    Parameters
    ----------
    known : int32 array of length L or 0
    full_depth : int
        Prefixes of this length count as complete: L, or less where only the mass is wanted.
    residual : float
        Open mass divided by open and complete mass at which to stop.
    max_nodes : int
        Nodes expanded, at most.
    tree, path : tuples of arrays
        See `new_tree` and `new_path`.
    frontier : int64 array
        Where the open nodes go; as long as the arrays of `tree`.

    Returns
    -------
    tree, frontier
        Those passed in, grown if they had to be.
    n_stored : int
        Nodes in the tree. Children come after their parents; those of depth `full_depth` are complete.
    size : int
        Open nodes: ``frontier[:size]``.
    complete, remaining : float
        Logarithms of the mass of complete vectors and of open nodes.
    """
    parent, chosen, depth_of, log_mass, active_from, after, head = tree
    active, scores, log_proba = path
    n_classes = links.n_classes
    parent[0] = -1
    chosen[0] = 0
    depth_of[0] = 0
    log_mass[0] = 0.0
    active_from[0] = 0
    n_stored = 1
    if full_depth == 0:
        return tree, frontier, n_stored, 0, 0.0, -np.inf
    after[0] = -1
    head[0] = 0
    size = 1
    bucket = 0
    last_bucket = 0
    complete = -np.inf
    # `remaining` is kept in units of exp(unit), by differences, and summed anew every now and then: differences
    # lose their digits once known classes have taken most of the mass away. In the same units, `recent` is the complete
    # mass found since then and `earlier` that found before, both of it in `complete` in the end.
    unit = 0.0
    remaining = 1.0
    recent = 0.0
    earlier = 0.0
    until_sum = 64
    nodes = 0
    while size > 0 and nodes < max_nodes:
        # A child is never more probable than its parent, so no bucket before this one fills again.
        while head[bucket] < 0:
            bucket += 1
        node = head[bucket]
        head[bucket] = after[node]
        size -= 1
        nodes += 1
        depth = depth_of[node]
        partial = log_mass[node]
        n_active = 0
        walk = active_from[node]
        while walk > 0:
            n_active = activate(links, depth_of[walk] - 1, chosen[walk], active, n_active)
            walk = active_from[parent[walk]]
        # Effects are added in the order of the positions, as everywhere else.
        for a in range(n_active // 2):
            active[a], active[n_active - 1 - a] = active[n_active - 1 - a], active[a]
        known_class = known[depth] if len(known) else -1
        expand(base_row, links, depth, active, n_active, scores, log_proba)
        if n_stored + n_classes[depth] > len(parent):
            parent, chosen, depth_of = doubled(parent), doubled(chosen), doubled(depth_of)
            log_mass, active_from = doubled(log_mass), doubled(active_from)
            after, frontier = doubled(after), doubled(frontier)
        is_last = depth + 1 == full_depth
        kept = 0.0 if known_class < 0 else log_proba[known_class]
        for c in range(n_classes[depth]):
            if known_class >= 0 and c != known_class:
                continue
            value = partial + log_proba[c]
            if value == -np.inf:
                continue
            parent[n_stored] = node
            chosen[n_stored] = c
            depth_of[n_stored] = depth + 1
            log_mass[n_stored] = value
            active_from[n_stored] = n_stored if c > 0 else active_from[node]
            if not is_last:
                # Rounding may put a child a shade above its parent.
                its_bucket = max(bucket_of(value), bucket)
                after[n_stored] = head[its_bucket]
                head[its_bucket] = n_stored
                last_bucket = max(last_bucket, its_bucket)
                size += 1
            n_stored += 1
        if not is_last and known_class < 0:
            # The children share their parent's mass: nothing has changed.
            continue
        mass = math.exp(partial - unit)
        if not is_last:
            remaining -= mass * (1.0 - math.exp(kept))
        else:
            remaining -= mass
            if known_class >= 0:
                mass *= math.exp(kept)
            if mass > 1e-250:
                recent += mass
            else:  # too little in these units, yet it may be all there is
                complete = log_add(complete, partial + kept)
        until_sum -= 1
        may_stop = remaining <= residual * (earlier + recent + remaining) * (1.0 + 1e-9)
        if size > 0 and (may_stop or until_sum <= 0):
            tree = (parent, chosen, depth_of, log_mass, active_from, after, head)
            total = open_nodes(tree, bucket, last_bucket, frontier)
            if recent > 0.0:
                complete = log_add(complete, unit + math.log(recent))
                recent = 0.0
            if math.exp(total - log_add(complete, total)) <= residual:
                break
            unit = total
            remaining = 1.0
            earlier = math.exp(min(complete - unit, 700.0))
            until_sum = max(64, size)
    if recent > 0.0:
        complete = log_add(complete, unit + math.log(recent))
    tree = (parent, chosen, depth_of, log_mass, active_from, after, head)
    total = open_nodes(tree, bucket, last_bucket, frontier)
    for b in range(bucket, last_bucket + 1):
        head[b] = -1
    return tree, frontier, n_stored, size, complete, total


@inner
def draw_completions(
    base_row, links, known, full_depth, tree, path, frontier, size, remaining, offset, uniforms, labels, log_weight
):
    """Draw open nodes in proportion to their mass, and complete each link by link.

    The draws are spread evenly over the open mass from `offset` (in [0, 1)) on; the class at position k of draw s
    is chosen by ``uniforms[s, k]``. Writes the drawn vectors to `labels`, and the logarithms of the mass that
    each stands for to `log_weight`.
    """
    parent, chosen, depth_of, log_mass = tree[0], tree[1], tree[2], tree[3]
    active, scores, log_proba = path
    n_samples = len(uniforms)
    entry = 0
    reached = math.exp(log_mass[frontier[0]] - remaining)
    for s in range(n_samples):
        wanted = (s + offset) / n_samples
        while reached <= wanted and entry < size - 1:
            entry += 1
            reached += math.exp(log_mass[frontier[entry]] - remaining)
        walk = frontier[entry]
        depth = depth_of[walk]
        for d in range(depth - 1, -1, -1):
            labels[s, d] = chosen[walk]
            walk = parent[walk]
        log_weight[s] = remaining - math.log(n_samples)
        n_active = 0
        for k in range(full_depth):
            if k >= depth:
                known_class = known[k] if len(known) else -1
                expand(base_row, links, k, active, n_active, scores, log_proba)
                if known_class >= 0:
                    labels[s, k] = known_class
                    log_weight[s] += log_proba[known_class]
                else:
                    labels[s, k] = draw_class(log_proba, links.n_classes[k], uniforms[s, k])
            n_active = activate(links, k, labels[s, k], active, n_active)
