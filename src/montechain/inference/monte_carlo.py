"""Monte Carlo inference: Algorithm 3 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from montechain._compat import take_rows
from montechain._kernels.joint import conditionals, log_joint
from montechain._kernels.monte_carlo import drawn_vectors, monte_carlo
from montechain._kernels.ties import first_largest
from montechain._messages import check_positive_integer, nearest
from montechain.chain import ChainBase, PrefixTree, no_knowledge
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference._draws import Draws, draw_by_level
from montechain.inference._frontier import best_first
from montechain.inference.base import Decision, Inference, blocks, concatenated
from montechain.inference.greedy import greedy_paths
from montechain.links.linear import LinearScores
from montechain.losses import Hamming, Loss

__all__ = ["MonteCarlo"]

CELLS_AT_ONCE = 2**22
"""About so many numbers, those of all draws of some rows, are held in memory together."""

EXACT = 1e-12
"""Mass that may be missing from sums by rounding."""


class MonteCarlo(Inference):
    """Draw label vectors from p(y | x) and return the best.

    This is Algorithm 3 of Read, Martino and Luengo (2014), Section 5, with the same answer from the same
    draws. But the draws go through the tree of label prefixes together, so that a prefix which several
    share is evaluated once, and those whose prefix is no more probable than the best vector found are
    given up: this is how the search stops early. It says so, too. Every vector never drawn lies below a
    class that no draw entered; where none of these is more probable than the answer, the answer is
    certified. (This is at least as sharp as a comparison with the mass of all vectors not drawn.)

    Cost: at most ``n_samples`` conditionals per label and row, usually far fewer, since few prefixes can
    lead to a better vector. Exact for exact match in the rows that are certified. Other losses are
    minimised over all draws, at one conditional for each distinct prefix. For Hamming loss a row is
    certified where, for every label, the lead of the best class over the next one exceeds the
    probability of all vectors not drawn.

    Parameters
    ----------
    n_samples : int, default=100
        Number of draws. All rows use the same table of uniform numbers, and with more draws it has the
        same beginning: more draws never give a less probable answer.
    initial : {"greedy", "random"}, default="greedy"
        The start: the vector that `Greedy` finds, or the first draw. Only for exact match.
    decision : {"marginals", "best_sampled"}, default="marginals"
        For Hamming loss: decide each label by its own marginal, or return the draw with the largest sum
        of marginals (the paper's).

    Examples
    --------
    >>> import numpy as np
    >>> from montechain.chain import Chain
    >>> from montechain.inference.monte_carlo import MonteCarlo
    >>> from montechain.links.linear import FittedLinearLink
    >>> link = FittedLinearLink.constant(np.log([0.3, 0.7]), n_features=1, parents_n_classes=())
    >>> chain = Chain(order=[0, 1], parents=[(), ()], links=[link, link])
    >>> decision = MonteCarlo(n_samples=20).most_probable(chain, np.zeros((1, 1)), rng=np.random.default_rng(0))
    >>> decision.labels.tolist(), decision.certified.tolist()
    ([[1, 1]], [True])
    """

    is_sampling = True

    def __init__(self, n_samples: int = 100, initial: str = "greedy", decision: str = "marginals"):
        self.n_samples = n_samples
        self.initial = initial
        self.decision = decision

    def most_probable(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        uniforms = self._uniforms(chain, rng)
        start_greedy = self.initial == "greedy"
        scores = chain.scores(X)
        if scores is not None:
            known = no_knowledge(chain.n_labels) if given is None else given
            found = monte_carlo(*scores.arrays, known, uniforms, start_greedy)
            return Decision.most_probable(*found, given=given)
        tree = PrefixTree(chain, X, given)
        labels, log_proba, _, _ = greedy_paths(tree)
        if not start_greedy:
            log_proba = np.full(tree.n_rows, -np.inf)
        draws, unseen = draw_by_level(tree, uniforms, floor=log_proba)
        best = draws.best(log_proba)
        labels[draws.rows[best]], log_proba[draws.rows[best]] = draws.labels[best], draws.log_proba[best]
        return Decision.most_probable(labels, log_proba, np.maximum(log_proba, unseen), given=given)

    def distribution(  # noqa: D102
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> LabelDistribution:
        return _as_distribution(self._draw(chain, X, given, rng)[0])

    def marginals(
        self, chain: ChainBase, X: Any, *, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Marginals:
        """Return the probabilities of each label's classes as estimated from the draws.

        The vectors drawn and the mass of all others bound the error.
        """
        parts = [
            _marginals(chain, *self._draw(chain, rows, known, rng), known)
            for rows, known in self._blocks(chain, X, given, rng)
        ]
        proba, lower, unresolved = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        by_label = [[table[:, k, :n] for k, n in enumerate(chain.n_classes)] for table in (proba, lower)]
        unresolved_by_label = np.repeat(unresolved[:, None], chain.n_labels, axis=1)
        return Marginals(*by_label, unresolved_by_label, unresolved > 2 * EXACT)

    def decide(  # noqa: D102
        self, chain: ChainBase, X: Any, *, loss: Loss, given: np.ndarray | None = None, rng: np.random.Generator
    ) -> Decision:
        if loss.is_exact_match:
            return self.most_probable(chain, X, given=given, rng=rng)
        decide = self._decide_hamming if isinstance(loss, Hamming) else super().decide
        parts = [
            decide(chain, rows, loss=loss, given=known, rng=rng) for rows, known in self._blocks(chain, X, given, rng)
        ]
        return concatenated(parts)

    def _decide_hamming(
        self, chain: ChainBase, X: Any, *, loss: Loss, given: np.ndarray | None, rng: np.random.Generator
    ) -> Decision:
        draws, prepared = self._draw(chain, X, given, rng)
        marginals, _, _ = _marginals(chain, draws, prepared, given)
        proven_labels, proven = _proven_by_label(draws, chain.n_classes, given)
        if self.decision == "best_sampled":
            positions = np.arange(chain.n_labels)
            sums = marginals[draws.rows[:, None], positions, draws.labels].sum(axis=1)
            order, rank = best_first(draws.rows, sums)
            labels = draws.labels[order[rank == 0]]
            regret = np.ones(len(labels))
            proven &= (labels == proven_labels).all(axis=1)
        else:
            labels = first_largest(marginals).astype(draws.labels.dtype)
            labels = np.where(proven[:, None], proven_labels, labels)
            regret = np.ones(len(labels))
        chosen = np.take_along_axis(marginals, labels[:, :, None].astype(np.intp), axis=2)[:, :, 0]
        return Decision(
            labels=labels,
            log_proba=_log_joint(prepared, labels),
            upper_bound=np.zeros(len(labels)),
            expected_loss=1.0 - chosen.mean(axis=1),
            regret=np.where(proven, 0.0, regret),
            certified=proven,
        )

    def _blocks(
        self, chain: ChainBase, X: Any, given: np.ndarray | None, rng: np.random.Generator
    ) -> Iterator[tuple[Any, np.ndarray | None]]:
        """Yield some rows at a time, so few that their draws fit into memory; `rng` starts anew for each block."""
        state = rng.bit_generator.state
        self._uniforms(chain, rng)
        n_cells = int(self.n_samples) * chain.n_labels * max(chain.n_classes)
        for rows in blocks(X.shape[0], max(1, CELLS_AT_ONCE // n_cells)):
            rng.bit_generator.state = state
            yield take_rows(X, rows), None if given is None else given[rows]

    def _uniforms(self, chain: ChainBase, rng: np.random.Generator) -> np.ndarray:
        """Check the parameters and draw the table of uniform numbers."""
        n_samples = check_positive_integer(self, "n_samples", 100)
        for name, allowed in (("initial", ("greedy", "random")), ("decision", ("marginals", "best_sampled"))):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(
                    f"`{name}={value!r}` of MonteCarlo must be {allowed[0]!r} or {allowed[1]!r}"
                    f"{nearest(value, allowed) or '.'}"
                )
        return rng.random((n_samples, chain.n_labels))

    def _draw(
        self, chain: ChainBase, X: Any, given: np.ndarray | None, rng: np.random.Generator
    ) -> tuple[Draws, LinearScores | PrefixTree]:
        """Return the draws, and what they were made from."""
        uniforms = self._uniforms(chain, rng)
        scores = chain.scores(X)
        if scores is not None:
            known = no_knowledge(chain.n_labels) if given is None else given
            return Draws(*drawn_vectors(*scores.arrays, known, uniforms)), scores
        tree = PrefixTree(chain, X, given)
        return draw_by_level(tree, uniforms, np.full(X.shape[0], -np.inf))[0], tree


def _log_joint(prepared: LinearScores | PrefixTree, labels: np.ndarray) -> np.ndarray:
    """Return log p(y | x) of one label vector per row."""
    if isinstance(prepared, PrefixTree):
        return prepared.log_joint(np.arange(len(labels)), labels)
    return log_joint(*prepared.arrays, np.ascontiguousarray(labels))


def _as_distribution(draws: Draws) -> LabelDistribution:
    n_rows = len(draws.indptr) - 1
    return LabelDistribution(draws.indptr, draws.labels, draws.weights(), np.ones(n_rows), np.ones(n_rows, dtype=bool))


def _marginals(
    chain: ChainBase, draws: Draws, prepared: LinearScores | PrefixTree, given: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the estimated marginals and lower bounds, of shape (n, L, largest K), and what is open, of shape (n,).

    The vectors drawn count with their own probability. What is left is estimated by the mean of
    p(label | x, the labels before it) over the draws, which varies less than their frequencies and
    is exact for the first label. Known labels weigh the draws, and then it is the frequencies.

    With E the mass of the vectors drawn and F a bound on that of all others that agree with what is known, the
    true probability of a class with drawn mass a lies between a / (E + F) and (a + F) / (E + F).
    """
    is_free: np.ndarray = np.ones(len(draws.indptr) - 1, dtype=bool)
    if given is not None:
        is_free = np.asarray((given < 0).all(axis=1))
    seen, unseen = draws.mass_by_class(np.exp(draws.log_proba), chain.n_classes), draws.unseen_mass()
    total = draws.sum_by_row(np.exp(draws.log_proba)) + unseen
    lower, unresolved = seen / total[:, None, None], np.minimum(unseen / total + EXACT, 1.0)
    frequencies = draws.mass_by_class(draws.weights(), chain.n_classes)
    if not is_free.any():
        return frequencies, lower, unresolved
    if isinstance(prepared, PrefixTree):
        # Of rows in which something is known, this is not used.
        proba = np.zeros((len(draws.rows), chain.n_labels, max(chain.n_classes)))
        for k, n_classes in enumerate(chain.n_classes):
            proba[:, k, :n_classes] = np.exp(prepared.expand(draws.rows, draws.labels[:, :k]))
    else:
        proba = conditionals(*prepared.arrays, draws.rows, draws.labels)
    averaged = np.add.reduceat(proba * draws.weights()[:, None, None], draws.indptr[:-1], axis=0)
    return np.where(is_free[:, None, None], seen + unseen[:, None, None] * averaged, frequencies), lower, unresolved


def _proven_by_label(
    draws: Draws, n_classes: tuple[int, ...], given: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return each label's best class by the mass drawn, and whether no mass not drawn can change any of them."""
    mass = draws.mass_by_class(np.exp(draws.log_proba), n_classes)
    ranked = np.sort(mass, axis=2)
    lead = ranked[:, :, -1] - ranked[:, :, -2] if mass.shape[2] > 1 else ranked[:, :, -1]
    labels = first_largest(mass).astype(draws.labels.dtype)
    if given is not None:
        labels = np.where(given >= 0, given, labels)
        lead = np.where(given >= 0, np.inf, lead)
    proven: np.ndarray = np.all(lead > draws.unseen_mass()[:, None] + EXACT, axis=1)
    return labels, proven
