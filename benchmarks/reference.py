"""Slow and obvious: enumerate all label vectors of a chain of binary labels, in numpy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from montechain.chain import Chain
from montechain.links.linear import FittedLinearLink


class Enumerated:
    """A chain of binary labels, in the given order, small enough to hold all vectors in memory.

    Parameters
    ----------
    chain : Chain
    """

    def __init__(self, chain: Chain):
        links = [link for link in chain.links if isinstance(link, FittedLinearLink) and link.n_classes == 2]
        assert len(links) == len(chain.links)
        assert chain.order == tuple(range(len(links)))
        self.n_labels = len(links)
        self.coef = np.hstack([link.coef for link in links])
        self.intercept = np.concatenate([link.intercept for link in links])
        # effects[j, k] is what label j adds to the log-odds of label k.
        self.effects = np.zeros((self.n_labels, self.n_labels))
        for k, (link, parents) in enumerate(zip(links, chain.parents, strict=True)):
            for j, effect in zip(parents, link.parent_effects, strict=True):
                self.intercept[k] += effect[0, 0]
                self.effects[j, k] = effect[1, 0] - effect[0, 0]

    def scores(self, X: Any) -> np.ndarray:
        """Return x's part of the log-odds, of shape (n, L)."""
        return X @ self.coef + self.intercept

    def most_probable(self, X: Any) -> np.ndarray:
        """Return the best vector of each row as a plain PCC does: the probabilities of all vectors, and the best."""
        vectors = np.array(list(product([0, 1], repeat=self.n_labels)))
        of_labels = vectors @ self.effects
        signs = 2 * vectors - 1
        best = np.empty((X.shape[0], self.n_labels), dtype=int)
        for row, scores in enumerate(self.scores(X)):
            best[row] = vectors[np.logaddexp(0.0, -signs * (scores + of_labels)).sum(axis=1).argmin()]
        return best

    def marginals(self, X: Any) -> np.ndarray:
        """Return p(label = 1 | x), of shape (n, L): the mass of all prefixes that end in this label being one."""
        scores = self.scores(X)
        marginals = np.empty(scores.shape)
        for row in range(len(scores)):
            mass = np.ones(1)
            for k in range(self.n_labels):
                added = np.zeros(1)
                for effect in self.effects[:k, k]:
                    added = np.add.outer(added, [0.0, effect]).ravel()
                proba = 1.0 / (1.0 + np.exp(-(scores[row, k] + added)))
                mass = np.column_stack([mass * (1.0 - proba), mass * proba])
                marginals[row, k] = mass[:, 1].sum()
                mass = mass.ravel()
        return marginals
