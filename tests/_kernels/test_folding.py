"""The product of rows and coefficients, against numpy's."""

import numpy as np
import pytest

from montechain._kernels.folding import as_lines, scores_of
from montechain._kernels.ties import on_grid


@pytest.mark.parametrize("n_scores", [1, 6, 8, 9, 23])
@pytest.mark.parametrize("n_rows", [1, 5, 6, 40])
def test_equals_the_matrix_product(n_rows, n_scores):
    rng = np.random.default_rng(n_scores)
    wide, coef, intercept = rng.normal(size=(2 * n_rows, 14)), rng.normal(size=(7, n_scores)), rng.normal(size=n_scores)
    intercept[-1] = -np.inf
    lines = as_lines(coef, intercept)
    X = wide[::2, ::-2]
    found = scores_of(np.ascontiguousarray(X), lines, n_scores)
    np.testing.assert_allclose(found, X @ coef + intercept, rtol=0, atol=2e-12)
    np.testing.assert_array_equal(on_grid(found - np.where(np.isfinite(intercept), intercept, 0.0)) + intercept, found)
    # Whatever the strides are, and whichever rows are beside it, a row has the same scores.
    for same in (X, np.asfortranarray(X), np.broadcast_to(X, X.shape)):
        np.testing.assert_array_equal(scores_of(same, lines, n_scores), found)
    alone = [scores_of(row[None], lines, n_scores)[0] for row in X]
    np.testing.assert_array_equal(alone, found)


def test_cells_that_are_not_finite_reach_all_scores():
    X = np.zeros((9, 3))
    X[4, 1] = np.nan
    found = scores_of(X, as_lines(np.eye(3, 10), np.zeros(10)), 10)
    assert np.isnan(found[4]).all()
    assert (np.delete(found, 4, axis=0) == 0.0).all()
