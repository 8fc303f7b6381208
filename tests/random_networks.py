"""Small random dependency networks for tests, and distributions whose conditionals they can be made of."""

from dataclasses import replace

import numpy as np

from montechain.links.linear import FittedLinearLink
from montechain.network import DependencyNetwork
from random_chains import all_vectors, random_linear_chain


def random_linear_network(rng, n_labels, max_classes=2, scale=1.0, n_features=3, constant=()):
    """Return a label-linear network with random coefficients; its links need not belong to one distribution.

    Labels named in `constant` have a single class.
    """
    chain = random_linear_chain(rng, n_labels, max_classes, "none", scale, n_features)
    n_classes = [1 if k in constant else n for k, n in enumerate(chain.n_classes)]
    links = []
    for k, link in enumerate(chain.links):
        others = [n for j, n in enumerate(n_classes) if j != k]
        if n_classes[k] == 1:
            links.append(FittedLinearLink.constant(np.zeros(1), n_features, others))
            continue
        effects = tuple(scale * rng.normal(size=(n, len(link.intercept))) for n in others)
        links.append(replace(link, parent_effects=effects))
    return DependencyNetwork(links)


class HiddenLink:
    """A link that does not show that it is label-linear."""

    def __init__(self, link):
        self.link = link
        self.n_classes = link.n_classes
        self.n_rows_asked = 0

    def log_proba(self, X, parent_codes):
        self.n_rows_asked += len(parent_codes)
        return self.link.log_proba(X, parent_codes)


def as_generic(network):
    """Return the same network with its scores hidden."""
    return DependencyNetwork([HiddenLink(link) for link in network.links])


def pairwise_model(rng, n_classes, n_features=2, scale=1.0):
    """Return the links of p(y | x) ∝ exp(sum of u_k(x, y_k) + sum of V_jk(y_j, y_k)), and its probabilities.

    Its conditionals are softmax links, linear in the other labels: a network whose distribution is known.
    The second result maps X to the probabilities of all label vectors, of shape (n, number of vectors).
    """
    n_labels = len(n_classes)
    coef = [scale * rng.normal(size=(n_features, n)) for n in n_classes]
    own = [scale * rng.normal(size=n) for n in n_classes]
    pairs = {(j, k): scale * rng.normal(size=(n_classes[j], n_classes[k])) for k in range(n_labels) for j in range(k)}
    links = []
    for k, n in enumerate(n_classes):
        effects = [pairs[j, k] if j < k else pairs[k, j].T for j in range(n_labels) if j != k]
        if n == 2:  # one score: the log-odds of the second class
            arrays = [array[..., 1:] - array[..., :1] for array in (coef[k], own[k], *effects)]
        else:
            arrays = [coef[k], own[k], *effects]
        links.append(FittedLinearLink(n, arrays[0], arrays[1], tuple(arrays[2:])))

    def probabilities(X):
        vectors = all_vectors(n_classes)
        log_weight = np.zeros((len(X), len(vectors)))
        for k in range(n_labels):
            log_weight += (X @ coef[k] + own[k])[:, vectors[:, k]]
            for j in range(k):
                log_weight += pairs[j, k][vectors[:, j], vectors[:, k]]
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    return DependencyNetwork(links), probabilities
