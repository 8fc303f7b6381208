"""Distributions over the label vectors seen in training: label powersets, forests, frequencies.

Only vectors seen in training have a positive probability. Since there are few of them, every one is weighed: decisions
are exact and certified for exact match, Hamming loss and F1, and for any other loss as far as it is minimised exactly
over a known distribution.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from montechain._compat import check_method_params
from montechain._kernels.ties import on_grid
from montechain._rows import row_blocks, take_rows
from montechain._savable import require, savable
from montechain.distributions import LabelDistribution, Marginals
from montechain.inference import Decision, TopK
from montechain.joint import JointModel
from montechain.label_forest import LabelForest
from montechain.links import FittedLink
from montechain.losses import ExactMatch, Hamming
from montechain.targets import CODE, UNKNOWN

CELLS_AT_ONCE = 2**22
"""Approximate number of codes, those of all label vectors of some rows, held in memory together."""


@dataclass(eq=False, repr=False)
class SeenVectors(JointModel):
    """A distribution over the label vectors seen in training; a concrete model says how probable each is (`log_proba`).

    `vectors`, int32 of shape (V, L), are distinct; `counts` are the weighted numbers of their training rows. If no
    vector agrees with everything that is `given`, those nearest to it stand in, and nothing is certified.
    """

    vectors: np.ndarray
    counts: np.ndarray
    n_classes: Sequence[int]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.n_classes = tuple(int(k) for k in self.n_classes)

    def _check_loaded(self) -> None:
        n_classes = np.array(self.n_classes)
        require(self.vectors.shape == (len(self.counts), self.n_labels), "the numbers of vectors and counts differ")
        require(self.vectors.dtype.kind == "i" and self.counts.dtype == np.float64, "the vectors are not counted")
        require((self.vectors >= 0).all() and (self.vectors < n_classes).all(), "a vector holds a class out of range")

    @property
    def n_scores(self) -> int:  # type: ignore[override]
        """Number of vectors, which is the number of scores computed per row."""
        return len(self.vectors)

    @abstractmethod
    def log_proba(self, X: Any) -> np.ndarray:
        """Return log p(vector | x) of all vectors, of shape (n, V)."""

    def evaluated(self, X):  # noqa: D102
        return _Evaluated(self.vectors, self.counts, self.n_classes, self.log_proba(X))

    def log_joint(self, X, Y):  # noqa: D102
        return self._log_evidence(self.log_proba(X), Y)

    def log_joint_at(self, X, rows, vectors):  # noqa: D102
        # Vectors as strings of bytes, which can be sorted and looked up.
        kind = np.dtype((np.void, np.dtype(CODE).itemsize * self.n_labels))
        own, wanted = (np.ascontiguousarray(some, dtype=CODE).view(kind).ravel() for some in (self.vectors, vectors))
        order = np.argsort(own)
        number = order[np.minimum(np.searchsorted(own, wanted, sorter=order), len(own) - 1)]
        return np.where(own[number] == wanted, self.log_proba(X)[rows, number], -np.inf)

    def log_evidence(self, X, given, *, rng=None, residual=0.0):  # noqa: D102
        return self.log_joint(X, given), np.zeros(X.shape[0])

    def most_probable(self, X, *, given=None, rng=None):  # noqa: D102
        return self.decide(X, loss=ExactMatch(), given=given)

    def conditional_on_given(self, decision, X, given):  # noqa: D102
        return decision  # it is already

    def decide(self, X, *, loss, given=None, rng=None):  # noqa: D102
        log_proba = self.log_proba(X)
        weights, agrees = _posterior_weights(log_proba, self.vectors, self.counts, given)
        n_rows = len(weights)
        if loss.is_exact_match:
            best = weights.argmax(axis=1)
            expected_loss = np.maximum(1.0 - weights[np.arange(n_rows), best], 0.0)
            labels, regret = _put_in(self.vectors[best], given), np.zeros(n_rows)
        elif isinstance(loss, Hamming):
            labels, expected_loss, regret = loss.decide_marginals(self._marginals(weights, given), given)
        else:
            parts = []
            for rows in row_blocks(n_rows, max(1, CELLS_AT_ONCE // self.vectors.size)):
                known = None if given is None else given[rows]
                parts.append(loss.decide(self._weighted(weights[rows], known), given=known))
            labels, expected_loss, regret = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        found = self._log_evidence(log_proba, labels)
        bound = np.maximum(found, self._agreeing(log_proba, given).max(axis=1))
        # Where no vector agrees with what is given, there is nothing to prove.
        return Decision(labels, found, bound, expected_loss, regret, (regret <= 0.0) & agrees)

    def top_k(self, X, k, *, given=None):  # noqa: D102
        log_proba = self._agreeing(self.log_proba(X), given)
        best = np.argsort(-log_proba, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(log_proba, best, axis=1)
        labels = np.where(found[:, :, None] > -np.inf, self.vectors[best], CODE(UNKNOWN))
        return TopK(labels, found, np.ones(len(found), dtype=bool))

    def marginals(self, X, *, given=None, rng=None, loss=None):  # noqa: D102
        weights, _ = _posterior_weights(self.log_proba(X), self.vectors, self.counts, given)
        return self._marginals(weights, given)

    def distribution(self, X, *, given=None, rng=None, residual=None):  # noqa: D102
        weights, _ = _posterior_weights(self.log_proba(X), self.vectors, self.counts, given)
        return self._weighted(weights, given)

    def draw(self, X, n_samples, *, rng):  # noqa: D102
        return self.distribution(X).draw(rng.random((X.shape[0], n_samples)))

    def _marginals(self, weights: np.ndarray, given: np.ndarray | None) -> Marginals:
        shares = []
        for j, k in enumerate(self.n_classes):
            proba = on_grid(weights @ (self.vectors[:, j, None] == np.arange(k)).astype(np.float64))
            if given is not None:
                known = given[:, j] != UNKNOWN
                proba[known] = given[known, j, None] == np.arange(k)
            shares.append(proba)
        return Marginals.exact(shares)

    def _weighted(self, weights: np.ndarray, given: np.ndarray | None) -> LabelDistribution:
        rows, numbers = np.nonzero(weights)
        labels, nothing = _put_in(self.vectors[numbers], None if given is None else given[rows]), np.zeros(len(weights))
        return LabelDistribution.ragged(rows, labels, weights[rows, numbers], nothing, nothing > 0.0)

    def _log_evidence(self, log_proba: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the log-probability of the known labels in `codes`: minus infinity if no vector agrees with them."""
        # A sum over all vectors may be rounded to a little more than one.
        return np.minimum(logsumexp(self._agreeing(log_proba, codes), axis=1), 0.0)

    def _agreeing(self, log_proba: np.ndarray, given: np.ndarray | None) -> np.ndarray:
        """Return the log-probabilities of the vectors, minus infinity for those that contradict `given`."""
        if given is None:
            return log_proba
        agrees = _n_matches(self.vectors, given) == (given != UNKNOWN).sum(axis=1)[:, None]
        return np.where(agrees, log_proba, -np.inf)


@dataclass(eq=False, repr=False)
class _Evaluated(SeenVectors):
    """Probabilities of the vectors that are known already, for certain rows; X is ignored."""

    found: np.ndarray

    def log_proba(self, X):
        return self.found


@savable
class FrequencyModel(SeenVectors):
    """The frequencies of the vectors in training; x is ignored."""

    def log_proba(self, X):  # noqa: D102
        log_proba = np.log(self.counts / self.counts.sum())
        return np.broadcast_to(log_proba, (X.shape[0], len(log_proba)))


@savable
@dataclass(eq=False, repr=False)
class PowersetModel(SeenVectors):
    """One multi-class problem in which each vector is a class: `link` is the learned p(number of the vector | x)."""

    link: FittedLink

    def _check_loaded(self) -> None:
        super()._check_loaded()
        require(self.link.n_classes == len(self.counts), "the link has a different number of label vectors")

    def log_proba(self, X):  # noqa: D102
        return self.link.log_proba(X, np.empty((X.shape[0], 0), dtype=CODE))


@savable
@dataclass(eq=False, repr=False)
class ForestModel(SeenVectors):
    """The shares of the vectors in the leaves of a forest that x falls into."""

    forest: LabelForest

    def _check_loaded(self) -> None:
        super()._check_loaded()
        require(isinstance(self.forest, LabelForest), "the forest is not a LabelForest")
        require(self.forest.leaf_vectors.shape[1] == len(self.counts), "the leaves have other label vectors")

    def log_proba(self, X):  # noqa: D102
        with np.errstate(divide="ignore"):
            return np.log(self.forest.shares(X).toarray())


def count_vectors(codes: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct vectors in lexicographic order, the number of each row's vector, and weighted counts.

    >>> count_vectors(np.array([[1, 0], [0, 1], [1, 0]]), None)
    (array([[0, 1], [1, 0]]), array([1, 0, 1]), array([1., 2.]))
    """
    vectors, numbers = np.unique(codes, axis=0, return_inverse=True)
    numbers = numbers.ravel()
    return vectors, numbers, np.bincount(numbers, weights=weight, minlength=len(vectors)).astype(np.float64)


def informative_rows(X: Any, codes: np.ndarray, options: dict[str, Any]) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Return the rows that have a known label and a positive weight, with what else goes to a fit."""
    told = (codes != UNKNOWN).any(axis=1)
    if options.get("sample_weight") is not None:
        told &= options["sample_weight"] > 0.0
    if not told.any():
        raise ValueError("nothing to learn from: y has no known label in any row with a positive weight.")
    if told.all():
        return X, codes, options
    rows = np.flatnonzero(told)
    return take_rows(X, rows), codes[rows], check_method_params(X, options, rows)


def _posterior_weights(
    log_proba: np.ndarray, vectors: np.ndarray, counts: np.ndarray, given: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return p(vector | x, given) of all vectors, and in which rows some vector agrees with everything given.

    Where none does, those that agree with the most labels share the probability; where none of these has any
    probability, they share it by their frequency in training.

    >>> vectors, counts = np.array([[0, 0], [0, 1], [1, 0]]), np.array([2, 1, 1])
    >>> log_proba = np.log([[0.5, 0.3, 0.2]] * 2)
    >>> weights, agrees = _posterior_weights(log_proba, vectors, counts, np.array([[0, -1], [1, 1]]))
    >>> weights.round(3), agrees
    (array([[0.625, 0.375, 0.   ],
           [0.   , 0.6  , 0.4  ]]), array([ True, False]))
    """
    if given is None:
        return np.exp(log_proba), np.ones(len(log_proba), dtype=bool)
    matches = _n_matches(vectors, given)
    most = matches.max(axis=1)
    nearest = matches == most[:, None]
    logs = np.where(nearest, log_proba, -np.inf)
    impossible = np.isneginf(logs.max(axis=1))
    logs[impossible] = np.where(nearest[impossible], np.log(counts), -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), most == (given != UNKNOWN).sum(axis=1)


def _put_in(labels: np.ndarray, given: np.ndarray | None) -> np.ndarray:
    """Return the labels with the given classes inserted."""
    return labels if given is None else np.where(given == UNKNOWN, labels, given).astype(CODE)


def _n_matches(vectors: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return how many of the known labels of each row each vector agrees with, of shape (n, V)."""
    matches = np.zeros((len(given), len(vectors)), dtype=CODE)
    for j in np.flatnonzero((given != UNKNOWN).any(axis=0)):
        matches += given[:, j, None] == vectors[:, j]
    return matches
