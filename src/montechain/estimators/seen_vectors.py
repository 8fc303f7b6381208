"""Distributions over the label vectors seen in training: what LP and RF-PCT have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from montechain.distributions import LabelDistribution, Marginals
from montechain.estimators.joint import JointClassifier
from montechain.inference import Decision, TopK
from montechain.inference.base import blocks
from montechain.losses import Hamming
from montechain.targets import CODE, UNKNOWN, TargetCodec

__all__ = [
    "SeenVectorsClassifier",
    "commonest_classes",
    "conditional_weights",
    "informative",
    "log_evidence",
    "marginals_of",
    "overwrite",
]

CELLS_AT_ONCE = 2**22
"""About so many codes, those of all label vectors of some rows, are held in memory together."""


class SeenVectorsClassifier(JointClassifier):
    """Base class of classifiers that share out all probability among the label vectors seen in training.

    Since there are few of these, all of them are weighed: every decision is exact and certified for exact match,
    Hamming loss and F1, and for any other loss as far as it is minimised exactly over a known distribution. A label
    vector never seen has probability zero.

    A subclass sets `vector_codes_` and `vector_counts_` and says how probable each vector is for x.
    """

    # There is one thing to learn: no progress to print.
    verbose = False

    vector_codes_: np.ndarray
    vector_counts_: np.ndarray

    @property
    def vectors_(self) -> np.ndarray:
        """The label vectors seen in training, of shape (V, L), in the user's classes."""
        return TargetCodec(self._classes).decode(self.vector_codes_)

    @abstractmethod
    def _log_proba_of_vectors(self, rows: Any) -> np.ndarray:
        """Return log p(vector | x) of all vectors, of shape (n, V)."""

    def _check_choices(self) -> None:
        """There is nothing to choose: all vectors are weighed."""

    def _decide_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Decision:
        loss = self._bound_loss(np.arange(len(self._classes)))
        log_proba = self._log_proba_of_vectors(rows)
        weights, agrees = conditional_weights(log_proba, self.vector_codes_, self.vector_counts_, known)
        if loss.is_exact_match:
            best = weights.argmax(axis=1)
            labels = overwrite(self.vector_codes_[best], known)
            expected_loss = np.maximum(1.0 - weights[np.arange(len(best)), best], 0.0)
            regret = np.zeros(len(labels))
        elif isinstance(loss, Hamming):
            marginals = self._marginals(rows, known, weights)
            exact = np.zeros((len(weights), len(marginals)))
            labels, expected_loss, regret = loss.decide_marginals(marginals, exact, given=known)
        else:
            parts = []
            for block in blocks(len(weights), max(1, CELLS_AT_ONCE // self.vector_codes_.size)):
                own = None if known is None else known[block]
                parts.append(loss.decide(self._as_distribution(weights[block], own), given=own))
            labels, expected_loss, regret = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        found = log_evidence(log_proba, self.vector_codes_, labels)
        if known is None:
            bound = log_proba.max(axis=1)
        else:
            bound = np.where(_agreement(self.vector_codes_, known), log_proba, -np.inf).max(axis=1)
        # Where no vector seen agrees with what is given, there is nothing that could be proven.
        return Decision(labels, found, np.maximum(found, bound), expected_loss, regret, (regret <= 0.0) & agrees)

    def _marginals_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> Marginals:
        return Marginals.exact(self._marginals(rows, known))

    def _marginals(self, rows: Any, known: np.ndarray | None, weights: np.ndarray | None = None) -> list[np.ndarray]:
        """Return the marginals; `weights`, those of the vectors, are computed if they are not given."""
        if weights is None:
            weights = self._weights(rows, known)
        return marginals_of(weights, self.vector_codes_, [len(classes) for classes in self._classes], known)

    def _weights(self, rows: Any, known: np.ndarray | None) -> np.ndarray:
        log_proba = self._log_proba_of_vectors(rows)
        return conditional_weights(log_proba, self.vector_codes_, self.vector_counts_, known)[0]

    def _top_k_of_rows(self, rows: Any, k: int, known: np.ndarray | None) -> TopK:
        log_proba = self._log_proba_of_vectors(rows)
        if known is not None:
            log_proba = np.where(_agreement(self.vector_codes_, known), log_proba, -np.inf)
        best = np.argsort(-log_proba, axis=1, kind="stable")[:, :k]
        found = np.take_along_axis(log_proba, best, axis=1)
        labels = np.where(found[:, :, None] > -np.inf, self.vector_codes_[best], CODE(UNKNOWN))
        return TopK(labels, found, np.ones(len(found), dtype=bool))

    def _log_joint_of_rows(self, rows: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return log_evidence(self._log_proba_of_vectors(rows), self.vector_codes_, codes)

    def _sample_of_rows(self, rows: Any, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        uniforms = rng.random((rows.shape[0], n_samples))
        return self._distribution_of_rows(rows, None, rng).draw(uniforms)

    def _distribution_of_rows(self, rows: Any, known: np.ndarray | None, rng: np.random.Generator) -> LabelDistribution:
        return self._as_distribution(self._weights(rows, known), known)

    def _as_distribution(self, weights: np.ndarray, known: np.ndarray | None) -> LabelDistribution:
        rows, vectors = np.nonzero(weights)
        return LabelDistribution(
            indptr=np.r_[0, np.cumsum(np.bincount(rows, minlength=len(weights)))],
            labels=overwrite(self.vector_codes_[vectors], None if known is None else known[rows]),
            weights=weights[rows, vectors],
            residual=np.zeros(len(weights)),
            estimated=np.zeros(len(weights), dtype=bool),
        )

    @property
    def _n_scores(self) -> int:
        return len(self.vector_codes_)


def informative(X: Any, codes: np.ndarray, options: dict[str, Any]) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Return the rows that have a known label and a positive weight, with what else goes to a fit."""
    told = (codes != UNKNOWN).any(axis=1)
    if options.get("sample_weight") is not None:
        told &= options["sample_weight"] > 0.0
    if not told.any():
        raise ValueError("y has no known label in a row of positive weight: there is nothing to learn from.")
    if told.all():
        return X, codes, options
    rows = np.flatnonzero(told)
    return _safe_indexing(X, rows), codes[rows], _check_method_params(X, options, rows)


def commonest_classes(codes: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the class of each label that has the most weight among the known ones; of equals, the first."""
    weight = np.ones(len(codes)) if weight is None else weight
    known = codes != UNKNOWN
    counts = (np.bincount(column[own], weights=weight[own]) for column, own in zip(codes.T, known.T, strict=True))
    return np.array([count.argmax() if len(count) else 0 for count in counts], dtype=CODE)


def conditional_weights(
    log_proba: np.ndarray, vectors: np.ndarray, counts: np.ndarray, known: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return p(vector | x, what is known) of all vectors, and in which rows some vector agrees with all of it.

    Where none does, those that agree with the most labels share the probability; where none of the best has any
    probability, they share it by their frequency in training.

    Parameters
    ----------
    log_proba : ndarray of shape (n, V), or (1, V) if x does not matter
    vectors : int ndarray of shape (V, L)
    counts : ndarray of shape (V,)
    known : int ndarray of shape (n, L), `UNKNOWN` where nothing is known, or None

    Examples
    --------
    >>> vectors, counts = np.array([[0, 0], [0, 1], [1, 0]]), np.array([2, 1, 1])
    >>> log_proba = np.log([[0.5, 0.3, 0.2]] * 2)
    >>> weights, agrees = conditional_weights(log_proba, vectors, counts, np.array([[0, -1], [1, 1]]))
    >>> weights.round(3), agrees
    (array([[0.625, 0.375, 0.   ],
           [0.   , 0.6  , 0.4  ]]), array([ True, False]))
    """
    if known is None:
        return np.exp(log_proba), np.ones(len(log_proba), dtype=bool)
    matches = _n_matches(vectors, known)
    most = matches.max(axis=1)
    nearest = matches == most[:, None]
    logs = np.where(nearest, log_proba, -np.inf)
    impossible = np.isneginf(logs.max(axis=1))
    logs[impossible] = np.where(nearest[impossible], np.log(counts), -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), most == (known != UNKNOWN).sum(axis=1)


def log_evidence(log_proba: np.ndarray, vectors: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the log-probability of the known labels in `codes`: minus infinity if no vector agrees with them."""
    logs = np.where(_agreement(vectors, codes), log_proba, -np.inf)
    # A sum over all vectors may be rounded to a little more than one.
    return np.minimum(logsumexp(logs, axis=1), 0.0)


def _n_matches(vectors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return with how many of the known labels of each row each vector agrees, of shape (n, V)."""
    matches = np.zeros((len(known), len(vectors)), dtype=CODE)
    for j in np.flatnonzero((known != UNKNOWN).any(axis=0)):
        matches += known[:, j, None] == vectors[:, j]
    return matches


def _agreement(vectors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return which vectors agree with all known labels of each row, of shape (n, V)."""
    return _n_matches(vectors, known) == (known != UNKNOWN).sum(axis=1)[:, None]


def overwrite(labels: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Return the labels with the known classes put in."""
    return labels if known is None else np.where(known == UNKNOWN, labels, known).astype(CODE)


def marginals_of(
    weights: np.ndarray, vectors: np.ndarray, n_classes: Sequence[int], known: np.ndarray | None
) -> list[np.ndarray]:
    """Return for each label the mass of its classes, of shape (n, K)."""
    marginals = []
    for j, k in enumerate(n_classes):
        has_class = (vectors[:, j, None] == np.arange(k)).astype(np.float64)
        proba = weights @ has_class
        if known is not None:
            given = known[:, j] != UNKNOWN
            proba[given] = known[given, j, None] == np.arange(k)
        marginals.append(proba)
    return marginals
