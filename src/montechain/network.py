"""The dependency network: p(label | x, all other labels) for every label, and Gibbs sampling from these.

A dependency network has no order, so unlike a chain it has no joint probability either: its conditionals are learned
independently of each other and need not belong to one distribution. It answers the queries of a joint model that Gibbs
sampling can answer. Everything is in codes, one column per label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from montechain._kernels.gibbs import gibbs as gibbs_kernel
from montechain._savable import require, savable
from montechain.chain import Chain
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import Decision
from montechain.joint import JointModel
from montechain.links.base import FittedLink, LinkLearner, LinkProblem, check_links
from montechain.links.linear import FittedLinearLink, LinearScorer
from montechain.losses import Hamming
from montechain.prefix_tree import PrefixTree, draw_classes, no_knowledge
from montechain.targets import CODE, UNKNOWN


@savable
class DependencyNetwork(JointModel):
    """A learned dependency network, as far as it can act as a joint model.

    `log_joint` and the methods that need it raise NotImplementedError, decisions have a log-probability of NaN, and
    nothing is certified. There is a link for each label, whose parents are all others, in their order. The first
    `n_before` sweeps are left out, since they depend on the start; the `n_collected` after them count.
    """

    is_sampling = True

    def __init__(self, links: Sequence[FittedLink], n_before: int = 0, n_collected: int = 100):
        self.links = tuple(links)
        self.n_before = n_before
        self.n_collected = self.width = n_collected
        self.n_classes = tuple(int(link.n_classes) for link in self.links)
        linear = [link for link in self.links if isinstance(link, FittedLinearLink)]
        others = [_all_but(k, len(self.links)) for k in range(len(self.links))]
        self.scorer = LinearScorer(linear, others) if len(linear) == len(self.links) else None
        self.n_scores = 0 if self.scorer is None else len(self.scorer.intercept)

    @classmethod
    def learn(
        cls, learner: LinkLearner, X: Any, codes: np.ndarray, n_classes: Sequence[int], *, seed: int = 0, **options: Any
    ) -> DependencyNetwork:
        """Learn the links of a network; labels that are unknown among the parents are drawn by `Chain.fill`.

        The parameters are those of `Chain.learn`.
        """
        n_labels, filled = len(n_classes), codes
        if (codes == UNKNOWN).any() and n_labels > 1:
            rng = np.random.default_rng([seed, n_labels])
            filled = Chain.fill(learner, X, codes, n_classes, rng, seed=seed, **options)
        problems = [LinkProblem(label, _all_but(label, n_labels)) for label in range(n_labels)]
        return cls(learner.fit_links(X, codes, filled, n_classes, problems, **options))

    def __getstate__(self) -> dict[str, Any]:
        return {"links": self.links}

    def __setstate__(self, state: dict[str, Any]) -> None:
        links = state["links"]
        require(links, "a network needs at least one label.")
        check_links(links, [_all_but(k, len(links)) for k in range(len(links))])
        self.__init__(links)  # type: ignore[misc]

    def gibbs(self, X: Any, uniforms: np.ndarray, n_collected: int, *, given: np.ndarray | None = None) -> np.ndarray:
        """Resample every label given all others, again and again; return the vectors of the last `n_collected` sweeps.

        A sweep draws each label that is not known, in the order of the labels; the first sweep starts from the first
        class of each. Where links are not label-linear, a classifier is called at most once per label and sweep, for
        the rows whose other labels are a new combination. `uniforms`, of shape (n, T, L), holds a number in [0, 1) for
        each label of each of the T sweeps; with a first axis of length one, all rows share one table.
        """
        if self.scorer is not None:
            known = no_knowledge(self.n_labels) if given is None else given
            return gibbs_kernel(*self.scorer.scores(X), known, uniforms, n_collected)
        n_rows, n_sweeps = X.shape[0], uniforms.shape[1]
        known = np.full((n_rows, self.n_labels), UNKNOWN, dtype=CODE) if given is None else given
        free = [np.flatnonzero(known[:, k] == UNKNOWN) for k in range(self.n_labels)]
        # From sweep to sweep most rows meet label vectors that they have met before: a tree caches what links answered.
        trees, parents = [], [*([()] * (self.n_labels - 1)), range(self.n_labels - 1)]
        for k in range(self.n_labels):
            order = (*_all_but(k, self.n_labels), k)  # only the last link of this chain is used
            trees.append(PrefixTree(Chain(order, parents, [self.links[j] for j in order]), X))
        state = np.maximum(known, 0).astype(CODE)
        labels = np.empty((n_rows, n_collected, self.n_labels), dtype=CODE)
        for sweep in range(n_sweeps):
            for k, rows in enumerate(free):
                log_proba = trees[k].expand(rows, np.delete(state[rows], k, axis=1))
                state[rows, k] = draw_classes(log_proba, np.broadcast_to(uniforms[:, sweep, k], n_rows)[rows])
            if sweep >= n_sweeps - n_collected:
                labels[:, sweep - n_sweeps] = state
        return labels

    def decide(self, X, *, loss, given=None, rng):  # noqa: D102
        if isinstance(loss, Hamming):
            best = loss.decide_marginals(self.marginals(X, given=given, rng=rng), given)
        else:
            best = loss.decide(self.distribution(X, given=given, rng=rng), given=given)
        nothing = np.full(X.shape[0], np.nan)
        return Decision(best[0], nothing, np.zeros(X.shape[0]), *best[1:], np.zeros(X.shape[0], dtype=bool))

    def marginals(self, X, *, given=None, rng, loss=None):
        """Return the shares of the classes in the vectors collected."""
        labels = self._collect(X, given, rng)
        # A product counts several times as fast as a sum over the middle axis.
        ones = np.ones(self.n_collected, dtype=np.float32)
        counts = np.stack([ones @ (labels == c) for c in range(max(self.n_classes))], axis=2).astype(np.float64)
        proba = [counts[:, k, :n] / self.n_collected for k, n in enumerate(self.n_classes)]
        lower = [np.zeros_like(mass) for mass in proba]
        return Marginals(proba, lower, np.ones((len(labels), self.n_labels)), np.ones(len(labels), dtype=bool))

    def distribution(self, X, *, given=None, rng, residual=None):  # noqa: D102
        labels = self._collect(X, given, rng)
        indptr, one = np.arange(len(labels) + 1) * self.n_collected, np.ones(len(labels))
        weights = np.full(indptr[-1], 1.0 / self.n_collected)
        return LabelDistribution(indptr, labels.reshape(-1, self.n_labels), weights, one, one > 0.0)

    def sample(self, X, n_samples, *, given=None, rng):
        """Return the vectors after successive sweeps: rows are independent, the draws of one row are not."""
        # A stream for each row, so that its draws do not depend on how many rows are drawn at a time.
        shape = (self.n_before + n_samples, self.n_labels)
        uniforms = np.stack([stream.random(shape) for stream in rng.spawn(X.shape[0])])
        return self.gibbs(X, uniforms, n_samples, given=given)

    draw = sample

    def log_joint(self, X, *arguments, **options):
        """Raise an error: a network has no joint probability."""
        raise NotImplementedError("a dependency network has no joint probability; use a chain.")

    log_evidence = most_probable = top_k = log_joint

    def _collect(self, X: Any, given: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        # All rows share one table of draws, so that a prediction does not depend on the rows beside it.
        uniforms = rng.random((1, self.n_before + self.n_collected, self.n_labels))
        return self.gibbs(X, uniforms, self.n_collected, given=given)


def _all_but(label: int, n_labels: int) -> tuple[int, ...]:
    return (*range(label), *range(label + 1, n_labels))
