"""Eight float64 or sixteen float32 numbers side by side, as one value: a cache line, and a few vector registers.

Compilers turn a plain loop over columns into vector instructions only if they can keep its sums in registers, which
they cannot for sums in an array. With these functions a loop over the entries of a sparse matrix handles a whole line
of columns at each entry; and loops over a few labels, which are too short for what a compiler adds to them when it
vectorises, take the exponentials of a line of labels at a time.
"""

from __future__ import annotations

import math
from functools import partial, wraps

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from montechain._kernels.elementary import LOG2_E, LOG_2_HIGH, LOG_2_LOW, LOWEST, ROUND

N_BYTES = 64


class Lanes(types.Type):
    """Numba's type of a line of numbers of one kind."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, _vector(lanes))


def _vector(lanes):
    element = ir.DoubleType() if lanes.dtype == types.float64 else ir.FloatType()
    return ir.VectorType(element, 8 * N_BYTES // lanes.dtype.bitwidth)


def _pointer(context, builder, signature, arguments):
    """Return the address of row ``arguments[1]`` of the table ``arguments[0]``, whose rows are lines."""
    table = context.make_array(signature.args[0])(context, builder, arguments[0])
    vector = _vector(Lanes(signature.args[0].dtype))
    offset = builder.mul(arguments[1], ir.Constant(arguments[1].type, vector.count))
    return builder.bitcast(builder.gep(table.data, [offset]), vector.as_pointer())


def _on_lines(build):
    """Turn a function that builds instructions for lines, and numbers of their kind, into one that kernels can call."""

    @wraps(build)
    def typed(typing_context, *kinds):
        lanes = next(kind for kind in kinds if isinstance(kind, Lanes))
        signature = lanes(*(kind if kind == lanes else lanes.dtype for kind in kinds))
        return signature, lambda context, builder, signature, arguments: build(builder, *arguments)

    return intrinsic(typed)


@intrinsic
def load(typing_context, table, row):
    """Return a row of a C-contiguous table with one line in each row."""

    def generate(context, builder, signature, arguments):
        size = signature.args[0].dtype.bitwidth // 8
        return builder.load(_pointer(context, builder, signature, arguments), align=size)

    return Lanes(table.dtype)(table, types.intp), generate


@intrinsic
def store(typing_context, table, row, lanes):
    """Write a line to a row of a C-contiguous table."""

    def generate(context, builder, signature, arguments):
        size = signature.args[0].dtype.bitwidth // 8
        builder.store(arguments[2], _pointer(context, builder, signature, arguments), align=size)
        return context.get_dummy_value()

    return types.void(table, types.intp, lanes), generate


@intrinsic
def zeros_like(typing_context, table):
    """Return a line of zeros, of the kind of numbers of a table."""
    lanes = Lanes(table.dtype)
    return lanes(table), lambda context, builder, signature, arguments: _constant(_vector(lanes), 0.0)


@intrinsic
def any_of(typing_context, lanes):
    """Return whether a line holds any number but zero."""

    def generate(context, builder, signature, arguments):
        vector = arguments[0].type
        found = builder.fcmp_unordered("!=", arguments[0], _constant(vector, 0.0))
        bits = ir.IntType(vector.count)
        return builder.icmp_unsigned("!=", builder.bitcast(found, bits), ir.Constant(bits, 0))

    return types.boolean(lanes), generate


@_on_lines
def add(builder, left, right):
    """Return the sum of two lines."""
    return builder.fadd(left, right)


@_on_lines
def multiply(builder, left, right):
    """Return the product of two lines."""
    return builder.fmul(left, right)


@_on_lines
def multiply_add(builder, factor, lanes, addend):
    """Return ``factor * lanes + addend`` for a number and two lines."""
    return _multiply_add(builder, _everywhere(builder, factor, lanes.type), lanes, addend)


@_on_lines
def ratios(builder, odds):
    """Return exp(-|x|) of each number x of a line of float64: the odds of the less probable class."""
    return _ratios(builder, odds)


@_on_lines
def shares(builder, ratios):
    """Return 1 / (1 + x) of each number x of a line: the probability of the more probable class."""
    one = _constant(ratios.type, 1.0)
    return builder.fdiv(one, builder.fadd(one, ratios))


@_on_lines
def sigmoids(builder, odds):
    """Return 1 / (1 + exp(-x)) of each number x of a line of float64."""
    small, one = _ratios(builder, odds), _constant(odds.type, 1.0)
    is_positive = builder.fcmp_ordered(">", odds, _constant(odds.type, 0.0))
    return builder.fdiv(builder.select(is_positive, one, small), builder.fadd(one, small))


@_on_lines
def exceed(builder, lanes, threshold):
    """Return 1.0 where a number of a line exceeds a constant, 0.0 elsewhere."""
    above = builder.fcmp_ordered(">", lanes, _everywhere(builder, threshold, lanes.type))
    return builder.select(above, _constant(lanes.type, 1.0), _constant(lanes.type, 0.0))


def _constant(vector, value):
    return ir.Constant(vector, [value] * vector.count)


def _multiply_add(builder, factor, other, addend):
    return builder.fadd(builder.fmul(factor, other, flags=("contract",)), addend, flags=("contract",))


def _everywhere(builder, number, vector):
    """Build a line with one number in all places."""
    nothing = ir.Constant(vector, ir.Undefined)
    place = ir.IntType(32)
    first = builder.insert_element(nothing, number, ir.Constant(place, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(place, vector.count), [0] * vector.count))


def _ratios(builder, odds):
    """Build exp(-|odds|), by the same steps as in `montechain._kernels.elementary`."""
    vector = odds.type
    whole_numbers = ir.VectorType(ir.IntType(64), vector.count)
    constant, multiply_add = partial(_constant, vector), partial(_multiply_add, builder)
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
