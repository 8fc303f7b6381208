"""Label vectors of a label-linear chain from the most probable on: their weights, marginals, and evidence.

All of it is read off a tree of prefixes, see `montechain._kernels.prefix_tree`.
"""

from __future__ import annotations

import math

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.prefix_tree import (
    UNDERFLOW,
    draw_completions,
    grow_tree,
    last_known,
    log_add,
    new_path,
    new_tree,
)


@njit
def distribution(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, residual, max_nodes, offset,
    uniforms,
):  # fmt: skip
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


@njit
def marginals(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, residual, max_nodes, offset,
    uniforms,
):  # fmt: skip
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


@njit
def log_evidence(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, residual, max_nodes, offset,
    uniforms,
):  # fmt: skip
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
