"""The most probable class at every link, given those chosen before."""

import numpy as np

from reference.joint import first_best, log_classes


def greedy_from(chain, X, i, given, prefix, partial):
    """Go on greedily from a prefix; return the vector, its log-probability and those of the prefixes not taken."""
    vector, not_taken = list(prefix), []
    for k in range(len(prefix), len(chain.n_classes)):
        children = {c: partial + value for c, value in enumerate(log_classes(chain, X, i, vector))}
        if given is not None and given[i, k] >= 0:
            children = {int(given[i, k]): children[int(given[i, k])]}
        best = list(children)[first_best(list(children.values()))]
        partial = children.pop(best)
        not_taken += children.values()
        vector.append(best)
    return tuple(vector), partial, not_taken


def greedy(chain, X, given):
    """Return labels, log-probabilities and upper bounds."""
    labels, log_proba, upper_bound = [], [], []
    for i in range(len(X)):
        vector, value, not_taken = greedy_from(chain, X, i, given, (), 0.0)
        labels.append(vector)
        log_proba.append(value)
        upper_bound.append(max([value, *not_taken]))
    return np.array(labels), np.array(log_proba), np.array(upper_bound)
