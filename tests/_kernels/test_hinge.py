from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from montechain._kernels import hinge as kernel
from reference import hinge as reference


def fit(Z, signs, bounds, scale=None, rows=None, tol=1e-8):
    inputs = sp.csr_matrix(Z)
    scale = np.ones(Z.shape[1]) if scale is None else scale
    rows = np.arange(len(Z)) if rows is None else rows
    coef, dual = np.zeros(Z.shape[1]), np.zeros(len(rows))
    intercept, violation, n_epochs = kernel.fit_hinge(
        inputs.indptr.astype(np.int64),
        inputs.indices,
        inputs.data,
        rows,
        signs,
        bounds,
        scale,
        1.0,
        tol,
        10**6,
        coef,
        dual,
    )
    assert violation <= tol
    assert n_epochs < 10**6
    return coef, intercept, dual


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


def test_scale_is_the_same_as_scaling_the_inputs():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 4))
    signs = np.where(Z[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    scale = np.array([2.0, 0.5, 0.0, 1.0])
    coef, intercept, _ = fit(Z, signs, np.ones(40), scale)
    expected, expected_intercept, _ = fit(Z * scale, signs, np.ones(40))
    np.testing.assert_allclose(coef, expected * scale, atol=1e-6)
    assert intercept == pytest.approx(expected_intercept, abs=1e-6)


def test_only_the_chosen_rows_count():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(40, 3))
    signs = np.where(Z[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    rows = np.arange(0, 40, 2)
    chosen = fit(Z, signs[rows], np.ones(20), rows=rows)
    expected = fit(Z[rows], signs[rows], np.ones(20))
    np.testing.assert_array_equal(chosen[0], expected[0])
    assert chosen[1] == expected[1]
