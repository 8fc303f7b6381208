"""Pairwise coupling: from the odds within each pair of classes to one distribution over all of them.

Hastie and Tibshirani (1998) ask for the probabilities p whose shares ``p_i / (p_i + p_j)`` come nearest to the given
ones, by the weighted Kullback-Leibler divergence. In ``log p`` this is a convex problem whose second derivatives are
those of a network of conductances between the classes. So Newton's method takes a few steps where their updates, one
class at a time, take hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax

from montechain._savable import require, savable
from montechain.links.linear import FittedLinearLink

MAX_STEPS = 200
"""Maximum number of Newton steps."""
ACCURACY = 1e-11
"""Movement of the log-probabilities at which they are found: the next step would move them by its square."""
LARGEST_CONTRADICTION = 0.5
"""Log-odds that are missed by more than this share of them do not tell where to start."""
LEAST = 1e-30
"""Lower bound of second derivatives, so that classes of no probability do not stop the others."""


@savable
@dataclass(frozen=True)
class FittedPairwiseLink:
    """A fitted link with log-odds for each pair of its K classes, joined by pairwise coupling.

    Parameters
    ----------
    n_classes : int
    odds : FittedLinearLink
        The log-odds of class i against class j, for i < j, as K (K - 1) / 2 scores.
    pair_weight : ndarray of shape (K (K - 1) / 2,)
        How much each pair counts.
    """

    n_classes: int
    odds: FittedLinearLink
    pair_weight: np.ndarray

    def _check_loaded(self) -> None:
        require(type(self.n_classes) is int and isinstance(self.odds, FittedLinearLink), "a link has an unknown kind")
        n_pairs = self.n_classes * (self.n_classes - 1) // 2
        weight = self.pair_weight
        fits = isinstance(weight, np.ndarray) and weight.shape == self.odds.intercept.shape == (n_pairs,)
        require(fits and (weight > 0.0).all() and np.isfinite(weight).all(), "a link has weights that do not fit")

    @property
    def parents_n_classes(self) -> tuple[int, ...]:
        """Number of classes of each parent."""
        return self.odds.parents_n_classes

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (n, n_classes); `parent_codes` has one column per parent."""
        return couple(self.odds.scores(X, parent_codes), self.pair_weight, self.n_classes)


@savable
@dataclass(frozen=True)
class FittedOneVersusRestLink:
    """A fitted link with log-odds for each class against all others, whose probabilities are divided by their sum."""

    odds: FittedLinearLink

    def _check_loaded(self) -> None:
        is_linear = isinstance(self.odds, FittedLinearLink) and len(self.odds.intercept) == self.odds.n_classes
        require(is_linear, "a link has an unknown kind")

    @property
    def n_classes(self) -> int:
        """Number of classes of the label."""
        return self.odds.n_classes

    def log_proba(self, X: Any, parent_codes: np.ndarray) -> np.ndarray:
        """Return log-probabilities of shape (n, n_classes)."""
        return log_softmax(log_expit(self.odds.scores(X, parent_codes)), axis=1)


def newton_share(longest: Any) -> Any:
    """Return the share of a Newton step that lowers a sum of logistic losses, if it moves no score by more than this.

    The curvature of a logistic loss changes by at most a factor of ``exp(d)`` when its score moves by d, so that the
    loss falls all the way up to ``log(1 + longest) / longest`` of the step: no search along it is needed.
    """
    return np.log1p(longest) / longest


def couple(odds: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the log-probabilities (n, K) that fit log-odds (n, K (K - 1) / 2) of class i against j > i best.

    Examples
    --------
    >>> couple(np.log([[2.0, 4.0, 2.0]]), np.ones(3), 3).round(3)
    array([[-0.56 , -1.253, -1.946]])
    """
    first, second = np.triu_indices(n_classes, 1)
    pairs = np.eye(n_classes)[first] - np.eye(n_classes)[second]
    wanted, other = expit(odds), expit(-odds)
    # Least squares of the log-odds are right if they do not contradict each other; if they do, zero may be nearer.
    conductance = weight * np.maximum(wanted * other, 1e-6)
    position = _settle(conductance, (conductance * odds) @ pairs)
    contradiction = (np.abs(odds - position @ pairs.T) / (1.0 + np.abs(odds))).max(axis=1)
    position[contradiction > LARGEST_CONTRADICTION] = 0.0
    rows = np.arange(len(odds))
    for _ in range(MAX_STEPS):
        gap = position[rows] @ pairs.T
        low, high = expit(-np.abs(gap)), expit(np.abs(gap))
        # The difference of the shares, taken between those that are small.
        surplus = weight * np.where(gap <= 0.0, wanted[rows] - low, low - other[rows])
        step = _settle(weight * np.maximum(low * high, LEAST), surplus @ pairs)
        longest = np.ptp(step, axis=1)
        left = longest > ACCURACY
        if not left.any():
            break
        rows = rows[left]
        position[rows] += newton_share(longest[left, None]) * step[left]
    return log_softmax(position, axis=1)


def _settle(conductance: np.ndarray, inflow: np.ndarray) -> np.ndarray:
    """Return the potentials (n, K) that let `inflow` (n, K) run through networks, the last class at zero.

    `conductance` has a column for each pair of classes. One class after the other is eliminated. Only sums of positive
    numbers occur in that, so that probabilities of any size come out to full accuracy.
    """
    n_rows, n_classes = inflow.shape
    first, second = np.triu_indices(n_classes, 1)
    links = np.zeros((n_rows, n_classes, n_classes))
    links[:, first, second] = links[:, second, first] = conductance
    total = np.ones(inflow.shape)
    for i in range(n_classes - 1):
        onward = links[:, i, i + 1 :]
        total[:, i] = onward.sum(axis=1)
        share = onward / total[:, i, None]
        inflow[:, i + 1 :] += share * inflow[:, i, None]
        links[:, i + 1 :, i + 1 :] += share[:, :, None] * onward[:, None, :]
    potential = np.zeros(inflow.shape)
    for i in reversed(range(n_classes - 1)):
        flow = inflow[:, i] + (links[:, i, i + 1 :] * potential[:, i + 1 :]).sum(axis=1)
        potential[:, i] = flow / total[:, i]
    return potential
