from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from montechain._kernels import sparse as kernel

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-4}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def csr(rng, dtype=np.float64, n_rows=150, n_columns=37, only_ones=False):
    """Return a random matrix, with empty rows and columns, and its arrays as kernels take them."""
    Z = sp.random(n_rows, n_columns, density=0.15, format="csr", random_state=rng, dtype=np.float64)
    Z = Z.multiply(rng.random(n_columns) < 0.9).multiply((rng.random(n_rows) < 0.9)[:, None]).tocsr()
    Z.eliminate_zeros()
    Z.sort_indices()
    if only_ones:
        Z.data[:] = 1.0
    return Z.toarray(), (Z.indptr.astype(np.int64), Z.indices, Z.data[:0] if only_ones else Z.data.astype(dtype))


@pytest.mark.parametrize("only_ones", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", [1, 7, 8, 9, 16, 40])
def test_products_are_those_of_dense_matrices(rng, width, dtype, only_ones):
    Z, arrays = csr(rng, dtype, only_ones=only_ones)
    both = rng.normal(size=(width, 1 + 37)).astype(dtype)
    before = rng.normal(size=(width, 150)).astype(dtype)
    margin = before.copy()
    kernel.sparse_product(*arrays, both[:, 1:], both[:, 0], margin)
    np.testing.assert_allclose(margin, before + both[:, :1] + both[:, 1:] @ Z.T, atol=TOLERANCE[dtype])

    residual, gradient = rng.normal(size=(width, 150)).astype(dtype), np.full((width, 1 + 37), np.nan, dtype=dtype)
    kernel.sparse_transposed_product(*arrays, residual, gradient[:, 0], gradient[:, 1:])
    np.testing.assert_allclose(gradient[:, 0], residual.sum(axis=1), atol=TOLERANCE[dtype])
    np.testing.assert_allclose(gradient[:, 1:], residual @ Z, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_score_has_the_same_bits_in_any_company(rng, dtype):
    _, arrays = csr(rng, dtype)
    coefficients, offset = rng.normal(size=(21, 37)).astype(dtype), rng.normal(size=21).astype(dtype)
    together, residual = np.zeros((2, 21, 150), dtype=dtype)
    kernel.sparse_product(*arrays, coefficients, offset, together)
    residual[:] = rng.normal(size=residual.shape)
    sums, products = np.empty(21, dtype=dtype), np.empty((21, 37), dtype=dtype)
    kernel.sparse_transposed_product(*arrays, residual, sums, products)
    for w in (0, 3, 20):
        alone, own_sum, own_product = np.zeros((1, 150), dtype), np.empty(1, dtype), np.empty((1, 37), dtype)
        kernel.sparse_product(*arrays, coefficients[[w]], offset[[w]], alone)
        kernel.sparse_transposed_product(*arrays, residual[[w]], own_sum, own_product)
        np.testing.assert_array_equal(alone[0], together[w])
        np.testing.assert_array_equal(own_product[0], products[w])
        assert own_sum[0] == sums[w]


@pytest.mark.parametrize("only_ones", [False, True])
def test_gram_matrices_are_those_of_dense_matrices(rng, only_ones):
    Z, arrays = csr(rng, only_ones=only_ones)
    weight, dense = rng.random(150), rng.normal(size=(150, 3))
    gram, mixed = np.zeros((37, 37)), np.zeros((37, 3))
    kernel.sparse_gram(*arrays, weight, gram)
    kernel.sparse_times_dense(*arrays, weight, dense, mixed)
    np.testing.assert_allclose(gram, np.tril(Z.T @ np.diag(weight) @ Z), atol=1e-12)
    np.testing.assert_allclose(mixed, Z.T @ np.diag(weight) @ dense, atol=1e-12)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 20])
def test_scores_of_rows_are_those_of_dense_matrices(rng, width):
    Z, (indptr, indices, data) = csr(rng)
    coefficients, offset = rng.normal(size=(37, width)), rng.normal(size=width)
    n_lines = -(-width // 8)
    padded = np.zeros((38, 8 * n_lines))
    padded[:, :width] = np.vstack([offset, coefficients])
    lines = np.ascontiguousarray(padded.reshape(38, n_lines, 8).transpose(1, 0, 2))
    scores = np.full((150, width), np.nan)
    kernel.sparse_scores(
        indptr, indices, data, np.ascontiguousarray(lines[:, 1:]), np.ascontiguousarray(lines[:, 0]), scores
    )
    np.testing.assert_allclose(scores, Z @ coefficients + offset, atol=1e-12)
