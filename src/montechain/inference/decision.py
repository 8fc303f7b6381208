"""The answers of inference: decisions and the k most probable vectors, with what is proven about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LOG_TOLERANCE = 1e-9
"""Log-probabilities closer than this count as equal: they differ by rounding only."""


@dataclass(frozen=True)
class Decision:
    """Label vectors for n rows, and what is proven about them.

    Attributes
    ----------
    labels : ndarray of shape (n, L)
    log_proba : ndarray of shape (n,)
        log p(labels | x). This is the joint probability of all labels, including those given.
    upper_bound : ndarray of shape (n,)
        No label vector that agrees with the given labels has a higher log-probability than this.
    expected_loss : ndarray of shape (n,)
        Expected loss of `labels` under the model, conditional on the given labels; NaN where it was not computed.
    regret : ndarray of shape (n,)
        Proven bound on how much smaller the expected loss of any other decision can be, also conditional on the
        given labels; infinite where nothing is proven about a loss of unknown range.
    certified : bool ndarray of shape (n,)
        Whether `labels` is proven to be a best decision.
    """

    labels: np.ndarray
    log_proba: np.ndarray
    upper_bound: np.ndarray
    expected_loss: np.ndarray
    regret: np.ndarray
    certified: np.ndarray

    @property
    def proba(self) -> np.ndarray:
        """Probabilities of the labels, of shape (n,)."""
        return np.exp(self.log_proba)

    def with_labels(self, labels: Any) -> Decision:
        """Return the same decision with its labels replaced, for example by the user's classes."""
        # `dataclasses.replace` can take longer than the search itself.
        return Decision(labels, self.log_proba, self.upper_bound, self.expected_loss, self.regret, self.certified)

    @classmethod
    def most_probable(
        cls, labels: np.ndarray, log_proba: np.ndarray, upper_bound: np.ndarray, *, given: np.ndarray | None = None
    ) -> Decision:
        """Return a decision for exact match.

        Let p be the probability of the labels and u its upper bound. The regret is at most (u - p) / p(given | x). In
        rows with given labels the denominator is not known here, but it is at least u + p if another vector has the
        probability u, so the regret is at most (u - p) / (u + p). `relative_to` improves on that.
        """
        # Only vectors of positive probability can be certified: -inf also results from overflow.
        is_possible = np.isfinite(log_proba)
        certified = (upper_bound <= log_proba + LOG_TOLERANCE) & is_possible
        proba = np.exp(log_proba)
        expected_loss = 1.0 - proba
        regret = np.maximum(np.exp(upper_bound) - proba, 0.0)
        if given is not None:
            known = (given >= 0).any(axis=1)
            expected_loss[known] = np.nan
            with np.errstate(invalid="ignore"):
                regret[known] = np.maximum(np.tanh((upper_bound - log_proba)[known] / 2.0), 0.0)
        if not is_possible.all():  # if no vector has a positive probability, nothing is known
            regret[np.isneginf(upper_bound) | np.isnan(regret)] = 1.0
        return cls(labels, log_proba, upper_bound, expected_loss, regret, certified)

    @classmethod
    def least_loss(
        cls, labels: np.ndarray, log_proba: np.ndarray, expected_loss: np.ndarray, regret: np.ndarray
    ) -> Decision:
        """Return a decision for another loss: certified where the regret is proven to be zero."""
        return cls(labels, log_proba, np.zeros(len(labels)), expected_loss, regret, regret <= 0.0)

    def relative_to(self, log_evidence: np.ndarray, error: np.ndarray) -> Decision:
        """Return a decision for exact match with its loss conditional on the given labels.

        `log_evidence` is log p(given labels | x), zero in rows without given labels; the evidence is proven to be at
        least ``1 - error`` times this.
        """
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            share = np.exp(self.log_proba - log_evidence)
            regret = np.maximum(np.exp(self.upper_bound - log_evidence) - share, 0.0) / (1.0 - error)
        # fmin: where the given labels are impossible, the shares are NaN and the bound stays.
        return replace(self, expected_loss=np.clip(1.0 - share, 0.0, 1.0), regret=np.fmin(self.regret, regret))


@dataclass(frozen=True)
class TopK:
    """The k most probable label vectors of n rows, best first.

    Attributes
    ----------
    labels : ndarray of shape (n, k, L)
    log_proba : ndarray of shape (n, k)
    certified : bool ndarray of shape (n,)
        Whether these are proven to be the k best.
    """

    labels: np.ndarray
    log_proba: np.ndarray
    certified: np.ndarray

    @property
    def proba(self) -> np.ndarray:
        """Probabilities, of shape (n, k)."""
        return np.exp(self.log_proba)
