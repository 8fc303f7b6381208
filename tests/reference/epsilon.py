"""Algorithm 1 of Dembczyński, Waegeman and Hüllermeier (2012), with sorted lists."""

import math

from reference.greedy import greedy_from
from reference.joint import TIE, first_best, log_classes


def epsilon_approximate(chain, X, given, epsilon):
    """Return for each row: the vector, its log-probability and an upper bound."""
    return [_search(chain, X, i, given, epsilon) for i in range(len(X))]


def _search(chain, X, i, given, epsilon):
    # A node: its log-probability, the probability of its free positions, its classes.
    queue = [(0.0, 1.0, ())]
    without_survivors = []
    cut = [-math.inf]
    while queue:
        queue.sort(key=lambda node: -round(node[0] / TIE))
        value, free, prefix = queue.pop(0)
        if len(prefix) == len(chain.n_classes):
            return prefix, value, max([value, *cut])
        known = -1 if given is None else given[i, len(prefix)]
        survivors = []
        for c, log_proba in enumerate(log_classes(chain, X, i, prefix)):
            if known in (-1, c):
                child_free = free * (math.exp(log_proba) if known == -1 else 1.0)
                if child_free >= epsilon:
                    survivors.append((value + log_proba, child_free, (*prefix, c)))
                else:
                    cut.append(value + log_proba)
        queue += survivors
        if not survivors:
            without_survivors.append((value, prefix))
    found = [greedy_from(chain, X, i, given, prefix, value)[:2] for value, prefix in without_survivors]
    vector, value = found[first_best([value for _, value in found])]
    return vector, value, max([value, *cut])
