from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from montechain._kernels import margins as kernel
from reference import margins as reference


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def csr(rng, n_rows=40, n_columns=7):
    Z = sp.random(n_rows, n_columns, density=0.4, format="csr", random_state=rng)
    Z.sort_indices()
    return Z, (Z.indptr.astype(np.int64), Z.indices, Z.data)


@pytest.mark.parametrize("width", [1, 3, 4, 11, 12, 13, 40])
def test_a_sparse_product_is_that_of_dense_matrices(rng, width):
    Z, arrays = csr(rng)
    right, product = rng.normal(size=(7, width)), np.full((width, 40), np.nan)
    kernel.sparse_product(*arrays, right, product)
    np.testing.assert_allclose(product, reference.sparse_product(Z, right), atol=1e-12)


def test_a_gram_matrix_is_that_of_a_dense_matrix(rng):
    Z, arrays = csr(rng)
    weight, gram = rng.random(40), np.zeros((7, 7))
    kernel.sparse_gram(*arrays, weight, gram)
    np.testing.assert_allclose(gram, np.tril(reference.sparse_gram(Z, weight)), atol=1e-12)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_search_finds_the_step_of_least_objective(rng, scale):
    n = 50
    widths = [1, 3, 1, 4]
    score_start = np.concatenate([[0], np.cumsum(widths)])
    targets = np.array([rng.integers(-1, max(width, 2), n) for width in widths], dtype=np.int32)
    sample_weight, class_weight = rng.random(n), rng.uniform(0.5, 2, (4, 4))
    start = rng.normal(size=(score_start[-1], n))
    before = np.zeros_like(start)
    for q in range(4):
        rows = slice(score_start[q], score_start[q + 1])
        before[rows] = reference.residual(start[rows], targets[q], sample_weight * class_weight[q, targets[q]])
    change = scale * (rng.normal(size=start.shape) - 3 * before)
    penalty_slope, penalty_curvature = rng.normal(size=4), rng.random(4)
    slope = np.add.reduceat((before * change).sum(axis=1), score_start[:-1]) + penalty_slope
    assert (slope < 0).any()
    margin, residual, information, step = start.copy(), np.empty_like(start), np.empty(len(start)), np.empty(4)
    kernel.search_along(
        margin, change, score_start, targets, np.arange(4), sample_weight, class_weight, slope, penalty_slope,
        penalty_curvature, 1e-10, 200, residual, information, step,
    )  # fmt: skip
    for q in range(4):
        rows = slice(score_start[q], score_start[q + 1])
        weight = sample_weight * class_weight[q, targets[q]]
        expected = 0.0
        if slope[q] < 0:
            expected = reference.search_along(
                start[rows], change[rows], targets[q], weight, penalty_slope[q], penalty_curvature[q]
            )
        assert step[q] == pytest.approx(expected, rel=1e-7, abs=1e-14)
        np.testing.assert_allclose(margin[rows], start[rows] + step[q] * change[rows], atol=1e-12)
        np.testing.assert_allclose(residual[rows], reference.residual(margin[rows], targets[q], weight), atol=1e-12)


def test_search_never_goes_uphill_where_the_slope_soon_is_flat():
    # One row pulls strongly but is soon satisfied, and then the slope is almost constant and slightly uphill.
    margin = np.array([[0.0, 0.0]])
    change = np.array([[1000.0, 1.0]])
    targets = np.array([[1, 0]], dtype=np.int32)
    weight = np.array([1.0, 10.0])
    start_slope = np.array([-0.5 * 1000.0 + 10.0 * 0.5])
    zero, step = np.zeros(1), np.empty(1)
    kernel.search_along(
        margin, change, np.array([0, 1]), targets, np.array([0]), weight, np.ones((1, 2)), start_slope, zero, zero,
        0.3, 40, np.empty((1, 2)), np.empty(1), step,
    )  # fmt: skip
    after = np.logaddexp(0.0, -margin[0, 0]) + 10.0 * np.logaddexp(0.0, margin[0, 1])
    assert step[0] > 0.0
    assert after < 11.0 * np.log(2.0)


@pytest.mark.parametrize("n_pairs", [0, 1, 3, 5])
def test_two_loops_apply_the_explicit_inverse_hessian(rng, n_pairs):
    capacity, widths, n_columns = 5, [1, 2], 4
    score_start = np.array([0, 1, 3])
    curvature = [np.diag(rng.uniform(1, 3, w * n_columns)) for w in widths]
    steps, changes, inverse = rng.normal(size=(2, capacity, 3, n_columns)), None, np.zeros((capacity, 2))
    steps = steps[0]
    changes = np.empty_like(steps)
    for q, matrix in enumerate(curvature):
        rows = slice(score_start[q], score_start[q + 1])
        for p in range(capacity):
            changes[p, rows] = (matrix @ steps[p, rows].ravel()).reshape(widths[q], n_columns)
            inverse[p, q] = 1.0 / (steps[p, rows].ravel() @ changes[p, rows].ravel())
    newest = 1  # the ring has gone round: 2, 3, 4, 0, 1 from oldest to newest
    gradient, divisor = rng.normal(size=(3, n_columns)), rng.uniform(1, 2, n_columns)
    direction, shares = -gradient, np.empty((capacity, 2))
    kernel.two_loop_down(score_start, n_pairs, newest, steps, changes, inverse, direction, shares)
    direction /= divisor
    kernel.two_loop_up(score_start, n_pairs, newest, steps, changes, inverse, direction, shares)
    order = [2, 3, 4, 0, 1][capacity - n_pairs :]
    for q in range(2):
        rows = slice(score_start[q], score_start[q + 1])
        expected = reference.two_loop(
            gradient[rows].ravel(),
            [steps[p, rows].ravel() for p in order],
            [changes[p, rows].ravel() for p in order],
            lambda v, q=q: v / np.tile(divisor, widths[q]),
        )
        np.testing.assert_allclose(direction[rows].ravel(), expected, atol=1e-10)
