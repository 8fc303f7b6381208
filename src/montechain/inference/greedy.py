"""Greedy inference: classifier chains as first published."""

from __future__ import annotations

from typing import Any

import numpy as np

from montechain._kernels.greedy import greedy
from montechain._kernels.ties import first_largest
from montechain.chain import CODE, ChainBase, PrefixTree, no_knowledge
from montechain.inference.base import Decision, Inference

__all__ = ["Greedy"]


class Greedy(Inference):
    """Take the most probable class at every link, given the classes taken before.

    This is inference in CC (Read et al. 2011; Section 2.2 of Read, Martino and Luengo 2014). Of equally
    probable classes the first is taken.

    Cost: L conditionals per row. Not exact for any loss, unless no link has parents: then it is for
    exact match and Hamming loss. The classes not taken bound the probability of every other vector, so
    that a row whose greedy vector is provably the most probable one is certified.

    References
    ----------
    Read, Pfahringer, Holmes and Frank (2011). Classifier chains for multi-label classification.
    Machine Learning 85.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference.greedy import Greedy
    >>> from montechain.links.linear import FittedLinearLink
    >>> link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    >>> chain = Chain(order=[0, 1], parents=[(), ()], links=[link, link])
    >>> decision = Greedy().most_probable(chain, np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), float(np.exp(decision.log_proba[0]).round(2))
    ([[1, 1]], 0.49)
    """

    def __init__(self) -> None:
        pass

    def most_probable(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        scores = chain.scores(X)
        if scores is not None:
            found = greedy(*scores.arrays, no_knowledge(chain.n_labels) if given is None else given)
        else:
            found = greedy_paths(PrefixTree(chain, X, given))[:3]
        labels, log_proba, bound = found
        if not any(chain.parents):  # the best of each label is the best of all, whatever the bound of the path says
            bound = log_proba
        return Decision.most_probable(labels, log_proba, bound, given=given)


def greedy_paths(tree: PrefixTree) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the greedy vectors of all rows of a chain of any kind.

    Also their log-probabilities, upper bounds on every log-probability, and the part of the greedy
    log-probabilities that positions not known beforehand contribute.
    """
    rows = np.arange(tree.n_rows)
    labels = np.zeros((tree.n_rows, tree.chain.n_labels), dtype=CODE)
    log_proba, free_log = np.zeros(tree.n_rows), np.zeros(tree.n_rows)
    bound = np.full(tree.n_rows, -np.inf)
    for k in range(tree.chain.n_labels):
        children = tree.expand(rows, labels[:, :k])
        chosen = first_largest(children)
        free = np.ones(tree.n_rows, dtype=bool)
        if tree.given is not None:
            free = tree.given[:, k] < 0
            chosen = np.where(free, chosen, tree.given[:, k])
        taken = children[rows, chosen]
        others = np.where(np.arange(children.shape[1]) == chosen[:, None], -np.inf, children)
        bound = np.maximum(bound, log_proba + others.max(axis=1))
        labels[:, k] = chosen
        log_proba += taken
        free_log[free] += taken[free]
    return labels, log_proba, np.maximum(bound, log_proba), free_log
