"""Branch and bound: exact, with a proof, or with a bound where the budget ends first."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from montechain._compat import take_rows
from montechain._kernels.branch_and_bound import most_probable as most_probable_kernel
from montechain._messages import check_positive_argument
from montechain.chain import ChainBase, no_knowledge
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import enumeration
from montechain.inference.base import Decision, Inference, TopK, blocks, concatenated
from montechain.losses import Hamming, Loss

__all__ = ["BranchAndBound"]

PATIENCE = 4000
"""Nodes after which a row goes from the plain depth-first search to the best-first one that looks ahead.

With logistic links, every test row of Scene, Yeast, Enron and TMC2007 is settled before (after 679 nodes at most). A
node of the second search looks at all later links and costs much more: on data of MediaMill's shape, a row took 40
microseconds in the mean with a patience of 1,000, and 5 with this one."""

INCUMBENT_WIDTH = 5
"""Width of the beam that gives the generic search its first vector; the same for all budgets, so that a larger
budget never has the larger upper bound."""

ROWS_AT_ONCE = 256
"""Rows whose enumerated vectors are held in memory together."""


class BranchAndBound(Inference):
    """The most probable label vector with a proof, and for other losses as many vectors as it takes.

    For exact match, a label-linear chain is searched depth-first, the most probable class first; a prefix is left
    when its probability falls to that of the best vector found. Rows that this does not settle are searched
    best-first with a tighter bound, from the interval in which each later score can still fall. Where the
    budget ends before the proof, the decision carries the best vector found and an upper bound
    on all others, which never rises with `max_nodes`. Chains with links of any kind are swept level by
    level, all rows together, in about 2 L calls of a link.

    For other losses, label vectors are enumerated from the most probable on, until the mass not seen is at most
    `residual`: that bounds the error of every marginal, of every expected loss in [0, 1] and the regret of the
    decision. Where the budget ends first, the open prefixes are sampled in proportion to their mass. Marginals of
    label-linear chains of binary labels, and with them Hamming loss, take fewer nodes: what a prefix that is left can
    change is bounded, and the middle between the bounds is within `residual`.

    Exact for exact match where certified; for Hamming, F1, Jaccard and any other loss within `residual`. With
    ``residual=0`` everything of positive probability is enumerated, as far as `max_nodes` reaches.

    The cost is the number of nodes, each of which is one evaluation of a link: a mean of 32 for Yeast
    (14 labels) and 77 for Enron (52 labels) for the most probable vector. The worst case is exponential in the
    number of labels, hence the budget.

    Parameters
    ----------
    max_nodes : int, default=20000
        Prefixes expanded per row, at most. The first vector is completed whatever this is.
    residual : float, default=0.01
        Mass, relative to what agrees with the known labels, that may stay unexplored, in [0, 1); also the largest
        proven error of a marginal.
    frontier_samples : int, default=1000
        Vectors drawn to stand for the unexplored mass where the budget ends first.

    References
    ----------
    .. [1] D. Mena, E. Montañés, J. R. Quevedo and J. J. del Coz, "A family of admissible heuristics for A* to
       perform inference in probabilistic classifier chains", Machine Learning 106, 2017. The bound used
       here follows their idea: a link that is linear in the labels is maximised over those still free.
    .. [2] K. Dembczyński, W. Waegeman and E. Hüllermeier, "An analysis of chaining in multi-label
       classification", ECAI 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference import BranchAndBound
    >>> from montechain.links.linear import SOFTMAX, FittedLinearLink
    >>> first = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([0.2]))
    >>> second = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([3.0]), (np.array([[0.0], [-3.0]]),))
    >>> chain = Chain([0, 1], [(), (0,)], [first, second])
    >>> decision = BranchAndBound().most_probable(chain, np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels, decision.certified
    (array([[0, 1]], dtype=int32), array([ True]))
    """

    def __init__(self, max_nodes: int = 20_000, residual: float = 0.01, frontier_samples: int = 1000):
        self.max_nodes = max_nodes
        self.residual = residual
        self.frontier_samples = frontier_samples

    def most_probable(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        self._check()
        scores = chain.scores(X)
        if scores is None:
            labels, log_proba, upper_bound = enumeration.sweep_for_best(
                chain, X, given, self.max_nodes, INCUMBENT_WIDTH
            )
        else:
            knowledge = no_knowledge(chain.n_labels) if given is None else given
            labels, log_proba, upper_bound, _ = most_probable_kernel(
                *scores.arrays, knowledge, max_nodes=self.max_nodes, patience=PATIENCE
            )
        return Decision.most_probable(labels, log_proba, upper_bound, given=given)

    def distribution(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> LabelDistribution:
        self._check()
        return enumeration.distribution(
            chain,
            X,
            given=given,
            residual=self.residual,
            max_nodes=self.max_nodes,
            n_samples=self.frontier_samples,
            rng=rng,
        )

    def decide(  # noqa: D102
        self, chain: ChainBase, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        if loss.is_exact_match:
            return self.most_probable(chain, X, given=given, rng=rng)
        if isinstance(loss, Hamming):
            return self._decide_hamming(chain, X, loss, given, rng)
        # A row can have as many vectors as the budget has nodes, so only some rows are held at a time. Each block
        # starts from the same state, so that the draws of a row do not depend on its place.
        state = rng.bit_generator.state
        parts = []
        for rows in blocks(X.shape[0], ROWS_AT_ONCE):
            rng.bit_generator.state = state
            part_given = None if given is None else given[rows]
            parts.append(super().decide(chain, take_rows(X, rows), loss=loss, given=part_given, rng=rng))
        return concatenated(parts)

    def _decide_hamming(
        self, chain: ChainBase, X: Any, loss: Hamming, given: np.ndarray | None, rng: np.random.Generator
    ) -> Decision:
        # The wrong side of a probability that is off by so much costs twice that.
        found = self._marginals(chain, X, given, rng, self.residual / 2.0)
        labels, expected_loss, regret = loss.decide_marginals(found.proba, found.unresolved, lower=found.lower)
        return Decision.least_loss(labels, chain.log_joint(X, labels), expected_loss, regret)

    def marginals(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Marginals:
        return self._marginals(chain, X, given, rng, self.residual)

    def _marginals(
        self, chain: ChainBase, X: Any, given: np.ndarray | None, rng: np.random.Generator, residual: float
    ) -> Marginals:
        self._check()
        return enumeration.marginals(
            chain,
            X,
            given=given,
            residual=residual,
            max_nodes=self.max_nodes,
            n_samples=self.frontier_samples,
            rng=rng,
        )

    def top_k(self, chain: ChainBase, X: Any, k: int, *, given: np.ndarray | None = None) -> TopK:  # noqa: D102
        self._check()
        return enumeration.top_k(chain, X, k, given=given, max_nodes=self.max_nodes)

    def _check(self) -> None:
        check_positive_argument("max_nodes", self.max_nodes, "BranchAndBound(max_nodes=20_000)")
        check_positive_argument("frontier_samples", self.frontier_samples, "BranchAndBound(frontier_samples=1000)")
        if not isinstance(self.residual, Real) or isinstance(self.residual, bool) or not 0.0 <= self.residual < 1.0:
            raise ValueError(
                f"`residual={self.residual!r}` is not a share of probability in [0, 1). "
                "Try `BranchAndBound(residual=0.01)`, or `residual=0` to enumerate everything."
            )
