"""Label vectors of a label-linear chain from the most probable prefix on, until little mass is left.

A search tree of prefixes is grown best-first. At any time every label vector (that agrees with what is known)
is either complete or continues exactly one open prefix, so the mass of the open prefixes bounds what is
unexplored. A known class does not branch; it only takes mass away. Hence the mass of an open prefix is
the mass of its agreeing vectors if no known position follows, and an upper bound on it otherwise.

Masses can be as small as the probability of many known labels, so sums of them are kept as logarithms.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from montechain._kernels.conditional import SOFTMAX, expand, log_odds, log_sigmoids
from montechain._kernels.heap import doubled
from montechain._kernels.joint import draw_class, largest, widest

BUCKETS_PER_NAT = 4
"""Open nodes wait in buckets of equal width in log-probability; within a bucket the newest comes first. This is as
good as a heap, since nothing depends on the order of nearly equal nodes, and takes constant time."""
N_BUCKETS = 8192

UNDERFLOW = -600.0
"""Logarithm of a share so small that sums of its kind are about to vanish."""


@njit(cache=True, nogil=True)
def log_add(a, b):
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def new_path(score_start, n_classes):
    """Return scratch space for one prefix: its active classes, scores and log-probabilities."""
    return (
        np.empty(max(1, len(n_classes)), dtype=np.int64),
        np.empty(widest(score_start)),
        np.empty(largest(n_classes)),
    )


@njit(cache=True, nogil=True)
def last_known(known):
    """Return the last position whose class is known, or -1."""
    for k in range(len(known) - 1, -1, -1):
        if known[k] >= 0:
            return k
    return -1


@njit(cache=True, nogil=True)
def bucket_of(log_mass):
    """Return the bucket of a node; whatever is less probable than the last bucket's bound shares it."""
    return int(min(-log_mass * BUCKETS_PER_NAT, N_BUCKETS - 1.0))


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def grow_tree(
    base_row,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    known,
    full_depth,
    residual,
    max_nodes,
    tree,
    path,
    frontier,
):
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
    nodes : int
        Nodes expanded.
    """
    parent, chosen, depth_of, log_mass, active_from, after, head = tree
    active, scores, log_proba = path
    parent[0] = -1
    chosen[0] = 0
    depth_of[0] = 0
    log_mass[0] = 0.0
    active_from[0] = 0
    n_stored = 1
    if full_depth == 0:
        return tree, frontier, n_stored, 0, 0.0, -np.inf, 0
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
            active[n_active] = active_start[depth_of[walk] - 1] + chosen[walk] - 1
            n_active += 1
            walk = active_from[parent[walk]]
        # Effects are added in the order of the positions, as everywhere else.
        for a in range(n_active // 2):
            active[a], active[n_active - 1 - a] = active[n_active - 1 - a], active[a]
        known_class = known[depth] if len(known) else -1
        if response[depth] == SOFTMAX and n_classes[depth] == 2:
            log_proba[0], log_proba[1] = log_sigmoids(log_odds(base_row, effects, score_start[depth], active, n_active))
        else:
            expand(
                base_row, effects, score_start, score_weight, response, n_classes,
                depth, active, n_active, -1, scores, log_proba,
            )  # fmt: skip
        if n_stored + n_classes[depth] > len(parent):
            parent = doubled(parent)
            chosen = doubled(chosen)
            depth_of = doubled(depth_of)
            log_mass = doubled(log_mass)
            active_from = doubled(active_from)
            after = doubled(after)
            frontier = doubled(frontier)
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
    return tree, frontier, n_stored, size, complete, total, nodes


@njit(cache=True, nogil=True)
def draw_completions(
    base_row,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    known,
    full_depth,
    tree,
    path,
    frontier,
    size,
    remaining,
    offset,
    uniforms,
    labels,
    log_weight,
    start,
):
    """Draw open nodes in proportion to their mass, and complete each link by link.

    The draws are spread evenly over the open mass from `offset` (in [0, 1)) on; the class at position k of draw s
    is chosen by ``uniforms[s, k]``. Writes the drawn vectors to `labels`, the logarithms of the mass that
    each stands for to `log_weight`, and the depth of the node it continues to `start`.
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
        start[s] = depth
        for d in range(depth - 1, -1, -1):
            labels[s, d] = chosen[walk]
            walk = parent[walk]
        n_active = 0
        for d in range(depth):
            if labels[s, d] > 0:
                active[n_active] = active_start[d] + labels[s, d] - 1
                n_active += 1
        log_weight[s] = remaining - math.log(n_samples)
        for k in range(depth, full_depth):
            known_class = known[k] if len(known) else -1
            if response[k] == SOFTMAX and n_classes[k] == 2 and known_class < 0:
                # The same draw as below, without the logarithms.
                odds = log_odds(base_row, effects, score_start[k], active, n_active)
                c = 0 if 1.0 / (1.0 + math.exp(min(odds, 700.0))) > uniforms[s, k] else 1
            else:
                expand(
                    base_row, effects, score_start, score_weight, response, n_classes,
                    k, active, n_active, -1, scores, log_proba,
                )  # fmt: skip
                if known_class >= 0:
                    c = known_class
                    log_weight[s] += log_proba[c]
                else:
                    c = draw_class(log_proba, n_classes[k], uniforms[s, k])
            labels[s, k] = c
            if c > 0:
                active[n_active] = active_start[k] + c - 1
                n_active += 1


@njit(cache=True, nogil=True)
def distribution(
    base,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    given,
    residual,
    max_nodes,
    offset,
    uniforms,
):
    """Enumerate the label vectors of each row until at most `residual` of the agreeing mass is left.

    Parameters
    ----------
    residual : float
    max_nodes : int
    offset : float
        In [0, 1): see `draw_completions`. All rows share it, and the table of uniforms.
    uniforms : ndarray of shape (S, L)
        Where the budget ends first, S drawn vectors stand for what is left.

    Returns
    -------
    indptr, labels, weights, residual, estimated
        As in `montechain.losses.LabelDistribution`.
    nodes : int64 ndarray of shape (n,)
    """
    n_rows = len(base)
    n_labels = len(n_classes)
    n_samples = len(uniforms)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    labels = np.empty((64, n_labels), dtype=np.int32)
    weights = np.empty(64)
    left = np.zeros(n_rows)
    estimated = np.zeros(n_rows, dtype=np.bool_)
    nodes = np.empty(n_rows, dtype=np.int64)
    tree = new_tree(1024)
    frontier = np.empty(1024, dtype=np.int64)
    path = new_path(score_start, n_classes)
    drawn = np.empty((n_samples, n_labels), dtype=np.int32)
    log_weight = np.empty(n_samples)
    start = np.empty(n_samples, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int32)
    used = 0
    for i in range(n_rows):
        known = given[i] if len(given) else nothing
        tree, frontier, n_stored, size, complete, remaining, nodes[i] = grow_tree(
            base[i], effects, score_start, score_weight, response, n_classes, active_start,
            known, n_labels, residual, max_nodes, tree, path, frontier,
        )  # fmt: skip
        parent, chosen, depth_of, log_mass = tree[0], tree[1], tree[2], tree[3]
        total = log_add(complete, remaining)
        left[i] = math.exp(remaining - total) if total > -np.inf else 1.0
        estimated[i] = left[i] > residual
        needed = used + n_stored + n_samples
        if needed > len(weights):
            longer = np.empty((max(needed, 2 * len(weights)), n_labels), dtype=np.int32)
            longer[:used] = labels[:used]
            labels = longer
            longer_weights = np.empty(len(labels))
            longer_weights[:used] = weights[:used]
            weights = longer_weights
        if estimated[i] and size > 0:
            draw_completions(
                base[i], effects, score_start, score_weight, response, n_classes, active_start,
                known, n_labels, tree, path, frontier, size, remaining, offset, uniforms, drawn, log_weight, start,
            )  # fmt: skip
            # The drawn mass replaces the open mass: with known labels ahead it is smaller.
            total = complete
            for s in range(n_samples):
                total = log_add(total, log_weight[s])
        if total == -np.inf:
            # The known classes are impossible: any vector that agrees with them is as good.
            for k in range(n_labels):
                labels[used, k] = max(known[k], 0) if len(known) else 0
            weights[used] = 1.0
            used += 1
            indptr[i + 1] = used
            continue
        for node in range(n_stored):
            if depth_of[node] == n_labels:
                weights[used] = math.exp(log_mass[node] - total)
                walk = node
                for d in range(n_labels - 1, -1, -1):
                    labels[used, d] = chosen[walk]
                    walk = parent[walk]
                used += 1
        if estimated[i]:
            for s in range(n_samples):
                weights[used] = math.exp(log_weight[s] - total)
                labels[used] = drawn[s]
                used += 1
        indptr[i + 1] = used
    return indptr, labels[:used].copy(), weights[:used].copy(), left, estimated, nodes


@njit(cache=True, nogil=True)
def marginals(
    base,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    given,
    residual,
    max_nodes,
    offset,
    uniforms,
):
    """Enumerate as `distribution` does, and keep only the probability of each class of each label.

    Open prefixes, too, say something about the labels that they fix. No vector is stored: masses are summed up the
    tree.

    Returns
    -------
    proba : ndarray of shape (n, sum of K)
        Probabilities of the classes, position by position.
    lower : ndarray of shape (n, sum of K)
        Proven lower bounds on them.
    unresolved : ndarray of shape (n, L)
        ``lower + unresolved`` are upper bounds.
    estimated : bool ndarray of shape (n,)
    nodes : int64 ndarray of shape (n,)
    """
    n_rows = len(base)
    n_labels = len(n_classes)
    n_samples = len(uniforms)
    class_start = np.zeros(n_labels + 1, dtype=np.int64)
    for k in range(n_labels):
        class_start[k + 1] = class_start[k] + n_classes[k]
    proba = np.zeros((n_rows, class_start[n_labels]))
    lower = np.zeros((n_rows, class_start[n_labels]))
    unresolved = np.zeros((n_rows, n_labels))
    estimated = np.zeros(n_rows, dtype=np.bool_)
    nodes = np.empty(n_rows, dtype=np.int64)
    tree = new_tree(1024)
    frontier = np.empty(1024, dtype=np.int64)
    path = new_path(score_start, n_classes)
    drawn = np.empty((n_samples, n_labels), dtype=np.int32)
    log_weight = np.empty(n_samples)
    start = np.empty(n_samples, dtype=np.int64)
    sure = np.empty(1024)
    loose = np.empty(1024)
    open_at = np.empty(n_labels + 1)
    nothing = np.empty(0, dtype=np.int32)
    for i in range(n_rows):
        known = given[i] if len(given) else nothing
        tree, frontier, n_stored, size, complete, remaining, nodes[i] = grow_tree(
            base[i], effects, score_start, score_weight, response, n_classes, active_start,
            known, n_labels, residual, max_nodes, tree, path, frontier,
        )  # fmt: skip
        parent, chosen, depth_of, log_mass = tree[0], tree[1], tree[2], tree[3]
        total = log_add(complete, remaining)
        if total == -np.inf:
            # The known classes are impossible, and nothing can be said about the others.
            estimated[i] = True
            unresolved[i] = 1.0
            for k in range(n_labels):
                known_class = known[k] if len(known) else -1
                for c in range(n_classes[k]):
                    if known_class < 0:
                        proba[i, class_start[k] + c] = 1.0 / n_classes[k]
                    elif known_class == c:
                        proba[i, class_start[k] + c] = 1.0
            continue
        estimated[i] = math.exp(remaining - total) > residual
        ahead = last_known(known)
        if len(sure) < n_stored:
            sure = np.empty(2 * n_stored)
            loose = np.empty(2 * n_stored)
        for node in range(n_stored):
            sure[node] = math.exp(log_mass[node] - total) if depth_of[node] == n_labels else 0.0
            loose[node] = 0.0
        open_at[:] = 0.0
        for entry in range(size):
            node = frontier[entry]
            mass = math.exp(log_mass[node] - total)
            depth = depth_of[node]
            # Up to the last known position the mass of a node is only a bound, so it counts as unresolved for all.
            if depth > ahead:
                open_at[depth] += mass
                sure[node] = mass
            else:
                open_at[0] += mass
                loose[node] = mass
        for node in range(n_stored - 1, 0, -1):
            column = class_start[depth_of[node] - 1] + chosen[node]
            lower[i, column] += sure[node]
            proba[i, column] += loose[node]
            sure[parent[node]] += sure[node]
            loose[parent[node]] += loose[node]
        reached = 0.0
        for k in range(n_labels):
            reached += open_at[k]
            unresolved[i, k] = min(reached, 1.0)
        lost = False
        if estimated[i]:
            draw_completions(
                base[i], effects, score_start, score_weight, response, n_classes, active_start,
                known, n_labels, tree, path, frontier, size, remaining, offset, uniforms, drawn, log_weight, start,
            )  # fmt: skip
            # What is known may be so improbable that nothing is left of it in units of the open mass, which is only a
            # bound then. So the draws, and the few complete vectors, are weighed in units of their own.
            unit = complete
            for s in range(n_samples):
                unit = max(unit, log_weight[s])
            lost = unit - total < UNDERFLOW
            if lost and unit > -np.inf:
                for node in range(n_stored):
                    sure[node] = math.exp(log_mass[node] - unit) if depth_of[node] == n_labels else 0.0
                proba[i, :] = 0.0
                for node in range(n_stored - 1, 0, -1):
                    proba[i, class_start[depth_of[node] - 1] + chosen[node]] += sure[node]
                    sure[parent[node]] += sure[node]
                for s in range(n_samples):
                    mass = math.exp(log_weight[s] - unit)
                    for k in range(n_labels):
                        proba[i, class_start[k] + drawn[s, k]] += mass
        if estimated[i] and not lost:
            # What is drawn replaces the face value of the nodes whose mass is only a bound.
            proba[i, :] = 0.0
            for s in range(n_samples):
                mass = math.exp(log_weight[s] - total)
                first = start[s] if start[s] > ahead else 0
                for k in range(first, n_labels):
                    proba[i, class_start[k] + drawn[s, k]] += mass
            # The draws that fall to a label can stand for a little more or less than what is unresolved of it.
            for k in range(n_labels):
                drawn_mass = 0.0
                for column in range(class_start[k], class_start[k + 1]):
                    drawn_mass += proba[i, column]
                if drawn_mass > unresolved[i, k] or (ahead < 0 and drawn_mass > 0.0):
                    for column in range(class_start[k], class_start[k + 1]):
                        proba[i, column] *= unresolved[i, k] / drawn_mass
        for k in range(n_labels):
            total_k = 0.0
            for column in range(class_start[k], class_start[k + 1]):
                proba[i, column] += lower[i, column]
                total_k += proba[i, column]
            known_class = known[k] if len(known) else -1
            for column in range(class_start[k], class_start[k + 1]):
                if total_k > 0.0:
                    proba[i, column] /= total_k
                elif known_class < 0:
                    proba[i, column] = 1.0 / n_classes[k]
                else:
                    proba[i, column] = 1.0 if column == class_start[k] + known_class else 0.0
    return proba, lower, unresolved, estimated, nodes


@njit(cache=True, nogil=True)
def log_evidence(
    base,
    effects,
    score_start,
    score_weight,
    response,
    n_classes,
    active_start,
    given,
    residual,
    max_nodes,
    offset,
    uniforms,
):
    """Return log p(known labels | x) of each row, and the share of it that was estimated from draws or left out."""
    n_rows = len(base)
    n_labels = len(n_classes)
    n_samples = len(uniforms)
    log_mass = np.empty(n_rows)
    left = np.zeros(n_rows)
    tree = new_tree(1024)
    frontier = np.empty(1024, dtype=np.int64)
    path = new_path(score_start, n_classes)
    drawn = np.empty((n_samples, n_labels), dtype=np.int32)
    log_weight = np.empty(n_samples)
    start = np.empty(n_samples, dtype=np.int64)
    for i in range(n_rows):
        full_depth = last_known(given[i]) + 1
        tree, frontier, _, size, complete, remaining, _ = grow_tree(
            base[i], effects, score_start, score_weight, response, n_classes, active_start,
            given[i], full_depth, residual, max_nodes, tree, path, frontier,
        )  # fmt: skip
        log_mass[i] = complete
        total = log_add(complete, remaining)
        if remaining == -np.inf:
            continue
        left[i] = math.exp(remaining - total)
        if left[i] > residual:
            draw_completions(
                base[i], effects, score_start, score_weight, response, n_classes, active_start,
                given[i], full_depth, tree, path, frontier, size, remaining, offset, uniforms, drawn, log_weight, start,
            )  # fmt: skip
            for s in range(n_samples):
                log_mass[i] = log_add(log_mass[i], log_weight[s])
    return log_mass, left
