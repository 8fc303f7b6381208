"""Probabilities of complete label vectors, draws of them, and the greedy one."""

from __future__ import annotations

import numpy as np

from montechain._kernels.compiling import njit
from montechain._kernels.conditional import activate, draw_class, expand, most_probable_class, new_path


def log_joint(base, links, Y):
    """Return log p(y | x) for each row; `Y` (int32, (n, L)) holds one complete label vector per row."""
    return sample(base, links, Y, np.zeros((1, 1, Y.shape[1])))[1][:, 0]


@njit
def sample(base, links, given, uniforms):
    """Draw label vectors, link by link; see `montechain.prefix_tree.ChainBase.sample`.

    Parameters
    ----------
    base, links
        See `montechain.links.linear.LinearScores`.
    given : int32 ndarray of shape (n, L) or (0, L)
        Known classes, -1 elsewhere; no rows if nothing is known.
    uniforms : ndarray of shape (n, S, L) or (1, S, L)
        Uniform numbers in [0, 1).

    Returns
    -------
    labels : int32 ndarray of shape (n, S, L)
    log_weight : ndarray of shape (n, S)
        Sum of the log-probabilities of the known classes along each draw.
    """
    n_samples, n_labels = uniforms.shape[1:]
    n_classes = links.n_classes
    active, scores, log_proba = new_path(links)
    labels = np.empty((len(base), n_samples, n_labels), dtype=np.int32)
    log_weight = np.zeros((len(base), n_samples))
    for i in range(len(base)):
        base_row, table = base[i], i if uniforms.shape[0] > 1 else 0
        for s in range(n_samples):
            n_active = 0
            for k in range(n_labels):
                expand(base_row, links, k, active, n_active, scores, log_proba)
                c = given[i, k] if len(given) else -1
                if c >= 0:
                    log_weight[i, s] += log_proba[c]
                else:
                    c = draw_class(log_proba, n_classes[k], uniforms[table, s, k])
                labels[i, s, k] = c
                n_active = activate(links, k, c, active, n_active)
    return labels, log_weight


@njit
def greedy(base, links, given):
    """Return labels (n, L), their log-probability (n,) and an upper bound (n,) on every log-probability.

    A vector that is not the greedy one leaves the path at some position, so that it lies below a class
    that was not taken there: the most probable of these prefixes bounds them all.
    """
    n_classes = links.n_classes
    n_labels = len(n_classes)
    labels = np.empty((len(base), n_labels), dtype=np.int32)
    log_proba, upper_bound = np.zeros(len(base)), np.empty(len(base))
    active, scores, children = new_path(links)
    for i in range(len(base)):
        base_row = base[i]
        n_active = 0
        bound = -np.inf
        for k in range(n_labels):
            known = given[i, k] if len(given) else -1
            expand(base_row, links, k, active, n_active, scores, children)
            chosen = most_probable_class(children, n_classes[k], known)
            if known < 0:
                for c in range(n_classes[k]):
                    if c != chosen:
                        bound = max(bound, log_proba[i] + children[c])
            log_proba[i] += children[chosen]
            labels[i, k] = chosen
            n_active = activate(links, k, chosen, active, n_active)
        upper_bound[i] = max(bound, log_proba[i])
    return labels, log_proba, upper_bound
