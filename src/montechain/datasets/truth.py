"""A known distribution of labels given inputs, and the best possible scores for it.

Plain numpy throughout: it shares no code with the chains it judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from montechain._messages import nearest

__all__ = ["BayesScores", "BestLabels", "ChainTruth", "log_softmax"]

MAX_VECTORS = 2**16
"""Maximum number of label vectors that are enumerated."""
CELLS_AT_ONCE = 2**22
"""Approximate number of probabilities or scores held at a time."""
LOSSES = ("exact_match", "hamming")


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
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.n_classes)

    @property
    def n_vectors(self) -> int:
        """Number of label vectors."""
        return math.prod(self.n_classes)

    @property
    def parents(self) -> tuple[tuple[int, ...], ...]:
        """For each position, all positions before it."""
        return tuple(tuple(range(k)) for k in range(self.n_labels))

    def active(self, label: int) -> slice:
        """Return the columns of a label's active classes."""
        return self._active[label]

    def effect_of(self, label: int) -> np.ndarray:
        """Return what each class of a label adds to all scores, of shape (K, A); class 0 adds nothing."""
        return np.pad(self.effects[self._active[label]], ((1, 0), (0, 0)))

    @cached_property
    def _active(self) -> list[slice]:
        stops = np.cumsum(np.array(self.n_classes) - 1)
        return [slice(int(stop) - k + 1, int(stop)) for stop, k in zip(stops, self.n_classes, strict=True)]

    def conditional(self, X: Any, Y: Any, label: int) -> np.ndarray:
        """Return log p(label | x, the labels before it in the chain), of shape (n, K).

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        Y : array or data frame of shape (n, L)
            Only the columns of labels that stand before `label` in `order` matter.
        label : int
        """
        columns = self._active[label]
        before = self.order[: self.order.index(label)]
        scores = _matrix(X) @ self.coef[:, columns] + self.intercept[columns]
        codes = np.asarray(Y)
        for other in before:
            scores += self.effect_of(other)[:, columns][codes[:, other].astype(np.int64)]
        return log_softmax(scores)

    def log_joint(self, X: Any, Y: Any) -> np.ndarray:
        """Return log p(y | x) for each row.

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        Y : array or data frame of shape (n, L)
        """
        X = _matrix(X)
        codes = self._check_labels(Y, X.shape[0])
        total = np.zeros(len(codes))
        for rows in self._blocks(len(codes), len(self.intercept)):
            # Nothing is added from a later label to an earlier one, so all labels can be scored at once.
            scores = X[rows] @ self.coef + self.intercept + self._indicators(codes[rows]) @ self.effects
            picked = np.arange(rows.stop - rows.start)
            for label, columns in enumerate(self._active):
                total[rows] += log_softmax(scores[:, columns])[picked, codes[rows, label]]
        return total

    def sample(self, X: Any, rng: np.random.Generator) -> np.ndarray:
        """Draw one label vector per row, of shape (n, L).

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        rng : numpy.random.Generator
        """
        X = _matrix(X)
        labels = np.zeros((X.shape[0], self.n_labels), dtype=np.int64)
        for rows in self._blocks(X.shape[0], len(self.intercept)):
            uniforms = rng.random((rows.stop - rows.start, self.n_labels))
            scores = X[rows] @ self.coef + self.intercept
            for position, label in enumerate(self.order):
                labels[rows, label] = self.draw(scores, label, uniforms[:, position])
        return labels

    def draw(self, scores: np.ndarray, label: int, uniforms: np.ndarray) -> np.ndarray:
        """Draw the classes of one label, and add their effects to the scores of later labels, in place.

        Parameters
        ----------
        scores : ndarray of shape (n, A)
        label : int
        uniforms : ndarray of shape (n,)
        """
        columns = self.active(label)
        cumulative = np.exp(log_softmax(scores[:, columns])).cumsum(axis=1)[:, :-1]
        drawn = (uniforms[:, None] >= cumulative).sum(axis=1)
        for active in range(columns.start, columns.stop):
            # Most labels of most rows are class 0, which adds nothing: only the others cost anything.
            holds = np.flatnonzero(drawn == active - columns.start + 1)
            changed = np.flatnonzero(self.effects[active])
            scores[np.ix_(holds, changed)] += self.effects[active, changed]
        return drawn

    def marginals(self, X: Any) -> list[np.ndarray]:
        """Return p(label | x) for each label, of shape (n, K), by enumeration of all label vectors."""
        parts = [self._marginals_of(proba) for _, proba in self._tables(X, "marginals")]
        return [np.concatenate([part[label] for part in parts]) for label in range(self.n_labels)]

    def best(self, X: Any, loss: str = "exact_match") -> BestLabels:
        """Return the Bayes-optimal labels, by enumeration of all label vectors.

        Parameters
        ----------
        X : array, CSR array or data frame of shape (n, d)
        loss : {"exact_match", "hamming"}, default="exact_match"
            The most probable label vector, whose expected score is its probability; or the most probable class of
            each label, with the expected share of labels that are right.
        """
        if loss not in LOSSES:
            allowed = " or ".join(repr(name) for name in LOSSES)
            raise ValueError(f"`loss={loss!r}` is not {allowed}{nearest(str(loss), LOSSES)}")
        parts = [self._best_of(proba, loss) for _, proba in self._tables(X, "best")]
        return BestLabels(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def bayes_scores(self, X: Any) -> BayesScores:
        """Return the expected scores of the Bayes-optimal decisions for these inputs."""
        sums = np.zeros(3)
        n_rows = 0
        for log_proba, proba in self._tables(X, "bayes_scores"):
            n_rows += len(proba)
            sums[0] += self._best_of(proba, "exact_match").expected_score.sum()
            sums[1] += self._best_of(proba, "hamming").expected_score.sum()
            sums[2] -= (proba * log_proba).sum()
        return BayesScores(*(float(total) / n_rows for total in sums))

    def link_parameters(self) -> Iterator[dict[str, Any]]:
        """Yield, for each position, the arguments of the label-linear link with a softmax that equals it."""
        for position, label in enumerate(self.order):
            columns = self._active[label]
            # A binary link has one score; any other has one for each class, the first of which is zero here.
            pad = ((0, 0), (0 if self.n_classes[label] == 2 else 1, 0))
            yield {
                "n_classes": self.n_classes[label],
                "coef": np.pad(self.coef[:, columns], pad),
                "intercept": np.pad(self.intercept[columns], pad[1]),
                "parent_effects": tuple(
                    np.pad(self.effect_of(other)[:, columns], pad) for other in self.order[:position]
                ),
            }

    def _indicators(self, codes: np.ndarray) -> np.ndarray:
        """Return which active classes hold, of shape (n, A)."""
        holds = np.zeros((len(codes), len(self.intercept)))
        rows, labels = np.nonzero(codes)
        holds[rows, np.array([columns.start for columns in self._active])[labels] + codes[rows, labels] - 1] = 1.0
        return holds

    def _check_labels(self, Y: Any, n_rows: int) -> np.ndarray:
        given = np.asarray(Y)
        if given.shape != (n_rows, self.n_labels):
            raise ValueError(f"`Y` has the shape {given.shape}; ({n_rows}, {self.n_labels}) was expected.")
        codes = given.astype(np.int64)
        wrong = (codes != given) | (codes < 0) | (codes >= np.array(self.n_classes))
        for row, label in np.argwhere(wrong)[:1]:
            raise ValueError(
                f"`Y` holds {given[row, label]} in row {row}, label {label}, "
                f"whose classes are 0 to {self.n_classes[label] - 1}."
            )
        return codes

    @cached_property
    def _vectors(self) -> np.ndarray:
        """All label vectors, of shape (number of vectors, L); the last label of the chain varies fastest."""
        by_position = np.indices([self.n_classes[label] for label in self.order]).reshape(self.n_labels, -1)
        return by_position[np.argsort(self.order)].T

    def _tables(self, X: Any, wanted: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield log p(y | x) and p(y | x) for blocks of rows, of shape (rows, number of vectors)."""
        if self.n_vectors > MAX_VECTORS:
            raise ValueError(
                f"`{wanted}` would score every label vector, and {self.n_labels} labels have more than {MAX_VECTORS} "
                "of them. Search the same distribution instead: build a `montechain.chain.Chain` from "
                "`link_parameters()`, as the example of `ChainTruth` does, and use `BranchAndBound()`."
            )
        X = _matrix(X)
        if not X.shape[0]:
            raise ValueError(f"`X` of `{wanted}` has no rows.")
        for rows in self._blocks(X.shape[0], self.n_vectors):
            log_proba = self._log_table(X[rows] @ self.coef + self.intercept)
            yield log_proba, np.exp(log_proba)

    def _log_table(self, base: np.ndarray) -> np.ndarray:
        """Return log p(y | x) of all vectors, growing the prefixes label by label."""
        table = np.zeros((len(base), 1))
        added = np.zeros((1, len(self.intercept)))  # by each prefix, to all scores
        for label in self.order:
            columns = self._active[label]
            log_proba = log_softmax(base[:, None, columns] + added[:, columns])
            table = (table[:, :, None] + log_proba).reshape(len(base), -1)
            added = (added[:, None] + self.effect_of(label)).reshape(-1, added.shape[1])
        return table

    def _marginals_of(self, proba: np.ndarray) -> list[np.ndarray]:
        return [
            np.column_stack([proba[:, self._vectors[:, label] == c].sum(axis=1) for c in range(self.n_classes[label])])
            for label in range(self.n_labels)
        ]

    def _best_of(self, proba: np.ndarray, loss: str) -> BestLabels:
        if loss == "exact_match":
            best = proba.argmax(axis=1)
            return BestLabels(self._vectors[best], proba[np.arange(len(proba)), best])
        marginals = self._marginals_of(proba)
        labels = np.column_stack([marginal.argmax(axis=1) for marginal in marginals])
        return BestLabels(labels, np.mean([marginal.max(axis=1) for marginal in marginals], axis=0))

    @staticmethod
    def _blocks(n_rows: int, cells_per_row: int) -> Iterator[slice]:
        step = max(1, CELLS_AT_ONCE // max(1, cells_per_row))
        return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _matrix(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X)
    return X.to_numpy(dtype=np.float64) if isinstance(X, pd.DataFrame) else np.asarray(X, dtype=np.float64)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return log-probabilities of all classes from the scores of all but the first, whose score is zero."""
    full = np.concatenate([np.zeros((*scores.shape[:-1], 1)), scores], axis=-1)
    full -= full.max(axis=-1, keepdims=True)
    return full - np.log(np.exp(full).sum(axis=-1, keepdims=True))
