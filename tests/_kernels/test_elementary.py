import numpy as np
import pytest
from numba import njit

from montechain._kernels.elementary import exp_of_negative


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def exponentials(x, out):
    """Write the exponentials, and return their sum: a loop that may be vectorised and reordered."""
    total = 0.0
    for i in range(x.shape[0]):
        out[i] = exp_of_negative(x[i])
        total += out[i]
    return total


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float64, -708.0), (np.float32, -87.0)])
def test_exponential_is_within_a_unit_in_the_last_place(dtype, lowest):
    rng = np.random.default_rng(0)
    x = np.concatenate([[0.0, -0.0, lowest], -rng.exponential(1.0, 50_000), lowest * rng.random(50_000)]).astype(dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    expected = np.exp(x.astype(np.longdouble))
    units = np.abs(found - expected) / np.spacing(expected.astype(dtype))
    assert units.max() <= (1.0 if dtype == np.float64 else 1.5)
    assert found[0] == found[1] == 1.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_too_small_to_be_told_from_zero(dtype):
    x = np.array([-1e3, -1e30, -np.inf], dtype=dtype)
    found = np.empty_like(x)
    exponentials(x, found)
    assert (found > 0.0).all()
    assert (found < 1e-37).all()
