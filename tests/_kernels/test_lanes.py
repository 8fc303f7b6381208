"""Functions of a line of numbers, against the same functions of one number."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from montechain._kernels.lanes import N_BYTES, any_of, exceed, load, multiply, ratios, shares, sigmoids, store

ODDS = st.floats(-745.0, 745.0)
LINE = st.lists(ODDS, min_size=N_BYTES // 8, max_size=N_BYTES // 8).map(np.array)


@njit
def evaluate(odds, out):
    line = load(odds, 0)
    store(out, 0, ratios(line))
    store(out, 1, shares(ratios(line)))
    store(out, 2, sigmoids(line))
    store(out, 3, multiply(line, line))
    store(out, 4, exceed(line, 0.5))
    return any_of(line)


def check(odds):
    out = np.empty((5, len(odds)))
    assert evaluate(odds, out) == odds.any()
    # Below the smallest normal number, results stay there.
    ratio = np.exp(np.maximum(-np.abs(odds), -708.0))
    np.testing.assert_allclose(out[0], ratio, rtol=4.5e-16)  # two units in the last place
    np.testing.assert_allclose(out[1], 1.0 / (1.0 + ratio), rtol=4e-16)
    np.testing.assert_allclose(out[2], np.where(odds > 0.0, 1.0, ratio) / (1.0 + ratio), rtol=8e-16)
    np.testing.assert_array_equal(out[3], odds * odds)
    np.testing.assert_array_equal(out[4], odds > 0.5)


@given(odds=LINE)
@settings(deadline=None, max_examples=60)
def test_each_number_of_a_line_is_treated_like_a_number_alone(odds):
    check(odds)


def test_extremes():
    check(np.zeros(N_BYTES // 8))
    check(np.array([0.0, -0.0, np.inf, -np.inf, 1e150, -1e150, 5e-324, -5e-324]))
