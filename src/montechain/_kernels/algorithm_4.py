"""Algorithm 4 of the paper: one random search through the label vectors of several chains.

The chains are stacked, see `montechain.population.search.stacked_scores`: ``score_start[j]``, ``response[j]``,
``n_classes[j]`` and ``active_start[j]`` belong to chain j, and their score columns lie side by side. What is known and
what is returned is in the order of the labels.

Among the draws under one order only the best counts, and only if it is better than the vector held. So the draws are
followed through the tree of prefixes together, as in `montechain._kernels.monte_carlo`, and given up once their
prefix is no more probable than the best vector.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import expand
from montechain._kernels.draws import new_walk, walk_draws
from montechain._kernels.greedy import most_probable_class
from montechain._kernels.joint import draw_class


def algorithm_4(
    base, effects, score_start, score_weight, response, n_classes, active_start, given,
    orders, chosen_orders, uniforms, start_greedy,
):  # fmt: skip
    """Return the label vectors, int32 of shape (n, L), at which Algorithm 4 ends.

    Parameters
    ----------
    base, ..., active_start : arrays
        See `montechain.population.search.stacked_scores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes by label, -1 elsewhere; no rows if nothing is known.
    orders : int64 ndarray of shape (M, L)
        The label at each position of each chain.
    chosen_orders : int64 ndarray of shape (T,)
        The chain that is used in each step.
    uniforms : ndarray of shape (T, S, L)
        Uniform numbers in [0, 1): draw s of step t chooses the class of position k by ``uniforms[t, s, k]``.
    start_greedy : bool
        Whether the greedy vector under the first chosen order is the start; otherwise the first draw is.
    """
    n_labels = orders.shape[1]
    labels = np.empty((len(base), n_labels), dtype=np.int32)
    columns = np.ascontiguousarray(uniforms.transpose(0, 2, 1))
    known, z = np.full(n_labels, -1), np.zeros(n_labels, dtype=np.int32)
    _steps(
        base, effects, score_start, score_weight, response, n_classes, active_start, given, known, orders,
        chosen_orders, columns, columns.min(axis=2), columns.max(axis=2), np.arange(uniforms.shape[1]), start_greedy,
        labels, z, new_walk(score_start, n_classes),
    )  # fmt: skip
    return labels


@njit
def _steps(
    base, effects, score_start, score_weight, response, n_classes, active_start, given, known, orders,
    chosen_orders, columns, lowest, highest, draws, start_greedy, labels, z, scratch,
):  # fmt: skip
    n_labels = orders.shape[1]
    children, active, scores = scratch[1], scratch[6], scratch[8]
    for i in range(base.shape[0]):
        base_row = base[i]
        for t in range(chosen_orders.shape[0]):
            j = chosen_orders[t]
            start, kind, sizes, first_active = score_start[j], response[j], n_classes[j], active_start[j]
            # Set z to the vector held, or to the start, in the positions of this chain; its log-probability under it.
            value = 0.0
            n_active = 0
            for k in range(n_labels):
                if given.shape[0] > 0:
                    known[k] = given[i, orders[j, k]]
                expand(
                    base_row, effects, start, score_weight, kind, sizes,
                    k, active, n_active, -1, scores, children[k],
                )  # fmt: skip
                if t > 0:
                    z[k] = labels[i, orders[j, k]]
                elif start_greedy or known[k] >= 0:
                    z[k] = most_probable_class(children[k], sizes[k], known[k])
                else:
                    z[k] = draw_class(children[k], sizes[k], columns[0, k, 0])
                value += children[k, z[k]]
                if z[k] > 0:
                    active[n_active] = first_active[k] + z[k] - 1
                    n_active += 1
            is_first_draw = t == 0 and not start_greedy
            walk_draws(
                base_row, effects, start, score_weight, kind, sizes, first_active, known,
                columns[t], lowest[t], highest[t], draws, value, 0 if is_first_draw else -1, z, scratch,
            )  # fmt: skip
            for k in range(n_labels):
                labels[i, orders[j, k]] = z[k]
