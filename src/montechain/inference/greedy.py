"""Greedy inference: classifier chains as first published."""

from __future__ import annotations

import numpy as np

from montechain._kernels.joint import greedy
from montechain.inference.base import Inference
from montechain.inference.decision import Decision
from montechain.inference.sweep import sweep
from montechain.prefix_tree import PrefixTree

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
    >>> from montechain.chain import example_chain
    >>> decision = Greedy().most_probable(example_chain(), np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), float(np.exp(decision.log_proba[0]).round(2))
    ([[1, 1]], 0.49)
    """

    def __init__(self) -> None:
        pass

    def search(self, tree: PrefixTree, rng: np.random.Generator) -> Decision:  # noqa: D102
        if tree.scores is not None:
            labels, log_proba, bound = greedy(*tree.arrays)
        else:
            found = sweep(tree, width=1)
            labels, log_proba = found.vectors.labels, found.vectors.log_mass
            bound = np.maximum(log_proba, found.dropped)
        if not any(tree.chain.parents):  # the best class of each label makes the best vector
            bound = log_proba
        return Decision.most_probable(labels, log_proba, bound, given=tree.given)
