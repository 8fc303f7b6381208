"""The dependency network: p(label | x, all other labels) for every label, and Gibbs sampling from these.

A dependency network has no order, so unlike a chain it has no joint probability either: its conditionals are learned
independently of each other and need not belong to one distribution. `NetworkModel` answers the queries of a joint model
that Gibbs sampling can answer. Everything is in codes, one column per label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from montechain._kernels.gibbs import gibbs as gibbs_kernel
from montechain._rows import take_rows
from montechain._savable import savable
from montechain.chain import Chain
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import Decision
from montechain.joint import JointModel
from montechain.links.base import UNKNOWN, FittedLink, LinkLearner, LinkProblem
from montechain.links.linear import FittedLinearLink, LinearScorer
from montechain.links.packing import check_parents, pack_links, unpack_links
from montechain.losses import Hamming, Loss, check_loss
from montechain.prefix_tree import draw_classes, no_knowledge
from montechain.targets import CODE

__all__ = ["DependencyNetwork", "NetworkModel"]

MAX_REMEMBERED = 2**18
"""Maximum number of cached conditionals of general classifiers in one call."""


@savable
class DependencyNetwork:
    """A learned dependency network.

    Parameters
    ----------
    links : sequence of fitted links
        One for each label; its parents are all other labels, in their order.

    Examples
    --------
    Two labels that attract each other:

    >>> import numpy as np
    >>> from montechain.network import DependencyNetwork
    >>> from montechain.links.linear import SOFTMAX, FittedLinearLink
    >>> link = FittedLinearLink(2, SOFTMAX, np.zeros((1, 1)), np.array([-2.0]), (np.array([[0.0], [4.0]]),))
    >>> network = DependencyNetwork([link, link])
    >>> uniforms = np.random.default_rng(0).random((1, 1000, 2))
    >>> labels, marginals = network.gibbs(np.zeros((1, 1)), uniforms, 1000)
    >>> bool((labels[0, :, 0] == labels[0, :, 1]).mean() > 0.8)
    True
    """

    def __init__(self, links: Sequence[FittedLink]):
        self.links = tuple(links)
        self.n_classes = tuple(int(link.n_classes) for link in self.links)
        linear = [link for link in self.links if isinstance(link, FittedLinearLink)]
        others = [_all_but(k, len(self.links)) for k in range(len(self.links))]
        self.scorer = LinearScorer(linear, others) if len(linear) == len(self.links) else None

    @classmethod
    def learn(
        cls,
        learner: LinkLearner,
        X: Any,
        codes: np.ndarray,
        n_classes: Sequence[int],
        *,
        seed: int = 0,
        on_link: Callable[[LinkProblem], None] | None = None,
        **options: Any,
    ) -> DependencyNetwork:
        """Learn the links of a network from codes, with `UNKNOWN` where a label is not known.

        A link is learned from the rows in which its own label is known. Where others are unknown, they are drawn, by
        `seed`, from a chain over the labels as they stand, which is learned first for this purpose, given those known
        labels that stand before them. `on_link` is called with each problem when its link is learned; the other options
        are those of `LinkLearner.fit_links`.
        """
        n_labels = len(n_classes)
        filled = codes
        rows = np.flatnonzero((codes == UNKNOWN).any(axis=1))
        if len(rows) and n_labels > 1:
            earlier = [tuple(range(label)) for label in range(n_labels)]
            chain = Chain.learn(learner, X, codes, n_classes, range(n_labels), earlier, seed=seed, **options)
            uniforms = np.random.default_rng([seed, n_labels]).random((len(rows), 1, n_labels))
            filled = codes.copy()
            filled[rows] = chain.sample(take_rows(X, rows), uniforms, codes[rows])[0][:, 0]
        problems = [LinkProblem(label, _all_but(label, n_labels)) for label in range(n_labels)]
        return cls(learner.fit_links(X, codes, filled, n_classes, problems, on_link=on_link, **options))

    def __getstate__(self) -> dict[str, Any]:
        """Return the network as a few arrays, for pickles and model files."""
        return {"links": pack_links(self.links)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the network anew; a ValueError says what does not fit together."""
        links = unpack_links(state["links"])
        if not links:
            raise ValueError("a network needs at least one label.")
        check_parents(links, [_all_but(k, len(links)) for k in range(len(links))])
        self.__init__(links)  # type: ignore[misc]

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_scores(self) -> int:
        """Number of label-linear scores of a row; 0 if some link is not label-linear."""
        return 0 if self.scorer is None else len(self.scorer.intercept)

    def gibbs(
        self,
        X: Any,
        uniforms: np.ndarray,
        n_collected: int,
        *,
        given: np.ndarray | None = None,
        average: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw every label anew, given all others, again and again.

        A sweep draws each label that is not known, in the order of the labels; the first sweep starts from the first
        class of each. Where links are not label-linear, a classifier is asked at most once per label and sweep (twice
        in those collected, if conditionals are averaged), for the rows whose other labels it has not seen before.

        Parameters
        ----------
        uniforms : ndarray of shape (n, T, L) or (1, T, L)
            Uniform numbers in [0, 1), one for each label of each of the T sweeps. With a first axis of length one, all
            rows share one table.
        n_collected : int
            How many sweeps, the last ones, are collected.
        average : bool
            Whether the marginals are the means of the conditionals, given the other labels of each vector collected;
            otherwise they are the shares of the classes in these vectors.

        Returns
        -------
        labels : int32 ndarray of shape (n, n_collected, L), the label vector after each sweep collected
        marginals : ndarray of shape (n, L, largest K)
        """
        if self.scorer is not None:
            known = no_knowledge(self.n_labels) if given is None else given
            return gibbs_kernel(*self.scorer.scores(X).arrays, known, uniforms, n_collected, average)
        n_rows, n_sweeps = X.shape[0], uniforms.shape[1]
        first_collected = n_sweeps - n_collected
        known = np.full((n_rows, self.n_labels), UNKNOWN, dtype=CODE) if given is None else given
        free = [np.flatnonzero(known[:, k] == UNKNOWN) for k in range(self.n_labels)]
        conditionals = [_Conditionals(self, k, X, MAX_REMEMBERED // self.n_labels) for k in range(self.n_labels)]
        state = np.maximum(known, 0).astype(CODE)
        labels = np.empty((n_rows, n_collected, self.n_labels), dtype=CODE)
        marginals = np.zeros((n_rows, self.n_labels, max(self.n_classes)))
        at = np.nonzero(known != UNKNOWN)
        marginals[(*at, known[at])] = n_collected
        for sweep in range(n_sweeps):
            for k, rows in enumerate(free):
                log_proba = conditionals[k].log_proba(rows, state)
                state[rows, k] = draw_classes(log_proba, np.broadcast_to(uniforms[:, sweep, k], n_rows)[rows])
            if sweep >= first_collected:
                labels[:, sweep - first_collected] = state
                for k, rows in enumerate(free):
                    if average:
                        marginals[rows, k, : self.n_classes[k]] += np.exp(conditionals[k].log_proba(rows, state))
                    else:
                        marginals[rows, k, state[rows, k]] += 1.0
        return labels, marginals / n_collected


class NetworkModel(JointModel):
    """A dependency network with Gibbs sampling, as far as it can act as a joint model.

    It has no joint probability: `log_joint`, `log_evidence` and `top_k` raise NotImplementedError, decisions have a
    log-probability of NaN, and nothing is certified. The first `n_before` sweeps, in which the start is forgotten, are
    left out, and the next `n_collected` count. Marginals are averaged conditionals if `average`, else shares of the
    vectors collected.
    """

    def __init__(self, network: DependencyNetwork, n_before: int, n_collected: int, average: bool = False):
        self.network = network
        self.n_before = n_before
        self.n_collected = n_collected
        self.average = average
        self.n_classes = network.n_classes
        self.n_scores = network.n_scores
        self.width = n_collected
        self.is_sampling = True

    def decide(self, X, *, loss, given=None, rng):  # noqa: D102
        if isinstance(loss, Hamming):
            found = self.marginals(X, given=given, rng=rng)
            labels, expected_loss, regret = loss.decide_marginals(found.proba, found.unresolved, given=given)
        else:
            labels, expected_loss, regret = loss.decide(self.distribution(X, given=given, rng=rng), given=given)
        nothing = np.full(len(labels), np.nan)
        return Decision(
            labels, nothing, np.zeros(len(labels)), expected_loss, regret, np.zeros(len(labels), dtype=bool)
        )

    def most_probable(self, X, *, given=None, rng):
        """Return the vectors collected most often."""
        classes = [np.arange(k) for k in self.n_classes]
        exact_match = check_loss("exact_match", classes=classes, order=range(self.n_labels))
        return self.decide(X, loss=exact_match, given=given, rng=rng)

    def marginals(self, X, *, given=None, rng, loss: Loss | None = None):  # noqa: D102
        _, shares = self._collect(X, given, rng)
        proba = [shares[:, k, :n] for k, n in enumerate(self.n_classes)]
        n_rows = len(shares)
        lower = [np.zeros_like(mass) for mass in proba]
        return Marginals(proba, lower, np.ones((n_rows, self.n_labels)), np.ones(n_rows, dtype=bool))

    def distribution(self, X, *, given=None, rng, residual=None):  # noqa: D102
        labels, _ = self._collect(X, given, rng)
        n_rows = len(labels)
        return LabelDistribution(
            indptr=np.arange(n_rows + 1) * self.n_collected,
            labels=labels.reshape(-1, self.n_labels),
            weights=np.full(n_rows * self.n_collected, 1.0 / self.n_collected),
            residual=np.ones(n_rows),
            estimated=np.ones(n_rows, dtype=bool),
        )

    def draw(self, X, n_samples, *, rng):
        """Return the vectors after successive sweeps.

        Rows are independent of each other. The draws of one row are not.
        """
        return self.sample(X, n_samples, rng=rng)

    def sample(self, X, n_samples, *, given=None, rng):  # noqa: D102
        # A stream for each row, so that its draws do not depend on how many rows are drawn at a time.
        shape = (self.n_before + n_samples, self.n_labels)
        uniforms = np.stack([stream.random(shape) for stream in rng.spawn(X.shape[0])])
        return self.network.gibbs(X, uniforms, n_samples, given=given)[0]

    def log_joint(self, X, Y):  # noqa: D102
        raise NotImplementedError(
            "a dependency network has no joint probability; use a chain, such as ChainClassifier()."
        )

    def log_evidence(self, X, given, *, rng, residual=0.0):  # noqa: D102
        return self.log_joint(X, given)

    def top_k(self, X, k, *, given=None):  # noqa: D102
        return self.log_joint(X, given)

    def _collect(self, X: Any, given: np.ndarray | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        # All rows share one table of draws, so that a prediction does not depend on the rows beside it.
        uniforms = rng.random((1, self.n_before + self.n_collected, self.n_labels))
        return self.network.gibbs(X, uniforms, self.n_collected, given=given, average=self.average)


class _Conditionals:
    """Cached p(label | x, all others) of a general classifier.

    From sweep to sweep most rows meet label vectors that they have met before, and asking the classifier again takes
    far longer than looking the answer up.
    """

    def __init__(self, network: DependencyNetwork, label: int, X: Any, n_most: int):
        self.link = network.links[label]
        self.others = np.array(_all_but(label, network.n_labels), dtype=np.intp)
        self.n_classes = network.n_classes[label]
        self.X = X
        self.n_most = n_most
        self.remembered: dict[Any, np.ndarray] = {}

    def log_proba(self, rows: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (m, K) for these rows; `state` holds a label vector for every row."""
        codes = state[np.ix_(rows, self.others)]
        table = np.column_stack([rows.astype(np.int64), codes])
        keys = np.ascontiguousarray(table).view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel().tolist()
        found = [self.remembered.get(key) for key in keys]
        new = [i for i, value in enumerate(found) if value is None]
        if new:
            X = self.X if len(new) == self.X.shape[0] else take_rows(self.X, rows[new])
            for i, value in zip(new, self.link.log_proba(X, codes[new]), strict=True):
                found[i] = value
                if len(self.remembered) < self.n_most:
                    self.remembered[keys[i]] = value
        return np.array(found).reshape(len(rows), self.n_classes)


def _all_but(label: int, n_labels: int) -> tuple[int, ...]:
    return (*range(label), *range(label + 1, n_labels))
