"""Generated data with rare labels and sparse inputs, like those of MediaMill and Delicious."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

from montechain.datasets.generators import ChainTruth, draw, log_softmax, random_truth

CALIBRATION_ROWS = 2000
"""Number of rows drawn to find the intercepts for the wanted shares of the classes."""
LARGEST_SHARE = 0.8
"""Maximum share of rows in which a label is relevant, if a cardinality is given."""


class Generated(NamedTuple):
    """Inputs, labels as codes, and the distribution that these were drawn from."""

    X: Any
    Y: np.ndarray
    truth: ChainTruth


def mediamill_like() -> Generated:
    """Return data of MediaMill's shape: 30,000 × 120 with 101 labels."""
    return make_rare_labels(30_000, 120, 101, cardinality=4.38, tail=1.2)


def delicious_like() -> Generated:
    """Return data of Delicious' shape: 12,920 × 500, sparse, with 983 labels."""
    return make_rare_labels(12_920, 500, 983, density=0.036, cardinality=19.02, tail=0.8)


def make_rare_labels(
    n_rows: int,
    n_features: int,
    n_labels: int,
    n_classes: int = 2,
    *,
    density: float = 1.0,
    cardinality: float | None = None,
    tail: float = 0.0,
    random_state: int = 0,
) -> Generated:
    """Generate inputs, and draw labels for them from a random chain whose intercepts make labels as rare as wanted.

    Parameters
    ----------
    n_rows, n_features, n_labels, n_classes : int
    density : float in (0, 1], default=1.0
        Share of non-zero inputs. With 1, the inputs are an array of standard normal numbers; below, a CSR array of
        zeros and ones, like the words of a text.
    cardinality : float, optional
        Mean number of relevant labels (class other than 0) per row, at most 80 % of them. Default: all classes are
        equally common.
    tail : float, default=0.0
        With a cardinality: how unequal the labels are. The i-th most common one is relevant in proportion to
        ``i ** -tail``, but in at most 80 % of the rows.
    random_state : int, default=0
    """
    of_weights, of_calibration, of_inputs, of_labels = map(
        np.random.default_rng, np.random.SeedSequence(random_state).spawn(4)
    )
    classes = (n_classes,) * n_labels
    shares = of_weights.permutation(_relevant_shares(classes, cardinality, tail))
    truth = random_truth(classes, n_features, 1.0, of_weights)
    spread = 1.0 if density == 1 else np.sqrt(density * (1 - density))
    truth = replace(truth, coef=truth.coef / spread, intercept=np.zeros_like(truth.intercept))
    inputs = _inputs(CALIBRATION_ROWS, n_features, density, of_calibration)
    truth = replace(truth, intercept=_intercept(truth, shares, inputs, of_calibration))
    X = _inputs(n_rows, n_features, density, of_inputs)
    return Generated(X, truth.sample(X, of_labels), truth)


def _inputs(n_rows: int, n_features: int, density: float, rng: np.random.Generator) -> np.ndarray | sp.csr_array:
    if density == 1:
        return rng.normal(size=(n_rows, n_features))
    return sp.csr_array(rng.random((n_rows, n_features)) < density, dtype=np.float64)


def _relevant_shares(classes: tuple[int, ...], cardinality: float | None, tail: float) -> np.ndarray:
    """Return how often each label is relevant: all classes equally often, or such that the sum is the cardinality."""
    if cardinality is None:
        return 1 - 1 / np.array(classes)
    common = np.arange(1, len(classes) + 1) ** -float(tail)

    def shares(scale: float) -> np.ndarray:
        return np.minimum(LARGEST_SHARE, scale * common)

    return shares(brentq(lambda scale: shares(scale).sum() - cardinality, 0, LARGEST_SHARE / common[-1]))


def _intercept(truth: ChainTruth, shares: np.ndarray, X: Any, rng: np.random.Generator) -> np.ndarray:
    """Return intercepts that make each label relevant as often as wanted, with equally common relevant classes."""
    intercept = np.zeros_like(truth.intercept)
    labels = np.zeros((X.shape[0], len(truth.order)), dtype=np.int64)
    for label, scores in truth.walk(X, labels):
        n_relevant = truth.n_classes[label] - 1
        offsets = _offsets(scores, np.full(n_relevant, shares[label] / n_relevant))
        intercept[truth.active[label]] = offsets
        labels[:, label] = draw(scores + offsets, rng.random(len(scores)))
    return intercept


def _offsets(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what to add to the scores so that the mean probabilities are `shares`, by Newton's method."""
    offsets = np.log(shares / (1 - shares.sum()))
    for _ in range(100):
        proba = np.exp(log_softmax(scores + offsets))[:, 1:]
        excess = proba.mean(axis=0) - shares
        if np.abs(excess).max() < 1e-6:
            break
        curvature = np.diag(proba.mean(axis=0)) - proba.T @ proba / len(proba)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(shares)), excess)
        offsets -= step / max(1.0, float(np.abs(step).max()))  # a full step may be far too long
    return offsets
