"""The exponential function as plain arithmetic, so that loops over it are vectorised.

A call of the C library's `exp` keeps a compiler from using vector registers. Here the argument is split into a whole
number of halvings and a rest of at most ``log(2) / 2``, whose exponential is a polynomial; the halvings go straight
into the exponent of the floating-point number. The result is within one unit in the last place.

A loop is vectorised only if nothing else in it prevents that: a kernel that divides needs
``error_model="numpy"``, since the test for a zero divisor is a branch, and one that sums needs
``fastmath={"reassoc", "contract"}``. The functions here are compiled on their own, so that the caller's permission to
reorder sums does not reach the steps whose rounding is the point.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from montechain._kernels.compiling import inner

LOG2_E = 1.4426950408889634
# The lowest argument whose exponential is a normal number; those below count as this.
LOWEST = -708.0
# log(2) in two parts; the first has so few digits that its multiples are exact.
LOG_2_HIGH = 6.93145751953125e-1
LOG_2_LOW = 1.42860682030941723212e-6
ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to a whole number, which then fills the lowest bits

LOG2_E_32, LOWEST_32, ROUND_32 = np.float32(LOG2_E), np.float32(-87.0), np.float32(12582912.0)
LOG_2_HIGH_32, LOG_2_LOW_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
# Taylor's series, its last terms bent so that seven of them are enough between -log(2) / 2 and log(2) / 2.
ONE_32, HALF_32 = np.float32(1.0), np.float32(5.0000001201e-1)
THIRD_32, FOURTH_32 = np.float32(1.6666665459e-1), np.float32(4.1665795894e-2)
FIFTH_32, SIXTH_32, SEVENTH_32 = np.float32(8.3334519073e-3), np.float32(1.3981999507e-3), np.float32(1.9875691500e-4)


@inner
def exp_of_negative(x):
    """Return the exponential of a number that is not positive, in the number's own precision."""
    return _exp(x)


def _exp(x):
    raise NotImplementedError("this is for compiled code")


@overload(_exp, jit_options={"fastmath": {"contract"}})
def _exp_of_either_size(x):
    return _exp_of_single if x == types.float32 else _exp_of_double


def _exp_of_double(x):
    x = max(x, LOWEST)
    shifted = x * LOG2_E + ROUND
    whole = shifted - ROUND
    rest = x - whole * LOG_2_HIGH - whole * LOG_2_LOW
    # Taylor's series to the thirteenth power: the next term is below 2e-18 of the result.
    square = rest * rest
    high = 1.0 / 39916800 + rest * (1.0 / 479001600 + rest * (1.0 / 6227020800))
    middle = (1.0 / 5040 + rest * (1.0 / 40320)) + square * (1.0 / 362880 + rest * (1.0 / 3628800))
    low = (1.0 / 6 + rest * (1.0 / 24)) + square * (1.0 / 120 + rest * (1.0 / 720))
    cube = square * rest
    quartic = square * square
    series = 1.0 + (rest + (0.5 * square + cube * (low + quartic * (middle + quartic * high))))
    # The whole number sits in the lowest bits of `shifted`; moved up by 52 places it is an exponent.
    bits = np.float64(series).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


def _exp_of_single(x):
    x = max(x, LOWEST_32)
    shifted = x * LOG2_E_32 + ROUND_32
    whole = shifted - ROUND_32
    rest = x - whole * LOG_2_HIGH_32 - whole * LOG_2_LOW_32
    high = FIFTH_32 + rest * (SIXTH_32 + rest * SEVENTH_32)
    series = ONE_32 + (rest + rest * rest * (HALF_32 + rest * (THIRD_32 + rest * (FOURTH_32 + rest * high))))
    bits = np.float32(series).view(np.int32) + (np.float32(shifted).view(np.int32) << 23)
    return np.int32(bits).view(np.float32)
