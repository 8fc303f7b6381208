"""The loops of the logistic solver, by dense matrices and plain root finding."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax


def residual(margin, target, weight):
    """Return the gradient of the loss with respect to the margins (W, n) of one problem."""
    full = np.vstack([np.zeros_like(margin), margin]) if len(margin) == 1 else margin
    found = softmax(full, axis=0)
    found[target, np.arange(len(target))] -= 1.0
    found *= np.where(target >= 0, weight, 0.0)
    return found[1:] if len(margin) == 1 else found


def search_along(margin, change, target, weight, penalty_slope, penalty_curvature):
    """Return the step at which the objective of one problem is least, by bisection on its slope."""

    def slope(step):
        found = (residual(margin + step * change, target, weight) * change).sum()
        return found + penalty_slope + step * penalty_curvature

    far = 1.0
    while slope(far) < 0.0:
        far *= 2.0
    return brentq(slope, 0.0, far, xtol=1e-14)


def two_loop(gradient, steps, changes, apply_first):
    """Return minus the L-BFGS inverse Hessian times the gradient; pairs from oldest to newest, as explicit matrices."""
    size = len(gradient)
    inverse = np.column_stack([apply_first(column) for column in np.eye(size)])
    for s, y in zip(steps, changes, strict=True):
        rho = 1.0 / (s @ y)
        left = np.eye(size) - rho * np.outer(s, y)
        inverse = left @ inverse @ left.T + rho * np.outer(s, s)
    return -inverse @ gradient
