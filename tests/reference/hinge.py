"""The linear support vector machine as a quadratic programme in its own variables."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def objective(Z, signs, bounds, w, intercept):
    """Return ||w||² / 2 plus the weighted hinge losses."""
    return 0.5 * w @ w + bounds @ np.maximum(0.0, 1.0 - signs * (Z @ w + intercept))


def fit_hinge(Z, signs, bounds):
    """Return w and intercept: minimise over (w, intercept, slacks) under linear constraints, by a general solver."""
    n, d = Z.shape
    constraint = np.hstack([signs[:, None] * Z, signs[:, None], np.eye(n)])
    found = minimize(
        lambda v: 0.5 * v[:d] @ v[:d] + bounds @ v[d + 1 :],
        np.concatenate([np.zeros(d + 1), np.ones(n)]),
        jac=lambda v: np.concatenate([v[:d], [0.0], bounds]),
        method="SLSQP",
        constraints=[{"type": "ineq", "fun": lambda v: constraint @ v - 1.0, "jac": lambda v: constraint}],
        bounds=[(None, None)] * (d + 1) + [(0.0, None)] * n,
        options={"maxiter": 2000, "ftol": 1e-13},
    ).x
    return found[:d], found[d]
