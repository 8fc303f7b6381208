"""Exponentials and logistic functions of a line of numbers.

Loops over a few labels are too short for what a compiler adds to them when it vectorises; see
`montechain._kernels.lanes` for what a line is.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba.extending import intrinsic

from montechain._kernels.elementary import LOG2_E, LOG_2_HIGH, LOG_2_LOW, LOWEST, ROUND


@intrinsic
def multiply(typing_context, left, right):
    """Return the product of two lines."""

    def generate(context, builder, signature, arguments):
        return builder.fmul(*arguments)

    return left(left, right), generate


@intrinsic
def ratios(typing_context, odds):
    """Return exp(-|x|) of each number x of a line of float64: the odds of the less probable class."""

    def generate(context, builder, signature, arguments):
        return _ratios(builder, arguments[0])

    return odds(odds), generate


@intrinsic
def shares(typing_context, ratios):
    """Return 1 / (1 + x) of each number x of a line: the probability of the more probable class."""

    def generate(context, builder, signature, arguments):
        one = _constant(arguments[0].type, 1.0)
        return builder.fdiv(one, builder.fadd(one, arguments[0]))

    return ratios(ratios), generate


@intrinsic
def sigmoids(typing_context, odds):
    """Return 1 / (1 + exp(-x)) of each number x of a line of float64."""

    def generate(context, builder, signature, arguments):
        vector = arguments[0].type
        small = _ratios(builder, arguments[0])
        one = _constant(vector, 1.0)
        is_positive = builder.fcmp_ordered(">", arguments[0], _constant(vector, 0.0))
        return builder.fdiv(builder.select(is_positive, one, small), builder.fadd(one, small))

    return odds(odds), generate


def _constant(vector, value):
    return ir.Constant(vector, [value] * vector.count)


def _ratios(builder, odds):
    """Build exp(-|odds|), by the same steps as in `montechain._kernels.elementary`."""
    vector = odds.type
    whole_numbers = ir.VectorType(ir.IntType(64), vector.count)

    def constant(value):
        return _constant(vector, value)

    def multiply_add(factor, other, addend):
        return builder.fadd(builder.fmul(factor, other, flags=("contract",)), addend, flags=("contract",))

    is_positive = builder.fcmp_ordered(">", odds, constant(0.0))
    negative = builder.select(is_positive, builder.fsub(constant(0.0), odds), odds)
    is_low = builder.fcmp_ordered("<", negative, constant(LOWEST))
    negative = builder.select(is_low, constant(LOWEST), negative)
    shifted = multiply_add(negative, constant(LOG2_E), constant(ROUND))
    whole = builder.fsub(shifted, constant(ROUND))
    rest = multiply_add(whole, constant(-LOG_2_LOW), multiply_add(whole, constant(-LOG_2_HIGH), negative))
    # Taylor's series, neighbours joined in pairs, so that no step waits for many others.
    terms = [constant(1.0 / math.factorial(power)) for power in range(14)]
    power = rest
    while len(terms) > 1:
        unpaired = terms[len(terms) // 2 * 2 :]
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [multiply_add(high, power, low) for low, high in pairs] + unpaired
        power = builder.fmul(power, power)
    exponent = builder.shl(builder.bitcast(shifted, whole_numbers), ir.Constant(whole_numbers, [52] * vector.count))
    return builder.bitcast(builder.add(builder.bitcast(terms[0], whole_numbers), exponent), vector)
