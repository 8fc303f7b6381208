"""A known distribution of labels given inputs, and the best possible scores for it.

Plain numpy throughout: it shares no code with the chains it judges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import nearest

__all__ = ["BayesScores", "BestLabels", "ChainTruth", "draw", "log_softmax"]

MAX_VECTORS = 2**16
"""Maximum number of label vectors that are enumerated."""
CELLS_AT_ONCE = 2**22
"""Approximate number of probabilities or inputs held at a time."""


class BayesScores(NamedTuple):
    """The best possible scores, on average over labels drawn from the truth.

    Attributes
    ----------
    exact_match : float
        Of the most probable label vectors.
    hamming_score : float
        Of the most probable class of each label.
    joint_log_loss : float
        Mean entropy of the label vectors, in nats: the loss of the true probabilities.
    """

    exact_match: float
    hamming_score: float
    joint_log_loss: float


class BestLabels(NamedTuple):
    """Bayes-optimal labels, of shape (n, L), and their expected scores, of shape (n,)."""

    labels: np.ndarray
    expected_score: np.ndarray


@dataclass(frozen=True)
class ChainTruth:
    """The true p(y | x) of generated data: a chain of multinomial logistic models with known weights.

    The classes of a label are 0, 1, ...; class 0 has score 0, every other one is an *active class* with a
    score of ``intercept + x @ coef`` plus what the active classes of earlier labels add to it. The columns of
    the arrays are the active classes, label by label.

    Parameters
    ----------
    n_classes : tuple of int
        Number of classes of each label.
    order : tuple of int
        The label at each position of the chain; a label is influenced by those before it.
    coef : ndarray of shape (d, A)
    intercept : ndarray of shape (A,)
    effects : ndarray of shape (A, A)
        ``effects[b, a]`` is added to the score of active class a where active class b holds.

    Examples
    --------
    >>> from montechain.datasets.generators import make_chain_data
    >>> data = make_chain_data(n_rows=500, n_labels=4, random_state=0)
    >>> data.truth.log_joint(data.dataset.X, data.dataset.Y).shape
    (500,)
    >>> scores = data.truth.bayes_scores(data.dataset.X)
    >>> 0 < scores.exact_match < scores.hamming_score < 1
    True

    The same distribution as a chain, to search more labels than can be enumerated:

    >>> from montechain.chain import Chain
    >>> from montechain.links.linear import SOFTMAX, FittedLinearLink
    >>> links = [FittedLinearLink(response=SOFTMAX, **parts) for parts in data.truth.link_parameters()]
    >>> chain = Chain(data.truth.order, data.truth.parents, links)
    """

    n_classes: tuple[int, ...]
    order: tuple[int, ...]
    coef: np.ndarray
    intercept: np.ndarray
    effects: np.ndarray

    @property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """For each position, all positions before it."""
        return tuple(tuple(range(k)) for k in range(len(self.order)))

    @cached_property
    def active(self) -> list[slice]:
        """The columns of each label's active classes."""
        stops = np.cumsum(np.array(self.n_classes) - 1)
        return [slice(int(stop) - k + 1, int(stop)) for stop, k in zip(stops, self.n_classes, strict=True)]

    def walk(self, X: Any, choose: Callable[[int, np.ndarray], np.ndarray]) -> None:
        """Go through the labels in the order of the chain.

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        choose : callable
            Takes a label and the scores of its active classes, and returns the class of each row.
        """
        scores = _matrix(X) @ self.coef + self.intercept
        for label in self.order:
            columns = self.active[label]
            codes = choose(label, scores[:, columns])
            # Most labels of most rows are class 0, which adds nothing: only the others cost anything.
            for active, effects in enumerate(self.effects[columns], 1):
                changed = np.flatnonzero(effects)
                scores[np.ix_(codes == active, changed)] += effects[changed]

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x) for each row.

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        Y : array or data frame of shape (n, L)
        """
        given = np.asarray(Y)
        if given.shape != (X.shape[0], len(self.order)):
            raise ValueError(f"`Y` has the shape {given.shape}; ({X.shape[0]}, {len(self.order)}) was expected.")
        codes = given.astype(np.int64)
        wrong = (codes != given) | (codes < 0) | (codes >= np.array(self.n_classes))
        for row, label in np.argwhere(wrong)[:1]:
            classes = f"whose classes are 0 to {self.n_classes[label] - 1}"
            raise ValueError(f"`Y` holds {given[row, label]} in row {row}, label {label}, {classes}.")
        total = np.zeros(len(codes))

        def choose(label: int, scores: np.ndarray) -> np.ndarray:
            total[:] += np.take_along_axis(log_softmax(scores), codes[:, [label]], axis=1)[:, 0]
            return codes[:, label]

        self.walk(X, choose)
        return total

    def sample(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """Draw one label vector per row, of shape (n, L).

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        rng : numpy.random.Generator
        """
        labels = np.zeros((X.shape[0], len(self.order)), dtype=np.int64)
        uniforms = iter(np.asarray(rng.random(labels.shape)).T)

        def choose(label: int, scores: np.ndarray) -> np.ndarray:
            labels[:, label] = draw(scores, next(uniforms))
            return labels[:, label]

        self.walk(X, choose)
        return labels

    def marginals(self, X: Any) -> list[np.ndarray]:
        """Return p(label | x) for each label, of shape (n, K), by enumeration of all label vectors."""
        return self._enumerate(X, "marginals")[3:]

    def best(self, X: Any, loss: str = "exact_match") -> BestLabels:
        """Return the Bayes-optimal labels, by enumeration of all label vectors.

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        loss : {"exact_match", "hamming"}, default="exact_match"
            The most probable label vector, whose expected score is its probability; or the most probable class of
            each label, with the expected share of labels that are right.
        """
        losses = ("exact_match", "hamming")
        if loss not in losses:
            allowed = " or ".join(map(repr, losses))
            raise ValueError(f"`loss={loss!r}` is not {allowed}{nearest(str(loss), losses)}")
        vectors, proba, _, *marginals = self._enumerate(X, "best")
        if loss == "exact_match":
            return BestLabels(vectors, proba)
        labels = np.column_stack([marginal.argmax(axis=1) for marginal in marginals])
        return BestLabels(labels, np.mean([marginal.max(axis=1) for marginal in marginals], axis=0))

    def bayes_scores(self, X: Any) -> BayesScores:
        """Return the expected scores of the Bayes-optimal decisions for these inputs."""
        _, proba, entropy, *marginals = self._enumerate(X, "bayes_scores")
        hamming = np.mean([marginal.max(axis=1) for marginal in marginals])
        return BayesScores(float(proba.mean()), float(hamming), float(entropy.mean()))

    def link_parameters(self) -> Iterator[dict[str, Any]]:
        """Yield, for each position, the arguments of the label-linear link with a softmax that equals it."""
        for position, label in enumerate(self.order):
            columns = self.active[label]
            # A binary link has one score; any other has one for each class, the first of which is zero here.
            pad = ((0, 0), (0 if self.n_classes[label] == 2 else 1, 0))
            yield {
                "n_classes": self.n_classes[label],
                "coef": np.pad(self.coef[:, columns], pad),
                "intercept": np.pad(self.intercept[columns], pad[1]),
                "parent_effects": tuple(
                    np.pad(self._effects_of(other)[:, columns], pad) for other in self.order[:position]
                ),
            }

    def _effects_of(self, label: int) -> np.ndarray:
        """Return what each class of a label adds to all scores, of shape (K, A); class 0 adds nothing."""
        return np.pad(self.effects[self.active[label]], ((1, 0), (0, 0)))

    def _enumerate(self, X: Any, wanted: str) -> list[np.ndarray]:
        """Return, for each row, the most probable vector, its probability, the entropy, and then all marginals."""
        n_vectors = math.prod(self.n_classes)
        if n_vectors > MAX_VECTORS:
            raise ValueError(
                f"`{wanted}` would score every label vector, and {len(self.order)} labels have more than {MAX_VECTORS} "
                "of them. Search the same distribution instead: build a `montechain.chain.Chain` from "
                "`link_parameters()`, as the example of `ChainTruth` does, and use `BranchAndBound()`."
            )
        if not X.shape[0]:
            raise ValueError(f"`X` of `{wanted}` has no rows.")
        X = _matrix(X)
        step = max(1, CELLS_AT_ONCE // n_vectors)
        by_position = np.indices([self.n_classes[label] for label in self.order]).reshape(len(self.order), -1)
        vectors = by_position[np.argsort(self.order)].T  # the last label of the chain varies fastest
        parts = []
        for start in range(0, X.shape[0], step):
            base = X[start : start + step] @ self.coef + self.intercept
            table = np.zeros((len(base), 1))
            added = np.zeros((1, base.shape[1]))  # by each prefix, to all scores
            for label in self.order:
                columns = self.active[label]
                table = table[:, :, None] + log_softmax(base[:, None, columns] + added[:, columns])
                table = table.reshape(len(base), -1)
                added = (added[:, None] + self._effects_of(label)).reshape(-1, base.shape[1])
            proba = np.exp(table)
            marginals = [
                np.column_stack([proba[:, vectors[:, label] == c].sum(axis=1) for c in range(k)])
                for label, k in enumerate(self.n_classes)
            ]
            entropy = -(proba * table).sum(axis=1)
            parts.append([vectors[proba.argmax(axis=1)], proba.max(axis=1), entropy, *marginals])
        return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _matrix(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X)
    return X.to_numpy(dtype=np.float64) if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=np.float64)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return log-probabilities of all classes from the scores of all but the first, whose score is zero."""
    full = np.concatenate([np.zeros((*scores.shape[:-1], 1)), scores], axis=-1)
    full -= full.max(axis=-1, keepdims=True)
    return full - np.log(np.exp(full).sum(axis=-1, keepdims=True))


def draw(scores: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Return a class for each row, drawn from its scores."""
    cumulative = np.exp(log_softmax(scores)).cumsum(axis=1)[:, :-1]
    return (uniforms[:, None] >= cumulative).sum(axis=1)
