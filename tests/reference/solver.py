"""One logistic problem at a time, its objective written out."""

import numpy as np
from scipy.special import logsumexp


def inputs(X, parent_codes, parents_n_classes):
    """Return [X, parents]: a 0/1 column for a binary parent, one column per class for more, none for one class."""
    columns = [np.asarray(X, dtype=float)]
    for codes, n_classes in zip(np.asarray(parent_codes).T, parents_n_classes, strict=True):
        if n_classes == 2:
            columns.append((codes == 1).astype(float)[:, None])
        elif n_classes > 2:
            columns.append(np.eye(n_classes)[codes])
    return np.hstack(columns)


def scores(Z, coef, intercept):
    """Return the scores of all classes; with a single column, which is the log-odds of class 1, those of (0, 1)."""
    found = Z @ coef + intercept
    return np.hstack([np.zeros_like(found), found]) if found.shape[1] == 1 else found


def objective(Z, y, coef, intercept, C=1.0, weight=None):
    """Return the weighted sum of log losses over the rows with y >= 0, plus ||coef||² / (2 C)."""
    weight = np.ones(len(y)) if weight is None else weight
    found = scores(Z, coef, intercept)
    losses = logsumexp(found, axis=1) - found[np.arange(len(y)), y]
    return weight[y >= 0] @ losses[y >= 0] + np.sum(coef**2) / (2 * C)


def gradient(Z, y, coef, intercept, C=1.0, weight=None):
    """Return the gradient of `objective` with respect to coef and intercept."""
    weight = np.ones(len(y)) if weight is None else weight
    found = scores(Z, coef, intercept)
    proba = np.exp(found - logsumexp(found, axis=1, keepdims=True))
    residual = proba - np.eye(found.shape[1])[y]
    residual *= (weight * (y >= 0))[:, None]
    if coef.shape[1] == 1:
        residual = residual[:, 1:]
    return Z.T @ residual + coef / C, residual.sum(axis=0)
