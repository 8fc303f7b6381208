import numpy as np
import pytest

from montechain._kernels import margins as kernel
from reference import margins as reference


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
    # The margins of these problems are some rows among those of others.
    rows_of_all = np.concatenate([[1], 3 + np.arange(3), [7], 9 + np.arange(4)])
    all_margins = rng.normal(size=(14, n))
    all_margins[rows_of_all] = start
    others = np.delete(all_margins, rows_of_all, axis=0)
    residual, information, step = change.copy(), np.empty(14), np.empty(4)
    ahead = np.array([slope, np.zeros(4), penalty_slope, penalty_curvature, np.zeros(4)])
    for search, problems in ((kernel.search_binary, np.array([0, 2])), (kernel.search_softmax, np.array([1, 3]))):
        search(
            problems, score_start, rows_of_all, targets, np.arange(4), sample_weight, class_weight, ahead, 1e-10,
            np.empty((4, n)), all_margins, residual, information, step,
        )  # fmt: skip
    margin = all_margins[rows_of_all]
    np.testing.assert_array_equal(np.delete(all_margins, rows_of_all, axis=0), others)
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
    # One row dominates at first but is soon fitted; from then on the slope is almost constant and slightly uphill.
    margin = np.array([[0.0, 0.0]])
    change = np.array([[1000.0, 1.0]])
    targets = np.array([[1, 0]], dtype=np.int32)
    weight = np.array([1.0, 10.0])
    start_slope = np.array([-0.5 * 1000.0 + 10.0 * 0.5])
    ahead, step = np.zeros((5, 1)), np.empty(1)
    ahead[0] = start_slope
    kernel.search_binary(
        np.array([0]), np.array([0, 1]), np.array([0]), targets, np.array([0]), weight, np.ones((1, 2)), ahead, 0.3,
        np.empty((1, 2)), margin, change, np.empty(1), step,
    )  # fmt: skip
    after = np.logaddexp(0.0, -margin[0, 0]) + 10.0 * np.logaddexp(0.0, margin[0, 1])
    assert step[0] > 0.0
    assert after < 11.0 * np.log(2.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_residuals_of_many_rows_are_those_of_each(rng, dtype):
    # More rows than are summed at a time, of all weights, with unknown classes and scores that overflow an exponential.
    n = 2 * kernel.PIECE + 77
    start = (rng.normal(size=(1, n)) * 10 ** rng.uniform(-3, 3, n)).astype(dtype)
    target = rng.integers(-1, 2, (1, n)).astype(np.int32)
    sample_weight, class_weight = rng.random(n).astype(dtype), np.array([[0.5, 2.0]], dtype=dtype)
    weight = np.where(target[0] >= 0, sample_weight * class_weight[0, target[0]], 0.0)
    one, change = np.array([0]), np.zeros((1, n), dtype=dtype)
    ahead, information, step, scratch = np.zeros((5, 1)), np.empty(1), np.empty(1), np.empty((1, n), dtype=dtype)
    arguments = (one, np.array([0, 1]), one, target, one, sample_weight, class_weight, ahead, 1e-3, scratch)
    margin = start.copy()
    kernel.search_binary(*arguments, margin, change, information, step)
    exact = start.astype(float)
    expected = reference.residual(exact, target[0], weight)
    proba = np.exp(-np.logaddexp(0.0, -exact[0]))
    spread = weight * proba * np.exp(-np.logaddexp(0.0, exact[0]))
    close = {"rtol": 1e-10, "atol": 1e-13} if dtype == np.float64 else {"rtol": 2e-5, "atol": 1e-6}
    assert step[0] == 0.0
    np.testing.assert_array_equal(margin, start)
    np.testing.assert_allclose(change, expected, **close)
    np.testing.assert_allclose(information, spread.sum(), **close)
    # Downhill, the slope vanishes where the search ends.
    ahead[0] = -(expected**2).sum()
    change = -expected.astype(dtype)
    direction = change.astype(float)
    kernel.search_binary(*arguments, margin, change, information, step)
    found = reference.residual(exact + step[0] * direction, target[0], weight)
    assert step[0] > 0.0
    assert abs((found * direction).sum()) <= 1.1e-3 * abs(ahead[0, 0])
