from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from montechain._kernels import hinge as kernel
from reference import hinge as reference


def arrays_of(Z, dense):
    """Return inputs as the kernel takes them."""
    if dense:
        return np.arange(len(Z) + 1) * Z.shape[1], np.empty(0, dtype=np.int32), Z.astype(float).ravel()
    inputs = sp.csr_matrix(Z)
    return inputs.indptr.astype(np.int64), inputs.indices, inputs.data


def fit(Z, signs, bounds, tol=1e-8, dense=False):
    w, dual = np.zeros(Z.shape[1]), np.zeros(len(Z))
    capacity = min(len(Z), Z.shape[1] + 2)
    intercept, violation, n_epochs = kernel.fit_hinge(
        *arrays_of(Z, dense), signs, bounds, 1.0, tol, 10**6, capacity, w, dual
    )
    assert violation <= tol
    assert n_epochs < 10**6
    return w, intercept, dual


@pytest.mark.parametrize("seed", range(8))
def test_objective_is_that_of_the_quadratic_programme(seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(25, 3)) + 2.0 * rng.normal(size=3)
    signs = np.where(Z[:, 0] - Z[:, 0].mean() + rng.normal(size=25) > 0, 1.0, -1.0)
    bounds = rng.uniform(0.2, 2.0, 25)
    coef, intercept, dual = fit(Z, signs, bounds)
    expected = reference.fit_hinge(Z, signs, bounds)
    assert reference.objective(Z, signs, bounds, coef, intercept) == pytest.approx(
        reference.objective(Z, signs, bounds, *expected), rel=1e-6
    )
    np.testing.assert_allclose(coef, expected[0], atol=1e-4)
    # The conditions on the dual variables: inside their bounds, balanced, and they make up the coefficients.
    assert ((dual >= 0.0) & (dual <= bounds)).all()
    assert abs(dual @ signs) < 1e-7
    np.testing.assert_allclose((dual * signs) @ Z, coef, atol=1e-9)


def test_inputs_without_entries_leave_the_intercept():
    signs = np.where(np.arange(30) < 20, 1.0, -1.0)
    coef, intercept, _ = fit(np.zeros((30, 3)), signs, np.ones(30))
    np.testing.assert_array_equal(coef, 0.0)
    assert intercept == pytest.approx(1.0, abs=1e-6)  # the greater class is on its side of the margin


def violation(Z, signs, bounds, coef, intercept, dual):
    """Return by how much the optimality conditions fail, worked out from the dual variables alone."""
    gradient = signs * (Z @ coef + intercept) - 1.0
    failing = np.where(
        dual <= 0.0, np.minimum(gradient, 0.0), np.where(dual >= bounds, np.maximum(gradient, 0.0), gradient)
    )
    return max(np.abs(failing).max(), abs(dual @ signs), np.abs((dual * signs) @ Z - coef).max())


@pytest.mark.parametrize(
    "kind",
    ["plain", "repeated rows", "empty rows", "rare class", "more columns than rows", "equal columns", "separable"],
)
@pytest.mark.parametrize("density", [0.6, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_conditions_hold_whatever_the_inputs(kind, density, seed):
    rng = np.random.default_rng(seed)
    n, d = (30, 60) if kind == "more columns than rows" else (150, 6)
    Z = rng.random((n, d)) * (rng.random((n, d)) < density)
    signs = np.where(Z[:, 0] - Z[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    bounds = rng.uniform(0.2, 2.0, n)
    if kind == "repeated rows":
        Z = np.repeat(Z[::5], 5, axis=0)
    elif kind == "empty rows":
        Z[::3] = 0.0
    elif kind == "rare class":
        # The best scores are all equal, and many dual variables lie between their bounds, more than there are columns.
        signs[:] = -1.0
        signs[::30] = 1.0
    elif kind == "equal columns":
        Z[:, 3:] = Z[:, :3]
    elif kind == "separable":
        signs = np.where(Z[:, 0] > 0.3, 1.0, -1.0)
        bounds *= 1e4
    coef, intercept, dual = fit(Z, signs, bounds, tol=1e-7, dense=density > 0.5)
    assert ((dual >= 0.0) & (dual <= bounds)).all()
    assert violation(Z, signs, bounds, coef, intercept, dual) < 2e-7


@pytest.mark.parametrize("seed", range(8))
def test_active_set_finds_the_solution_from_any_start(seed):
    rng = np.random.default_rng(seed)
    n, d = 60, 5
    Z = rng.normal(size=(n, d))
    signs = np.where(Z[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    bounds = rng.uniform(0.2, 2.0, n)
    dual = np.where(rng.random(n) < 0.5, rng.random(n), rng.integers(0, 2, n)) * bounds
    w = (dual * signs) @ Z
    intercept = kernel._finish(
        *arrays_of(Z, False), signs, bounds, (Z * Z).sum(axis=1), 1e-9, d + 2, 10**5, dual, w, rng.normal()
    )
    assert ((dual >= 0.0) & (dual <= bounds)).all()
    assert violation(Z, signs, bounds, w, intercept, dual) < 1e-8
    expected = reference.fit_hinge(Z, signs, bounds)
    np.testing.assert_allclose(w, expected[0], atol=1e-4)


def test_active_set_that_gives_up_leaves_valid_variables():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(60, 5))
    signs = np.where(Z[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    bounds = np.ones(60)
    arrays = arrays_of(Z, False)
    for capacity, max_entries in ((2, 1000), (7, 5)):
        dual = rng.random(60)
        w = (dual * signs) @ Z
        kernel._finish(*arrays, signs, bounds, (Z * Z).sum(axis=1), 1e-9, capacity, max_entries, dual, w, 0.0)
        assert ((dual >= 0.0) & (dual <= bounds)).all()
        np.testing.assert_allclose(w, (dual * signs) @ Z, atol=1e-12)
