"""Algorithm 4 of the paper: one random search through the label vectors of several chains.

Among the draws under one order only the best counts, and only if it is better than the vector held, as in
`montechain._kernels.monte_carlo`.
"""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import ZERO, njit
from montechain._kernels.conditional import new_path, of_chain, walk_down
from montechain._kernels.monte_carlo import best_of_draws


def algorithm_4(base, links, given, orders, chosen_orders, uniforms):
    """Return the label vectors, int32 of shape (n, L), at which Algorithm 4 ends.

    The chains are given as to `montechain._kernels.mixture.mixture`. `chosen_orders`, int64 of shape (T,), has the
    chain that is used in each step. By ``uniforms[t, s, k]``, in [0, 1), draw s of step t chooses the class of position
    k.
    """
    labels = np.empty((len(base), orders.shape[1]), dtype=np.int32)
    known, z, vector = np.full((3, orders.shape[1]), -1, dtype=np.int32)
    _steps(base, links, given, orders, chosen_orders, uniforms, labels, known, z, vector, new_path(links))
    return labels


@njit
def _steps(base, links, given, orders, chosen_orders, uniforms, labels, known, z, vector, path):
    for i in range(len(base)):
        for t in range(len(chosen_orders)):
            order, own = orders[chosen_orders[t]], of_chain(links, chosen_orders[t])
            for k in range(len(order)):
                if len(given):
                    known[k] = given[i, order[k]]
                z[k] = labels[i, order[k]]
            if t == 0:  # the start is the greedy vector
                walk_down(base[i], own, known, uniforms[0, 0, :0], -np.inf, z, ZERO, len(order), path)
            best_of_draws(base[i], own, known, uniforms[t], np.inf, z, vector, path)
            for k in range(len(order)):
                labels[i, order[k]] = z[k]
