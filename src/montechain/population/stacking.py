"""Weights of the models of a mixture, by the likelihood of rows that they were not fitted to."""

from __future__ import annotations

import numpy as np

from montechain.population.search import log_sum

__all__ = ["stacking_weights"]

MAX_ITERATIONS = 2000


def stacking_weights(
    log_proba: np.ndarray, *, sample_weight: np.ndarray | None = None, tol: float = 1e-6
) -> np.ndarray:
    """Return the weights under which a mixture gives held-out label vectors the highest likelihood.

    The likelihood is concave in the weights, and expectation maximisation climbs it.

    Parameters
    ----------
    log_proba : ndarray of shape (n, M)
        log p(y | x) of each row under each model, learned without the row; minus infinity is allowed as long as some
        model gives the row a positive probability.
    sample_weight : ndarray of shape (n,), optional
    tol : float, default=1e-8
        The iteration ends when the mean log-likelihood rises by less than this.

    Returns
    -------
    ndarray of shape (M,)
        Sum to one.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.1], [0.8, 0.1], [0.1, 0.6]])).round(2)
    array([0.76, 0.24])
    """
    n_rows, n_models = log_proba.shape
    share = np.full(n_rows, 1.0 / n_rows) if sample_weight is None else sample_weight / sample_weight.sum()
    # Relative to the best model of each row, so that nothing underflows.
    likelihood = np.exp(log_proba - log_proba.max(axis=1, keepdims=True))
    weights = np.full(n_models, 1.0 / n_models)
    before = -np.inf
    for _ in range(MAX_ITERATIONS):
        mixed = likelihood @ weights
        weights = weights * ((share / mixed) @ likelihood)
        value = share @ np.log(mixed)
        if value - before < tol:
            break
        before = value
    return weights / weights.sum()


def mixture_log_proba(log_proba: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the log-probability of each row under the mixture, of shape (n,)."""
    with np.errstate(divide="ignore"):
        return log_sum(log_proba + np.log(weights))
