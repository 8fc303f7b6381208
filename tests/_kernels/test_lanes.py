"""Functions of a line of numbers, against the same functions of one number."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from montechain._kernels import lanes
from montechain._kernels.ties import on_grid

ODDS = st.floats(-745.0, 745.0)
LINE = st.lists(ODDS, min_size=lanes.N_BYTES // 8, max_size=lanes.N_BYTES // 8).map(np.array)


@njit
def evaluate(odds, out):
    line = lanes.load(odds, 0)
    lanes.store(out, 0, lanes.ratios(line))
    lanes.store(out, 1, lanes.shares(lanes.ratios(line)))
    lanes.store(out, 2, lanes.sigmoids(line))
    lanes.store(out, 3, lanes.multiply(line, line))
    lanes.store(out, 4, lanes.keep(line, lanes.above(line, 0.5)))
    lanes.store(out, 5, lanes.maximum(line, lanes.multiply(line, line)))
    lanes.store(out, 6, lanes.on_grid(line))
    return lanes.above(line, 0.5)


def check(odds):
    out = np.empty((7, len(odds)))
    assert evaluate(odds, out) == sum(1 << k for k in np.flatnonzero(odds > 0.5).tolist())
    # Below the smallest normal number, results stay there.
    ratio = np.exp(np.maximum(-np.abs(odds), -708.0))
    np.testing.assert_allclose(out[0], ratio, rtol=4.5e-16)  # two units in the last place
    np.testing.assert_allclose(out[1], 1.0 / (1.0 + ratio), rtol=4e-16)
    np.testing.assert_allclose(out[2], np.where(odds > 0.0, 1.0, ratio) / (1.0 + ratio), rtol=8e-16)
    np.testing.assert_array_equal(out[3], odds * odds)
    np.testing.assert_array_equal(out[4], np.where(odds > 0.5, odds, 0.0))
    np.testing.assert_array_equal(out[5], np.where(odds > odds * odds, odds, odds * odds))
    np.testing.assert_array_equal(out[6], on_grid(odds))


@given(odds=LINE)
def test_each_number_of_a_line_is_treated_like_a_number_alone(odds):
    check(odds)


def test_zeros_infinities_and_subnormal_numbers_are_too():
    check(np.zeros(lanes.N_BYTES // 8))
    check(np.array([0.0, -0.0, np.inf, -np.inf, 1e150, -1e150, 5e-324, -5e-324]))


@njit
def move(square, out, factor):
    lanes.transpose(square, 1, 10, out, 2, 12)
    lanes.store_at(out, 100, lanes.running_products(factor, lanes.load_at(square, 3)))
    return lanes.lowest_bit(np.uint64(40))


def test_lines_at_any_place():
    square = np.random.default_rng(0).normal(size=(8, 10))
    out = np.zeros((9, 12))
    assert move(square, out, 2.5) == 3
    np.testing.assert_array_equal(out[:8, 2:10], square[:, 1:9].T)
    np.testing.assert_allclose(out.ravel()[100:], 2.5 * np.cumprod(square.ravel()[3:11]), rtol=1e-14)
