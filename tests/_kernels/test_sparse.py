import numpy as np
import pytest
import scipy.sparse as sp

from montechain._kernels import sparse as kernel


def csr(rng, n_rows=150, n_columns=37, dtype=np.float32, constant=False):
    """Return a random matrix, with empty rows and columns, and its arrays as kernels take them."""
    Z = sp.random(n_rows, n_columns, density=0.15, format="csr", random_state=rng, dtype=np.float64)
    Z = Z.multiply(rng.random(n_columns) < 0.9).multiply((rng.random(n_rows) < 0.9)[:, None]).tocsr()
    Z.eliminate_zeros()
    Z.sort_indices()
    if constant:
        Z.data[:] = 0.75
    data = Z.data.astype(dtype)
    return Z.toarray(), (Z.indptr.astype(np.int64), Z.indices, data[:1] if constant else data)


def product(multiply, arrays, factor, first, out):
    multiply(*arrays, factor, first, out, kernel.lines(37, out.dtype), kernel.lines(kernel.TILE, out.dtype))


@pytest.mark.parametrize(("dtype", "constant"), [(np.float32, False), (np.float32, True), (np.float64, False)])
@pytest.mark.parametrize("n_dense", [0, 3])
@pytest.mark.parametrize("width", [1, 7, 15, 16, 17, 40])
def test_products_are_those_of_dense_matrices(rng, width, n_dense, dtype, constant):
    Z, arrays = csr(rng, dtype=dtype, constant=constant)
    first, atol = 1 + n_dense, 1e-4 if dtype == np.float32 else 1e-12
    coefficients = rng.normal(size=(width, first + 37)).astype(dtype)
    before = rng.normal(size=(width, 150)).astype(dtype)
    margin = before.copy()
    product(kernel.sparse_product, arrays, coefficients, first, margin)
    # Without dense columns, the intercept is written too; otherwise the product is added to theirs.
    beside = before if n_dense else coefficients[:, :1]
    np.testing.assert_allclose(margin, beside + coefficients[:, first:] @ Z.T, atol=atol)

    residual = rng.normal(size=(width, 150)).astype(dtype)
    gradient = np.full((width, first + 37), np.nan, dtype=dtype)
    product(kernel.sparse_transposed_product, arrays, residual, first, gradient)
    np.testing.assert_allclose(gradient[:, 0], residual.sum(axis=1), atol=atol)
    np.testing.assert_allclose(gradient[:, first:], residual @ Z, atol=atol)
    assert np.isnan(gradient[:, 1:first]).all()


@pytest.mark.parametrize("constant", [False, True])
def test_gram_is_that_of_dense_matrices(rng, constant):
    Z, arrays = csr(rng, dtype=np.float64, constant=constant)
    weight, found = rng.random(150), np.zeros((38, 38))
    kernel.sparse_gram(*arrays, weight, found)
    inputs = np.hstack([np.ones((150, 1)), Z])
    np.testing.assert_allclose(found, np.tril((inputs.T * weight) @ inputs), atol=1e-12)


def test_a_score_has_the_same_bits_in_any_company(rng):
    _, arrays = csr(rng)
    coefficients = rng.normal(size=(21, 38)).astype(np.float32)
    together, residual = np.zeros((2, 21, 150), dtype=np.float32)
    product(kernel.sparse_product, arrays, coefficients, 1, together)
    residual[:] = rng.normal(size=residual.shape)
    products = np.empty((21, 38), dtype=np.float32)
    product(kernel.sparse_transposed_product, arrays, residual, 1, products)
    for w in (0, 3, 20):
        alone, own_product = np.zeros((1, 150), np.float32), np.empty((1, 38), np.float32)
        product(kernel.sparse_product, arrays, coefficients[[w]], 1, alone)
        product(kernel.sparse_transposed_product, arrays, residual[[w]], 1, own_product)
        np.testing.assert_array_equal(alone[0], together[w])
        np.testing.assert_array_equal(own_product[0], products[w])
